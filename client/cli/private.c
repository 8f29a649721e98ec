#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attach.h"
#include "output.h"

#define PRIVATE_TAIL_BYTES 2048

static int private_fail(const struct private_daemon *p, const char *what, const char *path)
{
    int error = errno;
    (void)fprintf(stderr, "%s: %s '", p->who, what);
    out_text(stderr, path);
    (void)fprintf(stderr, "': %s\n", strerrordesc_np(error));
    return -1;
}

/* ---- the program ---- */

static bool private_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* directory + "/" + name when that is a program, else NULL. */
static char *private_program_in(const char *directory, size_t bytes, const char *name)
{
    char *path = out_format("%.*s/%s", (int)bytes, directory, name);
    if (private_is_program(path)) {
        return path;
    }
    free(path);
    return NULL;
}

static char *private_beside(void)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        return NULL;
    }
    self[length] = '\0';
    size_t bytes = (size_t)(strrchr(self, '/') - self);
    char *path = private_program_in(self, bytes, "cairnd");
    return path != NULL ? path : private_program_in(self, bytes, "../sbin/cairnd");
}

static char *private_in_path(void)
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t bytes = strcspn(at, ":");
        char *path = bytes == 0 ? NULL : private_program_in(at, bytes, "cairnd");
        if (path != NULL) {
            return path;
        }
        at += bytes + (at[bytes] == ':');
    }
    return NULL;
}

static int private_find(struct private_daemon *p)
{
    const char *given = getenv("CAIRND");
    if (given != NULL && given[0] != '\0') {
        p->binary = out_format("%s", given);
        return private_is_program(given) ? 0 : private_fail(p, "$CAIRND is no program:", given);
    }
    p->binary = private_beside();
    if (p->binary == NULL) {
        p->binary = private_in_path();
    }
    if (p->binary == NULL) {
        (void)fprintf(stderr,
                      "%s: no cairnd beside this program, in ../sbin or in $PATH: install it, or "
                      "name it in $CAIRND\n",
                      p->who);
        return -1;
    }
    return 0;
}

/* ---- directories and sockets ---- */

static int private_make_data(struct private_daemon *p, const char *data)
{
    if (mkdir(data, 0700) < 0 && errno != EEXIST) {
        return private_fail(p, "cannot make the data directory", data);
    }
    p->data = realpath(data, NULL);
    if (p->data == NULL) {
        return private_fail(p, "cannot reach the data directory", data);
    }
    return 0;
}

/* The daemon makes a store in an empty directory only, and counts a log of this name as nothing. */
static int private_open_log(struct private_daemon *p)
{
    p->log = out_format("%s/cairnd.log", p->data);
    p->log_fd = open(p->log, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return p->log_fd < 0 ? private_fail(p, "cannot open the log", p->log) : 0;
}

static int private_make_dir(struct private_daemon *p)
{
    return sockdir_make(&p->dir) == 0
               ? 0
               : private_fail(p, "cannot make a directory for the socket,", p->dir.path);
}

static int private_make_notify(struct private_daemon *p)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    _Static_assert(sizeof p->notify <= sizeof address.sun_path, "the path fits an address");
    (void)snprintf(p->socket, sizeof p->socket, "%s/" SOCKDIR_SOCKET, p->dir.path);
    (void)snprintf(p->notify, sizeof p->notify, "%s/" SOCKDIR_NOTIFY, p->dir.path);
    memcpy(address.sun_path, p->notify, sizeof p->notify);
    p->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->notify_fd < 0 ||
        bind(p->notify_fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        return private_fail(p, "cannot listen on", p->notify);
    }
    return 0;
}

int private_init(struct private_daemon *p, const char *data)
{
    const char *who = p->who;
    *p = (struct private_daemon)PRIVATE_NONE;
    p->who = who;
    if (private_find(p) < 0 || private_make_data(p, data) < 0 || private_open_log(p) < 0 ||
        private_make_dir(p) < 0) {
        return -1;
    }
    return private_make_notify(p);
}

