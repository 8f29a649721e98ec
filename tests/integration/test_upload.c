/* Uploads and their limits: what waits for the daemon is never aborted for it, what fails gives
 * back what it holds at once, and nobody keeps memory or a place in the line for nothing. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal/limits.h"
#include "record/digest.h"
#include "support/case.h"
#include "support/daemon.h"
#include "support/hold.h"
#include "support/peer.h"
#include "support/saver.h"

enum { WAIT_MS = 20000 };

static struct daemon d;
static uint8_t zeros[PEER_CHUNK_BYTES];

static void begin_upload(struct peer_client *p, const char *run)
{
    peer_connect(p, d.socket);
    peer_hello(p);
    peer_begin(p, run, 1);
}

/* The head of DATA 0, of PEER_CHUNK_BYTES that are still to be sent. */
static void send_data_head(struct peer_client *p)
{
    union wire_msg msg = { .data = { 0 } };
    p->out.bytes = 0;
    cr_assert_eq(wire_encode(WIRE_DATA, PEER_UPLOAD, &msg, PEER_CHUNK_BYTES, &p->out, NULL), 0);
    cr_assert(peer_send_raw(p, p->out.data, p->out.bytes));
}

static void send_data(struct peer_client *p)
{
    send_data_head(p);
    cr_assert(peer_send_raw(p, zeros, sizeof zeros));
}

/* That an upload of peer_begin still lives: its SEAL is looked at, and found wanting. */
static void seal_is_looked_at(struct peer_client *p)
{
    union wire_msg msg = { .seal = { .root = { { 1 } } } };
    cr_assert(peer_send(p, WIRE_SEAL, PEER_UPLOAD, &msg, (struct slice){ 0 }));
    peer_expect_error(p, PEER_UPLOAD, CAIRN_EINVAL, "component model is missing");
}

/* ---- who waits for whom ---- */

/* Three of the four buffers are a uid's; each of these trickles into one, and takes its time. */
CASE(upload, is_not_aborted_while_it_waits_for_a_buffer, .timeout = 60)
{
    enum { STUCK = 3, STEPS = 12, STEP_MS = 250 };
    struct peer_client stuck[STUCK];
    struct peer_client p;
    char run[16];
    daemon_begin(
        &d,
        "upload",
        (const char *const[]){ "--idle=1s", "--pool-bytes=32MiB", "--min-rate=64KiB", NULL },
        NULL);
    for (unsigned i = 0; i < STUCK; i++) {
        (void)snprintf(run, sizeof run, "stuck-%u", i);
        begin_upload(&stuck[i], run);
        send_data_head(&stuck[i]);
        cr_assert(peer_send_raw(&stuck[i], zeros, 1));
    }
    begin_upload(&p, "waits");
    send_data_head(&p);
    for (unsigned step = 0; step < STEPS; step++) {
        cr_assert_not(wait_input(p.fd, STEP_MS), "it was refused");
        for (unsigned i = 0; i < STUCK; i++) {
            cr_assert(peer_send_raw(&stuck[i], zeros, 1));
        }
    }
    for (unsigned i = 0; i < STUCK; i++) {
        cr_assert_not(wait_input(stuck[i].fd, 0), "bytes are progress");
        peer_close(&stuck[i]);
    }
    cr_assert(peer_send_raw(&p, zeros, sizeof zeros));
    peer_ping(&p);
    seal_is_looked_at(&p);
    peer_close(&p);
    daemon_end(&d);
}

CASE(upload, is_not_aborted_while_its_bytes_arrive, .timeout = 60)
{
    enum { PIECES = 16, PIECE_MS = 250 };
    struct peer_client p;
    daemon_begin(
        &d, "upload", (const char *const[]){ "--idle=1s", "--min-rate=64KiB", NULL }, NULL);
    begin_upload(&p, "slow");
    send_data_head(&p);
    for (unsigned i = 0; i < PIECES; i++) {
        cr_assert_not(wait_input(p.fd, PIECE_MS), "it was refused");
        cr_assert(peer_send_raw(&p, zeros, sizeof zeros / PIECES));
    }
    peer_ping(&p);
    seal_is_looked_at(&p);
    peer_close(&p);
    daemon_end(&d);
}

