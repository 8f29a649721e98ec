/* Pins and labels that came after the commit: what they do, and that damage to them does less. */
#include <stdio.h>
#include <string.h>

#include "raw.h"
#include "record/selector.h"

struct some {
    struct fix f;
    struct rec *rec[4];
};

static void some_start(struct some *s)
{
    const struct label first = { .name = slice_str("loss"), .value = slice_str("0.5") };
    struct err err = { .code = 0 };
    fix_open(&s->f);
    for (unsigned i = 1; i <= 3; i++) {
        s->rec[i] = rec_small(UINT64_C(100) * i, i);
        s->rec[i]->b.labels = &first;
        s->rec[i]->b.label_count = 1;
        cr_assert_eq(rec_save(s->rec[i], s->f.run, &err), 0, "%s", err.msg);
    }
}

static void some_end(struct some *s)
{
    fix_remove(&s->f);
    for (unsigned i = 1; i <= 3; i++) {
        (void)rec_free(s->rec[i]);
    }
}

static void again(struct some *s)
{
    fix_close(&s->f);
    fix_fsck_clean(&s->f);
    fix_reopen(&s->f);
}

/* What is told of a boundary: "name=value ..." in the order of names, then pins. */
static void tells(const struct some *s, uint64_t seq, const char *labels, uint32_t pins)
{
    char text[256] = "";
    struct st_list list;
    struct bump b;
    struct err err = { .code = 0 };
    bump_init(&b, (size_t)1 << 20);
    cr_assert_eq(st_list(s->f.run, seq, 1, &b, &list, &err), 0, "%s", err.msg);
    cr_assert_eq(list.count, 1);
    for (uint32_t i = 0; i < list.boundaries[0].label_count; i++) {
        const struct label *l = &list.boundaries[0].labels[i];
        size_t n = strlen(text);
        (void)snprintf(text + n,
                       sizeof text - n,
                       "%s%.*s=%.*s",
                       n == 0 ? "" : " ",
                       (int)l->name.bytes,
                       (const char *)l->name.data,
                       (int)l->value.bytes,
                       (const char *)l->value.data);
    }
    cr_assert_str_eq(text, labels);
    cr_assert_eq(list.boundaries[0].pin_count, pins);
    bump_fini(&b);
}

static void
labels(const struct some *s, uint64_t seq, const char *name, const char *value, int code)
{
    const struct label label = { .name = slice_str(name), .value = slice_str(value) };
    struct err err = { .code = 0 };
    cr_assert_eq(st_label(s->f.run, seq, &label, 1, &err), code, "%s", err.msg);
}

static void pins(const struct some *s, uint64_t seq, const char *name, const char *why)
{
    const struct st_pin pin = { .name = slice_str(name), .why = slice_str(why), .uid = 9 };
    struct err err = { .code = 0 };
    cr_assert_eq(st_pin(s->f.run, seq, &pin, &err), 0, "%s", err.msg);
}

static void best_is(const struct some *s, uint64_t seq)
{
    struct selector sel;
    uint64_t found = 0;
    struct err err = { .code = 0 };
    cr_assert_eq(selector_parse(slice_str("best:loss:min"), &sel, &err), 0);
    cr_assert_eq(st_select(s->f.run, &sel, &found, &err), 0, "%s", err.msg);
    cr_assert_eq(found, seq);
}

CASE(note, labels_stand_over_the_first_ones)
{
    struct some s;
    some_start(&s);
    best_is(&s, 3); /* of equal ones the newest */
    labels(&s, 1, "loss", "0.25", 0);
    labels(&s, 1, "a", "", 0);
    for (unsigned i = 0; i < 2; i++) {
        tells(&s, 1, "a= loss=0.25", 0);
        tells(&s, 2, "loss=0.5", 0);
        best_is(&s, 1);
        again(&s);
    }
    labels(&s, 1, "loss", "nan", 0);
    best_is(&s, 3);
    labels(&s, 9, "loss", "1", -CAIRN_ENOENT);
    labels(&s, 1, "no name", "1", -CAIRN_EINVAL);
    some_end(&s);
}

