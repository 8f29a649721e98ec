/* small_trainer: saves and checks tiny training states, for tests of the command.
 *
 *   small_trainer RUN save STEP [LABEL=VALUE]   one boundary: five components, a bulk tensor of 1
 * MiB small_trainer RUN check STEP                the newest boundary is that of STEP, bit for bit
 *   small_trainer RUN series STEP               steps 1 .. STEP, a boundary each
 *   small_trainer RUN across-kill STEP          save STEP, kill the daemon, save STEP + 1, on one
 * handle
 *
 * Exits 1 with the library's sentence when something fails. */
#include <cairn/admin.h>
#include <cairn/training.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 512, COLUMNS = 512 };

struct trainer {
    uint64_t step;
    float w[ROWS][COLUMNS];
    float v[ROWS][4];
};

static const uint64_t w_shape[] = { ROWS, COLUMNS };
static const uint64_t v_shape[] = { ROWS, 4 };
static const struct cairn_entry w_entry = { .path = "layer1.weight",
                                            .id = 7,
                                            .flags = CAIRN_HAS_ID | CAIRN_TRAINABLE,
                                            .dtype = CAIRN_F32,
                                            .rank = 2,
                                            .shape = w_shape };
static const struct cairn_entry v_entry = { .path = "momentum",
                                            .id = UINT64_MAX - 6,
                                            .flags = CAIRN_HAS_ID,
                                            .dtype = CAIRN_F32,
                                            .rank = 2,
                                            .shape = v_shape };

static void trainer_fill(struct trainer *t, uint64_t step)
{
    t->step = step;
    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned j = 0; j < COLUMNS; j++) {
            t->w[i][j] = (float)step + (float)(i * COLUMNS + j) / 1024.0f;
        }
        for (unsigned j = 0; j < 4; j++) {
            t->v[i][j] = (float)(step * 3 + i + j);
        }
    }
}

static int model_put(void *self, struct cairn_writer *w)
{
    const struct trainer *t = self;
    return cairn_put(w, &w_entry, t->w);
}

static int model_get(void *self, const struct cairn_reader *r)
{
    struct trainer *t = self;
    return cairn_get(r, &w_entry, t->w);
}

static int optimizer_put(void *self, struct cairn_writer *w)
{
    const struct trainer *t = self;
    return cairn_put(w, &v_entry, t->v);
}

static int optimizer_get(void *self, const struct cairn_reader *r)
{
    struct trainer *t = self;
    return cairn_get(r, &v_entry, t->v);
}

static int state_put(void *self, struct cairn_writer *w)
{
    const struct trainer *t = self;
    int rc = cairn_put_u64(w, "step", t->step);
    rc = rc < 0 ? rc : cairn_put_f64(w, "minus zero", -0.0);
    rc = rc < 0 ? rc : cairn_put_str(w, "name", "gr\xc3\xbcn \033[31m");
    return rc < 0 ? rc : cairn_put_bool(w, "flag", true);
}

static int state_get(void *self, const struct cairn_reader *r)
{
    struct trainer *t = self;
    return cairn_get_u64(r, "step", &t->step);
}

static struct cairn_trainer trainer_table(struct trainer *t)
{
    return (struct cairn_trainer){
        .model = { .self = t, .type = "small", .put = model_put, .get = model_get },
        .optimizer = { .self = t, .type = "sgd", .put = optimizer_put, .get = optimizer_get },
        .state = { .self = t, .type = "", .put = state_put, .get = state_get },
    };
}

static int trainer_save(struct cairn *c, struct trainer *t, uint64_t step, const char *label)
{
    const char *labels[] = { label, NULL };
    struct cairn_trainer table = trainer_table(t);
    struct cairn_record *r = NULL;
    trainer_fill(t, step);
    int rc = cairn_capture(c, &table, &r);
    if (rc == 0) {
        struct cairn_save_args args = { .step = step, .labels = label == NULL ? NULL : labels };
        struct cairn_boundary saved;
        rc = cairn_save(c, &r, &args, &saved);
    }
    (void)cairn_record_free(r);
    return rc;
}

/* No NaN and no -0.0 among the values: equal is the same. */
static bool trainer_same(const struct trainer *a, const struct trainer *b)
{
    bool same = a->step == b->step;
    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned j = 0; j < COLUMNS; j++) {
            same = same && a->w[i][j] == b->w[i][j];
        }
        for (unsigned j = 0; j < 4; j++) {
            same = same && a->v[i][j] == b->v[i][j];
        }
    }
    return same;
}

static int trainer_check(struct cairn *c, struct trainer *t, uint64_t step)
{
    static struct trainer want;
    struct cairn_trainer table = trainer_table(t);
    struct cairn_record *r = NULL;
    int rc = cairn_load(c, "latest", 0, &r);
    if (rc == 0) {
        rc = cairn_restore(c, r, &table);
    }
    trainer_fill(&want, step);
    if (rc == 0 && !trainer_same(t, &want)) {
        (void)fprintf(stderr,
                      "small_trainer: the newest boundary is not that of step %llu\n",
                      (unsigned long long)step);
        rc = -CAIRN_EMISMATCH;
    }
    (void)cairn_record_free(r);
    return rc;
}

static int trainer_series(struct cairn *c, struct trainer *t, uint64_t last)
{
    int rc = 0;
    for (uint64_t step = 1; rc == 0 && step <= last; step++) {
        rc = trainer_save(c, t, step, NULL);
    }
    return rc;
}

static int trainer_kill_daemon(void)
{
    static struct cairn_status status;
    struct cairn *admin = NULL;
    int rc = cairn_admin_open(NULL, &admin);
    if (rc == 0) {
        rc = cairn_status(admin, &status);
    }
    if (rc == 0 && kill((pid_t)status.pid, SIGKILL) < 0) {
        rc = -CAIRN_EIO;
    }
    (void)cairn_close(admin);
    return rc;
}

int main(int argc, char **argv)
{
    static struct trainer trainer;
    struct cairn *c = NULL;
    if (argc < 4) {
        (void)fputs("usage: small_trainer RUN save|check|series|across-kill STEP [LABEL=VALUE]\n",
                    stderr);
        return 2;
    }
    uint64_t step = strtoull(argv[3], NULL, 10);
    int rc = cairn_open(NULL, argv[1], &c);
    if (rc == 0 && strcmp(argv[2], "check") == 0) {
        rc = trainer_check(c, &trainer, step);
    } else if (rc == 0 && strcmp(argv[2], "series") == 0) {
        rc = trainer_series(c, &trainer, step);
    } else if (rc == 0) {
        rc = trainer_save(c, &trainer, step, argc > 4 ? argv[4] : NULL);
    }
    if (rc == 0 && strcmp(argv[2], "across-kill") == 0) {
        rc = trainer_kill_daemon();
        rc = rc < 0 ? rc : trainer_save(c, &trainer, step + 1, NULL);
    }
    if (rc < 0) {
        (void)fprintf(stderr, "small_trainer: %s (%s)\n", cairn_error(c), cairn_strerror(rc));
    }
    (void)cairn_close(c);
    return rc < 0 ? 1 : 0;
}
