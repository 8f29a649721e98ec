/* resident.c: payload of a loaded record, out of the memory it was saved from. */
#include "lib/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/call.h"
#include "lib/pages.h"
#include "lib/rec.h"
#include "lib/source.h"
#include "record/digest.h"
#include "record/hash.h"

/* ---- the end ---- */

static void resident_unmap(struct resident *m)
{
    if (m->base != NULL && m->owner == getpid()) {
        (void)munmap(m->base, m->bytes);
    }
    free(m->offsets);
    free(m->taken);
    m->hasher = hasher_free(m->hasher);
    m->base = NULL;
    m->offsets = NULL;
    m->taken = NULL;
    m->record = NULL;
}

void resident_forget(struct cairn *c, const char *why)
{
    struct resident *m = &c->resident;
    if (m->record != NULL) {
        m->record->resident = false;
        (void)snprintf(m->why, sizeof m->why, "%s", why);
    }
    resident_unmap(m);
}

void resident_gone(struct cairn *c, const struct cairn_record *r)
{
    if (r == NULL || c->resident.record == r) {
        resident_unmap(&c->resident);
    }
}

int resident_give_back(struct cairn *c)
{
    struct resident *m = &c->resident;
    uint32_t arena = m->arena;
    if (m->record != NULL || arena == 0) {
        return 0;
    }
    m->arena = 0;
    return m->connection == c->connection ? cl_arena_say(c, WIRE_ARENA_CLOSE, arena) : 0;
}

/* ---- the beginning ---- */

/* Nothing can be cut off behind us, or we would die of reading it. */
static bool resident_is_sealed(int fd, uint64_t bytes)
{
    struct stat st;
    int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &st) == 0 &&
           (uint64_t)st.st_size >= bytes;
}

/* The descriptor that came with the answer. */
static bool resident_map(struct cairn *c, struct cairn_record *r, const struct wire_arena *a)
{
    struct resident *m = &c->resident;
    uint32_t count = r->boundary.chunk_count;
    m->base = resident_is_sealed(c->in_fd, a->bytes) ? pages_reserve(a->bytes) : NULL;
    m->bytes = a->bytes;
    m->owner = getpid();
    m->offsets = calloc((size_t)count + 1, sizeof *m->offsets);
    m->taken = calloc((size_t)count + 1, sizeof *m->taken);
    m->hasher = hasher_new();
    if (m->base == NULL || m->offsets == NULL || m->taken == NULL || m->hasher == NULL) {
        return false;
    }
    if (mmap(m->base, a->bytes, PROT_READ, MAP_SHARED | MAP_FIXED, c->in_fd, 0) == MAP_FAILED) {
        return false;
    }
    pages_advise(m->base, a->bytes);
    m->left = count;
    return true;
}

static int resident_ask(struct cairn *c, struct cairn_record *r)
{
    struct resident *m = &c->resident;
    union wire_msg answer;
    union wire_msg none = { 0 };
    int rc = resident_give_back(c);
    rc = rc < 0 ? rc : cl_ask_once(c, WIRE_RESIDENT, &none, WIRE_ARENA, &answer);
    if (rc < 0) {
        return rc;
    }
    m->arena = answer.arena.arena;
    m->connection = c->connection;
    bool mapped = resident_map(c, r, &answer.arena);
    cl_close_fd(&c->in_fd);
    if (!mapped) {
        resident_unmap(m);
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory to map a record");
    }
    m->record = r;
    r->resident = true;
    return 0;
}

int resident_open(struct cairn *c, struct cairn_record *r)
{
    struct err before = c->err;
    if (c->resident.record != NULL) {
        resident_forget(c, "another record was loaded from memory");
    }
    c->resident.why[0] = '\0';
    int rc = resident_ask(c, r);
    if (rc < 0 && c->fd < 0) {
        return rc;
    }
    c->err = before;
    return 0;
}

uint32_t resident_arena(const struct cairn *c, const struct cairn_record *r)
{
    return c->resident.record == r ? c->resident.arena : 0;
}

void resident_place(struct cairn *c, const struct wire_chunks *page)
{
    struct resident *m = &c->resident;
    for (uint32_t i = 0; i < page->count && page->offsets != NULL; i++) {
        uint64_t at = page->offsets[i];
        if (at > m->bytes || page->chunks[i].bytes > m->bytes - at) {
            resident_forget(c, "a chunk is said to lie outside of it");
            return;
        }
        m->offsets[page->first + i] = at;
    }
    if (page->offsets == NULL) {
        resident_forget(c, "the daemon does not say where its chunks lie");
    }
}

/* ---- reading ---- */

static struct digest resident_copy(struct resident *m, uint32_t index, void *dst, uint32_t bytes)
{
    uint64_t at = m->offsets[index];
    struct source_memory from = source_of(m->base + at);
    const struct source_look look = { .a = m->hasher };
    pages_read_ahead(m->base, at, at + bytes);
    hasher_start(m->hasher);
    source_take_all(&look, dst, &from.source, bytes);
    return hasher_end(m->hasher);
}

bool resident_take(struct cairn *c, struct cairn_record *r, uint32_t index, void *dst)
{
    struct resident *m = &c->resident;
    const struct chunk *chunk = &r->chunks[index];
    if (m->record != r) {
        return false; /* all of it was read before */
    }
    struct digest digest = resident_copy(m, index, dst, chunk->bytes);
    if (!digest_equal(&digest, &chunk->digest)) {
        resident_forget(c, "a chunk in memory does not match its digest");
        return false;
    }
    m->left -= m->taken[index] ? 0 : 1;
    m->taken[index] = true;
    return true;
}

void resident_finish(struct cairn *c, const struct cairn_record *r)
{
    struct resident *m = &c->resident;
    if (m->record == r && m->left == 0) {
        resident_unmap(m);
    }
}

bool cairn_record_resident(const struct cairn_record *r)
{
    return r != NULL && r->resident;
}
