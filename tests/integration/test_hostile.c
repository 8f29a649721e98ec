/* Peers that break the rules, each while another trainer saves and loads: they are answered or
 * dropped with a reason in the log, nothing of theirs stays, and the other one notices nothing. */
#include <cairn/training.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/digest.h"
#include "support/case.h"
#include "support/daemon.h"
#include "support/peer.h"

enum { WAIT_MS = 20000, TENSOR_BYTES = 9 << 20 };

/* ---- the well-behaved trainer
 * ---------------------------------------------------------------------- */

struct good {
    uint8_t *tensor;
    uint64_t round;
};

static const uint64_t good_shape[] = { TENSOR_BYTES };
static const struct cairn_entry good_entry = {
    .path = "w", .dtype = CAIRN_U8, .rank = 1, .shape = good_shape
};

static int good_put(void *self, struct cairn_writer *w)
{
    struct good *g = self;
    return cairn_put(w, &good_entry, g->tensor);
}

static int good_get(void *self, const struct cairn_reader *r)
{
    struct good *g = self;
    return cairn_get(r, &good_entry, g->tensor);
}

static int good_put_round(void *self, struct cairn_writer *w)
{
    return cairn_put_u64(w, "round", ((struct good *)self)->round);
}

static void good_fill(struct good *g)
{
    for (size_t i = 0; i < TENSOR_BYTES; i++) {
        g->tensor[i] = (uint8_t)((i >> 3) * 31 + i + g->round * 7);
    }
}

/* Save and load until `stop` says so; exits 0 when every digest was equal. */
static void good_run(const char *socket_path, int stop)
{
    struct good g = { .tensor = malloc(TENSOR_BYTES) };
    struct cairn_trainer t = {
        .model = { .self = &g, .type = "good", .put = good_put, .get = good_get },
        .state = { .self = &g, .type = "good", .put = good_put_round }
    };
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    int rc = cairn_open(socket_path, "good", &c);
    while (rc == 0 && (g.round < 3 || !wait_input(stop, 0))) {
        g.round++;
        good_fill(&g);
        struct digest before = digest_bytes(g.tensor, TENSOR_BYTES);
        rc = cairn_capture(c, &t, &r);
        rc = rc < 0 ? rc : cairn_save(c, &r, &(struct cairn_save_args){ .step = g.round }, NULL);
        rc = rc < 0 ? rc : cairn_load(c, "latest", 0, &r);
        memset(g.tensor, 0, TENSOR_BYTES);
        rc = rc < 0 ? rc : cairn_restore(c, r, &t);
        r = cairn_record_free(r);
        struct digest after = digest_bytes(g.tensor, TENSOR_BYTES);
        if (rc < 0 || !digest_equal(&before, &after)) {
            (void)fprintf(stderr,
                          "the good trainer, round %llu: %d %s\n",
                          (unsigned long long)g.round,
                          rc,
                          cairn_error(c));
            _exit(1);
        }
    }
    _exit(rc == 0 ? 0 : 1);
}

/* ---- the attacks
 * ------------------------------------------------------------------------------------ */

struct attack {
    const char *name;
    void (*run)(struct peer_client *p);
    bool greeted;
    int code; /* of the ERROR that answers; 0: dropped without a word */
    bool closes;
    const char *logged; /* what the daemon's log must say */
};

static void send_prefix(struct peer_client *p, const struct frame *f)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    frame_encode(f, prefix);
    (void)peer_send_raw(p, prefix, sizeof prefix);
}

static void attack_garbage(struct peer_client *p)
{
    char garbage[4096];
    memset(garbage, 0x5a, sizeof garbage);
    (void)peer_send_raw(p, garbage, sizeof garbage);
}

static void attack_magic(struct peer_client *p)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    frame_encode(&(struct frame){ .type = WIRE_PING, .request = 7 }, prefix);
    prefix[3] = '9';
    (void)peer_send_raw(p, prefix, sizeof prefix);
}

static void attack_huge_message(struct peer_client *p)
{
    send_prefix(p,
                &(struct frame){ .type = WIRE_BEGIN, .request = 7, .message_bytes = 0xfffffff0u });
}

static void attack_huge_payload(struct peer_client *p)
{
    send_prefix(
        p,
        &(struct frame){
            .type = WIRE_DATA, .request = 7, .message_bytes = 2, .payload_bytes = UINT64_MAX / 2 });
}

