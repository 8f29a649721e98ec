/* A manifest whose row or entries break a rule is not loaded, and the rule is named. Of an entry
 * its digests would tell as well, but later, and not what is wrong. */
#include <cairn/admin.h>
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
    DTYPE_UNKNOWN,
    GRADIENT_OF_A_LATER_DTYPE,
    GRADIENT_OF_A_LATER_STORAGE,
    GRADIENT_OF_A_LATER_KIND,
    LIST_OF_A_LATER_KIND,
    LIST_OF_A_LATER_PRECISION,
    ROW_LACKS_ONE,
    ROW_HAS_ONE_MORE,
    ROW_OF_ANOTHER_KIND,
    ROW_OF_A_LATER_KIND,
    ROW_OF_A_LATER_PRECISION,
};

/* 2^64 + 640: who does not see that it overflows has the 640 elements of the gradient, whose length
 * is then right. */
static const uint64_t endless[] = { (UINT64_C(1) << 63) + 320, 2 };

static const uint64_t later = 77; /* a code that no dtype has */

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
    case ROW_OF_A_LATER_PRECISION:
        b->precision = (enum precision)9;
        break;
    default: /* as many as it should have, and one of them is another */
        b->kind = KIND_WEIGHTED;
        break;
    }
    b->root = digest_root(b, b->components, b->component_count);
}

static void mangle_list(struct wire_found *found, unsigned knob)
{
    static struct boundary rows[FAKE_BOUNDARIES];
    memcpy(rows, found->boundaries, found->count * sizeof *rows);
    found->boundaries = rows;
    if (knob == LIST_OF_A_LATER_KIND) {
        rows[1].kind |= 64;
    } else {
        rows[1].precision = (enum precision)9;
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the hook */
static void mangle(struct fake *f, uint32_t type, union wire_msg *msg, uint8_t *payload)
{
    static struct entry entries[LIMIT_ENTRIES_PER_PAGE];
    struct wire_entries *page = &msg->entries;
    bool dtypes = f->knob == DTYPE_TWICE || f->knob == DTYPE_UNKNOWN;
    enum component component = dtypes ? COMPONENT_DTYPES : COMPONENT_GRADIENTS;
    (void)payload;
    if (type == WIRE_FOUND) {
        mangle_list(&msg->found, f->knob);
        return;
    }
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
    case DTYPE_UNKNOWN:
        entries[1].value = slice_of(&later, sizeof later);
        entries[1].digest = digest_bytes(&later, sizeof later);
        break;
    case GRADIENT_OF_A_LATER_DTYPE:
        entries[1].dtype = 77;
        break;
    case GRADIENT_OF_A_LATER_STORAGE:
        entries[1].storage_dtype = 77;
        break;
    case GRADIENT_OF_A_LATER_KIND:
        entries[1].kind = (enum entry_kind)77;
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
CASE(manifest, F13_E30_of_a_kind_that_a_later_release_made)
{
    refused_with(ROW_OF_A_LATER_KIND, -CAIRN_ENOTSUP, "kind 0x41", "the bits 0x7 only");
}

/* Values of the protocol that this library's version of it does not have. The number is told, and
 * where it was met. */
CASE(manifest, F13_E30_of_a_precision_that_is_not_known)
{
    refused_with(ROW_OF_A_LATER_PRECISION,
                 -CAIRN_EPROTO,
                 "@latest",
                 "boundary: precision: a value that is not defined: 9");
}

CASE(manifest, F13_E30_with_a_dtype_that_is_not_known)
{
    refused_with(GRADIENT_OF_A_LATER_DTYPE,
                 -CAIRN_EPROTO,
                 "gradients, page 0: ",
                 "entries[1]: dtype: a value that is not defined: 77");
    refused_with(GRADIENT_OF_A_LATER_STORAGE,
                 -CAIRN_EPROTO,
                 "gradients, page 0: ",
                 "entries[1]: storage_dtype: a value that is not defined: 77");
    refused_with(DTYPE_UNKNOWN, -CAIRN_ECORRUPT, "dtypes", "(code 77) is no dtype of a parameter");
}

CASE(manifest, F13_E30_with_an_entry_of_a_kind_that_is_not_known)
{
    refused_with(GRADIENT_OF_A_LATER_KIND,
                 -CAIRN_EPROTO,
                 "gradients, page 0: ",
                 "entries[1]: kind: a value that is not defined: 77");
}

/* A list has the others too: what one of them is, is told as it is. */
CASE(manifest, E30_is_listed_with_the_bits_of_its_kind)
{
    struct ground g;
    struct cairn_boundary list[4];
    size_t count = 0;
    ground_up(&g);
    job_fill(&g.job, 1);
    for (uint64_t step = 1; step <= 3; step++) {
        cr_assert_eq(ground_save(&g, CAIRN_KIND_DTYPES, step, NULL), 0, "%s", cairn_error(g.c));
    }
    g.fake.mangle = mangle;
    g.fake.knob = LIST_OF_A_LATER_KIND;
    cr_assert_eq(cairn_find(g.c, "latest", 4, list, &count), 0, "%s", cairn_error(g.c));
    cr_assert_eq(count, 3);
    cr_assert_eq(list[0].kind, CAIRN_KIND_DTYPES);
    cr_assert_eq(list[1].kind, 64 | CAIRN_KIND_DTYPES);
    cr_assert_eq(list[2].kind, CAIRN_KIND_DTYPES);
    g.fake.knob = LIST_OF_A_LATER_PRECISION;
    cr_assert_eq(cairn_list(g.c, "latest", 4, list, &count), -CAIRN_EPROTO);
    cr_assert_not_null(strstr(cairn_error(g.c),
                              "find demo@latest: FOUND: boundaries[1]: precision: a value that is "
                              "not defined: 9"),
                       "%s",
                       cairn_error(g.c));
    ground_down(&g);
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
