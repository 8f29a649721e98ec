#include "arena_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cairn/training.h"

#include "support/case.h"

enum { SITE_MS = 20000 };

void hand_mapped(struct hand *h, const struct daemon *d)
{
    hand_up(h, d->socket, "run");
    hand_open(h);
    hand_arena(h, WIRE_ARENA_MAPPED);
}

unsigned arenas(const struct daemon *d)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)d->proc.pid);
    return tmp_lines_with(path, (const char *const[]){ "cairn-arena", NULL });
}

static const uint8_t *const *wanted; /* the bytes of each tensor */

static int get_wanted(void *self, const struct cairn_reader *model)
{
    static const char *const paths[HAND_CHUNKS] = { "t0", "t1", "t2" };
    static const uint64_t shape[] = { HAND_BYTES };
    for (unsigned i = 0; i < HAND_CHUNKS; i++) {
        const struct cairn_entry e = {
            .path = paths[i], .dtype = CAIRN_U8, .rank = 1, .shape = shape
        };
        int rc = cairn_get(model, &e, self);
        if (rc < 0) {
            return rc;
        }
        cr_assert_eq(memcmp(self, wanted[i], HAND_BYTES), 0, "%s", paths[i]);
    }
    return 0;
}

void loads_as(const struct daemon *d,
              const char *selector,
              const uint8_t *const tensors[HAND_CHUNKS])
{
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    struct cairn_trainer t = { .model = { .self = malloc(HAND_BYTES), .get = get_wanted } };
    cr_assert_not_null(t.model.self);
    wanted = tensors;
    cr_assert_eq(cairn_open(d->socket, "run", &c), 0);
    cr_assert_eq(cairn_load(c, selector, SITE_MS, &r), 0, "%s", cairn_error(c));
    cr_assert_eq(cairn_restore(c, r, &t), 0, "%s", cairn_error(c));
    (void)cairn_record_free(r);
    (void)cairn_close(c);
    free(t.model.self);
}

void loads(const struct daemon *d, const char *selector, uint8_t seed)
{
    static uint8_t bytes[HAND_CHUNKS][HAND_BYTES];
    const uint8_t *tensors[HAND_CHUNKS];
    for (unsigned i = 0; i < HAND_CHUNKS; i++) {
        memset(bytes[i], seed + (int)i, HAND_BYTES);
        tensors[i] = bytes[i];
    }
    loads_as(d, selector, tensors);
}
