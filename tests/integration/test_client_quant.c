/* Tensors that are more than dtype and shape, at a real daemon: every kind of scheme, of which the
 * caller learns the lengths from the library, and opaque ones; and what `cairn show` says of them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "site.h"
#include "support/case.h"

enum { WAIT_MS = 20000 };

static const uint64_t square[] = { 3, 3 };
static const uint64_t wide[] = { 4, 64 };

/* The lengths are written out, not computed: the library is asked for them in the test. */
static const struct {
    const char *path;
    struct cairn_quant scheme;
    uint32_t rank;
    const uint64_t *shape;
    struct cairn_quant_bytes bytes;
} schemes[] = {
    { "words",
      { CAIRN_Q4F, CAIRN_QUANT_PACKED_U32, 0, CAIRN_QUANT_SYMMETRIC, CAIRN_F32, 0, 0, { 0 } },
      2,
      square,
      { 12, 0, 4 } },
    { "bytes",
      { CAIRN_QE2M1,
        CAIRN_QUANT_PACKED_NATIVE,
        0,
        CAIRN_QUANT_SYMMETRIC,
        CAIRN_F32,
        CAIRN_F8_UE4M3,
        1,
        { 16 } },
      2,
      wide,
      { 128, 16, 4 } },
    { "blocks",
      { CAIRN_Q8S, CAIRN_QUANT_NATIVE, 0, CAIRN_QUANT_SYMMETRIC, 0, CAIRN_F16, 2, { 2, 32 } },
      2,
      wide,
      { 256, 8, 0 } },
    { "codebook",
      { CAIRN_Q2S, CAIRN_QUANT_PACKED_U32, 1, CAIRN_QUANT_LOOKUP, CAIRN_BF16, 0, 0, { 0 } },
      2,
      square,
      { 12, 0, 2 } },
};

static void add_schemes(struct box *b)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        struct cairn_quant_bytes bytes = { 0 };
        const struct cairn_quant *q = &schemes[i].scheme;
        cr_assert_eq(cairn_quant_lengths(q, schemes[i].rank, schemes[i].shape, &bytes), 0);
        cr_assert_eq(bytes.values, schemes[i].bytes.values, "%s", schemes[i].path);
        cr_assert_eq(bytes.block_scales, schemes[i].bytes.block_scales, "%s", schemes[i].path);
        cr_assert_eq(bytes.global_scale, schemes[i].bytes.global_scale, "%s", schemes[i].path);
        (void)box_add_quant(b, schemes[i].path, q, schemes[i].rank, schemes[i].shape);
    }
}

CASE(client_quant, E10_every_kind_of_scheme_comes_back, .timeout = 60)
{
    struct site s;
    site_up(&s);
    add_schemes(&s.job.model);
    site_save(&s, 1, NULL);
    site_check(&s, "latest");
    site_down(&s);
}

CASE(client_quant, E10_lengths_that_the_scheme_does_not_have_are_refused, .timeout = 60)
{
    struct cairn_quant_bytes bytes;
    struct cairn_quant none = { 0 };
    const uint64_t most[] = { UINT64_MAX, UINT64_MAX };
    cr_assert_eq(cairn_quant_lengths(&none, 2, square, &bytes), -CAIRN_EINVAL);
    cr_assert_eq(cairn_quant_lengths(&schemes[0].scheme, 0, NULL, &bytes), -CAIRN_EINVAL);
    cr_assert_eq(cairn_quant_lengths(&schemes[0].scheme, 2, most, &bytes), -CAIRN_EINVAL);
    cr_assert_eq(cairn_quant_lengths(&schemes[0].scheme, 2, NULL, &bytes), -CAIRN_EINVAL);
    cr_assert_eq(cairn_quant_lengths(NULL, 2, square, &bytes), -CAIRN_EINVAL);
    cr_assert_eq(cairn_quant_text(NULL, NULL, 0), -CAIRN_EINVAL);
}

/* `cairn show demo` says each of these. */
static void check_show(const struct site *s, const char *option, const char *const texts[static 5])
{
    unsigned counts[4];
    const char *argv[] = {
        CAIRN_TEST_CAIRN, "--socket", s->d.socket, "show", "demo", option, NULL
    };
    const struct proc_spec spec = { .argv = argv, .log_path = s->d.log, .pipe_out = true };
    cr_assert_eq(proc_say(&spec, WAIT_MS, texts, counts), 0);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_gt(counts[i], 0, "%s", texts[i]);
    }
}

CASE(client_quant, cairn_show_tells_what_a_tensor_is, .timeout = 60)
{
    static const char *const table[] = { "(Q4F in words along 0, F32 scale)",
                                         "blocks [2, 32] with F16 scales)",
                                         "(elements of 6 bits)",
                                         "(was F32)",
                                         NULL };
    static const char *const json[] = { "\"quant\": \"Q4F in words along 0, F32 scale\"",
                                        "\"quant_bytes\": [256, 8, 0]",
                                        "\"element_bits\": 6",
                                        "\"storage_dtype\": \"F32\"",
                                        NULL };
    struct site s;
    struct cairn_record *r = NULL;
    site_up(&s);
    add_schemes(&s.job.model);
    (void)BOX_ADD(&s.job.model, "float", 0, 0, CAIRN_F32, 2, wide, 1);
    (void)box_add_raw(&s.job.model,
                      &(struct cairn_entry){ .path = "opaque",
                                             .dtype = CAIRN_OPAQUE,
                                             .rank = 2,
                                             .shape = square,
                                             .element_bits = 6 },
                      7); /* 54 bits */
    const struct cairn_save_args half = { .step = 1, .precision = CAIRN_HALF, .lossy_ok = true };
    cr_assert_eq(cairn_capture(s.c, &s.job.t, &r), 0, "%s", cairn_error(s.c));
    cr_assert_eq(cairn_save(s.c, &r, &half, NULL), 0, "%s", cairn_error(s.c));
    check_show(&s, "--quiet", table);
    check_show(&s, "--json", json);
    site_down(&s);
}
