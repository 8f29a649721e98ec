/* upload.c: one captured record on its way to the daemon.
 *
 * Happy path: BEGIN, BEGUN(RECEIVING), CHUNKS, ENTRIES, DATA, SEAL, COMMITTED. Without DATA when
 * the payload lies in an arena: the daemon takes it from there. BEGIN carries save
 * id and root, so asking again after a lost connection never makes a second boundary: the answer is
 * SEALED or COMMITTED when the daemon has it already, RECEIVING when it must be sent again. */
#include "lib/upload.h"

#include <stdio.h>
#include <sys/random.h>

#include "internal/fault.h"
#include "lib/call.h"
#include "lib/labels.h"
#include "lib/precision.h"
#include "record/digest.h"
#include "record/rules.h"

/* ---- what the caller chose ---- */

static int upload_save_id(struct cairn *c, struct cairn_record *r, const uint8_t *given)
{
    if (given != NULL) {
        memcpy(r->boundary.save_id, given, sizeof r->boundary.save_id);
    } else if (!r->has_save_id && getrandom(r->boundary.save_id, sizeof r->boundary.save_id, 0) !=
                                      (ssize_t)sizeof r->boundary.save_id) {
        return err_set(&c->err, -CAIRN_EINTERNAL, "no random save id");
    }
    r->has_save_id = true;
    return 0;
}

/* What BEGIN says of it. That of NaN and Inf is the daemon's to say, out of the entries. */
static struct boundary upload_announced(const struct cairn_record *r)
{
    struct boundary b = r->boundary;
    b.nonfinite = (struct nonfinite){ 0 };
    b.not_finite = false;
    b.marks = 0;
    b.pin_count = 0;
    b.trainable_bytes = 0;
    b.trainable_new_bytes = 0;
    b.warnings = 0;
    return b;
}

int upload_prepare(struct cairn *c,
                   struct cairn_record *r,
                   const struct cairn_save_args *a,
                   struct cairn_record **ret)
{
    int rc = labels_take(c, &r->bump, a->labels, &r->boundary.labels, &r->boundary.label_count);
    if (rc == 0) {
        rc = upload_save_id(c, r, a->save_id);
    }
    if (rc == 0) {
        r->boundary.step = a->step;
        rc = precision_apply(c, r, a, ret);
    }
    if (rc == 0) {
        struct boundary *b = &(*ret)->boundary;
        b->root = digest_root(b, b->components, b->component_count);
        struct boundary announced = upload_announced(*ret);
        rc = rules_begin(&announced, &c->err);
    }
    return rc < 0 ? err_wrap(&c->err, rc, "save") : 0;
}

/* ---- the manifest ---- */

#define UPLOAD_CHUNKS_PER_FRAME 256u /* on the stack; the limit is LIMIT_CHUNKS_PER_PAGE */

/* With an arena, where they lie goes along. */
static int upload_chunks(struct cairn *c, const struct upload *u)
{
    struct layout *l = u->record->layout;
    uint32_t count = layout_chunk_count(l);
    struct chunk chunks[UPLOAD_CHUNKS_PER_FRAME];
    uint64_t offsets[UPLOAD_CHUNKS_PER_FRAME];
    int rc = 0;
    for (uint32_t first = 0; rc == 0 && first < count; first += UPLOAD_CHUNKS_PER_FRAME) {
        uint32_t n =
            count - first < UPLOAD_CHUNKS_PER_FRAME ? count - first : UPLOAD_CHUNKS_PER_FRAME;
        for (uint32_t i = 0; i < n; i++) {
            chunks[i] = layout_chunk_at(l, first + i)->chunk;
            offsets[i] = layout_chunk_at(l, first + i)->region_offset;
        }
        union wire_msg msg = { .chunks = { .first = first,
                                           .chunks = chunks,
                                           .count = n,
                                           .offsets = u->arena == 0 ? NULL : offsets } };
        rc = cl_send(c, WIRE_CHUNKS, u->request, &msg);
    }
    return rc;
}

/* How many entries from here fit one page. */
static uint32_t upload_page(const struct cairn_reader *reader, uint64_t first)
{
    size_t bytes = 64; /* component and page number */
    uint32_t count = 0;
    while (first + count < reader->count && count < LIMIT_ENTRIES_PER_PAGE) {
        bytes += wire_entry_bytes(&reader->entries[first + count]);
        if (count > 0 && bytes > LIMIT_ENTRIES_BYTES) {
            break;
        }
        count++;
    }
    return count;
}

static int upload_entries(struct cairn *c, const struct upload *u, struct component_info *info)
{
    const struct cairn_reader *reader = &u->record->components[info->component];
    uint64_t first = 0;
    int rc = 0;
    info->page_count = 0;
    while (rc == 0 && first < reader->count) {
        uint32_t count = upload_page(reader, first);
        union wire_msg msg = { .entries = { .component = info->component,
                                            .page = info->page_count,
                                            .entries = &reader->entries[first],
                                            .count = count } };
        rc = cl_send(c, WIRE_ENTRIES, u->request, &msg);
        first += count;
        info->page_count++;
    }
    return rc;
}

/* ---- the payload
 * -----------------------------------------------------------------------------------------------
 */

/* While we send, the daemon has nothing to say but that it refuses. */
static int upload_listen(struct cairn *c, const struct upload *u)
{
    struct cl_answer a;
    if (!tp_readable(c->fd)) {
        return 0;
    }
    int rc = cl_receive(c, u->request, &a);
    return rc < 0 ? rc : cl_unexpected(c, &a.frame, "upload");
}

