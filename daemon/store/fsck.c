/* Walk every invariant of a stopped store. Nothing is changed; everything that is wrong is said. */
#include "store/fsck.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/rc.h"

int fsck_say(struct fsck *f, const char *fmt, ...)
{
    char text[640];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0) {
        text[0] = '\0';
    }
    f->result->finding_count++;
    return f->each(f->arg, f->where, text);
}

/* A crash in mid-save leaves files that nothing names; that is no damage. */
int fsck_say_leftover(struct fsck *f, const char *what, uint64_t segment)
{
    int rc = fsck_say(f,
                      "%s %016" PRIx64
                      ": left over from an unfinished save, goes when the run is opened",
                      what,
                      segment);
    f->result->finding_count--;
    return rc;
}

const struct fsck_boundary *fsck_find(const struct fsck *f, uint64_t seq)
{
    size_t low = 0;
    size_t high = f->boundary_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->boundaries[middle].seq < seq) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < f->boundary_count && f->boundaries[low].seq == seq ? &f->boundaries[low] : NULL;
}

struct segment_file *fsck_segment(struct fsck *f, uint64_t id)
{
    for (uint32_t i = 0; i < f->segments.count; i++) {
        if (f->segments.files[i].id == id && !f->segments.files[i].temporary) {
            return &f->segments.files[i];
        }
    }
    return NULL;
}

int fsck_say_err(struct fsck *f, int rc, const struct err *why, struct err *err)
{
    return rc_is_trouble(rc) ? err_set(err, rc, "%s: %s", f->where, why->msg)
                             : fsck_say(f, "%s", why->msg);
}

struct fsck_walk {
    struct fsck *f;
    enum st_db db;
    fsck_row_fn *row;
};

static int fsck_walk_txn(struct txn *t, void *arg, struct err *err)
{
    const struct fsck_walk *w = arg;
    struct fsck *f = w->f;
    const enum st_db db = w->db;
    struct row_cursor c;
    struct err why = { .code = 0 };
    int rc = row_cursor_open(&c, t, db, &why);
    if (rc < 0) {
        return fsck_say_err(f, rc, &why, err);
    }
    int at = row_seek(&c, NULL, &why);
    while (rc == 0 && row_stands(&c, at)) {
        struct key_parts parts;
        if (at < 0) {
            rc = fsck_say(f, "%s", why.msg);
        } else if (!key_parse(db, c.key, &parts)) {
            rc = fsck_say(f, "%s has a key of %zu bytes", key_db_name(db), c.key.bytes);
        } else {
            rc = w->row(f, t, &parts, c.value, err);
        }
        at = row_next(&c, &why);
    }
    row_cursor_close(&c);
    return rc == 0 && at != -CAIRN_ENOENT ? fsck_say_err(f, at, &why, err) : rc;
}

/* Each in a transaction of its own: LMDB refuses everything in one that has met a wrong page. */
int fsck_walk(struct fsck *f, enum st_db db, fsck_row_fn *row, struct err *err)
{
    struct fsck_walk w = { f, db, row };
    return env_read(&f->run->index, fsck_walk_txn, &w, err);
}

int fsck_need(struct fsck *f,
              struct txn *t,
              enum st_db db,
              const struct key *key,
              struct slice *ret_value,
              bool *ret_there)
{
    struct slice value;
    struct err why = { .code = 0 };
    int rc = row_get(t, db, key, ret_value != NULL ? ret_value : &value, &why);
    *ret_there = rc == 0;
    /* A row that does not match its digest is said by the walk over its database. */
    return rc == 0 || rc == -CAIRN_ECORRUPT ? 0 : fsck_say(f, "%s", why.msg);
}

/* ---- one run --------------------------------------------------------------------------------- */

static int fsck_summary(struct fsck *f)
{
    const struct row_run *m = &f->run->summary;
    const struct row_run *c = &f->summary;
    int rc = 0;
    if (m->boundary_count != c->boundary_count || m->latest_seq != c->latest_seq ||
        m->latest_step != c->latest_step || m->latest_ns != c->latest_ns || m->bytes != c->bytes) {
        rc = fsck_say(f,
                      "meta counts %" PRIu64 " boundaries up to seq %" PRIu64 ", %" PRIu64
                      " bytes; there are %" PRIu64 " up to seq %" PRIu64 ", %" PRIu64 " bytes",
                      m->boundary_count,
                      m->latest_seq,
                      m->bytes,
                      c->boundary_count,
                      c->latest_seq,
                      c->bytes);
    }
    if (rc == 0 && c->latest_seq >= f->run->next_seq) {
        rc = fsck_say(f, "meta would give seq %" PRIu64 " again", f->run->next_seq);
    }
    for (uint32_t i = 0; rc == 0 && i < f->segments.count; i++) {
        const struct segment_file *s = &f->segments.files[i];
        if (s->named && s->id >= f->run->next_segment) {
            rc = fsck_say(f, "meta would give segment %016" PRIx64 " again", s->id);
        }
    }
    return rc;
}

