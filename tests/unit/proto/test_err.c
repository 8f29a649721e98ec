#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "internal/err.h"
#include "support/case.h"

CASE(err, set_wrap_errno)
{
    struct err err = { 0 };
    cr_assert_eq(err_set(&err, -CAIRN_EIO, "chunk %d", 7), -CAIRN_EIO);
    cr_assert_eq(err_wrap(&err, -CAIRN_EINVAL, "segment %s", "a"), -CAIRN_EIO);
    cr_assert_str_eq(err.msg, "segment a: chunk 7");
    cr_assert_eq(err_errno(&err, ENOSPC, "write %s", "f"), -CAIRN_ENOSPC);
    cr_assert_str_eq(err.msg, "write f: No space left on device");
    cr_assert_eq(err_errno(&err, EDQUOT, "x"), -CAIRN_ENOSPC);
    cr_assert_eq(err_errno(&err, ENOMEM, "x"), -CAIRN_ENOMEM);
    cr_assert_eq(err_errno(&err, ENOENT, "x"), -CAIRN_ENOENT);
    cr_assert_eq(err_errno(&err, EACCES, "x"), -CAIRN_EACCES);
    cr_assert_eq(err_errno(&err, EPERM, "x"), -CAIRN_EACCES);
    cr_assert_eq(err_errno(&err, ETIMEDOUT, "x"), -CAIRN_ETIMEDOUT);
    cr_assert_eq(err_errno(&err, EBADF, "x"), -CAIRN_EIO);
    struct err fresh = { 0 };
    cr_assert_eq(err_wrap(&fresh, -CAIRN_EBUSY, "alone"), -CAIRN_EBUSY);
    cr_assert_str_eq(fresh.msg, "alone");
}

CASE(err, null_is_allowed)
{
    cr_assert_eq(err_set(NULL, -CAIRN_EIO, "x"), -CAIRN_EIO);
    cr_assert_eq(err_wrap(NULL, -CAIRN_EIO, "x"), -CAIRN_EIO);
    cr_assert_eq(err_errno(NULL, ENOSPC, "x"), -CAIRN_ENOSPC);
    cr_assert_neq(err_at(NULL, 1, "x", 1), 0);
}

static void err_check_text(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = utf8_length((const uint8_t *)text, left);
        cr_assert_neq(length, 0, "not UTF-8: %s", text);
        cr_assert_geq((unsigned char)*text, 0x20);
        text += length;
        left -= length;
    }
}

CASE(err, message_is_fit_to_send)
{
    struct err err = { 0 };
    char text[600];
    (void)err_set(&err, -CAIRN_EIO, "a\nb\x01\xFFz\xC3");
    cr_assert_str_eq(err.msg, "a?b??z?");
    /* Cut inside a two-byte character, wherever the cut falls. */
    for (size_t lead = 0; lead < 2; lead++) {
        size_t at = 0;
        memset(text, 'x', lead);
        for (at = lead; at + 2 < sizeof text; at += 2) {
            memcpy(text + at, "\xC3\xA9", 2);
        }
        text[at] = '\0';
        (void)err_set(&err, -CAIRN_EIO, "%s", text);
        cr_assert_eq(strlen(err.msg), sizeof err.msg - 1);
        err_check_text(err.msg);
        (void)err_wrap(&err, -CAIRN_EIO, "%s", "front");
        cr_assert_eq(strncmp(err.msg, "front: ", 7), 0);
        cr_assert_eq(strlen(err.msg), sizeof err.msg - 1);
        err_check_text(err.msg);
        (void)err_wrap(&err, -CAIRN_EIO, "%s", text);
        cr_assert_eq(strlen(err.msg), sizeof err.msg - 1);
        err_check_text(err.msg);
    }
}

