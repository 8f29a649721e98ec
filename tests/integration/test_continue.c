/* test_continue.c: a training that was killed, and its daemon with it, goes on as if nothing had
 * happened: for every optimizer with every scheduler, always in the middle of a window, the lines
 * that its processes write (losses, learning rates, at last every piece of the state) are those of
 * a training that was never disturbed. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/case.h"
#include "support/daemon.h"
#include "support/trainers/trainer.h"

enum { CONTINUE_MS = 60000, CONTINUE_SCHEDS = 7, CONTINUE_WORDS = 8, CONTINUE_ROUND = 64 };

/* One training: its undisturbed twin in this process, and the process that is killed. */
struct twin {
    struct trainer at_saved, at; /* the boundary that was saved last; where its process should be */
    struct proc process;
};

struct contest {
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    const char *optim, *mode;
    unsigned lives;
    struct twin twins[CONTINUE_SCHEDS];
};

static void contest_init(struct contest *t, const char *optim, const char *mode)
{
    *t = (struct contest){ .optim = optim, .mode = mode };
    tmp_make("continue", t->dir);
    daemon_init(&t->d, t->dir);
    daemon_start(&t->d, NULL);
    for (size_t i = 0; i < CONTINUE_SCHEDS; i++) {
        struct recipe recipe;
        cr_assert(recipe_find(&recipe, optim, sched_plans[i].name, mode), "%s", optim);
        trainer_init(&t->twins[i].at, &recipe, 1);
    }
    cr_assert_null(sched_plans[CONTINUE_SCHEDS].name, "a scheduler is left out");
}

static void contest_fini(struct contest *t)
{
    cr_assert_eq(daemon_stop(&t->d), 0);
    cr_assert_eq(daemon_fsck(&t->d, true), 0);
    daemon_fini(&t->d);
    tmp_remove(t->dir);
}

/* Its next process, which begins as something else: seed 1 in the first life only. */
static void
twin_start(struct contest *t, struct twin *w, const char *const words[static CONTINUE_WORDS])
{
    char log[TMP_PATH_BYTES + 16];
    char seed[16];
    const char *sched = w->at.recipe.plan->name;
    const char *argv[7 + CONTINUE_WORDS + 1] = {
        CAIRN_TEST_CONTINUE_TRAINER, t->d.socket, sched, t->optim, sched, t->mode, seed
    };
    for (size_t i = 0; i < CONTINUE_WORDS; i++) {
        argv[7 + i] = words[i];
    }
    (void)snprintf(seed, sizeof seed, "%u", t->lives);
    (void)snprintf(log, sizeof log, "%s/trainer.log", t->dir);
    proc_start(&w->process, &(struct proc_spec){ .argv = argv, .log_path = log, .pipe_out = true });
}

static void twin_expect(struct contest *t, struct twin *w, const char *text)
{
    for (const char *line = text; *line != '\0';) {
        char got[256] = "";
        size_t bytes = strcspn(line, "\n");
        cr_assert(proc_line(&w->process, CONTINUE_MS, got, sizeof got),
                  "%s with %s, life %u: no line, expected '%.*s'",
                  t->optim,
                  w->at.recipe.plan->name,
                  t->lives,
                  (int)bytes,
                  line);
        cr_assert(strlen(got) == bytes && memcmp(got, line, bytes) == 0,
                  "%s with %s, life %u:\n  got      '%s'\n  expected '%.*s'",
                  t->optim,
                  w->at.recipe.plan->name,
                  t->lives,
                  got,
                  (int)bytes,
                  line);
        line += bytes + (line[bytes] == '\n' ? 1 : 0);
    }
}

/* What the twin writes for a word, its process must write. */
static void twin_follow(struct contest *t, struct twin *w, const char *word)
{
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *to = open_memstream(&text, &text_bytes);
    cr_assert_not_null(to);
    if (strncmp(word, "train=", 6) == 0) {
        trainer_train(&w->at, strtoull(word + 6, NULL, 10), to);
    } else if (strcmp(word, "print") == 0) {
        struct leaves s;
        trainer_leaves(&w->at, &s);
        leaves_print(&s, to);
    } else {
        static const char *const said[][2] = { { "save", "saved\n" },
                                               { "load", "loaded\n" },
                                               { "wait", "waiting\n" } };
        for (size_t i = 0; i < 3; i++) {
            (void)fputs(strcmp(word, said[i][0]) == 0 ? said[i][1] : "", to);
        }
        if (strcmp(word, "load") == 0) {
            w->at = w->at_saved;
        } else {
            cr_assert_gt(w->at.loop.pending_microbatches, 0, "not in mid-window");
        }
        if (strcmp(word, "save") == 0) {
            w->at_saved = w->at;
        }
    }
    (void)fclose(to);
    twin_expect(t, w, text);
    free(text);
}

