/* Trainers that are killed with memory of the daemon's: in each state of a capture and of a save
 * from it. What was sealed is committed, of what was not nothing is left, and neither is memory. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cairn/admin.h"

#include "arena_rig.h"
#include "retry_trainer.h"
#include "support/case.h"
#include "support/hand.h"
#include "support/hold.h"

enum { ROUNDS = 24, MOST_ROUNDS = 255 }; /* a save id's byte */

static struct daemon d;

/* ---- the states ---- */

struct state {
    const char *name;
    const char *failpoint; /* at which the trainer kills itself */
    const char *words[3];  /* of retry_trainer, behind "warm"; `=` gets the step */
    const char *line;      /* at which it is killed */
    bool by_hand;          /* the library sends few chunks in one frame: see half_announced */
    bool sealed;
};

static const struct state states[] = {
    { .name = "in its capture", .failpoint = "capture:kill:3", .words = { "save=" } },
    { .name = "before BEGIN", .words = { "capture=", "wait" }, .line = "captured" },
    { .name = "after BEGIN", .failpoint = "upload:kill:1", .words = { "save=" } },
    { .name = "amid CHUNKS", .by_hand = true },
    { .name = "before SEAL", .failpoint = "seal:kill:1", .words = { "save=" } },
    { .name = "after SEAL", .words = { "seal=", "wait" }, .line = "sealed", .sealed = true },
};
enum { STATES = sizeof states / sizeof states[0] };

/* Two of three chunks, and half of the frame with the third. */
static void half_announced(struct hand *h, unsigned step)
{
    hand_up(h, d.socket, "run");
    hand_open(h);
    hand_arena(h, WIRE_ARENA_MAPPED);
    hand_fill(h, (uint8_t)step, (uint8_t)step);
    hand_begin(h);
    hand_chunks(h, 0, 2);
    const union wire_msg msg = {
        .chunks = { .first = 2, .chunks = &h->chunks[2], .count = 1, .offsets = &h->offsets[2] }
    };
    h->p.out.bytes = 0;
    if (wire_encode(WIRE_CHUNKS, h->request, &msg, 0, &h->p.out, NULL) < 0 ||
        !peer_send_raw(&h->p, h->p.out.data, h->p.out.bytes / 2)) {
        abort();
    }
}

static int killed_by_hand(unsigned step)
{
    struct hand h;
    int status = 0;
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        half_announced(&h, step);
        (void)raise(SIGKILL);
        abort();
    }
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* "save=" and 7: "save=7". */
static const char *word_of(const char *word, unsigned step, char ret[static 32])
{
    bool open = word != NULL && word[strlen(word) - 1] == '=';
    if (!open) {
        return word;
    }
    (void)snprintf(ret, 32, "%s%u", word, step);
    return ret;
}

static void trainer_start(struct proc *ret, const struct state *s, unsigned step)
{
    char first[32];
    char failpoint[64];
    const char *const words[] = { "warm", word_of(s->words[0], step, first), s->words[1], NULL };
    if (s->failpoint != NULL) {
        (void)snprintf(failpoint, sizeof failpoint, "CAIRN_FAILPOINT=%s", s->failpoint);
    }
    rig_start(ret, &d, s->failpoint == NULL ? NULL : failpoint, words);
}

/* A trainer of its own comes, saves that step, and is killed in this state. */
static void killed(const struct state *s, unsigned step)
{
    struct proc p;
    if (s->by_hand) {
        cr_assert_eq(killed_by_hand(step), 128 + SIGKILL);
        return;
    }
    trainer_start(&p, s, step);
    rig_says(&p, "warm");
    if (s->line != NULL) {
        rig_says(&p, s->line);
        proc_kill(&p);
    }
    cr_assert(proc_wait(&p, RIG_MS), "%s: it lives", s->name);
    cr_assert_eq(proc_exit(&p), 128 + SIGKILL, "%s", s->name);
    (void)close(p.out_fd);
}

/* ---- what became of them ---- */

/* The last record stays in memory while its run does. */
static void nothing_is_left(struct cairn *c, const struct holdings *start)
{
    cr_assert_eq(cairn_run_drop(c), 0, "%s", cairn_error(c));
    (void)cairn_close(c);
    holdings_again(&d, start);
}

/* What became of a step, once its trainer's death is known. */
static enum cairn_save_state settled(struct cairn *c, unsigned step, bool by_hand)
{
    struct cairn_boundary found;
    size_t count = 0;
    enum cairn_save_state state = CAIRN_SAVE_RECEIVING;
    uint8_t save_id[16] = { (uint8_t)step };
    uint64_t seq = 0;
    uint64_t give_up_ns = now_ns() + (uint64_t)RIG_MS * 1000000;
    memset(save_id + 1, by_hand ? 0 : (int)step, sizeof save_id - 1);
    while (state == CAIRN_SAVE_RECEIVING && now_ns() < give_up_ns) {
        (void)cairn_find(c, "latest", 1, &found, &count); /* all that is sealed has ended then */
        cr_assert_eq(cairn_save_find(c, save_id, &state, &seq), 0, "%s", cairn_error(c));
    }
    return state;
}