static int upload_data(struct cairn *c, const struct upload *u)
{
    const struct cairn_record *r = u->record;
    uint32_t count = layout_chunk_count(r->layout);
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        const struct layout_chunk *chunk = layout_chunk_at(r->layout, i);
        struct iovec payload = { .iov_base = r->region->base + chunk->region_offset,
                                 .iov_len = chunk->chunk.bytes };
        fault_point("upload");
        rc = upload_listen(c, u);
        if (rc == 0) {
            rc = cl_send_payload(c, u->request, i, &payload);
        }
        if (rc == 0) {
            progress_sent(&c->progress, chunk->chunk.bytes);
        }
    }
    return rc;
}

static int upload_seal(struct cairn *c, const struct upload *u)
{
    const struct boundary *b = &u->record->boundary;
    union wire_msg msg = { .seal = { .components = b->components,
                                     .component_count = b->component_count,
                                     .root = b->root } };
    fault_point("seal");
    return cl_send(c, WIRE_SEAL, u->request, &msg);
}

static int upload_stream(struct cairn *c, const struct upload *u)
{
    struct cairn_record *r = u->record;
    fault_point("upload");
    int rc = upload_chunks(c, u);
    for (uint32_t i = 0; rc == 0 && i < r->boundary.component_count; i++) {
        rc = upload_entries(c, u, &r->infos[i]);
    }
    if (rc == 0 && u->arena == 0) {
        rc = upload_data(c, u);
    }
    rc = rc < 0 ? rc : upload_seal(c, u);
    if (rc == 0) {
        progress_sent_all(&c->progress);
    }
    return rc;
}

/* ---- attempts
 * ------------------------------------------------------------------------------------------------------
 */

/* The daemon has it, but said so without the boundary: ask for that too. */
static int upload_look_up(struct cairn *c, struct upload *u, uint64_t seq)
{
    char selector[32];
    union wire_msg answer;
    (void)snprintf(selector, sizeof selector, "seq:%llu", (unsigned long long)seq);
    union wire_msg msg = {
        .find = { .run = slice_str(c->run), .selector = slice_str(selector), .max = 1 }
    };
    int rc = cl_ask_once(c, WIRE_FIND, &msg, WIRE_FOUND, &answer);
    if (rc < 0) {
        return rc;
    }
    u->boundary = u->record->boundary;
    u->boundary.seq = seq;
    if (answer.found.count > 0) {
        u->boundary = answer.found.boundaries[0];
    }
    u->committed = true;
    return 0;
}

static int upload_await_commit(struct cairn *c, struct upload *u)
{
    struct cl_answer a;
    int rc = cl_receive_type(c, u->request, WIRE_COMMITTED, &a);
    if (rc == 0) {
        u->boundary = a.msg.committed.boundary;
        u->committed = true;
    }
    return rc;
}

static int upload_begun(struct cairn *c, struct upload *u, const struct wire_begun *begun)
{
    switch (begun->state) {
    case SAVE_RECEIVING:
        progress_stage(&c->progress, CAIRN_STAGE_SENDING);
        return upload_stream(c, u);
    case SAVE_SEALED:
        progress_stage(&c->progress, CAIRN_STAGE_SEALED);
        return 0;
    case SAVE_COMMITTED:
        return upload_look_up(c, u, begun->seq);
    case SAVE_PRUNED:
        return err_set(&c->err,
                       -CAIRN_EPRUNED,
                       "this save was committed as seq %llu and has been removed since",
                       (unsigned long long)begun->seq);
    case SAVE_NONE:
    case SAVE_UNKNOWN:
    default:
        return err_set(&c->err,
                       -CAIRN_EPROTO,
                       "the daemon answered BEGIN with state %u",
                       (unsigned)begun->state);
    }
}

static uint32_t upload_arena(const struct cairn *c, const struct cairn_record *r)
{
    return layout_chunk_count(r->layout) == 0
               ? 0
               : cl_arena_of(c, r->region, layout_region_bytes(r->layout));
}

int upload_attempt(struct cairn *c, struct upload *u)
{
    struct cl_answer a;
    u->committed = false;
    progress_stage(&c->progress, CAIRN_STAGE_CAPTURED);
    int rc = cl_ready(c);
    if (rc < 0) {
        return rc;
    }
    u->arena = upload_arena(c, u->record);
    union wire_msg begin = { .begin = { .run = slice_str(c->run),
                                        .boundary = upload_announced(u->record),
                                        .arena = u->arena } };
    u->request = cl_next_request(c);
    rc = cl_send(c, WIRE_BEGIN, u->request, &begin);
    if (rc == 0) {
        rc = cl_receive_type(c, u->request, WIRE_BEGUN, &a);
    }
    if (rc == 0) {
        rc = upload_begun(c, u, &a.msg.begun);
    }
    if (rc == 0 && !u->committed && u->until == UPLOAD_COMMITTED) {
        rc = upload_await_commit(c, u);
    }
    if (rc < 0) {
        progress_stage(&c->progress, CAIRN_STAGE_CAPTURED); /* nothing is known of what was sent */
    } else if (u->committed) {
        progress_stage(&c->progress, CAIRN_STAGE_COMMITTED);
    }
    return rc;
}

int upload_run(struct cairn *c, struct upload *u)
{
    int rc = 0;
    do {
        rc = upload_attempt(c, u);
    } while (rc < 0 && cl_again(c));
    if (rc < 0) {
        progress_stage(&c->progress, CAIRN_STAGE_FAILED);
    }
    if (rc == -CAIRN_ECONN || rc == -CAIRN_ETIMEDOUT) {
        return err_wrap(&c->err,
                        rc,
                        "save of step %llu not acknowledged (save the record again to settle it)",
                        (unsigned long long)u->record->boundary.step);
    }
    return rc < 0
               ? err_wrap(
                     &c->err, rc, "save of step %llu", (unsigned long long)u->record->boundary.step)
               : 0;
}
