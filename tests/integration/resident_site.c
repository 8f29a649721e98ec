#include "resident_site.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cairn/training.h"

#include "support/case.h"

enum { SITE_MS = 20000, SITE_ASK = 1 };

/* ---- who saves ---- */

void trainer_saves(struct hand *h, const struct daemon *d, const char *run, uint8_t seed)
{
    trainer_saves_in(h, d, run, seed, SITE_ARENA_BYTES);
}

void trainer_saves_in(
    struct hand *h, const struct daemon *d, const char *run, uint8_t seed, uint64_t arena_bytes)
{
    hand_up(h, d->socket, run);
    hand_open_as(h, arena_bytes, false);
    hand_arena(h, WIRE_ARENA_MAPPED);
    hand_fill(h, seed, seed);
    hand_announce(h);
    hand_seal(h);
    cr_assert_gt(hand_committed(h), 0);
}

void trainer_leaves(const struct daemon *d, const char *run, uint8_t seed, unsigned stay)
{
    struct hand h;
    trainer_saves(&h, d, run, seed);
    hand_down(&h);
    wait_stay(d, stay);
}

struct cairn_status status_of(const struct daemon *d)
{
    struct cairn *c = NULL;
    struct cairn_status status;
    cr_assert_eq(cairn_admin_open(d->socket, &c), 0);
    cr_assert_eq(cairn_status(c, &status), 0, "%s", cairn_error(c));
    (void)cairn_close(c);
    return status;
}

void wait_stay(const struct daemon *d, unsigned count)
{
    uint64_t give_up_ns = now_ns() + (uint64_t)SITE_MS * 1000000;
    struct cairn_status status;
    do {
        cr_assert_lt(now_ns(), give_up_ns, "%d do not stay", (int)count);
        status = status_of(d);
    } while (status.resident_count != count || status.arena_count > 0);
    cr_assert_eq(status.resident_kept_bytes, (uint64_t)count * SITE_ARENA_BYTES);
}

/* ---- the disk ---- */

static void rot_file(const char *path)
{
    static const uint8_t zeros[1 << 16];
    struct stat st;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && fstat(fd, &st) == 0, "%s", path);
    for (off_t at = 0; at < st.st_size; at += (off_t)sizeof zeros) {
        size_t bytes =
            st.st_size - at < (off_t)sizeof zeros ? (size_t)(st.st_size - at) : sizeof zeros;
        cr_assert_eq(pwrite(fd, zeros, bytes, at), (ssize_t)bytes);
    }
    cr_assert_eq(fsync(fd), 0);
    (void)close(fd);
}

void rot(const struct daemon *d, const char *run)
{
    char pattern[TMP_PATH_BYTES + 256];
    glob_t found = { 0 };
    (void)snprintf(pattern, sizeof pattern, "%s/runs/*/%s/segments/*", d->data, run);
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "%s", pattern);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        rot_file(found.gl_pathv[i]);
    }
    globfree(&found);
}

/* ---- who loads ---- */

struct target {
    uint8_t seed;
    uint8_t bytes[HAND_BYTES], wanted[HAND_BYTES];
    unsigned warnings;
};

static int target_get(void *self, const struct cairn_reader *model)
{
    static const char *const paths[HAND_CHUNKS] = { "t0", "t1", "t2" };
    static const uint64_t shape[] = { HAND_BYTES };
    struct target *t = self;
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < HAND_CHUNKS; i++) {
        const struct cairn_entry e = {
            .path = paths[i], .dtype = CAIRN_U8, .rank = 1, .shape = shape
        };
        memset(t->wanted, t->seed + (int)i, HAND_BYTES);
        rc = cairn_get(model, &e, t->bytes);
        cr_assert(rc < 0 || memcmp(t->bytes, t->wanted, HAND_BYTES) == 0, "%s", paths[i]);
    }
    return rc;
}

static void target_warn(void *arg, const char *sentence)
{
    struct target *t = arg;
    t->warnings++;
    cr_assert_not_null(strstr(sentence, "does not match its digest"), "%s", sentence);
}

struct loaded load(const struct daemon *d, const char *run, uint8_t seed)
{
    static struct target target;
    struct cairn *c = NULL;
    struct cairn_record *r = NULL;
    const struct cairn_trainer t = {
        .model = { .self = &target, .get = target_get },
        .warn = target_warn,
        .warn_arg = &target,
    };
    struct loaded ret = { 0 };
    target.seed = seed;
    target.warnings = 0;
    cr_assert_eq(cairn_open(d->socket, run, &c), 0);
    cr_assert_eq(cairn_load(c, "latest", SITE_MS, &r), 0, "%s", cairn_error(c));
    ret.resident_at_load = cairn_record_resident(r);
    ret.rc = cairn_restore(c, r, &t);
    ret.resident_at_end = cairn_record_resident(r);
    ret.warnings = target.warnings;
    (void)cairn_record_free(r);
    (void)cairn_close(c);
    return ret;
}

void loads_from_memory(const struct daemon *d, const char *run, uint8_t seed)
{
    struct loaded l = load(d, run, seed);
    cr_assert_eq(l.rc, 0);
    cr_assert(l.resident_at_load && l.resident_at_end && l.warnings == 0);
}

void loads_from_disk(const struct daemon *d, const char *run, uint8_t seed)
{
    struct loaded l = load(d, run, seed);
    cr_assert_eq(l.rc, 0);
    cr_assert(!l.resident_at_load && !l.resident_at_end && l.warnings == 0);
}

/* ---- who loads by hand ---- */

bool reader_pins(struct hand *h, const struct daemon *d, const char *run)
{
    union wire_msg msg = {
        .describe = { .run = slice_str(run), .selector = slice_str("latest"), .pin = true }
    };
    hand_up(h, d->socket, run);
    cr_assert(peer_send(&h->p, WIRE_DESCRIBE, SITE_ASK, &msg, (struct slice){ 0 }));
    peer_expect(&h->p, WIRE_DESCRIBED, SITE_ASK, &msg);
    return msg.described.resident;
}

void reader_asks(struct hand *h)
{
    union wire_msg msg = { 0 };
    cr_assert(peer_send(&h->p, WIRE_RESIDENT, SITE_ASK, &msg, (struct slice){ 0 }));
    peer_expect(&h->p, WIRE_ARENA, SITE_ASK, &msg);
    h->arena = msg.arena.arena;
    h->bytes = msg.arena.bytes;
    h->fd = h->p.in_fd;
    h->p.in_fd = -1;
    h->base = mmap(NULL, h->bytes, PROT_READ, MAP_SHARED, h->fd, 0);
    cr_assert_neq(h->base, MAP_FAILED);
}
