/* Typed trees by the public calls: what goes in comes out, and what is wrong is named. */
#include <cairn/tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground.h"

static double f64_of(uint64_t bits)
{
    double value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float f32_of(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const uint64_t f64_bits[] = { 0x7ff0000000000001, 0xfff8dead0000beef, 0x8000000000000000, 1,
                                     0x7ff0000000000000, 0x000fffffffffffff, 0x7fefffffffffffff };
static const uint32_t f32_bits[] = { 0x7f800001, 0xffc0beef, 0x80000000, 1, 0xff800000 };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int put_tree(void *self, struct cairn_writer *w)
{
    return cairn_put_tree(w, "tree", self);
}

/* Through a save and a load; frees `t`. */
static struct cairn_tree *there_and_back(struct ground *g, struct cairn_tree *t)
{
    const struct cairn_reader *reader = NULL;
    struct cairn_tree *got = NULL;
    struct cairn_record *r = ground_state(g, put_tree, t, &reader);
    cr_assert_eq(cairn_get_tree(reader, "tree", &got), 0, "%s", cairn_error(g->c));
    (void)cairn_record_free(r); /* the tree does not need it */
    (void)cairn_tree_free(t);
    return got;
}

static struct cairn_node at(const struct cairn_tree *t, const char *path)
{
    struct cairn_node n;
    cr_assert_eq(cairn_tree_root(t, &n), 0);
    cr_assert_eq(cairn_tree_at(&n, path, &n), 0, "%s", path);
    return n;
}

/* ---- what goes in comes out ---- */

static void check_number(const struct cairn_tree *t, const char *path, uint32_t kind, uint64_t bits)
{
    struct cairn_node n = at(t, path);
    cr_assert_eq(n.kind, kind, "%s", path);
    cr_assert_eq(n.value.u64, bits, "%s", path);
}

CASE(tree, E1_E2_E7_E32_numbers_come_back_bit_for_bit)
{
    struct ground g;
    char path[32];
    ground_up(&g);
    struct cairn_tree *t = cairn_tree_new();
    cr_assert_eq(cairn_tree_map(t, NULL), 0);
    cr_assert_eq(cairn_tree_u64(t, "u64", UINT64_MAX), 0);
    cr_assert_eq(cairn_tree_u64(t, "odd", (UINT64_C(1) << 53) + 1), 0);
    cr_assert_eq(cairn_tree_i64(t, "i64", INT64_MIN), 0);
    cr_assert_eq(cairn_tree_i64(t, "max", INT64_MAX), 0);
    cr_assert_eq(cairn_tree_bool(t, "yes", true), 0);
    cr_assert_eq(cairn_tree_bool(t, "no", false), 0);
    cr_assert_eq(cairn_tree_null(t, "null"), 0);
    cr_assert_eq(cairn_tree_list(t, "f64"), 0);
    for (size_t i = 0; i < COUNT(f64_bits); i++) {
        cr_assert_eq(cairn_tree_f64(t, NULL, f64_of(f64_bits[i])), 0);
    }
    cr_assert_eq(cairn_tree_end(t), 0);
    cr_assert_eq(cairn_tree_list(t, "f32"), 0);
    for (size_t i = 0; i < COUNT(f32_bits); i++) {
        cr_assert_eq(cairn_tree_f32(t, NULL, f32_of(f32_bits[i])), 0);
    }
    cr_assert_eq(cairn_tree_end(t), 0);
    cr_assert_eq(cairn_tree_end(t), 0);
    t = there_and_back(&g, t);
    check_number(t, "u64", CAIRN_TREE_U64, UINT64_MAX);
    check_number(t, "odd", CAIRN_TREE_U64, (UINT64_C(1) << 53) + 1);
    check_number(t, "i64", CAIRN_TREE_I64, UINT64_C(1) << 63);
    check_number(t, "max", CAIRN_TREE_I64, INT64_MAX);
    check_number(t, "yes", CAIRN_TREE_BOOL, 1);
    check_number(t, "no", CAIRN_TREE_BOOL, 0);
    check_number(t, "null", CAIRN_TREE_NULL, 0);
    for (size_t i = 0; i < COUNT(f64_bits); i++) {
        (void)snprintf(path, sizeof path, "f64/%zu", i);
        check_number(t, path, CAIRN_TREE_F64, f64_bits[i]);
    }
    for (size_t i = 0; i < COUNT(f32_bits); i++) {
        (void)snprintf(path, sizeof path, "f32/%zu", i);
        check_number(t, path, CAIRN_TREE_F32, f32_bits[i]);
    }
    (void)cairn_tree_free(t);
    ground_down(&g);
}

static void
check_data(const struct cairn_tree *t, const char *path, uint32_t kind, struct slice wanted)
{
    struct cairn_node n = at(t, path);
    cr_assert_eq(n.kind, kind, "%s", path);
    cr_assert_eq(slice_cmp(slice_of(n.data, n.bytes), wanted), 0, "%s", path);
    cr_assert(kind == CAIRN_TREE_BYTES || ((const char *)n.data)[n.bytes] == '\0', "%s", path);
}

CASE(tree, text_bytes_and_empty_ones_come_back)
{
    static const char nul[] = "a\0b";
    uint8_t all[256];
    struct ground g;
    ground_up(&g);
    bytes_fill(all, sizeof all, 4);
    struct cairn_tree *t = cairn_tree_new();
    (void)cairn_tree_map(t, NULL);
    (void)cairn_tree_str(t, "text", "na\xc3\xafve");
    (void)cairn_tree_strn(t, "nul", nul, sizeof nul);
    (void)cairn_tree_str(t, "no text", "");
    (void)cairn_tree_bytes(t, "bytes", all, sizeof all);
    (void)cairn_tree_bytes(t, "no bytes", NULL, 0);
    (void)cairn_tree_list(t, "no list");
    (void)cairn_tree_end(t);
    (void)cairn_tree_map(t, "no map");
    (void)cairn_tree_end(t);
    cr_assert_eq(cairn_tree_end(t), 0);
    t = there_and_back(&g, t);
    check_data(t, "text", CAIRN_TREE_STRING, slice_str("na\xc3\xafve"));
    check_data(t, "nul", CAIRN_TREE_STRING, slice_of(nul, sizeof nul));
    check_data(t, "no text", CAIRN_TREE_STRING, slice_str(""));
    check_data(t, "bytes", CAIRN_TREE_BYTES, slice_of(all, sizeof all));
    check_data(t, "no bytes", CAIRN_TREE_BYTES, slice_str(""));
    static const char *const empty[] = { "no list", "no map" };
    for (int i = 0; i < 2; i++) {
        struct cairn_node n = at(t, empty[i]);
        cr_assert_eq(n.kind, i == 0 ? CAIRN_TREE_LIST : CAIRN_TREE_MAP);
        cr_assert_eq(n.count, 0);
        cr_assert_eq(cairn_tree_first(&n, &n), -CAIRN_ENOENT);
    }
    (void)cairn_tree_free(t);
    ground_down(&g);
}

CASE(tree, a_map_keeps_its_order)
{
    static const char *const keys[] = { "z", "a", "", "b/c", "B", "\xc3\xbc", "10", "9" };
    struct ground g;
    struct cairn_node n;
    ground_up(&g);
    struct cairn_tree *t = cairn_tree_new();
    (void)cairn_tree_map(t, NULL);
    for (size_t i = 0; i < COUNT(keys); i++) {
        (void)cairn_tree_u64(t, keys[i], i);
    }
    (void)cairn_tree_end(t);
    t = there_and_back(&g, t);
    struct cairn_node root = at(t, "");
    cr_assert_eq(root.count, COUNT(keys));
    int rc = cairn_tree_first(&root, &n);
    for (size_t i = 0; i < COUNT(keys); i++) {
        struct cairn_node same;
        cr_assert_eq(rc, 0);
        cr_assert_str_eq(n.key, keys[i]);
        cr_assert_eq(n.key_bytes, strlen(keys[i]));
        cr_assert_eq(n.index, i);
        cr_assert_eq(cairn_tree_child(&root, keys[i], &same), 0);
        cr_assert_eq(same.value.u64, i);
        rc = cairn_tree_next(&n, &n);
    }
    cr_assert_eq(rc, -CAIRN_ENOENT);
    (void)cairn_tree_free(t);
    ground_down(&g);
}

CASE(tree, any_node_may_be_the_root)
{
    struct ground g;
    ground_up(&g);
    struct cairn_tree *t = cairn_tree_new();
    cr_assert_eq(cairn_tree_i64(t, NULL, -1), 0);
    t = there_and_back(&g, t);
    check_number(t, "", CAIRN_TREE_I64, UINT64_MAX);
    cr_assert_eq(cairn_tree_u64(t, NULL, 1), -CAIRN_EINVAL, "a tree that was got takes no more");
    cr_assert_eq(cairn_tree_end(t), -CAIRN_EINVAL);
    t = there_and_back(&g, t); /* but may be put again */
    check_number(t, "", CAIRN_TREE_I64, UINT64_MAX);
    (void)cairn_tree_free(t);
    ground_down(&g);
}

CASE(tree, is_found_by_path_key_and_position)
{
    static const char *const missing[] = { "x",       "list/3",   "list/01",
                                           "list/-1", "list/",    "list/99999999999999999999",
                                           "n/0",     "list/0/0", "/" };
    struct cairn_node root;
    struct cairn_node n;
    struct cairn_tree *t = cairn_tree_new();
    cr_assert_eq(cairn_tree_root(t, &root), -CAIRN_EINVAL, "no root yet");
    (void)cairn_tree_map(t, NULL);
    (void)cairn_tree_u64(t, "n", 7);
    (void)cairn_tree_list(t, "list");
    for (uint64_t i = 0; i < 3; i++) {
        (void)cairn_tree_u64(t, NULL, 10 + i);
    }
    (void)cairn_tree_end(t);
    cr_assert_eq(cairn_tree_root(t, &root), -CAIRN_EINVAL, "not ended");
    (void)cairn_tree_map(t, "");
    (void)cairn_tree_u64(t, "", 8);
    (void)cairn_tree_end(t);
    (void)cairn_tree_end(t);
    check_number(t, "list/0", CAIRN_TREE_U64, 10);
    check_number(t, "list/2", CAIRN_TREE_U64, 12);
    check_number(t, "/", CAIRN_TREE_U64, 8); /* "" in "" */
    root = at(t, "");
    for (size_t i = 0; i + 1 < COUNT(missing); i++) {
        cr_assert_eq(cairn_tree_at(&root, missing[i], &n), -CAIRN_ENOENT, "%s", missing[i]);
    }
    cr_assert_eq(cairn_tree_item(&root, 1, &n), 0);
    cr_assert_str_eq(n.key, "list");
    cr_assert_eq(cairn_tree_item(&n, 1, &n), 0);
    cr_assert_eq(n.value.u64, 11);
    cr_assert_eq(cairn_tree_item(&n, 0, &n), -CAIRN_ENOENT);
    cr_assert_eq(cairn_tree_item(&root, 3, &n), -CAIRN_ENOENT);
    cr_assert_eq(cairn_tree_child(&root, "list", &n), 0);
    cr_assert_eq(cairn_tree_child(&n, "0", &n), -CAIRN_ENOENT, "a list has no keys");
    (void)cairn_tree_free(t);
}

/* ---- what is wrong is named ---- */

static void wrong_member(struct cairn_tree *t)
{
    (void)cairn_tree_u64(t, NULL, 1);
}

static void wrong_key(struct cairn_tree *t)
{
    (void)cairn_tree_list(t, "groups");
    (void)cairn_tree_u64(t, NULL, 1);
    (void)cairn_tree_u64(t, "lr", 1);
}

static void wrong_twice(struct cairn_tree *t)
{
    (void)cairn_tree_list(t, "groups");
    (void)cairn_tree_null(t, NULL);
    (void)cairn_tree_map(t, NULL);
    (void)cairn_tree_u64(t, "lr", 1);
    (void)cairn_tree_u64(t, "betas", 1);
    (void)cairn_tree_u64(t, "lr", 2);
    (void)cairn_tree_end(t);
    (void)cairn_tree_end(t);
    (void)cairn_tree_end(t);
}

static void wrong_key_text(struct cairn_tree *t)
{
    (void)cairn_tree_u64(t, "\xff", 1);
    (void)cairn_tree_end(t);
}

static void wrong_key_length(struct cairn_tree *t)
{
    char key[CAIRN_TREE_KEY_BYTES + 2];
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';
    (void)cairn_tree_u64(t, key + 1, 1); /* the longest */
    (void)cairn_tree_u64(t, key, 1);
    (void)cairn_tree_end(t);
}

static void wrong_string(struct cairn_tree *t)
{
    (void)cairn_tree_list(t, "names");
    (void)cairn_tree_str(t, NULL, "fine");
    (void)cairn_tree_str(t, NULL, "\xed\xa0\x80");
    (void)cairn_tree_end(t);
    (void)cairn_tree_end(t);
}

static void wrong_no_string(struct cairn_tree *t)
{
    (void)cairn_tree_str(t, "s", NULL);
    (void)cairn_tree_end(t);
}

static void wrong_no_bytes(struct cairn_tree *t)
{
    (void)cairn_tree_bytes(t, "b", NULL, 1);
    (void)cairn_tree_end(t);
}

static void wrong_no_reference(struct cairn_tree *t)
{
    (void)cairn_tree_tensor(t, "w", NULL, NULL);
    (void)cairn_tree_end(t);
}

static void wrong_reference(struct cairn_tree *t)
{
    (void)cairn_tree_tensor(t, "w", "nothing", NULL);
    (void)cairn_tree_end(t);
}

static void wrong_open(struct cairn_tree *t)
{
    (void)cairn_tree_list(t, "l");
    (void)cairn_tree_end(t);
}

static void wrong_end(struct cairn_tree *t)
{
    (void)cairn_tree_end(t);
    (void)cairn_tree_end(t);
    (void)cairn_tree_u64(t, "later", 1); /* the first failure stays */
}

static void wrong_root(struct cairn_tree *t)
{
    (void)cairn_tree_end(t);
    (void)cairn_tree_null(t, NULL);
}

CASE(tree, every_fault_of_a_builder_is_refused_with_its_place)
{
    static const struct {
        void (*build)(struct cairn_tree *t);
        int rc;
        const char *place, *what;
    } wrong[] = {
        { wrong_member, CAIRN_EINVAL, "'0'", "needs a key" },
        { wrong_key, CAIRN_EINVAL, "'groups/lr'", "has no key" },
        { wrong_twice, CAIRN_EEXIST, "'groups/1/lr'", "twice" },
        { wrong_key_text, CAIRN_EINVAL, "'?'", "the key is not UTF-8" },
        { wrong_key_length, CAIRN_ELIMIT, "'kkkk", "4096" },
        { wrong_string, CAIRN_EINVAL, "'names/1'", "not UTF-8" },
        { wrong_no_string, CAIRN_EINVAL, "'s'", "needs a value" },
        { wrong_no_bytes, CAIRN_EINVAL, "'b'", "need a value" },
        { wrong_no_reference, CAIRN_EINVAL, "'w'", "needs a path" },
        { wrong_reference, CAIRN_EINVAL, "'w'", "no such tensor" },
        { wrong_open, CAIRN_EINVAL, "its root", "not ended" },
        { wrong_end, CAIRN_EINVAL, "its root", "end without" },
        { wrong_root, CAIRN_EINVAL, "its root", "has its root" },
    };
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct cairn_tree *t = cairn_tree_new();
        (void)cairn_tree_map(t, NULL);
        wrong[i].build(t);
        g.job.t.state = (struct cairn_component){ .self = t, .put = put_tree };
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -wrong[i].rc, "%zu", i);
        cr_assert_not_null(strstr(cairn_error(g.c), wrong[i].place), "%s", cairn_error(g.c));
        cr_assert_not_null(strstr(cairn_error(g.c), wrong[i].what), "%s", cairn_error(g.c));
        (void)cairn_tree_free(t);
    }
    g.job.t.state = (struct cairn_component){ .self = NULL, .put = put_tree };
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL, "no tree at all");
    cr_assert_eq(cairn_tree_map(NULL, NULL), -CAIRN_EINVAL);
    cr_assert_eq(cairn_tree_end(NULL), -CAIRN_EINVAL);
    ground_down(&g);
}

