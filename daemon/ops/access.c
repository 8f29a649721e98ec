/* access.c: names of runs and the rights of DESIGN 8. The uid comes from the kernel. */
#include <inttypes.h>

#include "ops/ops_int.h"
#include "record/rules.h"

static bool access_parse_uid(struct slice text, uint32_t *ret_uid)
{
    const char *c = text.data;
    uint64_t uid = 0;
    if (text.bytes == 0 || text.bytes > 10) {
        return false;
    }
    for (size_t i = 0; i < text.bytes; i++) {
        if (c[i] < '0' || c[i] > '9') {
            return false;
        }
        uid = uid * 10 + (uint64_t)(c[i] - '0');
    }
    *ret_uid = (uint32_t)uid;
    return uid < UINT32_MAX;
}

static bool access_allowed(const struct session *s, uint32_t owner, enum access want)
{
    const struct ops_options *o = &s->ops->options;
    if (s->peer.uid == owner) {
        return true;
    }
    if (s->peer.uid == 0) {
        return want != ACCESS_WRITE || o->allow_root_trainers;
    }
    return want == ACCESS_READ && o->read_group >= 0 &&
           conn_peer_in_group(s->conn, (uint32_t)o->read_group);
}

int access_check(const struct session *s,
                 struct slice text,
                 enum access want,
                 struct run_name *ret,
                 struct err *err)
{
    const struct peer *peer = &s->peer;
    struct slice user = { 0 };
    struct slice run = text;
    const char *slash = text.bytes == 0 ? NULL : memchr(text.data, '/', text.bytes);
    uint32_t owner = peer->uid;
    if (slash != NULL) {
        user = slice_of(text.data, (size_t)(slash - (const char *)text.data));
        run = slice_of(slash + 1, text.bytes - user.bytes - 1);
        /* Names of users are the client's to look up: a name service may block. */
        if (!access_parse_uid(user, &owner)) {
            return err_set(err, -CAIRN_EINVAL, "owner of a run must be a uid number (UID/RUN)");
        }
    }
    if (!run_name_ok(run)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "run name must be [A-Za-z0-9][A-Za-z0-9._-]{0,127}, got %zu bytes",
                       run.bytes);
    }
    ret->uid = owner;
    memcpy(ret->name, run.data, run.bytes);
    ret->name[run.bytes] = '\0';
    if (!access_allowed(s, owner, want)) {
        return err_set(err,
                       -CAIRN_EACCES,
                       "uid %" PRIu32 " may not %s run '%" PRIu32 "/%s'",
                       peer->uid,
                       want == ACCESS_READ    ? "read"
                       : want == ACCESS_WRITE ? "write"
                                              : "drop",
                       owner,
                       ret->name);
    }
    return 0;
}