/* The buffer is back as soon as the upload has failed, and the rest of the frame is nobody's. */
CASE(upload, gives_its_buffer_back_in_mid_frame, .timeout = 60)
{
    struct peer_client p;
    struct peer_client other;
    union wire_msg msg = { 0 };
    daemon_begin(
        &d, "upload", (const char *const[]){ "--idle=1s", "--min-rate=64KiB", NULL }, NULL);
    begin_upload(&p, "stops");
    send_data_head(&p);
    cr_assert(peer_send_raw(&p, zeros, 1000));
    peer_expect_error(&p, PEER_UPLOAD, CAIRN_ETIMEDOUT, "no progress");
    peer_connect(&other, d.socket);
    peer_hello(&other);
    cr_assert(peer_send(&other, WIRE_STATUS, 2, &msg, (struct slice){ 0 }));
    peer_expect(&other, WIRE_STATUS_INFO, 2, &msg);
    cr_assert_eq(msg.status_info.pool_used_bytes, 0);
    cr_assert(peer_send_raw(&p, zeros, sizeof zeros - 1000));
    peer_ping(&p);
    peer_close(&other);
    peer_close(&p);
    daemon_end(&d);
}

/* ---- what costs the peer nothing ---- */

static void send_chunks(struct peer_client *p, uint32_t first, uint32_t count)
{
    const struct chunk chunk = { COMPONENT_MODEL, CHUNK_PACKED, 4096, { { 1 } } };
    union wire_msg msg = { .chunks = { .first = first, .chunks = &chunk, .count = count } };
    cr_assert(peer_send(p, WIRE_CHUNKS, PEER_UPLOAD, &msg, (struct slice){ 0 }));
}

static void send_begin(struct peer_client *p, uint8_t id, const struct boundary *sizes)
{
    union wire_msg msg = { .begin = { .run = slice_str("free"), .boundary = *sizes } };
    msg.begin.boundary.world = 1;
    msg.begin.boundary.local_parts = 1;
    msg.begin.boundary.exact = true;
    msg.begin.boundary.save_id[0] = id;
    peer_connect(p, d.socket);
    peer_hello(p);
    cr_assert(peer_send(p, WIRE_BEGIN, PEER_UPLOAD, &msg, (struct slice){ 0 }));
}

CASE(upload, frames_without_anything_are_refused, .timeout = 60)
{
    struct peer_client p;
    union wire_msg msg = { .entries = { .component = COMPONENT_MODEL } };
    const struct boundary sizes = { .payload_bytes = UINT64_C(1) << 63 };
    daemon_begin(&d, "upload", (const char *const[]){ NULL }, NULL);
    begin_upload(&p, "free");
    send_chunks(&p, 1, 0);
    peer_expect_error(&p, PEER_UPLOAD, CAIRN_EINVAL, "CHUNKS without");
    peer_close(&p);
    begin_upload(&p, "free");
    cr_assert(peer_send(&p, WIRE_ENTRIES, PEER_UPLOAD, &msg, (struct slice){ 0 }));
    peer_expect_error(&p, PEER_UPLOAD, CAIRN_EINVAL, "ENTRIES without");
    peer_close(&p);
    send_begin(&p, 1, &sizes);
    peer_expect_error(&p, PEER_UPLOAD, CAIRN_EINVAL, "payload_bytes");
    peer_close(&p);
    daemon_end(&d);
}

/* Announced is much; what comes, now and then, is next to nothing. */
CASE(upload, time_is_paid_for_with_bytes_that_came, .timeout = 90)
{
    enum { CHUNKS = 400, STEP_MS = 500, LONGEST_MS = 40000 };
    struct peer_client p;
    union wire_msg msg;
    const struct boundary sizes = { .payload_bytes = (uint64_t)CHUNKS * 65536,
                                    .stored_bytes = (uint64_t)CHUNKS * 65536,
                                    .chunk_count = CHUNKS };
    daemon_begin(
        &d, "upload", (const char *const[]){ "--idle=2s", "--min-rate=64KiB", NULL }, NULL);
    send_begin(&p, 1, &sizes);
    peer_expect(&p, WIRE_BEGUN, PEER_UPLOAD, &msg);
    uint64_t start_ns = now_ns();
    uint32_t chunk = 0;
    do {
        cr_assert_lt(now_ns() - start_ns, (uint64_t)LONGEST_MS * 1000000);
        send_chunks(&p, chunk++, 1);
    } while (!wait_input(p.fd, STEP_MS));
    peer_expect_error(&p, PEER_UPLOAD, CAIRN_ETIMEDOUT, "took too long");
    cr_assert_geq(now_ns() - start_ns, UINT64_C(29000000000));
    peer_close(&p);
    daemon_end(&d);
}

/* ---- memory for metadata ---- */

/* A page of 16 state entries with a value of 60 KiB each, which no chunk holds: 960 KiB. */
static bool send_page(struct peer_client *p, uint32_t page)
{
    enum { ENTRIES = 16, VALUE_BYTES = 60 << 10 };
    struct entry entries[ENTRIES];
    char paths[ENTRIES][16];
    struct digest digest = digest_bytes(zeros, VALUE_BYTES);
    for (unsigned i = 0; i < ENTRIES; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "%06u", page * ENTRIES + i);
        entries[i] = (struct entry){ .path = slice_str(paths[i]),
                                     .kind = ENTRY_BYTES,
                                     .bytes = VALUE_BYTES,
                                     .value = slice_of(zeros, VALUE_BYTES),
                                     .digest = digest };
    }
    union wire_msg msg = { .entries = { COMPONENT_STATE, page, entries, ENTRIES } };
    return peer_send(p, WIRE_ENTRIES, PEER_UPLOAD, &msg, (struct slice){ 0 });
}

