/* finite_body.h: the loops of finite.c for one set of instructions. A file that is compiled for
 * that set says FINITE_SET (the name of its row), FINITE_NAME and FINITE_USABLE (what to ask the
 * processor), and includes this. There is no guard: each of them gets its own copy of all of it. */
#include <string.h>

#include "record/finite.h"

static bool body_usable(void)
{
    return FINITE_USABLE;
}

/* The patterns from the first that is no number on are the upper end of those without a sign: what
 * is added carries just these into the place of the sign. Without a way out of the loop, so that
 * it takes many at once. */
#define BODY_ANY(BITS)                                                                             \
    static bool body_any##BITS(const struct finite_form *f, const uint8_t *at, size_t units)       \
    {                                                                                              \
        const uint##BITS##_t sign = (uint##BITS##_t)(UINT64_C(1) << ((BITS)-1));                   \
        const uint##BITS##_t mask = (uint##BITS##_t)f->without_sign;                               \
        const uint64_t first = f->inf < f->nan ? f->inf : f->nan;                                  \
        const uint##BITS##_t carry = (uint##BITS##_t)(sign - first);                               \
        uint##BITS##_t any = 0;                                                                    \
        for (size_t i = 0; i < units; i++) {                                                       \
            uint##BITS##_t v = 0;                                                                  \
            memcpy(&v, at + i * sizeof v, sizeof v);                                               \
            any = (uint##BITS##_t)(any | ((v & mask) + carry));                                    \
        }                                                                                          \
        return (any & sign) != 0;                                                                  \
    }

/* PARTS is a constant where this is called, so that the loop of one part has nothing of a second.
 */
#define BODY_COUNT(BITS)                                                                           \
    static inline                                                                                  \
        __attribute__((always_inline)) void body_count##BITS(const struct finite_form *f,          \
                                                             const uint8_t *at,                    \
                                                             size_t elements,                      \
                                                             size_t parts,                         \
                                                             struct nonfinite *io)                 \
    {                                                                                              \
        const uint##BITS##_t mask = (uint##BITS##_t)f->without_sign;                               \
        const uint##BITS##_t from = (uint##BITS##_t)f->nan;                                        \
        const uint##BITS##_t only = (uint##BITS##_t)f->inf; /* FINITE_NONE: has the sign's bit */  \
        uint32_t nans = 0;                                                                         \
        uint32_t infs = 0;                                                                         \
        for (size_t i = 0; i < elements; i++) {                                                    \
            uint##BITS##_t v[2] = { 0 };                                                           \
            memcpy(v, at + i * parts * sizeof v[0], parts * sizeof v[0]);                          \
            uint##BITS##_t a = v[0] & mask;                                                        \
            uint##BITS##_t b = v[parts - 1] & mask;                                                \
            uint32_t nan = (uint32_t)(a >= from) | (uint32_t)(b >= from);                          \
            uint32_t inf = (uint32_t)(a == only) | (uint32_t)(b == only);                          \
            nans += nan;                                                                           \
            infs += inf & ~nan;                                                                    \
        }                                                                                          \
        io->nan += nans;                                                                           \
        io->inf += infs;                                                                           \
    }

BODY_ANY(8)
BODY_ANY(16)
BODY_ANY(32)
BODY_ANY(64)
BODY_COUNT(8)
BODY_COUNT(16)
BODY_COUNT(32)
BODY_COUNT(64)

static bool body_any(const struct finite_form *f, const void *data, size_t units)
{
    switch (f->unit_bytes) {
    case 1:
        return body_any8(f, data, units);
    case 2:
        return body_any16(f, data, units);
    case 4:
        return body_any32(f, data, units);
    default:
        return body_any64(f, data, units);
    }
}

#define BODY_PARTS(BITS)                                                                           \
    if (f->parts == 2) {                                                                           \
        body_count##BITS(f, data, elements, 2, io);                                                \
    } else {                                                                                       \
        body_count##BITS(f, data, elements, 1, io);                                                \
    }

static void
body_count(const struct finite_form *f, const void *data, size_t elements, struct nonfinite *io)
{
    switch (f->unit_bytes) {
    case 1:
        body_count8(f, data, elements, 1, io);
        break;
    case 2:
        BODY_PARTS(16)
        break;
    case 4:
        BODY_PARTS(32)
        break;
    default:
        BODY_PARTS(64)
        break;
    }
}

const struct finite_set FINITE_SET = {
    .name = FINITE_NAME,
    .usable = body_usable,
    .any = body_any,
    .count = body_count,
};
