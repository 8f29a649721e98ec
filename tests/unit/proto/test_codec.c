/* Every message type, there and back, except those that carry parts of a record
 * (test_codec_record.c). */
#include <string.h>

#include "record/policy.h"
#include "support/case.h"
#include "wire/codec.h"

static struct wire_buf codec_buf;
static struct bump codec_bump;

/* Encodes; decodes into ret; encodes that again and expects the same bytes. */
static void codec_there_and_back(uint32_t type, const union wire_msg *msg, union wire_msg *ret)
{
    struct err err = { 0 };
    struct frame f;
    bump_fini(&codec_bump);
    bump_init(&codec_bump, 1 << 20);
    codec_buf.bytes = 0;
    cr_assert_eq(wire_encode(type, 77, msg, 0, &codec_buf, &err), 0, "%s", err.msg);
    cr_assert_eq(frame_decode(codec_buf.data, &f, &err), 0, "%s", err.msg);
    cr_assert(f.type == type && f.request == 77);
    size_t bytes = codec_buf.bytes;
    cr_assert_eq(f.message_bytes, bytes - FRAME_PREFIX_BYTES);
    struct slice message = slice_of(codec_buf.data + FRAME_PREFIX_BYTES, f.message_bytes);
    cr_assert_eq(wire_decode(type, message, &codec_bump, ret, &err), 0, "%s", err.msg);
    cr_assert_eq(wire_encode(type, 77, ret, 0, &codec_buf, &err), 0, "%s", err.msg);
    cr_assert_eq(codec_buf.bytes, 2 * bytes);
    cr_assert_eq(memcmp(codec_buf.data, codec_buf.data + bytes, bytes), 0);
}

static void codec_done(void)
{
    wire_buf_free(&codec_buf);
    bump_fini(&codec_bump);
}

static void codec_text_is(struct slice s, const char *text)
{
    cr_assert_eq(slice_cmp(s, slice_str(text)), 0, "expected %s", text);
}

CASE(codec, session)
{
    union wire_msg in = { .hello = { 1, UINT32_MAX, slice_str("libcairn 0.1.0 \xE2\x9C\x93") } };
    union wire_msg out;
    codec_there_and_back(WIRE_HELLO, &in, &out);
    cr_assert(out.hello.version_min == 1 && out.hello.version_max == UINT32_MAX);
    codec_text_is(out.hello.client, "libcairn 0.1.0 \xE2\x9C\x93");
    in = (union wire_msg){ .welcome = { 1, slice_str("cairnd"), 2, 3, 4, UINT64_MAX } };
    codec_there_and_back(WIRE_WELCOME, &in, &out);
    cr_assert(out.welcome.version == 1 && out.welcome.chunk_bytes == 2);
    cr_assert(out.welcome.entries_per_page == 3 && out.welcome.window_chunks == 4);
    cr_assert_eq(out.welcome.idle_ms, UINT64_MAX);
    codec_text_is(out.welcome.server, "cairnd");
    static const uint32_t empty[] = { WIRE_DONE,  WIRE_PING,     WIRE_ABORT,
                                      WIRE_CLOSE, WIRE_RESIDENT, WIRE_STATUS };
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        codec_there_and_back(empty[i], &in, &out);
        cr_assert_eq(codec_buf.bytes, 2 * (size_t)FRAME_PREFIX_BYTES);
    }
    codec_done();
}

CASE(codec, error)
{
    union wire_msg out;
    union wire_msg in = { .error = { CAIRN_ECORRUPT,
                                     COMPONENT_OPTIMIZER,
                                     slice_str("layer/w"),
                                     slice_str("it rotted"),
                                     true } };
    codec_there_and_back(WIRE_ERROR, &in, &out);
    cr_assert(out.error.code == CAIRN_ECORRUPT && out.error.component == COMPONENT_OPTIMIZER);
    cr_assert(out.error.closing);
    codec_text_is(out.error.path, "layer/w");
    codec_text_is(out.error.text, "it rotted");
    /* The fewest fields, and an empty text. */
    in = (union wire_msg){ .error = { .code = CAIRN_EINVAL } };
    codec_there_and_back(WIRE_ERROR, &in, &out);
    cr_assert(out.error.component == 0 && out.error.path.bytes == 0 && out.error.text.bytes == 0);
    cr_assert_not(out.error.closing);
    codec_done();
}