static void attack_no_hello(struct peer_client *p)
{
    union wire_msg msg = { 0 };
    (void)peer_send(p, WIRE_STATUS, 7, &msg, (struct slice){ 0 });
}

static void attack_seal_first(struct peer_client *p)
{
    union wire_msg msg = { 0 };
    (void)peer_send(p, WIRE_SEAL, 7, &msg, (struct slice){ 0 });
}

static void attack_answer(struct peer_client *p)
{
    union wire_msg msg = { .begun = { .state = SAVE_COMMITTED } };
    (void)peer_send(p, WIRE_BEGUN, 7, &msg, (struct slice){ 0 });
}

static void attack_bad_message(struct peer_client *p)
{
    static const uint8_t junk[] = { 0xff, 0xff, 0xff, 0xff, 0xff };
    send_prefix(
        p, &(struct frame){ .type = WIRE_RUN_OPEN, .request = 7, .message_bytes = sizeof junk });
    (void)peer_send_raw(p, junk, sizeof junk);
}

/* One byte of a frame now and then, for ever. */
static void attack_trickle(struct peer_client *p)
{
    uint8_t prefix[FRAME_PREFIX_BYTES];
    frame_encode(&(struct frame){ .type = WIRE_RUN_OPEN, .request = 7, .message_bytes = 60000 },
                 prefix);
    bool open = peer_send_raw(p, prefix, sizeof prefix);
    for (int i = 0; open && i < 1000 && !wait_input(p->fd, 20); i++) {
        open = peer_send_raw(p, "\n", 1);
    }
}

static uint8_t evil_bytes[PEER_CHUNK_BYTES];

static void attack_stop(struct peer_client *p)
{
    peer_begin(p, "evil", 9);
}

static void attack_stop_in_data(struct peer_client *p)
{
    attack_stop(p);
    union wire_msg msg = { .data = { 0 } };
    p->out.bytes = 0;
    (void)wire_encode(WIRE_DATA, 7, &msg, 1 << 20, &p->out, NULL);
    (void)peer_send_raw(p, p->out.data, p->out.bytes);
    (void)peer_send_raw(p, evil_bytes, 1 << 19);
}

static void attack_wrong_chunk(struct peer_client *p)
{
    union wire_msg msg = { .data = { 3 } };
    attack_stop(p);
    (void)peer_send(p, WIRE_DATA, 7, &msg, slice_of(evil_bytes, 1 << 20));
}

static void attack_wrong_digest(struct peer_client *p)
{
    union wire_msg msg = { .data = { 0 } };
    attack_stop(p);
    evil_bytes[77] ^= 1;
    (void)peer_send(p, WIRE_DATA, 7, &msg, slice_of(evil_bytes, 1 << 20));
    evil_bytes[77] ^= 1;
}

static void attack_early_seal(struct peer_client *p)
{
    union wire_msg msg = { .seal = { .root = { { 1 } } } };
    attack_stop(p);
    (void)peer_send(p, WIRE_SEAL, 7, &msg, (struct slice){ 0 });
}

static void attack_hang_up(struct peer_client *p)
{
    attack_stop_in_data(p);
    (void)shutdown(p->fd, SHUT_WR);
}

static const struct attack attacks[] = {
    { "garbage", attack_garbage, false, CAIRN_EPROTO, true, "magic" },
    { "wrong magic", attack_magic, true, CAIRN_EPROTO, true, "magic" },
    { "huge message", attack_huge_message, true, CAIRN_EPROTO, true, "BEGIN" },
    { "huge payload", attack_huge_payload, true, CAIRN_EPROTO, true, "DATA" },
    { "no HELLO", attack_no_hello, false, CAIRN_EPROTO, true, "HELLO" },
    { "SEAL first", attack_seal_first, true, CAIRN_EPROTO, true, "SEAL" },
    { "an answer as a request", attack_answer, true, CAIRN_EPROTO, true, "does not go" },
    { "bad message", attack_bad_message, true, CAIRN_EPROTO, true, "RUN_OPEN" },
    { "trickle", attack_trickle, true, CAIRN_ETIMEDOUT, true, "frame" },
    { "stop in mid-upload", attack_stop, true, CAIRN_ETIMEDOUT, false, "no progress" },
    { "stop inside a chunk", attack_stop_in_data, true, CAIRN_ETIMEDOUT, false, "no progress" },
    { "wrong chunk", attack_wrong_chunk, true, CAIRN_EPROTO, false, "expected chunk 0" },
    { "wrong digest",
      attack_wrong_digest,
      true,
      CAIRN_ECORRUPT,
      false,
      "does not match its digest" },
    { "early SEAL", attack_early_seal, true, CAIRN_EPROTO, false, "SEAL after 0 of 1" },
    { "hang up inside a chunk", attack_hang_up, true, 0, true, "upload aborted" },
};

