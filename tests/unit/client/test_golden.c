/* The bytes of a record, for good: what a save sends for one tiny job in each of the four kinds,
 * and the digests over it. Whoever changes them changes the format.
 *
 * The constants are what commit a598186 made, the last one before configuration digests, storage
 * dtypes and contracts: this file was built there too, and passed. An ordinary record must not know
 * that there are optional features (R13). Since then an entry says how many NaN it has, behind
 * everything else and only if it has one (80 01 01: the moment, the gradient); no digest changed.
 *
 * The seed nests what travels with the caller's state: U, (dtypes, U), (weighted, U), (dtypes,
 * (weighted, U)). Here each is a component of its own, in that order behind the five that every
 * record has, and the order is part of the root digest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground.h"

static const uint64_t two[] = { 2 };

static void add(struct box *b, const char *path, uint32_t flags, uint32_t dtype, const char *bytes)
{
    struct tensor *t = BOX_ADD(b, path, 7, flags, dtype, 1, two, 1);
    memcpy(t->data, bytes, t->bytes);
}

static void tiny(struct job *j)
{
    const uint32_t both = CAIRN_HAS_ID | CAIRN_TRAINABLE;
    add(&j->model, "w", both, CAIRN_BF16, "\x80\x3f\x00\x80");
    add(&j->optimizer, "moment", CAIRN_HAS_ID, CAIRN_F32, "\x01\x00\x80\x7f\x00\x00\x00\x80");
    add(&j->gradients, "grad", CAIRN_HAS_ID, CAIRN_F32, "\x01\x00\x00\x00\x00\x00\xc0\x7f");
    j->model.counter = 1;
    j->optimizer.counter = UINT64_MAX;
    j->scheduler.counter = 3;
    j->gradients.counter = 4;
    j->state.counter = 5;
    j->window = (struct cairn_window){
        .dtype = CAIRN_F32, .loss_scale = 1024, .total_weight = 0x1p-149, .microbatches = UINT64_MAX
    };
    j->params[0] = (struct cairn_param){ 7, true, CAIRN_BF16, 1, two };
    j->param_count = 1;
}

static void check_hex(const char *what, const void *data, size_t bytes, const char *expected)
{
    char *text = calloc(bytes + 1, 2);
    for (size_t i = 0; i < bytes; i++) {
        (void)snprintf(text + i * 2, 3, "%02x", ((const uint8_t *)data)[i]);
    }
    cr_assert_str_eq(text, expected, "%s:\n%s\nis not\n%s", what, text, expected);
    free(text);
}

static void save(struct ground *g, uint32_t kind, struct cairn_boundary *ret)
{
    static const uint8_t id[16] = "the golden save";
    struct cairn_record *r = NULL;
    struct cairn_save_args args = { .step = 9, .save_id = id };
    cr_assert_eq(ground_capture(g, kind, &r), 0, "%s", cairn_error(g->c));
    cr_assert_eq(cairn_save(g->c, &r, &args, ret), 0, "%s", cairn_error(g->c));
}

/* ENTRIES of each component, by number. */
static const char *const entries[] = {
    [COMPONENT_MODEL] =
        "080110001a2d0a07636f756e74657210032000300040084a0801000000000000006210bdc94bce2eda26"
        "4dbc08dc21994df8a21a310a017710011907000000000000002001280530013a010240044a04803f0080"
        "6210ac903720bee8a46934247195948b14a0",
    [COMPONENT_OPTIMIZER] =
        "080210001a2d0a07636f756e74657210032000300040084a08ffffffffffffffff6210dc6b20d207425a"
        "a58b3249d34c2ef0b01a3d0a066d6f6d656e7410011907000000000000002000280230013a010240084a"
        "080100807f00000080621075f764c2dc2c6fc09dd27f30d51330f0800101",
    [COMPONENT_SCHEDULER] =
        "080310001a2d0a07636f756e74657210032000300040084a0803000000000000006210bb6f4149b62a32"
        "b6e619cdeae4a4a0f4",
    [COMPONENT_GRADIENTS] =
        "080410001a2d0a07636f756e74657210032000300040084a08040000000000000062108c351d2b70cfa4"
        "587b06e7af258896d21a3b0a046772616410011907000000000000002000280230013a010240084a0801"
        "0000000000c07f62107b5c3ec0d5d17a78c81aa9cae8c3c9cd800101",
    [COMPONENT_STATE] =
        "080510001a2d0a07636f756e74657210032000300040084a0805000000000000006210bece7561abd0b3"
        "8b64b5c1b28fbe6b34",
    [COMPONENT_DTYPES] =
        "080610001a380a09747261696e61626c6510031907000000000000002000300040084a08050000000000"
        "00006210bece7561abd0b38b64b5c1b28fbe6b34",
    [COMPONENT_WINDOW] =
        "080710001a2b0a05647479706510032000300040084a08020000000000000062107fd5a2c19908396d68"
        "c4b2d0774ab92f1a300a0a6c6f73735f7363616c6510042000300040084a08000000000000904062107f"
        "16270b89e89d45a5d212df58dafb231a320a0c6d6963726f6261746368657310032000300040084a08ff"
        "ffffffffffffff6210dc6b20d207425aa58b3249d34c2ef0b01a320a0c746f74616c5f77656967687410"
        "042000300040084a08000000000000a03662108aadf1797b4ef1e77f23de829ef54110",
};

