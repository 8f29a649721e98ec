#include <stdint.h>
#include <string.h>

#include "internal/limits.h"
#include "net/buf.h"
#include "support/case.h"

#define CHUNK ((uint64_t)LIMIT_CHUNK_BYTES)

/* Users that take again when they are resumed, and remember the order. */
struct taker {
    struct buf_user user;
    struct buf_pool *pool;
    struct buf *got;
    int refuses; /* it was resumed, but needs none any more */
    unsigned turn;
};
static unsigned turns;

static void taker_resume(struct buf_user *user)
{
    struct taker *t = (struct taker *)user;
    t->turn = ++turns;
    if (!t->refuses) {
        t->got = buf_take(t->pool, user);
        cr_assert_not_null(t->got, "who is resumed gets one");
    }
}

static struct taker taker(struct buf_pool *pool, uint32_t uid)
{
    return (struct taker){ .user = { .uid = uid, .resume = taker_resume }, .pool = pool };
}

CASE(buf, whole_buffers_page_aligned_and_all_there)
{
    struct buf_pool *pool = buf_pool_new(5 * CHUNK + 1000, BUF_SHARE_WRITE);
    struct taker t[5];
    cr_assert_eq(buf_pool_bytes(pool), 5 * CHUNK);
    for (uint32_t i = 0; i < 5; i++) {
        t[i] = taker(pool, i);
        t[i].got = buf_take(pool, &t[i].user);
        cr_assert_not_null(t[i].got);
        cr_assert_eq((uintptr_t)t[i].got->data % 4096, 0);
        memset(t[i].got->data, (int)i + 1, CHUNK);
    }
    cr_assert_eq(buf_pool_used_bytes(pool), 5 * CHUNK);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(t[i].got->data[0], i + 1);
        cr_assert_eq(t[i].got->data[CHUNK - 1], i + 1);
        buf_give(t[i].got);
    }
    cr_assert_eq(buf_pool_used_bytes(pool), 0);
    buf_give(NULL);
    cr_assert_null(buf_pool_free(pool));
    cr_assert_null(buf_pool_free(NULL));
}

CASE(buf, at_least_four)
{
    struct buf_pool *pool = buf_pool_new(1, BUF_SHARE_WRITE);
    cr_assert_eq(buf_pool_bytes(pool), 4 * CHUNK);
    (void)buf_pool_free(pool);
}

CASE(buf, a_connection_holds_two)
{
    struct buf_pool *pool = buf_pool_new(16 * CHUNK, BUF_SHARE_WRITE);
    struct taker t = taker(pool, 1000);
    struct buf *first = buf_take(pool, &t.user);
    struct buf *second = buf_take(pool, &t.user);
    cr_assert_not_null(second);
    cr_assert_null(buf_take(pool, &t.user));
    buf_give(first);
    cr_assert_not_null(t.got, "resumed by its own buffer");
    buf_give(second);
    buf_give(t.got);
    (void)buf_pool_free(pool);
}

CASE(buf, a_uid_holds_a_quarter_others_still_get_some)
{
    struct buf_pool *pool = buf_pool_new(16 * CHUNK, BUF_SHARE_WRITE);
    struct taker t[6];
    for (unsigned i = 0; i < 6; i++) {
        t[i] = taker(pool, i < 5 ? 1000 : 2000);
        t[i].got = buf_take(pool, &t[i].user);
        cr_assert_eq(t[i].got == NULL, i == 4, "user %u", i);
    }
    buf_give(t[5].got);
    cr_assert_null(t[4].got, "another uid's buffer is no use to it");
    buf_give(t[0].got);
    cr_assert_not_null(t[4].got);
    for (unsigned i = 1; i < 5; i++) {
        buf_give(t[i].got);
    }
    (void)buf_pool_free(pool);
}

/* One that sits on its two, for ever: its uid's others go on, one buffer between them if need be.
 */
static void one_holds_its_two(unsigned count, enum buf_share share, unsigned others)
{
    struct buf_pool *pool = buf_pool_new(count * CHUNK, share);
    struct taker stalled = taker(pool, 1000);
    struct taker t[8];
    struct buf *held[2] = { buf_take(pool, &stalled.user), buf_take(pool, &stalled.user) };
    cr_assert_not_null(held[1], "alone it has read-ahead even in a pool of %u", count);
    for (unsigned i = 0; i < 8; i++) {
        t[i] = taker(pool, 1000);
        t[i].got = buf_take(pool, &t[i].user);
        cr_assert_eq(t[i].got != NULL, i < others, "user %u in a pool of %u", i, count);
    }
    for (unsigned i = 0; i < 8; i++) {
        cr_assert_not_null(t[i].got, "user %u gets its turn", i);
        t[i].refuses = 1; /* wants no more */
        buf_give(t[i].got);
    }
    buf_give(held[0]);
    buf_give(held[1]);
    (void)buf_pool_free(pool);
}

CASE(buf, one_that_keeps_its_two_does_not_stop_its_uid)
{
    one_holds_its_two(4, BUF_SHARE_READ, 1);
    one_holds_its_two(8, BUF_SHARE_READ, 2);
    one_holds_its_two(16, BUF_SHARE_READ, 6);
    one_holds_its_two(4, BUF_SHARE_WRITE, 1);
    one_holds_its_two(16, BUF_SHARE_WRITE, 2);
}

