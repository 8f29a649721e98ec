#include "sample.h"

#include <cairn/record.h>

#include "record/digest.h"

struct digest sample_digest(uint8_t seed)
{
    struct digest d;
    for (size_t i = 0; i < sizeof d.byte; i++) {
        d.byte[i] = (uint8_t)(seed + i);
    }
    return d;
}

static const struct label sample_labels[] = {
    { { "loss", 4 }, { "0.25", 4 } },
    { { "note", 4 }, { "caf\xC3\xA9", 5 } },
    { { "empty", 5 }, { NULL, 0 } },
};

static struct component_info sample_infos[2];

struct boundary sample_boundary(void)
{
    sample_infos[0] = (struct component_info){
        .component = COMPONENT_MODEL,
        .type = slice_str("digits.mlp/1"),
        .entry_count = 101,
        .bytes = UINT64_MAX - 1,
        .chunk_count = 102,
        .page_count = 103,
        .digest = sample_digest(40),
    };
    sample_infos[1] = (struct component_info){
        .component = COMPONENT_WINDOW, .entry_count = 4, .bytes = 32, .digest = sample_digest(60)
    };
    struct boundary b = {
        .seq = 11,
        .parent_seq = 12,
        .step = UINT64_MAX,
        .kind = KIND_DTYPES | KIND_WEIGHTED,
        .precision = PRECISION_HALF,
        .exact = true,
        .rank = 13,
        .world = 14,
        .local_parts = 15,
        .created_ns = 16,
        .entry_count = 17,
        .payload_bytes = 18,
        .stored_bytes = 19,
        .chunk_count = 20,
        .bytes_new = 21,
        .bytes_shared = 22,
        .nonfinite = { 23, 24 },
        .not_finite = true,
        .trainable_bytes = 25,
        .trainable_new_bytes = 26,
        .warnings = WARNING_STALE,
        .root = sample_digest(80),
        .labels = sample_labels,
        .label_count = 3,
        .components = sample_infos,
        .component_count = 2,
    };
    struct digest id = sample_digest(100);
    memcpy(b.save_id, id.byte, sizeof b.save_id);
    return b;
}

struct boundary sample_begin(void)
{
    struct boundary b = {
        .step = 7,
        .exact = true,
        .world = 1,
        .local_parts = 1,
        .entry_count = 2,
        .payload_bytes = 5000,
        .stored_bytes = 8192,
        .chunk_count = 1,
        .labels = sample_labels,
        .label_count = 3,
    };
    return b;
}

void sample_redigest(struct entry *e)
{
    e->digest = digest_bytes(e->value.data, e->value.bytes);
}

struct entry sample_scalar(const char *path, const uint64_t *value)
{
    struct entry e = {
        .path = slice_str(path),
        .kind = ENTRY_U64,
        .bytes = sizeof *value,
        .value = slice_of(value, sizeof *value),
    };
    sample_redigest(&e);
    return e;
}

struct entry sample_tensor(const char *path)
{
    static const uint64_t shape[] = { 2, 3 };
    static const uint8_t data[24] = { 1, 2, 3 };
    struct entry e = {
        .path = slice_str(path),
        .kind = ENTRY_TENSOR,
        .dtype = CAIRN_F32,
        .rank = 2,
        .shape = shape,
        .bytes = sizeof data,
        .value = slice_of(data, sizeof data),
    };
    sample_redigest(&e);
    return e;
}
