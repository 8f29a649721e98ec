/* Saves from an arena that is given back, or written to, while they are under way. */
#include <stdio.h>
#include <string.h>

#include "cairn/admin.h"
#include "cairn/training.h"

#include "arena_site.h"
#include "support/case.h"
#include "support/hold.h"

enum { WAIT_MS = 20000 };

static struct daemon d;
/* Places at which the daemon stands while they are armed; they are not yet. */
static struct hold at_write; /* every chunk's */
static struct hold at_fifth; /* the write of that chunk: the second one's of a second save */
static struct hold at_seal; /* the thread that digests, before it has digested anything of a save */

static void up(void)
{
    daemon_begin(&d, "under_way", NULL, NULL);
}

static void up_held(void)
{
    char dir[TMP_PATH_BYTES];
    char spec[1024];
    const char *env[] = { spec, NULL };
    tmp_make("under_way", dir);
    daemon_init(&d, dir);
    memcpy(d.dir, dir, sizeof d.dir);
    hold_init(&at_write, d.socket_dir, "write");
    hold_init(&at_fifth, d.socket_dir, "fifth");
    hold_init(&at_seal, d.socket_dir, "seal");
    (void)snprintf(spec,
                   sizeof spec,
                   "CAIRN_FAILPOINT=segment_write:hold=%s,segment_write:hold=%s:5,sealing:hold=%s",
                   at_write.path,
                   at_fifth.path,
                   at_seal.path);
    hold_release(&at_write);
    hold_release(&at_fifth);
    hold_release(&at_seal);
    daemon_start(&d, env);
}

static void holds_fini(void)
{
    hold_fini(&at_write);
    hold_fini(&at_fifth);
    hold_fini(&at_seal);
}

static void down_held(void)
{
    holds_fini();
    daemon_end(&d);
}

/* ---- given back ---- */

CASE(arena_under_way, given_back_it_serves_the_save_that_has_begun, .timeout = 60)
{
    struct hand h;
    up();
    hand_mapped(&h, &d);
    hand_fill(&h, 3, 1);
    hand_begin(&h);
    hand_chunks(&h, 0, 2);
    hand_arena(&h, WIRE_ARENA_CLOSE);
    cr_assert_eq(arenas(&d), 1, "the save still has it");
    hand_chunks(&h, 2, 1);
    hand_entries(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    peer_ping(&h.p);
    cr_assert_eq(arenas(&d), 0);
    hand_sum(&h, 2);
    hand_send_begin(&h);
    hand_refused(&h, CAIRN_EINVAL, "none of this connection's");
    loads(&d, "latest", 3);
    hand_down(&h);
    daemon_end(&d);
}

CASE(arena_under_way, given_back_it_goes_with_the_save_that_was_aborted, .timeout = 60)
{
    struct hand h;
    union wire_msg msg = { 0 };
    up();
    hand_mapped(&h, &d);
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hand_arena(&h, WIRE_ARENA_CLOSE);
    cr_assert(peer_send(&h.p, WIRE_ABORT, h.request, &msg, (struct slice){ 0 }));
    peer_expect(&h.p, WIRE_DONE, h.request, &msg);
    hand_down(&h);
    daemon_end(&d);
}

/* Not one byte of it has been read yet, and its client has neither arena nor descriptor any more.
 */
CASE(arena_under_way, given_back_it_is_read_until_what_was_sealed_is_committed, .timeout = 60)
{
    struct hand h;
    up_held();
    hand_mapped(&h, &d);
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hold_arm(&at_write);
    hand_seal(&h);
    cr_assert(hold_wait(&at_write, WAIT_MS));
    hand_arena(&h, WIRE_ARENA_CLOSE);
    hand_unmap(&h);
    hold_release(&at_write);
    cr_assert_eq(hand_committed(&h), 1);
    peer_ping(&h.p);
    cr_assert_eq(arenas(&d), 0);
    loads(&d, "latest", 3);
    hand_down(&h);
    down_held();
}

/* ---- bytes that change while they are saved ---- */

/* The save stands before the first write of a chunk: nothing of it is on the disk. */
static void stand_at_write(struct hand *h)
{
    hand_announce(h);
    hold_arm(&at_write);
    hand_seal(h);
    cr_assert(hold_wait(&at_write, WAIT_MS));
}

CASE(arena_under_way, bytes_that_change_for_good_are_not_committed, .timeout = 60)
{
    struct hand h;
    up_held();
    hand_mapped(&h, &d);
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);
    for (unsigned chunk = 0; chunk < HAND_CHUNKS; chunk++) {
        hand_fill(&h, 6, 2);
        stand_at_write(&h);
        h.base[h.offsets[chunk] + HAND_BYTES / 2] ^= 1;
        hold_release(&at_write);
        hand_refused(&h, CAIRN_ECORRUPT, "it was changed in the arena after its capture");
        loads(&d, "latest", 3);
    }
    hand_fill(&h, 6, 2); /* honest again, under the same save id */
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 2);
    loads(&d, "seq:1", 3);
    loads(&d, "latest", 6);
    hand_down(&h);
    down_held();
}

