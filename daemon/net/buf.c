/* buf.c: the pool of payload buffers.
 *
 * Between calls this holds: whoever stands in line could not be served if asked (no buffer free, or
 * over its share). So a buffer that comes back is offered along the line until nobody can take one,
 * and nobody who comes later overtakes. */
#include "net/buf.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "internal/limits.h"

enum { BUF_MIN = 4, BUF_PER_CONN = 2, BUF_PER_UID_MIN = 3, BUF_HUGE_PAGE_BYTES = 2 << 20 };

struct buf_pool {
    uint8_t *map;
    size_t map_bytes;
    unsigned count, free_count, per_uid;
    struct buf *free; /* last given first: its memory is warm */
    struct buf_user *line, **line_end;
    bool offering;
    struct buf bufs[];
};

/* Whole huge pages where the kernel has them: fewer faults, fewer pieces for the disk. */
static uint8_t *buf_pool_map(struct buf_pool *pool)
{
    pool->map_bytes = (size_t)pool->count * LIMIT_CHUNK_BYTES + BUF_HUGE_PAGE_BYTES;
    void *map =
        mmap(NULL, pool->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    pool->map = map;
    uint8_t *data = pool->map + (BUF_HUGE_PAGE_BYTES - (uintptr_t)map % BUF_HUGE_PAGE_BYTES);
    (void)madvise(data, (size_t)pool->count * LIMIT_CHUNK_BYTES, MADV_HUGEPAGE);
    return data;
}

struct buf_pool *buf_pool_new(uint64_t bytes, enum buf_share share)
{
    uint64_t count = bytes / LIMIT_CHUNK_BYTES < BUF_MIN ? BUF_MIN : bytes / LIMIT_CHUNK_BYTES;
    if (count > UINT32_MAX) {
        return NULL;
    }
    struct buf_pool *pool = calloc(1, sizeof *pool + count * sizeof pool->bufs[0]);
    if (pool == NULL) {
        return NULL;
    }
    pool->count = (unsigned)count;
    pool->per_uid = pool->count / share < BUF_PER_UID_MIN ? BUF_PER_UID_MIN : pool->count / share;
    pool->line_end = &pool->line;
    uint8_t *data = buf_pool_map(pool);
    if (data == NULL) {
        free(pool);
        return NULL;
    }
    for (unsigned i = pool->count; i-- > 0;) {
        struct buf *buf = &pool->bufs[i];
        *buf = (struct buf){ .data = data + (size_t)i * LIMIT_CHUNK_BYTES, .pool = pool };
        buf->next = pool->free;
        pool->free = buf;
    }
    pool->free_count = pool->count;
    return pool;
}

struct buf_pool *buf_pool_free(struct buf_pool *pool)
{
    if (pool != NULL) {
        assert(pool->free_count == pool->count);
        (void)munmap(pool->map, pool->map_bytes);
        free(pool);
    }
    return NULL;
}

static unsigned buf_held_by_uid(const struct buf_pool *pool, uint32_t uid)
{
    unsigned held = 0;
    for (unsigned i = 0; i < pool->count; i++) {
        held += pool->bufs[i].taken && pool->bufs[i].uid == uid;
    }
    return held;
}

/* The last of a uid's share is for a connection that has none. */
static bool buf_allowed(const struct buf_pool *pool, const struct buf_user *user)
{
    unsigned most = user->held == 0 ? pool->per_uid : pool->per_uid - 1;
    return pool->free_count > 0 && user->held < BUF_PER_CONN &&
           buf_held_by_uid(pool, user->uid) < most;
}

static void buf_line_leave(struct buf_pool *pool, struct buf_user *user)
{
    struct buf_user **at = &pool->line;
    while (*at != NULL && *at != user) {
        at = &(*at)->next_waiting;
    }
    if (*at == NULL) {
        return;
    }
    *at = user->next_waiting;
    if (*at == NULL) {
        pool->line_end = at;
    }
    user->next_waiting = NULL;
    user->waiting = 0;
}

static void buf_line_join(struct buf_pool *pool, struct buf_user *user)
{
    if (!user->waiting) {
        user->waiting = 1;
        user->next_waiting = NULL;
        *pool->line_end = user;
        pool->line_end = &user->next_waiting;
    }
}

struct buf *buf_take(struct buf_pool *pool, struct buf_user *user)
{
    if (!buf_allowed(pool, user)) {
        buf_line_join(pool, user);
        return NULL;
    }
    buf_line_leave(pool, user);
    struct buf *buf = pool->free;
    pool->free = buf->next;
    pool->free_count--;
    buf->next = NULL;
    buf->bytes = 0;
    buf->taken = 1;
    buf->user = user;
    buf->uid = user->uid;
    user->held++;
    return buf;
}

static struct buf_user *buf_line_first_allowed(const struct buf_pool *pool)
{
    struct buf_user *user = pool->line;
    while (user != NULL && !buf_allowed(pool, user)) {
        user = user->next_waiting;
    }
    return user;
}

/* A resume may give buffers back itself; the outermost offer goes on for it. */
static void buf_offer(struct buf_pool *pool)
{
    struct buf_user *user = NULL;
    if (pool->offering) {
        return;
    }
    pool->offering = true;
    while ((user = buf_line_first_allowed(pool)) != NULL) {
        buf_line_leave(pool, user);
        user->resume(user);
    }
    pool->offering = false;
}

void buf_give(struct buf *buf)
{
    if (buf == NULL) {
        return;
    }
    struct buf_pool *pool = buf->pool;
    assert(buf->taken);
    if (buf->user != NULL) {
        buf->user->held--;
    }
    buf->user = NULL;
    buf->taken = 0;
    buf->next = pool->free;
    pool->free = buf;
    pool->free_count++;
    buf_offer(pool);
}

void buf_leave(struct buf_pool *pool, struct buf_user *user)
{
    buf_line_leave(pool, user);
}

void buf_user_gone(struct buf_pool *pool, struct buf_user *user)
{
    buf_line_leave(pool, user);
    for (unsigned i = 0; i < pool->count; i++) {
        if (pool->bufs[i].user == user) {
            pool->bufs[i].user = NULL;
        }
    }
    user->held = 0;
}

uint64_t buf_pool_bytes(const struct buf_pool *pool)
{
    return (uint64_t)pool->count * LIMIT_CHUNK_BYTES;
}

uint64_t buf_pool_used_bytes(const struct buf_pool *pool)
{
    return (uint64_t)(pool->count - pool->free_count) * LIMIT_CHUNK_BYTES;
}
