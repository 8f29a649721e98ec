#include "support/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "support/proc.h"

void hold_init(struct hold *h, const char *dir, const char *name)
{
    *h = (struct hold){ .held_fd = -1, .go_fd = -1 };
    (void)snprintf(h->path, sizeof h->path, "%s/%s", dir, name);
    (void)snprintf(h->go_path, sizeof h->go_path, "%s.go", h->path);
    cr_assert_eq(mkfifo(h->path, 0600), 0, "%s: %s", h->path, strerror(errno));
    cr_assert_eq(mkfifo(h->go_path, 0600), 0, "%s: %s", h->go_path, strerror(errno));
    hold_arm(h);
}

/* Opened anew, it has forgotten who was there before. */
void hold_arm(struct hold *h)
{
    if (h->go_fd >= 0) {
        (void)close(h->go_fd);
        h->go_fd = -1;
    }
    if (h->held_fd >= 0) {
        (void)close(h->held_fd);
    }
    h->held_fd = open(h->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    cr_assert_geq(h->held_fd, 0);
}

/* The process opens the FIFO for writing and closes it again: that is seen as a hang-up, and by
 * nobody before a writer was there. */
bool hold_wait(struct hold *h, int timeout_ms)
{
    return wait_input(h->held_fd, timeout_ms);
}

/* Opened for both, so that opening does not wait, and kept open, so that nobody is missed. */
void hold_release(struct hold *h)
{
    if (h->go_fd < 0) {
        h->go_fd = open(h->go_path, O_RDWR | O_CLOEXEC);
        cr_assert_geq(h->go_fd, 0);
    }
}

void hold_fini(struct hold *h)
{
    hold_release(h);
    (void)close(h->held_fd);
    (void)close(h->go_fd);
    (void)unlink(h->path);
    (void)unlink(h->go_path);
}
