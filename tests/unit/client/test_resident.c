/* Payload out of memory that the daemon has kept: whatever is wrong with it, the trainer gets what
 * was saved, and the daemon's own copy where memory has another. */
#include <cairn/admin.h>
#include <stdio.h>
#include <string.h>

#include "ground.h"

enum { CHUNKS = 3 };

static void saved(struct ground *g, enum fake_resident resident)
{
    ground_up(g);
    job_fill(&g->job, 3);
    ground_fill_chunks(g, CHUNKS, 5000000);
    cr_assert_eq(ground_save(g, 0, 5, NULL), 0, "%s", cairn_error(g->c));
    g->fake.resident = resident;
}

static unsigned warnings;

static void warn(void *arg, const char *sentence)
{
    warnings += strstr(sentence, arg) != NULL;
}

/* Mappings that this process has of it. */
static unsigned mapped(void)
{
    char line[512];
    unsigned count = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    cr_assert_not_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        count += strstr(line, "fake-arena") != NULL;
    }
    (void)fclose(f);
    return count;
}

/* Load the newest and restore it: equal, whatever there is in memory. */
static bool restored(struct ground *g, const char *warning)
{
    static char words[128];
    struct cairn_record *r = NULL;
    struct job other;
    job_like(&other, &g->job);
    other.t.warn = warn;
    (void)snprintf(words, sizeof words, "%s", warning);
    other.t.warn_arg = words;
    warnings = 0;
    cr_assert_eq(cairn_load(g->c, "latest", 0, &r), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_restore(g->c, r, &other.t), 0, "%s", cairn_error(g->c));
    cr_assert_null(job_differs(&g->job, &other), "%s", job_differs(&g->job, &other));
    bool resident = cairn_record_resident(r);
    cr_assert_eq(mapped(), 0, "all of it was read");
    (void)cairn_record_free(r);
    job_fini(&other);
    return resident;
}

CASE(resident, nothing_is_asked_of_the_disk)
{
    struct ground g;
    saved(&g, FAKE_RESIDENT_GOOD);
    cr_assert(restored(&g, ""));
    cr_assert_eq(warnings, 0);
    cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 0);
    cr_assert_eq(fake_seen(&g.fake, WIRE_ARENA_CLOSE), 0);
    cr_assert(restored(&g, ""));
    cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 0);
    cr_assert_eq(fake_seen(&g.fake, WIRE_ARENA_CLOSE), 1, "the first went back before the second");
    ground_down(&g);
}

/* In each of its chunks: those with an entry of their own, and those that entries share. */
CASE(resident, F12_memory_is_not_believed)
{
    unsigned loads = 0;
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        struct ground g;
        saved(&g, FAKE_RESIDENT_DAMAGED);
        g.fake.resident_chunk = chunk;
        cr_assert_not(restored(&g, "a chunk in memory does not match its digest"));
        cr_assert_eq(warnings, 1);
        loads += fake_seen(&g.fake, WIRE_LOAD) > 0;
        ground_down(&g);
    }
    cr_assert_eq(loads, CHUNKS);
}

CASE(resident, what_cannot_be_had_comes_from_the_disk)
{
    static const enum fake_resident wrong[] = { FAKE_RESIDENT_REFUSED,   FAKE_RESIDENT_NO_FD,
                                                FAKE_RESIDENT_UNSEALED,  FAKE_RESIDENT_SHORT,
                                                FAKE_RESIDENT_NO_PLACES, FAKE_RESIDENT_OUTSIDE };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct ground g;
        saved(&g, wrong[i]);
        g.fake.resident_chunk = 1;
        cr_assert_not(restored(&g, ""), "%zu", i);
        cr_assert_eq(fake_seen(&g.fake, WIRE_RESIDENT), 1);
        cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 1);
        cr_assert_eq(fake_seen(&g.fake, WIRE_ARENA_CLOSE), i > 0, "%zu", i);
        cr_assert_eq(g.fake.connections, 1);
        ground_down(&g);
    }
}

CASE(resident, places_that_are_refused_are_done_without)
{
    struct ground g;
    saved(&g, FAKE_RESIDENT_GOOD);
    g.fake.faults[0] = (struct fake_fault){ WIRE_CHUNK_LIST, 1, FAKE_REFUSE, CAIRN_EINVAL };
    cr_assert_not(restored(&g, ""));
    cr_assert_eq(fake_seen(&g.fake, WIRE_CHUNK_LIST), 2);
    ground_down(&g);
}