static int put_carelessly(void *self, struct cairn_writer *w)
{
    (void)cairn_put_tree(w, "tree", self);
    return 0;
}

CASE(tree, a_fault_that_the_callback_ignores_still_fails_the_capture)
{
    struct ground g;
    struct cairn_record *r = NULL;
    struct cairn_tree *t = cairn_tree_new();
    ground_up(&g);
    (void)cairn_tree_map(t, NULL);
    g.job.t.state = (struct cairn_component){ .self = t, .put = put_carelessly };
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(cairn_error(g.c), "not ended"), "%s", cairn_error(g.c));
    cr_assert_null(r);
    (void)cairn_tree_free(t);
    ground_down(&g);
}

static int nest(struct cairn_tree *t, int levels)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < levels; i++) {
        rc = i % 2 == 0 ? cairn_tree_list(t, i == 0 ? NULL : "k") : cairn_tree_map(t, NULL);
    }
    return rc;
}

CASE(tree, depth_128_is_accepted_and_129_refused)
{
    struct ground g;
    struct cairn_record *r = NULL;
    ground_up(&g);
    struct cairn_tree *t = cairn_tree_new();
    cr_assert_eq(nest(t, 128), 0);
    cr_assert_eq(cairn_tree_u64(t, "leaf", 5), 0, "a leaf is no level");
    for (int i = 0; i < 128; i++) {
        cr_assert_eq(cairn_tree_end(t), 0);
    }
    t = there_and_back(&g, t);
    struct cairn_node n = at(t, "");
    for (int i = 0; i < 128; i++) {
        cr_assert_eq(cairn_tree_first(&n, &n), 0);
    }
    cr_assert_str_eq(n.key, "leaf");
    cr_assert_eq(n.value.u64, 5);
    (void)cairn_tree_free(t);
    t = cairn_tree_new();
    cr_assert_eq(nest(t, 128), 0);
    cr_assert_eq(cairn_tree_list(t, "k"), -CAIRN_ELIMIT);
    g.job.t.state = (struct cairn_component){ .self = t, .put = put_tree };
    cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -CAIRN_ELIMIT);
    cr_assert_not_null(strstr(cairn_error(g.c), "'0/k/0/k/"), "%s", cairn_error(g.c));
    (void)cairn_tree_free(t);
    ground_down(&g);
}

