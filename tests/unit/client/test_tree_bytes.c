/* The bytes of a tree: the example of the page, and what is no tree, cut, flipped or made up, which
 * is stored as it is and must be refused when it is read. */
#include <cairn/tree.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground.h"
#include "lib/tree.h"

/* ---- bytes as entries ---- */

struct raw {
    uint8_t *data;
    size_t bytes;
};

struct raws {
    struct raw *all;
    size_t count;
};

static int put_raws(void *self, struct cairn_writer *w)
{
    static const float data[] = { 1, 2 };
    static const uint64_t shape[] = { 2 };
    const struct raws *raws = self;
    int rc = cairn_put(w, &(struct cairn_entry){ "w", 0, 0, CAIRN_F32, 1, 0, shape, 0 }, data);
    for (size_t i = 0; rc == 0 && i < raws->count; i++) {
        char path[32];
        uint64_t bytes = raws->all[i].bytes;
        (void)snprintf(path, sizeof path, "%06zu", i);
        struct cairn_entry e = opaque_entry(path, &bytes);
        rc = cairn_put(w, &e, raws->all[i].data);
    }
    return rc;
}

static int get_raw(const struct cairn_reader *reader, size_t index, struct cairn_tree **ret)
{
    char path[32];
    (void)snprintf(path, sizeof path, "%06zu", index);
    return cairn_get_tree(reader, path, ret);
}

static void raws_free(struct raws *raws)
{
    for (size_t i = 0; i < raws->count; i++) {
        free(raws->all[i].data);
    }
    free(raws->all);
}

/* A tree with everything, of few bytes. */
static struct cairn_tree *sample(void)
{
    struct cairn_tree *t = cairn_tree_new();
    (void)cairn_tree_map(t, NULL);
    (void)cairn_tree_u64(t, "step", 1200);
    (void)cairn_tree_list(t, "betas");
    (void)cairn_tree_f64(t, NULL, 0.5);
    (void)cairn_tree_f32(t, NULL, -0.0f);
    (void)cairn_tree_end(t);
    (void)cairn_tree_map(t, "rng");
    (void)cairn_tree_bytes(t, "key", "\x01\xff", 2);
    (void)cairn_tree_str(t, "name", "na\xc3\xafve");
    (void)cairn_tree_bool(t, "used", true);
    (void)cairn_tree_null(t, "spare");
    (void)cairn_tree_end(t);
    (void)cairn_tree_i64(t, "last", -1);
    (void)cairn_tree_tensor(t, "weight", "w", NULL);
    cr_assert_eq(cairn_tree_end(t), 0);
    return t;
}

/* Every node, in order; what each says is inside the tree's bytes. Returns how many. */
static size_t walk(const struct cairn_tree *t)
{
    struct cairn_node levels[CAIRN_TREE_DEPTH + 1];
    size_t depth = 0;
    size_t count = 0;
    uint64_t sum = 0;
    cr_assert_eq(cairn_tree_root(t, &levels[0]), 0);
    for (bool more = true; more; count++) {
        const struct cairn_node *n = &levels[depth];
        for (uint64_t i = 0; i < n->bytes; i++) {
            sum += ((const uint8_t *)n->data)[i];
        }
        sum += n->key == NULL ? 0 : strlen(n->key);
        if (cairn_tree_first(n, &levels[depth + 1]) == 0) {
            depth++;
            cr_assert_leq(depth, CAIRN_TREE_DEPTH);
            continue;
        }
        while (depth > 0 && cairn_tree_next(&levels[depth], &levels[depth]) < 0) {
            depth--;
        }
        more = depth > 0;
    }
    cr_assert_lt(sum, SIZE_MAX);
    return count;
}

CASE(tree_bytes, cut_anywhere_is_refused)
{
    struct ground g;
    const struct cairn_reader *reader = NULL;
    struct cairn_tree *t = sample();
    struct cairn_tree *got = NULL;
    struct raws raws = { calloc(t->bytes + 2, sizeof(struct raw)), t->bytes + 2 };
    for (size_t i = 0; i < raws.count; i++) {
        raws.all[i] = (struct raw){ calloc(1, t->bytes + 1), i };
        memcpy(raws.all[i].data, t->blob, t->bytes);
    }
    ground_up(&g);
    struct cairn_record *r = ground_state(&g, put_raws, &raws, &reader);
    for (size_t i = 0; i < raws.count; i++) {
        int rc = get_raw(reader, i, &got);
        if (i == t->bytes) {
            cr_assert_eq(rc, 0, "%s", cairn_error(g.c));
            cr_assert_eq(walk(got), walk(t));
            got = cairn_tree_free(got);
            continue;
        }
        cr_assert_eq(rc, i < 8 ? -CAIRN_EMISMATCH : -CAIRN_ECORRUPT, "%zu bytes", i);
        cr_assert_null(got);
    }
    (void)cairn_record_free(r);
    (void)cairn_tree_free(t);
    raws_free(&raws);
    ground_down(&g);
}

/* What a flipped bit makes is another tree or none: never anything outside its bytes. (In a real
 * record the digest tells.) */
