#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { DATA_LINE_BYTES = 1024, DATA_ROWS_MAX = 1 << 20 };

/* One field: a decimal number of at most `max`, and what must follow it. Moves *at behind both. */
static int data_field(const char **at, unsigned long max, char follow, unsigned long *ret)
{
    char *end = NULL;
    unsigned long value = strtoul(*at, &end, 10);
    if (end == *at || value > max || *end != follow) {
        return -1;
    }
    *at = end + 1;
    *ret = value;
    return 0;
}

static int data_line(struct data *d, const char *line)
{
    float *pixels = &d->pixels[d->rows * DATA_PIXELS];
    unsigned long value = 0;
    for (size_t i = 0; i < DATA_PIXELS; i++) {
        if (data_field(&line, DATA_PIXEL_MAX, ',', &value) < 0) {
            return -1;
        }
        pixels[i] = (float)value / (float)DATA_PIXEL_MAX;
    }
    if (data_field(&line, DATA_CLASSES - 1, '\n', &value) < 0) {
        return -1;
    }
    d->labels[d->rows++] = (uint8_t)value;
    return 0;
}

static int data_room(struct data *d, size_t *capacity)
{
    if (d->rows < *capacity) {
        return 0;
    }
    size_t more = *capacity == 0 ? 2048 : *capacity * 2;
    float *pixels = realloc(d->pixels, more * DATA_PIXELS * sizeof *pixels);
    if (pixels != NULL) {
        d->pixels = pixels;
    }
    uint8_t *labels = realloc(d->labels, more);
    if (labels != NULL) {
        d->labels = labels;
    }
    if (pixels == NULL || labels == NULL || more > DATA_ROWS_MAX) {
        return -1;
    }
    *capacity = more;
    return 0;
}

static int data_lines(struct data *d, gzFile file, const char *path)
{
    char line[DATA_LINE_BYTES];
    size_t capacity = 0;
    while (gzgets(file, line, sizeof line) != NULL) {
        if (data_room(d, &capacity) < 0) {
            (void)fprintf(stderr, "digits: %s: too many rows for memory\n", path);
            return -1;
        }
        if (data_line(d, line) < 0) {
            (void)fprintf(stderr,
                          "digits: %s:%zu: expected 64 pixels of 0..16 and a label of 0..9\n",
                          path,
                          d->rows + 1);
            return -1;
        }
    }
    if (!gzeof(file) || d->rows < DATA_HOLD_OUT) {
        (void)fprintf(stderr, "digits: %s: read error, or fewer than five rows\n", path);
        return -1;
    }
    return 0;
}

int data_load(struct data *d, const char *path)
{
    *d = (struct data){ 0 };
    gzFile file = gzopen(path, "rbe");
    if (file == NULL) {
        (void)fprintf(stderr, "digits: cannot open %s (--data FILE names the digits)\n", path);
        return -1;
    }
    int rc = data_lines(d, file, path);
    (void)gzclose(file);
    if (rc < 0) {
        data_fini(d);
    }
    return rc;
}

void data_fini(struct data *d)
{
    free(d->pixels);
    free(d->labels);
    *d = (struct data){ 0 };
}

uint64_t data_digest(const struct data *d)
{
    XXH64_hash_t pixels = XXH3_64bits(d->pixels, d->rows * DATA_PIXELS * sizeof *d->pixels);
    return XXH3_64bits_withSeed(d->labels, d->rows, pixels);
}

size_t data_train_count(const struct data *d)
{
    return d->rows - data_test_count(d);
}

size_t data_test_count(const struct data *d)
{
    return d->rows / DATA_HOLD_OUT;
}

size_t data_train_row(size_t k)
{
    return k + k / (DATA_HOLD_OUT - 1);
}

size_t data_test_row(size_t k)
{
    return k * DATA_HOLD_OUT + DATA_HOLD_OUT - 1;
}
