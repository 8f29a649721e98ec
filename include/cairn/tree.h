/* cairn/tree.h: state that is no tensor: typed trees, and opaque bytes.
 *
 * A typed tree holds what a scheduler, a data loader or the caller wants back exactly: nulls,
 * bools, integers, floats (as their bits), strings, bytes, lists, maps, and references to tensors
 * of the same component. It is built in memory, put as one entry of a component, and read back as
 * plain values. The daemon never looks into it; the record's digests cover it. Its bytes:
 * proto/PROTOCOL.md, "Typed trees".
 *
 *     struct cairn_tree *t = cairn_tree_new();
 *     (void)cairn_tree_map(t, NULL);
 *     (void)cairn_tree_u64(t, "epoch", 3);
 *     (void)cairn_tree_list(t, "betas");
 *     (void)cairn_tree_f64(t, NULL, 0.9);
 *     (void)cairn_tree_f64(t, NULL, 0.999);
 *     (void)cairn_tree_end(t);
 *     (void)cairn_tree_end(t);
 *     rc = cairn_put_tree(w, "loop", t); // the first failure of all of these
 *     t = cairn_tree_free(t);
 *
 * Opaque bytes (a random generator's state, a pickled object) of any size are put with
 * cairn_put_blob, under a media tag and a version that the reader must name. */
#ifndef CAIRN_TREE_H
#define CAIRN_TREE_H

#include <cairn/record.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAIRN_TREE_DEPTH 128      /* lists and maps inside each other, at most */
#define CAIRN_TREE_KEY_BYTES 4096 /* of one key, at most */
#define CAIRN_BLOB_MEDIA_BYTES 255

struct cairn_tree; /* while it is built: its builder's; once it was got: immutable */

/* What a node is. 2 to 9 are the numbers of the scalar entries in record.h. */
enum cairn_tree_kind {
    CAIRN_TREE_TENSOR = 1, /* reference to a tensor of the same component */
    CAIRN_TREE_I64 = 2,
    CAIRN_TREE_U64 = 3,
    CAIRN_TREE_F64 = 4,
    CAIRN_TREE_F32 = 5,
    CAIRN_TREE_BOOL = 6,
    CAIRN_TREE_STRING = 7,
    CAIRN_TREE_BYTES = 8,
    CAIRN_TREE_NULL = 9,
    CAIRN_TREE_LIST = 10,
    CAIRN_TREE_MAP = 11
};

/* ---- building ---------------------------------------------------------------------------------
 */

/* A tree without nodes; the first node that is added is its root. NULL: no memory (every call
 * below takes a NULL tree and returns -CAIRN_EINVAL).
 * Errors: NULL.   Ownership: the caller frees it.   Threads: any; one at a time per tree.
 * Blocks: never. */
CAIRN_API struct cairn_tree *cairn_tree_new(void);

/* Returns NULL. Nodes of the tree are not valid any more.
 * Errors: none; NULL is allowed.   Ownership: frees t.   Threads: one per tree.   Blocks: never. */
CAIRN_API struct cairn_tree *cairn_tree_free(struct cairn_tree *t);

/* Add a node to the list or map that was begun last, or as the root. `key`: UTF-8 without NUL, 0 to
 * 4096 bytes, unique in its map; NULL in a list and for the root. The order of a map is kept.
 * Floats are carried as their bits: NaN payloads and -0.0 stay. A string is UTF-8; strn takes one
 * with NULs in it. A list or map is open until cairn_tree_end; at most 128 may be open.
 * A failure sticks: every later call on the tree returns it, and cairn_put_tree tells it with the
 * place where it happened, so results need not be looked at before that. Keys and text are looked
 * at by cairn_put_tree.
 * Errors: EINVAL a NULL argument, a key that is missing or should not be, a second root, a tree
 * that was got from a record; ELIMIT deeper than 128; ENOMEM.   Ownership: keeps no pointer.
 * Threads: one per tree.   Blocks: never. */
CAIRN_API int cairn_tree_null(struct cairn_tree *t, const char *key);
CAIRN_API int cairn_tree_bool(struct cairn_tree *t, const char *key, bool v);
CAIRN_API int cairn_tree_i64(struct cairn_tree *t, const char *key, int64_t v);
CAIRN_API int cairn_tree_u64(struct cairn_tree *t, const char *key, uint64_t v);
CAIRN_API int cairn_tree_f64(struct cairn_tree *t, const char *key, double v);
CAIRN_API int cairn_tree_f32(struct cairn_tree *t, const char *key, float v);
CAIRN_API int cairn_tree_str(struct cairn_tree *t, const char *key, const char *v);
CAIRN_API int cairn_tree_strn(struct cairn_tree *t, const char *key, const char *v, uint64_t bytes);
CAIRN_API int
cairn_tree_bytes(struct cairn_tree *t, const char *key, const void *v, uint64_t bytes);
CAIRN_API int cairn_tree_list(struct cairn_tree *t, const char *key);
CAIRN_API int cairn_tree_map(struct cairn_tree *t, const char *key);

/* Add a reference to the tensor at `path` of the component that the tree is put into; `id` is the
 * parameter's, where the tensor has one (NULL: none). The tensor must be put before the tree.
 * Errors, Ownership, Threads, Blocks: as the calls above. */
CAIRN_API int
cairn_tree_tensor(struct cairn_tree *t, const char *key, const char *path, const uint64_t *id);

/* End the list or map that was begun last.
 * Errors: EINVAL there is none; else what stuck.   Ownership: -.   Threads: one per tree.
 * Blocks: never. */
CAIRN_API int cairn_tree_end(struct cairn_tree *t);

