#include "kill_matrix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/case.h"

/* ---- which one next -------------------------------------------------------------------------- */

static unsigned act_wanted(const struct matrix *m, const struct act *a)
{
    const struct kill_quota *q = &m->quota;
    unsigned quota = q->short_failpoint;
    if (phase_is_long(a->phase)) {
        quota = a->way == WAY_RANDOM ? q->long_random : q->long_failpoint;
    } else if (a->way == WAY_RANDOM) {
        quota = 0;
    }
    unsigned done = m->kills[a->phase][a->victim][a->way];
    return done >= quota ? 0 : quota - done;
}

/* How much must be torn down first that nobody would count. */
static unsigned act_cost(const struct matrix *m, const struct act *a)
{
    const struct stage *s = &m->stage;
    unsigned cost = act_needs_boundary(a) && s->commits == 0 ? 4 : 0;
    cost += act_needs_start(a, KILL_TRAINER) && stage_runs(&s->trainer) ? 1 : 0;
    cost += act_needs_start(a, KILL_DAEMON) && stage_runs(&s->daemon.proc) ? 1 : 0;
    return cost;
}

/* A random one of the cheapest that are still wanted; false: every quota is met. */
static bool act_choose(struct matrix *m, struct act *ret)
{
    unsigned best = UINT32_MAX;
    unsigned equals = 0;
    for (unsigned i = 0; i < PHASE_NR * KILL_SIDES * WAY_NR; i++) {
        struct act a = { .phase = (enum kill_phase)(i / (KILL_SIDES * WAY_NR)),
                         .victim = (enum kill_side)(i / WAY_NR % KILL_SIDES),
                         .way = (enum kill_way)(i % WAY_NR) };
        if (act_wanted(m, &a) == 0) {
            continue;
        }
        unsigned cost = act_cost(m, &a);
        equals = cost < best ? 1 : equals + (cost == best ? 1 : 0);
        if (cost < best || (cost == best && act_random(m, equals) == 0)) {
            best = cost;
            *ret = a;
        }
    }
    return best != UINT32_MAX;
}

/* ---- all of them ------------------------------------------------------------------------------
 */

static void matrix_print(const struct matrix *m, uint64_t start_ns)
{
    (void)printf("\n%-14s %28s %28s\n",
                 "killed in",
                 "trainer: random, failpoint",
                 "daemon: random, failpoint");
    for (enum kill_phase p = 0; p < PHASE_NR; p++) {
        (void)printf("%-14s", phase_name(p));
        for (enum kill_side side = 0; side < KILL_SIDES; side++) {
            const unsigned *k = m->kills[p][side];
            (void)printf(" %10u: %8u %8u", k[0] + k[1], k[WAY_RANDOM], k[WAY_FAILPOINT]);
        }
        (void)printf("\n");
    }
    (void)printf("seed %" PRIu64 "; %u kills more missed their phase, %u made room; %u runs ended "
                 "with the digest of the undisturbed one; %u times --fsck found nothing; %.1f s\n",
                 m->seed,
                 m->missed,
                 m->others,
                 m->stage.runs_ended,
                 m->stage.fscks,
                 (double)(now_ns() - start_ns) * 1e-9);
    (void)fflush(stdout);
}

void kill_matrix(const struct stage_options *options, const struct kill_quota *quota)
{
    static struct matrix m; /* large */
    const char *seed = getenv("CAIRN_TEST_SEED");
    uint64_t start_ns = now_ns();
    m = (struct matrix){ .quota = *quota };
    m.seed = seed == NULL ? start_ns % 1000000 : strtoull(seed, NULL, 10);
    m.random = m.seed;
    (void)printf("seed %" PRIu64 "\n", m.seed);
    stage_init(&m.stage, options);
    struct act act = { .way = WAY_RANDOM };
    while (act_choose(&m, &act)) {
        if (act_needs_boundary(&act) && m.stage.commits == 0) {
            act_go_on(&m, true);
        } else {
            act_play(&m, &act);
        }
        (void)fflush(stdout);
    }
    if (m.stage.commits > 0 || stage_runs(&m.stage.trainer)) {
        act_go_on(&m, false);
    }
    stage_fini(&m.stage);
    matrix_print(&m, start_ns);
}