CASE(err, path_is_escaped_and_cut)
{
    struct err err = { 0 };
    (void)err_set(&err, -CAIRN_ECORRUPT, "x");
    cr_assert_eq(err_at(&err, 3, "layer\n\"q\"\\\xFF caf\xC3\xA9", 17), -CAIRN_ECORRUPT);
    cr_assert_eq(err.component, 3);
    cr_assert_str_eq(err.path, "layer\\x0a\\x22q\\x22\\x5c\\xff caf\xC3\xA9");
    char path[400];
    memset(path, 'p', sizeof path);
    (void)err_at(&err, 1, path, sizeof path);
    cr_assert_lt(strlen(err.path), sizeof err.path);
    cr_assert_str_eq(err.path + strlen(err.path) - 4, "p...");
    (void)err_at(&err, 1, NULL, 0);
    cr_assert_str_eq(err.path, "");
    (void)err_at(&err, 1, "again", 5);
    (void)err_set(&err, -CAIRN_EIO, "another failure");
    cr_assert_str_eq(err.path, "");
}

CASE(err, names_and_texts)
{
    cr_assert_str_eq(cairn_error_name(-CAIRN_ENOSPC), "CAIRN_ENOSPC");
    cr_assert_str_eq(cairn_error_name(CAIRN_EINTERNAL), "CAIRN_EINTERNAL");
    cr_assert_str_eq(cairn_error_name(-999), "CAIRN_E?");
    cr_assert_eq(cairn_error_class_of(-CAIRN_ENOENT), CAIRN_CLASS_NOT_FOUND);
    cr_assert_eq(cairn_error_class_of(CAIRN_ECORRUPT), CAIRN_CLASS_UNREADABLE);
    cr_assert_eq(cairn_error_class_of(-CAIRN_ENOSPC), CAIRN_CLASS_OTHER);
    cr_assert_eq(cairn_error_class_of(0), CAIRN_CLASS_NONE);
    cr_assert_eq(cairn_error_class_of(-999), CAIRN_CLASS_NONE);
    cr_assert_str_eq(cairn_strerror(-CAIRN_ENOSPC), "no space left");
    cr_assert_str_eq(cairn_strerror(CAIRN_ENOSPC), "no space left");
    cr_assert_str_eq(cairn_strerror(999), "unknown error");
    cr_assert_str_eq(cairn_strerror(INT32_MIN), "unknown error");
}

CASE(utf8, table)
{
    static const struct {
        const char *text;
        size_t bytes;
        size_t length;
    } rows[] = {
        { "a", 1, 1 },
        { "\x7F", 1, 1 },
        { "\xC2\x80", 2, 2 },
        { "\xDF\xBF", 2, 2 },
        { "\xE0\xA0\x80", 3, 3 },
        { "\xED\x9F\xBF", 3, 3 },
        { "\xEE\x80\x80", 3, 3 },
        { "\xEF\xBF\xBF", 3, 3 },
        { "\xF0\x90\x80\x80", 4, 4 },
        { "\xF4\x8F\xBF\xBF", 4, 4 },
        { "", 0, 0 },
        { "\x80", 1, 0 },             /* a continuation alone */
        { "\xC0\x80", 2, 0 },         /* overlong NUL */
        { "\xC1\xBF", 2, 0 },         /* overlong */
        { "\xE0\x9F\xBF", 3, 0 },     /* overlong */
        { "\xF0\x8F\xBF\xBF", 4, 0 }, /* overlong */
        { "\xED\xA0\x80", 3, 0 },     /* surrogate */
        { "\xED\xBF\xBF", 3, 0 },     /* surrogate */
        { "\xF4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
        { "\xF5\x80\x80\x80", 4, 0 },
        { "\xFF", 1, 0 },
        { "\xC3", 1, 0 },         /* cut */
        { "\xE2\x82", 2, 0 },     /* cut */
        { "\xF0\x9F\x98", 3, 0 }, /* cut */
        { "\xE2\x82\x41", 3, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(utf8_length((const uint8_t *)rows[i].text, rows[i].bytes),
                     rows[i].length,
                     "row %zu",
                     i);
    }
}
