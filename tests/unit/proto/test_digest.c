/* The golden values were computed by another program from the byte strings of PROTOCOL.md. */
#include <cairn/record.h>
#include <stdlib.h>

#include "record/digest.h"
#include "sample.h"
#include "support/case.h"

static void digest_is(struct digest d, const char *hex)
{
    char text[33];
    digest_hex(&d, text);
    cr_assert_str_eq(text, hex);
}

CASE(digest, of_bytes)
{
    const size_t bytes = 300000;
    uint8_t *data = malloc(bytes);
    cr_assert_not_null(data);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (uint8_t)(i % 251);
    }
    digest_is(digest_bytes(NULL, 0), "99aa06d3014798d86001c324468d497f");
    digest_is(digest_bytes("abc", 3), "06b05ab6733a618578af5f94892f3950");
    digest_is(digest_bytes(data, bytes), "b65af738c61b5fc15d12941f4cf541c5");
    free(data);
}

CASE(digest, of_chunks)
{
    const struct chunk chunks[] = { { .digest = digest_bytes("one", 3) },
                                    { .digest = digest_bytes("two", 3) } };
    digest_is(digest_of_chunks(chunks, 2), "40a6a4546ba9b372d3e1fc517d8dc590");
    digest_is(digest_of_chunks(NULL, 0), "99aa06d3014798d86001c324468d497f");
}

static struct digest digest_component_of(enum component component,
                                         const char *type,
                                         const struct entry *entries,
                                         size_t count)
{
    struct component_digest *d = component_digest_new(component, slice_str(type));
    cr_assert_not_null(d);
    for (size_t i = 0; i < count; i++) {
        component_digest_entry(d, &entries[i]);
    }
    struct digest digest = component_digest_end(d);
    cr_assert_null(component_digest_free(d));
    return digest;
}

CASE(digest, of_a_component)
{
    static const uint64_t seven = 7;
    struct entry entries[] = { sample_scalar("a", &seven), sample_tensor("w") };
    entries[0].flags = ENTRY_HAS_ID;
    entries[0].id = UINT64_MAX;
    entries[1].flags = ENTRY_HAS_ID | ENTRY_TRAINABLE;
    entries[1].id = 5;
    digest_is(digest_component_of(COMPONENT_MODEL, "mlp", entries, 2),
              "6b078b378fa5b2b935f0de0d611d7bc5");
    digest_is(digest_component_of(COMPONENT_STATE, "", NULL, 0),
              "3c089b8e06b27691e8b2f0c22ceb9eff");
    cr_assert_null(component_digest_free(NULL));
}

/* Whatever is metadata changes the digest; where the bytes lie does not, nor what follows from
 * them. */
CASE(digest, of_a_component_sees_all_metadata)
{
    static const uint64_t other[] = { 3, 2 };
    struct entry base = sample_tensor("w");
    struct digest was = digest_component_of(COMPONENT_MODEL, "t", &base, 1);
    struct entry e[8];
    for (size_t i = 0; i < 8; i++) {
        e[i] = base;
    }
    e[0].path = slice_str("v");
    e[1].flags = ENTRY_TRAINABLE;
    e[2].flags = ENTRY_HAS_ID;
    e[3].dtype = CAIRN_I32;
    e[4].shape = other;
    e[5].digest.byte[3] ^= 1;
    e[6].bytes = 23;
    e[7].kind = ENTRY_BYTES;
    for (size_t i = 0; i < 8; i++) {
        struct digest now = digest_component_of(COMPONENT_MODEL, "t", &e[i], 1);
        cr_assert_not(digest_equal(&was, &now), "change %zu", i);
    }
    struct digest now = digest_component_of(COMPONENT_MODEL, "u", &base, 1);
    cr_assert_not(digest_equal(&was, &now));
    now = digest_component_of(COMPONENT_STATE, "t", &base, 1);
    cr_assert_not(digest_equal(&was, &now));
    base.first_chunk = 9;
    base.offset_bytes = 64;
    base.nonfinite = (struct nonfinite){ 1, 2 };
    base.value = slice_of(NULL, 0);
    now = digest_component_of(COMPONENT_MODEL, "t", &base, 1);
    cr_assert(digest_equal(&was, &now));
}

static struct digest digest_root_of(const struct boundary *b)
{
    return digest_root(b, b->components, b->component_count);
}

CASE(digest, R40_of_the_root)
{
    struct boundary b = sample_boundary();
    digest_is(digest_root_of(&b), "c4d8ce3269221e707391ece4fb00da41");
    /* What the daemon adds is not in it. */
    struct boundary c = b;
    c.seq++;
    c.parent_seq++;
    c.created_ns++;
    c.bytes_new++;
    c.labels = NULL;
    c.label_count = 0;
    digest_is(digest_root_of(&c), "c4d8ce3269221e707391ece4fb00da41");
}

CASE(digest, of_the_root_sees_what_the_trainer_chose)
{
    struct boundary b = sample_boundary();
    struct digest was = digest_root_of(&b);
    struct boundary c[8];
    for (size_t i = 0; i < 8; i++) {
        c[i] = b;
    }
    c[0].step--;
    c[1].save_id[15] ^= 1;
    c[2].kind = KIND_PLAIN;
    c[3].precision = PRECISION_FULL;
    c[4].exact = false;
    c[5].rank++;
    c[6].world++;
    c[7].component_count = 1;
    for (size_t i = 0; i < 8; i++) {
        struct digest now = digest_root_of(&c[i]);
        cr_assert_not(digest_equal(&was, &now), "change %zu", i);
    }
}

CASE(digest, of_rows)
{
    cr_assert_eq(digest_row(slice_str("key"), slice_str("value")), 0xa986367d94cda23c);
    cr_assert_eq(digest_row(slice_of(NULL, 0), slice_of(NULL, 0)), 0x2d06800538d394c2);
}
