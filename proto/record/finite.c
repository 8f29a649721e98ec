/* finite.c: NaN and infinities, with what the compiler takes for granted, and the choice of more.
 */
#define FINITE_SET finite_plain
#define FINITE_NAME "plain"
#define FINITE_USABLE true
#include <cairn/dtype.h>

#include "record/finite_body.h"

extern const struct finite_set finite_plain;
#ifdef HASH_HAS_WIDE
extern const struct finite_set finite_avx2;
extern const struct finite_set finite_avx512;
#endif

const struct finite_set *const finite_sets[] = {
    &finite_plain,
#ifdef HASH_HAS_WIDE
    &finite_avx2,
    &finite_avx512,
#endif
};
const size_t finite_set_count = sizeof finite_sets / sizeof finite_sets[0];

/* Asked each time, as in hash.c. */
static const struct finite_set *finite_widest(void)
{
    const struct finite_set *widest = &finite_plain;
    for (size_t i = 1; i < sizeof finite_sets / sizeof finite_sets[0]; i++) {
        widest = finite_sets[i]->usable() ? finite_sets[i] : widest;
    }
    return widest;
}

/* What is looked at in one go: counts of it fit 32 bits, it stays in a first-level cache, and the
 * elements of all dtypes divide it. */
#define FINITE_BLOCK_BYTES (32u << 10)

/* without_sign of a dtype of 8 bits of which one pattern alone, sign and all, is no number. */
#define FINITE_ONE 0u

static const struct finite_form finite_forms[] = {
    { CAIRN_F32, 4, 1, 0x7fffffff, 0x7f800000, 0x7f800001 },
    { CAIRN_BF16, 2, 1, 0x7fff, 0x7f80, 0x7f81 },
    { CAIRN_F16, 2, 1, 0x7fff, 0x7c00, 0x7c01 },
    { CAIRN_F64, 8, 1, INT64_MAX, UINT64_C(0x7ff0000000000000), UINT64_C(0x7ff0000000000001) },
    { CAIRN_FLEX32, 4, 1, 0x7fffffff, 0x7f800000, 0x7f800001 },
    { CAIRN_F8_E5M2, 1, 1, 0x7f, 0x7c, 0x7d },
    { CAIRN_F8_E4M3FN, 1, 1, 0x7f, FINITE_NONE, 0x7f },
    { CAIRN_F8_UE4M3, 1, 1, 0x7f, FINITE_NONE, 0x7f }, /* a sign, which no scale has, is no matter
                                                        */
    { CAIRN_F8_E8M0FNU, 1, 1, FINITE_ONE, FINITE_NONE, 0xff },
    { CAIRN_F8_E4M3FNUZ, 1, 1, FINITE_ONE, FINITE_NONE, 0x80 },
    { CAIRN_F8_E5M2FNUZ, 1, 1, FINITE_ONE, FINITE_NONE, 0x80 },
    { CAIRN_C32, 2, 2, 0x7fff, 0x7c00, 0x7c01 },
    { CAIRN_C64, 4, 2, 0x7fffffff, 0x7f800000, 0x7f800001 },
    { CAIRN_C128, 8, 2, INT64_MAX, UINT64_C(0x7ff0000000000000), UINT64_C(0x7ff0000000000001) },
};

const struct finite_form *finite_form_of(uint32_t dtype)
{
    for (size_t i = 0; i < sizeof finite_forms / sizeof finite_forms[0]; i++) {
        if (finite_forms[i].dtype == dtype) {
            return &finite_forms[i];
        }
    }
    return NULL;
}

/* The C library looks for a byte as fast as any loop here would. */
static void
finite_add_one(const struct finite_form *f, const uint8_t *at, size_t bytes, struct nonfinite *io)
{
    const uint8_t *end = at + bytes;
    const uint8_t *found = memchr(at, (int)f->nan, bytes);
    for (; found != NULL && found < end; found++) {
        io->nan += *found == f->nan;
    }
}

void finite_add(uint32_t dtype, const void *data, size_t bytes, struct nonfinite *io)
{
    const struct finite_form *f = finite_form_of(dtype);
    const struct finite_set *set = finite_widest();
    if (f == NULL || bytes == 0) {
        return;
    }
    if (f->without_sign == FINITE_ONE) {
        finite_add_one(f, data, bytes, io);
        return;
    }
    for (size_t done = 0; done < bytes; done += FINITE_BLOCK_BYTES) {
        const uint8_t *at = (const uint8_t *)data + done;
        size_t block = bytes - done < FINITE_BLOCK_BYTES ? bytes - done : FINITE_BLOCK_BYTES;
        size_t units = block / f->unit_bytes;
        if (set->any(f, at, units)) {
            set->count(f, at, units / f->parts, io);
        }
    }
}

/* ---- counts ---- */

bool nonfinite_any(const struct nonfinite *n)
{
    return n->nan != 0 || n->inf != 0;
}

bool nonfinite_equal(const struct nonfinite *a, const struct nonfinite *b)
{
    return a->nan == b->nan && a->inf == b->inf;
}

void nonfinite_sum(struct nonfinite *io, const struct nonfinite *more)
{
    io->nan += more->nan;
    io->inf += more->inf;
}

bool nonfinite_possible(uint32_t dtype, uint64_t elements, const struct nonfinite *n)
{
    const struct finite_form *f = finite_form_of(dtype);
    if (!nonfinite_any(n)) {
        return true;
    }
    return f != NULL && (n->inf == 0 || f->inf != FINITE_NONE) && n->nan <= elements &&
           n->inf <= elements - n->nan;
}

bool finite_spoils(enum component component, const struct entry *e)
{
    bool judged = component == COMPONENT_OPTIMIZER ||
                  (component == COMPONENT_MODEL && (e->flags & ENTRY_TRAINABLE) != 0);
    return judged && nonfinite_any(&e->nonfinite);
}
