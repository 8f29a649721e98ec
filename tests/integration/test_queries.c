/* Questions at a real daemon: those that take long say how far they are and end when nobody wants
 * the answer any more; those about a run with a damaged row still answer about the rest of it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lmdb.h>

#include "cairn/admin.h"

#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"
#include "support/peer.h"
#include "support/sample.h"

enum { WAIT_MS = 20000, ASKED = 11, CHUNK = 8 << 20 };

struct ground {
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    struct sample large, tiny; /* three chunks of its own; none */
};

static void ground_init(struct ground *g)
{
    tmp_make("queries", g->dir);
    daemon_init(&g->d, g->dir);
    sample_init(&g->large,
                (struct sample_tensors){ .count = 3, .tensor_bytes = CHUNK },
                (struct sample_tensors){ .count = 1, .tensor_bytes = 64 });
    sample_init(&g->tiny,
                (struct sample_tensors){ .count = 1, .tensor_bytes = 64 },
                (struct sample_tensors){ .count = 1, .tensor_bytes = 64 });
}

static void ground_fini(struct ground *g)
{
    daemon_fini(&g->d);
    sample_fini(&g->large);
    sample_fini(&g->tiny);
    tmp_remove(g->dir);
}

static void save(const struct ground *g, struct sample *s, const char *run, uint64_t seed)
{
    struct cairn *c = NULL;
    cr_assert_eq(cairn_open(g->d.socket, run, &c), 0, "%s", cairn_error(c));
    sample_fill(s, seed);
    cr_assert_eq(sample_save(s, c, NULL), 0, "%s", cairn_error(c));
    (void)cairn_close(c);
}

static void ask(struct peer_client *p, enum wire_type type, union wire_msg msg)
{
    cr_assert(peer_send(p, type, ASKED, &msg, (struct slice){ 0 }));
}

static void ask_verify(const struct ground *g, struct peer_client *p, const char *run)
{
    peer_connect(p, g->d.socket);
    peer_hello(p);
    ask(p, WIRE_VERIFY, (union wire_msg){ .verify = { .run = slice_str(run), .whole_run = true } });
}

/* The next frame, of this type and about what was asked. */
static union wire_msg told(struct peer_client *p, enum wire_type type)
{
    struct frame f = { 0 };
    union wire_msg msg = { 0 };
    cr_assert(peer_recv(p, WAIT_MS, &f, &msg), "nothing came");
    cr_assert_eq(f.type,
                 type,
                 "type %u: %.*s",
                 f.type,
                 f.type == WIRE_ERROR ? (int)msg.error.text.bytes : 0,
                 (const char *)msg.error.text.data);
    cr_assert_eq(f.request, ASKED);
    return msg;
}

/* The last VERIFIED; *ret_seq is that of the last finding. */
static struct wire_verified told_end(struct peer_client *p, uint64_t *ret_seq)
{
    struct frame f = { 0 };
    union wire_msg msg = { 0 };
    do {
        cr_assert(peer_recv(p, WAIT_MS, &f, &msg), "nothing came");
        cr_assert(f.type == WIRE_VERIFIED || f.type == WIRE_FINDING,
                  "type %u: %.*s",
                  f.type,
                  f.type == WIRE_ERROR ? (int)msg.error.text.bytes : 0,
                  (const char *)msg.error.text.data);
        *ret_seq = f.type == WIRE_FINDING ? msg.finding.seq : *ret_seq;
    } while (f.type != WIRE_VERIFIED || msg.verified.more);
    return msg.verified;
}

static void told_cancelled(struct peer_client *p)
{
    struct frame f = { 0 };
    union wire_msg msg = { 0 };
    do {
        cr_assert(peer_recv(p, WAIT_MS, &f, &msg), "nothing came");
    } while (f.type == WIRE_VERIFIED && msg.verified.more);
    cr_assert_eq(f.type, WIRE_ERROR, "type %u", f.type);
    cr_assert_eq(f.request, ASKED);
    cr_assert_eq(msg.error.code, CAIRN_ECANCELED);
}

/* ---- long ones ------------------------------------------------------------------------------- */

#ifdef CAIRN_FAILPOINTS
/* Stands before the first chunk that is checked, and before the second. */
struct held {
    struct hold first, second;
    char armed[600];
};