static void begin_metadata(struct peer_client *p, uint8_t id)
{
    const struct boundary sizes = { .entry_count = 1000, .payload_bytes = 1000 };
    union wire_msg msg;
    send_begin(p, id, &sizes);
    peer_expect(p, WIRE_BEGUN, PEER_UPLOAD, &msg);
}

static const char *const metadata_options[] = { "--metadata-bytes=5MiB",
                                                "--socket-mode=0666",
                                                NULL };

CASE(upload, one_alone_may_not_stage_more_than_a_user, .timeout = 60)
{
    struct peer_client p;
    daemon_begin(&d, "upload", metadata_options, NULL);
    begin_metadata(&p, 1);
    for (uint32_t page = 0; page < 2; page++) {
        cr_assert(send_page(&p, page));
        peer_ping(&p);
    }
    cr_assert(send_page(&p, 2));
    peer_expect_error(&p, PEER_UPLOAD, CAIRN_ELIMIT, "2621440");
    peer_close(&p);
    daemon_end(&d);
}

CASE(upload, those_of_a_user_have_one_budget, .timeout = 60)
{
    struct peer_client first;
    struct peer_client second;
    daemon_begin(&d, "upload", metadata_options, NULL);
    begin_metadata(&first, 1);
    begin_metadata(&second, 2);
    cr_assert(send_page(&first, 0));
    peer_ping(&first);
    cr_assert(send_page(&second, 0));
    peer_ping(&second);
    cr_assert(send_page(&second, 1));
    peer_expect_error(&second, PEER_UPLOAD, CAIRN_EBUSY, "2621440");
    peer_close(&second);
    uint64_t give_up_ns = now_ns() + (uint64_t)WAIT_MS * 1000000;
    union wire_msg msg = { 0 };
    do { /* until the refused one is undone */
        cr_assert_lt(now_ns(), give_up_ns);
        cr_assert(peer_send(&first, WIRE_STATUS, 2, &msg, (struct slice){ 0 }));
        peer_expect(&first, WIRE_STATUS_INFO, 2, &msg);
    } while (msg.status_info.upload_count > 1);
    cr_assert(send_page(&first, 1));
    peer_ping(&first);
    peer_close(&first);
    daemon_end(&d);
}

