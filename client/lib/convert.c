/* convert.c: which loops lead from one type to another, and the counts. Floats other than F64 go by
 * way of F32, which holds every value of theirs, so that one table row per type is enough; F64 is
 * narrowed at once, because rounding twice is not rounding. */
#include "lib/convert.h"

#include <assert.h>
#include <cairn/record.h>

#include "lib/convert_int.h"
#include "record/dtype.h"

/* The second step is NULL when the first already leads there. */
struct convert_path {
    convert_fn *first;
    convert_fn *second;
};

static const struct convert_float *convert_row(const struct convert_float *table, uint32_t dtype)
{
    while (table->dtype != 0 && table->dtype != dtype) {
        table++;
    }
    return table->dtype != 0 ? table : NULL;
}

static bool convert_is_f32(uint32_t dtype)
{
    return dtype == CAIRN_F32 || dtype == CAIRN_FLEX32;
}

/* Without a first step: not offered. */
static struct convert_path convert_find(uint32_t from, uint32_t to)
{
    const struct convert_float *wide = convert_wide();
    const struct convert_float *source = convert_row(wide, from);
    const struct convert_float *target = convert_row(wide, to);
    if (source == NULL) {
        source = convert_row(convert_narrow, from);
    }
    if (source == NULL || target == NULL) {
        return (struct convert_path){ convert_integer(from, to), NULL };
    }
    if (from == CAIRN_F64) {
        return (struct convert_path){ target->from_f64, NULL };
    }
    if (convert_is_f32(from)) {
        return (struct convert_path){ target->from_f32, NULL };
    }
    return (struct convert_path){ source->to_f32, convert_is_f32(to) ? NULL : target->from_f32 };
}

bool convert_known(uint32_t from, uint32_t to)
{
    return convert_find(from, to).first != NULL;
}

/* The first element that the step loses, of a block that has one. It is looked for by the same
 * loop, one element after the other, so nobody else need know what a loss is. */
static uint64_t convert_first(convert_fn *step, const uint8_t *src, size_t src_bytes)
{
    uint64_t unused = 0;
    uint64_t index = 0;
    while (step(src + index * src_bytes, &unused, 1) == 0) {
        index++;
    }
    return index;
}

/* One sum of a count; the first loss is at `first` when the sum was still zero. */
struct convert_sum {
    uint64_t *sum;
    uint64_t *first;
};

static struct convert_sum convert_which(struct convert_count *io, enum dtype_category category)
{
    if (category == DTYPE_FLOAT) {
        return (struct convert_sum){ &io->changed, &io->first_changed };
    }
    return (struct convert_sum){ &io->out_of_range, &io->first_out_of_range };
}

void convert_values(uint32_t from,
                    const void *src,
                    uint32_t to,
                    void *dst,
                    uint64_t elements,
                    struct convert_count *io)
{
    uint8_t middle[CONVERT_BLOCK * sizeof(uint32_t)];
    const struct convert_path path = convert_find(from, to);
    const struct dtype *source = dtype_find(from);
    const struct dtype *target = dtype_find(to);
    assert(path.first != NULL && source != NULL && target != NULL);
    const struct convert_sum count = convert_which(io, source->category);

    for (uint64_t at = 0; at < elements; at += CONVERT_BLOCK) {
        uint64_t left = elements - at;
        size_t block = left < CONVERT_BLOCK ? (size_t)left : CONVERT_BLOCK;
        const uint8_t *in = (const uint8_t *)src + at / 8 * source->bits;
        uint8_t *out = (uint8_t *)dst + at * (target->bits / 8);
        convert_fn *last = path.first;
        size_t in_bytes = source->bits / 8;
        if (path.second != NULL) { /* the first step loses nothing: F32 holds them all */
            (void)path.first(in, middle, block);
            last = path.second;
            in = middle;
            in_bytes = sizeof(uint32_t);
        }
        uint32_t lost = last(in, out, block);
        if (lost != 0 && *count.sum == 0) {
            *count.first = io->done + at + convert_first(last, in, in_bytes);
        }
        *count.sum += lost;
    }
    io->done += elements;
}
