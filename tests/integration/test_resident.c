/* The last record of a trainer that has gone, loaded from the memory it was saved from: right bytes
 * or the disk's, whatever was done to that memory; and how long it stays. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cairn/training.h"

#include "resident_site.h"
#include "support/case.h"

enum { WAIT_MS = 20000 };

static struct daemon d;

static void up(const char *option)
{
    const char *const options[] = { option, NULL };
    daemon_begin(&d, "resident", option == NULL ? NULL : options, NULL);
}

/* Mappings of arenas that the daemon has. */
static unsigned arenas(void)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)d.proc.pid);
    return tmp_lines_with(path, (const char *const[]){ "cairn-arena", NULL });
}

/* Its store is not sound. */
static void down(void)
{
    cr_assert_eq(daemon_stop(&d), 0);
    daemon_fini(&d);
    tmp_remove(d.dir);
}

/* The disk has nothing of it any more: no byte of it was read. */
CASE(resident, what_a_trainer_leaves_is_loaded_from_memory, .timeout = 60)
{
    up(NULL);
    trainer_leaves(&d, "run", 10, 1);
    trainer_leaves(&d, "run", 20, 1);
    rot(&d, "run");
    loads_from_memory(&d, "run", 20);
    loads_from_memory(&d, "run", 20);
    const char *const given[] = { "load from memory", " run=", "/run seq=2 ", NULL };
    cr_assert_eq(tmp_lines_with(d.log, given), 2);
    down();
}

CASE(resident, with_0_bytes_nothing_stays, .timeout = 60)
{
    up("--resident-bytes=0");
    trainer_leaves(&d, "run", 20, 0);
    cr_assert_eq(arenas(), 0);
    loads_from_disk(&d, "run", 20);
    rot(&d, "run");
    cr_assert_eq(load(&d, "run", 20).rc, -CAIRN_ECORRUPT);
    down();
}

/* Who had it may have it mapped still. */
CASE(resident, what_was_scribbled_on_is_read_from_the_disk, .timeout = 60)
{
    struct hand h;
    up(NULL);
    for (uint32_t chunk = 0; chunk < HAND_CHUNKS; chunk++) {
        trainer_saves(&h, &d, "run", (uint8_t)(20 + chunk));
        peer_close(&h.p);
        wait_stay(&d, 1);
        h.base[h.offsets[chunk] + HAND_BYTES / 2] ^= 1;
        struct loaded l = load(&d, "run", (uint8_t)(20 + chunk));
        cr_assert_eq(l.rc, 0);
        cr_assert(l.resident_at_load && !l.resident_at_end);
        cr_assert_eq(l.warnings, 1);
        hand_unmap(&h);
    }
    daemon_end(&d);
}

/* The next capture has begun, and nobody was told. */
CASE(resident, what_was_captured_over_is_read_from_the_disk, .timeout = 60)
{
    struct hand h;
    up(NULL);
    trainer_saves(&h, &d, "run", 20);
    hand_fill(&h, 30, 30);
    hand_down(&h);
    wait_stay(&d, 1);
    struct loaded l = load(&d, "run", 20);
    cr_assert(l.rc == 0 && l.resident_at_load && !l.resident_at_end && l.warnings == 1);
    daemon_end(&d);
}

CASE(resident, what_was_begun_over_does_not_stay, .timeout = 60)
{
    struct hand h;
    up(NULL);
    trainer_saves(&h, &d, "run", 20);
    hand_fill(&h, 30, 30);
    hand_announce(&h);
    hand_down(&h);
    wait_stay(&d, 0);
    loads_from_disk(&d, "run", 20);
    cr_assert_eq(arenas(), 0);
    daemon_end(&d);
}

/* It came to nothing, in another arena than the last. */
CASE(resident, what_was_begun_beside_it_does_no_harm, .timeout = 60)
{
    struct hand h;
    up(NULL);
    trainer_saves(&h, &d, "run", 20);
    hand_unmap(&h);
    hand_open(&h);
    hand_arena(&h, WIRE_ARENA_MAPPED);
    hand_fill(&h, 30, 30);
    hand_announce(&h);
    hand_down(&h);
    wait_stay(&d, 1);
    cr_assert_eq(arenas(), 1);
    loads_from_memory(&d, "run", 20);
    daemon_end(&d);
}

CASE(resident, nobody_is_lent_what_somebody_may_write_to, .timeout = 60)
{
    struct hand h;
    up(NULL);
    trainer_saves(&h, &d, "run", 20);
    loads_from_disk(&d, "run", 20);
    hand_down(&h);
    wait_stay(&d, 1);
    loads_from_memory(&d, "run", 20);
    daemon_end(&d);
}

/* Root may read every run, and has no right to somebody's memory. */
CASE(resident, another_user_is_not_lent_it, .timeout = 60)
{
    struct hand h;
    if (getuid() != 0) {
        return;
    }
    up("--socket-mode=0666");
    cr_assert_eq(chmod(d.socket_dir, 0755), 0);
    cr_assert_eq(seteuid(1000), 0);
    trainer_saves(&h, &d, "run", 20);
    cr_assert_eq(seteuid(0), 0);
    hand_down(&h);
    wait_stay(&d, 1);
    loads_from_disk(&d, "1000/run", 20);
    cr_assert_eq(seteuid(1000), 0);
    loads_from_memory(&d, "run", 20);
    cr_assert_eq(seteuid(0), 0);
    daemon_end(&d);
}

/* ---- how long ---- */