/* An error reaches the peer whatever it says. */
CASE(codec, error_always_encodes)
{
    static char text[4000];
    union wire_msg out;
    struct err err = { 0 };
    for (size_t i = 0; i < sizeof text; i += 2) {
        text[i] = '\xC3';
        text[i + 1] = '\xA9';
    }
    union wire_msg in = {
        .error = { 999, 99, slice_of(text, sizeof text), slice_of(text, sizeof text), false }
    };
    bump_init(&codec_bump, 1 << 20);
    cr_assert_eq(wire_encode(WIRE_ERROR, 1, &in, 0, &codec_buf, &err), 0);
    struct slice message =
        slice_of(codec_buf.data + FRAME_PREFIX_BYTES, codec_buf.bytes - FRAME_PREFIX_BYTES);
    cr_assert_eq(wire_decode(WIRE_ERROR, message, &codec_bump, &out, &err), 0, "%s", err.msg);
    cr_assert_eq(out.error.code, CAIRN_EINTERNAL);
    cr_assert_eq(out.error.component, 0);
    cr_assert_eq(out.error.text.bytes, 1022); /* cut between two characters */
    cr_assert_eq(out.error.path.bytes, 254);
    codec_done();
}

CASE(codec, error_carries_every_code)
{
#define CODEC_NUMBER(name, number, sort, text) (number),
    static const uint32_t codes[] = { CAIRN_ERRORS(CODEC_NUMBER) };
#undef CODEC_NUMBER
    union wire_msg out;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        union wire_msg in = { .error = { .code = codes[i] } };
        codec_there_and_back(WIRE_ERROR, &in, &out);
        cr_assert_eq(out.error.code, codes[i]);
    }
    codec_done();
}

CASE(codec, runs)
{
    union wire_msg out;
    union wire_msg in = { .run_open = { slice_str("ann/digits") } };
    codec_there_and_back(WIRE_RUN_OPEN, &in, &out);
    codec_text_is(out.run_open.run, "ann/digits");
    in = (union wire_msg){ .run_drop = { slice_str("1000/digits") } };
    codec_there_and_back(WIRE_RUN_DROP, &in, &out);
    codec_text_is(out.run_drop.run, "1000/digits");
    for (int all = 0; all < 2; all++) {
        in = (union wire_msg){ .run_list = { all == 1 } };
        codec_there_and_back(WIRE_RUN_LIST, &in, &out);
        cr_assert_eq(out.run_list.all, all == 1);
    }
    in = (union wire_msg){ .run_info = { .uid = UINT32_MAX,
                                         .run = slice_str("digits"),
                                         .exists = true,
                                         .boundary_count = 1,
                                         .latest_seq = 2,
                                         .latest_step = UINT64_MAX,
                                         .latest_ns = 3,
                                         .bytes = 4,
                                         .poisoned = true } };
    codec_there_and_back(WIRE_RUN_INFO, &in, &out);
    const struct wire_run_info *info = &out.run_info;
    cr_assert(info->uid == UINT32_MAX && info->exists && info->poisoned);
    cr_assert(info->boundary_count == 1 && info->latest_seq == 2 && info->latest_ns == 3);
    cr_assert(info->latest_step == UINT64_MAX && info->bytes == 4);
    codec_text_is(info->run, "digits");
    codec_done();
}

