/* tree_check.c: is this a tree? Walks all of it with a stack of its own, whose height is the
 * greatest depth of a tree. */
#include <stdlib.h>

#include "base/utf8.h"
#include "internal/limits.h"
#include "lib/tree.h"
#include "record/rules.h"

/* A list or map whose children are being looked at. */
struct check_level {
    struct cairn_node node;
    const uint8_t *at; /* the next child */
    uint64_t seen;
};

struct check {
    tree_ref_fn has;
    void *arg;
    struct tree_fault *fault;
    struct slice *keys; /* of one map */
    uint64_t key_room;
    uint32_t depth;
    struct check_level levels[CAIRN_TREE_DEPTH];
};

/* About a child of the innermost level, or, with NULL, about that level itself. */
static int check_fail(struct check *c, const struct cairn_node *child, int rc, const char *what)
{
    struct tree_fault *f = c->fault;
    *f = (struct tree_fault){ .rc = rc, .what = what };
    for (uint32_t i = 1; i < c->depth; i++) {
        const struct cairn_node *n = &c->levels[i].node;
        tree_place_add(&f->place, n->key, n->index);
    }
    if (child != NULL && c->depth > 0) {
        tree_place_add(&f->place, child->key, child->index);
    }
    return rc;
}

/* ---- keys of a map ---- */

static int check_key_cmp(const void *a, const void *b)
{
    const struct slice *x = a;
    const struct slice *y = b;
    return slice_cmp(*x, *y);
}

static bool check_keys_room(struct check *c, uint64_t count)
{
    if (count > c->key_room) {
        free(c->keys);
        c->keys = calloc(count, sizeof *c->keys);
        c->key_room = c->keys == NULL ? 0 : count;
    }
    return c->keys != NULL;
}

static struct slice check_key_of(const struct cairn_node *n)
{
    return slice_of(n->key, n->key_bytes);
}

/* The keys are sorted, so a key that comes twice is beside itself. */
static const struct slice *check_double(const struct check *c, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        if (slice_cmp(c->keys[i - 1], c->keys[i]) == 0) {
            return &c->keys[i];
        }
    }
    return NULL;
}

/* After the children were looked at: their number is one that the bytes really have. */
static int check_keys(struct check *c, const struct cairn_node *map)
{
    struct cairn_node child = { .kind = 0 };
    uint64_t count = 0;
    if (map->count < 2) {
        return 0;
    }
    if (!check_keys_room(c, map->count)) {
        return check_fail(c, NULL, -CAIRN_ENOMEM, "no memory to check a map");
    }
    for (int rc = cairn_tree_first(map, &child); rc == 0; rc = cairn_tree_next(&child, &child)) {
        c->keys[count++] = check_key_of(&child);
    }
    qsort(c->keys, count, sizeof *c->keys, check_key_cmp);
    const struct slice *twice = check_double(c, count);
    if (twice == NULL) {
        return 0;
    }
    child = (struct cairn_node){ .key = twice->data };
    return check_fail(c, &child, -CAIRN_EEXIST, "the key comes twice");
}

/* ---- one node ---- */

static int check_key(struct check *c, const struct cairn_node *n)
{
    if (n->key == NULL) {
        return 0;
    }
    if (n->key_bytes > CAIRN_TREE_KEY_BYTES) {
        return check_fail(c, n, -CAIRN_ELIMIT, "the key has more than 4096 bytes");
    }
    if (!utf8_ok(check_key_of(n))) {
        return check_fail(c, n, -CAIRN_EINVAL, "the key is not UTF-8 without NUL");
    }
    return 0;
}