static int fsck_finding(void *arg, const struct st_finding *finding)
{
    struct fsck *f = arg;
    f->result->finding_count--; /* st_verify's own count is added */
    if (finding->path.bytes == 0) {
        return fsck_say(f,
                        "seq %" PRIu64 ": %s%s%s",
                        finding->seq,
                        finding->component == 0 ? "" : component_name(finding->component),
                        finding->component == 0 ? "" : ": ",
                        finding->text);
    }
    return fsck_say(f,
                    "seq %" PRIu64 ": %s: '%.*s': %s",
                    finding->seq,
                    component_name(finding->component),
                    (int)(finding->path.bytes < 256 ? finding->path.bytes : 256),
                    (const char *)finding->path.data,
                    finding->text);
}

static int fsck_payload(struct fsck *f, struct err *err)
{
    const struct st_watch watch = { .found = fsck_finding, .arg = f };
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < f->boundary_count; i++) {
        struct wire_verified one = { .boundary_count = 0 };
        rc = st_verify(f->run, f->boundaries[i].seq, &watch, &one, err);
        f->result->boundary_count += one.boundary_count;
        f->result->chunk_count += one.chunk_count;
        f->result->bytes += one.bytes;
        f->result->finding_count += one.finding_count;
    }
    return rc;
}

static void fsck_reset(struct fsck *f)
{
    f->run = run_detach(f->run);
    free(f->boundaries);
    segment_list_free(&f->segments);
    f->boundaries = NULL;
    f->boundary_count = 0;
    f->boundary_cap = 0;
    f->summary = (struct row_run){ .boundary_count = 0 };
    f->ref_count = 0;
    f->previous_seq = 0;
    f->pruned_count = 0;
    f->last_chunk.segment = 0;
    f->last_chunk.end = 0;
}

static int fsck_run(void *arg, uint32_t uid, const char *name, struct err *err)
{
    struct fsck *f = arg;
    struct st_claim claim = { .uid = 0 };
    struct err why = { .code = 0 };
    int rc = run_claim_init(&claim, uid, slice_str(name), err);
    if (rc < 0) {
        return rc;
    }
    (void)snprintf(f->where, sizeof f->where, "uid %" PRIu32 " run '%s'", uid, name);
    rc = run_attach(f->st, &claim, true, &f->run, &why);
    if (rc < 0) {
        (void)err_wrap(&why, rc, "cannot be opened");
        return fsck_say_err(f, rc, &why, err);
    }
    rc = segment_list_read(f->run->segments_fd, &f->segments, err);
    rc = rc < 0 ? rc : fsck_boundaries(f, err);
    rc = rc < 0 ? rc : fsck_rows(f, err);
    rc = rc < 0 ? rc : env_read(&f->run->index, fsck_segments, f, err);
    rc = rc < 0 ? rc : fsck_summary(f);
    rc = rc < 0 ? rc : fsck_payload(f, err);
    fsck_reset(f);
    return rc;
}

/* The catalogue is advisory: behind its run after a crash is fine, ahead of it, or about nothing,
 * is not. */
static int fsck_catalogue_row(void *arg, const struct catalogue_seen *seen, struct err *err)
{
    struct fsck *f = arg;
    struct st_claim claim = { .uid = 0 };
    struct st_run *run = NULL;
    struct err why = { .code = 0 };
    char path[STORE_PATH_BYTES];
    if (seen->problem != NULL) {
        return fsck_say(f, "%s", seen->problem);
    }
    int rc = run_claim_init(&claim, seen->uid, seen->name, &why);
    rc = rc < 0 ? rc : st_path(f->st, claim.uid, claim.name, "", path, err);
    if (rc < 0 || !tree_is_dir(path)) {
        return fsck_say(f,
                        "lists run '%.*s' of uid %" PRIu32 ", which is not there",
                        (int)seen->name.bytes,
                        (const char *)seen->name.data,
                        seen->uid);
    }
    rc = run_attach(f->st, &claim, true, &run, &why);
    if (rc < 0) { /* damage was said where the run was looked at */
        return rc_is_trouble(rc) ? fsck_say_err(f, rc, &why, err) : 0;
    }
    bool ahead = seen->row.latest_seq > run->summary.latest_seq;
    (void)run_detach(run);
    return ahead ? fsck_say(f,
                            "run '%s' of uid %" PRIu32 " is listed up to seq %" PRIu64
                            ", which it does not have",
                            claim.name,
                            claim.uid,
                            seen->row.latest_seq)
                 : 0;
}

/* ---- the store ------------------------------------------------------------------------------- */

int st_fsck(
    const char *dir, st_fsck_fn *each, void *arg, struct wire_verified *ret, struct err *err)
{
    struct fsck f = { .each = each, .arg = arg, .result = ret };
    *ret = (struct wire_verified){ .boundary_count = 0 };
    int rc = st_attach(dir, false, &f.st, err);
    if (rc < 0) {
        return err_wrap(err, rc, "check the store");
    }
    rc = tree_runs(f.st, fsck_run, &f, err);
    if (rc == 0) {
        (void)snprintf(f.where, sizeof f.where, "catalogue");
        rc = catalogue_check(f.st, fsck_catalogue_row, &f, err);
    }
    f.st = st_close(f.st);
    return rc;
}