/* The components of `kind` in their order, each in one message of exactly these bytes. */
static void check_kind(uint32_t kind, const enum component *order, const char *root)
{
    struct ground g;
    struct cairn_boundary b;
    ground_up(&g);
    tiny(&g.job);
    save(&g, kind, &b);
    const struct fake_boundary *at = g.fake.boundaries[0];
    size_t i = 0;
    for (; order[i] != COMPONENT_NONE; i++) {
        cr_assert_lt(i, at->frame_count);
        cr_assert_eq(at->row.components[i].component, order[i]);
        cr_assert_eq(at->frames[i].type, WIRE_ENTRIES);
        check_hex(component_name(order[i]),
                  at->frames[i].message,
                  at->frames[i].bytes,
                  entries[order[i]]);
    }
    cr_assert_eq(at->frame_count, i);
    cr_assert_eq(at->row.component_count, i);
    check_hex(kind_name(kind), b.root, sizeof b.root, root);
    ground_down(&g);
}

#define FIVE                                                                                       \
    COMPONENT_MODEL, COMPONENT_OPTIMIZER, COMPONENT_SCHEDULER, COMPONENT_GRADIENTS, COMPONENT_STATE

CASE(golden, N10_R13_R40_E31_plain_has_the_bytes_it_had_before_there_were_options)
{
    static const enum component order[] = { FIVE, COMPONENT_NONE };
    check_kind(KIND_PLAIN, order, "5ae7d2a6e984f6c1998ebe55d4f80f1d");
}

CASE(golden, R41_R12_dtypes_and_state)
{
    static const enum component order[] = { FIVE, COMPONENT_DTYPES, COMPONENT_NONE };
    check_kind(KIND_DTYPES, order, "3b0774771f119aaf23336fefc663b140");
}

CASE(golden, R41_R15_weighted_and_state)
{
    static const enum component order[] = { FIVE, COMPONENT_WINDOW, COMPONENT_NONE };
    check_kind(KIND_WEIGHTED, order, "7f06d6498ef8589bb480ae108deb7964");
}

CASE(golden, R41_R17_dtypes_then_weighted_and_state)
{
    static const enum component order[] = {
        FIVE, COMPONENT_DTYPES, COMPONENT_WINDOW, COMPONENT_NONE
    };
    check_kind(KIND_DTYPES | KIND_WEIGHTED, order, "ffec7e0632f6547ffd55aca3dc55be43");
}

/* With payload in chunks: their digests, in CHUNKS, are over what lies in the segment. */
CASE(golden, R13_E31_plain_with_chunks_has_the_bytes_it_had)
{
    struct ground g;
    struct cairn_boundary b;
    ground_up(&g);
    job_fill(&g.job, 1);
    save(&g, KIND_PLAIN, &b);
    const struct fake_frame *chunks = &g.fake.boundaries[0]->frames[0];
    cr_assert_eq(chunks->type, WIRE_CHUNKS);
    check_hex("chunks",
              chunks->message,
              chunks->bytes,
              "08001219080110031894142210e83aa1a61bddb985147215c2a85a192a"
              "121a0801100218c0a9072210b46d92ea8608f59552e063692ef0b71d1800");
    check_hex("root", b.root, sizeof b.root, "beba7af892a32f59c4d77cc70ad5c9f1");
    ground_down(&g);
}
