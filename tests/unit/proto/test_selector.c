#include "record/selector.h"
#include "support/case.h"

static struct selector selector_ok(const char *text)
{
    struct selector s;
    struct err err = { 0 };
    cr_assert_eq(selector_parse(slice_str(text), &s, &err), 0, "%s: %s", text, err.msg);
    return s;
}

CASE(selector, grammar)
{
    struct selector s = selector_ok("");
    cr_assert(s.kind == SELECT_LATEST && s.number == 0);
    s = selector_ok("latest");
    cr_assert(s.kind == SELECT_LATEST && s.number == 0);
    s = selector_ok("latest~12");
    cr_assert(s.kind == SELECT_LATEST && s.number == 12);
    s = selector_ok("1200");
    cr_assert(s.kind == SELECT_STEP && s.number == 1200);
    s = selector_ok("18446744073709551615");
    cr_assert(s.kind == SELECT_STEP && s.number == UINT64_MAX);
    s = selector_ok("seq:7");
    cr_assert(s.kind == SELECT_SEQ && s.number == 7);
    s = selector_ok("finite");
    cr_assert_eq(s.kind, SELECT_FINITE);
    s = selector_ok("best:val.loss_1-x:min");
    cr_assert(s.kind == SELECT_BEST && !s.want_max);
    cr_assert_eq(slice_cmp(s.label, slice_str("val.loss_1-x")), 0);
    s = selector_ok("best:acc:max");
    cr_assert(s.kind == SELECT_BEST && s.want_max);
    s = selector_ok("id:000102030405060708090a0b0c0d0eFF");
    cr_assert_eq(s.kind, SELECT_ID);
    cr_assert(s.id[0] == 0 && s.id[10] == 10 && s.id[15] == 255);
}

CASE(selector, refuses)
{
    static const char *const bad[] = {
        "Latest",
        "latest~",
        "latest~-1",
        "latest~1x",
        "-1",
        "1.5",
        " 1",
        "18446744073709551616",
        "seq:",
        "seq:x",
        "id:",
        "id:0001",
        "id:000102030405060708090a0b0c0d0e0g",
        "id:000102030405060708090a0b0c0d0e0f00",
        "best:loss",
        "best::min",
        "best:loss:avg",
        "best:a b:min",
        "best:a:b:min",
        "finite ",
        "newest",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct selector s;
        struct err err = { 0 };
        cr_assert_eq(selector_parse(slice_str(bad[i]), &s, &err), -CAIRN_EINVAL, "%s", bad[i]);
        cr_assert_not_null(strstr(err.msg, bad[i]));
        cr_assert_not_null(strstr(err.msg, "expected"));
    }
    char longer[LIMIT_SELECTOR_BYTES + 1];
    struct selector s;
    memset(longer, '1', sizeof longer);
    cr_assert_eq(selector_parse(slice_of(longer, sizeof longer), &s, NULL), -CAIRN_EINVAL);
}

static void
selector_check_split(const char *text, const char *user, const char *run, const char *selector)
{
    struct slice got[3];
    struct err err = { 0 };
    cr_assert_eq(
        selector_split(slice_str(text), &got[0], &got[1], &got[2], &err), 0, "%s", err.msg);
    cr_assert_eq(slice_cmp(got[0], slice_str(user)), 0, "user of %s", text);
    cr_assert_eq(slice_cmp(got[1], slice_str(run)), 0, "run of %s", text);
    cr_assert_eq(slice_cmp(got[2], slice_str(selector)), 0, "selector of %s", text);
}

CASE(selector, splits)
{
    selector_check_split("run", "", "run", "");
    selector_check_split("run@", "", "run", "");
    selector_check_split("run@latest~1", "", "run", "latest~1");
    selector_check_split("ann/run@seq:1", "ann", "run", "seq:1");
    selector_check_split("1000/run", "1000", "run", "");
    selector_check_split("run@best:a:min", "", "run", "best:a:min");
    static const char *const bad[] = { "", "@latest", "/run", "ann/", "ann/b/c", ".run", "r n@1" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct slice got[3];
        struct err err = { 0 };
        cr_assert_eq(selector_split(slice_str(bad[i]), &got[0], &got[1], &got[2], &err),
                     -CAIRN_EINVAL,
                     "%s",
                     bad[i]);
        cr_assert_not_null(strstr(err.msg, "RUN"));
    }
}
