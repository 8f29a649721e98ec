/* Words of the command that a real daemon gives no occasion for. */
#include "cli/output.h"
#include "support/case.h"

CASE(words, E30_bits_of_a_kind_that_is_not_known_are_shown)
{
    static const struct {
        uint32_t kind;
        const char *words;
    } kinds[] = { { 0, "plain" },
                  { CAIRN_KIND_DTYPES | CAIRN_KIND_WEIGHTED, "weighted+dtypes" },
                  { CAIRN_KIND_DTYPES | 0x40, "dtypes+0x40" },
                  { 0x48, "0x48" } };
    struct out_buf b;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        cr_assert_str_eq(out_kind_name(&b, kinds[i].kind), kinds[i].words);
    }
    cr_assert_str_eq(out_precision_name(9), "?");
    cr_assert_str_eq(out_entry_kind_name(77), "?");
}
