/* admin.c: runs, verification and the daemon's own state. */
#include <stdlib.h>

#include "lib/call.h"
#include "lib/rec.h"
#include "record/selector.h"
#include "wire/keep.h"

/* The daemon says every few seconds how far it is: a shorter limit would take that for silence. */
#define ADMIN_VERIFY_LEAST_MS 30000

static void admin_text(char *ret, size_t room, struct slice text)
{
    size_t bytes = text.bytes < room - 1 ? text.bytes : room - 1;
    memcpy(ret, bytes == 0 ? "" : text.data, bytes);
    ret[bytes] = '\0';
}

/* ---- runs
 * --------------------------------------------------------------------------------------------------------
 */

struct admin_runs {
    struct cairn_run_info *infos;
    size_t count, room;
};

static int admin_add_run(struct cairn *c, struct admin_runs *runs, const struct wire_run_info *from)
{
    if (runs->count == runs->room) {
        size_t room = runs->room == 0 ? 32 : runs->room * 2;
        struct cairn_run_info *infos = realloc(runs->infos, room * sizeof *infos);
        if (infos == NULL) {
            cl_drop(c); /* in mid-answer */
            return err_set(&c->err, -CAIRN_ENOMEM, "no memory for a list of runs");
        }
        runs->infos = infos;
        runs->room = room;
    }
    struct cairn_run_info *info = &runs->infos[runs->count++];
    *info = (struct cairn_run_info){ .uid = from->uid,
                                     .boundary_count = from->boundary_count,
                                     .latest_seq = from->latest_seq,
                                     .latest_step = from->latest_step,
                                     .latest_ns = from->latest_ns,
                                     .bytes = from->bytes,
                                     .poisoned = from->poisoned };
    admin_text(info->name, sizeof info->name, from->run);
    return 0;
}

/* The whole list, before anybody is called: a callback may use the handle. */
static int admin_list_runs(struct cairn *c, bool all, struct admin_runs *runs)
{
    union wire_msg msg = { .run_list = { .all = all } };
    struct cl_answer a;
    runs->count = 0;
    int rc = cl_ready(c);
    uint32_t request = cl_next_request(c);
    if (rc == 0) {
        rc = cl_send(c, WIRE_RUN_LIST, request, &msg);
    }
    while (rc == 0) {
        rc = cl_receive(c, request, &a);
        if (rc < 0 || a.frame.type == WIRE_DONE) {
            return rc;
        }
        rc = a.frame.type == WIRE_RUN_INFO ? admin_add_run(c, runs, &a.msg.run_info)
                                           : cl_unexpected(c, &a.frame, "a list of runs");
    }
    return rc;
}

int cairn_runs(struct cairn *c,
               bool all,
               int (*each)(void *arg, const struct cairn_run_info *info),
               void *arg)
{
    struct admin_runs runs = { 0 };
    int rc = cl_enter_daemon(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (each == NULL) {
        return cl_invalid(c, "a list of runs needs a function to call");
    }
    do {
        rc = admin_list_runs(c, all, &runs);
    } while (rc < 0 && cl_again(c));
    for (size_t i = 0; rc == 0 && i < runs.count; i++) {
        rc = each(arg, &runs.infos[i]);
    }
    free(runs.infos);
    return rc;
}

/* Not sent twice: the second answer would be that there is no such run. */
int cairn_run_drop(struct cairn *c)
{
    union wire_msg answer;
    int rc = cl_enter_run(c, 0);
    if (rc == 0) {
        rc = cl_ready(c);
    }
    if (rc == 0) {
        union wire_msg msg = { .run_drop = { .run = slice_str(c->run) } };
        rc = cl_ask_once(c, WIRE_RUN_DROP, &msg, WIRE_DONE, &answer);
    }
    return rc;
}

/* Not sent twice: a relative selector names another boundary then. */
int cairn_remove(struct cairn *c, const char *selector, struct cairn_boundary *ret)
{
    struct selector parsed;
    union wire_msg answer;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (selector == NULL) {
        return cl_invalid(c, "remove needs a selector");
    }
    rc = selector_parse(slice_str(selector), &parsed, &c->err);
    rc = rc < 0 ? rc : cl_ready(c);
    if (rc == 0) {
        union wire_msg msg = { .remove = { .run = slice_str(c->run),
                                           .selector = slice_str(selector) } };
        rc = cl_ask_once(c, WIRE_DELETE, &msg, WIRE_DESCRIBED, &answer);
    }
    if (rc == 0 && ret != NULL) {
        rec_public(&answer.described.boundary, ret);
    }
    return rc;
}

/* ---- verify
 * -------------------------------------------------------------------------------------------------------
 */

struct admin_findings {
    struct cairn_finding *list;
    size_t count, room;
    struct bump bump;
};

static int
admin_add_finding(struct cairn *c, struct admin_findings *f, const struct wire_finding *from)
{
    size_t room = f->room == 0 ? 32 : f->room * 2;
    if (f->count == f->room) {
        struct cairn_finding *list = realloc(f->list, room * sizeof *list);
        f->list = list == NULL ? f->list : list;
        f->room = list == NULL ? f->room : room;
    }
    struct cairn_finding finding = { .seq = from->seq,
                                     .component = from->component,
                                     .path = keep_text(&f->bump, from->path),
                                     .text = keep_text(&f->bump, from->text) };
    if (f->count == f->room || finding.path == NULL || finding.text == NULL) {
        cl_drop(c); /* in mid-answer */
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for findings");
    }
    f->list[f->count++] = finding;
    return 0;
}

/* How far it is: the last of them has the end result. */
static void admin_progress(const struct wire_verified *from, struct cairn_verified *ret)
{
    *ret = (struct cairn_verified){ .boundary_count = from->boundary_count,
                                    .chunk_count = from->chunk_count,
                                    .bytes = from->bytes,
                                    .finding_count = from->finding_count };
}

/* *ret_begun: the daemon has said something of it. */
static int admin_collect(struct cairn *c,
                         const union wire_msg *msg,
                         struct admin_findings *f,
                         struct cairn_verified *ret,
                         bool *ret_begun)
{
    struct cl_answer a = { 0 };
    bool more = true;
    *ret_begun = false;
    int rc = cl_ready(c);
    uint32_t request = cl_next_request(c);
    if (rc == 0) {
        rc = cl_send(c, WIRE_VERIFY, request, msg);
    }
    while (rc == 0 && more) {
        rc = cl_receive(c, request, &a);
        if (rc < 0) {
            break;
        }
        *ret_begun = true;
        if (a.frame.type == WIRE_VERIFIED) {
            admin_progress(&a.msg.verified, ret);
            more = a.msg.verified.more;
        } else if (a.frame.type == WIRE_FINDING) {
            rc = admin_add_finding(c, f, &a.msg.finding);
        } else {
            rc = cl_unexpected(c, &a.frame, "a verification");
        }
    }
    return rc;
}

/* What was found before a failure is told, too: the failure stays the handle's. */
static void admin_tell_before(struct cairn *c,
                              const struct admin_findings *f,
                              int (*each)(void *arg, const struct cairn_finding *f),
                              void *arg)
{
    struct err err = c->err;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < f->count && each != NULL; i++) {
        rc = each(arg, &f->list[i]);
    }
    c->err = err;
}

