#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "support/case.h"

/* Lines go into a pipe; one read gives what was logged. */
static int log_pipe[2];

static void begin(void)
{
    cr_assert_eq(pipe2(log_pipe, O_CLOEXEC | O_NONBLOCK), 0);
    log_set_fd(log_pipe[1]);
}

static const char *logged(void)
{
    static char text[65536];
    ssize_t bytes = read(log_pipe[0], text, sizeof text - 1);
    text[bytes < 0 ? 0 : bytes] = '\0';
    return text;
}

static void end(void)
{
    log_set_fd(STDERR_FILENO);
    (void)close(log_pipe[0]);
    (void)close(log_pipe[1]);
}

static void claim_journal(ino_t difference)
{
    struct stat st;
    char stream[64];
    cr_assert_eq(fstat(log_pipe[1], &st), 0);
    (void)snprintf(stream,
                   sizeof stream,
                   "%ju:%ju",
                   (uintmax_t)st.st_dev,
                   (uintmax_t)(st.st_ino + difference));
    (void)setenv("JOURNAL_STREAM", stream, 1);
    log_set_fd(log_pipe[1]);
}

CASE(log, journal_lines_have_a_priority)
{
    begin();
    claim_journal(0);
    log_warn("disk slow", "ms=%d", 17);
    cr_assert_str_eq(logged(), "<4>disk slow: ms=17\n");
    end();
}

CASE(log, somebody_elses_journal_is_not_ours)
{
    begin();
    claim_journal(1);
    log_warn("disk slow", "ms=%d", 17);
    const char *line = logged();
    cr_assert_neq(line[0], '<');
    cr_assert_not_null(strstr(line, "Z warning disk slow: ms=17\n"), "%s", line);
    end();
}

CASE(log, level_decides)
{
    begin();
    log_debug("unseen", "x=1");
    cr_assert_str_eq(logged(), "");
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("seen", "x=1");
    cr_assert_not_null(strstr(logged(), "debug seen: x=1"));
    log_set_level(LOG_LEVEL_ERROR);
    log_warn("unseen", "x=1");
    cr_assert_str_eq(logged(), "");
    end();
}

CASE(log, no_peer_forges_a_line)
{
    begin();
    claim_journal(0);
    log_info("peer", "name=%s", "x\n<3>forged\r\x1b[2J");
    cr_assert_str_eq(logged(), "<6>peer: name=x?<3>forged??[2J\n");
    end();
}

CASE(log, long_lines_are_cut_and_end)
{
    static char text[5000];
    memset(text, 'a', sizeof text - 1);
    begin();
    log_info("long", "%s", text);
    const char *line = logged();
    cr_assert_lt(strlen(line), 2100);
    cr_assert_eq(line[strlen(line) - 1], '\n');
    cr_assert_eq(line[strlen(line) - 2], 'a');
    end();
}

static void chatter(void)
{
    log_info("chatter", "x=1");
}

CASE(log, a_call_site_is_limited_another_is_not)
{
    begin();
    claim_journal(0);
    for (int i = 0; i < 100; i++) {
        chatter();
    }
    const char *text = logged();
    int lines = 0;
    for (const char *c = text; *c != '\0'; c++) {
        lines += *c == '\n';
    }
    cr_assert_eq(lines, 20);
    log_info("other", "x=1");
    cr_assert_str_eq(logged(), "<6>other: x=1\n");
    end();
}

CASE(log, what_was_swallowed_is_owned_up_to)
{
    struct log_site site = { .window_ms = 1, .lines = 20, .swallowed = 7 }; /* a window long ago */
    begin();
    claim_journal(0);
    log_write(&site, LOG_LEVEL_INFO, "chatter", "x=1");
    cr_assert_str_eq(logged(), "<6>chatter: x=1 swallowed=7\n");
    end();
}

static const char *quoted(const char *text)
{
    static char ret[LOG_QUOTE_BYTES];
    return log_quote(ret, sizeof ret, text, strlen(text));
}

CASE(log, quoting)
{
    char small[12];
    cr_assert_str_eq(quoted("plain"), "\"plain\"");
    cr_assert_str_eq(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
    cr_assert_str_eq(quoted("l\xc3\xb6ss \xf0\x9f\x98\x80"), "\"l\xc3\xb6ss \xf0\x9f\x98\x80\"");
    cr_assert_str_eq(quoted("\n\x7f\xff\xc3"), "\"\\x0a\\x7f\\xff\\xc3\"");
    cr_assert_str_eq(quoted("\xc2\x9b"), "\"\\xc2\\x9b\"", "a C1 control character");
    cr_assert_str_eq(log_quote(small, sizeof small, "\0a", 2), "\"\\x00a\"");
    cr_assert_str_eq(log_quote(small, sizeof small, "abcdefghijk", 11), "\"abcdef...\"");
    cr_assert_str_eq(log_quote(small, sizeof small, "", 0), "\"\"");
}