CASE(upload, all_users_have_one_budget, .timeout = 60)
{
    enum { USERS = 3 };
    struct peer_client p[USERS];
    if (getuid() != 0) {
        cr_skip("needs root, to be several users");
    }
    daemon_begin(&d, "upload", metadata_options, NULL);
    cr_assert_eq(chmod(d.socket_dir, 0755), 0);
    for (unsigned i = 0; i < USERS; i++) {
        cr_assert_eq(seteuid(1000 + i), 0);
        begin_metadata(&p[i], 1);
        cr_assert_eq(seteuid(0), 0);
        cr_assert(send_page(&p[i], 0));
        peer_ping(&p[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        cr_assert(send_page(&p[i], 1));
        peer_ping(&p[i]);
    }
    cr_assert(send_page(&p[2], 1));
    peer_expect_error(&p[2], PEER_UPLOAD, CAIRN_EBUSY, "5242880");
    for (unsigned i = 0; i < USERS; i++) {
        peer_close(&p[i]);
    }
    daemon_end(&d);
}

#ifdef CAIRN_FAILPOINTS
/* ---- jobs of ours ---- */

static struct hold hold;
static char holds[TMP_PATH_BYTES];

/* `more`: other failpoints, with a comma in front. */
static void begin_held(const char *point, const char *more, const char *const *options)
{
    char armed[600];
    tmp_make_short(holds);
    hold_init(&hold, holds, "h");
    (void)snprintf(armed, sizeof armed, "CAIRN_FAILPOINT=%s:hold=%s:1%s", point, hold.path, more);
    daemon_begin(&d, "upload", options, (const char *const[]){ armed, NULL });
}

static void end_held(void)
{
    daemon_end(&d);
    hold_fini(&hold);
    tmp_remove(holds);
}

CASE(upload, is_not_aborted_while_a_job_of_it_is_under_way, .timeout = 60)
{
    struct peer_client p;
    begin_held("segment_write", "", (const char *const[]){ "--idle=1s", NULL });
    begin_upload(&p, "held");
    send_data(&p);
    cr_assert(hold_wait(&hold, WAIT_MS));
    cr_assert_not(wait_input(p.fd, 2500), "it was refused");
    hold_release(&hold);
    peer_ping(&p);
    seal_is_looked_at(&p);
    peer_close(&p);
    end_held();
}

/* While the manifest is checked, the others are served, and a question waits for its end. */
CASE(upload, checking_a_manifest_holds_up_nobody, .timeout = 60)
{
    struct saver s;
    struct peer_client p;
    struct peer_client other;
    union wire_msg msg;
    begin_held("sealing", "", (const char *const[]){ NULL });
    saver_start(&s, d.socket, "held", 1, NULL);
    cr_assert(hold_wait(&hold, WAIT_MS));
    peer_connect(&p, d.socket);
    peer_hello(&p);
    msg.find =
        (struct wire_find){ .run = slice_str("held"), .selector = slice_str("latest"), .max = 1 };
    cr_assert(peer_send(&p, WIRE_FIND, 2, &msg, (struct slice){ 0 }));
    peer_connect(&other, d.socket);
    peer_hello(&other);
    peer_ping(&other);
    cr_assert_not(wait_input(p.fd, 200), "the question did not wait");
    hold_release(&hold);
    peer_expect(&p, WIRE_FOUND, 2, &msg);
    cr_assert_eq(msg.found.count, 1);
    saver_end(&s, 0);
    peer_close(&other);
    peer_close(&p);
    end_held();
}

/* The client is gone while its manifest is checked: it had said all, and is saved. */
CASE(upload, survives_its_client_from_seal_on, .timeout = 60)
{
    struct peer_client p;
    union wire_msg msg;
    begin_held("sealing", "", (const char *const[]){ NULL });
    peer_connect(&p, d.socket);
    peer_hello(&p);
    cr_assert_eq(peer_begin_empty(&p, "free", 3), SAVE_RECEIVING);
    peer_seal_empty(&p, 3);
    cr_assert(hold_wait(&hold, WAIT_MS));
    peer_close(&p);
    peer_connect(&p, d.socket);
    peer_hello(&p);
    msg.find = (struct wire_find){ .run = slice_str("free"), .by_save_id = true, .save_id = { 3 } };
    cr_assert(peer_send(&p, WIRE_FIND, 2, &msg, (struct slice){ 0 }));
    hold_release(&hold);
    peer_expect(&p, WIRE_FOUND, 2, &msg);
    msg.find =
        (struct wire_find){ .run = slice_str("free"), .selector = slice_str("latest"), .max = 1 };
    cr_assert(peer_send(&p, WIRE_FIND, 2, &msg, (struct slice){ 0 }));
    peer_expect(&p, WIRE_FOUND, 2, &msg);
    cr_assert_eq(msg.found.count, 1);
    peer_close(&p);
    end_held();
}

/* TERM while a manifest is checked: what was sealed is committed first. */
CASE(upload, a_stop_waits_for_the_check_of_a_manifest, .timeout = 60)
{
    struct saver s;
    begin_held("sealing", "", (const char *const[]){ NULL });
    saver_start(&s, d.socket, "held", 1, NULL);
    cr_assert(hold_wait(&hold, WAIT_MS));
    proc_signal(&d.proc, SIGTERM);
    cr_assert_not(proc_wait(&d.proc, 500), "it stopped before the save had ended");
    hold_release(&hold);
    saver_end(&s, 0);
    cr_assert(proc_wait(&d.proc, WAIT_MS));
    cr_assert_eq(proc_exit(&d.proc), 0);
    cr_assert_eq(daemon_fsck(&d, false), 0);
    daemon_fini(&d);
    tmp_remove(d.dir);
    hold_fini(&hold);
    tmp_remove(holds);
}

/* A write fails while the manifest is checked: the client is told at once, the check still ends. */
CASE(upload, may_fail_while_its_manifest_is_checked, .timeout = 60)
{
    struct hold write_hold;
    struct saver s;
    char more[500];
    char write_holds[TMP_PATH_BYTES];
    tmp_make_short(write_holds);
    hold_init(&write_hold, write_holds, "w");
    (void)snprintf(
        more, sizeof more, ",segment_write:hold=%s:1,segment_write:eio:1", write_hold.path);
    begin_held("sealing", more, (const char *const[]){ NULL });
    saver_start(&s, d.socket, "held", 1, NULL);
    cr_assert(hold_wait(&write_hold, WAIT_MS));
    cr_assert(hold_wait(&hold, WAIT_MS));
    hold_release(&write_hold);
    saver_end(&s, -CAIRN_EIO);
    hold_release(&hold);
    end_held();
    hold_fini(&write_hold);
    tmp_remove(write_holds);
}
#endif
