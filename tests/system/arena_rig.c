#include "arena_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cairn/admin.h"

#include "support/case.h"

/* ---- trainers ---- */

void rig_start(struct proc *ret,
               const struct daemon *d,
               const char *variable,
               const char *const *words)
{
    const char *argv[4 + RIG_WORDS] = { CAIRN_TEST_RETRY_TRAINER, d->socket, "run" };
    const char *env[] = { variable, NULL };
    char log[TMP_PATH_BYTES + 16];
    for (size_t i = 0; words[i] != NULL; i++) {
        cr_assert_lt(i, RIG_WORDS);
        argv[3 + i] = words[i];
    }
    (void)snprintf(log, sizeof log, "%s/trainer.log", d->dir);
    const struct proc_spec spec = {
        .argv = argv, .env = variable == NULL ? NULL : env, .log_path = log, .pipe_out = true
    };
    proc_start(ret, &spec);
}

void rig_says(struct proc *p, const char *start)
{
    char line[128] = "";
    bool got = proc_line(p, RIG_MS, line, sizeof line);
    cr_assert(got && strncmp(line, start, strlen(start)) == 0, "'%s', not '%s'", line, start);
}

void rig_ended(struct proc *p, int code)
{
    cr_assert(proc_wait(p, RIG_MS), "it lives");
    cr_assert_eq(proc_exit(p), code, "%d", proc_exit(p));
    (void)close(p->out_fd);
}

/* ---- what the daemon has ---- */

static uint64_t holdings_shmem_kib(const struct daemon *d)
{
    char path[64];
    char text[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)d->proc.pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    cr_assert_gt(got, 0);
    (void)close(fd);
    text[got] = '\0';
    const char *at = strstr(text, "\nRssShmem:");
    cr_assert_not_null(at);
    return strtoull(at + strlen("\nRssShmem:"), NULL, 10);
}

static unsigned holdings_descriptors(const struct daemon *d)
{
    char path[300];
    char link[64];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)d->proc.pid);
    DIR *dir = opendir(path);
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%.200s", (int)d->proc.pid, e->d_name);
        ssize_t bytes = readlink(path, link, sizeof link);
        count += bytes > 13 && strncmp(link, "/memfd:cairn-", 13) == 0;
    }
    (void)closedir(dir);
    return count;
}

struct holdings holdings(const struct daemon *d)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)d->proc.pid);
    return (struct holdings){
        .maps = tmp_lines_with(path, (const char *const[]){ "memfd:cairn-", NULL }),
        .descriptors = holdings_descriptors(d),
        .shmem_kib = holdings_shmem_kib(d),
    };
}

void holdings_again(const struct daemon *d, const struct holdings *start)
{
    struct cairn *c = NULL;
    struct cairn_status status;
    uint64_t give_up_ns = now_ns() + (uint64_t)RIG_MS * 1000000;
    struct holdings now = { 0 };
    cr_assert_eq(cairn_admin_open(d->socket, &c), 0);
    do {
        cr_assert_eq(cairn_status(c, &status), 0, "%s", cairn_error(c));
        now = holdings(d);
    } while ((now.maps != start->maps || now.descriptors != start->descriptors ||
              now.shmem_kib != start->shmem_kib) &&
             now_ns() < give_up_ns);
    (void)cairn_close(c);
    cr_assert_eq(now.maps, start->maps);
    cr_assert_eq(now.descriptors, start->descriptors);
    cr_assert_eq(now.shmem_kib, start->shmem_kib);
}
