/* Threads that help to copy: each piece is done once, and what is captured is the same, however
 * many there are. */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ground.h"
#include "lib/crew.h"
#include "lib/rec.h"

enum { PIECES = 1000, ROUNDS = 200 };

static void count_piece(void *arg, uint32_t piece, struct hasher *h)
{
    unsigned *counts = arg;
    cr_assert_not_null(h);
    counts[piece]++; /* nobody else has it */
}

CASE(crew, each_piece_is_done_once_and_before_it_returns)
{
    static unsigned counts[PIECES];
    struct err err = { 0 };
    for (unsigned helpers = 1; helpers <= 4; helpers++) {
        struct crew *crew = NULL;
        memset(counts, 0, sizeof counts);
        cr_assert_eq(crew_new(helpers, &crew, &err), 0, "%s", err.msg);
        for (unsigned round = 1; round <= ROUNDS; round++) {
            uint32_t pieces = round % 3 == 0 ? 1 : PIECES;
            crew_run(crew, count_piece, counts, pieces);
            for (uint32_t i = 0; i < PIECES; i++) {
                cr_assert_eq(counts[i], i == 0 ? round : round - round / 3, "piece %u", i);
            }
        }
        cr_assert_null(crew_free(crew));
    }
}

/* Both pieces are under way before one of them ends. */
static void meet(void *arg, uint32_t piece, struct hasher *h)
{
    (void)piece;
    (void)h;
    (void)pthread_barrier_wait(arg);
}

CASE(crew, pieces_run_at_the_same_time, .timeout = 20)
{
    struct err err = { 0 };
    struct crew *crew = NULL;
    pthread_barrier_t two;
    cr_assert_eq(pthread_barrier_init(&two, NULL, 2), 0);
    cr_assert_eq(crew_new(1, &crew, &err), 0, "%s", err.msg);
    crew_run(crew, meet, &two, 2);
    (void)crew_free(crew);
    (void)pthread_barrier_destroy(&two);
}

static unsigned tasks; /* that a capture gave to the crew */
void real_crew_run(struct crew *crew,
                   crew_fn *work,
                   void *arg,
                   uint32_t pieces) __asm__("__real_crew_run");
void wrap_crew_run(struct crew *crew,
                   crew_fn *work,
                   void *arg,
                   uint32_t pieces) __asm__("__wrap_crew_run");

void wrap_crew_run(struct crew *crew, crew_fn *work, void *arg, uint32_t pieces)
{
    tasks++;
    real_crew_run(crew, work, arg, pieces);
}

/* Tensors of many chunks, the last of them not whole, by put and by slot, and one that is filled
 * where it lies. */
static void fill(struct ground *g)
{
    static const uint64_t large[] = { (40 << 20) + 5 };
    static const uint64_t two[] = { (8 << 20) + 1 };
    job_fill(&g->job, 1);
    (void)BOX_ADD(&g->job.model, "a.large", 70, CAIRN_HAS_ID, CAIRN_U8, 1, large, 9);
    (void)BOX_ADD(&g->job.model, "b.two", 71, CAIRN_HAS_ID, CAIRN_U8, 1, two, 10);
    (void)BOX_ADD(&g->job.optimizer, "slot", 70, CAIRN_HAS_ID, CAIRN_U8, 1, large, 11);
    g->job.optimizer.tensors[g->job.optimizer.count - 1]->by_slot = true;
}

static void same_record(struct cairn_record *a, struct cairn_record *b)
{
    uint32_t chunks = layout_chunk_count(a->layout);
    for (uint32_t i = 0; i < a->boundary.component_count; i++) {
        cr_assert(digest_equal(&a->infos[i].digest, &b->infos[i].digest),
                  "%s",
                  component_name(a->infos[i].component));
    }
    cr_assert_eq(chunks, layout_chunk_count(b->layout));
    for (uint32_t i = 0; i < chunks; i++) {
        const struct layout_chunk *of_a = layout_chunk_at(a->layout, i);
        const struct layout_chunk *of_b = layout_chunk_at(b->layout, i);
        uint64_t bytes = (of_a->chunk.bytes + UINT64_C(4095)) / 4096 * 4096; /* with its padding */
        cr_assert(digest_equal(&of_a->chunk.digest, &of_b->chunk.digest), "chunk %u", i);
        cr_assert_eq(memcmp(a->region->base + of_a->region_offset,
                            b->region->base + of_b->region_offset,
                            bytes),
                     0,
                     "chunk %u",
                     i);
    }
}

CASE(crew, threads_change_nothing_of_a_record)
{
    struct ground g;
    struct cairn_record *alone = NULL;
    ground_up(&g);
    fill(&g);
    cr_assert_eq(ground_capture(&g, 0, &alone), 0, "%s", cairn_error(g.c));
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct cairn_record *r = NULL;
        cr_assert_eq(cairn_set_threads(g.c, threads), 0, "%s", cairn_error(g.c));
        tasks = 0;
        cr_assert_eq(ground_capture(&g, 0, &r), 0, "%s", cairn_error(g.c));
        cr_assert_eq(tasks, threads > 1 ? 3 : 0, "two puts and the slots");
        same_record(alone, r);
        (void)cairn_record_free(r);
    }
    cr_assert_eq(ground_save(&g, 0, 1, NULL), 0, "%s", cairn_error(g.c));
    ground_check_newest(&g);
    (void)cairn_record_free(alone);
    ground_down(&g);
}

static int put_in_a_capture(void *self, struct cairn_writer *w)
{
    struct ground *g = self;
    (void)w;
    cr_assert_eq(cairn_set_threads(g->c, 2), -CAIRN_EBUSY);
    return 0;
}

CASE(crew, wrong_counts_and_moments_are_refused)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    cr_assert_eq(cairn_set_threads(NULL, 2), -CAIRN_EINVAL);
    cr_assert_eq(cairn_set_threads(g.c, 0), -CAIRN_EINVAL);
    cr_assert_eq(cairn_set_threads(g.c, 257), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(g.c), "1 to 256"), "%s", cairn_error(g.c));
    g.job.t.state = (struct cairn_component){ .self = &g, .put = put_in_a_capture };
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), 0, "%s", cairn_error(g.c));
    cr_assert_null(g.c->crew);
    (void)cairn_record_free(r);
    ground_down(&g);
}

/* No thread is in the child: closing there must not wait for one. */
CASE(crew, a_forked_child_can_close, .timeout = 20)
{
    struct ground g;
    int status = 0;
    ground_up(&g);
    cr_assert_eq(cairn_set_threads(g.c, 3), 0, "%s", cairn_error(g.c));
    pid_t child = fork();
    if (child == 0) {
        (void)cairn_close(g.c);
        _exit(7);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    ground_down(&g);
}
