#include "record/digest.h"
#include "record/rules.h"
#include "sample.h"
#include "support/case.h"

#define OWN_BYTES (UINT64_C(20) * 1024 * 1024 + 5)

/* 0: shared, trainable; 1-3: one tensor's own; 4: of the optimizer. */
static struct chunk chunks[5];

static struct entry place_packed(void)
{
    return (struct entry){ .path = slice_str("w"),
                           .flags = ENTRY_TRAINABLE,
                           .kind = ENTRY_TENSOR,
                           .bytes = 100,
                           .offset_bytes = 64 };
}

static struct entry place_own(void)
{
    struct entry e = place_packed();
    e.bytes = OWN_BYTES;
    e.first_chunk = 1;
    e.offset_bytes = 0;
    e.digest = digest_of_chunks(&chunks[1], 3);
    return e;
}

static void place_setup(void)
{
    for (uint8_t i = 0; i < 5; i++) {
        chunks[i] = (struct chunk){ .component = COMPONENT_MODEL,
                                    .flags = CHUNK_TRAINABLE,
                                    .bytes = LIMIT_CHUNK_BYTES,
                                    .digest = sample_digest(i) };
    }
    chunks[0].flags |= CHUNK_PACKED;
    chunks[0].bytes = 164;
    chunks[3].bytes = 4 * 1024 * 1024 + 5;
    chunks[4].component = COMPONENT_OPTIMIZER;
}

static void place_refused(const struct entry *e, int code, const char *word)
{
    struct err err = { 0 };
    cr_assert_eq(rules_place(COMPONENT_MODEL, e, chunks, 5, &err), code, "%s: %s", word, err.msg);
    cr_assert_not_null(strstr(err.msg, word), "%s", err.msg);
    cr_assert_str_eq(err.path, "w");
}

CASE(rules_place, shared_chunks)
{
    place_setup();
    struct entry e = place_packed();
    cr_assert_eq(rules_place(COMPONENT_MODEL, &e, chunks, 5, NULL), 0);
    e.bytes = 101;
    place_refused(&e, -CAIRN_EINVAL, "past the end");
    e = place_packed();
    e.offset_bytes = 32;
    place_refused(&e, -CAIRN_EINVAL, "multiple");
    e = place_packed();
    e.offset_bytes = UINT32_MAX & ~63u;
    place_refused(&e, -CAIRN_EINVAL, "past the end");
    e = place_packed();
    e.first_chunk = 5;
    place_refused(&e, -CAIRN_EINVAL, "chunk 5");
    e.first_chunk = 1;
    place_refused(&e, -CAIRN_EINVAL, "not shared");
    e.first_chunk = 4;
    place_refused(&e, -CAIRN_EINVAL, "optimizer");
    e = place_packed();
    e.flags = 0;
    place_refused(&e, -CAIRN_EINVAL, "frozen");
}

CASE(rules_place, own_chunks)
{
    place_setup();
    struct entry e = place_own();
    cr_assert_eq(rules_place(COMPONENT_MODEL, &e, chunks, 5, NULL), 0);
    e.offset_bytes = 64;
    place_refused(&e, -CAIRN_EINVAL, "offset");
    e = place_own();
    e.first_chunk = 3;
    place_refused(&e, -CAIRN_EINVAL, "chunks that there are not");
    e = place_own();
    e.bytes = UINT64_MAX;
    place_refused(&e, -CAIRN_EINVAL, "chunks that there are not");
    e = place_own();
    e.first_chunk = 0;
    place_refused(&e, -CAIRN_EINVAL, "shared");
    e = place_own();
    e.bytes -= 1;
    place_refused(&e, -CAIRN_EINVAL, "part 2");
    e = place_own();
    e.first_chunk = 2;
    place_refused(&e, -CAIRN_EINVAL, "part 1");
    e = place_own();
    e.digest.byte[0] ^= 1;
    place_refused(&e, -CAIRN_ECORRUPT, "digest");
    e = place_own();
    e.flags = 0;
    place_refused(&e, -CAIRN_EINVAL, "frozen");
}

CASE(rules_place, nothing_to_place)
{
    struct entry e = sample_tensor("w");
    cr_assert_eq(rules_place(COMPONENT_MODEL, &e, NULL, 0, NULL), 0);
    e = place_packed();
    e.bytes = 0;
    cr_assert_eq(rules_place(COMPONENT_MODEL, &e, NULL, 0, NULL), 0);
}
