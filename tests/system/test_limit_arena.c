/* Trainers with less memory than their arena takes: they are told so, or save without one, and the
 * daemon and everybody else go on. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena_rig.h"
#include "support/case.h"

static struct daemon d;
static struct holdings at_start;

/* What is saved last would stay. */
static void up(void)
{
    daemon_begin(&d, "limit", (const char *const[]){ "--resident-bytes=0", NULL }, NULL);
    at_start = holdings(&d);
}

/* It holds nothing any more, and serves a trainer without a limit. */
static void down(unsigned saved_before)
{
    struct proc p;
    char line[32];
    holdings_again(&d, &at_start);
    (void)snprintf(line, sizeof line, "saved 77 %u", saved_before + 1);
    rig_start(&p, &d, NULL, (const char *const[]){ "warm", "save=77", "load", NULL });
    rig_says(&p, "warm");
    rig_says(&p, line);
    rig_says(&p, "loading");
    rig_says(&p, "loaded 77");
    rig_ended(&p, 0);
    const char *const lent[] = { "committed", " step=77 ", " path=arena ", NULL };
    cr_assert_eq(tmp_lines_with(d.log, lent), 1);
    holdings_again(&d, &at_start);
    daemon_end(&d);
}

/* Its log has this sentence. */
static void trainer_told(const char *words)
{
    char log[TMP_PATH_BYTES + 16];
    (void)snprintf(log, sizeof log, "%s/trainer.log", d.dir);
    cr_assert_eq(tmp_lines_with(log, (const char *const[]){ words, NULL }), 1, "%s", words);
}

static void committed_inline(unsigned step)
{
    char text[32];
    (void)snprintf(text, sizeof text, " step=%u ", step);
    const char *const sent[] = { "committed", text, " path=inline ", NULL };
    cr_assert_eq(tmp_lines_with(d.log, sent), 1);
}

/* ---- address space ---- */

CASE(limit_arena, no_address_space_for_a_record_is_said, .timeout = 120)
{
    struct proc p;
    up();
    rig_start(&p, &d, NULL, (const char *const[]){ "as=512", "warm", NULL });
    rig_says(&p, "failed CAIRN_ENOMEM");
    rig_ended(&p, 1);
    trainer_told("reserve address space for a record");
    down(0);
}

/* Of the least region, which is 1 GiB; the arena is lent, cannot be mapped, and goes back. */
CASE(limit_arena, no_address_space_for_so_large_a_record_is_said, .timeout = 120)
{
    struct proc p;
    up();
    rig_start(&p, &d, NULL, (const char *const[]){ "as=1300", "warm=2048", NULL });
    rig_says(&p, "failed CAIRN_ELIMIT");
    rig_ended(&p, 1);
    trainer_told("does not fit the address space");
    down(0);
}

/* The record fits, its arena, which has some slack, does not. */
CASE(limit_arena, what_fits_without_an_arena_is_saved_without_one, .timeout = 120)
{
    struct proc p;
    char maps[64];
    up();
    const char *const words[] = { "as=1300", "warm=940", "save=1", "save=2", "load", "wait", NULL };
    rig_start(&p, &d, NULL, words);
    rig_says(&p, "warm");
    rig_says(&p, "saved 1 1");
    rig_says(&p, "saved 2 2");
    rig_says(&p, "loading");
    rig_says(&p, "loaded 2");
    committed_inline(1);
    committed_inline(2);
    (void)snprintf(maps, sizeof maps, "/proc/%d/maps", (int)d.proc.pid);
    cr_assert_eq(tmp_lines_with(maps, (const char *const[]){ "cairn-arena", NULL }), 0);
    proc_kill(&p);
    rig_ended(&p, 128 + SIGKILL);
    down(2);
}

/* ---- memory of a control group ---- */

/* Where version 2 is mounted. */
static bool cgroup_mount(char ret[static 256])
{
    char line[1024];
    FILE *f = fopen("/proc/self/mounts", "re");
    bool found = false;
    while (!found && f != NULL && fgets(line, sizeof line, f) != NULL) {
        found = sscanf(line, "%*s %255s cgroup2 ", ret) == 1 && strstr(line, " cgroup2 ") != NULL;
    }
    if (f != NULL) {
        (void)fclose(f);
    }
    return found;
}

/* The group of this process below it: "" is the root. */
static void cgroup_own(char ret[static 256])
{
    char line[1024];
    FILE *f = fopen("/proc/self/cgroup", "re");
    ret[0] = '\0';
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "0::", 3) == 0) {
            (void)snprintf(ret, 256, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
        }
    }
    if (f != NULL) {
        (void)fclose(f);
    }
}

static bool cgroup_write(const char *dir, const char *name, const char *text)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) {
        (void)close(fd);
    }
    return written;
}

/* May a process go there? */
static bool cgroup_takes(const char *dir)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(cgroup_write(dir, "cgroup.procs", "0") ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* A group with so much memory: below this process's, or, as that has processes of its own, beside
 * it, so that what is set above holds here too. */
static bool cgroup_make(const char *memory, char ret[static 800])
{
    char mount[256];
    char own[256];
    if (!cgroup_mount(mount)) {
        return false;
    }
    cgroup_own(own);
    for (int up_one = 0; up_one < 2; up_one++) {
        (void)snprintf(ret, 800, "%s%s/cairn-test-%d", mount, own, (int)getpid());
        if (mkdir(ret, 0755) == 0) {
            if (cgroup_write(ret, "memory.max", memory) && cgroup_takes(ret)) {
                (void)cgroup_write(ret, "memory.swap.max", "0");
                return true;
            }
            (void)rmdir(ret);
        }
        char *slash = strrchr(own, '/');
        if (slash == NULL) {
            break;
        }
        *slash = '\0';
    }
    return false;
}

/* 29 MiB are asked for. The kernel may kill the trainer for it, which nobody can tell it before. */
CASE(limit_arena, a_trainer_without_memory_is_no_harm_to_others, .timeout = 120)
{
    struct proc p;
    char dir[800];
    char enter[900];
    char line[128];
    unsigned saved = 0;
    if (!cgroup_make("25165824", dir)) {
        cr_skip("no control group (version 2) with a limit of memory can be made here");
    }
    (void)snprintf(enter, sizeof enter, "enter=%s", dir);
    up();
    rig_start(&p, &d, NULL, (const char *const[]){ enter, "warm", "save=1", NULL });
    while (proc_line(&p, RIG_MS, line, sizeof line)) {
        bool told = strcmp(line, "failed CAIRN_ENOMEM") == 0;
        saved += strcmp(line, "saved 1 1") == 0;
        cr_assert(told || saved > 0 || strcmp(line, "warm") == 0, "%s", line);
    }
    cr_assert(proc_wait(&p, RIG_MS));
    int code = proc_exit(&p);
    cr_assert(code == 0 || code == 1 || code == 128 + SIGKILL, "%d", code);
    (void)printf("limit_arena: the trainer ended with %d\n", code);
    (void)close(p.out_fd);
    down(saved);
    cr_assert_eq(rmdir(dir), 0, "%s: %s", dir, strerror(errno));
}