CASE(resident, those_used_last_stay, .timeout = 60)
{
    up("--resident-bytes=8MiB");
    trainer_leaves(&d, "a", 10, 1);
    trainer_leaves(&d, "b", 20, 2);
    loads_from_memory(&d, "a", 10);
    wait_stay(&d, 2);
    trainer_leaves(&d, "c", 30, 2);
    loads_from_disk(&d, "b", 20);
    loads_from_memory(&d, "a", 10);
    loads_from_memory(&d, "c", 30);
    const char *const dropped[] = { "resident record dropped", "/b seq=1 ", "may", NULL };
    cr_assert_eq(tmp_lines_with(d.log, dropped), 1);
    daemon_end(&d);
}

CASE(resident, one_that_is_too_large_goes_alone, .timeout = 60)
{
    struct hand h;
    up("--resident-bytes=4MiB");
    trainer_leaves(&d, "a", 10, 1);
    trainer_saves_in(&h, &d, "large", 20, 16 << 20);
    hand_down(&h);
    const char *const dropped[] = { "resident record dropped", "/large seq=1 ", "larger", NULL };
    while (tmp_lines_with(d.log, dropped) == 0) {
        (void)status_of(&d);
    }
    wait_stay(&d, 1);
    loads_from_memory(&d, "a", 10);
    daemon_end(&d);
}

/* What is read is lent, and takes no room from those that stay. */
CASE(resident, who_reads_keeps_nobody_from_staying, .timeout = 60)
{
    struct hand reader;
    struct hand h;
    up("--resident-bytes=4MiB");
    trainer_leaves(&d, "a", 10, 1);
    cr_assert(reader_pins(&reader, &d, "a"));
    reader_asks(&reader);
    cr_assert_eq(status_of(&d).resident_count, 0, "what is read is lent");
    cr_assert_eq(status_of(&d).arena_count, 1);
    trainer_saves(&h, &d, "b", 20);
    hand_down(&h);
    while (status_of(&d).resident_count == 0) {
    }
    loads_from_memory(&d, "b", 20);
    hand_down(&reader);
    wait_stay(&d, 1);
    daemon_end(&d);
}

/* Those that somebody reads are the last to go, and do not go. */
CASE(resident, who_wants_an_arena_gets_the_memory, .timeout = 60)
{
    struct hand reader;
    struct hand h;
    up("--arena-bytes=64MiB");
    trainer_leaves(&d, "a", 10, 1);
    trainer_leaves(&d, "b", 20, 2);
    trainer_leaves(&d, "c", 30, 3);
    cr_assert(reader_pins(&reader, &d, "a"));
    reader_asks(&reader);
    hand_up(&h, d.socket, "d");
    hand_open_as(&h, status_of(&d).arena_share_bytes - SITE_ARENA_BYTES, false);
    cr_assert_eq(arenas(), 2);
    cr_assert_eq(status_of(&d).resident_count, 0, "but what is read is lent");
    hand_unmap(&h);
    union wire_msg msg = { .arena_open = { .bytes = 1 } };
    cr_assert(peer_send(&h.p, WIRE_ARENA_OPEN, 1, &msg, (struct slice){ 0 }));
    peer_expect_error(&h.p, 1, CAIRN_EBUSY, "all users have");
    hand_down(&h);
    hand_down(&reader);
    wait_stay(&d, 1);
    loads_from_memory(&d, "a", 10);
    daemon_end(&d);
}

CASE(resident, a_dropped_run_leaves_nothing, .timeout = 60)
{
    struct hand reader;
    struct cairn *c = NULL;
    up(NULL);
    trainer_leaves(&d, "run", 20, 1);
    cr_assert(reader_pins(&reader, &d, "run"));
    reader_asks(&reader);
    union wire_msg msg = { 0 };
    cr_assert(peer_send(&reader.p, WIRE_CLOSE, 1, &msg, (struct slice){ 0 }));
    peer_expect(&reader.p, WIRE_DONE, 1, &msg);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    cr_assert_eq(cairn_run_drop(c), 0, "%s", cairn_error(c));
    (void)cairn_close(c);
    cr_assert_eq(arenas(), 1, "who reads it has it still");
    cr_assert_eq(reader.base[reader.offsets[1]], 21);
    hand_arena(&reader, WIRE_ARENA_CLOSE);
    wait_stay(&d, 0);
    cr_assert_eq(arenas(), 0);
    hand_down(&reader);
    daemon_end(&d);
}

/* The next commit is the last one then, wherever it came from. */
CASE(resident, only_the_last_commit_stays, .timeout = 60)
{
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    struct hand h;
    const struct cairn_trainer nothing = { 0 };
    up(NULL);
    trainer_leaves(&d, "run", 10, 1);
    trainer_saves(&h, &d, "run", 20);
    cr_assert_eq(arenas(), 1, "the one before went with this commit");
    hand_down(&h);
    wait_stay(&d, 1);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    cr_assert_eq(cairn_load(c, "latest~1", WAIT_MS, &r), 0, "%s", cairn_error(c));
    cr_assert_not(cairn_record_resident(r));
    (void)cairn_record_free(r);
    cr_assert_eq(cairn_capture(c, &nothing, &r), 0, "%s", cairn_error(c));
    cr_assert_eq(cairn_save(c, &r, &(struct cairn_save_args){ 0 }, NULL), 0, "%s", cairn_error(c));
    (void)cairn_close(c);
    wait_stay(&d, 0);
    cr_assert_eq(arenas(), 0);
    daemon_end(&d);
}

CASE(resident, an_arena_that_was_given_back_is_gone, .timeout = 60)
{
    struct hand h;
    up(NULL);
    trainer_saves(&h, &d, "run", 20);
    hand_arena(&h, WIRE_ARENA_CLOSE);
    wait_stay(&d, 0);
    cr_assert_eq(arenas(), 0);
    loads_from_disk(&d, "run", 20);
    hand_down(&h);
    daemon_end(&d);
}