static bool log_says(const struct daemon *d, const char *text)
{
    return tmp_lines_with(d->log, (const char *const[]){ text, NULL }) > 0;
}

/* Files of evil's run that are no committed segment: must be none once its upload is aborted. */
static int evil_files(const struct daemon *d)
{
    char path[1024];
    int count = 0;
    (void)snprintf(path, sizeof path, "%s/runs/%u/evil/segments", d->data, (unsigned)getuid());
    DIR *dir = opendir(path);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        count += e->d_name[0] != '.';
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

/* A question of evil's run is answered after its abort: then nothing may be left. */
static void evil_settle(const struct daemon *d)
{
    struct peer_client p;
    struct frame f = { 0 };
    union wire_msg msg = { .find = {
                               .run = slice_str("evil"), .by_save_id = true, .save_id = { 9 } } };
    uint64_t end = now_ns() + (uint64_t)WAIT_MS * 1000000;
    peer_connect(&p, d->socket);
    peer_hello(&p);
    do {
        msg.find =
            (struct wire_find){ .run = slice_str("evil"), .by_save_id = true, .save_id = { 9 } };
        (void)peer_send(&p, WIRE_FIND, 8, &msg, (struct slice){ 0 });
        cr_assert(peer_recv(&p, WAIT_MS, &f, &msg));
    } while (f.type == WIRE_FOUND && evil_files(d) > 0 && now_ns() < end);
    cr_assert_eq(evil_files(d), 0, "%d files of an aborted upload are left", evil_files(d));
    peer_close(&p);
}

static void attack_run(const struct daemon *d, const struct attack *a)
{
    struct peer_client p;
    struct frame f = { 0 };
    union wire_msg msg = { 0 };
    peer_connect(&p, d->socket);
    if (a->greeted) {
        peer_hello(&p);
    }
    a->run(&p);
    bool answered = peer_recv(&p, WAIT_MS, &f, &msg);
    if (a->code != 0) {
        cr_assert(answered && f.type == WIRE_ERROR,
                  "%s: answered %d, type %u",
                  a->name,
                  answered,
                  f.type);
        cr_assert_eq(msg.error.code,
                     (uint32_t)a->code,
                     "%s: code %u: %.*s",
                     a->name,
                     msg.error.code,
                     (int)msg.error.text.bytes,
                     (const char *)msg.error.text.data);
        cr_assert_eq(msg.error.closing, a->closes, "%s: closing %d", a->name, msg.error.closing);
    } else {
        cr_assert_not(answered, "%s: answered with type %u", a->name, f.type);
    }
    cr_assert(!a->closes || peer_closed(&p, WAIT_MS), "%s: not closed", a->name);
    peer_close(&p);
    evil_settle(d);
    cr_assert(log_says(d, a->logged), "%s: the log does not say '%s'", a->name, a->logged);
}

CASE(hostile, others_notice_nothing, .timeout = 240)
{
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    int stop[2];
    int status = 0;
    tmp_make("hostile", dir);
    daemon_init(&d, dir);
    d.args[0] = "--idle=1s";
    daemon_start(&d, NULL);
    cr_assert_eq(pipe2(stop, O_CLOEXEC), 0);
    pid_t good = fork();
    if (good == 0) {
        (void)close(stop[1]);
        good_run(d.socket, stop[0]);
    }
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        (void)printf("attack: %s\n", attacks[i].name);
        attack_run(&d, &attacks[i]);
    }
    (void)close(stop[0]);
    (void)close(stop[1]);
    cr_assert_eq(waitpid(good, &status, 0), good);
    cr_assert_eq(status, 0, "the other trainer ended with status %d", status);
    cr_assert_eq(daemon_stop(&d), 0);
    cr_assert_eq(daemon_fsck(&d, false), 0);
    daemon_fini(&d);
    tmp_remove(dir);
}
