/* The catalogue: a summary row per run, so that listing opens nothing else. It is advisory: never
 * synced, made anew from the runs at every start, and a failure to update it is no failure. */
#include <stdio.h>
#include <stdlib.h>

#include "store/row.h"
#include "store/store_int.h"

struct catalogue_row {
    const struct st_claim *run;
    const struct row_run *row; /* NULL: delete */
};

static int catalogue_put_txn(struct txn *t, void *arg, struct err *err)
{
    const struct catalogue_row *r = arg;
    struct key key = key_run(r->run->uid, slice_str(r->run->name));
    if (r->row == NULL) {
        return row_del(t, DB_CATALOGUE, &key, err);
    }
    struct wire_buf b = { .data = NULL };
    int rc = row_run_encode(r->row, &b, err);
    if (rc == 0) {
        rc = row_put(t, DB_CATALOGUE, &key, slice_of(b.data, b.bytes), err);
    }
    wire_buf_free(&b);
    return rc;
}

static int catalogue_change(struct st *st, struct catalogue_row *row, struct err *err)
{
    struct txn_job job = { .fn = catalogue_put_txn, .arg = row };
    return st->has_catalogue ? env_write(&st->catalogue, &job, err) : 0;
}

void catalogue_put(struct st *st, const struct st_claim *run, const struct row_run *row)
{
    struct err err = { .code = 0 };
    struct catalogue_row change = { .run = run, .row = row };
    (void)catalogue_change(st, &change, &err);
}

void catalogue_del(struct st *st, const struct st_claim *run)
{
    struct err err = { .code = 0 };
    struct catalogue_row change = { .run = run };
    (void)catalogue_change(st, &change, &err);
}

/* ---- rebuilding ------------------------------------------------------------------------------ */

/* A run that cannot be read is listed all the same, with nothing in it: opening it tells why. */
static int catalogue_add(void *arg, uint32_t uid, const char *name, struct err *err)
{
    struct st *st = arg;
    struct st_claim claim = { .uid = uid };
    struct st_run *run = NULL;
    struct row_run row = { .boundary_count = 0 };
    int rc = run_claim_init(&claim, uid, slice_str(name), err);
    if (rc < 0) {
        return rc;
    }
    struct err ignored = { .code = 0 };
    if (run_attach(st, &claim, true, &run, &ignored) == 0) {
        row = run->summary;
        (void)run_detach(run);
    }
    struct catalogue_row change = { .run = &claim, .row = &row };
    return catalogue_change(st, &change, err);
}

static int catalogue_path(const struct st *st, char ret_path[STORE_PATH_BYTES], struct err *err)
{
    int n = snprintf(ret_path, STORE_PATH_BYTES, "%s/catalogue", st->dir);
    if (n < 0 || (size_t)n >= STORE_PATH_BYTES) {
        return err_set(err, -CAIRN_ELIMIT, "the path '%.200s...' is too long", st->dir);
    }
    return 0;
}

static int catalogue_env(struct st *st, const char *path, bool readonly, struct err *err)
{
    const struct env_options options = { .what = "catalogue",
                                         .first = DB_CATALOGUE,
                                         .nr = DB_CATALOGUE + 1,
                                         .name = key_db_name,
                                         .map_bytes = ENV_MAP_BYTES,
                                         .create = !readonly,
                                         .readonly = readonly,
                                         .nosync = true };
    return env_open(&st->catalogue, path, &options, err);
}

int catalogue_open(struct st *st, struct err *err)
{
    char path[STORE_PATH_BYTES];
    int rc = catalogue_path(st, path, err);
    rc = rc < 0 ? rc : tree_remove(path, err);
    rc = rc < 0 ? rc : tree_make(path, err);
    rc = rc < 0 ? rc : catalogue_env(st, path, false, err);
    if (rc == -CAIRN_ENOSPC) {
        return 0; /* a full disk must not keep the daemon from starting: there is much to read */
    }
    if (rc < 0) {
        return err_wrap(err, rc, "catalogue");
    }
    st->has_catalogue = true;
    rc = tree_runs(st, catalogue_add, st, err);
    return rc == -CAIRN_ENOSPC ? 0 : rc;
}

/* ---- listing --------------------------------------------------------------------------------- */

struct catalogue_item {
    uint32_t uid;
    char name[LIMIT_RUN_NAME_BYTES + 1];
    struct row_run row;
};

struct catalogue_list {
    uint32_t uid;
    struct catalogue_item *items;
    size_t count, cap;
};