static void check_settled(struct cairn *c, const struct state *s, unsigned step)
{
    enum cairn_save_state state = settled(c, step, s->by_hand);
    cr_assert_eq(
        state, s->sealed ? CAIRN_SAVE_COMMITTED : CAIRN_SAVE_NONE, "%s: %d", s->name, (int)state);
}

static void check_loads(struct cairn *c, uint64_t step)
{
    struct sample s;
    sample_init(&s, retry_model, retry_optimizer);
    cr_assert_eq(sample_load(&s, c, "latest"), 0, "%s", cairn_error(c));
    cr_assert(sample_is(&s, step));
    sample_fini(&s);
}

/* ---- the cases ---- */

CASE(kill_arena, what_was_sealed_is_committed_and_nothing_else, .timeout = 120)
{
    struct cairn *c = NULL;
    struct cairn_boundary found[4];
    size_t count = 0;
    unsigned step = 0;
    daemon_begin(&d, "kill_arena", NULL, NULL);
    const struct holdings start = holdings(&d);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    for (size_t i = 0; i < STATES; i++) {
        killed(&states[i], ++step);
        check_settled(c, &states[i], step);
    }
    cr_assert_eq(cairn_find(c, "latest", 4, found, &count), 0, "%s", cairn_error(c));
    cr_assert_eq(count, 1);
    cr_assert_eq(found[0].seq, 1);
    check_loads(c, step);
    const char *const lent[] = { "committed", " path=arena ", NULL };
    cr_assert_eq(tmp_lines_with(d.log, lent), 1);
    nothing_is_left(c, &start);
    daemon_end(&d);
}

/* When it dies, no byte of its arena has been read. */
CASE(kill_arena, what_was_sealed_needs_no_trainer, .timeout = 120)
{
    struct proc p;
    struct hold hold;
    struct cairn *c = NULL;
    char dir[TMP_PATH_BYTES];
    char spec[512];
    const char *env[] = { spec, NULL };
    const struct state *after = &states[STATES - 1];
    tmp_make("kill_arena", dir);
    daemon_init(&d, dir);
    memcpy(d.dir, dir, sizeof d.dir);
    hold_init(&hold, d.socket_dir, "hold");
    (void)snprintf(spec, sizeof spec, "CAIRN_FAILPOINT=segment_write:hold=%s:1", hold.path);
    daemon_start(&d, env);
    const struct holdings start = holdings(&d);
    trainer_start(&p, after, 1);
    rig_says(&p, "warm");
    rig_says(&p, after->line);
    cr_assert(hold_wait(&hold, RIG_MS));
    proc_kill(&p);
    (void)close(p.out_fd);
    cr_assert_eq(holdings(&d).maps, start.maps + 1, "the save still has it");
    hold_release(&hold);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    check_settled(c, after, 1);
    check_loads(c, 1);
    const char *const resident[] = { "load from memory", " seq=1 ", NULL };
    cr_assert_eq(tmp_lines_with(d.log, resident), 1);
    nothing_is_left(c, &start);
    hold_fini(&hold);
    daemon_end(&d);
}

/* The slow tier has more of them. */
static unsigned rounds_wanted(void)
{
    const char *text = getenv("CAIRN_TEST_KILL_ROUNDS");
    unsigned long rounds = text == NULL ? ROUNDS : strtoul(text, NULL, 10);
    cr_assert(rounds > 0 && rounds <= MOST_ROUNDS);
    return (unsigned)rounds;
}

CASE(kill_arena, however_often_they_die_no_memory_is_left, .timeout = 240)
{
    struct cairn *c = NULL;
    struct cairn_verified verified;
    unsigned sealed = 0;
    unsigned rounds = rounds_wanted();
    daemon_begin(&d, "kill_arena", NULL, NULL);
    const struct holdings start = holdings(&d);
    uint64_t start_ns = now_ns();
    for (unsigned round = 1; round <= rounds; round++) {
        killed(&states[round % STATES], round);
        sealed += states[round % STATES].sealed;
    }
    (void)printf(
        "kill_arena: %d trainers killed in %.2f s\n", ROUNDS, (double)(now_ns() - start_ns) * 1e-9);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    for (unsigned round = 1; round <= rounds; round++) {
        check_settled(c, &states[round % STATES], round);
    }
    cr_assert_eq(cairn_verify(c, NULL, NULL, NULL, &verified), 0, "%s", cairn_error(c));
    cr_assert_eq(verified.boundary_count, sealed);
    nothing_is_left(c, &start);
    daemon_end(&d);
}
