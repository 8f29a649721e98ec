/* crew.c: threads that help to copy and digest. */
#include "lib/crew.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/call.h"
#include "record/hash.h"

#define CREW_MOST 256u

struct crew_member {
    struct crew *crew;
    struct hasher *hasher;
    pthread_t thread; /* of all but the first, which is the caller */
};

struct crew {
    pid_t owner;
    unsigned count; /* of members that are there, the caller among them */
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    bool stop;
    uint64_t task;    /* which one it is */
    unsigned working; /* helpers that are not through with it */
    crew_fn *work;
    void *arg;
    uint32_t pieces;
    atomic_uint next; /* piece that nobody has taken */
    struct crew_member members[];
};

static void crew_work(struct crew_member *m)
{
    struct crew *crew = m->crew;
    for (uint32_t piece = atomic_fetch_add(&crew->next, 1); piece < crew->pieces;
         piece = atomic_fetch_add(&crew->next, 1)) {
        crew->work(crew->arg, piece, m->hasher);
    }
}

static void *crew_helper(void *arg)
{
    struct crew_member *m = arg;
    struct crew *crew = m->crew;
    uint64_t seen = 0;
    (void)pthread_mutex_lock(&crew->lock);
    while (!crew->stop) {
        if (crew->task == seen) {
            (void)pthread_cond_wait(&crew->begin, &crew->lock);
            continue;
        }
        seen = crew->task;
        (void)pthread_mutex_unlock(&crew->lock);
        crew_work(m);
        (void)pthread_mutex_lock(&crew->lock);
        if (--crew->working == 0) {
            (void)pthread_cond_signal(&crew->end);
        }
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return NULL;
}

void crew_run(struct crew *crew, crew_fn *work, void *arg, uint32_t pieces)
{
    (void)pthread_mutex_lock(&crew->lock);
    crew->work = work;
    crew->arg = arg;
    crew->pieces = pieces;
    crew->working = crew->count - 1;
    crew->task++;
    atomic_store(&crew->next, 0);
    (void)pthread_cond_broadcast(&crew->begin);
    (void)pthread_mutex_unlock(&crew->lock);
    crew_work(&crew->members[0]);
    (void)pthread_mutex_lock(&crew->lock);
    while (crew->working > 0) {
        (void)pthread_cond_wait(&crew->end, &crew->lock);
    }
    (void)pthread_mutex_unlock(&crew->lock);
}

/* ---- its life ---- */

static bool crew_add(struct crew *crew)
{
    struct crew_member *m = &crew->members[crew->count];
    m->crew = crew;
    m->hasher = hasher_new();
    if (m->hasher == NULL ||
        (crew->count > 0 && pthread_create(&m->thread, NULL, crew_helper, m) != 0)) {
        m->hasher = hasher_free(m->hasher);
        return false;
    }
    crew->count++;
    return true;
}

/* What threads inherit: no signal is for them. */
static bool crew_fill(struct crew *crew, unsigned count)
{
    sigset_t all;
    sigset_t before;
    bool ok = true;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (ok && crew->count < count) {
        ok = crew_add(crew);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

int crew_new(unsigned helpers, struct crew **ret, struct err *err)
{
    struct crew *crew = calloc(1, sizeof *crew + (helpers + (size_t)1) * sizeof crew->members[0]);
    if (crew == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "no memory for threads");
    }
    crew->owner = getpid();
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_cond_init(&crew->begin, NULL);
    (void)pthread_cond_init(&crew->end, NULL);
    if (!crew_fill(crew, helpers + 1)) {
        unsigned started = crew->count == 0 ? 0 : crew->count - 1;
        (void)crew_free(crew);
        return err_set(err, -CAIRN_ENOMEM, "the system started %u of %u threads", started, helpers);
    }
    *ret = crew;
    return 0;
}

static void crew_join(struct crew *crew)
{
    (void)pthread_mutex_lock(&crew->lock);
    crew->stop = true;
    (void)pthread_cond_broadcast(&crew->begin);
    (void)pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 1; i < crew->count; i++) {
        (void)pthread_join(crew->members[i].thread, NULL);
    }
    (void)pthread_cond_destroy(&crew->begin);
    (void)pthread_cond_destroy(&crew->end);
    (void)pthread_mutex_destroy(&crew->lock);
}

struct crew *crew_free(struct crew *crew)
{
    if (crew == NULL) {
        return NULL;
    }
    if (crew->owner == getpid()) {
        crew_join(crew);
    }
    for (unsigned i = 0; i < crew->count; i++) {
        crew->members[i].hasher = hasher_free(crew->members[i].hasher);
    }
    free(crew);
    return NULL;
}

int cairn_set_threads(struct cairn *c, unsigned count)
{
    struct crew *crew = NULL;
    int rc = cl_enter_local(c);
    if (rc < 0) {
        return rc;
    }
    if (count < 1 || count > CREW_MOST) {
        return cl_invalid(c, "a handle copies with 1 to 256 threads, the caller's among them");
    }
    if (c->capture != NULL) {
        return err_set(&c->err, -CAIRN_EBUSY, "a capture is under way: set threads before it");
    }
    if (count > 1) {
        rc = crew_new(count - 1, &crew, &c->err);
    }
    if (rc == 0) {
        (void)crew_free(c->crew);
        c->crew = crew;
    }
    return rc;
}
