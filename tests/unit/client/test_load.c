/* Loading and reading: what is believed, what is not, and what a lost connection changes (nothing).
 */
#include <cairn/admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground.h"

static void saved(struct ground *g, size_t tensors, uint64_t bytes)
{
    ground_up(g);
    job_fill(&g->job, 3);
    ground_fill_chunks(g, tensors, bytes);
    cr_assert_eq(ground_save(g, CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED, 5, NULL),
                 0,
                 "%s",
                 cairn_error(g->c));
}

CASE(load, F11_nothing_there_is_enoent)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), -CAIRN_ENOENT);
    cr_assert_null(r);
    ground_down(&g);
}

CASE(load, entries_come_in_key_order)
{
    struct ground g;
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    struct cairn_entry e;
    struct cairn_component_info info;
    uint8_t digest[16];
    saved(&g, 0, 0);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    static const char *paths[] = { "counter", "fc.bias", "fc.weight", "table" };
    for (uint64_t i = 0; i < 4; i++) {
        cr_assert_eq(cairn_entry_at(reader, i, &e), 0);
        cr_assert_str_eq(e.path, paths[i]);
        cr_assert_eq(cairn_entry_digest(reader, i, digest), 0);
    }
    cr_assert_eq(e.kind, CAIRN_TENSOR);
    cr_assert_eq(e.rank, 2);
    cr_assert_eq(e.shape[1], 300);
    cr_assert_eq(e.bytes, 120000);
    cr_assert_eq(cairn_entry_at(reader, 4, &e), -CAIRN_ENOENT);
    cr_assert_eq(cairn_entry_digest(reader, 4, digest), -CAIRN_ENOENT);
    cr_assert_eq(cairn_record_component(r, CAIRN_CONTRACT, &reader), -CAIRN_ENOENT);
    cr_assert_eq(cairn_record_component_info(r, CAIRN_MODEL, &info), 0);
    cr_assert_str_eq(info.type, "m");
    cr_assert_eq(info.entry_count, 4);
    cr_assert_eq(info.chunk_count, 2);
    cr_assert_eq(cairn_record_component_info(r, CAIRN_CONTRACT, &info), -CAIRN_ENOENT);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(load, R21_get_compares_and_says_both_sides)
{
    static const uint64_t shape[] = { 64, 10 };
    static const uint64_t turned[] = { 10, 64 };
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    const struct cairn_entry right = {
        .path = "fc.weight", .id = 7, .flags = both, .dtype = CAIRN_F32, .rank = 2, .shape = shape
    };
    struct cairn_entry wrong[7];
    struct ground g;
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    uint64_t u64 = 0;
    double f64 = 0;
    saved(&g, 0, 0);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    cr_assert_eq(cairn_get(reader, &right, NULL), 0);
    for (int i = 0; i < 7; i++) {
        wrong[i] = right;
    }
    wrong[0].dtype = CAIRN_I32;
    wrong[1].shape = turned;
    wrong[2].rank = 1;
    wrong[3].id = 8;
    wrong[4].flags = CAIRN_HAS_ID;
    wrong[5].flags = CAIRN_TRAINABLE;
    wrong[6].rank = 0;
    for (int i = 0; i < 7; i++) {
        cr_assert_eq(cairn_get(reader, &wrong[i], NULL), -CAIRN_EMISMATCH, "%d", i);
        cr_assert_not_null(strstr(cairn_error(g.c), "recorded F32 [64, 10] id 7 trainable"),
                           "%s",
                           cairn_error(g.c));
    }
    wrong[0] = right;
    wrong[0].path = "fc.nothing";
    cr_assert_eq(cairn_get(reader, &wrong[0], NULL), -CAIRN_ENOENT);
    cr_assert_eq(cairn_get_u64(reader, "counter", &u64), 0);
    cr_assert_eq(cairn_get_f64(reader, "counter", &f64), -CAIRN_EMISMATCH);
    cr_assert_eq(cairn_get_u64(reader, "fc.weight", &u64), -CAIRN_EMISMATCH);
    cr_assert_eq(cairn_get_u64(reader, "nothing", &u64), -CAIRN_ENOENT);
    cr_assert_eq(cairn_record_component(r, CAIRN_OPTIMIZER, &reader), 0);
    wrong[0] = right;
    wrong[0].path = "moment_1";
    wrong[0].flags = CAIRN_HAS_ID;
    cr_assert_eq(cairn_get(reader, &wrong[0], NULL), 0);
    wrong[0].id = 8;
    cr_assert_eq(cairn_get(reader, &wrong[0], NULL), -CAIRN_ENOENT, "the id is in the key here");
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* ---- lost connections ---- */

CASE(load, survives_a_connection_lost_anywhere, .timeout = 120)
{
    static const struct {
        uint32_t type;
        unsigned nth;
    } at[] = { { WIRE_DESCRIBE, 1 },   { WIRE_MANIFEST, 1 }, { WIRE_MANIFEST, 4 },
               { WIRE_CHUNK_LIST, 1 }, { WIRE_LOAD, 1 },     { WIRE_RELEASE, 1 },
               { WIRE_RELEASE, 3 } };
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        struct ground g;
        bool streaming = at[i].type == WIRE_RELEASE; /* more chunks than credits */
        saved(&g, streaming ? 26 : 2, 4200000);
        g.fake.faults[0] = (struct fake_fault){ at[i].type, at[i].nth, FAKE_CLOSE, 0 };
        ground_check_newest(&g);
        cr_assert_eq(g.fake.connections, 2, "fault %zu did not happen", i);
        ground_down(&g);
    }
}

CASE(load, a_boundary_removed_in_mid_restore_is_pruned_not_missing)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct job other;
    saved(&g, 26, 4200000);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    g.fake.boundaries[0]->removed = true;
    g.fake.faults[0] = (struct fake_fault){ WIRE_RELEASE, 1, FAKE_CLOSE, 0 };
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_EPRUNED, "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

/* ---- order of reading ---- */

CASE(load, reads_in_any_order)
{
    struct ground g;
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    unsigned seed = 12345;
    saved(&g, 40, 5000000);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    uint8_t *dst = malloc(5000000);
    for (int i = 0; i < 60; i++) {
        seed = seed * 1103515245 + 12345;
        const struct tensor *t = g.job.model.tensors[(seed >> 16) % g.job.model.count];
        cr_assert_eq(
            cairn_get(reader, &t->entry, dst), 0, "seed 12345, %d: %s", i, cairn_error(g.c));
        cr_assert_eq(memcmp(dst, t->data, t->bytes), 0, "%s", t->path);
        if (i % 10 == 9) { /* other questions in between */
            struct cairn_boundary b;
            size_t count = 0;
            cr_assert_eq(cairn_find(g.c, "latest", 1, &b, &count), 0, "%s", cairn_error(g.c));
        }
    }
    for (size_t i = g.job.model.count; i > 0; i--) { /* and backwards */
        const struct tensor *t = g.job.model.tensors[i - 1];
        cr_assert_eq(cairn_get(reader, &t->entry, dst), 0);
        cr_assert_eq(memcmp(dst, t->data, t->bytes), 0);
    }
    free(dst);
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(load, in_put_order_it_is_one_stream)
{
    struct ground g;
    saved(&g, 40, 5000000);
    ground_check_newest(&g);
    cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 1);
    ground_down(&g);
}

CASE(load, two_records_take_turns)
{
    struct ground g;
    struct cairn_record *r[2] = { NULL };
    const struct cairn_reader *reader[2];
    uint64_t counter = 0;
    saved(&g, 4, 5000000);
    g.job.model.counter = 99;
    g.job.model.tensors[3]->data[0] ^= 1;
    cr_assert_eq(ground_save(&g, 0, 6, NULL), 0);
    uint8_t *dst = malloc(5000000);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(
            cairn_load(g.c, i == 0 ? "seq:1" : "seq:2", 0, &r[i]), 0, "%s", cairn_error(g.c));
        cr_assert_eq(cairn_record_component(r[i], CAIRN_MODEL, &reader[i]), 0);
    }
    const struct tensor *t = g.job.model.tensors[3];
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(cairn_get(reader[i % 2], &t->entry, dst), 0, "%s", cairn_error(g.c));
        dst[0] ^= i % 2 == 0;
        cr_assert_eq(memcmp(dst, t->data, t->bytes), 0);
    }
    cr_assert_eq(cairn_get_u64(reader[1], "counter", &counter), 0);
    cr_assert_eq(counter, 99);
    free(dst);
    r[0] = cairn_record_free(r[0]);
    (void)cairn_record_free(r[1]);
    ground_down(&g);
}

