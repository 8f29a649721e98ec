/* The small components beside the five, as a client that is not this library writes them: what a
 * restore of the library would refuse is not committed either. */
#include <stdio.h>
#include <string.h>

#include "cairn/record.h"

#include "record/digest.h"
#include "support/case.h"
#include "support/daemon.h"
#include "support/peer.h"

enum { MOST = 4 };

struct companion {
    uint32_t kind;
    enum component component;
    uint32_t count;
    struct entry entries[MOST];
};

static struct daemon d;

/* ---- entries ---- */

static struct entry scalar(enum entry_kind kind, const char *path, const void *value, size_t bytes)
{
    return (struct entry){ .path = slice_str(path),
                           .kind = kind,
                           .bytes = bytes,
                           .value = slice_of(value, bytes),
                           .digest = digest_bytes(value, bytes) };
}

static struct entry of_parameter(struct entry e, uint64_t id)
{
    e.flags = ENTRY_HAS_ID;
    e.id = id;
    return e;
}

static struct companion window(uint64_t work_dtype)
{
    static const double one = 1;
    static const uint64_t microbatches = 1;
    static uint64_t dtype;
    dtype = work_dtype;
    return (struct companion){ .kind = KIND_WEIGHTED,
                               .component = COMPONENT_WINDOW,
                               .count = 4,
                               .entries = { scalar(ENTRY_U64, "dtype", &dtype, 8),
                                            scalar(ENTRY_F64, "loss_scale", &one, 8),
                                            scalar(ENTRY_U64, "microbatches", &microbatches, 8),
                                            scalar(ENTRY_F64, "total_weight", &one, 8) } };
}

static struct companion dtypes(uint64_t of)
{
    static uint64_t dtype;
    dtype = of;
    return (struct companion){ .kind = KIND_DTYPES,
                               .component = COMPONENT_DTYPES,
                               .count = 1,
                               .entries = {
                                   of_parameter(scalar(ENTRY_U64, "trainable", &dtype, 8), 7) } };
}

static struct companion contract(uint32_t of)
{
    static const uint64_t version = 1;
    static uint32_t parameter[2]; /* dtype, rank */
    parameter[0] = of;
    return (struct companion){ .kind = KIND_MODEL_STATE,
                               .component = COMPONENT_CONTRACT,
                               .count = 2,
                               .entries = {
                                   scalar(ENTRY_U64, "version", &version, 8),
                                   of_parameter(scalar(ENTRY_BYTES, "param", parameter, 8), 7) } };
}

static struct companion without(struct companion c, uint32_t index)
{
    memmove(&c.entries[index], &c.entries[index + 1], (MOST - 1 - index) * sizeof *c.entries);
    c.count--;
    return c;
}

/* ---- the upload ---- */

/* The five components, empty, and the companion. */
static void sum(const struct companion *c, struct boundary *b, struct component_info infos[6])
{
    for (uint32_t i = 0; i < 6; i++) {
        enum component component = i < 5 ? (enum component)(i + 1) : c->component;
        struct component_digest *digest = component_digest_new(component, (struct slice){ 0 });
        infos[i] = (struct component_info){ .component = component };
        for (uint32_t k = 0; i == 5 && k < c->count; k++) {
            component_digest_entry(digest, &c->entries[k]);
            infos[i].bytes += c->entries[k].bytes;
            infos[i].entry_count++;
            infos[i].page_count = 1;
        }
        infos[i].digest = component_digest_end(digest);
        (void)component_digest_free(digest);
    }
    b->entry_count = infos[5].entry_count;
    b->payload_bytes = infos[5].bytes;
    b->root = digest_root(b, infos, 6);
}

