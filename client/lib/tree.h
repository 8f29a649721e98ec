/* tree.h: a typed tree as its bytes (PROTOCOL.md, "Typed trees"); built, checked and read there.
 *
 * Reading a node (tree_node.c) never goes beyond what it was given, whatever the bytes are; all the
 * rules of a tree are in tree_check.c, which both a put and a get run over the whole of it. */
#ifndef LIB_TREE_H
#define LIB_TREE_H

#include "cairn/tree.h"

#include "internal/slice.h"

#define TREE_MAGIC "CRN1tree"
#define TREE_MAGIC_BYTES 8u
#define TREE_VERSION 1u
#define TREE_HEAD_BYTES 12u

/* Where in a tree: "groups/0/betas", cut where it is too long; "" is the root. */
struct tree_place {
    char text[200];
    size_t bytes;
};

struct tree_fault {
    int rc; /* 0: none */
    const char *what;
    struct tree_place place;
};

/* A list or map that is open while a tree is built. */
struct tree_open {
    size_t at;      /* of its node, in the blob */
    size_t body_at; /* of its first child */
    uint64_t index; /* in its parent */
    uint64_t count; /* of its children so far */
    bool map;
};

struct cairn_tree {
    uint8_t *blob;
    size_t bytes, room;
    bool loaded; /* came from a record: nothing may be added */
    struct tree_fault fault;
    uint32_t depth;
    struct tree_open open[CAIRN_TREE_DEPTH];
};

/* ---- tree_node.c ---- */

/* A list or a map. */
bool tree_is_container(uint32_t kind);
/* The node at `at`, which must end before `limit`; `keyed`: it is a member of a map. Returns what
 * is wrong with its form, NULL when nothing is; what its values are is not looked at. */
const char *
tree_node_read(const uint8_t *at, const uint8_t *limit, bool keyed, struct cairn_node *ret);
/* First byte of the children, and the byte behind the node. */
const uint8_t *tree_node_body(const struct cairn_node *n);
const uint8_t *tree_node_end(const struct cairn_node *n);
/* One step further down: a key, or a position when key is NULL. */
void tree_place_add(struct tree_place *p, const char *key, uint64_t index);

/* ---- tree_check.c ---- */

/* Does the component have this tensor? 0, -CAIRN_ENOENT, -CAIRN_ENOMEM. */
typedef int (*tree_ref_fn)(void *arg, const struct cairn_node *ref);

/* Is it a tree, and nothing but a tree? Its depth is bounded before anything nests. Errors, in
 * *ret_fault too: EMISMATCH no tree at all; EVERSION; EEXIST a key twice; ELIMIT depth, a key's
 * length; EINVAL all else; ENOMEM. */
int tree_check(struct slice blob, tree_ref_fn has, void *arg, struct tree_fault *ret_fault);

/* ---- tree_build.c ---- */

/* Why the tree may not be put or read yet; NULL: it is finished. */
const char *tree_unfinished(const struct cairn_tree *t);

/* ---- tree_entry.c: entries of bytes that nobody interprets, for trees and blob.c ---- */

/* How they are put: `bytes` is their shape, and must outlive the entry. */
struct cairn_entry opaque_entry(const char *path, const uint64_t *bytes);
/* How many bytes the one at `path` has. Errors: as cairn_get without a target. */
int opaque_find(const struct cairn_reader *r, const char *path, uint64_t *ret_bytes);

#endif
