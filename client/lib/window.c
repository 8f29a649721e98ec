/* window.c: the weighted accumulation window: loss scale, total weight, microbatches, and the dtype
 * in which pending gradients are summed. Nothing here computes with them: they travel as bits. */
#include <math.h>

#include "lib/members.h"
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
    if (!dtype_window_ok(w->dtype)) {
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

int window_check_gradients(const struct cairn_window *w,
                           const struct cairn_reader *gradients,
                           const struct cairn_reader *model,
                           struct err *err)
{
    struct members members = { .count = 0 };
    int rc = model == NULL ? 0 : members_of(model, &members, err);
    for (uint64_t i = 0; rc == 0 && i < gradients->count; i++) {
        const struct entry *g = &gradients->entries[i];
        if (g->kind != ENTRY_TENSOR) {
            continue;
        }
        struct describe room;
        const char *wrong = NULL;
        if (w->total_weight == 0) {
            wrong = "is pending although total_weight is 0";
        } else if (model != NULL) {
            wrong = members_wrong(&members, g, &room);
        }
        if (wrong != NULL) {
            rc = members_refuse(err, -CAIRN_EWINDOW, g, wrong);
        }
    }
    members_fini(&members);
    return rc < 0 ? err_wrap(err, rc, "window") : 0;
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
    struct component_put put = { .put = window_put, .self = &copy };
    return capture_component(cap, COMPONENT_WINDOW, &put);
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