static void contest_follow(struct contest *t, const char *word)
{
    for (size_t i = 0; i < CONTINUE_SCHEDS; i++) {
        twin_follow(t, &t->twins[i], word);
    }
}

/* Start all, and follow all of them up to the word `until`, or to the end. Returns the next. */
static const char *const *
contest_live(struct contest *t, const char *const words[static CONTINUE_WORDS], const char *until)
{
    t->lives++;
    for (size_t i = 0; i < CONTINUE_SCHEDS; i++) {
        twin_start(t, &t->twins[i], words);
    }
    const char *const *word = words;
    for (bool more = true; more && *word != NULL; word++) {
        contest_follow(t, *word);
        more = until == NULL || strcmp(*word, until) != 0;
    }
    return word;
}

static void contest_signal(struct contest *t, int signo)
{
    for (size_t i = 0; i < CONTINUE_SCHEDS; i++) {
        proc_signal(&t->twins[i].process, signo);
    }
}

static void contest_kill_trainers(struct contest *t)
{
    for (size_t i = 0; i < CONTINUE_SCHEDS; i++) {
        proc_kill(&t->twins[i].process);
    }
}

/* Three lives. The first ends in the middle of a window, behind its boundary, and the daemon dies
 * too; the second sees the daemon die under it, somewhere between its two saves; between the second
 * and the third the daemon is stopped in good order. */
static void continue_with(const char *optim, const char *mode)
{
    static const char *const first[CONTINUE_WORDS] = { "train=7", "save", "train=4", "wait" };
    static const char *const second[CONTINUE_WORDS] = { "load",    "print", "train=14", "save",
                                                        "train=2", "save",  "wait" };
    static const char *const third[CONTINUE_WORDS] = { "load", "print", "train=18", "print" };
    struct contest t;
    contest_init(&t, optim, mode);

    (void)contest_live(&t, first, NULL);
    contest_kill_trainers(&t);
    daemon_kill(&t.d);
    daemon_start(&t.d, NULL);

    const char *const *rest = contest_live(&t, second, "save");
    contest_signal(&t, SIGSTOP);
    daemon_kill(&t.d);
    daemon_start(&t.d, NULL);
    contest_signal(&t, SIGCONT);
    for (; *rest != NULL; rest++) {
        contest_follow(&t, *rest);
    }
    contest_kill_trainers(&t);
    cr_assert_eq(daemon_stop(&t.d), 0);
    daemon_start(&t.d, NULL);

    (void)contest_live(&t, third, NULL);
    for (size_t i = 0; i < CONTINUE_SCHEDS; i++) {
        struct twin *w = &t.twins[i];
        cr_assert(proc_wait(&w->process, CONTINUE_MS));
        cr_assert_eq(proc_exit(&w->process), 0);
        cr_assert(isfinite(w->at.loop.loss) && w->at.loop.loss < 1, "it has not learnt");
    }
    contest_fini(&t);
}

#define CONTINUE(number, optim, mode)                                                              \
    CASE(continuation, number##_E21_##optim##_##mode##_with_every_scheduler, .timeout = 120)       \
    {                                                                                              \
        continue_with(#optim, #mode);                                                              \
    }

CONTINUE(R32, sgd, f32)
CONTINUE(R30, adam, plain)
CONTINUE(R32, adamw, f32)
CONTINUE(R35, adamw, mixed)
CONTINUE(R32, rmsprop, f64)
CONTINUE(R34, adagrad, dtypes)
CONTINUE(R32, lbfgs, f64)
CONTINUE(R11, adam, async)
CONTINUE(R35, adamw, mixed_async)
CONTINUE(R30, rmsprop, model_state)
CONTINUE(R32, adam, model_state_weighted)
