/* Opaque bytes of more than 1 GiB, which the scalars of a component could never hold. */
#include <cairn/tree.h>
#include <stdlib.h>

#include "ground.h"

#define LARGE_BYTES ((UINT64_C(1) << 30) + 1)

static int put_large(void *self, struct cairn_writer *w)
{
    return cairn_put_blob(w, "pickle", "application/x-pickle", 4, self, LARGE_BYTES);
}

CASE(blob, E32_of_1_GiB_come_back, .timeout = 600)
{
    struct ground g;
    const struct cairn_reader *reader = NULL;
    uint8_t *data = malloc(LARGE_BYTES);
    uint8_t *got = malloc(LARGE_BYTES);
    cr_assert(data != NULL && got != NULL);
    bytes_fill(data, LARGE_BYTES, 32);
    ground_up(&g);
    struct cairn_record *r = ground_state(&g, put_large, data, &reader);
    cr_assert_eq(cairn_get_blob(reader, "pickle", "application/x-pickle", 4, got, LARGE_BYTES),
                 0,
                 "%s",
                 cairn_error(g.c));
    cr_assert(same_bits(got, data, LARGE_BYTES));
    (void)cairn_record_free(r);
    free(got);
    free(data);
    ground_down(&g);
}
