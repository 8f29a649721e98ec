/* Trainers that are killed with memory of the daemon's: in each state of a capture and of a save
 * from it. What was sealed is committed, of what was not nothing is left, and neither is memory. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cairn/admin.h"

#include "retry_trainer.h"
#include "support/case.h"
#include "support/daemon.h"
#include "support/hand.h"
#include "support/hold.h"

enum { WAIT_MS = 60000, ROUNDS = 24, MOST_ROUNDS = 255 }; /* a save id's byte */

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
    char failpoint[64] = "CAIRN_TRAINER=1";
    char log[TMP_PATH_BYTES + 16];
    const char *env[] = { failpoint, NULL };
    const char *argv[] = { CAIRN_TEST_RETRY_TRAINER,          d.socket,    "run", "warm",
                           word_of(s->words[0], step, first), s->words[1], NULL };
    if (s->failpoint != NULL) {
        (void)snprintf(failpoint, sizeof failpoint, "CAIRN_FAILPOINT=%s", s->failpoint);
    }
    (void)snprintf(log, sizeof log, "%s/trainer.log", d.dir);
    proc_start(ret,
               &(struct proc_spec){ .argv = argv, .env = env, .log_path = log, .pipe_out = true });
}

static void trainer_says(struct proc *p, const char *start)
{
    char line[128] = "";
    bool got = proc_line(p, WAIT_MS, line, sizeof line);
    cr_assert(got && strncmp(line, start, strlen(start)) == 0, "'%s', not '%s'", line, start);
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
    trainer_says(&p, "warm");
    if (s->line != NULL) {
        trainer_says(&p, s->line);
        proc_kill(&p);
    }
    cr_assert(proc_wait(&p, WAIT_MS), "%s: it lives", s->name);
    cr_assert_eq(proc_exit(&p), 128 + SIGKILL, "%s", s->name);
    (void)close(p.out_fd);
}

/* ---- what the daemon has ---- */

struct holdings {
    unsigned maps, descriptors; /* of memory that it lends */
    uint64_t shmem_kib;         /* mapped, of all that is shared */
};

static uint64_t shmem_kib(void)
{
    char path[64];
    char text[4096];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)d.proc.pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    cr_assert_gt(got, 0);
    (void)close(fd);
    text[got] = '\0';
    const char *at = strstr(text, "\nRssShmem:");
    cr_assert_not_null(at);
    return strtoull(at + strlen("\nRssShmem:"), NULL, 10);
}

static unsigned lent_descriptors(void)
{
    char path[300];
    char link[64];
    unsigned count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)d.proc.pid);
    DIR *dir = opendir(path);
    cr_assert_not_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        (void)snprintf(path, sizeof path, "/proc/%d/fd/%.200s", (int)d.proc.pid, e->d_name);
        ssize_t bytes = readlink(path, link, sizeof link);
        count += bytes > 13 && strncmp(link, "/memfd:cairn-", 13) == 0;
    }
    (void)closedir(dir);
    return count;
}

static struct holdings holdings(void)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/maps", (int)d.proc.pid);
    return (struct holdings){
        .maps = tmp_lines_with(path, (const char *const[]){ "memfd:cairn-", NULL }),
        .descriptors = lent_descriptors(),
        .shmem_kib = shmem_kib(),
    };
}

/* The daemon learns of a death in its own time: it is asked until it has. */
static void holds_what_it_held(const struct holdings *start)
{
    struct cairn *c = NULL;
    struct cairn_status status;
    uint64_t give_up_ns = now_ns() + (uint64_t)WAIT_MS * 1000000;
    struct holdings now = { 0 };
    cr_assert_eq(cairn_admin_open(d.socket, &c), 0);
    do {
        cr_assert_eq(cairn_status(c, &status), 0, "%s", cairn_error(c));
        now = holdings();
    } while (memcmp(&now, start, sizeof now) != 0 && now_ns() < give_up_ns);
    (void)cairn_close(c);
    cr_assert_eq(now.maps, start->maps);
    cr_assert_eq(now.descriptors, start->descriptors);
    cr_assert_eq(now.shmem_kib, start->shmem_kib);
}

/* What became of a step, once its trainer's death is known. */
static enum cairn_save_state settled(struct cairn *c, unsigned step, bool by_hand)
{
    struct cairn_boundary found;
    size_t count = 0;
    enum cairn_save_state state = CAIRN_SAVE_RECEIVING;
    uint8_t save_id[16] = { (uint8_t)step };
    uint64_t seq = 0;
    uint64_t give_up_ns = now_ns() + (uint64_t)WAIT_MS * 1000000;
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
    const struct holdings start = holdings();
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    for (size_t i = 0; i < STATES; i++) {
        killed(&states[i], ++step);
        check_settled(c, &states[i], step);
    }
    cr_assert_eq(cairn_find(c, "latest", 4, found, &count), 0, "%s", cairn_error(c));
    cr_assert_eq(count, 1);
    cr_assert_eq(found[0].seq, 1);
    check_loads(c, step);
    (void)cairn_close(c);
    const char *const lent[] = { "committed", " path=arena ", NULL };
    cr_assert_eq(tmp_lines_with(d.log, lent), 1);
    holds_what_it_held(&start);
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
    const struct holdings start = holdings();
    trainer_start(&p, after, 1);
    trainer_says(&p, "warm");
    trainer_says(&p, after->line);
    cr_assert(hold_wait(&hold, WAIT_MS));
    proc_kill(&p);
    (void)close(p.out_fd);
    cr_assert_eq(holdings().maps, start.maps + 1, "the save still has it");
    hold_release(&hold);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    check_settled(c, after, 1);
    check_loads(c, 1);
    (void)cairn_close(c);
    holds_what_it_held(&start);
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
    const struct holdings start = holdings();
    uint64_t start_ns = now_ns();
    for (unsigned round = 1; round <= rounds; round++) {
        killed(&states[round % STATES], round);
        sealed += states[round % STATES].sealed;
    }
    (void)printf(
        "kill_arena: %d trainers killed in %.2f s\n", ROUNDS, (double)(now_ns() - start_ns) * 1e-9);
    holds_what_it_held(&start);
    cr_assert_eq(cairn_open(d.socket, "run", &c), 0);
    for (unsigned round = 1; round <= rounds; round++) {
        check_settled(c, &states[round % STATES], round);
    }
    cr_assert_eq(cairn_verify(c, NULL, NULL, NULL, &verified), 0, "%s", cairn_error(c));
    cr_assert_eq(verified.boundary_count, sealed);
    (void)cairn_close(c);
    holds_what_it_held(&start);
    daemon_end(&d);
}
