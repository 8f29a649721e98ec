/* file.h: files of the store. The one place that knows of O_DIRECT and of its absence.
 *
 * Where the file system takes O_DIRECT, payload goes to the disk from where it lies. Elsewhere it
 * goes through the page cache, pushed out and dropped as it comes, so that memory stays bounded.
 * Offsets, lengths and addresses of reads and writes are multiples of FILE_ALIGN_BYTES. */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "internal/err.h"

#define FILE_ALIGN_BYTES 4096u

struct file_mode {
    bool direct;
    char why[160]; /* why not direct */
};

/* Try a write and a read in DIR. Only ENOSPC is forgiven: then the open alone decides. */
int file_probe(int dir_fd, bool force_buffered, struct file_mode *ret, struct err *err);

struct file {
    int fd; /* -1: none */
    bool direct;
    uint64_t pushed_offset, pushed_bytes; /* buffered: write-back under way */
};

int file_create(
    struct file *f, const struct file_mode *mode, int dir_fd, const char *name, struct err *err);
/* One that is there, to be written anew. */
int file_reuse(
    struct file *f, const struct file_mode *mode, int dir_fd, const char *name, struct err *err);
/* ENOENT when it is missing. */
int file_open(
    struct file *f, const struct file_mode *mode, int dir_fd, const char *name, struct err *err);
void file_close(struct file *f); /* idempotent */

/* Give the file `bytes` of disk space and that size. ENOSPC. */
int file_allocate(struct file *f, uint64_t bytes, struct err *err);
int file_truncate(struct file *f, uint64_t bytes, struct err *err);
int file_size(const struct file *f, uint64_t *ret_bytes, struct err *err);
int file_write(struct file *f, uint64_t offset, const void *data, size_t bytes, struct err *err);
/* ECORRUPT when the file ends too early. Safe for several threads at once. */
int file_read(const struct file *f, uint64_t offset, void *data, size_t bytes, struct err *err);
/* All of it is on the disk when this returns 0. Never call it again after a failure. */
int file_sync(struct file *f, struct err *err);

/* Page-aligned memory for the above; NULL: none. free() it. */
void *file_buffer(size_t bytes);

/* Directories. `sync` makes creations, renames and removals in them durable. */
int file_sync_dir(int dir_fd, const char *name, struct err *err);
int file_open_dir(int at_fd, const char *name, int *ret_fd, struct err *err);
int file_space(int fd, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes, struct err *err);

#endif
