/* tree_node.c: one node of a tree's bytes, and the way from one to the next. */
#include <inttypes.h>
#include <stdio.h>

#include "lib/tree.h"

/* What is left of the bytes that a node may take. */
struct node_span {
    const uint8_t *at;
    const uint8_t *limit;
};

/* In cairn_node.at */
enum { NODE_BODY, NODE_END, NODE_LIMIT };

bool tree_is_container(uint32_t kind)
{
    return kind == CAIRN_TREE_LIST || kind == CAIRN_TREE_MAP;
}

const uint8_t *tree_node_body(const struct cairn_node *n)
{
    return n->at[NODE_BODY];
}

const uint8_t *tree_node_end(const struct cairn_node *n)
{
    return n->at[NODE_END];
}

void tree_place_add(struct tree_place *p, const char *key, uint64_t index)
{
    size_t room = sizeof p->text - p->bytes;
    const char *slash = p->bytes == 0 ? "" : "/";
    int more = key != NULL ? snprintf(p->text + p->bytes, room, "%s%s", slash, key)
                           : snprintf(p->text + p->bytes, room, "%s%" PRIu64, slash, index);
    p->bytes += more > 0 ? (size_t)more : 0;
    p->bytes = p->bytes < sizeof p->text ? p->bytes : sizeof p->text - 1;
}

/* ---- reading one ---- */

static bool node_take(struct node_span *s, uint64_t bytes, const uint8_t **ret)
{
    if (bytes > (uint64_t)(s->limit - s->at)) {
        return false;
    }
    *ret = s->at;
    s->at += bytes;
    return true;
}

/* The host is little-endian (checked in handle.c): a number's bytes are its stored form. */
static bool node_number(struct node_span *s, void *to, size_t bytes)
{
    const uint8_t *from = NULL;
    if (!node_take(s, bytes, &from)) {
        return false;
    }
    memcpy(to, from, bytes);
    return true;
}

/* Text has a NUL behind it that its length does not count. */
static bool node_text(struct node_span *s, const uint8_t **ret, uint64_t *ret_bytes)
{
    const uint8_t *nul = NULL;
    return node_number(s, ret_bytes, sizeof *ret_bytes) && node_take(s, *ret_bytes, ret) &&
           node_take(s, 1, &nul) && *nul == 0;
}

static bool node_data(struct node_span *s, struct cairn_node *n)
{
    const uint8_t *data = NULL;
    bool ok = n->kind == CAIRN_TREE_BYTES
                  ? node_number(s, &n->bytes, sizeof n->bytes) && node_take(s, n->bytes, &data)
                  : node_text(s, &data, &n->bytes);
    n->data = data;
    return ok;
}

static bool node_reference(struct node_span *s, struct cairn_node *n)
{
    uint8_t has_id = 0;
    bool ok = node_number(s, &has_id, 1) && has_id <= 1 && node_number(s, &n->id, sizeof n->id) &&
              (has_id == 1 || n->id == 0);
    n->flags = has_id;
    return ok && node_data(s, n);
}

static bool node_container(struct node_span *s, struct cairn_node *n)
{
    uint64_t bytes = 0;
    return node_number(s, &n->count, sizeof n->count) && node_number(s, &bytes, sizeof bytes) &&
           node_take(s, bytes, &n->at[NODE_BODY]);
}

static bool node_value(struct node_span *s, struct cairn_node *n)
{
    static const uint8_t sizes[] = {
        [CAIRN_TREE_I64] = 8, [CAIRN_TREE_U64] = 8,  [CAIRN_TREE_F64] = 8,
        [CAIRN_TREE_F32] = 4, [CAIRN_TREE_BOOL] = 1, [CAIRN_TREE_NULL] = 0,
    };
    if (n->kind == CAIRN_TREE_STRING || n->kind == CAIRN_TREE_BYTES) {
        return node_data(s, n);
    }
    if (n->kind == CAIRN_TREE_TENSOR) {
        return node_reference(s, n);
    }
    if (tree_is_container(n->kind)) {
        return node_container(s, n);
    }
    return node_number(s, &n->value.u64, sizes[n->kind]);
}

