/* Parts of a record: ranges of a tensor, and tensors by name; what is not asked for is not read. */
#include <cairn/part.h>
#include <string.h>

#include "ground.h"
#include "internal/limits.h"

#define CHUNK ((uint64_t)LIMIT_CHUNK_BYTES)
#define LARGE (3 * CHUNK + 1000)

struct parts {
    struct ground g;
    struct cairn_record *r;
    const struct cairn_reader *model;
};

static void parts_up(struct parts *p, size_t count, uint64_t bytes)
{
    ground_up(&p->g);
    ground_fill_chunks(&p->g, count, bytes);
    p->r = ground_loaded(&p->g, 0);
    cr_assert_eq(cairn_record_component(p->r, CAIRN_MODEL, &p->model), 0);
}

static void parts_down(struct parts *p)
{
    (void)cairn_record_free(p->r);
    ground_down(&p->g);
}

static const struct tensor *parts_tensor(const struct parts *p, size_t index)
{
    return p->g.job.model.tensors[index];
}

/* So many chunks were asked for since the last time. */
static unsigned parts_asked(struct parts *p)
{
    return atomic_exchange(&p->g.fake.asked_chunks, 0);
}

/* The bytes of a range are right, and none beside it is written. */
static void range_is(const struct parts *p, size_t index, uint64_t offset, uint64_t bytes)
{
    const struct tensor *t = parts_tensor(p, index);
    uint8_t *got = calloc(1, bytes + 2);
    cr_assert_not_null(got);
    got[0] = 0xA5;
    got[bytes + 1] = 0x5A;
    int rc = cairn_get_range(p->model, &t->entry, offset, bytes, got + 1);
    cr_assert_eq(rc,
                 0,
                 "%llu+%llu: %s",
                 (unsigned long long)offset,
                 (unsigned long long)bytes,
                 cairn_error(p->g.c));
    cr_assert(same_bits(got + 1, t->data + offset, bytes),
              "%llu+%llu",
              (unsigned long long)offset,
              (unsigned long long)bytes);
    cr_assert_eq(got[0], 0xA5);
    cr_assert_eq(got[bytes + 1], 0x5A);
    free(got);
}

CASE(part, ranges_over_every_edge_of_chunks)
{
    static const uint64_t at[] = { 0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, LARGE - 1, LARGE };
    struct parts p;
    parts_up(&p, 2, LARGE);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        for (size_t k = i; k < sizeof at / sizeof at[0]; k++) {
            range_is(&p, 1, at[i], at[k] - at[i]);
        }
    }
    parts_down(&p);
}

CASE(part, a_range_reads_the_chunks_that_hold_it)
{
    struct parts p;
    parts_up(&p, 3, LARGE);
    range_is(&p, 0, 5, 10);
    cr_assert_eq(parts_asked(&p), 1, "one chunk of the first tensor");
    range_is(&p, 2, CHUNK - 3, 6);
    cr_assert_eq(parts_asked(&p), 2, "two of the last");
    range_is(&p, 2, CHUNK + 100, 50);
    cr_assert_eq(parts_asked(&p), 0, "of which the second is still here");
    parts_down(&p);
}

CASE(part, ranges_in_order_ask_for_each_chunk_once)
{
    struct parts p;
    parts_up(&p, 1, LARGE);
    for (uint64_t at = 0; at < LARGE; at += 1 << 20) {
        range_is(&p, 0, at, LARGE - at < 1 << 20 ? LARGE - at : 1 << 20);
    }
    cr_assert_eq(parts_asked(&p), 4);
    parts_down(&p);
}

CASE(part, ranges_of_packed_and_of_small_tensors)
{
    struct parts p;
    parts_up(&p, 3, 100001);
    range_is(&p, 1, 0, 100001);
    range_is(&p, 1, 100000, 1);
    range_is(&p, 2, 77, 1000);
    range_is(&p, 0, 50, 0);
    parts_down(&p);
    parts_up(&p, 2, 300); /* in the manifest */
    range_is(&p, 1, 299, 1);
    range_is(&p, 0, 0, 300);
    cr_assert_eq(parts_asked(&p), 0);
    parts_down(&p);
}

CASE(part, what_is_no_range_is_refused_by_name)
{
    struct parts p;
    uint8_t byte[8];
    parts_up(&p, 1, 100001);
    const struct cairn_entry *e = &parts_tensor(&p, 0)->entry;
    cr_assert_eq(cairn_get_range(p.model, e, 100000, 2, byte), -CAIRN_EINVAL);
    const char *text = cairn_error(p.g.c);
    cr_assert_not_null(
        strstr(text, "model 'layer.000': 2 bytes from 100000 on are not inside its 100001"),
        "%s",
        text);
    cr_assert_eq(cairn_get_range(p.model, e, UINT64_MAX, 2, byte), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_range(p.model, e, 2, UINT64_MAX, byte), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_range(p.model, e, 2, 1, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_range(NULL, e, 0, 1, byte), -CAIRN_EINVAL);
    struct cairn_entry other = *e;
    other.path = "layer.999";
    other.id = 999;
    cr_assert_eq(cairn_get_range(p.model, &other, 0, 1, byte), -CAIRN_ENOENT);
    other = *e;
    other.dtype = CAIRN_I8;
    cr_assert_eq(cairn_get_range(p.model, &other, 0, 1, byte), -CAIRN_EMISMATCH);
    parts_down(&p);
}

static void rot(struct fake *f, uint32_t type, union wire_msg *msg, uint8_t *payload)
{
    if (type == WIRE_DATA && msg->data.chunk == f->knob) {
        payload[100] ^= 1;
    }
}

CASE(part, rot_beside_the_range_in_its_chunk_is_corrupt_and_elsewhere_it_is_not_seen)
{
    struct parts p;
    parts_up(&p, 1, LARGE);
    p.g.fake.knob = 1;
    p.g.fake.mangle = rot;
    uint8_t byte[8];
    const struct cairn_entry *e = &parts_tensor(&p, 0)->entry;
    cr_assert_eq(cairn_get_range(p.model, e, CHUNK + 5000, 8, byte), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(p.g.c), "layer.000"), "%s", cairn_error(p.g.c));
    range_is(&p, 0, 2 * CHUNK, 8);
    parts_down(&p);
}