static void held_arm(struct ground *g, struct held *h)
{
    hold_init(&h->first, g->d.socket_dir, "first");
    hold_init(&h->second, g->d.socket_dir, "second");
    (void)snprintf(h->armed,
                   sizeof h->armed,
                   "CAIRN_FAILPOINT=verify_chunk:hold=%s:1,verify_chunk:hold=%s:2",
                   h->first.path,
                   h->second.path);
    daemon_start(&g->d, (const char *const[]){ h->armed, NULL });
}

static void held_start(struct ground *g, struct held *h)
{
    ground_init(g);
    held_arm(g, h);
    save(g, &g->large, "large", 1);
    save(g, &g->tiny, "tiny", 1);
}

static void held_end(struct ground *g, struct held *h)
{
    hold_fini(&h->first);
    hold_fini(&h->second);
    ground_fini(g);
}

CASE(queries, a_stop_ends_what_is_checked_and_what_waits_for_it, .timeout = 90)
{
    struct ground g;
    struct held h;
    struct peer_client working;
    struct peer_client waiting;
    held_start(&g, &h);
    ask_verify(&g, &working, "large");
    cr_assert(hold_wait(&h.first, WAIT_MS));
    ask_verify(&g, &waiting, "tiny");
    (void)told(&waiting, WIRE_VERIFIED); /* it is there, and waits */
    proc_signal(&g.d.proc, SIGTERM);
    hold_release(&h.first);
    told_cancelled(&working);
    told_cancelled(&waiting);
    cr_assert(proc_wait(&g.d.proc, 8000), "it did not stop");
    cr_assert_eq(proc_exit(&g.d.proc), 0);
    cr_assert_not(hold_wait(&h.second, 0), "it went on to the next chunk");
    peer_close(&working);
    peer_close(&waiting);
    held_end(&g, &h);
}

static void wait_for_connections(struct peer_client *p, uint64_t count)
{
    union wire_msg msg;
    uint64_t start_ns = now_ns();
    do {
        cr_assert_lt(now_ns() - start_ns, WAIT_MS * 1000000ull);
        ask(p, WIRE_STATUS, (union wire_msg){ 0 });
        msg = told(p, WIRE_STATUS_INFO);
    } while (msg.status_info.connection_count != count);
}

CASE(queries, a_peer_that_goes_ends_its_check, .timeout = 90)
{
    struct ground g;
    struct held h;
    struct peer_client gone;
    struct peer_client next;
    uint64_t seq = 0;
    held_start(&g, &h);
    ask_verify(&g, &gone, "large");
    cr_assert(hold_wait(&h.first, WAIT_MS));
    peer_connect(&next, g.d.socket);
    peer_hello(&next);
    peer_close(&gone);
    wait_for_connections(&next, 1);
    hold_release(&h.first);
    peer_close(&next);
    ask_verify(&g, &next, "tiny"); /* one check at a time: this one's end is after the other's */
    cr_assert_eq(told_end(&next, &seq).finding_count, 0);
    cr_assert_not(hold_wait(&h.second, 0), "it went on to the next chunk");
    peer_close(&next);
    cr_assert_eq(daemon_stop(&g.d), 0);
    held_end(&g, &h);
}

CASE(queries, a_check_says_how_far_it_is_while_it_waits_and_while_it_works, .timeout = 120)
{
    struct ground g;
    struct held h;
    struct peer_client working;
    struct peer_client waiting;
    union wire_msg msg;
    uint64_t seq = 0;
    held_start(&g, &h);
    ask_verify(&g, &working, "large");
    cr_assert(hold_wait(&h.first, WAIT_MS));
    ask_verify(&g, &waiting, "tiny");
    for (int i = 0; i < 2; i++) {
        msg = told(&waiting, WIRE_VERIFIED);
        cr_assert(msg.verified.more && msg.verified.boundary_count == 0);
    }
    hold_release(&h.first);
    cr_assert(hold_wait(&h.second, WAIT_MS));
    do {
        msg = told(&working, WIRE_VERIFIED);
        cr_assert(msg.verified.more);
    } while (msg.verified.chunk_count == 0);
    cr_assert_eq(msg.verified.chunk_count, 1);
    cr_assert_eq(msg.verified.bytes, CHUNK);
    /* Nothing moves: nothing is said, though the other one is told twice meanwhile. */
    (void)told(&waiting, WIRE_VERIFIED);
    (void)told(&waiting, WIRE_VERIFIED);
    cr_assert_not(wait_input(working.fd, 0), "it says that it works, and does not");
    hold_release(&h.second);
    struct wire_verified all = told_end(&working, &seq);
    cr_assert(all.boundary_count == 1 && all.chunk_count == 3 && all.finding_count == 0);
    cr_assert_eq(told_end(&waiting, &seq).boundary_count, 1);
    peer_close(&working);
    peer_close(&waiting);
    cr_assert_eq(daemon_stop(&g.d), 0);
    held_end(&g, &h);
}
#endif