static int admin_tell(struct cairn *c,
                      const struct admin_findings *f,
                      const struct cairn_verified *v,
                      int (*each)(void *arg, const struct cairn_finding *f),
                      void *arg)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < f->count && each != NULL; i++) {
        rc = each(arg, &f->list[i]);
    }
    if (rc == 0 && v->finding_count > 0) {
        rc = err_set(&c->err,
                     -CAIRN_ECORRUPT,
                     "run '%s': %llu findings",
                     c->run,
                     (unsigned long long)v->finding_count);
    }
    return rc;
}

int cairn_verify(struct cairn *c,
                 const char *selector,
                 int (*each)(void *arg, const struct cairn_finding *f),
                 void *arg,
                 struct cairn_verified *ret)
{
    struct admin_findings findings = { 0 };
    struct cairn_verified verified = { 0 };
    bool begun = false;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    union wire_msg msg = { .verify = { .run = slice_str(c->run),
                                       .selector = slice_str(selector),
                                       .whole_run = selector == NULL } };
    bump_init(&findings.bump, SIZE_MAX / 2);
    if (c->timeout_ms < ADMIN_VERIFY_LEAST_MS) {
        c->deadline = deadline_idle(ADMIN_VERIFY_LEAST_MS);
    }
    do { /* what has begun is not begun again: it takes long, and has said things already */
        rc = admin_collect(c, &msg, &findings, &verified, &begun);
    } while (rc == -CAIRN_ECONN && !begun && cl_again(c));
    if (rc == 0 && ret != NULL) {
        *ret = verified;
    }
    if (rc == 0) {
        rc = admin_tell(c, &findings, &verified, each, arg);
    } else {
        admin_tell_before(c, &findings, each, arg);
    }
    free(findings.list);
    bump_fini(&findings.bump);
    return rc;
}

/* ---- status
 * -------------------------------------------------------------------------------------------------------
 */

int cairn_status(struct cairn *c, struct cairn_status *ret)
{
    union wire_msg none = { 0 };
    union wire_msg answer;
    int rc = cl_enter_daemon(c, 0);
    if (rc != 0) {
        return rc;
    }
    if (ret == NULL) {
        return cl_invalid(c, "status needs a place for the answer");
    }
    rc = cl_ask(c, WIRE_STATUS, &none, WIRE_STATUS_INFO, &answer);
    if (rc != 0) {
        return rc;
    }
    const struct wire_status_info *from = &answer.status_info;
    *ret = (struct cairn_status){ .pid = from->pid,
                                  .uptime_ms = from->uptime_ms,
                                  .run_count = from->run_count,
                                  .open_run_count = from->open_run_count,
                                  .connection_count = from->connection_count,
                                  .upload_count = from->upload_count,
                                  .pool_bytes = from->pool_bytes,
                                  .pool_used_bytes = from->pool_used_bytes,
                                  .disk_free_bytes = from->disk_free_bytes,
                                  .disk_total_bytes = from->disk_total_bytes,
                                  .committed_count = from->committed_count,
                                  .failed_count = from->failed_count,
                                  .arena_bytes = from->arena_bytes,
                                  .arena_share_bytes = from->arena_share_bytes,
                                  .arena_lent_bytes = from->arena_lent_bytes,
                                  .arena_own_bytes = from->arena_own_bytes,
                                  .arena_count = from->arena_count,
                                  .ring_count = from->ring_count,
                                  .resident_bytes = from->resident_bytes,
                                  .resident_kept_bytes = from->resident_kept_bytes,
                                  .resident_count = from->resident_count };
    admin_text(ret->server, sizeof ret->server, from->server);
    admin_text(ret->data_dir, sizeof ret->data_dir, from->data_dir);
    admin_text(ret->io_mode, sizeof ret->io_mode, from->io_mode);
    admin_text(ret->io_why, sizeof ret->io_why, from->io_why);
    while (ret->attention_count < 16 && ret->attention_count < from->attention_count) {
        uint32_t i = ret->attention_count++;
        admin_text(ret->attention[i], sizeof ret->attention[i], from->attention[i]);
    }
    return 0;
}
