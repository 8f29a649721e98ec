/* save.c: the public calls that save. */
#include <stdlib.h>

#include "lib/call.h"
#include "lib/pending.h"

/* What every save checks first; a save that was started before ends before this one begins, so that
 * boundaries keep the order in which they were saved. */
static int save_enter(struct cairn *c,
                      struct cairn_record **r,
                      const struct cairn_save_args *a,
                      struct cairn_record **ret_sent)
{
    int rc = cl_enter_run(c, a == NULL ? 0 : a->timeout_ms);
    if (rc < 0) {
        return rc;
    }
    if (r == NULL || *r == NULL || a == NULL || (*r)->loaded) {
        return cl_invalid(c, "save needs a captured record and arguments");
    }
    if ((*r)->c != c && (*r)->c != NULL) {
        return cl_invalid(c, "the record was captured with another handle that is still open");
    }
    rc = pending_settle(c);
    if (rc == 0) {
        rc = pending_tell(c);
    }
    if (rc == 0) {
        cl_tend_arenas_anew(c);
    }
    if (rc == 0) {
        rc = upload_prepare(c, *r, a, ret_sent);
    }
    if (rc == 0) {
        progress_begin(&c->progress, (*ret_sent)->boundary.payload_bytes);
    }
    return rc;
}

int cairn_save(struct cairn *c,
               struct cairn_record **r,
               const struct cairn_save_args *a,
               struct cairn_boundary *ret)
{
    struct cairn_record *sent = NULL;
    int rc = save_enter(c, r, a, &sent);
    if (rc < 0) {
        return rc;
    }
    struct upload u = { .record = sent, .until = UPLOAD_COMMITTED };
    rc = upload_run(c, &u);
    if (rc < 0) {
        return rc;
    }
    if (ret != NULL) {
        rec_public(&u.boundary, ret);
    }
    *r = cairn_record_free(*r);
    cl_tend_arenas(c); /* now, rather than while a trainer waits for its next capture */
    return 0;
}

int cairn_save_start(struct cairn *c,
                     struct cairn_record **r,
                     const struct cairn_save_args *a,
                     struct cairn_pending **ret)
{
    struct cairn_record *sent = NULL;
    int rc = save_enter(c, r, a, &sent);
    if (rc == 0 && ret == NULL) {
        rc = cl_invalid(c, "a started save needs a place for what to wait for");
    }
    if (rc < 0) {
        return rc;
    }
    return pending_start(c, r, sent, ret);
}

int cairn_save_find(struct cairn *c,
                    const uint8_t *save_id,
                    enum cairn_save_state *ret,
                    uint64_t *ret_seq)
{
    union wire_msg answer;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (save_id == NULL || ret == NULL) {
        return cl_invalid(c, "a search for a save needs its id and a place for its state");
    }
    union wire_msg msg = { .find = { .run = slice_str(c->run), .by_save_id = true } };
    memcpy(msg.find.save_id, save_id, sizeof msg.find.save_id);
    rc = cl_ask(c, WIRE_FIND, &msg, WIRE_FOUND, &answer);
    if (rc < 0) {
        return rc;
    }
    *ret = (enum cairn_save_state)answer.found.state;
    if (ret_seq != NULL) {
        *ret_seq = answer.found.seq;
    }
    return 0;
}