/* ---- a damaged row --------------------------------------------------------------------------- */

/* Flip a bit of the nth boundary row of a run, behind the back of a stopped daemon. */
static void damage(const struct ground *g, const char *run, unsigned nth)
{
    char path[TMP_PATH_BYTES + 64];
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    MDB_dbi dbi = 0;
    MDB_val key;
    MDB_val value;
    (void)snprintf(
        path, sizeof path, "%.500s/runs/%u/%s/index", g->d.data, (unsigned)getuid(), run);
    cr_assert_eq(mdb_env_create(&env), 0);
    cr_assert_eq(mdb_env_set_maxdbs(env, 16), 0);
    cr_assert_eq(mdb_env_open(env, path, 0, 0600), 0, "%s", path);
    cr_assert_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
    cr_assert_eq(mdb_dbi_open(txn, "boundary", 0, &dbi), 0);
    cr_assert_eq(mdb_cursor_open(txn, dbi, &cursor), 0);
    for (unsigned i = 0; i <= nth; i++) {
        cr_assert_eq(mdb_cursor_get(cursor, &key, &value, i == 0 ? MDB_FIRST : MDB_NEXT), 0);
    }
    uint8_t *copy = malloc(value.mv_size);
    cr_assert_not_null(copy);
    memcpy(copy, value.mv_data, value.mv_size);
    copy[9] ^= 0x10;
    value.mv_data = copy;
    cr_assert_eq(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), 0);
    mdb_cursor_close(cursor);
    cr_assert_eq(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    free(copy);
}

/* Three boundaries, the row of one of them damaged: of the middle one, if not told otherwise. */
static void damaged_start_at(struct ground *g, unsigned nth)
{
    ground_init(g);
    daemon_start(&g->d, NULL);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        save(g, &g->tiny, "tiny", seed);
    }
    cr_assert_eq(daemon_stop(&g->d), 0);
    damage(g, "tiny", nth);
    daemon_start(&g->d, NULL);
}

static void damaged_start(struct ground *g)
{
    damaged_start_at(g, 1);
}

static void damaged_end(struct ground *g)
{
    cr_assert_eq(daemon_stop(&g->d), 0);
    ground_fini(g);
}

CASE(queries, a_damaged_row_is_a_finding_and_the_check_goes_on, .timeout = 60)
{
    struct ground g;
    struct peer_client p;
    uint64_t seq = 0;
    damaged_start(&g);
    ask_verify(&g, &p, "tiny");
    struct wire_verified all = told_end(&p, &seq);
    cr_assert_eq(all.boundary_count, 3);
    cr_assert_eq(all.finding_count, 1);
    cr_assert_eq(seq, 2);
    seq = 0;
    ask(&p,
        WIRE_VERIFY,
        (union wire_msg){ .verify = { slice_str("tiny"), slice_str("seq:2"), false } });
    cr_assert_eq(told_end(&p, &seq).finding_count, 1);
    cr_assert_eq(seq, 2);
    peer_close(&p);
    damaged_end(&g);
}

CASE(queries, a_list_has_a_damaged_boundary_in_its_place, .timeout = 60)
{
    struct ground g;
    struct cairn *c = NULL;
    struct cairn_boundary list[8];
    size_t count = 0;
    damaged_start(&g);
    cr_assert_eq(cairn_open(g.d.socket, "tiny", &c), 0, "%s", cairn_error(c));
    cr_assert_eq(cairn_find(c, "latest", 8, list, &count), 0, "%s", cairn_error(c));
    cr_assert_eq(count, 3);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(list[i].seq, 3 - i);
        cr_assert_eq(list[i].damaged, i == 1);
        cr_assert_eq(list[i].step, i == 1 ? 0 : 3 - i);
    }
    cr_assert_eq(cairn_find(c, "latest", 2, list, &count), 0, "%s", cairn_error(c));
    cr_assert(count == 2 && list[1].damaged);
    cr_assert_eq(cairn_find(c, "2", 8, list, &count), -CAIRN_ECORRUPT);
    cr_assert_eq(cairn_find(c, "latest~1", 8, list, &count), -CAIRN_ECORRUPT);
    cr_assert_eq(cairn_list(c, "latest~1", 8, list, &count), 0, "%s", cairn_error(c));
    cr_assert(count == 2 && list[0].damaged && list[1].seq == 1);
    cr_assert_eq(sample_load(&g.tiny, c, "latest~1"), -CAIRN_ECORRUPT);
    cr_assert_eq(sample_load(&g.tiny, c, "latest~2"), 0, "%s", cairn_error(c));
    cr_assert(sample_is(&g.tiny, 1));
    (void)cairn_close(c);
    damaged_end(&g);
}