CASE(note, there_are_64_labels_at_most)
{
    struct some s;
    some_start(&s);
    for (unsigned i = 1; i < LIMIT_LABELS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        labels(&s, 1, name, "1", 0);
    }
    labels(&s, 1, "one.more", "1", -CAIRN_ELIMIT);
    labels(&s, 1, "n7", "2", 0);
    some_end(&s);
}

CASE(note, a_lost_label_is_that_of_the_row)
{
    struct some s;
    some_start(&s);
    fix_close(&s.f);
    raw_flip(&s.f, DB_LABEL, 0, 1);
    fix_reopen(&s.f);
    tells(&s, 1, "loss=0.5", 0);
    some_end(&s);
}

/* ---- pins ------------------------------------------------------------------------------------ */

struct seen {
    char text[256];
};

static int seen_each(void *arg, const struct st_pin *pin, struct err *err)
{
    struct seen *seen = arg;
    size_t n = strlen(seen->text);
    (void)err;
    (void)snprintf(seen->text + n,
                   sizeof seen->text - n,
                   "%lu:%.*s:%.*s:%u ",
                   pin->seq,
                   (int)pin->name.bytes,
                   (const char *)pin->name.data,
                   (int)pin->why.bytes,
                   (const char *)pin->why.data,
                   pin->uid);
    return 0;
}

static void pins_are(const struct some *s, const char *expected)
{
    struct seen seen = { .text = "" };
    struct err err = { .code = 0 };
    cr_assert_eq(st_pins(s->f.run, seen_each, &seen, &err), 0, "%s", err.msg);
    cr_assert_str_eq(seen.text, expected);
}

CASE(note, a_pinned_boundary_stays)
{
    struct some s;
    struct err err = { .code = 0 };
    some_start(&s);
    pins(&s, 1, "b", "one");
    pins(&s, 1, "a", "");
    pins(&s, 1, "b", "two");
    again(&s);
    tells(&s, 1, "loss=0.5", 2);
    pins_are(&s, "1:a::9 1:b:two:9 ");
    cr_assert_eq(st_remove(s.f.run, &(uint64_t){ 1 }, 1, &err), -CAIRN_EBUSY);
    cr_assert_not_null(strstr(err.msg, "pinned as 'a'"), "%s", err.msg);
    cr_assert_eq(st_unpin(s.f.run, 1, slice_str("a"), &err), 0, "%s", err.msg);
    cr_assert_eq(st_remove(s.f.run, &(uint64_t){ 1 }, 1, &err), -CAIRN_EBUSY);
    cr_assert_eq(st_unpin(s.f.run, 1, slice_str("a"), &err), -CAIRN_ENOENT);
    cr_assert_eq(st_unpin(s.f.run, 1, slice_str("b"), &err), 0, "%s", err.msg);
    cr_assert_eq(st_remove(s.f.run, &(uint64_t){ 1 }, 1, &err), 0, "%s", err.msg);
    pins_are(&s, "");
    some_end(&s);
}

/* A damaged pin pins all the same, and can be taken away. */
CASE(note, a_damaged_pin_pins)
{
    struct some s;
    struct err err = { .code = 0 };
    some_start(&s);
    pins(&s, 1, "a", "why");
    fix_close(&s.f);
    raw_flip(&s.f, DB_PIN, 0, 1);
    fix_reopen(&s.f);
    tells(&s, 1, "loss=0.5", 1);
    pins_are(&s, "1:a:(this row is damaged):4294967295 ");
    cr_assert_eq(st_remove(s.f.run, &(uint64_t){ 1 }, 1, &err), -CAIRN_EBUSY);
    cr_assert_eq(st_unpin(s.f.run, 1, slice_str("a"), &err), 0, "%s", err.msg);
    cr_assert_eq(st_remove(s.f.run, &(uint64_t){ 1 }, 1, &err), 0, "%s", err.msg);
    some_end(&s);
}