CASE(tree_bytes, no_flipped_bit_leads_out_of_the_tree, .timeout = 300)
{
    struct ground g;
    const struct cairn_reader *reader = NULL;
    struct cairn_tree *t = sample();
    size_t trees = 0;
    struct raws raws = { calloc(t->bytes * 8, sizeof(struct raw)), t->bytes * 8 };
    for (size_t i = 0; i < raws.count; i++) {
        raws.all[i] = (struct raw){ malloc(t->bytes), t->bytes };
        memcpy(raws.all[i].data, t->blob, t->bytes);
        raws.all[i].data[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    ground_up(&g);
    struct cairn_record *r = ground_state(&g, put_raws, &raws, &reader);
    for (size_t i = 0; i < raws.count; i++) {
        struct cairn_tree *got = NULL;
        if (get_raw(reader, i, &got) == 0) {
            trees++;
            (void)walk(got);
        }
        (void)cairn_tree_free(got);
    }
    cr_assert(trees > 100 && trees < raws.count / 2, "%zu of %zu", trees, raws.count);
    (void)cairn_record_free(r);
    (void)cairn_tree_free(t);
    raws_free(&raws);
    ground_down(&g);
}

/* ---- made up ---- */

struct making {
    uint8_t data[8192];
    size_t bytes;
};

static void make(struct making *m, const void *data, size_t bytes)
{
    cr_assert_leq(m->bytes + bytes, sizeof m->data);
    memcpy(m->data + m->bytes, data, bytes);
    m->bytes += bytes;
}

static void make_u64(struct making *m, uint64_t v)
{
    make(m, &v, sizeof v);
}

static void make_byte(struct making *m, uint8_t v)
{
    make(m, &v, 1);
}

static void make_head(struct making *m)
{
    *m = (struct making){ .bytes = 0 };
    make(m, "CRN1tree\1\0\0\0", 12);
}

/* Lists inside each other. */
static void make_nested(struct making *m, uint64_t levels)
{
    make_head(m);
    for (uint64_t left = levels; left > 0; left--) {
        make_byte(m, CAIRN_TREE_LIST);
        make_u64(m, left > 1 ? 1 : 0);
        make_u64(m, (left - 1) * 17);
    }
}

/* What a record with only these bytes says of them; its message is in text. */
static int refusal(const struct making *m, char *text, size_t text_bytes)
{
    struct ground g;
    const struct cairn_reader *reader = NULL;
    struct cairn_tree *got = NULL;
    struct raw raw = { malloc(m->bytes), m->bytes };
    struct raws raws = { &raw, 1 };
    memcpy(raw.data, m->data, m->bytes);
    ground_up(&g);
    struct cairn_record *r = ground_state(&g, put_raws, &raws, &reader);
    int rc = get_raw(reader, 0, &got);
    (void)snprintf(text, text_bytes, "%s", cairn_error(g.c));
    (void)cairn_tree_free(got);
    (void)cairn_record_free(r);
    free(raw.data);
    ground_down(&g);
    return rc;
}

CASE(tree_bytes, depth_129_is_refused)
{
    struct making m;
    char text[512];
    make_nested(&m, 128);
    cr_assert_eq(refusal(&m, text, sizeof text), 0, "%s", text);
    make_nested(&m, 129);
    cr_assert_eq(refusal(&m, text, sizeof text), -CAIRN_ECORRUPT);
    cr_assert_not_null(strstr(text, "more than 128"), "%s", text);
    make_nested(&m, 400);
    cr_assert_eq(refusal(&m, text, sizeof text), -CAIRN_ECORRUPT);
}

/* Roots in hex, behind the head, and what is said of them. */
static const struct {
    const char *hex;
    int rc;
    const char *what;
} made[] = {
    { "09", 0, "" },
    { "0600", 0, "" },
    { "0602", CAIRN_ECORRUPT, "neither 0 nor 1" },
    { "00", CAIRN_ECORRUPT, "unknown kind" },
    { "0c", CAIRN_ECORRUPT, "unknown kind" },
    { "", CAIRN_ECORRUPT, "is missing" },
    { "0909", CAIRN_ECORRUPT, "bytes follow" },
    /* strings: no NUL behind it, no UTF-8, longer than all there is */
    { "07 0100000000000000 61 00", 0, "" },
    { "07 0100000000000000 61 61", CAIRN_ECORRUPT, "cut off" },
    { "07 0100000000000000 ff 00", CAIRN_ECORRUPT, "not UTF-8" },
    { "07 ffffffffffffffff 61 00", CAIRN_ECORRUPT, "cut off" },
    { "08 f0ffffffffffffff 61 00", CAIRN_ECORRUPT, "cut off" },
    /* references: to "w", to nothing, with an odd flag, with an id that is not said */
    { "01 00 0000000000000000 0100000000000000 77 00", 0, "" },
    { "01 00 0000000000000000 0100000000000000 78 00", CAIRN_ECORRUPT, "no such tensor" },
    { "01 01 0000000000000000 0100000000000000 77 00", CAIRN_ECORRUPT, "no such tensor" },
    { "01 02 0000000000000000 0100000000000000 77 00", CAIRN_ECORRUPT, "cut off" },
    { "01 00 0500000000000000 0100000000000000 77 00", CAIRN_ECORRUPT, "cut off" },
    { "01 00 0000000000000000 0000000000000000 00", CAIRN_ECORRUPT, "is no path" },
    /* lists: counts and lengths that do not fit what is in them */
    { "0a 0200000000000000 0200000000000000 09 09", 0, "" },
    { "0a 0100000000000000 0200000000000000 09 09", CAIRN_ECORRUPT, "behind its last" },
    { "0a 0300000000000000 0200000000000000 09 09", CAIRN_ECORRUPT, "'2': is missing" },
    { "0a 0200000000000000 0100000000000000 09 09", CAIRN_ECORRUPT, "bytes follow" },
    { "0a ffffffffffffffff 0000000000000000", CAIRN_ECORRUPT, "is missing" },
    { "0a 0100000000000000 0500000000000000 07 01000000", CAIRN_ECORRUPT, "'0': has a" },
    /* maps: the same key twice, one with a NUL, one that is no UTF-8, one cut */
    { "0b 0200000000000000 1600000000000000 09 0100000000000000 61 00"
      "                                     09 0100000000000000 62 00",
      0,
      "" },
    { "0b 0200000000000000 1600000000000000 09 0100000000000000 61 00"
      "                                     09 0100000000000000 61 00",
      CAIRN_ECORRUPT,
      "'a': the key comes twice" },
    { "0b 0100000000000000 0b00000000000000 09 0100000000000000 00 00",
      CAIRN_ECORRUPT,
      "the key is not UTF-8 without NUL" },
    { "0b 0100000000000000 0b00000000000000 09 0100000000000000 ff 00",
      CAIRN_ECORRUPT,
      "the key is not UTF-8 without NUL" },
    { "0b 0100000000000000 0b00000000000000 09 0200000000000000 61 00",
      CAIRN_ECORRUPT,
      "a key that is cut off" },
};

CASE(tree_bytes, what_breaks_a_rule_is_refused_with_its_place)
{
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        struct making m;
        char text[512];
        unsigned byte = 0;
        int used = 0;
        make_head(&m);
        const char *hex = made[i].hex;
        for (; sscanf(hex, " %2x%n", &byte, &used) == 1; hex += used) { // NOLINT(cert-err34-c)
            make_byte(&m, (uint8_t)byte);
        }
        cr_assert_eq(refusal(&m, text, sizeof text), -made[i].rc, "%s: %s", made[i].hex, text);
        cr_assert_not_null(strstr(text, made[i].what), "%s: %s", made[i].hex, text);
    }
}

CASE(tree_bytes, a_later_version_and_other_bytes_are_told_apart)
{
    struct making m;
    char text[512];
    make_head(&m);
    make_byte(&m, CAIRN_TREE_NULL);
    m.data[8] = 2;
    cr_assert_eq(refusal(&m, text, sizeof text), -CAIRN_EVERSION, "%s", text);
    m.data[0] = 'c';
    cr_assert_eq(refusal(&m, text, sizeof text), -CAIRN_EMISMATCH, "%s", text);
    cr_assert_not_null(strstr(text, "no typed tree"), "%s", text);
}

static int put_big(void *self, struct cairn_writer *w)
{
    int rc = cairn_put_tree(w, "big", self);
    return rc < 0 ? rc : cairn_put_u64(w, "scalar", 1);
}

/* Chunks of its own, a map of many keys, and entries that are no trees. */
CASE(tree_bytes, a_large_one_comes_from_chunks)
{
    struct ground g;
    const struct cairn_reader *reader = NULL;
    struct cairn_tree *got = NULL;
    struct cairn_tree *t = cairn_tree_new();
    char key[32];
    (void)cairn_tree_map(t, NULL);
    for (uint64_t i = 0; i < 300000; i++) {
        (void)snprintf(key, sizeof key, "parameter.%" PRIu64, (i * 7919) % 300000);
        (void)cairn_tree_u64(t, key, i);
    }
    cr_assert_eq(cairn_tree_end(t), 0);
    ground_up(&g);
    struct cairn_record *r = ground_state(&g, put_big, t, &reader);
    cr_assert_eq(cairn_get_tree(reader, "big", &got), 0, "%s", cairn_error(g.c));
    cr_assert_gt(got->bytes, 8u << 20);
    cr_assert_eq(got->bytes, t->bytes);
    cr_assert(same_bits(got->blob, t->blob, t->bytes));
    got = cairn_tree_free(got);
    cr_assert_eq(cairn_get_tree(reader, "scalar", &got), -CAIRN_EMISMATCH);
    cr_assert_eq(cairn_get_tree(reader, "nothing", &got), -CAIRN_ENOENT);
    cr_assert_null(got);
    (void)cairn_record_free(r);
    (void)cairn_tree_free(t);
    ground_down(&g);
}