/* Never "none", and no older one in its place; what is saved next is above it. */
CASE(queries, a_damaged_newest_is_told_and_the_run_goes_on, .timeout = 60)
{
    struct ground g;
    struct cairn *c = NULL;
    struct cairn_boundary list[8];
    size_t count = 0;
    damaged_start_at(&g, 2);
    cr_assert_eq(cairn_open(g.d.socket, "tiny", &c), 0, "%s", cairn_error(c));
    cr_assert_eq(sample_load(&g.tiny, c, "latest"), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(cairn_error(c), "seq 3"), "%s", cairn_error(c));
    cr_assert_eq(cairn_list(c, "latest", 8, list, &count), 0, "%s", cairn_error(c));
    cr_assert(count == 3 && list[0].damaged && list[0].seq == 3);
    cr_assert_eq(sample_load(&g.tiny, c, "latest~1"), 0, "%s", cairn_error(c));
    cr_assert(sample_is(&g.tiny, 2));
    save(&g, &g.tiny, "tiny", 4);
    cr_assert_eq(cairn_find(c, "latest", 1, list, &count), 0, "%s", cairn_error(c));
    cr_assert_eq(list[0].seq, 4);
    (void)cairn_close(c);
    damaged_end(&g);
}

#ifdef CAIRN_FAILPOINTS
static int count_finding(void *arg, const struct cairn_finding *f)
{
    *(int *)arg += f->seq == 2;
    return 0;
}

CASE(queries, what_was_found_before_a_stop_is_told, .timeout = 60)
{
    struct ground g;
    struct held h;
    int status = 0;
    ground_init(&g);
    daemon_start(&g.d, NULL);
    save(&g, &g.large, "mixed", 1);
    save(&g, &g.tiny, "mixed", 2);
    save(&g, &g.tiny, "mixed", 3);
    cr_assert_eq(daemon_stop(&g.d), 0);
    damage(&g, "mixed", 1);
    held_arm(&g, &h);
    pid_t child = fork();
    if (child == 0) {
        struct cairn *c = NULL;
        int found = 0;
        int rc = cairn_open(g.d.socket, "mixed", &c);
        rc = rc < 0 ? rc : cairn_verify(c, NULL, count_finding, &found, NULL);
        _exit(rc == -CAIRN_ECANCELED && found == 1 ? 0 : 1);
    }
    cr_assert(hold_wait(&h.first, WAIT_MS));
    proc_signal(&g.d.proc, SIGTERM);
    hold_release(&h.first);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    cr_assert(proc_wait(&g.d.proc, 8000), "it did not stop");
    cr_assert_eq(proc_exit(&g.d.proc), 0);
    held_end(&g, &h);
}
#endif

/* Run `cairn log tiny` and count the lines with a text; returns the exit code. */
static int log_of(const struct ground *g, const char *option, const char *text, unsigned *ret_found)
{
    const char *argv[] = { CAIRN_TEST_CAIRN, "--socket", g->d.socket, "log", "tiny", option, NULL };
    const struct proc_spec spec = { .argv = argv, .log_path = g->d.log, .pipe_out = true };
    return proc_say(&spec, WAIT_MS, (const char *const[]){ text, NULL }, ret_found);
}

CASE(queries, cairn_log_marks_a_damaged_boundary, .timeout = 60)
{
    struct ground g;
    unsigned found = 0;
    damaged_start(&g);
    cr_assert_eq(log_of(&g, NULL, "DAMAGED", &found), 1);
    cr_assert_eq(found, 1);
    cr_assert_eq(log_of(&g, "--json", "\"damaged\": true", &found), 1);
    cr_assert_eq(found, 1);
    cr_assert_eq(log_of(&g, "--max=1", "DAMAGED", &found), 0);
    cr_assert_eq(found, 0);
    damaged_end(&g);
}