/* Other than names and paths, a string may hold NULs. */
static bool check_text_ok(const struct cairn_node *n)
{
    const uint8_t *at = n->data;
    const uint8_t *end = at + n->bytes;
    while (at < end) {
        size_t length = utf8_length(at, (size_t)(end - at));
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}

static int check_reference(struct check *c, const struct cairn_node *n)
{
    if (n->bytes == 0 || n->bytes > LIMIT_PATH_BYTES || !utf8_ok(slice_of(n->data, n->bytes))) {
        return check_fail(
            c, n, -CAIRN_EINVAL, "the reference is no path: UTF-8 without NUL, 1 to 4096 bytes");
    }
    int rc = c->has == NULL ? 0 : c->has(c->arg, n);
    if (rc == -CAIRN_ENOENT) {
        return check_fail(
            c, n, -CAIRN_EINVAL, "the component has no such tensor, or not before the tree");
    }
    return rc == 0 ? 0 : check_fail(c, n, rc, "no memory to look for a tensor");
}

static int check_value(struct check *c, const struct cairn_node *n)
{
    if (n->kind == CAIRN_TREE_BOOL && n->value.u64 > 1) {
        return check_fail(c, n, -CAIRN_EINVAL, "the bool is neither 0 nor 1");
    }
    if (n->kind == CAIRN_TREE_STRING && !check_text_ok(n)) {
        return check_fail(c, n, -CAIRN_EINVAL, "the string is not UTF-8");
    }
    return n->kind == CAIRN_TREE_TENSOR ? check_reference(c, n) : 0;
}

/* Go down into a list or map. */
static int check_open(struct check *c, const struct cairn_node *n)
{
    if (!tree_is_container(n->kind)) {
        return 0;
    }
    if (c->depth == CAIRN_TREE_DEPTH) {
        return check_fail(c, n, -CAIRN_ELIMIT, "more than 128 lists and maps inside each other");
    }
    c->levels[c->depth++] = (struct check_level){ .node = *n, .at = tree_node_body(n) };
    return 0;
}

static int check_node(struct check *c, const struct cairn_node *n)
{
    int rc = check_key(c, n);
    if (rc == 0) {
        rc = check_value(c, n);
    }
    return rc < 0 ? rc : check_open(c, n);
}

/* ---- all of them ---- */

static int check_child(struct check *c, struct check_level *l)
{
    struct cairn_node n = { .index = l->seen };
    const char *wrong =
        tree_node_read(l->at, tree_node_end(&l->node), l->node.kind == CAIRN_TREE_MAP, &n);
    if (wrong != NULL) {
        return check_fail(c, &n, -CAIRN_EINVAL, wrong);
    }
    n.index = l->seen++;
    l->at = tree_node_end(&n);
    return check_node(c, &n);
}

static int check_close(struct check *c, const struct check_level *l)
{
    if (l->at != tree_node_end(&l->node)) {
        return check_fail(c, NULL, -CAIRN_EINVAL, "it has bytes behind its last member");
    }
    int rc = l->node.kind == CAIRN_TREE_MAP ? check_keys(c, &l->node) : 0;
    c->depth--;
    return rc;
}

static int check_head(struct check *c, struct slice blob)
{
    uint32_t version = 0;
    if (blob.bytes < TREE_MAGIC_BYTES || memcmp(blob.data, TREE_MAGIC, TREE_MAGIC_BYTES) != 0) {
        return check_fail(c, NULL, -CAIRN_EMISMATCH, "it is no typed tree");
    }
    if (blob.bytes < TREE_HEAD_BYTES) {
        return check_fail(c, NULL, -CAIRN_EINVAL, "it has no version");
    }
    memcpy(&version, (const uint8_t *)blob.data + TREE_MAGIC_BYTES, sizeof version);
    return version == TREE_VERSION
               ? 0
               : check_fail(c, NULL, -CAIRN_EVERSION, "its version is not 1, the only one known");
}

static int check_walk(struct check *c, struct slice blob)
{
    const uint8_t *at = (const uint8_t *)blob.data + TREE_HEAD_BYTES;
    const uint8_t *end = (const uint8_t *)blob.data + blob.bytes;
    struct cairn_node root;
    const char *wrong = tree_node_read(at, end, false, &root);
    if (wrong != NULL) {
        return check_fail(c, NULL, -CAIRN_EINVAL, wrong);
    }
    if (tree_node_end(&root) != end) {
        return check_fail(c, NULL, -CAIRN_EINVAL, "bytes follow behind the tree");
    }
    int rc = check_node(c, &root);
    while (rc == 0 && c->depth > 0) {
        struct check_level *l = &c->levels[c->depth - 1];
        rc = l->seen == l->node.count ? check_close(c, l) : check_child(c, l);
    }
    return rc;
}

int tree_check(struct slice blob, tree_ref_fn has, void *arg, struct tree_fault *ret_fault)
{
    struct check c;
    c.has = has;
    c.arg = arg;
    c.fault = ret_fault;
    c.keys = NULL;
    c.key_room = 0;
    c.depth = 0; /* its levels are written when they are entered */
    int rc = check_head(&c, blob);
    if (rc == 0) {
        rc = check_walk(&c, blob);
    }
    free(c.keys);
    return rc;
}
