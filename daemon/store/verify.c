/* Check one boundary completely: rows, counts, chunks, entries, components, root. */
#include "store/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/finite.h"
#include "store/rc.h"
#include "store/row.h"

int verify_say(struct verify *v, enum component component, struct slice path, const char *text)
{
    const struct st_finding finding = {
        .seq = v->seq, .component = (uint32_t)component, .path = path, .text = text
    };
    v->result->finding_count++;
    return v->watch->found(v->watch->arg, &finding);
}

int verify_step(struct verify *v, struct err *err)
{
    const struct st_watch *w = v->watch;
    return w->step == NULL ? 0 : w->step(w->arg, v->result, err);
}

int verify_say_err(struct verify *v, int rc, const struct err *why, struct err *err)
{
    if (rc_is_trouble(rc)) {
        return err_set(err, rc, "%s", why->msg);
    }
    return verify_say(v, (enum component)why->component, slice_str(why->path), why->msg);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* A tensor with chunks of its own: is one of them bad? */
static int
verify_own(struct verify *v, enum component component, const struct entry *e, struct err *err)
{
    uint64_t count = (e->bytes + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES;
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < count; i++) {
        char text[160];
        uint32_t index = e->first_chunk + (uint32_t)i;
        const struct load_extent *x = &v->load->extents[index];
        rc = verify_chunk_once(v, index, err);
        if (rc == 0 && v->states[index] != VERIFY_GOOD) {
            (void)snprintf(text,
                           sizeof text,
                           "chunk %u in segment %016" PRIx64 " %s",
                           index,
                           v->load->segments[x->segment].id,
                           v->states[index] == VERIFY_LOST ? "cannot be read"
                                                           : "does not match its digest");
            rc = verify_say(v, component, e->path, text);
        }
    }
    return rc;
}

static int
verify_entry(struct verify *v, enum component component, const struct entry *e, struct err *err)
{
    if (e->value.bytes == e->bytes) {
        return 0;
    }
    return e->bytes >= LIMIT_OWN_CHUNK_BYTES ? verify_own(v, component, e, err)
                                             : verify_queue(v, component, e, err);
}

static int verify_page(struct verify *v,
                       const struct component_info *info,
                       uint32_t page,
                       struct component_digest *d,
                       struct err *err)
{
    struct bump b;
    struct wire_entries entries;
    struct err why = { .code = 0 };
    int rc = verify_step(v, err);
    if (rc < 0) {
        return rc;
    }
    bump_init(&b, wire_bump_cap(LIMIT_MESSAGE_BYTES));
    rc = st_load_page(v->load, info->component, page, &b, &entries, &why);
    rc = rc < 0 ? rc : check_entries(&v->check, &entries, &why);
    if (rc < 0) {
        v->incomplete = true;
        rc = verify_say_err(v, rc, &why, err);
        bump_fini(&b);
        return rc;
    }
    for (uint32_t i = 0; rc == 0 && i < entries.count; i++) {
        component_digest_entry(d, &entries.entries[i]);
        rc = verify_entry(v, info->component, &entries.entries[i], err);
    }
    bump_fini(&b);
    return rc;
}

static int verify_component(struct verify *v, const struct component_info *info, struct err *err)
{
    struct component_digest *d = component_digest_new(info->component, info->type);
    if (d == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "verify a component");
    }
    int rc = 0;
    bool before = v->incomplete;
    v->incomplete = false;
    for (uint32_t i = 0; rc == 0 && !v->incomplete && i < info->page_count; i++) {
        rc = verify_page(v, info, i, d, err);
    }
    rc = rc < 0 ? rc : verify_flush(v, err);
    if (rc == 0 && !v->incomplete) {
        struct err why = { .code = 0 };
        struct digest found = component_digest_end(d);
        if (check_digest(info, &found, &why) < 0) {
            rc = verify_say_err(v, -CAIRN_ECORRUPT, &why, err);
        }
    }
    v->incomplete = v->incomplete || before;
    (void)component_digest_free(d);
    return rc;
}

/* ---- the boundary ---------------------------------------------------------------------------- */

/* Bytes that no entry owns, padding between entries for one, are covered by the chunk's digest. */
static int verify_rest(struct verify *v, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < v->load->chunk_count; i++) {
        const struct chunk *chunk = &v->load->chunks[i];
        rc = verify_chunk_once(v, i, err);
        if (rc == 0 && v->states[i] == VERIFY_BAD && (chunk->flags & CHUNK_PACKED) != 0) {
            char text[120];
            (void)snprintf(text, sizeof text, "shared chunk %u does not match its digest", i);
            rc = verify_say(v, chunk->component, slice_of(NULL, 0), text);
        }
    }
    return rc;
}

static int verify_end(struct verify *v, struct err *err)
{
    const struct boundary *b = &v->load->row.boundary;
    struct err why = { .code = 0 };
    if (v->incomplete) {
        return 0;
    }
    int rc = check_end(&v->check, b->components, b->component_count, &b->root, &why);
    if (rc < 0) {
        return verify_say_err(v, rc, &why, err);
    }
    if (b->not_finite == v->check.not_finite &&
        nonfinite_equal(&b->nonfinite, &v->check.nonfinite)) {
        return 0;
    }
    return verify_say(v,
                      COMPONENT_NONE,
                      slice_of(NULL, 0),
                      "what its row says of NaN and Inf is not what its entries say");
}

static int verify_load(struct verify *v, struct err *err)
{
    const struct boundary *b = &v->load->row.boundary;
    struct err why = { .code = 0 };
    check_init(&v->check, b);
    int rc = verify_init_chunks(v, err);
    if (rc < 0) {
        return rc;
    }
    if (check_chunks(&v->check, 0, v->load->chunks, v->load->chunk_count, &why) < 0) {
        v->incomplete = true;
        return verify_say_err(v, why.code, &why, err);
    }
    for (uint32_t i = 0; rc == 0 && i < b->component_count; i++) {
        rc = verify_component(v, &b->components[i], err);
    }
    rc = rc < 0 ? rc : verify_rest(v, err);
    return rc < 0 ? rc : verify_end(v, err);
}

int st_verify(struct st_run *run,
              uint64_t seq,
              const struct st_watch *watch,
              struct wire_verified *ret,
              struct err *err)
{
    struct verify v = { .run = run, .seq = seq, .watch = watch, .result = ret };
    struct err why = { .code = 0 };
    *ret = (struct wire_verified){ .boundary_count = 1 };
    int rc = st_load_open(run, seq, &v.load, &why);
    if (rc == -CAIRN_ENOENT || rc == -CAIRN_EPRUNED) {
        return err_set(err, rc, "%s", why.msg);
    }
    rc = rc < 0 ? verify_say_err(&v, rc, &why, err) : verify_load(&v, err);
    free(v.states);
    free(v.buffer);
    free(v.items);
    free(v.text);
    check_fini(&v.check);
    v.load = st_load_close(v.load);
    return rc;
}
