/* note.c: pins and labels. On the run's writer, as all that changes it. */
#include <inttypes.h>
#include <stdlib.h>

#include "ops/query.h"

/* What the request has beside run and selector, copied: frames go. */
struct note_args {
    char name[LIMIT_LABEL_NAME_BYTES + 1], why[LIMIT_PIN_WHY_BYTES + 1];
    struct label labels[LIMIT_LABELS]; /* their text lies in the query's bump */
    uint32_t label_count;
};

static struct slice note_take(char *to, struct slice text)
{
    memcpy(to, text.bytes == 0 ? "" : text.data, text.bytes);
    to[text.bytes] = '\0';
    return slice_of(to, text.bytes);
}

static void note_start(struct query *q, struct slice selector)
{
    if (query_take_selector(q, selector) < 0) {
        struct err err = q->err;
        query_refuse(q, err.code, err.msg);
        return;
    }
    query_start(q);
}

/* NULL: refused already. */
static struct note_args *note_args_new(struct query *q)
{
    struct note_args *args = q == NULL ? NULL : calloc(1, sizeof *args);
    if (q != NULL && args == NULL) {
        query_refuse(q, -CAIRN_ENOMEM, "no memory for a pin or a label");
    } else if (q != NULL) {
        q->list = args;
    }
    return args;
}

static void note_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_DESCRIBED, q->request, &q->msg);
}

/* What it is like from now on. */
static int note_describe(struct query *q, uint64_t seq)
{
    struct st_list list = { .count = 0 };
    int rc = st_list(q->run->st, seq, 1, &q->bump, &list, &q->err);
    q->msg.described.boundary = (struct boundary){ .seq = seq };
    if (rc == 0 && list.count == 1 && list.boundaries[0].seq == seq) {
        q->msg.described.boundary = list.boundaries[0];
    }
    return rc;
}

static void note_log(const struct query *q, const char *event, uint64_t seq)
{
    const struct note_args *args = q->list;
    log_info(event,
             "run=%" PRIu32 "/%s seq=%" PRIu64 " name=\"%s\" why=\"%s\" uid=%" PRIu32,
             q->name.uid,
             q->name.name,
             seq,
             args->name,
             args->why,
             q->session->peer.uid);
}

/* ---- PIN, UNPIN ------------------------------------------------------------------------------ */

static int pin_work(struct query *q)
{
    const struct note_args *args = q->list;
    const struct st_pin pin = { .name = slice_str(args->name),
                                .why = slice_str(args->why),
                                .uid = q->session->peer.uid };
    uint64_t seq = 0;
    int rc = find_select(q, &seq);
    rc = rc < 0 ? rc : st_pin(q->run->st, seq, &pin, &q->err);
    if (rc == 0) {
        note_log(q, "pinned", seq);
    }
    return rc < 0 ? rc : note_describe(q, seq);
}

static int unpin_work(struct query *q)
{
    const struct note_args *args = q->list;
    uint64_t seq = 0;
    int rc = find_select(q, &seq);
    rc = rc < 0 ? rc : st_unpin(q->run->st, seq, slice_str(args->name), &q->err);
    if (rc == 0) {
        note_log(q, "unpinned", seq);
    }
    return rc < 0 ? rc : note_describe(q, seq);
}

static void pin_start(struct session *s,
                      const struct frame_in *in,
                      const struct query_kind *kind,
                      const struct wire_pin *pin)
{
    struct query *q = query_new(s, in->frame->request, kind, &pin->run);
    struct note_args *args = note_args_new(q);
    if (args != NULL) {
        (void)note_take(args->name, pin->name);
        (void)note_take(args->why, pin->why);
        note_start(q, pin->selector);
    }
}

void op_pin(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "PIN",
                                            .access = ACCESS_WRITE,
                                            .settle = true,
                                            .writes = true,
                                            .work = pin_work,
                                            .reply = note_reply };
    pin_start(s, in, &kind, &in->msg->pin);
}

void op_unpin(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "UNPIN",
                                            .access = ACCESS_DROP,
                                            .settle = true,
                                            .writes = true,
                                            .work = unpin_work,
                                            .reply = note_reply };
    pin_start(s, in, &kind, &in->msg->unpin);
}

/* ---- LABEL ----------------------------------------------------------------------------------- */

static int label_work(struct query *q)
{
    const struct note_args *args = q->list;
    uint64_t seq = 0;
    int rc = find_select(q, &seq);
    rc = rc < 0 ? rc : st_label(q->run->st, seq, args->labels, args->label_count, &q->err);
    return rc < 0 ? rc : note_describe(q, seq);
}

static int label_take(struct query *q, const struct wire_set_labels *from)
{
    struct note_args *args = q->list;
    for (uint32_t i = 0; i < from->count; i++) {
        char *name = bump_alloc(&q->bump, from->labels[i].name.bytes + 1);
        char *value = bump_alloc(&q->bump, from->labels[i].value.bytes + 1);
        if (name == NULL || value == NULL) {
            return -CAIRN_ENOMEM;
        }
        args->labels[args->label_count++] =
            (struct label){ .name = note_take(name, from->labels[i].name),
                            .value = note_take(value, from->labels[i].value) };
    }
    return 0;
}

void op_label(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "LABEL",
                                            .access = ACCESS_WRITE,
                                            .settle = true,
                                            .writes = true,
                                            .work = label_work,
                                            .reply = note_reply };
    const struct wire_set_labels *m = &in->msg->set_labels;
    struct query *q = query_new(s, in->frame->request, &kind, &m->run);
    if (note_args_new(q) == NULL) {
        return;
    }
    if (label_take(q, m) < 0) {
        query_refuse(q, -CAIRN_ENOMEM, "no memory for labels");
        return;
    }
    note_start(q, m->selector);
}

/* ---- PIN_LIST -------------------------------------------------------------------------------- */

static int pins_each(void *arg, const struct st_pin *pin, struct err *err)
{
    struct query *q = arg;
    struct wire_pins *to = &q->msg.pins;
    struct wire_pin_info *pins = q->list;
    char *name = bump_alloc(&q->bump, pin->name.bytes + 1);
    char *why = bump_alloc(&q->bump, pin->why.bytes + 1);
    if (to->count == LIMIT_PINS) {
        to->more = true;
        return 0;
    }
    if (name == NULL || why == NULL) {
        return err_set(err, -CAIRN_ENOMEM, "tell of %u pins", to->count);
    }
    pins[to->count++] = (struct wire_pin_info){ .seq = pin->seq,
                                                .created_ns = pin->created_ns,
                                                .name = note_take(name, pin->name),
                                                .why = note_take(why, pin->why),
                                                .uid = pin->uid };
    return 0;
}

static int pins_work(struct query *q)
{
    struct wire_pin_info *pins = calloc(LIMIT_PINS, sizeof *pins);
    if (pins == NULL) {
        return err_set(&q->err, -CAIRN_ENOMEM, "tell of pins");
    }
    q->list = pins;
    q->msg.pins = (struct wire_pins){ .pins = pins };
    return st_pins(q->run->st, pins_each, q, &q->err);
}

static void pins_reply(struct query *q)
{
    conn_send(q->session->conn, WIRE_PINS, q->request, &q->msg);
}

void op_pin_list(struct session *s, const struct frame_in *in)
{
    static const struct query_kind kind = { .name = "PIN_LIST",
                                            .access = ACCESS_READ,
                                            .settle = true,
                                            .work = pins_work,
                                            .reply = pins_reply };
    struct query *q = query_new(s, in->frame->request, &kind, &in->msg->pin_list.run);
    if (q != NULL) {
        query_start(q);
    }
}
