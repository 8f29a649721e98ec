/* data.h: handwritten digits (UCI), 64 pixels of 0..16 and a label of 0..9 in a line of CSV.
 *
 * Every fifth row is held out: it measures accuracy and never trains. */
#ifndef DIGITS_DATA_H
#define DIGITS_DATA_H

#include <stddef.h>
#include <stdint.h>

enum { DATA_PIXELS = 64, DATA_CLASSES = 10, DATA_PIXEL_MAX = 16, DATA_HOLD_OUT = 5 };

struct data {
    size_t rows;
    float *pixels;   /* rows x DATA_PIXELS, 0..1 */
    uint8_t *labels; /* rows */
};

/* Read `path`, plain or gzip. On failure says on stderr what is wrong, and returns -1. */
int data_load(struct data *d, const char *path);
void data_fini(struct data *d);

/* Equal when rows, pixels and labels are. */
uint64_t data_digest(const struct data *d);

size_t data_train_count(const struct data *d);
size_t data_test_count(const struct data *d);
/* The row of the k-th training and of the k-th held-out example. */
size_t data_train_row(size_t k);
size_t data_test_row(size_t k);

#endif
