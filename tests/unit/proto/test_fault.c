/* The process under test is a forked child: failpoints are read once per process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "internal/fault.h"
#include "support/case.h"

#ifndef CAIRN_FAILPOINTS

CASE(fault, compiled_out)
{
    cr_assert_eq(setenv("CAIRN_FAILPOINT", "x:kill", 1), 0);
    fault_point("x");
    cr_assert_eq(fault_error("x"), 0);
}

#else

#define DEADLINE_S 20u

static pid_t fault_child(const char *spec, const char *trace, void (*body)(void))
{
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        (void)alarm(DEADLINE_S);
        (void)setenv("CAIRN_FAILPOINT", spec, 1);
        if (trace != NULL) {
            (void)setenv("CAIRN_TRACE", trace, 1);
        }
        body();
        _exit(0);
    }
    return pid;
}

static int fault_wait(pid_t pid)
{
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return status;
}

static void fault_thrice(void)
{
    fault_point("other");
    fault_point("seal");
    fault_point("seal");
    fault_point("seal");
}

CASE(fault, kills_at_the_nth_passage)
{
    char dir[] = "/tmp/cairn-fault-XXXXXX";
    char trace[64];
    char text[512] = "";
    char line[64];
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(trace, sizeof trace, "%s/trace", dir);
    pid_t pid = fault_child("commit:kill,seal:kill:2", trace, fault_thrice);
    int status = fault_wait(pid);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    FILE *f = fopen(trace, "re");
    cr_assert_not_null(f);
    size_t bytes = fread(text, 1, sizeof text - 1, f);
    text[bytes] = '\0';
    cr_assert_eq(fclose(f), 0);
    /* "<pid> <program> <name>", the line of the passage that killed included. */
    (void)snprintf(line, sizeof line, "%ld ", (long)pid);
    cr_assert_eq(strncmp(text, line, strlen(line)), 0);
    cr_assert_not_null(strstr(text, " other\n"));
    const char *first = strstr(text, " seal\n");
    cr_assert_not_null(first);
    const char *second = strstr(first + 1, " seal\n");
    cr_assert_not_null(second);
    cr_assert_null(strstr(second + 1, " seal\n"));
    cr_assert_eq(unlink(trace), 0);
    cr_assert_eq(rmdir(dir), 0);
}

CASE(fault, unarmed_passes)
{
    int status = fault_wait(fault_child("", NULL, fault_thrice));
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void fault_errors(void)
{
    bool ok = fault_error("write") == EIO;
    ok = ok && fault_error("write") == EIO; /* without a count: at every passage */
    ok = ok && fault_error("sync") == 0 && fault_error("sync") == ENOSPC;
    ok = ok && fault_error("sync") == 0 && fault_error("none") == 0;
    _exit(ok ? 0 : 1);
}

CASE(fault, pretends_errors)
{
    int status = fault_wait(fault_child("write:eio,sync:enospc:2", NULL, fault_errors));
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

CASE(fault, refuses_what_it_cannot_read)
{
    static const char *const bad[] = { "x",       "x:burn", "x:kill:0", "x:kill:2z",
                                       "x:hold=", ":",      "x:",       "a:kill,b" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int status = fault_wait(fault_child(bad[i], NULL, fault_thrice));
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s", bad[i]);
    }
}

static void fault_once_held(void)
{
    fault_point("commit");
    _exit(42);
}

CASE(fault, holds_until_released, .timeout = 60)
{
    char dir[] = "/tmp/cairn-fault-XXXXXX";
    char fifo[64];
    char go[64];
    char spec[128];
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(fifo, sizeof fifo, "%s/f", dir);
    (void)snprintf(go, sizeof go, "%s/f.go", dir);
    (void)snprintf(spec, sizeof spec, "commit:hold=%s", fifo);
    cr_assert_eq(mkfifo(fifo, 0600), 0);
    cr_assert_eq(mkfifo(go, 0600), 0);
    pid_t pid = fault_child(spec, NULL, fault_once_held);
    int held = open(fifo, O_RDONLY | O_CLOEXEC); /* returns when the child is held */
    cr_assert_geq(held, 0);
    char byte = 0;
    cr_assert_eq(read(held, &byte, 1), 0); /* and closed its end */
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, WNOHANG), 0);
    int release = open(go, O_WRONLY | O_CLOEXEC);
    cr_assert_geq(release, 0);
    status = fault_wait(pid);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    cr_assert_eq(close(held), 0);
    cr_assert_eq(close(release), 0);
    cr_assert_eq(unlink(fifo), 0);
    cr_assert_eq(unlink(go), 0);
    cr_assert_eq(rmdir(dir), 0);
}

#endif
