/* tree_build.c: a tree in the making: nodes are appended to its bytes, and a list or map gets its
 * count and length when it ends. The first failure sticks. */
#include <stdlib.h>

#include "lib/tree.h"

enum { TREE_ROOM_FIRST = 256 };
/* Of a list's or map's node: its count, then the bytes of its children. */
#define TREE_COUNT_BYTES 16u

static int tree_fail(struct cairn_tree *t, const char *key, int rc, const char *what)
{
    struct tree_fault *f = &t->fault;
    *f = (struct tree_fault){ .rc = rc, .what = what };
    for (uint32_t i = 1; i < t->depth; i++) {
        const struct tree_open *o = &t->open[i];
        const uint8_t *at = t->blob + o->at;
        bool keyed = t->open[i - 1].map;
        tree_place_add(&f->place, keyed ? (const char *)at + 1 + sizeof(uint64_t) : NULL, o->index);
    }
    if (t->depth > 0) {
        tree_place_add(&f->place, key, t->open[t->depth - 1].count);
    }
    return rc;
}

static int tree_reserve(struct cairn_tree *t, uint64_t bytes)
{
    size_t room = t->room == 0 ? TREE_ROOM_FIRST : t->room;
    if (bytes > SIZE_MAX / 4 - t->bytes) {
        return -CAIRN_ENOMEM;
    }
    while (room - t->bytes < bytes) {
        room *= 2;
    }
    if (room != t->room) {
        uint8_t *blob = realloc(t->blob, room);
        if (blob == NULL) {
            return -CAIRN_ENOMEM;
        }
        t->blob = blob;
        t->room = room;
    }
    return 0;
}

/* Nothing is appended once something failed. */
static void tree_append(struct cairn_tree *t, const void *data, uint64_t bytes)
{
    if (t->fault.rc < 0) {
        return;
    }
    if (tree_reserve(t, bytes) < 0) {
        (void)tree_fail(t, NULL, -CAIRN_ENOMEM, "no memory for a tree");
        return;
    }
    if (bytes > 0) {
        memcpy(t->blob + t->bytes, data, bytes);
        t->bytes += bytes;
    }
}

static void tree_append_bytes(struct cairn_tree *t, const void *data, uint64_t bytes)
{
    tree_append(t, &bytes, sizeof bytes);
    tree_append(t, data, bytes);
}

static void tree_append_text(struct cairn_tree *t, const char *text, uint64_t bytes)
{
    tree_append_bytes(t, text, bytes);
    tree_append(t, "", 1);
}

/* May a node with this key come here? */
static const char *tree_misplaced(const struct cairn_tree *t, const char *key)
{
    if (t->depth == 0) {
        if (t->bytes > TREE_HEAD_BYTES) {
            return "the tree has its root already";
        }
        return key != NULL ? "the root has no key" : NULL;
    }
    if (t->open[t->depth - 1].map) {
        return key == NULL ? "a member of a map needs a key" : NULL;
    }
    return key != NULL ? "a member of a list has no key" : NULL;
}

/* The front of every node: kind and key. */
static int tree_begin(struct cairn_tree *t, const char *key, enum cairn_tree_kind kind)
{
    if (t == NULL || t->loaded) {
        return -CAIRN_EINVAL;
    }
    if (t->fault.rc < 0) {
        return t->fault.rc;
    }
    const char *wrong = tree_misplaced(t, key);
    if (wrong != NULL) {
        return tree_fail(t, key, -CAIRN_EINVAL, wrong);
    }
    if (tree_is_container(kind) && t->depth == CAIRN_TREE_DEPTH) {
        return tree_fail(t, key, -CAIRN_ELIMIT, "more than 128 lists and maps inside each other");
    }
    uint8_t byte = (uint8_t)kind;
    tree_append(t, &byte, 1);
    if (key != NULL) {
        tree_append_text(t, key, strlen(key));
    }
    return t->fault.rc;
}

/* Behind its value, a node counts. */
static int tree_done(struct cairn_tree *t)
{
    if (t->fault.rc == 0 && t->depth > 0) {
        t->open[t->depth - 1].count++;
    }
    return t->fault.rc;
}

static int
tree_scalar(struct cairn_tree *t, const char *key, enum cairn_tree_kind kind, struct slice value)
{
    int rc = tree_begin(t, key, kind);
    if (rc < 0) {
        return rc;
    }
    tree_append(t, value.data, value.bytes);
    return tree_done(t);
}

static int tree_open(struct cairn_tree *t, const char *key, enum cairn_tree_kind kind)
{
    static const uint8_t later[TREE_COUNT_BYTES];
    size_t at = t == NULL ? 0 : t->bytes;
    int rc = tree_begin(t, key, kind);
    if (rc < 0) {
        return rc;
    }
    tree_append(t, later, sizeof later);
    if (t->fault.rc == 0) {
        uint64_t index = t->depth == 0 ? 0 : t->open[t->depth - 1].count;
        t->open[t->depth++] = (struct tree_open){
            .at = at, .body_at = t->bytes, .index = index, .map = kind == CAIRN_TREE_MAP
        };
    }
    return t->fault.rc;
}

