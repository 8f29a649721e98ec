/* buf.h: the fixed pool of page-aligned payload buffers, one chunk each. Loop thread only.
 *
 * The pool is all the payload memory there is: its size bounds the daemon. One connection holds at
 * most two, one uid at most its share of the pool (but three at least), and the last of a share
 * goes only to a connection that has none: so one peer that sits on its two keeps nobody waiting,
 * not even in the smallest pool. Who gets none waits in line, and is called in the order of asking
 * when one comes back. Memory is mapped at start and stays. */
#ifndef NET_BUF_H
#define NET_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf_pool;
struct buf_user { /* one per connection: embedded, zero except uid and resume */
    uint32_t uid;
    unsigned held;
    void (*resume)(struct buf_user *user); /* ask again now: called inside of somebody's buf_give */
    struct buf_user *next_waiting;         /* private */
    int waiting;
};
struct buf {
    uint8_t *data;  /* LIMIT_CHUNK_BYTES, page-aligned */
    uint32_t bytes; /* in use */
    struct buf_pool *pool;
    struct buf_user *user; /* NULL once the user is gone */
    uint32_t uid;
    int taken; /* private */
    struct buf *next;
};

/* A buffer that is being filled comes back as fast as the disk takes it; one that is being sent, as
 * fast as a peer reads. */
enum buf_share { BUF_SHARE_WRITE = 4, BUF_SHARE_READ = 2 }; /* one uid's: a quarter, a half */
/* Rounded down to whole buffers, at least 4. */
struct buf_pool *buf_pool_new(uint64_t bytes, enum buf_share share);
struct buf_pool *buf_pool_free(struct buf_pool *pool); /* all buffers given back before */
/* NULL: none now; the user is in line and its resume will be called. */
struct buf *buf_take(struct buf_pool *pool, struct buf_user *user);
void buf_give(struct buf *buf); /* NULL is allowed */
/* The user waits no more: its resume will not be called. */
void buf_leave(struct buf_pool *pool, struct buf_user *user);
/* The user goes away: leaves the line; buffers that it still holds may come back later. */
void buf_user_gone(struct buf_pool *pool, struct buf_user *user);
uint64_t buf_pool_bytes(const struct buf_pool *pool);
uint64_t buf_pool_used_bytes(const struct buf_pool *pool);

#endif
