/* What a crash left behind: segments that no commit named, and half-written ones. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/hole.h"
#include "store/store_int.h"

static int sweep_add(struct segment_list *l, uint64_t id, bool temporary, struct err *err)
{
    if (l->count == l->cap) {
        uint32_t cap = l->cap == 0 ? 64 : 2 * l->cap;
        struct segment_file *files = realloc(l->files, cap * sizeof *files);
        if (files == NULL) {
            return err_set(err, -CAIRN_ENOMEM, "list the segments");
        }
        l->files = files;
        l->cap = cap;
    }
    l->files[l->count++] = (struct segment_file){ .id = id, .temporary = temporary };
    return 0;
}

int segment_list_read(int dir_fd, struct segment_list *ret, struct err *err)
{
    *ret = (struct segment_list){ .count = 0 };
    int fd = -1;
    int rc = file_open_dir(dir_fd, ".", &fd, err);
    if (rc < 0) {
        return rc;
    }
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        rc = err_errno(err, errno, "list the segments");
        (void)close(fd);
        return rc;
    }
    errno = 0;
    for (struct dirent *e = readdir(dir); e != NULL && rc == 0; e = readdir(dir)) {
        uint64_t id = 0;
        bool temporary = false;
        if (segment_parse_name(e->d_name, &id, &temporary)) {
            rc = sweep_add(ret, id, temporary, err);
        }
        errno = 0;
    }
    if (rc == 0 && errno != 0) {
        rc = err_errno(err, errno, "list the segments");
    }
    (void)closedir(dir);
    return rc;
}

void segment_list_free(struct segment_list *l)
{
    free(l->files);
    *l = (struct segment_list){ .count = 0 };
}

static void sweep_name(struct segment_list *l, uint64_t id)
{
    for (uint32_t i = 0; i < l->count; i++) {
        l->files[i].named = l->files[i].named || (!l->files[i].temporary && l->files[i].id == id);
    }
}

/* A file whose chunks have rows is named. */
static int sweep_by_chunk(struct txn *t, struct segment_list *l, bool *ret_all, struct err *err)
{
    struct row_cursor c;
    int rc = row_cursor_open(&c, t, DB_CHUNK, err);
    *ret_all = true;
    for (uint32_t i = 0; rc == 0 && i < l->count; i++) {
        struct key key = key_chunk(l->files[i].id, 0);
        int found = row_seek(&c, &key, NULL);
        struct key_parts parts;
        /* A row that does not match its digest is still a row of that segment. */
        l->files[i].named = !l->files[i].temporary && row_stands(&c, found) &&
                            key_parse(DB_CHUNK, c.key, &parts) && parts.segment == l->files[i].id;
        *ret_all = *ret_all && (l->files[i].named || l->files[i].temporary);
        rc = row_stands(&c, found) || found == -CAIRN_ENOENT ? 0 : found;
    }
    row_cursor_close(&c);
    return rc;
}

static int sweep_boundary(struct segment_list *l, const struct row_cursor *c, struct err *err)
{
    struct bump b;
    struct row_boundary row;
    row_bump_init(&b, c->value.bytes);
    int rc = row_boundary_decode(c->value, &b, &row, err);
    for (uint32_t i = 0; rc == 0 && i < row.segment_count; i++) {
        sweep_name(l, row.segments[i]);
    }
    bump_fini(&b);
    return rc;
}

/* A missing index entry must not cost data: before a file goes, every boundary is asked. */
static int sweep_by_boundary(struct txn *t, struct segment_list *l, struct err *err)
{
    struct row_cursor c;
    int rc = row_cursor_open(&c, t, DB_BOUNDARY, err);
    if (rc < 0) {
        return rc;
    }
    for (rc = row_seek(&c, NULL, err); rc == 0; rc = row_next(&c, err)) {
        rc = sweep_boundary(l, &c, err);
        if (rc < 0) {
            break;
        }
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

static int sweep_txn(struct txn *t, void *arg, struct err *err)
{
    struct segment_list *l = arg;
    bool all = false;
    int rc = sweep_by_chunk(t, l, &all, err);
    return rc < 0 || all ? rc : sweep_by_boundary(t, l, err);
}

/* Past every file there is. */
static void sweep_next_id(struct st_run *run, const struct segment_list *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->files[i].id >= run->next_segment) {
            run->next_segment = l->files[i].id + 1;
        }
    }
}

static void sweep_unlink(const struct st_run *run, const struct segment_list *l, bool temporary)
{
    for (uint32_t i = 0; i < l->count; i++) {
        char name[SEGMENT_NAME_BYTES];
        segment_name(l->files[i].id, l->files[i].temporary, name);
        if (l->files[i].temporary ? temporary : !temporary && !l->files[i].named) {
            (void)unlinkat(run->segments_fd, name, 0);
        }
    }
}

int run_sweep(struct st_run *run, struct err *err)
{
    struct segment_list l;
    int rc = segment_list_read(run->segments_fd, &l, err);
    if (rc < 0) {
        segment_list_free(&l);
        return rc;
    }
    /* Damage in some row makes it uncertain what is named: then complete files stay. */
    bool certain = env_read(&run->index, sweep_txn, &l, NULL) == 0 && !run->newest_damaged;
    sweep_next_id(run, &l);
    sweep_unlink(run, &l, true);
    /* The ids are written down before a file goes, so that none is ever used again (on a full disk
     * one may be, which harms nobody: no row named it). And a file is unnamed for certain only when
     * a commit of ours is on the disk: one that failed may be there instead. */
    bool full = run_confirm(run, NULL) == -CAIRN_ENOSPC;
    if (certain && !st_run_poisoned(run)) {
        sweep_unlink(run, &l, false);
        hole_punch_all(run);
    }
    if (full && !st_run_poisoned(run)) {
        (void)run_confirm(run, NULL); /* there may be space now */
    }
    segment_list_free(&l);
    return 0;
}
