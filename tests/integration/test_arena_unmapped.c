/* An arena that the trainer cannot map goes back at once: the daemon counts it as lent. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "site.h"
#include "support/case.h"

static bool no_shared_maps;

/* Linked with --wrap=mmap: what the library calls. */
void *real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) __asm__(
    "__real_mmap");
void *wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) __asm__(
    "__wrap_mmap");

void *wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (no_shared_maps && (flags & MAP_SHARED) != 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real_mmap(at, bytes, protection, flags, fd, offset);
}

static unsigned arenas_of(const struct daemon *d)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)d->proc.pid);
    return tmp_lines_with(path, (const char *const[]){ "cairn-arena", NULL });
}

/* There is room for one: as long as the daemon believes that it is lent, another is refused. */
CASE(arena_unmapped, goes_back_to_the_daemon_at_once, .timeout = 60)
{
    static const uint64_t large[] = { 3, 1 << 20 };
    struct site s;
    site_up(&s);
    cr_assert_eq(daemon_stop(&s.d), 0);
    s.d.args[0] = "--arena-bytes=100MiB";
    daemon_start(&s.d, NULL);
    job_fill(&s.job, 1);
    (void)BOX_ADD(&s.job.model, "large", 70, CAIRN_HAS_ID, CAIRN_F32, 2, large, 9);
    no_shared_maps = true;
    cr_assert_eq(cairn_warm(s.c, 16 << 20, 1), 0, "%s", cairn_error(s.c));
    cr_assert_eq(arenas_of(&s.d), 0);
    site_save(&s, 1, NULL);
    site_check(&s, "latest");
    no_shared_maps = false;
    cr_assert_eq(cairn_warm(s.c, 16 << 20, 1), 0, "%s", cairn_error(s.c));
    cr_assert_eq(arenas_of(&s.d), 1);
    site_save(&s, 2, NULL);
    const char *const lent[] = { "committed", " step=2 ", " path=arena ", NULL };
    cr_assert_eq(tmp_lines_with(s.d.log, lent), 1);
    site_check(&s, "latest");
    site_down(&s);
}