CASE(buf, the_last_of_a_share_is_for_who_has_none)
{
    struct buf_pool *pool = buf_pool_new(8 * CHUNK, BUF_SHARE_READ); /* four per uid */
    struct taker t[3];
    struct buf *second[2];
    for (unsigned i = 0; i < 2; i++) {
        t[i] = taker(pool, 1000);
        t[i].got = buf_take(pool, &t[i].user);
        second[i] = buf_take(pool, &t[i].user);
        cr_assert_eq(second[i] == NULL, i == 1);
    }
    t[2] = taker(pool, 1000);
    t[2].got = buf_take(pool, &t[2].user);
    cr_assert_not_null(t[2].got, "past the one that waits for its second");
    t[1].refuses = 1;
    buf_give(second[0]);
    buf_give(t[0].got);
    buf_give(t[1].got);
    buf_give(t[2].got);
    (void)buf_pool_free(pool);
}

CASE(buf, the_line_is_served_in_order_past_those_over_their_share)
{
    struct buf_pool *pool = buf_pool_new(4 * CHUNK, BUF_SHARE_WRITE); /* three per uid */
    struct taker holder[4];
    struct taker waiting[3];
    turns = 0;
    for (unsigned i = 0; i < 4; i++) {
        holder[i] = taker(pool, i < 1 ? 0 : 1);
        holder[i].got = buf_take(pool, &holder[i].user);
    }
    waiting[0] = taker(pool, 1); /* uid 1 has its three */
    waiting[1] = taker(pool, 5);
    waiting[2] = taker(pool, 6);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_null(buf_take(pool, &waiting[i].user));
        cr_assert_null(buf_take(pool, &waiting[i].user), "asking twice is standing in line once");
    }
    buf_give(holder[0].got);
    cr_assert_eq(waiting[1].turn, 1);
    buf_give(holder[2].got); /* uid 1: now the first in line may */
    cr_assert_eq(waiting[0].turn, 2);
    cr_assert_eq(waiting[2].turn, 0);
    buf_give(holder[1].got);
    cr_assert_eq(waiting[2].turn, 3);
    buf_give(holder[3].got);
    for (unsigned i = 0; i < 3; i++) {
        buf_give(waiting[i].got);
    }
    (void)buf_pool_free(pool);
}

CASE(buf, who_needs_none_any_more_does_not_block_the_line)
{
    struct buf_pool *pool = buf_pool_new(4 * CHUNK, BUF_SHARE_WRITE);
    struct taker holder[4];
    struct taker waiting[8];
    for (uint32_t i = 0; i < 4; i++) {
        holder[i] = taker(pool, i);
        holder[i].got = buf_take(pool, &holder[i].user);
    }
    for (uint32_t i = 0; i < 8; i++) {
        waiting[i] = taker(pool, 100 + i);
        waiting[i].refuses = i < 7;
        cr_assert_null(buf_take(pool, &waiting[i].user));
    }
    buf_give(holder[0].got);
    cr_assert_not_null(waiting[7].got);
    buf_give(waiting[7].got);
    for (unsigned i = 1; i < 4; i++) {
        buf_give(holder[i].got);
    }
    (void)buf_pool_free(pool);
}

CASE(buf, a_user_that_is_gone_leaves_the_line_and_may_give_back_later)
{
    struct buf_pool *pool = buf_pool_new(4 * CHUNK, BUF_SHARE_WRITE);
    struct taker holder[2];
    struct buf *bufs[4];
    for (uint32_t i = 0; i < 2; i++) {
        holder[i] = taker(pool, i);
        bufs[(size_t)2 * i] = buf_take(pool, &holder[i].user);
        bufs[(size_t)2 * i + 1] = buf_take(pool, &holder[i].user);
    }
    struct taker leaving = taker(pool, 7);
    struct taker staying = taker(pool, 8);
    cr_assert_null(buf_take(pool, &leaving.user));
    cr_assert_null(buf_take(pool, &staying.user));
    buf_user_gone(pool, &leaving.user);
    buf_user_gone(pool, &holder[0].user);
    memset(&holder[0], 0xff, sizeof holder[0]); /* must not be touched any more */
    memset(&leaving, 0xff, sizeof leaving);
    buf_give(bufs[0]);
    cr_assert_not_null(staying.got);
    buf_give(bufs[1]);
    buf_give(bufs[2]);
    buf_give(bufs[3]);
    buf_give(staying.got);
    (void)buf_pool_free(pool);
}

CASE(buf, the_last_in_line_leaving_keeps_the_line_whole)
{
    struct buf_pool *pool = buf_pool_new(4 * CHUNK, BUF_SHARE_WRITE);
    struct taker holder[4];
    for (uint32_t i = 0; i < 4; i++) {
        holder[i] = taker(pool, i);
        holder[i].got = buf_take(pool, &holder[i].user);
    }
    struct taker a = taker(pool, 10);
    struct taker b = taker(pool, 11);
    struct taker c = taker(pool, 12);
    cr_assert_null(buf_take(pool, &a.user));
    cr_assert_null(buf_take(pool, &b.user));
    buf_user_gone(pool, &b.user);
    cr_assert_null(buf_take(pool, &c.user));
    buf_give(holder[0].got);
    buf_give(holder[1].got);
    cr_assert_not_null(a.got);
    cr_assert_not_null(c.got);
    cr_assert_null(b.got);
    buf_give(a.got);
    buf_give(c.got);
    buf_give(holder[2].got);
    buf_give(holder[3].got);
    (void)buf_pool_free(pool);
}
