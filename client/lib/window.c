/* window.c: the weighted accumulation window: loss scale, total weight, microbatches, and the dtype
 * in which pending gradients are summed. Nothing here computes with them: they travel as bits. */
#include <math.h>
#include <stdlib.h>

#include "lib/training.h"
#include "record/dtype.h"

/* The value as the work dtype holds it. */
static double window_cast(const struct cairn_window *w, double value)
{
    return w->dtype == CAIRN_F32 ? (double)(float)value : value;
}

int window_check(const struct cairn_window *w, struct err *err)
{
    const char *wrong = NULL;
    if (w->dtype != CAIRN_F32 && w->dtype != CAIRN_F64) {
        wrong = "the work dtype must be F32 or F64";
    } else if (!isfinite(w->loss_scale) || w->loss_scale <= 0) {
        wrong = "loss_scale must be finite and greater than 0";
    } else if (!isfinite(window_cast(w, w->loss_scale)) || window_cast(w, w->loss_scale) == 0) {
        wrong = "loss_scale must stay finite and greater than 0 as F32";
    } else if (!isfinite(w->total_weight) || w->total_weight < 0) {
        wrong = "total_weight must be finite and not negative";
    } else if (!isfinite(window_cast(w, w->total_weight))) {
        wrong = "total_weight must stay finite as F32";
    } else if (w->total_weight > 0 && window_cast(w, w->total_weight) == 0) {
        wrong = "total_weight must not vanish as F32";
    } else if (w->microbatches == 0 && w->total_weight != 0) {
        wrong = "total_weight without microbatches";
    }
    if (wrong == NULL) {
        return 0;
    }
    return err_set(err,
                   -CAIRN_EWINDOW,
                   "window: %s (dtype %s, loss_scale %a, total_weight %a, microbatches %llu)",
                   wrong,
                   dtype_name(w->dtype),
                   w->loss_scale,
                   w->total_weight,
                   (unsigned long long)w->microbatches);
}

static bool window_quantized(const struct entry *e)
{
    const struct dtype *dtype = dtype_find(e->dtype);
    return dtype == NULL || dtype->category == DTYPE_QUANT;
}

static bool window_same_shape(const struct entry *a, const struct entry *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* ---- gradients against the model ---- */

struct window_ids {
    const struct entry **entries; /* of the model, with an id, ascending by it */
    size_t count;
};

static int window_id_cmp(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static int window_ids_of(const struct cairn_reader *model, struct window_ids *ret, struct err *err)
{
    ret->count = 0;
    ret->entries = calloc(model->count + 1, sizeof(struct entry *));
    if (ret->entries == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory to check the window");
    }
    for (uint64_t i = 0; i < model->count; i++) {
        const struct entry *e = &model->entries[i];
        if (e->kind == ENTRY_TENSOR && (e->flags & ENTRY_HAS_ID) != 0) {
            ret->entries[ret->count++] = e;
        }
    }
    qsort(ret->entries, ret->count, sizeof(struct entry *), window_id_cmp);
    return 0;
}

static size_t window_first_of(const struct window_ids *ids, uint64_t id)
{
    size_t low = 0;
    size_t high = ids->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids->entries[middle]->id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A tied parameter has several entries: one that fits is enough. */
static const char *window_gradient_wrong(const struct window_ids *ids, const struct entry *g)
{
    size_t at = window_first_of(ids, g->id);
    if ((g->flags & ENTRY_HAS_ID) == 0 || at == ids->count || ids->entries[at]->id != g->id) {
        return "is not a parameter of the model";
    }
    if (window_quantized(g) || window_quantized(ids->entries[at])) {
        return "is quantized";
    }
    for (; at < ids->count && ids->entries[at]->id == g->id; at++) {
        if (window_same_shape(ids->entries[at], g)) {
            return NULL;
        }
    }
    return "has another shape than its parameter";
}

int window_check_gradients(const struct cairn_window *w,
                           const struct cairn_reader *gradients,
                           const struct cairn_reader *model,
                           struct err *err)
{
    struct window_ids ids;
    int rc = window_ids_of(model, &ids, err);
    for (uint64_t i = 0; rc == 0 && i < gradients->count; i++) {
        const struct entry *g = &gradients->entries[i];
        if (g->kind != ENTRY_TENSOR) {
            continue;
        }
        const char *wrong = w->total_weight == 0 ? "is pending although total_weight is 0"
                                                 : window_gradient_wrong(&ids, g);
        if (wrong != NULL) {
            (void)err_set(err,
                          -CAIRN_EWINDOW,
                          "window: the gradient of parameter %llu ('%.*s') %s",
                          (unsigned long long)g->id,
                          cl_shown(g->path),
                          (const char *)g->path.data,
                          wrong);
            rc = err_at(err, COMPONENT_GRADIENTS, g->path.data, g->path.bytes);
        }
    }
    free(ids.entries);
    return rc;
}

/* ---- in a record ---- */

static int window_put(void *self, struct cairn_writer *w)
{
    const struct cairn_window *window = self;
    int rc = cairn_put_u64(w, "dtype", window->dtype);
    if (rc == 0) {
        rc = cairn_put_f64(w, "loss_scale", window->loss_scale);
    }
    if (rc == 0) {
        rc = cairn_put_u64(w, "microbatches", window->microbatches);
    }
    return rc < 0 ? rc : cairn_put_f64(w, "total_weight", window->total_weight);
}

int window_capture(struct capture *cap, const struct cairn_window *w)
{
    struct cairn_window copy = *w;
    return capture_component(cap, COMPONENT_WINDOW, NULL, window_put, &copy);
}

int window_read(const struct cairn_record *r, struct cairn_window *ret, struct err *err)
{
    const struct cairn_reader *reader = &r->components[COMPONENT_WINDOW];
    struct cairn_window w = { 0 };
    uint64_t dtype = 0;
    if (cairn_get_u64(reader, "dtype", &dtype) < 0 ||
        cairn_get_f64(reader, "loss_scale", &w.loss_scale) < 0 ||
        cairn_get_u64(reader, "microbatches", &w.microbatches) < 0 ||
        cairn_get_f64(reader, "total_weight", &w.total_weight) < 0 || dtype > UINT32_MAX) {
        return err_set(err, -CAIRN_EWINDOW, "window: the record's is not complete");
    }
    w.dtype = (uint32_t)dtype;
    int rc = window_check(&w, err);
    if (rc == 0) {
        *ret = w;
    }
    return rc;
}