CASE(resident, survives_a_connection_lost_anywhere)
{
    static const uint32_t at[] = { WIRE_RESIDENT, WIRE_CHUNK_LIST, WIRE_MANIFEST };
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        struct ground g;
        saved(&g, FAKE_RESIDENT_GOOD);
        g.fake.faults[0] = (struct fake_fault){ at[i], 1, FAKE_CLOSE, 0 };
        cr_assert(restored(&g, ""));
        cr_assert_eq(g.fake.connections, 2);
        cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 0);
        ground_down(&g);
    }
}

/* What is mapped stays, and its digests with it: also when a call has found the daemon to be
 * another one meanwhile. */
CASE(resident, outlives_its_connection)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_boundary found;
    struct job other;
    size_t count = 0;
    saved(&g, FAKE_RESIDENT_GOOD);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(mapped(), 1);
    fake_pause(&g.fake);
    fake_resume(&g.fake);
    cr_assert_eq(cairn_find(g.c, "latest", 1, &found, &count), 0, "%s", cairn_error(g.c));
    cr_assert_eq(g.fake.connections, 2);
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_null(job_differs(&g.job, &other), "%s", job_differs(&g.job, &other));
    cr_assert(cairn_record_resident(r));
    cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 0);
    cr_assert_eq(cairn_find(g.c, "latest", 1, &found, &count), 0, "%s", cairn_error(g.c));
    cr_assert_eq(fake_seen(&g.fake, WIRE_ARENA_CLOSE), 0, "it was lent on another connection");
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

CASE(resident, needs_no_daemon_once_it_is_loaded)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct job other;
    saved(&g, FAKE_RESIDENT_GOOD);
    job_like(&other, &g.job);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0, "%s", cairn_error(g.c));
    fake_pause(&g.fake);
    cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
    cr_assert_null(job_differs(&g.job, &other), "%s", job_differs(&g.job, &other));
    cr_assert(cairn_record_resident(r));
    (void)cairn_record_free(r);
    fake_resume(&g.fake);
    job_fini(&other);
    ground_down(&g);
}

/* The handle has one at a time: of the record that was loaded last. */
CASE(resident, another_record_takes_its_place)
{
    struct ground g;
    struct cairn_record *r[2] = { NULL };
    struct job other;
    saved(&g, FAKE_RESIDENT_GOOD);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(cairn_load(g.c, "latest", 0, &r[i]), 0, "%s", cairn_error(g.c));
    }
    cr_assert(!cairn_record_resident(r[0]) && cairn_record_resident(r[1]));
    cr_assert_eq(fake_seen(&g.fake, WIRE_ARENA_CLOSE), 1);
    for (size_t i = 0; i < 2; i++) {
        job_like(&other, &g.job);
        cr_assert_eq(cairn_restore(g.c, r[i], &other.t), 0, "%s", cairn_error(g.c));
        cr_assert_null(job_differs(&g.job, &other), "%s", job_differs(&g.job, &other));
        job_fini(&other);
        cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 1);
        (void)cairn_record_free(r[i]);
    }
    cr_assert_not(cairn_record_resident(NULL));
    ground_down(&g);
}

/* Of a record whose memory was given back the rest of the reads is the disk's, and no damage. */
CASE(resident, a_second_restore_of_a_record_is_nothing_to_warn_of)
{
    struct ground g;
    static char all[] = "";
    struct cairn_record *r = NULL;
    struct job other;
    saved(&g, FAKE_RESIDENT_GOOD);
    job_like(&other, &g.job);
    other.t.warn = warn;
    other.t.warn_arg = all;
    warnings = 0;
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0, "%s", cairn_error(g.c));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(cairn_restore(g.c, r, &other.t), 0, "%s", cairn_error(g.c));
        cr_assert_null(job_differs(&g.job, &other), "%s", job_differs(&g.job, &other));
        cr_assert(cairn_record_resident(r));
    }
    cr_assert_eq(warnings, 0);
    (void)cairn_record_free(r);
    job_fini(&other);
    ground_down(&g);
}

/* What is read piece by piece stays in memory until the record goes: it may be wanted again. */
CASE(resident, a_tensor_that_is_read_again_is_not_the_disks)
{
    struct ground g;
    struct cairn_record *r = NULL;
    const struct cairn_reader *model = NULL;
    saved(&g, FAKE_RESIDENT_GOOD);
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0, "%s", cairn_error(g.c));
    cr_assert_eq(cairn_record_component(r, CAIRN_MODEL, &model), 0);
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < g.job.model.count; k++) {
            const struct tensor *t = g.job.model.tensors[k];
            cr_assert_eq(cairn_get(model, &t->entry, t->data), 0, "%s", cairn_error(g.c));
        }
    }
    cr_assert_eq(fake_seen(&g.fake, WIRE_LOAD), 0);
    (void)cairn_record_free(r);
    cr_assert_eq(mapped(), 0);
    ground_down(&g);
}
