/* cairn/part.h: parts of a loaded record: ranges of a tensor, and tensors by name.
 *
 * Who resumes reads everything (cairn/training.h). This is for those who do not: a server that
 * wants the embeddings, a rank that wants its rows of a matrix, somebody who looks at one layer.
 * What is asked for is read in the chunks that hold it (8 MiB, the last of a tensor shorter;
 * tensors below 4 MiB share them), each verified whole before a byte of it is handed out, and a
 * tensor in a shared chunk whole again with each range of it; the rest of the record is not read.
 */
#ifndef CAIRN_PART_H
#define CAIRN_PART_H

#include <cairn/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cairn_get of `bytes` bytes from `offset_bytes` on: of a tensor [rows, columns] in the row-major
 * order in which it was put, row i begins at i x columns x the bytes of an element. Neither need be
 * a multiple of an element. `want` describes the whole tensor, as for cairn_get. Of reads one after
 * the other through a tensor each chunk is read once.
 * Errors: as cairn_get; EINVAL the range is not inside the tensor (names both), or dst is NULL and
 * bytes is not 0.   Ownership: keeps no pointer.   Threads: one per handle.   Blocks: until the
 * bytes are there. */
CAIRN_API int cairn_get_range(const struct cairn_reader *r,
                              const struct cairn_entry *want,
                              uint64_t offset_bytes,
                              uint64_t bytes,
                              void *dst);

/* Where is this tensor wanted? *ret_dst, NULL when called, gets room for e->bytes; NULL: it is not
 * wanted, and not read. `e` lives for the call. Called inside of cairn_get_named, once for each
 * tensor, before any is read. Returns 0, or a negative code, which ends the call with that code.
 * Do not call the library with this handle from it. */
typedef int (*cairn_place)(void *self, const struct cairn_entry *e, void **ret_dst);

/* Read the tensors of a component whose path matches `pattern`, in whatever order is the fastest.
 * In a pattern * stands for anything, also nothing and also dots and slashes, ? for one character,
 * [a-c] for one of these, [!a-c] for one of none of these, and \ takes the meaning from what
 * follows. It is fnmatch of POSIX, with no flags: what a character is, the process's locale says.
 * NULL matches all. *ret_count, if it is not NULL: how many were read. Errors: ENOENT no tensor
 * matches; EINVAL; ECORRUPT; EPRUNED; ECONN, ETIMEDOUT; ENOMEM; what `place` returned. After a
 * failure what is in the places is of no use.   Ownership: keeps no pointer.   Threads: one per
 * handle.   Blocks: until the bytes are there. */
CAIRN_API int cairn_get_named(const struct cairn_reader *r,
                              const char *pattern,
                              cairn_place place,
                              void *self,
                              uint64_t *ret_count);

#ifdef __cplusplus
}
#endif
#endif