const char *tree_unfinished(const struct cairn_tree *t)
{
    if (t->fault.rc < 0) {
        return t->fault.what;
    }
    if (t->depth > 0) {
        return "a list or map is not ended";
    }
    return t->bytes <= TREE_HEAD_BYTES ? "the tree has no root" : NULL;
}

/* ---- public ---- */

struct cairn_tree *cairn_tree_new(void)
{
    const uint32_t version = TREE_VERSION;
    struct cairn_tree *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    tree_append(t, TREE_MAGIC, TREE_MAGIC_BYTES);
    tree_append(t, &version, sizeof version);
    return t->fault.rc < 0 ? cairn_tree_free(t) : t;
}

struct cairn_tree *cairn_tree_free(struct cairn_tree *t)
{
    if (t != NULL) {
        free(t->blob);
        free(t);
    }
    return NULL;
}

int cairn_tree_null(struct cairn_tree *t, const char *key)
{
    return tree_scalar(t, key, CAIRN_TREE_NULL, slice_of(NULL, 0));
}

int cairn_tree_bool(struct cairn_tree *t, const char *key, bool v)
{
    uint8_t byte = v ? 1 : 0;
    return tree_scalar(t, key, CAIRN_TREE_BOOL, slice_of(&byte, sizeof byte));
}

int cairn_tree_i64(struct cairn_tree *t, const char *key, int64_t v)
{
    return tree_scalar(t, key, CAIRN_TREE_I64, slice_of(&v, sizeof v));
}

int cairn_tree_u64(struct cairn_tree *t, const char *key, uint64_t v)
{
    return tree_scalar(t, key, CAIRN_TREE_U64, slice_of(&v, sizeof v));
}

int cairn_tree_f64(struct cairn_tree *t, const char *key, double v)
{
    return tree_scalar(t, key, CAIRN_TREE_F64, slice_of(&v, sizeof v));
}

int cairn_tree_f32(struct cairn_tree *t, const char *key, float v)
{
    return tree_scalar(t, key, CAIRN_TREE_F32, slice_of(&v, sizeof v));
}

int cairn_tree_str(struct cairn_tree *t, const char *key, const char *v)
{
    return cairn_tree_strn(t, key, v, v == NULL ? 1 : strlen(v));
}

int cairn_tree_strn(struct cairn_tree *t, const char *key, const char *v, uint64_t bytes)
{
    int rc = tree_begin(t, key, CAIRN_TREE_STRING);
    if (rc < 0) {
        return rc;
    }
    if (v == NULL && bytes > 0) {
        return tree_fail(t, key, -CAIRN_EINVAL, "a string needs a value");
    }
    tree_append_text(t, v, bytes);
    return tree_done(t);
}

int cairn_tree_bytes(struct cairn_tree *t, const char *key, const void *v, uint64_t bytes)
{
    int rc = tree_begin(t, key, CAIRN_TREE_BYTES);
    if (rc < 0) {
        return rc;
    }
    if (v == NULL && bytes > 0) {
        return tree_fail(t, key, -CAIRN_EINVAL, "bytes need a value");
    }
    tree_append_bytes(t, v, bytes);
    return tree_done(t);
}

int cairn_tree_tensor(struct cairn_tree *t, const char *key, const char *path, const uint64_t *id)
{
    int rc = tree_begin(t, key, CAIRN_TREE_TENSOR);
    if (rc < 0) {
        return rc;
    }
    if (path == NULL) {
        return tree_fail(t, key, -CAIRN_EINVAL, "a reference needs a path");
    }
    uint8_t has_id = id != NULL ? 1 : 0;
    uint64_t number = id != NULL ? *id : 0;
    tree_append(t, &has_id, sizeof has_id);
    tree_append(t, &number, sizeof number);
    tree_append_text(t, path, strlen(path));
    return tree_done(t);
}

int cairn_tree_list(struct cairn_tree *t, const char *key)
{
    return tree_open(t, key, CAIRN_TREE_LIST);
}

int cairn_tree_map(struct cairn_tree *t, const char *key)
{
    return tree_open(t, key, CAIRN_TREE_MAP);
}

int cairn_tree_end(struct cairn_tree *t)
{
    if (t == NULL || t->loaded) {
        return -CAIRN_EINVAL;
    }
    if (t->fault.rc < 0) {
        return t->fault.rc;
    }
    if (t->depth == 0) {
        return tree_fail(t, NULL, -CAIRN_EINVAL, "an end without a list or map");
    }
    const struct tree_open *o = &t->open[--t->depth];
    uint64_t bytes = t->bytes - o->body_at;
    uint8_t *at = t->blob + o->body_at - TREE_COUNT_BYTES;
    memcpy(at, &o->count, sizeof o->count);
    memcpy(at + sizeof o->count, &bytes, sizeof bytes);
    return tree_done(t);
}
