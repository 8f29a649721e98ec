/* fault.c: failpoints and traces for tests; an empty file without CAIRN_FAILPOINTS.
 *
 * hold=PATH: PATH and PATH.go are FIFOs that the test made. The process opens PATH for writing,
 * which waits until the test has it open for reading (so the test's open is the event "held"),
 * closes it, opens PATH.go for reading, which waits until the test opens it for writing
 * ("released"), closes it, and goes on. Nothing is written, nobody polls. */
#include "internal/fault.h"

#ifdef CAIRN_FAILPOINTS

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAULT_POINTS_MAX 16

enum fault_action { FAULT_KILL, FAULT_HOLD, FAULT_EIO, FAULT_ENOSPC };

struct fault {
    char name[48];
    enum fault_action action;
    char fifo[200];
    unsigned long nth; /* 0: every passage */
    atomic_ulong passed;
};

static struct fault fault_table[FAULT_POINTS_MAX];
static size_t fault_count;
static char fault_trace_path[256];
static pthread_once_t fault_once = PTHREAD_ONCE_INIT;

/* A typing mistake in a test must not look like a fault that never fires. */
static void fault_refuse(const char *spec)
{
    (void)fprintf(stderr, "CAIRN_FAILPOINT: cannot read \"%s\"\n", spec);
    abort();
}

static int fault_parse_action(struct fault *f, const char *action)
{
    if (strcmp(action, "kill") == 0) {
        f->action = FAULT_KILL;
    } else if (strcmp(action, "eio") == 0) {
        f->action = FAULT_EIO;
    } else if (strcmp(action, "enospc") == 0) {
        f->action = FAULT_ENOSPC;
    } else if (strncmp(action, "hold=", 5) == 0 && action[5] != '\0') {
        f->action = FAULT_HOLD;
        return snprintf(f->fifo, sizeof f->fifo, "%s", action + 5) < (int)sizeof f->fifo ? 0 : -1;
    } else {
        return -1;
    }
    return 0;
}

/* "name:action[:nth]"; cuts the text. */
static int fault_parse(struct fault *f, char *spec)
{
    char *rest = NULL;
    const char *name = strtok_r(spec, ":", &rest);
    const char *action = strtok_r(NULL, ":", &rest);
    const char *nth = strtok_r(NULL, ":", &rest);
    if (name == NULL || action == NULL || strlen(name) >= sizeof f->name) {
        return -1;
    }
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    if (nth != NULL) {
        char *end = NULL;
        f->nth = strtoul(nth, &end, 10);
        if (*end != '\0' || f->nth == 0) {
            return -1;
        }
    }
    return fault_parse_action(f, action);
}

static void fault_load(void)
{
    const char *trace = secure_getenv("CAIRN_TRACE");
    if (trace != NULL) {
        (void)snprintf(fault_trace_path, sizeof fault_trace_path, "%s", trace);
    }
    const char *specs = secure_getenv("CAIRN_FAILPOINT");
    char *copy = specs == NULL ? NULL : strdup(specs);
    char *rest = NULL;
    for (char *spec = copy; spec != NULL && fault_count < FAULT_POINTS_MAX; fault_count++) {
        spec = strtok_r(fault_count == 0 ? spec : NULL, ",", &rest);
        if (spec == NULL) {
            break;
        }
        if (fault_parse(&fault_table[fault_count], spec) < 0) {
            fault_refuse(specs);
        }
    }
    free(copy);
}

/* One write with O_APPEND, so that lines of several processes do not mix. */
static void fault_trace(const char *name)
{
    if (fault_trace_path[0] == '\0') {
        return;
    }
    char line[128];
    int bytes = snprintf(
        line, sizeof line, "%ld %s %s\n", (long)getpid(), program_invocation_short_name, name);
    int fd = open(fault_trace_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)!write(fd, line, (size_t)bytes);
        (void)close(fd);
    }
}

static void fault_wait_open(const char *path, int flags)
{
    int fd = -1;
    do {
        fd = open(path, flags | O_CLOEXEC);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        fault_refuse(path);
    }
    (void)close(fd);
}

static void fault_hold(const struct fault *f)
{
    char go[sizeof f->fifo + 4];
    (void)snprintf(go, sizeof go, "%s.go", f->fifo);
    fault_wait_open(f->fifo, O_WRONLY);
    fault_wait_open(go, O_RDONLY);
}

static int fault_act(const struct fault *f)
{
    switch (f->action) {
    case FAULT_KILL:
        (void)kill(getpid(), SIGKILL);
        return 0;
    case FAULT_HOLD:
        fault_hold(f);
        return 0;
    case FAULT_EIO:
        return EIO;
    case FAULT_ENOSPC:
        return ENOSPC;
    }
    return 0;
}

int fault_error(const char *name)
{
    (void)pthread_once(&fault_once, fault_load);
    fault_trace(name);
    int pretend = 0;
    for (size_t i = 0; i < fault_count; i++) {
        struct fault *f = &fault_table[i];
        if (strcmp(f->name, name) != 0) {
            continue;
        }
        unsigned long passage = atomic_fetch_add(&f->passed, 1) + 1;
        if (f->nth == 0 || f->nth == passage) {
            int errnum = fault_act(f);
            pretend = errnum != 0 ? errnum : pretend;
        }
    }
    return pretend;
}

void fault_point(const char *name)
{
    (void)fault_error(name);
}

#endif