/* Nothing is wrong but in the model of boundary 2. */
static int found_in_model(void *arg, const struct cairn_finding *f)
{
    cr_assert_eq(f->seq, 2, "%s", f->text);
    cr_assert_eq(f->component, CAIRN_MODEL, "%s", f->text);
    (*(unsigned *)arg)++;
    return 0;
}

static int get_first(void *self, const struct cairn_reader *model)
{
    static uint8_t data[HAND_BYTES];
    static const uint64_t shape[] = { HAND_BYTES };
    const struct cairn_entry e = { .path = "t0", .dtype = CAIRN_U8, .rank = 1, .shape = shape };
    (void)self;
    return cairn_get(model, &e, data);
}

/* What is on the disk is not what was digested: nobody can see it before it is read. */
static void is_corrupt(const char *selector)
{
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    struct cairn_verified verified = { 0 };
    unsigned findings = 0;
    struct cairn_trainer t = { .model = { .get = get_first } };
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    cr_assert_eq(cairn_load(c, selector, WAIT_MS, &r), 0, "%s", cairn_error(c));
    cr_assert_eq(cairn_restore(c, r, &t), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(c), "model 't0'"), "%s", cairn_error(c));
    (void)cairn_record_free(r);
    cr_assert_eq(cairn_verify(c, NULL, found_in_model, &findings, &verified), -CAIRN_ECORRUPT);
    cr_assert_eq(findings, 2, "the chunk, and what is in it");
    (void)cairn_close(c);
}

CASE(arena_under_way, bytes_that_change_and_change_back_spoil_that_boundary_only, .timeout = 60)
{
    struct hand h;
    up_held();
    hand_mapped(&h, &d);
    hand_fill(&h, 3, 1);
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 1);

    hand_fill(&h, 6, 2);
    hand_announce(&h);
    h.base[HAND_BYTES / 2] ^= 1;
    hold_arm(&at_fifth);
    hold_arm(&at_seal);
    hand_seal(&h);
    cr_assert(hold_wait(&at_seal, WAIT_MS));
    cr_assert(hold_wait(&at_fifth, WAIT_MS)); /* the first chunk is written, and not digested */
    h.base[HAND_BYTES / 2] ^= 1;
    hold_release(&at_fifth);
    hold_release(&at_seal);
    cr_assert_eq(hand_committed(&h), 2);

    hand_sum(&h, 3); /* the same bytes, honestly */
    hand_announce(&h);
    hand_seal(&h);
    cr_assert_eq(hand_committed(&h), 3);
    is_corrupt("seq:2");
    loads(&d, "seq:1", 3);
    loads(&d, "latest", 6);
    hand_down(&h);
    holds_fini();
    cr_assert_eq(daemon_stop(&d), 0);
    cr_assert_neq(daemon_fsck(&d, false), 0);
    daemon_fini(&d);
    tmp_remove(d.dir);
}
