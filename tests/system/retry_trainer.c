/* retry_trainer: a trainer of a few MiB for test_retry.c, one word at a time.
 *
 *   retry_trainer SOCKET RUN WORD...
 *   warm[=MIB]  ask for memory that the daemon sees, for records from the first on; "warm"
 *   as=MIB      from now on no more address space than that (RLIMIT_AS)
 *   enter=DIR   from now on in this control group
 *   sleepers    fork two children that hold every descriptor, the socket too; "sleepers PID PID"
 *   save=STEP   capture and save; "saved STEP SEQ", or "failed CODE-NAME"
 *   seal=STEP   the same, up to the daemon having all of it; "sealed STEP"
 *   capture=STEP  only capture; "captured STEP"
 *   load        load and restore the newest and check every byte of it; "loaded STEP"
 *   wait        until killed
 *
 * The save id of STEP is 16 bytes of STEP. */
#include "retry_trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/sample.h"

static int trainer_failed(struct cairn *c, int rc)
{
    (void)fprintf(stderr, "retry_trainer: %s: %s\n", cairn_strerror(rc), cairn_error(c));
    (void)printf("failed %s\n", cairn_error_name(rc));
    return rc;
}

/* _Fork runs no handlers: the library's would close the socket in the child, and what is wanted is
 * a child that has it for good or ill. They end by themselves should nobody end them. */
static void trainer_sleepers(void)
{
    pid_t pids[2];
    for (size_t i = 0; i < 2; i++) {
        pids[i] = _Fork();
        if (pids[i] == 0) {
            (void)alarm(120);
            (void)pause();
            _exit(0);
        }
    }
    (void)printf("sleepers %d %d\n", (int)pids[0], (int)pids[1]);
}

static int trainer_save(struct sample *s, struct cairn *c, uint64_t step, bool wait)
{
    struct cairn_record *record = NULL;
    struct cairn_pending *pending = NULL;
    struct cairn_boundary saved = { 0 };
    uint8_t save_id[16];
    memset(save_id, (int)step, sizeof save_id);
    struct cairn_save_args args = { .step = step, .save_id = save_id };
    sample_fill(s, step);
    int rc = cairn_capture(c, &s->trainer, &record);
    if (rc == 0 && wait) {
        rc = cairn_save(c, &record, &args, &saved);
    } else if (rc == 0) {
        rc = cairn_save_start(c, &record, &args, &pending);
    }
    if (rc < 0) {
        cairn_record_free(record);
        return trainer_failed(c, rc);
    }
    if (wait) {
        (void)printf("saved %" PRIu64 " %" PRIu64 "\n", step, saved.seq);
    } else {
        (void)printf("sealed %" PRIu64 "\n", step);
    }
    return 0;
}

/* Of so many MiB; 0: what the state has. */
static int trainer_warm(struct sample *s, struct cairn *c, uint64_t mib)
{
    int rc = cairn_warm(c, mib == 0 ? s->memory_bytes : mib << 20, 1);
    if (rc < 0) {
        return trainer_failed(c, rc);
    }
    (void)printf("warm\n");
    return 0;
}

static int trainer_limit(struct cairn *c, uint64_t mib)
{
    const struct rlimit limit = { .rlim_cur = mib << 20, .rlim_max = mib << 20 };
    return setrlimit(RLIMIT_AS, &limit) == 0 ? 0 : trainer_failed(c, -CAIRN_EINVAL);
}

static int trainer_enter(struct cairn *c, const char *dir)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", dir);
    FILE *f = fopen(path, "we");
    bool entered = f != NULL && fputs("0", f) >= 0;
    entered = f != NULL && fclose(f) == 0 && entered;
    return entered ? 0 : trainer_failed(c, -CAIRN_EACCES);
}

/* The record is kept until the end: its memory is in use. */
static int trainer_capture(struct sample *s, struct cairn *c, uint64_t step)
{
    struct cairn_record *record = NULL;
    sample_fill(s, step);
    int rc = cairn_capture(c, &s->trainer, &record);
    if (rc < 0) {
        return trainer_failed(c, rc);
    }
    (void)printf("captured %" PRIu64 "\n", step);
    return 0;
}

static int trainer_load(struct sample *s, struct cairn *c)
{
    sample_clear(s);
    (void)printf("loading\n");
    int rc = sample_load(s, c, "latest");
    if (rc < 0) {
        return trainer_failed(c, rc);
    }
    if (!sample_is(s, s->seed)) {
        return trainer_failed(c, -CAIRN_ECORRUPT);
    }
    (void)printf("loaded %" PRIu64 "\n", s->seed);
    return 0;
}

static int trainer_word(struct sample *s, struct cairn *c, const char *word)
{
    const char *value = strchr(word, '=');
    uint64_t step = value == NULL ? 0 : strtoull(value + 1, NULL, 10);
    if (strncmp(word, "save=", 5) == 0) {
        return trainer_save(s, c, step, true);
    }
    if (strncmp(word, "seal=", 5) == 0) {
        return trainer_save(s, c, step, false);
    }
    if (strncmp(word, "capture=", 8) == 0) {
        return trainer_capture(s, c, step);
    }
    if (strncmp(word, "warm", 4) == 0) {
        return trainer_warm(s, c, step);
    }
    if (strncmp(word, "as=", 3) == 0) {
        return trainer_limit(c, step);
    }
    if (strncmp(word, "enter=", 6) == 0) {
        return trainer_enter(c, value + 1);
    }
    if (strcmp(word, "load") == 0) {
        return trainer_load(s, c);
    }
    if (strcmp(word, "sleepers") == 0) {
        trainer_sleepers();
    } else {
        (void)pause();
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct cairn *c = NULL;
    struct sample s;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    int rc = argc < 3 ? -CAIRN_EINVAL : cairn_open(argv[1], argv[2], &c);
    if (rc < 0) {
        return trainer_failed(c, rc) < 0;
    }
    sample_init(&s, retry_model, retry_optimizer);
    for (int i = 3; rc == 0 && i < argc; i++) {
        rc = trainer_word(&s, c, argv[i]);
    }
    sample_fini(&s);
    cairn_close(c);
    return rc < 0;
}