CASE(codec, small_ones)
{
    union wire_msg out;
    for (uint32_t state = SAVE_NONE; state <= SAVE_UNKNOWN; state++) {
        union wire_msg in = { .begun = { (enum save_state)state, state + 7 } };
        codec_there_and_back(WIRE_BEGUN, &in, &out);
        cr_assert(out.begun.state == (enum save_state)state && out.begun.seq == state + 7);
    }
    union wire_msg in = { .manifest = { COMPONENT_WINDOW, UINT32_MAX } };
    codec_there_and_back(WIRE_MANIFEST, &in, &out);
    cr_assert(out.manifest.component == COMPONENT_WINDOW && out.manifest.page == UINT32_MAX);
    in = (union wire_msg){ .chunk_list = { .first = 9 } };
    codec_there_and_back(WIRE_CHUNK_LIST, &in, &out);
    cr_assert(out.chunk_list.first == 9 && out.chunk_list.arena == 0);
    in.chunk_list.arena = UINT32_MAX;
    codec_there_and_back(WIRE_CHUNK_LIST, &in, &out);
    cr_assert(out.chunk_list.first == 9 && out.chunk_list.arena == UINT32_MAX);
    in = (union wire_msg){ .load = { 1, 2, 16, 0 } };
    codec_there_and_back(WIRE_LOAD, &in, &out);
    cr_assert(out.load.first_chunk == 1 && out.load.chunk_count == 2 && out.load.credits == 16);
    cr_assert_eq(out.load.arena, 0);
    in.load.arena = UINT32_MAX;
    codec_there_and_back(WIRE_LOAD, &in, &out);
    cr_assert_eq(out.load.arena, UINT32_MAX);
    in = (union wire_msg){ .filled = { UINT32_MAX } };
    codec_there_and_back(WIRE_FILLED, &in, &out);
    cr_assert_eq(out.filled.chunk, UINT32_MAX);
    in = (union wire_msg){ .loaded = { 5, true } };
    codec_there_and_back(WIRE_LOADED, &in, &out);
    cr_assert(out.loaded.chunk_count == 5 && out.loaded.aborted);
    in = (union wire_msg){ .release = { 1 } };
    codec_there_and_back(WIRE_RELEASE, &in, &out);
    cr_assert_eq(out.release.credits, 1);
    in = (union wire_msg){ .remove = { slice_str("7/r"), slice_str("latest~1") } };
    codec_there_and_back(WIRE_DELETE, &in, &out);
    codec_text_is(out.remove.run, "7/r");
    codec_text_is(out.remove.selector, "latest~1");
    in = (union wire_msg){ .rollback = { slice_str("7/r"), slice_str("300") } };
    codec_there_and_back(WIRE_ROLLBACK, &in, &out);
    codec_text_is(out.rollback.run, "7/r");
    codec_text_is(out.rollback.selector, "300");
    in = (union wire_msg){ .describe = { slice_str("r"), slice_str(""), true } };
    codec_there_and_back(WIRE_DESCRIBE, &in, &out);
    codec_text_is(out.describe.run, "r");
    cr_assert(out.describe.pin && out.describe.selector.bytes == 0);
    codec_done();
}

CASE(codec, pins_and_labels)
{
    static const struct label labels[] = { { { "loss", 4 }, { "0.5", 3 } },
                                           { { "empty", 5 }, { "", 0 } } };
    static const struct wire_pin_info pins[] = {
        { 7, UINT64_MAX, { "a", 1 }, { "why", 3 }, 8 },
        { 9, 0, { "b", 1 }, { "", 0 }, UINT32_MAX },
    };
    union wire_msg out;
    union wire_msg in = {
        .pin = { slice_str("7/r"), slice_str("latest"), slice_str("paper"), slice_str("figure 3") }
    };
    codec_there_and_back(WIRE_PIN, &in, &out);
    codec_text_is(out.pin.run, "7/r");
    codec_text_is(out.pin.selector, "latest");
    codec_text_is(out.pin.name, "paper");
    codec_text_is(out.pin.why, "figure 3");
    codec_there_and_back(WIRE_UNPIN, &in, &out);
    codec_text_is(out.unpin.name, "paper");
    cr_assert_eq(out.unpin.why.bytes, 0);
    in = (union wire_msg){ .set_labels = { slice_str("r"), slice_str("100"), labels, 2 } };
    codec_there_and_back(WIRE_LABEL, &in, &out);
    codec_text_is(out.set_labels.selector, "100");
    cr_assert_eq(out.set_labels.count, 2);
    codec_text_is(out.set_labels.labels[0].name, "loss");
    codec_text_is(out.set_labels.labels[0].value, "0.5");
    cr_assert_eq(out.set_labels.labels[1].value.bytes, 0);
    in = (union wire_msg){ .pin_list = { slice_str("r") } };
    codec_there_and_back(WIRE_PIN_LIST, &in, &out);
    codec_text_is(out.pin_list.run, "r");
    in = (union wire_msg){ .pins = { pins, 2, true } };
    codec_there_and_back(WIRE_PINS, &in, &out);
    cr_assert(out.pins.count == 2 && out.pins.more);
    for (uint32_t i = 0; i < 2; i++) {
        const struct wire_pin_info *pin = &out.pins.pins[i];
        cr_assert(pin->seq == pins[i].seq && pin->uid == pins[i].uid);
        cr_assert_eq(pin->created_ns, pins[i].created_ns);
        cr_assert_eq(slice_cmp(pin->name, pins[i].name), 0);
        cr_assert_eq(slice_cmp(pin->why, pins[i].why), 0);
    }
    codec_done();
}