CASE(load, a_record_outlives_its_handle_but_for_its_payload)
{
    struct ground g;
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    uint64_t counter = 0;
    saved(&g, 2, 5000000);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    g.c = cairn_close(g.c);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    cr_assert_eq(cairn_get_u64(reader, "counter", &counter), 0);
    struct tensor *t = g.job.model.tensors[3];
    cr_assert_eq(cairn_get(reader, &t->entry, t->data), -CAIRN_ECONN);
    cr_assert_eq(cairn_get_u64(reader, "nothing", &counter), -CAIRN_ENOENT);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* ---- damage
 * --------------------------------------------------------------------------------------------------
 */

/* Each changes one thing of what the fake sends; knob says which. */
static void mangle_row(unsigned knob, struct boundary *b)
{
    static struct component_info infos[COMPONENT_NR];
    memcpy(infos, b->components, b->component_count * sizeof *infos);
    b->components = infos;
    b->step += knob == 1;
    b->kind ^= knob == 2 ? CAIRN_KIND_DTYPES : 0;
    b->root.byte[0] ^= knob == 3;
    infos[0].digest.byte[3] ^= knob == 4;
    infos[0].entry_count -= knob == 5;
    b->entry_count -= knob == 5;
    infos[0].type = knob == 6 ? slice_str("other") : infos[0].type;
    b->component_count -= knob == 7;
    b->save_id[0] ^= knob == 8;
    b->chunk_count -= knob == 9;
    infos[1].bytes += knob == 10;
    infos[2].bytes -= knob == 10;
}

static void mangle_entries(unsigned knob, struct wire_entries *page)
{
    static struct entry entries[LIMIT_ENTRIES_PER_PAGE];
    memcpy(entries, page->entries, page->count * sizeof *entries);
    page->entries = entries;
    entries[1].dtype = knob == 20 ? CAIRN_I32 : entries[1].dtype;
    entries[1].id += knob == 21;
    entries[1].flags ^= knob == 22 ? CAIRN_TRAINABLE : 0;
    page->count -= knob == 23;
    entries[1] = knob == 24 ? entries[2] : entries[1];
    entries[2].offset_bytes += knob == 25 ? 64 : 0;
    entries[3].digest.byte[0] ^= knob == 26;
    entries[2].first_chunk += knob == 27;
    entries[0].value = knob == 28 ? slice_of("\1\2\3\4\5\6\7", 8) : entries[0].value;
}

static void mangle_chunks(unsigned knob, struct wire_chunks *page)
{
    static struct chunk chunks[LIMIT_CHUNKS_PER_PAGE];
    memcpy(chunks, page->chunks, page->count * sizeof *chunks);
    page->chunks = chunks;
    chunks[0].digest.byte[0] ^= knob == 40;
    chunks[2].bytes -= knob == 41 ? 64 : 0;
    chunks[2].component = knob == 42 ? COMPONENT_OPTIMIZER : chunks[2].component;
    page->count -= knob == 43;
}

static void mangle(struct fake *f, uint32_t type, union wire_msg *msg, uint8_t *payload)
{
    if (type == WIRE_DESCRIBED) {
        mangle_row(f->knob, &msg->described.boundary);
    } else if (type == WIRE_ENTRIES && msg->entries.component == COMPONENT_MODEL) {
        mangle_entries(f->knob, &msg->entries);
    } else if (type == WIRE_CHUNKS) {
        mangle_chunks(f->knob, &msg->chunks);
    } else if (type == WIRE_DATA && f->knob == 60 && msg->data.chunk == 2) {
        payload[4000000] ^= 0x10;
    } else if (type == WIRE_DATA && f->knob == 61 && msg->data.chunk == 0) {
        payload[0] ^= 0x10;
    }
}

CASE(load, F12_metadata_that_was_changed_is_corrupt, .timeout = 120)
{
    static const unsigned knobs[] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 20,
                                      21, 22, 23, 24, 25, 26, 27, 28, 41, 42, 43 };
    for (size_t i = 0; i < sizeof knobs / sizeof knobs[0]; i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        saved(&g, 3, 5000000);
        g.fake.mangle = mangle;
        g.fake.knob = knobs[i];
        int rc = cairn_load(g.c, "latest", 5000, &r);
        /* An offset inside the chunk is caught by the entry's own digest, when it is read. */
        bool late = rc == 0 && knobs[i] == 25;
        if (late) {
            struct job other;
            job_like(&other, &g.job);
            rc = cairn_restore(g.c, r, &other.t);
            job_fini(&other);
        }
        /* Where the counts ask for a page that the fake does not have, that is what it says. */
        bool asked = rc == -CAIRN_EINVAL && (knobs[i] == 23 || knobs[i] == 43);
        cr_assert(rc == -CAIRN_ECORRUPT || asked, "knob %u: %d %s", knobs[i], rc, cairn_error(g.c));
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

CASE(load, F12_payload_that_was_changed_is_corrupt_and_named)
{
    static const unsigned knobs[] = { 60, 61, 40 };
    static const char *paths[] = { "layer.000", "fc.weight", "fc.weight" };
    for (size_t i = 0; i < 3; i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        struct job other;
        saved(&g, 3, 5000000);
        job_like(&other, &g.job);
        g.fake.mangle = mangle;
        g.fake.knob = knobs[i];
        cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0, "%s", cairn_error(g.c));
        cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_ECORRUPT, "%s", cairn_error(g.c));
        cr_assert_not_null(strstr(cairn_error(g.c), paths[i]), "%s", cairn_error(g.c));
        cr_assert_not_null(strstr(cairn_error(g.c), "model"), "%s", cairn_error(g.c));
        g.fake.knob = 0;
        if (knobs[i] != 40) {
            cr_assert_eq(cairn_restore(g.c, r, &other.t),
                         0,
                         "read again, it is whole: %s",
                         cairn_error(g.c));
        }
        (void)cairn_record_free(r);
        job_fini(&other);
        ground_down(&g);
    }
}

CASE(load, a_daemon_that_stops_in_mid_stream_is_a_deadline)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct job other;
    saved(&g, 30, 5000000);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_set_timeout(g.c, 300), 0);
    for (unsigned i = 1; i <= 5; i++) {
        g.fake.faults[i] = (struct fake_fault){ WIRE_RELEASE, i, FAKE_SILENCE, 0 };
    }
    cr_assert_eq(cairn_restore(g.c, r, &other.t), -CAIRN_ETIMEDOUT, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_set_timeout(g.c, 20000), 0);
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

CASE(load, a_record_left_in_mid_stream_leaves_nothing_behind)
{
    struct ground g;
    struct cairn_record *r = NULL;
    const struct cairn_reader *reader = NULL;
    uint8_t *dst = malloc(5000000);
    saved(&g, 30, 5000000);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &reader), 0);
    cr_assert_eq(cairn_get(reader, &g.job.model.tensors[0]->entry, dst), 0);
    r = cairn_record_free(r);
    cr_assert_eq(ground_save(&g, 0, 6, NULL), 0, "%s", cairn_error(g.c));
    ground_check_newest(&g);
    free(dst);
    ground_down(&g);
}