void private_fini(struct private_daemon *p)
{
    if (p->notify_fd >= 0) {
        (void)close(p->notify_fd);
    }
    if (p->log_fd >= 0) {
        (void)close(p->log_fd);
    }
    private_forget(p);
    if (sockdir_remove(&p->dir) < 0) {
        (void)private_fail(p, "cannot remove", p->dir.path);
    }
    free(p->binary);
    free(p->data);
    free(p->log);
    *p = (struct private_daemon)PRIVATE_NONE;
}

/* ---- its life ---- */

/* In the child, which has one thread and no way back. */
static _Noreturn void
private_child(const struct private_daemon *p, pid_t parent, const sigset_t *mask)
{
    static char option_socket[] = "--socket";
    static char option_data[] = "--data";
    char socket_path[sizeof p->socket];
    memcpy(socket_path, p->socket, sizeof socket_path);
    char *line[] = { p->binary, option_socket, socket_path, option_data, p->data, NULL };
    int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* A session of its own: Ctrl-C ends the command, and the daemon when the command is done. */
    (void)setsid();
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 ||
        dup2(p->log_fd, STDOUT_FILENO) < 0 || dup2(p->log_fd, STDERR_FILENO) < 0 ||
        setenv("NOTIFY_SOCKET", p->notify, 1) < 0 || fcntl(p->dir.lock_fd, F_SETFD, 0) < 0) {
        _exit(OUT_FAILURE);
    }
    static const char *const service_only[] = { "LISTEN_FDS",    "LISTEN_PID",   "LISTEN_FDNAMES",
                                                "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM" };
    for (size_t i = 0; i < sizeof service_only / sizeof service_only[0]; i++) {
        (void)unsetenv(service_only[i]);
    }
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execv(p->binary, line);
    (void)dprintf(STDERR_FILENO, "cannot run '%s': %s\n", p->binary, strerrordesc_np(errno));
    _exit(OUT_FAILURE);
}

int private_spawn(struct private_daemon *p, const sigset_t *mask)
{
    (void)private_ready(p); /* what its predecessor still had to say */
    p->log_start = lseek(p->log_fd, 0, SEEK_END);
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        private_child(p, parent, mask);
    }
    if (pid < 0) {
        return -1;
    }
    p->pid = pid;
    return 0;
}

bool private_ready(struct private_daemon *p)
{
    char message[4096];
    bool ready = false;
    ssize_t bytes = 0;
    while ((bytes = recv(p->notify_fd, message, sizeof message - 1, MSG_DONTWAIT)) >= 0) {
        message[bytes] = '\0';
        for (const char *line = message; line != NULL; line = strchr(line, '\n')) {
            line += *line == '\n';
            ready =
                ready || (strncmp(line, "READY=1", 7) == 0 && (line[7] == '\0' || line[7] == '\n'));
        }
    }
    return ready;
}

void private_record(struct private_daemon *p)
{
    p->recorded = p->recorded || attach_record(p->data, p->socket) == 0;
    if (!p->recorded) {
        (void)private_fail(
            p, "another cairn exec cannot join, the socket cannot be named in", p->data);
    }
}

void private_forget(struct private_daemon *p)
{
    if (p->recorded) {
        attach_forget(p->data, p->socket);
    }
    p->recorded = false;
}

void private_log_tail(const struct private_daemon *p)
{
    char tail[PRIVATE_TAIL_BYTES + 1];
    off_t end = lseek(p->log_fd, 0, SEEK_END);
    off_t from = end - p->log_start > PRIVATE_TAIL_BYTES ? end - PRIVATE_TAIL_BYTES : p->log_start;
    ssize_t bytes = pread(p->log_fd, tail, PRIVATE_TAIL_BYTES, from);
    tail[bytes > 0 ? bytes : 0] = '\0';
    char *rest = NULL;
    for (char *line = strtok_r(tail, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        (void)fputs("  ", stderr);
        out_text(stderr, line);
        (void)fputc('\n', stderr);
    }
}
