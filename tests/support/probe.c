/* probe: what shell tests need and shells do not have.
 *
 *   probe json [KEY...]        read one JSON document from stdin (and nothing after it), print the
 *                              value at the path of keys and indices: text bare, arrays and objects
 *                              by their size
 *   probe until-term CODE FIFO say "up" on FIFO, wait for TERM, INT, HUP, USR1 or ALRM, exit with
 * CODE probe wait-end PID MS      wait until the process is gone; exit 1 after MS
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const json_t *probe_at(const json_t *value, char **keys)
{
    for (; *keys != NULL && value != NULL; keys++) {
        value = json_is_array(value) ? json_array_get(value, strtoul(*keys, NULL, 10))
                                     : json_object_get(value, *keys);
    }
    return value;
}

static int probe_json(char **keys)
{
    json_error_t error;
    json_t *document = json_loadf(stdin, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (document == NULL) {
        (void)fprintf(stderr, "probe: line %d: %s\n", error.line, error.text);
        return 1;
    }
    const json_t *value = probe_at(document, keys);
    int rc = 0;
    if (json_is_string(value)) {
        (void)puts(json_string_value(value));
    } else if (json_is_array(value)) {
        (void)printf("%zu\n", json_array_size(value));
    } else if (json_is_object(value)) {
        (void)printf("%zu\n", json_object_size(value));
    } else if (value == NULL || json_dumpf(value, stdout, JSON_ENCODE_ANY) < 0) {
        (void)fputs("probe: no such value\n", stderr);
        rc = 1;
    } else {
        (void)putchar('\n');
    }
    json_decref(document);
    return rc;
}

static int probe_until_term(const char *code, const char *fifo)
{
    sigset_t set;
    int number = 0;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGUSR1);
    (void)sigaddset(&set, SIGALRM);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = open(fifo, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "up\n", 3) != 3 || close(fd) < 0 || sigwait(&set, &number) != 0) {
        return 1;
    }
    return (int)strtol(code, NULL, 10);
}

static int probe_wait_end(const char *pid, const char *ms)
{
    struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, (pid_t)strtol(pid, NULL, 10), 0),
                          .events = POLLIN };
    if (end.fd < 0) {
        return errno == ESRCH ? 0 : 1;
    }
    int ended = poll(&end, 1, (int)strtol(ms, NULL, 10));
    (void)close(end.fd);
    return ended == 1 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "json") == 0) {
        return probe_json(argv + 2);
    }
    if (argc == 4 && strcmp(argv[1], "until-term") == 0) {
        return probe_until_term(argv[2], argv[3]);
    }
    if (argc == 4 && strcmp(argv[1], "wait-end") == 0) {
        return probe_wait_end(argv[2], argv[3]);
    }
    (void)fputs("usage: probe json [KEY...] | until-term CODE FIFO | wait-end PID MS\n", stderr);
    return 2;
}