CASE(codec, policies)
{
    static const struct wire_kept_boundary rows[] = {
        { UINT64_MAX, 2, 3, 4, 5, KEEP_GOES_SPACE, 0 },
        { 1, 0, 0, 0, 0, KEEP_BEST, 7 },
    };
    union wire_msg out;
    union wire_msg in = { .policy = { .run = slice_str("r") } };
    codec_there_and_back(WIRE_POLICY, &in, &out);
    cr_assert(!out.policy.sets && out.policy.policy.bytes == 0);
    in.policy.sets = true;
    in.policy.policy = slice_str("last=3");
    codec_there_and_back(WIRE_POLICY, &in, &out);
    cr_assert(out.policy.sets);
    codec_text_is(out.policy.run, "r");
    codec_text_is(out.policy.policy, "last=3");
    in = (union wire_msg){ .policy_info = { slice_str("none"), true } };
    codec_there_and_back(WIRE_POLICY_INFO, &in, &out);
    codec_text_is(out.policy_info.policy, "none");
    cr_assert(out.policy_info.preset);
    in = (union wire_msg){ .keep = { .run = slice_str("r") } };
    codec_there_and_back(WIRE_KEEP, &in, &out);
    cr_assert(!out.keep.dry_run && !out.keep.has_policy && out.keep.below == 0);
    in.keep = (struct wire_keep){ slice_str("r"), true, true, slice_str("none"), UINT64_MAX };
    codec_there_and_back(WIRE_KEEP, &in, &out);
    cr_assert(out.keep.dry_run && out.keep.has_policy && out.keep.below == UINT64_MAX);
    codec_text_is(out.keep.policy, "none");
    in = (union wire_msg){ .kept = { rows, 2, true, 5, 6, 7, slice_str("last=1") } };
    codec_there_and_back(WIRE_KEPT, &in, &out);
    cr_assert(out.kept.count == 2 && out.kept.more && out.kept.removed == 5);
    cr_assert(out.kept.damaged == 6 && out.kept.bytes == 7);
    cr_assert_eq(memcmp(out.kept.boundaries, rows, sizeof rows), 0);
    codec_text_is(out.kept.policy, "last=1");
    in = (union wire_msg){ .usage = { slice_str("r") } };
    codec_there_and_back(WIRE_USAGE, &in, &out);
    codec_text_is(out.usage.run, "r");
    in = (union wire_msg){ .usage_info = { UINT64_MAX, 2, 3 } };
    codec_there_and_back(WIRE_USAGE_INFO, &in, &out);
    cr_assert_eq(memcmp(&out.usage_info, &in.usage_info, sizeof in.usage_info), 0);
    codec_done();
}

