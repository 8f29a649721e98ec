/* job.h: a trainer for tests: five boxes of tensors and one counter each, which write down in a log
 * who was asked for what: "Pg" put gradients, "Fm" fit model, "Go" get optimizer, ... */
#ifndef CLIENT_JOB_H
#define CLIENT_JOB_H

#include <cairn/training.h>
#include <stdbool.h>

#define JOB_RANK 32

struct tensor {
    char *path;
    struct cairn_entry entry; /* path and shape point into this struct */
    uint64_t shape[JOB_RANK];
    uint64_t bytes;
    uint8_t *data;
    bool by_slot;
};

struct job;

/* A slot that put left open. */
struct open_slot {
    struct cairn_slot slot;
    const struct tensor *tensor;
};
#define JOB_SLOTS 64

struct box {
    struct job *job;
    char letter;
    struct tensor **tensors;
    size_t count;
    uint64_t counter;
    int put_rc, fit_rc, get_rc; /* returned after everything else, when not 0 */
    void (*during_put)(struct job *job, struct cairn_writer *w); /* called before the rest */
    bool leave_open; /* slots are not filled by put, but by job_fill_slot */
};

struct job {
    struct box gradients, model, optimizer, scheduler, state;
    struct cairn_window window;
    uint64_t generation;
    struct cairn_param params[20];
    size_t param_count;
    int retype_rc;
    char log[512];
    struct open_slot open[JOB_SLOTS]; /* of the last captures, in the order they were handed out */
    size_t open_count;
    struct cairn *c; /* for slots */
    struct cairn_trainer t;
};

/* Empty boxes; the types are "g", "m", "o", "s", "u". */
void job_init(struct job *j);
void job_fini(struct job *j);
/* A small model with everything: two parameters, gradients, moments, counters, a window. */
void job_fill(struct job *j, uint64_t seed);
/* Fill an open slot and say so; any thread. Returns what cairn_slot_done returned. */
int job_fill_slot(const struct job *j, size_t index);
/* The same shapes with other values. */
void job_like(struct job *j, const struct job *other);

/* A tensor with bytes from the seed. Its data is box->tensors[box->count - 1]. */
struct tensor *box_add(struct box *b, const struct cairn_entry *e, uint64_t seed);
#define BOX_ADD(box, name, param, bits, type, dims, sizes, seed)                                   \
    box_add((box),                                                                                 \
            &(struct cairn_entry){ .path = (name),                                                 \
                                   .id = (param),                                                  \
                                   .flags = (bits),                                                \
                                   .dtype = (type),                                                \
                                   .rank = (dims),                                                 \
                                   .shape = (sizes) },                                             \
            (seed))
/* One whose length does not follow from dtype and shape. */
struct tensor *box_add_raw(struct box *b, const struct cairn_entry *e, uint64_t bytes);
/* One of OPAQUE or QFLOAT, of so many bytes, to which a QFLOAT adds a scale. */
struct tensor *box_add_opaque(struct box *b, const char *path, uint32_t dtype, uint64_t bytes);
/* A QFLOAT of this scheme, which must outlive the box. */
struct tensor *box_add_quant(struct box *b,
                             const char *path,
                             const struct cairn_quant *scheme,
                             uint32_t rank,
                             const uint64_t *shape);
void bytes_fill(uint8_t *to, uint64_t bytes, uint64_t seed);

/* To the bit, whatever the type: NaNs, padding and all. */
bool same_bits(const void *a, const void *b, size_t bytes);
/* What differs first, as text; NULL: nothing. */
const char *job_differs(const struct job *a, const struct job *b);

#endif
