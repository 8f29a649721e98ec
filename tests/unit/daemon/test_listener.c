#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/listener.h"
#include "sock.h"
#include "support/case.h"

static struct sock_dir dir;
static struct err err;

static int open_at(const char *path, mode_t mode, struct listener **ret)
{
    const struct listener_options options = { .path = path, .mode = mode, .group = -1 };
    err = (struct err){ 0 };
    return lsn_open(&options, ret, &err);
}

static bool can_connect(const char *path)
{
    int fd = sock_connect(path);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

CASE(listener, binds_with_the_mode_asked_for)
{
    struct listener *lsn = NULL;
    struct stat st;
    sock_dir_make(&dir);
    mode_t before = umask(0027);
    cr_assert_eq(open_at(dir.path, 0666, &lsn), 0, "%s", err.msg);
    cr_assert_eq(umask(before), 0027, "the process keeps its umask");
    cr_assert_eq(lstat(dir.path, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0666);
    cr_assert(can_connect(dir.path));
    cr_assert_not(lsn_activated(lsn));
    cr_assert_str_eq(lsn_path(lsn), dir.path);
    cr_assert_null(lsn_close(lsn));
    cr_assert_neq(lstat(dir.path, &st), 0, "unlinked at the end");
    cr_assert_null(lsn_close(NULL));
    sock_dir_remove(&dir);
}

CASE(listener, gives_the_socket_to_a_group)
{
    struct listener *lsn = NULL;
    struct stat st;
    sock_dir_make(&dir);
    gid_t group = geteuid() == 0 ? 4242 : getegid();
    const struct listener_options options = { .path = dir.path, .mode = 0660, .group = group };
    cr_assert_eq(lsn_open(&options, &lsn, &err), 0, "%s", err.msg);
    cr_assert_eq(lstat(dir.path, &st), 0);
    cr_assert_eq(st.st_gid, group);
    (void)lsn_close(lsn);
    sock_dir_remove(&dir);
}

CASE(listener, a_path_that_does_not_fit_is_refused_with_its_length)
{
    struct listener *lsn = NULL;
    char path[200];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[108] = '\0';
    cr_assert_eq(open_at(path, 0660, &lsn), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(err.msg, "108 bytes"), "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, "1 to 107"), "%s", err.msg);
}

CASE(listener, the_longest_path_works)
{
    struct listener *lsn = NULL;
    char path[200];
    sock_dir_make(&dir);
    (void)snprintf(path, sizeof path, "%s/%0*d", dir.dir, 107 - (int)strlen(dir.dir) - 1, 0);
    cr_assert_eq(strlen(path), 107);
    cr_assert_eq(open_at(path, 0660, &lsn), 0, "%s", err.msg);
    cr_assert_str_eq(lsn_path(lsn), path);
    (void)lsn_close(lsn);
    sock_dir_remove(&dir);
}

CASE(listener, a_stale_socket_is_replaced)
{
    struct listener *lsn = NULL;
    sock_dir_make(&dir);
    (void)close(sock_listen(dir.path));
    cr_assert_not(can_connect(dir.path));
    cr_assert_eq(open_at(dir.path, 0660, &lsn), 0, "%s", err.msg);
    cr_assert(can_connect(dir.path));
    (void)lsn_close(lsn);
    sock_dir_remove(&dir);
}

CASE(listener, a_live_one_is_refused_with_path_and_pid)
{
    struct listener *lsn = NULL;
    char pid[32];
    sock_dir_make(&dir);
    int live = sock_listen(dir.path);
    cr_assert_eq(open_at(dir.path, 0660, &lsn), -CAIRN_EBUSY);
    (void)snprintf(pid, sizeof pid, "pid %d", (int)getpid());
    cr_assert_not_null(strstr(err.msg, dir.path), "%s", err.msg);
    cr_assert_not_null(strstr(err.msg, pid), "%s", err.msg);
    cr_assert(can_connect(dir.path), "and it is still there");
    (void)close(live);
    sock_dir_remove(&dir);
}

CASE(listener, a_live_one_with_a_full_backlog_is_live)
{
    struct listener *lsn = NULL;
    int waiting[64];
    int count = 0;
    sock_dir_make(&dir);
    int live = sock_listen(dir.path);
    for (bool full = false; !full && count < 64;) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct sockaddr_storage addr;
        socklen_t bytes = sizeof addr;
        cr_assert_eq(getsockname(live, (struct sockaddr *)&addr, &bytes), 0);
        full = connect(fd, (struct sockaddr *)&addr, bytes) < 0 && errno == EAGAIN;
        waiting[count++] = fd;
    }
    cr_assert_lt(count, 64);
    cr_assert_eq(open_at(dir.path, 0660, &lsn), -CAIRN_EBUSY, "%s", err.msg);
    while (count > 0) {
        (void)close(waiting[--count]);
    }
    (void)close(live);
    sock_dir_remove(&dir);
}

CASE(listener, what_is_no_socket_is_left_alone)
{
    struct listener *lsn = NULL;
    struct stat st;
    sock_dir_make(&dir);
    int fd = open(dir.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    (void)close(fd);
    cr_assert_eq(open_at(dir.path, 0660, &lsn), -CAIRN_EEXIST);
    cr_assert_not_null(strstr(err.msg, dir.path));
    cr_assert_eq(lstat(dir.path, &st), 0);
    sock_dir_remove(&dir);
}

CASE(listener, a_directory_that_is_missing_is_named)
{
    struct listener *lsn = NULL;
    cr_assert_eq(open_at("/nowhere/at/all/s", 0660, &lsn), -CAIRN_ENOENT);
    cr_assert_not_null(strstr(err.msg, "'/nowhere/at/all'"), "%s", err.msg);
}

CASE(listener, somebody_elses_file_survives_our_end)
{
    struct listener *lsn = NULL;
    sock_dir_make(&dir);
    cr_assert_eq(open_at(dir.path, 0660, &lsn), 0);
    cr_assert_eq(unlink(dir.path), 0);
    int other = sock_listen(dir.path);
    (void)lsn_close(lsn);
    cr_assert(can_connect(dir.path));
    (void)close(other);
    sock_dir_remove(&dir);
}

/* ---- handed over, as systemd does ---- */

/* Runs in a child, where descriptor 3 is what we say. Exit code: the error of lsn_open, or 100 plus
 * what the check found. */
static int in_child(int fd, int count, int (*check)(const struct listener *lsn))
{
    pid_t child = fork();
    if (child == 0) {
        struct listener *lsn = NULL;
        char text[16];
        (void)dup2(fd, 3);
        (void)snprintf(text, sizeof text, "%d", (int)getpid());
        (void)setenv("LISTEN_PID", text, 1);
        (void)snprintf(text, sizeof text, "%d", count);
        (void)setenv("LISTEN_FDS", text, 1);
        for (int extra = 1; extra < count; extra++) {
            (void)dup2(fd, 3 + extra);
        }
        int rc = open_at("/nowhere/at/all/s", 0660, &lsn);
        int code = rc < 0 ? -rc : 100 + check(lsn);
        (void)lsn_close(lsn);
        _exit(code);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int check_handed_over(const struct listener *lsn)
{
    int flags = fcntl(lsn_fd(lsn), F_GETFD);
    return lsn_activated(lsn) && strcmp(lsn_path(lsn), dir.path) == 0 &&
           (flags & FD_CLOEXEC) != 0 && getenv("LISTEN_FDS") == NULL;
}

CASE(listener, takes_what_systemd_hands_over_and_leaves_its_file)
{
    sock_dir_make(&dir);
    int fd = sock_listen(dir.path);
    cr_assert_eq(in_child(fd, 1, check_handed_over), 101);
    cr_assert(can_connect(dir.path), "systemd's socket stays");
    (void)close(fd);
    sock_dir_remove(&dir);
}

CASE(listener, two_sockets_are_one_too_many)
{
    sock_dir_make(&dir);
    int fd = sock_listen(dir.path);
    cr_assert_eq(in_child(fd, 2, check_handed_over), CAIRN_EINVAL);
    (void)close(fd);
    sock_dir_remove(&dir);
}

CASE(listener, something_else_handed_over_is_refused)
{
    int datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int silent = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_eq(in_child(datagram, 1, check_handed_over), CAIRN_EINVAL);
    cr_assert_eq(in_child(silent, 1, check_handed_over), CAIRN_EINVAL, "it does not listen");
    cr_assert_eq(in_child(file, 1, check_handed_over), CAIRN_EINVAL);
    (void)close(datagram);
    (void)close(silent);
    (void)close(file);
}

/* ---- many at once ---- */

static void *race(void *arg)
{
    struct listener **ret = arg;
    const struct listener_options options = { .path = dir.path, .mode = 0660, .group = -1 };
    struct err mine = { 0 };
    int rc = lsn_open(&options, ret, &mine);
    return rc < 0 ? (void *)"refused" : NULL;
}

CASE(listener, of_many_that_start_at_once_over_a_stale_socket_one_wins)
{
    enum { RACERS = 8, ROUNDS = 50 };
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[RACERS];
        struct listener *lsn[RACERS] = { NULL };
        int winners = 0;
        sock_dir_make(&dir);
        (void)close(sock_listen(dir.path));
        for (int i = 0; i < RACERS; i++) {
            cr_assert_eq(pthread_create(&threads[i], NULL, race, &lsn[i]), 0);
        }
        for (int i = 0; i < RACERS; i++) {
            void *refused = NULL;
            (void)pthread_join(threads[i], &refused);
            winners += refused == NULL;
        }
        cr_assert_eq(winners, 1, "round %d", round);
        cr_assert(can_connect(dir.path));
        for (int i = 0; i < RACERS; i++) {
            (void)lsn_close(lsn[i]);
        }
        sock_dir_remove(&dir);
    }
}
