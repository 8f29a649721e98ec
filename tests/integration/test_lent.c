/* Memory that is lent: what STATUS says of it, and what the daemon's log says of a save that comes
 * inline all the same. */
#include <cairn/admin.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "site.h"
#include "support/case.h"

enum { LENT_WAIT_MS = 20000 };

#define LENT_MIB (UINT64_C(1) << 20)

static void lent_fill(struct site *s)
{
    static const uint64_t large[] = { 3, 1 << 20 };
    job_fill(&s->job, 1);
    (void)BOX_ADD(&s->job.model, "large", 70, CAIRN_HAS_ID, CAIRN_F32, 2, large, 9);
}

/* Up, with this much to lend. */
static void lent_up(struct site *s, const char *arena_bytes)
{
    site_up(s);
    cr_assert_eq(daemon_stop(&s->d), 0);
    s->d.args[0] = arena_bytes;
    daemon_start(&s->d, NULL);
}

static struct cairn_status lent_status(struct site *s)
{
    struct cairn_status status;
    cr_assert_eq(cairn_status(s->c, &status), 0, "%s", cairn_error(s->c));
    return status;
}

/* Is this what the log says of that step? */
static void lent_why(const struct site *s, uint64_t step, const char *why)
{
    char step_text[32];
    char why_text[160];
    (void)snprintf(step_text, sizeof step_text, " step=%llu ", (unsigned long long)step);
    (void)snprintf(why_text, sizeof why_text, " path=inline why=\"%s\" ", why);
    const char *const texts[] = { "committed", step_text, why_text, NULL };
    unsigned count = tmp_lines_with(s->d.log, texts);
    if (count != 1) {
        daemon_show_log(&s->d);
    }
    cr_assert_eq(count, 1, "step %d, expected%s", (int)step, why_text);
}

/* What the client says of itself. */
static void lent_memory(struct cairn *c, const char *words)
{
    const char *text = cairn_memory(c);
    cr_assert_not_null(strstr(text, words), "%s", text);
}

CASE(lent, status_counts_what_is_lent_and_to_whom, .timeout = 60)
{
    struct site s;
    lent_up(&s, "--arena-bytes=1GiB");
    lent_fill(&s);
    struct cairn_status status = lent_status(&s);
    bool root = getuid() == 0; /* may have all of it, others three quarters */
    cr_assert_eq(status.arena_bytes, 1024 * LENT_MIB);
    cr_assert_eq(status.arena_share_bytes, (root ? 1024 : 768) * LENT_MIB);
    cr_assert(status.arena_lent_bytes == 0 && status.arena_own_bytes == 0);
    cr_assert(status.arena_count == 0 && status.ring_count == 0);

    cr_assert_eq(cairn_warm(s.c, 16 * LENT_MIB, 2), 0, "%s", cairn_error(s.c));
    status = lent_status(&s);
    uint64_t two = status.arena_lent_bytes;
    cr_assert(status.arena_count == 2 && status.ring_count == 0);
    cr_assert_geq(two, 32 * LENT_MIB);
    cr_assert_eq(two % (2 * LENT_MIB), 0);
    cr_assert_eq(status.arena_own_bytes, two);

    site_save(&s, 1, NULL);
    site_check(&s, "latest");
    status = lent_status(&s);
    cr_assert(status.arena_count == 3 && status.ring_count == 1, "a large load has a ring");
    cr_assert_gt(status.arena_lent_bytes, two);
    site_down(&s);
}

/* Another connection of the same user has some; when it goes, none are left. */
CASE(lent, status_counts_all_connections_until_they_end, .timeout = 60)
{
    struct site s;
    struct cairn *c = NULL;
    site_up(&s);
    cr_assert_eq(cairn_open(s.d.socket, "demo", &c), 0);
    cr_assert_eq(cairn_warm(c, LENT_MIB, 1), 0, "%s", cairn_error(c));
    struct cairn_status status = lent_status(&s);
    cr_assert_eq(status.arena_count, 1);
    cr_assert(status.arena_own_bytes > 0 && status.arena_own_bytes == status.arena_lent_bytes);
    (void)cairn_close(c);
    uint64_t give_up_ns = now_ns() + (uint64_t)LENT_WAIT_MS * 1000000;
    do {
        cr_assert_lt(now_ns(), give_up_ns);
        status = lent_status(&s);
    } while (status.arena_count > 0);
    cr_assert(status.arena_own_bytes == 0 && status.arena_lent_bytes == 0);
    site_down(&s);
}

CASE(lent, log_says_that_no_arena_was_asked_for, .timeout = 60)
{
    struct site s;
    site_up(&s);
    lent_fill(&s);
    lent_memory(s.c, "0 of 2 arenas, 0 MiB; no more: not asked for yet");
    site_save(&s, 1, NULL);
    lent_why(&s, 1, "its connection has asked for no arena yet");
    lent_memory(s.c, "1 of 2 arenas, ");
    cr_assert_eq(cairn_warm(s.c, 16 * LENT_MIB, 2), 0, "%s", cairn_error(s.c));
    lent_memory(s.c, "2 of 2 arenas, ");
    cr_assert_null(strchr(cairn_memory(s.c), ';'), "%s", cairn_memory(s.c));
    site_down(&s);
}

CASE(lent, log_says_that_none_are_lent, .timeout = 60)
{
    struct site s;
    lent_up(&s, "--arena-bytes=0");
    lent_fill(&s);
    site_save(&s, 1, NULL);
    site_save(&s, 2, NULL);
    lent_why(&s, 1, "its connection has asked for no arena yet");
    lent_why(&s, 2, "this daemon lends no arenas");
    lent_memory(s.c, "0 of 2 arenas, 0 MiB; no more: this daemon lends no arenas");
    cr_assert_eq(lent_status(&s).arena_bytes, 0);
    site_down(&s);
}

CASE(lent, log_says_that_one_is_too_large, .timeout = 60)
{
    struct site s;
    lent_up(&s, "--arena-bytes=20MiB");
    lent_fill(&s);
    cr_assert_eq(cairn_warm(s.c, 16 * LENT_MIB, 1), 0, "%s", cairn_error(s.c));
    site_save(&s, 1, NULL);
    lent_why(&s, 1, "an arena was refused: over the limit of one user or connection");
    site_down(&s);
}

CASE(lent, log_says_that_what_may_be_lent_is_used_up, .timeout = 60)
{
    struct site s;
    struct cairn *c = NULL;
    lent_up(&s, "--arena-bytes=100MiB");
    lent_fill(&s);
    cr_assert_eq(cairn_open(s.d.socket, "demo", &c), 0);
    cr_assert_eq(cairn_warm(c, 30 * LENT_MIB, 1), 0, "%s", cairn_error(c));
    cr_assert_eq(cairn_warm(s.c, 16 * LENT_MIB, 1), 0, "%s", cairn_error(s.c));
    site_save(&s, 1, NULL);
    lent_why(&s, 1, "an arena was refused: what may be lent is used up");
    lent_memory(s.c, "0 of 2 arenas, 0 MiB; no more: an arena of ");
    lent_memory(c, "1 of 2 arenas, ");
    cr_assert_eq(lent_status(&s).arena_count, 1);
    (void)cairn_close(c);
    site_down(&s);
}