/* ---- references ---- */

static const uint64_t two[] = { 2 };

struct reference {
    const char *path;
    uint64_t id;
    bool has_id;
    int rc;
};

static int put_reference(void *self, struct cairn_writer *w)
{
    static const float data[] = { 1, 2 };
    const struct reference *ref = self;
    struct cairn_tree *t = cairn_tree_new();
    int rc = cairn_put(w, &(struct cairn_entry){ "plain", 0, 0, CAIRN_F32, 1, 0, two, 0 }, data);
    for (uint64_t id = 9; rc == 0 && id >= 7; id--) {
        rc = cairn_put(
            w, &(struct cairn_entry){ "m", id, CAIRN_HAS_ID, CAIRN_F32, 1, 0, two, 0 }, data);
    }
    rc = rc < 0 ? rc : cairn_put_u64(w, "scalar", 1);
    (void)cairn_tree_map(t, NULL);
    (void)cairn_tree_tensor(t, "ref", ref->path, ref->has_id ? &ref->id : NULL);
    (void)cairn_tree_end(t);
    rc = rc < 0 ? rc : cairn_put_tree(w, "tree", t);
    (void)cairn_tree_free(t);
    return rc;
}

CASE(tree, references_name_tensors_of_the_component)
{
    static struct reference refs[] = {
        { "plain", 0, false, 0 },
        { "m", 8, true, 0 },
        { "m", 7, true, 0 },
        { "m", 6, true, CAIRN_EINVAL },
        { "m", 0, false, CAIRN_EINVAL },
        { "plain", 7, true, CAIRN_EINVAL },
        { "scalar", 0, false, CAIRN_EINVAL },
        { "tree", 0, false, CAIRN_EINVAL },
        { "", 0, false, CAIRN_EINVAL },
    };
    for (size_t i = 0; i < COUNT(refs); i++) {
        struct ground g;
        struct cairn_record *r = NULL;
        const struct cairn_reader *reader = NULL;
        struct cairn_tree *t = NULL;
        ground_up(&g);
        g.job.t.optimizer = (struct cairn_component){ .self = &refs[i], .put = put_reference };
        cr_assert_eq(cairn_capture(g.c, &g.job.t, &r), -refs[i].rc, "%zu", i);
        r = cairn_record_free(r);
        if (refs[i].rc == 0) {
            cr_assert_eq(ground_save(&g, 0, 1, NULL), 0);
            cr_assert_eq(cairn_load(g.c, "latest", 0, &r), 0);
            cr_assert_eq(cairn_record_component(r, CAIRN_OPTIMIZER, &reader), 0);
            cr_assert_eq(cairn_get_tree(reader, "tree", &t), 0, "%s", cairn_error(g.c));
            struct cairn_node n = at(t, "ref");
            check_data(t, "ref", CAIRN_TREE_TENSOR, slice_str(refs[i].path));
            cr_assert_eq(n.flags, refs[i].has_id ? CAIRN_HAS_ID : 0);
            cr_assert_eq(n.id, refs[i].id);
            (void)cairn_tree_free(t);
            r = cairn_record_free(r);
        }
        ground_down(&g);
    }
}