static int
catalogue_collect(struct catalogue_list *l, struct slice key, struct slice value, struct err *err)
{
    struct key_parts parts;
    if (!key_parse(DB_CATALOGUE, key, &parts)) {
        return err_set(err, -CAIRN_ECORRUPT, "the catalogue has a key of %zu bytes", key.bytes);
    }
    if (l->uid != UINT32_MAX && parts.uid != l->uid) {
        return 0;
    }
    if (l->count == l->cap) {
        size_t cap = l->cap == 0 ? 64 : 2 * l->cap;
        struct catalogue_item *items = realloc(l->items, cap * sizeof *items);
        if (items == NULL) {
            return err_set(err, -CAIRN_ENOMEM, "list the runs");
        }
        l->items = items;
        l->cap = cap;
    }
    struct catalogue_item *item = &l->items[l->count];
    *item = (struct catalogue_item){ .uid = parts.uid };
    memcpy(item->name, parts.name.data, parts.name.bytes);
    struct bump b;
    row_bump_init(&b, value.bytes);
    int rc = row_run_decode(value, &b, &item->row, err);
    bump_fini(&b);
    l->count += rc == 0 ? 1 : 0;
    return rc;
}

static int catalogue_list_txn(struct txn *t, void *arg, struct err *err)
{
    struct catalogue_list *l = arg;
    struct row_cursor c;
    int rc = row_cursor_open(&c, t, DB_CATALOGUE, err);
    if (rc < 0) {
        return rc;
    }
    struct key first = key_run(l->uid == UINT32_MAX ? 0 : l->uid, slice_of(NULL, 0));
    for (rc = row_seek(&c, &first, err); rc == 0; rc = row_next(&c, err)) {
        rc = catalogue_collect(l, c.key, c.value, err);
        if (rc < 0) {
            break;
        }
    }
    row_cursor_close(&c);
    return rc == -CAIRN_ENOENT ? 0 : rc;
}

int st_runs(struct st *st,
            uint32_t uid,
            int (*each)(void *arg, const struct st_run_row *row),
            void *arg,
            struct err *err)
{
    struct catalogue_list l = { .uid = uid };
    if (!st->has_catalogue) {
        return err_set(err,
                       -CAIRN_ENOSPC,
                       "no space was left for the catalogue: free some, restart the daemon");
    }
    int rc = env_read(&st->catalogue, catalogue_list_txn, &l, err);
    for (size_t i = 0; rc == 0 && i < l.count; i++) {
        struct st_run_row row = { .uid = l.items[i].uid,
                                  .name = slice_str(l.items[i].name),
                                  .run = l.items[i].row,
                                  .poisoned = latch_is_set(st, l.items[i].uid, l.items[i].name) };
        rc = each(arg, &row);
    }
    free(l.items);
    return rc;
}

/* ---- checking -------------------------------------------------------------------------------- */

struct catalogue_walk {
    catalogue_seen_fn *each;
    void *arg;
};

static int catalogue_see(const struct catalogue_walk *w,
                         const struct row_cursor *c,
                         int at,
                         const struct err *why,
                         struct err *err)
{
    struct catalogue_seen seen = { .uid = 0 };
    struct key_parts parts;
    struct bump b;
    if (key_parse(DB_CATALOGUE, c->key, &parts)) {
        seen.uid = parts.uid;
        seen.name = parts.name;
    }
    row_bump_init(&b, c->value.bytes);
    if (at < 0) {
        seen.problem = why->msg;
    } else if (seen.name.bytes == 0 || row_run_decode(c->value, &b, &seen.row, NULL) < 0) {
        seen.problem = "a row of the catalogue does not decode";
    }
    bump_fini(&b);
    return w->each(w->arg, &seen, err);
}

static int catalogue_check_txn(struct txn *t, void *arg, struct err *err)
{
    struct row_cursor c;
    struct err why = { .code = 0 };
    int rc = row_cursor_open(&c, t, DB_CATALOGUE, err);
    if (rc < 0) {
        return rc;
    }
    int at = row_seek(&c, NULL, &why);
    while (rc == 0 && row_stands(&c, at)) {
        rc = catalogue_see(arg, &c, at, &why, err);
        at = row_next(&c, &why);
    }
    if (rc == 0 && at != -CAIRN_ENOENT) {
        rc = catalogue_see(arg, &c, at, &why, err);
    }
    row_cursor_close(&c);
    return rc;
}

int catalogue_check(struct st *st, catalogue_seen_fn *each, void *arg, struct err *err)
{
    char path[STORE_PATH_BYTES];
    struct catalogue_walk w = { .each = each, .arg = arg };
    int rc = catalogue_path(st, path, err);
    if (rc < 0 || !tree_is_dir(path)) {
        return rc; /* it is made anew at the next start */
    }
    rc = catalogue_env(st, path, true, err);
    return rc < 0 ? rc : env_read(&st->catalogue, catalogue_check_txn, &w, err);
}