CASE(part, a_bool_in_a_range_is_told_by_its_index_in_the_tensor)
{
    struct parts p;
    ground_up(&p.g);
    ground_fill_chunks(&p.g, 1, 100000);
    memset(p.g.job.model.tensors[0]->data, 1, 100000);
    p.g.job.model.tensors[0]->data[70000] = 7;
    p.r = ground_loaded(&p.g, 0);
    cr_assert_eq(cairn_record_component(p.r, CAIRN_MODEL, &p.model), 0);
    struct tensor *t = p.g.job.model.tensors[0];
    ground_entry(p.r, COMPONENT_MODEL, t->path, t->entry.id)->dtype = CAIRN_BOOL;
    t->entry.dtype = CAIRN_BOOL;
    range_is(&p, 0, 0, 70000);
    uint8_t got[100];
    cr_assert_eq(cairn_get_range(p.model, &t->entry, 69990, 100, got), -CAIRN_ECORRUPT);
    const char *text = cairn_error(p.g.c);
    cr_assert_not_null(strstr(text, "element 70000 of a bool tensor is 7"), "%s", text);
    parts_down(&p);
}

/* ---- by name ---- */

struct wanted {
    struct parts *p;
    uint8_t *got[16];
    size_t asked;
    bool (*skip)(size_t index);
    int rc;
};

static int wanted_place(void *self, const struct cairn_entry *e, void **ret_dst)
{
    struct wanted *w = self;
    size_t index = (size_t)(e->id - 1000);
    cr_assert_null(*ret_dst);
    cr_assert_str_eq(e->path, parts_tensor(w->p, index)->path);
    w->asked++;
    if (w->skip == NULL || !w->skip(index)) {
        w->got[index] = calloc(1, e->bytes);
        cr_assert_not_null(w->got[index]);
        *ret_dst = w->got[index];
    }
    return w->rc;
}

/* So many matched, and those that were wanted are right. Returns how many these were. */
static uint64_t named_are(struct wanted *w, const char *pattern, size_t matches)
{
    uint64_t count = 0;
    int rc = cairn_get_named(w->p->model, pattern, wanted_place, w, &count);
    cr_assert_eq(rc, 0, "%s", cairn_error(w->p->g.c));
    cr_assert_eq(w->asked, matches);
    uint64_t wanted = 0;
    for (size_t i = 0; i < sizeof w->got / sizeof w->got[0]; i++) {
        const uint8_t *got = w->got[i];
        if (got != NULL) {
            const struct tensor *t = parts_tensor(w->p, i);
            cr_assert(same_bits(got, t->data, t->bytes), "%s", t->path);
            free(w->got[i]);
            w->got[i] = NULL;
            wanted++;
        }
    }
    cr_assert_eq(count, wanted);
    w->asked = 0;
    return wanted;
}

static bool odd(size_t index)
{
    return index % 2 == 1;
}

CASE(part, tensors_by_name_and_no_chunk_of_another)
{
    struct parts p;
    parts_up(&p, 6, 5u << 20); /* a chunk each */
    struct wanted w = { .p = &p };
    cr_assert_eq(named_are(&w, "layer.00[1-4]", 4), 4);
    cr_assert_eq(parts_asked(&p), 4);
    cr_assert_eq(named_are(&w, "*.00?", 6), 6);
    (void)parts_asked(&p);
    cr_assert_eq(named_are(&w, NULL, 6), 6);
    w.skip = odd;
    (void)parts_asked(&p);
    cr_assert_eq(named_are(&w, "layer*", 6), 3);
    cr_assert_eq(parts_asked(&p), 3, "those that lie between are not asked for");
    parts_down(&p);
}

CASE(part, tensors_by_name_that_share_a_chunk)
{
    struct parts p;
    parts_up(&p, 9, 100001);
    struct wanted w = { .p = &p };
    cr_assert_eq(named_are(&w, "layer.00[258]", 3), 3);
    cr_assert_eq(parts_asked(&p), 1);
    parts_down(&p);
}

CASE(part, names_that_nothing_has_and_callbacks_that_fail)
{
    struct parts p;
    parts_up(&p, 2, 300);
    struct wanted w = { .p = &p };
    cr_assert_eq(cairn_get_named(p.model, "head.*", wanted_place, &w, NULL), -CAIRN_ENOENT);
    const char *text = cairn_error(p.g.c);
    cr_assert_not_null(strstr(text, "model: no tensor matches 'head.*'"), "%s", text);
    cr_assert_eq(w.asked, 0);
    cr_assert_eq(cairn_get_named(p.model, "*", NULL, &w, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_get_named(NULL, "*", wanted_place, &w, NULL), -CAIRN_EINVAL);
    w.skip = odd;
    w.rc = -CAIRN_ERANGE;
    cr_assert_eq(cairn_get_named(p.model, "*", wanted_place, &w, NULL), -CAIRN_ERANGE);
    cr_assert_eq(w.asked, 1, "the first failure ends it");
    w.rc = 5;
    free(w.got[0]);
    cr_assert_eq(cairn_get_named(p.model, "*", wanted_place, &w, NULL), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(p.g.c), "returned 5"), "%s", cairn_error(p.g.c));
    free(w.got[0]);
    parts_down(&p);
}
