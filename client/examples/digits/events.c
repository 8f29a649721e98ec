#include "events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EVENTS_LINE_BYTES = 160 };

int events_open(const char *path, int *ret_fd)
{
    int fd = -1;
    if (path != NULL) {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd < 0) {
            (void)fprintf(stderr, "digits: cannot open %s for events\n", path);
            return -1;
        }
    }
    *ret_fd = fd;
    return 0;
}

void events_close(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void events_write(int fd, const char *line)
{
    size_t bytes = strlen(line);
    if (fd >= 0 && write(fd, line, bytes) != (ssize_t)bytes) {
        (void)fprintf(stderr, "digits: an event was not written\n");
    }
}

void events_text(int fd, const char *event, const char *text)
{
    char line[EVENTS_LINE_BYTES];
    (void)snprintf(line, sizeof line, *text == '\0' ? "%s%s\n" : "%s %s\n", event, text);
    events_write(fd, line);
}

void events_boundary(int fd, const char *event, uint64_t seq, uint64_t step, uint64_t microbatch)
{
    char line[EVENTS_LINE_BYTES];
    (void)snprintf(line,
                   sizeof line,
                   "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                   event,
                   seq,
                   step,
                   microbatch);
    events_write(fd, line);
}
