/* R13, E31: the bytes of a record, to the last one. What stands here was made by another program
 * from PROTOCOL.md alone. The plain record is the first example of that page: whatever a release
 * adds, its bytes and digests stay as they are. */
#include <cairn/record.h>
#include <stdio.h>

#include "record/digest.h"
#include "record/quant.h"
#include "sample.h"
#include "support/case.h"
#include "wire/codec.h"

#define GOLDEN_ENTRIES 3

struct golden {
    struct boundary boundary;
    struct component_info infos[5];
    struct entry model[GOLDEN_ENTRIES], state[GOLDEN_ENTRIES];
    uint32_t model_count, state_count;
};

static void golden_digest(struct component_info *info, const struct entry *entries, uint32_t count)
{
    struct component_digest *d = component_digest_new(info->component, info->type);
    cr_assert_not_null(d);
    for (uint32_t i = 0; i < count; i++) {
        component_digest_entry(d, &entries[i]);
        info->bytes += entries[i].bytes;
    }
    info->entry_count = count;
    info->page_count = count > 0;
    info->digest = component_digest_end(d);
    (void)component_digest_free(d);
}

/* Everything but the entries is the same in both. */
static void golden_close(struct golden *g)
{
    for (uint32_t i = 0; i < 5; i++) {
        g->infos[i].component = (enum component)(i + 1);
    }
    g->infos[0].type = slice_str("mlp/1");
    golden_digest(&g->infos[0], g->model, g->model_count);
    for (uint32_t i = 1; i < 4; i++) {
        golden_digest(&g->infos[i], NULL, 0);
    }
    golden_digest(&g->infos[4], g->state, g->state_count);
    for (uint8_t i = 0; i < 16; i++) {
        g->boundary.save_id[i] = (uint8_t)(0xa0 + i);
    }
    g->boundary.world = 1;
    g->boundary.root = digest_root(&g->boundary, g->infos, 5);
}

static void golden_is(uint32_t type, uint32_t request, const union wire_msg *msg, const char *hex)
{
    struct wire_buf b = { .data = NULL };
    struct err err = { 0 };
    char text[4096];
    cr_assert_eq(wire_encode(type, request, msg, 0, &b, &err), 0, "%s", err.msg);
    cr_assert_lt(2 * b.bytes, sizeof text);
    for (size_t i = 0; i < b.bytes; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", b.data[i]);
    }
    cr_assert_str_eq(text, hex);
    wire_buf_free(&b);
}

static void golden_entries(const struct golden *g, enum component component, const char *hex)
{
    bool model = component == COMPONENT_MODEL;
    const union wire_msg msg = { .entries = { .component = component,
                                              .entries = model ? g->model : g->state,
                                              .count = model ? g->model_count : g->state_count } };
    golden_is(WIRE_ENTRIES, 3, &msg, hex);
}

static void golden_seal(const struct golden *g, const char *hex)
{
    const union wire_msg msg = {
        .seal = { .components = g->infos, .component_count = 5, .root = g->boundary.root }
    };
    golden_is(WIRE_SEAL, 3, &msg, hex);
}

static void golden_root(const struct golden *g, const char *hex)
{
    char text[33];
    digest_hex(&g->boundary.root, text);
    cr_assert_str_eq(text, hex);
}

static struct entry golden_tensor(const char *path, uint32_t dtype, const uint64_t *shape)
{
    return (struct entry){
        .path = slice_str(path), .kind = ENTRY_TENSOR, .dtype = dtype, .rank = 1, .shape = shape
    };
}

static void golden_value(struct entry *e, const void *data, size_t bytes)
{
    e->bytes = bytes;
    e->value = slice_of(data, bytes);
    sample_redigest(e);
}

