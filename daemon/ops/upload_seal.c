/* upload_seal.c: SEAL. What is quickly seen is checked at once, and from then on the upload goes on
 * without its session; the manifest is read back and digested by the run's helper, beside the last
 * writes, because it may be long. */
#include <inttypes.h>

#include "ops/query.h"
#include "wire/keep.h"

static void upload_seal_work(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    const struct wire_seal *seal = &u->seal;
    fault_point("sealing");
    if (!atomic_load(&u->cancelled)) {
        u->rc = st_manifest_seal(
            u->manifest, seal->components, seal->component_count, &seal->root, &u->err);
    }
}

static void upload_seal_done(struct job *job)
{
    struct upload *u = CONTAINER_OF(job, struct upload, job);
    u->jobs--;
    if (u->state == UPLOAD_FAILED) {
        upload_job_ended(u);
    } else if (u->rc < 0) {
        upload_refuse(u, &u->err);
    } else {
        upload_move(u, UPLOAD_SEALED);
        run_kick(u->run);
    }
}

/* The sums outlive the frame: they move into the upload's bump. */
static int upload_keep_seal(struct upload *u, const struct wire_seal *seal, struct err *err)
{
    size_t bytes = (seal->component_count + (size_t)1) * sizeof *seal->components;
    struct component_info *infos = bump_alloc(&u->bump, bytes);
    for (uint32_t i = 0; infos != NULL && i < seal->component_count; i++) {
        const struct slice type = seal->components[i].type;
        const char *kept = keep_text(&u->bump, type);
        infos[i] = seal->components[i];
        infos[i].type = slice_of(kept, type.bytes);
        infos = kept == NULL ? NULL : infos;
    }
    u->seal = *seal;
    u->seal.components = infos;
    return infos != NULL ? 0 : err_set(err, -CAIRN_ENOMEM, "SEAL: no memory");
}

static int upload_check_seal(const struct upload *u, const struct wire_seal *seal, struct err *err)
{
    if (u->arena == NULL && u->next_chunk != u->boundary.chunk_count) {
        return err_set(err,
                       -CAIRN_EPROTO,
                       "SEAL after %" PRIu32 " of %" PRIu32 " chunks",
                       u->next_chunk,
                       u->boundary.chunk_count);
    }
    if (!digest_equal(&seal->root, &u->boundary.root)) {
        return err_set(err, -CAIRN_EPROTO, "SEAL: the root digest is not the one of BEGIN");
    }
    return 0;
}

void op_seal(struct session *s, const struct frame_in *in)
{
    const struct wire_seal *seal = &in->msg->seal;
    struct upload *u = upload_of(s, in, "SEAL");
    struct err err = { 0 };
    if (u == NULL) {
        return;
    }
    if (upload_check_seal(u, seal, &err) < 0 || upload_keep_seal(u, seal, &err) < 0) {
        upload_refuse(u, &err);
        return;
    }
    upload_move(u, UPLOAD_SEALING);
    u->seal_ticket = ++u->run->seal_count;
    query_pause_reading(s);
    u->jobs++;
    upload_clock(u);
    u->job = (struct job){ .work = upload_seal_work, .done = upload_seal_done };
    pool_submit(u->run->digester, &u->job);
    upload_pump(u);
}
