/* A manifest whose entries break a rule is not loaded, and the rule is named: its digests would
 * tell as well, but later, and not what is wrong. */
#include <string.h>

#include "ground.h"

static const uint64_t endless[] = { UINT64_MAX, 2 };

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of the hook */
static void mangle(struct fake *f, uint32_t type, union wire_msg *msg, uint8_t *payload)
{
    static struct entry entries[LIMIT_ENTRIES_PER_PAGE];
    struct wire_entries *page = &msg->entries;
    enum component component = f->knob == 0 ? COMPONENT_DTYPES : COMPONENT_GRADIENTS;
    (void)payload;
    if (type != WIRE_ENTRIES || page->component != component) {
        return;
    }
    memcpy(entries, page->entries, page->count * sizeof *entries);
    page->entries = entries;
    switch (f->knob) {
    case 0: /* two of the same id and flag */
    case 1:
        entries[2] = entries[1];
        break;
    case 2:
        entries[1].bytes -= 4;
        break;
    case 3:
        entries[1].shape = endless;
        break;
    default:
        entries[1].storage_dtype = CAIRN_F64;
        break;
    }
}

static void not_loaded(unsigned knob, const char *component, const char *words)
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
    cr_assert_eq(cairn_load(g.c, "latest", 0, &r), -CAIRN_ECORRUPT, "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(cairn_error(g.c), words), "%s", cairn_error(g.c));
    cr_assert_not_null(strstr(cairn_error(g.c), component), "%s", cairn_error(g.c));
    cr_assert_null(r);
    ground_down(&g);
}

CASE(manifest, D2_E17_with_a_dtype_that_is_there_twice)
{
    not_loaded(0, "dtypes", "out of order");
}

CASE(manifest, F14_E17_with_a_gradient_that_is_there_twice)
{
    not_loaded(1, "gradients", "out of order");
}

CASE(manifest, F14_E9_with_a_gradient_of_another_length)
{
    not_loaded(2, "gradients", "bytes, expected");
}

CASE(manifest, F14_E9_with_a_gradient_whose_shape_overflows)
{
    not_loaded(3, "gradients", "overflow");
}

CASE(manifest, F13_R21_of_another_precision_than_a_value)
{
    not_loaded(4, "gradients", "in a record of precision native");
}