CASE(codec, data)
{
    struct err err = { 0 };
    struct frame f;
    union wire_msg out;
    union wire_msg in = { .data = { UINT32_MAX } };
    bump_init(&codec_bump, 1 << 20);
    cr_assert_eq(wire_encode(WIRE_DATA, 5, &in, 8388608, &codec_buf, &err), 0);
    cr_assert_eq(frame_decode(codec_buf.data, &f, &err), 0);
    cr_assert(f.payload_bytes == 8388608 && f.request == 5);
    struct slice message = slice_of(codec_buf.data + FRAME_PREFIX_BYTES, f.message_bytes);
    cr_assert_eq(wire_decode(WIRE_DATA, message, &codec_bump, &out, &err), 0);
    cr_assert_eq(out.data.chunk, UINT32_MAX);
    cr_assert_eq(wire_encode(WIRE_DATA, 5, &in, 8388609, &codec_buf, &err), -CAIRN_EINVAL);
    cr_assert_eq(wire_encode(WIRE_PING, 5, &in, 1, &codec_buf, &err), -CAIRN_EINVAL);
    cr_assert_eq(wire_encode(36, 5, &in, 0, &codec_buf, &err), -CAIRN_EINVAL);
    codec_done();
}

CASE(codec, arenas)
{
    static const uint32_t refs[] = { WIRE_ARENA_MAPPED, WIRE_ARENA_CLOSE };
    union wire_msg out;
    union wire_msg in = { .arena_open = { .bytes = UINT64_MAX } };
    codec_there_and_back(WIRE_ARENA_OPEN, &in, &out);
    cr_assert(out.arena_open.bytes == UINT64_MAX && !out.arena_open.ring);
    in.arena_open.ring = true;
    codec_there_and_back(WIRE_ARENA_OPEN, &in, &out);
    cr_assert(out.arena_open.bytes == UINT64_MAX && out.arena_open.ring);
    in = (union wire_msg){ .arena = { .arena = UINT32_MAX, .bytes = UINT64_MAX } };
    codec_there_and_back(WIRE_ARENA, &in, &out);
    cr_assert(out.arena.arena == UINT32_MAX && out.arena.bytes == UINT64_MAX);
    for (size_t i = 0; i < 2; i++) {
        in = (union wire_msg){ .arena_ref = { .arena = 7 } };
        codec_there_and_back(refs[i], &in, &out);
        cr_assert_eq(out.arena_ref.arena, 7);
    }
    codec_done();
}

CASE(codec, find)
{
    union wire_msg out;
    union wire_msg in = { .find = { .run = slice_str("r"), .by_save_id = true, .rank = 3 } };
    memset(in.find.save_id, 0xA5, 16);
    codec_there_and_back(WIRE_FIND, &in, &out);
    cr_assert(out.find.by_save_id && out.find.rank == 3 && out.find.selector.bytes == 0);
    cr_assert_eq(memcmp(out.find.save_id, in.find.save_id, 16), 0);
    in = (union wire_msg){ .find = { .run = slice_str("r"), .max = 1024 } };
    codec_there_and_back(WIRE_FIND, &in, &out); /* "" is a selector too */
    cr_assert_not(out.find.by_save_id);
    cr_assert(out.find.max == 1024 && out.find.selector.bytes == 0);
    in.find.selector = slice_str("best:loss:min");
    codec_there_and_back(WIRE_FIND, &in, &out);
    codec_text_is(out.find.selector, "best:loss:min");
    codec_done();
}

CASE(codec, verify)
{
    union wire_msg out;
    union wire_msg in = { .verify = { .run = slice_str("r"), .whole_run = true } };
    codec_there_and_back(WIRE_VERIFY, &in, &out);
    cr_assert(out.verify.whole_run);
    in = (union wire_msg){ .verify = { .run = slice_str("r"), .selector = slice_str("") } };
    codec_there_and_back(WIRE_VERIFY, &in, &out);
    cr_assert_not(out.verify.whole_run); /* the newest is not the whole run */
    in = (union wire_msg){ .finding = {
                               7, COMPONENT_STATE, slice_str("a b"), slice_str("flipped") } };
    codec_there_and_back(WIRE_FINDING, &in, &out);
    cr_assert(out.finding.seq == 7 && out.finding.component == COMPONENT_STATE);
    codec_text_is(out.finding.path, "a b");
    codec_text_is(out.finding.text, "flipped");
    in = (union wire_msg){ .finding = { .text = slice_str("x") } };
    codec_there_and_back(WIRE_FINDING, &in, &out);
    cr_assert(out.finding.component == 0 && out.finding.path.bytes == 0);
    in = (union wire_msg){ .verified = { 1, 2, UINT64_MAX, 4, true } };
    codec_there_and_back(WIRE_VERIFIED, &in, &out);
    cr_assert(out.verified.boundary_count == 1 && out.verified.chunk_count == 2);
    cr_assert(out.verified.bytes == UINT64_MAX && out.verified.finding_count == 4);
    cr_assert(out.verified.more);
    codec_done();
}

