/* Saves of one run stand in a line: who waits for whom, and what may wait there. */
#include "internal/limits.h"
#include "support/case.h"
#include "support/daemon.h"
#include "support/peer.h"

enum { WAIT_MS = 20000, FIND = 2, SECOND = 3, STATUS = 4, OTHER_ID = 100 };

static struct daemon d;

static void connect_peer(struct peer_client *p)
{
    peer_connect(p, d.socket);
    peer_hello(p);
}

static void begin_empty(struct peer_client *p, uint8_t id)
{
    connect_peer(p);
    cr_assert_eq(peer_begin_empty(p, "line", id), SAVE_RECEIVING);
}

static void ask_newest(struct peer_client *p, uint32_t request)
{
    const union wire_msg msg = {
        .find = { .run = slice_str("line"), .selector = slice_str("latest"), .max = 100 }
    };
    cr_assert(peer_send(p, WIRE_FIND, request, &msg, (struct slice){ 0 }));
}

static uint32_t found(struct peer_client *p, uint32_t request)
{
    union wire_msg msg;
    peer_expect(p, WIRE_FOUND, request, &msg);
    return msg.found.count;
}

static void send_empty(struct peer_client *p, enum wire_type type, uint32_t request)
{
    const union wire_msg msg = { 0 };
    cr_assert(peer_send(p, type, request, &msg, (struct slice){ 0 }));
}

static void committed(struct peer_client *p)
{
    union wire_msg msg;
    peer_expect(p, WIRE_COMMITTED, PEER_UPLOAD, &msg);
}

/* ---- left behind ---- */

/* Ask until there are so many connections. */
static void wait_connections(struct peer_client *p, uint64_t count)
{
    uint64_t give_up_ns = now_ns() + (uint64_t)WAIT_MS * 1000000;
    union wire_msg msg = { 0 };
    do {
        cr_assert_lt(now_ns(), give_up_ns);
        send_empty(p, WIRE_STATUS, STATUS);
        peer_expect(p, WIRE_STATUS_INFO, STATUS, &msg);
    } while (msg.status_info.connection_count != count);
}

/* Behind one that goes nowhere, saves are sealed and left, one after the other. */
CASE(line, saves_that_are_left_behind_a_slow_one_are_bounded, .timeout = 60)
{
    struct peer_client slow;
    struct peer_client p;
    struct peer_client watch;
    const union wire_msg another = { .begin = { .run = slice_str("line"),
                                                .boundary = { .world = 1,
                                                              .local_parts = 1,
                                                              .exact = true,
                                                              .save_id = { OTHER_ID } } } };
    daemon_begin(&d, "line", NULL, NULL);
    begin_empty(&slow, 1);
    connect_peer(&watch);
    for (uint8_t id = 2; id < 2 + LIMIT_LEFT_SAVES; id++) {
        begin_empty(&p, id);
        peer_seal_empty(&p, id);
        peer_ping(&p);
        peer_close(&p);
        wait_connections(&watch, 2);
    }
    connect_peer(&p);
    cr_assert(peer_send(&p, WIRE_BEGIN, PEER_UPLOAD, &another, (struct slice){ 0 }));
    peer_expect_error(&p, PEER_UPLOAD, CAIRN_EBUSY, "16 sealed saves");
    peer_close(&p);
    connect_peer(&p); /* another run is another line */
    cr_assert_eq(peer_begin_empty(&p, "other", OTHER_ID), SAVE_RECEIVING);
    peer_close(&p);
    connect_peer(&p); /* one of them may be waited for */
    cr_assert_eq(peer_begin_empty(&p, "line", 2), SAVE_SEALED);
    peer_close(&slow);
    committed(&p);
    ask_newest(&watch, FIND);
    cr_assert_eq(found(&watch, FIND), LIMIT_LEFT_SAVES);
    peer_close(&p);
    begin_empty(&p, OTHER_ID);
    peer_close(&p);
    peer_close(&watch);
    daemon_end(&d);
}

/* ---- a question beside an upload ---- */

/* It waits for a save that waits for the very upload that it is asked beside. */
CASE(line, an_upload_goes_on_while_a_question_beside_it_waits, .timeout = 60)
{
    struct peer_client p;
    struct peer_client behind;
    daemon_begin(&d, "line", NULL, NULL);
    begin_empty(&p, 1);
    begin_empty(&behind, 2);
    peer_seal_empty(&behind, 2);
    peer_ping(&behind);
    ask_newest(&p, FIND);
    peer_ping(&p); /* it is read */
    ask_newest(&p, SECOND);
    peer_expect_error(&p, SECOND, CAIRN_EBUSY, "one question at a time");
    peer_seal_empty(&p, 1);
    committed(&p);
    committed(&behind);
    cr_assert_eq(found(&p, FIND), 2);
    ask_newest(&p, SECOND);
    cr_assert_eq(found(&p, SECOND), 2);
    peer_close(&p);
    peer_close(&behind);
    daemon_end(&d);
}

/* With the upload goes the reason to read on: what follows waits for the answer, as ever. */
CASE(line, a_question_that_outlives_its_upload_is_answered_first, .timeout = 60)
{
    struct peer_client first;
    struct peer_client p;
    struct peer_client behind;
    union wire_msg msg;
    daemon_begin(&d, "line", NULL, NULL);
    begin_empty(&first, 1);
    begin_empty(&behind, 2);
    peer_seal_empty(&behind, 2);
    peer_ping(&behind);
    begin_empty(&p, 3);
    ask_newest(&p, FIND);
    send_empty(&p, WIRE_ABORT, PEER_UPLOAD);
    peer_expect(&p, WIRE_DONE, PEER_UPLOAD, &msg);
    send_empty(&p, WIRE_PING, SECOND);
    cr_assert_not(wait_input(p.fd, 200), "it did not wait");
    peer_close(&first);
    cr_assert_eq(found(&p, FIND), 1);
    peer_expect(&p, WIRE_DONE, SECOND, &msg);
    committed(&behind);
    peer_close(&p);
    peer_close(&behind);
    daemon_end(&d);
}