CASE(golden, R13_E31_a_plain_record)
{
    static const uint64_t two[] = { 2 };
    static const uint64_t loss = UINT64_C(0x7ff8000000000001);
    static const uint64_t updates = 1200;
    struct golden g = { .boundary = { .step = 1200, .exact = true },
                        .model_count = 1,
                        .state_count = 2 };
    g.model[0] = golden_tensor("fc.weight", CAIRN_F32, two);
    g.model[0].flags = ENTRY_HAS_ID | ENTRY_TRAINABLE;
    g.model[0].id = 7;
    golden_value(&g.model[0], "\x00\x00\x80\x3f\x00\x00\x00\x80", 8);
    g.state[0] = sample_scalar("loss", &loss);
    g.state[0].kind = ENTRY_F64;
    g.state[1] = sample_scalar("updates", &updates);
    golden_close(&g);
    golden_root(&g, "754ba624c022d9da30c9294df85aa652");
    golden_entries(
        &g,
        COMPONENT_MODEL,
        "43524e312b00000003000000430000000000000000000000080110001a3d0a0966632e7765696768"
        "7410011907000000000000002001280230013a010240084a080000803f00000080621033b52b6061"
        "56f467382ce1851ce95452");
    golden_entries(
        &g,
        COMPONENT_STATE,
        "43524e312b000000030000005f0000000000000000000000080510001a2a0a046c6f737310042000"
        "300040084a08010000000000f87f62102db26ed591a8c07a4c36d10c700173d81a2d0a0775706461"
        "74657310032000300040084a08b004000000000000621099002af569b4a0a32d5169b477c460d1");
    golden_seal(&g,
                "43524e312d00000003000000b700000000000000000000000a23080112056d6c702f311801200828"
                "0030013a1039b702a3a857db52a98d0aaea26eea7d0a1e0802120018002000280030003a1000974a"
                "a1d2ec69b3d54cdb02e699b4290a1e0803120018002000280030003a108a22fffddb2e3806305dda"
                "aa6b4345350a1e0804120018002000280030003a10aedfca6e0e838230ce1e13ec93674c590a1e08"
                "05120018022010280030013a103bf02b7ac0174d6807ea011b9d281fd51210754ba624c022d9da30"
                "c9294df85aa652");
}

/* One of each thing that a record may have beyond that. */
CASE(golden, R13_a_record_with_everything)
{
    static const uint64_t square[] = { 3, 3 };
    static const uint64_t three[] = { 3 };
    static const uint64_t two[] = { 2 };
    static const struct quant quant = { .scheme = { .value = CAIRN_Q4S,
                                                    .store = CAIRN_QUANT_PACKED_U32,
                                                    .mode = CAIRN_QUANT_SYMMETRIC,
                                                    .global_dtype = CAIRN_F32,
                                                    .block_dtype = CAIRN_F16,
                                                    .block_rank = 1,
                                                    .block = { 2 } },
                                        .bytes = { 12, 12, 4 } };
    uint8_t counted[28];
    struct golden g = { .boundary = { .step = 1201, .precision = PRECISION_HALF },
                        .model_count = 3 };
    for (size_t i = 0; i < sizeof counted; i++) {
        counted[i] = (uint8_t)i;
    }
    g.model[0] = golden_tensor("a.quant", CAIRN_QFLOAT, square);
    g.model[0].rank = 2;
    g.model[0].flags = ENTRY_HAS_ID | ENTRY_TRAINABLE; /* its id is 0 */
    g.model[0].quant = &quant;
    golden_value(&g.model[0], counted, sizeof counted);
    g.model[1] = golden_tensor("b.bits", CAIRN_OPAQUE, three);
    g.model[1].element_bits = 4;
    golden_value(&g.model[1], "\x21\x03", 2);
    g.model[2] = golden_tensor("c.half", CAIRN_F16, two);
    g.model[2].flags = ENTRY_HAS_ID;
    g.model[2].id = UINT64_MAX;
    g.model[2].storage_dtype = CAIRN_F32;
    golden_value(&g.model[2], "\x00\x3c\x00\xc0", 4);
    g.infos[0].has_config = true;
    for (uint8_t i = 0; i < 16; i++) {
        g.infos[0].config.byte[i] = (uint8_t)(0xc0 + i);
    }
    golden_close(&g);
    golden_root(&g, "d6faf3d5b914d2666304369b5e3b060b");
    golden_entries(
        &g,
        COMPONENT_MODEL,
        "43524e312b00000003000000d60000000000000000000000080110001a670a07612e7175616e7410"
        "011900000000000000002001283230023a020303401c4a1c000102030405060708090a0b0c0d0e0f"
        "101112131415161718191a1b6210be16c1776a1f5eadc4e059e72278b16272150804100318002001"
        "280230043a0102400c480c50041a2d0a06622e6269747310012000284630013a010340024a022103"
        "6210dc1e9c4065c1b1117ccb2a17923f62e778041a380a06632e68616c66100119ffffffffffffff"
        "ff2000280430013a010240044a04003c00c06210db8780766ccf48a7f490c7bedbed01266802");
    golden_seal(&g,
                "43524e312d00000003000000c900000000000000000000000a35080112056d6c702f311803202228"
                "0030013a10dc467c2a7cc7311fb72eb620bd76e7964210c0c1c2c3c4c5c6c7c8c9cacbcccdcecf0a"
                "1e0802120018002000280030003a1000974aa1d2ec69b3d54cdb02e699b4290a1e08031200180020"
                "00280030003a108a22fffddb2e3806305ddaaa6b4345350a1e0804120018002000280030003a10ae"
                "dfca6e0e838230ce1e13ec93674c590a1e0805120018002000280030003a103c089b8e06b27691e8"
                "b2f0c22ceb9eff1210d6faf3d5b914d2666304369b5e3b060b");
}