CASE(codec, status)
{
    union wire_msg out;
    struct slice attention[20];
    for (size_t i = 0; i < 20; i++) {
        attention[i] = slice_str(i == 1 ? "" : "run 'x' is read-only");
    }
    union wire_msg in = { .status_info = { .server = slice_str("cairnd 0.1.0"),
                                           .data_dir = slice_str("/var/lib/cairn"),
                                           .io_mode = slice_str("buffered"),
                                           .io_why = slice_str("tmpfs"),
                                           .pid = 1,
                                           .uptime_ms = 2,
                                           .run_count = 3,
                                           .open_run_count = 4,
                                           .connection_count = 5,
                                           .upload_count = 6,
                                           .pool_bytes = 7,
                                           .pool_used_bytes = 8,
                                           .disk_free_bytes = 9,
                                           .disk_total_bytes = 10,
                                           .committed_count = 11,
                                           .failed_count = UINT64_MAX,
                                           .arena_bytes = 12,
                                           .arena_share_bytes = 13,
                                           .arena_lent_bytes = 14,
                                           .arena_own_bytes = 15,
                                           .arena_count = 16,
                                           .ring_count = UINT64_MAX - 1,
                                           .resident_bytes = 17,
                                           .resident_kept_bytes = 18,
                                           .resident_count = 19,
                                           .attention = attention,
                                           .attention_count = 3 } };
    codec_there_and_back(WIRE_STATUS_INFO, &in, &out);
    const struct wire_status_info *s = &out.status_info;
    codec_text_is(s->server, "cairnd 0.1.0");
    codec_text_is(s->data_dir, "/var/lib/cairn");
    codec_text_is(s->io_mode, "buffered");
    codec_text_is(s->io_why, "tmpfs");
    cr_assert(s->pid == 1 && s->uptime_ms == 2 && s->run_count == 3 && s->open_run_count == 4);
    cr_assert(s->connection_count == 5 && s->upload_count == 6 && s->pool_bytes == 7);
    cr_assert(s->pool_used_bytes == 8 && s->disk_free_bytes == 9 && s->disk_total_bytes == 10);
    cr_assert(s->committed_count == 11 && s->failed_count == UINT64_MAX);
    cr_assert(s->arena_bytes == 12 && s->arena_share_bytes == 13 && s->arena_lent_bytes == 14);
    cr_assert(s->arena_own_bytes == 15 && s->arena_count == 16);
    cr_assert_eq(s->ring_count, UINT64_MAX - 1);
    cr_assert(s->resident_bytes == 17 && s->resident_kept_bytes == 18 && s->resident_count == 19);
    cr_assert_eq(s->attention_count, 3);
    codec_text_is(s->attention[0], "run 'x' is read-only");
    codec_text_is(s->attention[1], "");
    in.status_info.attention_count = 20; /* more than a message holds: the first sixteen */
    in.status_info.attention = attention;
    struct err err = { 0 };
    codec_buf.bytes = 0;
    cr_assert_eq(wire_encode(WIRE_STATUS_INFO, 1, &in, 0, &codec_buf, &err), 0);
    struct slice message =
        slice_of(codec_buf.data + FRAME_PREFIX_BYTES, codec_buf.bytes - FRAME_PREFIX_BYTES);
    cr_assert_eq(wire_decode(WIRE_STATUS_INFO, message, &codec_bump, &out, &err), 0);
    cr_assert_eq(out.status_info.attention_count, 16);
    codec_done();
}