/* What comes of it: COMMITTED or ERROR. */
static enum wire_type upload(const struct companion *c, struct peer_client *p, union wire_msg *ret)
{
    static uint8_t id;
    struct component_info infos[6];
    union wire_msg msg = { .begin = { .run = slice_str("raw") } };
    struct boundary *b = &msg.begin.boundary;
    struct frame f = { 0 };
    *b = (struct boundary){
        .kind = c->kind, .world = 1, .local_parts = 1, .exact = true, .save_id = { ++id }
    };
    sum(c, b, infos);
    const union wire_msg seal = { .seal = { infos, 6, b->root } };
    cr_assert(peer_send(p, WIRE_BEGIN, PEER_UPLOAD, &msg, (struct slice){ 0 }));
    peer_expect(p, WIRE_BEGUN, PEER_UPLOAD, &msg);
    if (c->count > 0) {
        msg.entries = (struct wire_entries){ .component = c->component,
                                             .entries = c->entries,
                                             .count = c->count };
        cr_assert(peer_send(p, WIRE_ENTRIES, PEER_UPLOAD, &msg, (struct slice){ 0 }));
    }
    cr_assert(peer_send(p, WIRE_SEAL, PEER_UPLOAD, &seal, (struct slice){ 0 }));
    cr_assert(peer_recv(p, 20000, &f, ret));
    cr_assert_eq(f.request, PEER_UPLOAD);
    return (enum wire_type)f.type;
}

static void taken(struct companion c)
{
    struct peer_client p;
    union wire_msg msg;
    peer_connect(&p, d.socket);
    peer_hello(&p);
    enum wire_type type = upload(&c, &p, &msg);
    cr_assert_eq(type,
                 WIRE_COMMITTED,
                 "%.*s",
                 type == WIRE_ERROR ? (int)msg.error.text.bytes : 0,
                 type == WIRE_ERROR ? (const char *)msg.error.text.data : "");
    peer_close(&p);
}

/* With this code, of that entry. */
static void refused(struct companion c, uint32_t code, const char *path, const char *words)
{
    struct peer_client p;
    union wire_msg msg;
    peer_connect(&p, d.socket);
    peer_hello(&p);
    cr_assert_eq(upload(&c, &p, &msg), WIRE_ERROR, "%s '%s'", component_name(c.component), path);
    const struct wire_error *e = &msg.error;
    cr_assert_eq(e->code, code, "%.*s", (int)e->text.bytes, (const char *)e->text.data);
    cr_assert_eq(e->component, c.component);
    cr_assert_eq(slice_cmp(e->path, slice_str(path)), 0, "not of '%s'", path);
    cr_assert_not_null(memmem(e->text.data, e->text.bytes, words, strlen(words)),
                       "%.*s",
                       (int)e->text.bytes,
                       (const char *)e->text.data);
    peer_close(&p);
}

static void up(void)
{
    daemon_begin(&d, "companions", NULL, NULL);
}

CASE(companions, W15_a_window_with_a_piece_missing_is_not_committed, .timeout = 60)
{
    static const char *const paths[] = { "dtype", "loss_scale", "microbatches", "total_weight" };
    up();
    taken(window(CAIRN_F32));
    for (uint32_t i = 0; i < 4; i++) {
        refused(without(window(CAIRN_F32), i), CAIRN_EWINDOW, paths[i], "is missing");
    }
    daemon_end(&d);
}

CASE(companions, W1_a_window_sums_in_F32_or_F64, .timeout = 60)
{
    static const uint64_t others[] = { 0, CAIRN_F16, CAIRN_I32, UINT64_C(1) << 32 | CAIRN_F32 };
    up();
    taken(window(CAIRN_F64));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        refused(window(others[i]), CAIRN_EWINDOW, "dtype", "F32 or F64");
    }
    daemon_end(&d);
}

CASE(companions, D1_a_dtype_record_holds_what_a_restore_takes, .timeout = 60)
{
    static const uint64_t others[] = {
        CAIRN_F8_E5M2, CAIRN_F4_E2M1, CAIRN_QINT8, CAIRN_I32, CAIRN_OPAQUE, 0, 15
    };
    up();
    taken(dtypes(CAIRN_BF16));
    taken(dtypes(CAIRN_QFLOAT));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        refused(dtypes(others[i]), CAIRN_EDTYPES, "trainable", "parameter 7");
    }
    daemon_end(&d);
}

CASE(companions, F13_a_contract_is_of_floating_parameters_and_has_a_version, .timeout = 60)
{
    static const uint32_t others[] = { CAIRN_F8_E5M2, CAIRN_QINT8, CAIRN_I32, 0, 15 };
    up();
    taken(contract(CAIRN_F32));
    taken(contract(CAIRN_QFLOAT));
    taken(without(contract(CAIRN_F32), 1)); /* nothing is trained */
    refused(without(contract(CAIRN_F32), 0), CAIRN_EINVAL, "version", "is missing");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        refused(contract(others[i]), CAIRN_EINVAL, "param", "parameter 7");
    }
    daemon_end(&d);
}