/* Put a finished tree as one entry of the component (inside a put callback). A tree may be put many
 * times; one that was got may be put again.
 * Errors: what stuck in the tree, or EINVAL it has no root, an open list or map, a key or string
 * that is not UTF-8, a reference to a tensor that was not put before; EEXIST a key twice in a map;
 * ELIMIT a key of more than 4096 bytes; each with its place ("groups/0/betas"); else as cairn_put.
 * Ownership: keeps no pointer.   Threads: the capturing one.   Blocks: for the copy. */
CAIRN_API int cairn_put_tree(struct cairn_writer *w, const char *path, const struct cairn_tree *t);

/* ---- reading ----------------------------------------------------------------------------------
 */

/* One node, as plain values. Pointers are into the tree: valid until it is freed. */
struct cairn_node {
    uint32_t kind;      /* enum cairn_tree_kind */
    uint32_t flags;     /* CAIRN_HAS_ID: a reference to a tensor that has an id */
    const char *key;    /* in a map; NULL elsewhere */
    uint64_t key_bytes; /* without the NUL behind it */
    uint64_t index;     /* position in its list or map, from 0 */
    union {
        uint64_t u64; /* also the bits of every other, 0 above them */
        int64_t i64;
        double f64;
        float f32;
        bool boolean;
    } value;
    uint64_t id;          /* of a reference */
    const void *data;     /* string, reference (its path): a NUL follows; bytes */
    uint64_t bytes;       /* of data */
    uint64_t count;       /* children of a list or map */
    const uint8_t *at[3]; /* private */
};

/* Read the tree at `path`, verified by its digest, and check all of it: lengths, text, depth, keys,
 * references, and that nothing follows. Takes as much memory as the tree has bytes, and for the
 * time of the check at most 32 bytes for each member of its largest map.
 * Errors: ENOENT no such entry; EMISMATCH it is no tree; EVERSION a later form of trees; ECORRUPT
 * (with the place), ENOMEM; else as cairn_get.   Ownership: the caller frees *ret, which does not
 * need the record.   Threads: one per handle.   Blocks: until the bytes are there. */
CAIRN_API int
cairn_get_tree(const struct cairn_reader *r, const char *path, struct cairn_tree **ret);

/* The root of a tree that was got, or whose building is finished.
 * Errors: EINVAL not finished, or failed.   Ownership: *ret points into the tree.   Threads: any
 * number, while nobody adds to the tree.   Blocks: never. */
CAIRN_API int cairn_tree_root(const struct cairn_tree *t, struct cairn_node *ret);

/* The first child of a list or map, and the node behind `n` in its list or map: walks both in
 * order. ret may be n.
 * Errors: ENOENT there is none; EINVAL a NULL argument.   Ownership: *ret points into the tree.
 * Threads: any number.   Blocks: never. */
CAIRN_API int cairn_tree_first(const struct cairn_node *n, struct cairn_node *ret);
CAIRN_API int cairn_tree_next(const struct cairn_node *n, struct cairn_node *ret);

/* The child under a key of a map, or at a position of a list or map. Both pass the children before
 * it: walk a long list with cairn_tree_next. ret may be n.
 * Errors: ENOENT no such child, or n is of another kind; EINVAL a NULL argument.   Ownership: *ret
 * points into the tree.   Threads: any number.   Blocks: never. */
CAIRN_API int cairn_tree_child(const struct cairn_node *n, const char *key, struct cairn_node *ret);
CAIRN_API int cairn_tree_item(const struct cairn_node *n, uint64_t index, struct cairn_node *ret);

/* The node at a path from n: keys and, in lists, positions in decimal, with "/" between them:
 * "groups/0/betas". "" is n itself. A key that has a "/" in it: cairn_tree_child.
 * Errors, Ownership, Threads, Blocks: as cairn_tree_child. */
CAIRN_API int cairn_tree_at(const struct cairn_node *n, const char *path, struct cairn_node *ret);

/* ---- opaque bytes -----------------------------------------------------------------------------
 */

/* What a record has of opaque bytes. */
struct cairn_blob {
    const char *media; /* points into the record */
    uint64_t bytes;
    uint32_t version;
};

/* Put opaque bytes of any size at `path`, with a media tag (UTF-8, at most 255 bytes; what they
 * are: "application/x-pickle", "torch.cpu.rng") and the version of that format. No precision
 * converts them. The tag and the version are entries of their own, at path + "@media" and path +
 * "@version". Errors: as cairn_put; EINVAL the media tag.   Ownership: keeps no pointer.   Threads:
 * the capturing one.   Blocks: for the copy. */
CAIRN_API int cairn_put_blob(struct cairn_writer *w,
                             const char *path,
                             const char *media,
                             uint32_t version,
                             const void *data,
                             uint64_t bytes);

/* Look: media tag, version and length of the opaque bytes at `path`.
 * Errors: ENOENT no such entry; EMISMATCH it was not put by cairn_put_blob.   Ownership: media
 * points into the record.   Threads: one per handle.   Blocks: never. */
CAIRN_API int
cairn_blob_info(const struct cairn_reader *r, const char *path, struct cairn_blob *ret);

/* Read opaque bytes, verified, into dst, which has exactly as many as were recorded
 * (cairn_blob_info). With dst NULL, only the comparison of media tag and version.
 * Errors: ENOENT; EMISMATCH another media tag, version or length (names path, recorded and wanted);
 * else as cairn_get.   Ownership: keeps no pointer.   Threads: one per handle.   Blocks: with dst,
 * until the bytes are there. */
CAIRN_API int cairn_get_blob(const struct cairn_reader *r,
                             const char *path,
                             const char *media,
                             uint32_t version,
                             void *dst,
                             uint64_t dst_bytes);

#ifdef __cplusplus
}
#endif
#endif
