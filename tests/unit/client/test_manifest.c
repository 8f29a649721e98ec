/* A manifest whose row or entries break a rule is not loaded, and the rule is named. Of an entry
 * its digests would tell as well, but later, and not what is wrong. */
#include <string.h>

#include "ground.h"
#include "record/digest.h"

/* What is wrong. */
enum {
    DTYPE_TWICE = 1,
    GRADIENT_TWICE,
    GRADIENT_SHORT,
    GRADIENT_ENDLESS,
    GRADIENT_CONVERTED,
    ROW_LACKS_ONE,
    ROW_HAS_ONE_MORE,
    ROW_OF_ANOTHER_KIND,
    ROW_OF_A_LATER_KIND,
};

/* 2^64 + 640: who does not see that it overflows has the 640 elements of the gradient, whose length
 * is then right. */
static const uint64_t endless[] = { (UINT64_C(1) << 63) + 320, 2 };

static void row_without_last(struct boundary *b)
{
    const struct component_info *last = &b->components[--b->component_count];
    b->entry_count -= last->entry_count;
    b->payload_bytes -= last->bytes;
    b->chunk_count -= last->chunk_count;
}

/* Its sums and its root are then those of what it says: no digest tells that it is wrong. */
static void mangle_row(struct boundary *b, unsigned knob)
{
    switch (knob) {
    case ROW_LACKS_ONE:
        row_without_last(b);
        break;
    case ROW_HAS_ONE_MORE:
        b->kind = KIND_PLAIN;
        break;
    case ROW_OF_A_LATER_KIND:
        b->kind |= 64;
        break;
    default: /* as many as it should have, and one of them is another */
        b->kind = KIND_WEIGHTED;
        break;
    }
    b->root = digest_root(b, b->components, b->component_count);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the hook */
static void mangle(struct fake *f, uint32_t type, union wire_msg *msg, uint8_t *payload)
{
    static struct entry entries[LIMIT_ENTRIES_PER_PAGE];
    struct wire_entries *page = &msg->entries;
    enum component component = f->knob == DTYPE_TWICE ? COMPONENT_DTYPES : COMPONENT_GRADIENTS;
    (void)payload;
    if (f->knob >= ROW_LACKS_ONE) {
        if (type == WIRE_DESCRIBED) {
            mangle_row(&msg->described.boundary, f->knob);
        }
        return;
    }
    if (type != WIRE_ENTRIES || page->component != component) {
        return;
    }
    memcpy(entries, page->entries, page->count * sizeof *entries);
    page->entries = entries;
    switch (f->knob) {
    case DTYPE_TWICE: /* two of the same id and flag */
    case GRADIENT_TWICE:
        entries[2] = entries[1];
        break;
    case GRADIENT_SHORT:
        entries[1].bytes -= 4;
        break;
    case GRADIENT_ENDLESS:
        entries[1].shape = endless;
        break;
    default:
        entries[1].storage_dtype = CAIRN_F64;
        break;
    }
}

static void refused_with(unsigned knob, int code, const char *component, const char *words)
{
    static const uint64_t shape[] = { 10 };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    job_fill(&g.job, 1);
    (void)BOX_ADD(&g.job.gradients, "bias", 8, CAIRN_HAS_ID, CAIRN_F32, 1, shape, 1);
    cr_assert_eq(ground_save(&g, CAIRN_KIND_DTYPES, 1, NULL), 0, "%s", cairn_error(g.c));
    g.fake.mangle = mangle;
    g.fake.knob = knob;
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), code, "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(cairn_error(g.c), words), "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(cairn_error(g.c), component), "%s", cairn_error(g.c));
    cr_assert_null(r);
    ground_down(&g);
}

static void not_loaded(unsigned knob, const char *component, const char *words)
{
    refused_with(knob, -CAIRN_ECORRUPT, component, words);
}

/* Its components are those of the kinds that are known, so only the bit tells. */
CASE(manifest, E30_of_a_kind_that_a_later_release_made)
{
    refused_with(ROW_OF_A_LATER_KIND, -CAIRN_ENOTSUP, "kind 0x41", "the bits 0x7 only");
}

CASE(manifest, D2_E17_with_a_dtype_that_is_there_twice)
{
    not_loaded(DTYPE_TWICE, "dtypes", "out of order");
}

CASE(manifest, F14_E17_with_a_gradient_that_is_there_twice)
{
    not_loaded(GRADIENT_TWICE, "gradients", "out of order");
}

CASE(manifest, F14_E9_with_a_gradient_of_another_length)
{
    not_loaded(GRADIENT_SHORT, "gradients", "bytes, expected");
}

CASE(manifest, F14_E9_with_a_gradient_whose_shape_overflows)
{
    not_loaded(GRADIENT_ENDLESS, "gradients", "the product of the shape overflows");
}

CASE(manifest, F13_R21_of_another_precision_than_a_value)
{
    not_loaded(GRADIENT_CONVERTED, "gradients", "in a record of precision native");
}

CASE(manifest, F13_of_other_components_than_those_of_its_kind)
{
    static const char words[] = "its components are not those of its kind";
    not_loaded(ROW_LACKS_ONE, "", words);
    not_loaded(ROW_HAS_ONE_MORE, "", words);
    not_loaded(ROW_OF_ANOTHER_KIND, "", words);
}
