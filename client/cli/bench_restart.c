/* bench_restart.c: a trainer that is gone, and the next one, which finds the record in memory. */
#include <cairn/admin.h>
#include <string.h>

#include "bench_steps.h"

#define RESTART_RUN "bench-restart"
#define RESTART_WAIT_S 20.0 /* for the daemon to know that somebody has gone */

/* The one that goes: it saves from warm memory. */
static int restart_save(const struct bench *b, struct cairn **ret)
{
    struct cairn_record *r = NULL;
    int rc = cairn_open(NULL, RESTART_RUN, ret);
    rc = rc < 0 ? rc : cairn_warm(*ret, b->state.bytes, 1);
    rc = rc < 0 ? rc : cairn_capture(*ret, &b->state.trainer, &r);
    rc = rc < 0 ? rc
                : cairn_save(*ret, &r, &(struct cairn_save_args){ .step = b->state.step }, NULL);
    (void)cairn_record_free(r);
    return rc;
}

/* Load, and again until it is from memory. */
static int restart_load(struct cairn *c, struct cairn_record **ret, double *start, double *loaded)
{
    double give_up = bench_now() + RESTART_WAIT_S;
    int rc = 0;
    do {
        *ret = cairn_record_free(*ret);
        *start = bench_now();
        rc = cairn_load(c, "latest", 0, ret);
        *loaded = bench_now();
    } while (rc == 0 && !cairn_record_resident(*ret) && *loaded < give_up);
    return rc;
}

/* The one that comes. */
static int restart_restore(struct bench *b, struct cairn *c)
{
    struct bench_figures *f = &b->figures;
    struct cairn_record *r = NULL;
    double start = 0;
    double loaded = 0;
    int rc = restart_load(c, &r, &start, &loaded);
    if (rc == 0) {
        rc = cairn_restore(c, r, &b->state.trainer);
    }
    double end = bench_now();
    f->seconds[BENCH_RESIDENT][b->round] = end - loaded;
    f->seconds[BENCH_RESIDENT_ALL][b->round] = end - start;
    bool resident = cairn_record_resident(r);
    (void)cairn_record_free(r);
    if (rc < 0) {
        return bench_library_of(b, c, rc);
    }
    return resident ? 0 : bench_broken(b, -CAIRN_ENOMEM, "the record did not stay in memory");
}

static int restart_floor(struct bench *b)
{
    double seconds = bench_floor_memcpy(b->copy, b->state.memory, b->state.bytes);
    b->figures.floor_seconds[BENCH_RESIDENT][b->round] = seconds;
    b->figures.floor_seconds[BENCH_RESIDENT_ALL][b->round] = seconds;
    return 0;
}

static int restart_come(struct bench *b)
{
    struct cairn *c = NULL;
    uint64_t step = b->state.step;
    memset(b->state.memory, 0, b->state.bytes);
    int rc = cairn_open(NULL, RESTART_RUN, &c);
    rc = rc < 0 ? bench_library_of(b, c, rc) : restart_restore(b, c);
    if (rc == 0) {
        rc = bench_library_of(b, c, cairn_run_drop(c));
    }
    (void)cairn_close(c);
    bool same = b->state.step == step && memcmp(b->state.memory, b->copy, b->state.bytes) == 0;
    return rc < 0 || same
               ? rc
               : bench_broken(b, -CAIRN_ECORRUPT, "other bytes came back than were saved");
}

/* The floor twice: before it and after it in turns, and before it in any case for the bytes. */
int bench_step_restart(struct bench *b)
{
    struct cairn *c = NULL;
    int rc = bench_system(b, bench_floor_settle(&b->floor));
    rc = rc < 0 ? rc : restart_floor(b);
    if (rc == 0) {
        int saved = restart_save(b, &c);
        rc = bench_library_of(b, c, saved);
    }
    (void)cairn_close(c);
    rc = rc < 0 ? rc : restart_come(b);
    return rc < 0 || b->round % 2 == 0 ? rc : restart_floor(b);
}