const char *
tree_node_read(const uint8_t *at, const uint8_t *limit, bool keyed, struct cairn_node *ret)
{
    struct node_span s = { .at = at, .limit = limit };
    struct cairn_node n = { .kind = 0 };
    const uint8_t *key = NULL;
    uint8_t kind = 0;
    n.value.u64 = 0;
    if (!node_number(&s, &kind, 1)) {
        return "is missing";
    }
    if (kind < CAIRN_TREE_TENSOR || kind > CAIRN_TREE_MAP) {
        return "is of an unknown kind";
    }
    n.kind = kind;
    if (keyed && !node_text(&s, &key, &n.key_bytes)) {
        return "has a key that is cut off";
    }
    if (!node_value(&s, &n)) {
        return "has a value that is cut off";
    }
    n.key = (const char *)key;
    n.at[NODE_END] = s.at;
    n.at[NODE_LIMIT] = limit;
    *ret = n;
    return NULL;
}

/* ---- walking ---- */

int cairn_tree_root(const struct cairn_tree *t, struct cairn_node *ret)
{
    if (t == NULL || ret == NULL || tree_unfinished(t) != NULL) {
        return -CAIRN_EINVAL;
    }
    const char *wrong = tree_node_read(t->blob + TREE_HEAD_BYTES, t->blob + t->bytes, false, ret);
    return wrong == NULL ? 0 : -CAIRN_EINVAL;
}

int cairn_tree_first(const struct cairn_node *n, struct cairn_node *ret)
{
    if (n == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    if (!tree_is_container(n->kind) || n->count == 0) {
        return -CAIRN_ENOENT;
    }
    const char *wrong =
        tree_node_read(n->at[NODE_BODY], n->at[NODE_END], n->kind == CAIRN_TREE_MAP, ret);
    return wrong == NULL ? 0 : -CAIRN_ENOENT;
}

int cairn_tree_next(const struct cairn_node *n, struct cairn_node *ret)
{
    if (n == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    uint64_t index = n->index + 1;
    if (n->at[NODE_END] == n->at[NODE_LIMIT] ||
        tree_node_read(n->at[NODE_END], n->at[NODE_LIMIT], n->key != NULL, ret) != NULL) {
        return -CAIRN_ENOENT;
    }
    ret->index = index;
    return 0;
}

/* ---- finding ---- */

static bool node_has_key(const struct cairn_node *n, struct slice key)
{
    return n->key != NULL && slice_cmp(slice_of(n->key, n->key_bytes), key) == 0;
}

static int node_find_key(const struct cairn_node *n, struct slice key, struct cairn_node *ret)
{
    struct cairn_node child;
    int rc = n->kind == CAIRN_TREE_MAP ? cairn_tree_first(n, &child) : -CAIRN_ENOENT;
    while (rc == 0 && !node_has_key(&child, key)) {
        rc = cairn_tree_next(&child, &child);
    }
    if (rc == 0) {
        *ret = child;
    }
    return rc;
}

int cairn_tree_child(const struct cairn_node *n, const char *key, struct cairn_node *ret)
{
    if (n == NULL || key == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    return node_find_key(n, slice_str(key), ret);
}

int cairn_tree_item(const struct cairn_node *n, uint64_t index, struct cairn_node *ret)
{
    struct cairn_node child;
    if (n == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    int rc = index < n->count ? cairn_tree_first(n, &child) : -CAIRN_ENOENT;
    while (rc == 0 && child.index < index) {
        rc = cairn_tree_next(&child, &child);
    }
    if (rc == 0) {
        *ret = child;
    }
    return rc;
}

/* A position as people write it: digits, no zero in front of others. */
static bool node_position(struct slice text, uint64_t *ret)
{
    const char *digit = text.data;
    uint64_t value = 0;
    if (text.bytes == 0 || text.bytes > 19 || (digit[0] == '0' && text.bytes > 1)) {
        return false;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if (digit[i] < '0' || digit[i] > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(digit[i] - '0');
    }
    *ret = value;
    return true;
}

static int node_step(const struct cairn_node *n, struct slice step, struct cairn_node *ret)
{
    uint64_t index = 0;
    if (n->kind != CAIRN_TREE_LIST) {
        return node_find_key(n, step, ret);
    }
    return node_position(step, &index) ? cairn_tree_item(n, index, ret) : -CAIRN_ENOENT;
}

int cairn_tree_at(const struct cairn_node *n, const char *path, struct cairn_node *ret)
{
    if (n == NULL || path == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    struct cairn_node here = *n;
    int rc = 0;
    for (const char *at = *path == '\0' ? NULL : path; rc == 0 && at != NULL;) {
        size_t bytes = strcspn(at, "/");
        rc = node_step(&here, slice_of(at, bytes), &here);
        at = at[bytes] == '/' ? at + bytes + 1 : NULL;
    }
    if (rc == 0) {
        *ret = here;
    }
    return rc;
}