/* The command asks for 64 boundaries at a time; the last of the first page is the damaged one. */
CASE(queries, cairn_log_goes_on_behind_a_damaged_boundary, .timeout = 120)
{
    struct ground g;
    unsigned found = 0;
    ground_init(&g);
    daemon_start(&g.d, NULL);
    for (uint64_t seed = 1; seed <= 66; seed++) {
        save(&g, &g.tiny, "tiny", seed);
    }
    cr_assert_eq(daemon_stop(&g.d), 0);
    damage(&g, "tiny", 2);
    daemon_start(&g.d, NULL);
    cr_assert_eq(log_of(&g, "--max=100", "DAMAGED", &found), 1);
    cr_assert_eq(found, 1);
    cr_assert_eq(log_of(&g, "--max=100", "plain", &found), 1);
    cr_assert_eq(found, 65);
    damaged_end(&g);
}

/* ---- as the page says ------------------------------------------------------------------------ */

CASE(queries, a_manifest_may_be_asked_for_beside_a_load, .timeout = 60)
{
    struct ground g;
    struct peer_client p;
    union wire_msg msg;
    ground_init(&g);
    daemon_start(&g.d, NULL);
    save(&g, &g.large, "large", 1);
    peer_connect(&p, g.d.socket);
    peer_hello(&p);
    ask(&p,
        WIRE_DESCRIBE,
        (union wire_msg){ .describe = { slice_str("large"), slice_str("latest"), true } });
    msg = told(&p, WIRE_DESCRIBED);
    cr_assert_eq(msg.described.boundary.chunk_count, 3);
    ask(&p, WIRE_LOAD, (union wire_msg){ .load = { 0, 3, 1, 0 } });
    msg = told(&p, WIRE_DATA); /* the stream now waits for credits */
    cr_assert_eq(msg.data.chunk, 0);
    ask(&p, WIRE_MANIFEST, (union wire_msg){ .manifest = { COMPONENT_MODEL, 0 } });
    msg = told(&p, WIRE_ENTRIES);
    cr_assert_eq(msg.entries.count, 3);
    ask(&p, WIRE_RELEASE, (union wire_msg){ .release = { 2 } });
    (void)told(&p, WIRE_DATA);
    (void)told(&p, WIRE_DATA);
    msg = told(&p, WIRE_LOADED);
    cr_assert_eq(msg.loaded.chunk_count, 3);
    peer_close(&p);
    cr_assert_eq(daemon_stop(&g.d), 0);
    ground_fini(&g);
}

/* Some of these samples are not finite. */
CASE(queries, finite_is_the_newest_that_is, .timeout = 60)
{
    struct ground g;
    struct peer_client p;
    uint64_t expected = 0;
    ground_init(&g);
    daemon_start(&g.d, NULL);
    for (uint64_t step = 1; step <= 64; step++) {
        save(&g, &g.tiny, "tiny", step);
    }
    peer_connect(&p, g.d.socket);
    peer_hello(&p);
    for (uint64_t back = 0; expected == 0; back++) {
        char selector[32];
        (void)snprintf(selector, sizeof selector, "latest~%d", (int)back);
        ask(&p,
            WIRE_DESCRIBE,
            (union wire_msg){ .describe = { slice_str("tiny"), slice_str(selector), false } });
        const struct boundary b = told(&p, WIRE_DESCRIBED).described.boundary;
        expected = b.not_finite ? 0 : b.seq;
    }
    ask(&p,
        WIRE_FIND,
        (union wire_msg){
            .find = { .run = slice_str("tiny"), .selector = slice_str("finite"), .max = 1 } });
    union wire_msg found = told(&p, WIRE_FOUND);
    cr_assert_eq(found.found.count, 1);
    cr_assert_eq(found.found.boundaries[0].seq, expected);
    ask(&p,
        WIRE_DESCRIBE,
        (union wire_msg){ .describe = { slice_str("tiny"), slice_str("finite"), true } });
    cr_assert_eq(told(&p, WIRE_DESCRIBED).described.boundary.seq, expected);
    peer_close(&p);
    cr_assert_eq(daemon_stop(&g.d), 0);
    ground_fini(&g);
}
