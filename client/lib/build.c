/* build.c: the life of a capture: begin, one component after the other, end. Talks to nobody. */
#include <stdlib.h>

#include "internal/fault.h"
#include "lib/capture.h"
#include "record/rules.h"

void capture_fini(struct capture *cap)
{
    pack_fini(cap);
    free(cap->slots);
    param_list_fini(&cap->params);
    contract_fini(&cap->contract);
    tied_fini(&cap->tied);
    cap->slots = NULL;
}

/* From here on nobody says of a slot of it that it is done. */
static void build_leave(struct capture *cap)
{
    (void)pthread_mutex_lock(&cap->c->slot_lock);
    if (cap->c->capture == cap) {
        cap->c->capture = NULL;
    }
    (void)pthread_mutex_unlock(&cap->c->slot_lock);
    capture_fini(cap);
}

void capture_abort(struct capture *cap)
{
    build_leave(cap);
    cap->r = cairn_record_free(cap->r);
}

int capture_new(struct cairn *c, struct capture *cap)
{
    *cap = (struct capture){ .c = c, .serial = ++c->capture_count };
    param_list_init(&cap->params);
    contract_init(&cap->contract);
    cap->r = rec_new(c);
    if (cap->r == NULL || (cap->r->layout = layout_new()) == NULL) {
        cap->r = cairn_record_free(cap->r);
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for a record");
    }
    int rc = region_take(&c->regions, &cap->r->region, &c->err);
    if (rc == 0) {
        rc = cl_part_from_arena(c, cap->r->region);
    }
    if (rc == 0) {
        rc = pack_init(cap);
    }
    if (rc < 0) {
        capture_abort(cap);
    }
    return rc;
}

int capture_begin(struct cairn *c, struct capture *cap)
{
    if (c->capture != NULL) {
        return err_set(
            &c->err, -CAIRN_EBUSY, "a capture on this handle is under way: it ends first");
    }
    int rc = capture_new(c, cap);
    if (rc < 0) {
        return rc;
    }
    (void)pthread_mutex_lock(&c->slot_lock);
    c->capture = cap;
    (void)pthread_mutex_unlock(&c->slot_lock);
    return 0;
}

/* What the callback said, or what a put of it said before. */
static int build_call(struct capture *cap,
                      struct cairn_reader *component,
                      int (*put)(void *self, struct cairn_writer *w),
                      void *self)
{
    struct cairn_writer w = { .cap = cap, .component = component->component };
    struct err *err = &cap->c->err;
    *err = (struct err){ 0 };
    int rc = put(self, &w);
    if (cap->rc < 0) {
        rc = cap->rc;
    }
    if (rc == 0) {
        return 0;
    }
    if (rc > 0) {
        return err_set(err, -CAIRN_EINVAL, "put returned %d, neither 0 nor a negative code", rc);
    }
    if (err->code != rc) {
        return err_set(err, rc, "put failed: %s", cairn_strerror(rc));
    }
    return rc;
}

static int build_type(struct capture *cap, struct cairn_reader *reader, const char *type)
{
    size_t bytes = slice_str(type).bytes;
    if (bytes > LIMIT_TYPE_BYTES || !utf8_ok(slice_of(type, bytes))) {
        return err_set(&cap->c->err,
                       -CAIRN_EINVAL,
                       "its type must be UTF-8 of at most %u bytes",
                       LIMIT_TYPE_BYTES);
    }
    reader->type = rec_copy(cap->r, type, bytes);
    return reader->type == NULL ? err_set(&cap->c->err, -CAIRN_ENOMEM, "no memory for a record")
                                : 0;
}

static int build_collect(struct capture *cap,
                         struct cairn_reader *reader,
                         int (*put)(void *self, struct cairn_writer *w),
                         void *self)
{
    uint32_t chunks_before = layout_chunk_count(cap->r->layout);
    int rc = 0;
    fault_point("capture");
    reader->present = true;
    layout_begin(cap->r->layout, reader->component);
    if (put != NULL) {
        rc = build_call(cap, reader, put, self);
    }
    if (rc == 0) {
        rc = pack_end(cap, reader);
    }
    cap->r->infos[reader->component].chunk_count =
        layout_chunk_count(cap->r->layout) - chunks_before;
    return rc;
}

int capture_collect(struct capture *cap,
                    enum component component,
                    int (*put)(void *self, struct cairn_writer *w),
                    void *self)
{
    int rc = build_collect(cap, &cap->r->components[component], put, self);
    return rc < 0 ? cl_during(&cap->c->err, rc, "capture", component) : 0;
}

static void build_config(struct component_info *info, const uint8_t *config)
{
    info->has_config = config != NULL;
    if (config != NULL) {
        memcpy(info->config.byte, config, sizeof info->config.byte);
    }
}

int capture_component(struct capture *cap,
                      enum component component,
                      const struct component_put *put)
{
    struct cairn_reader *reader = &cap->r->components[component];
    int rc = build_type(cap, reader, put->type == NULL ? "" : put->type);
    build_config(&cap->r->infos[component], put->config);
    if (rc == 0) {
        rc = build_collect(cap, reader, put->put, put->self);
    }
    if (rc == 0) {
        rc = rec_sort(reader, &cap->c->err);
    }
    return rc < 0 ? cl_during(&cap->c->err, rc, "capture", component) : 0;
}

static int build_sums(struct capture *cap)
{
    struct cairn_record *r = cap->r;
    int rc = 0;
    for (uint32_t i = 1; rc == 0 && i < COMPONENT_NR; i++) {
        if (r->components[i].present) {
            rc = rec_sum(&r->components[i], &r->infos[i], &cap->c->err);
        }
    }
    return rc;
}

int capture_end(struct capture *cap, uint32_t kind, struct cairn_record **ret)
{
    struct cairn_record *r = cap->r;
    int rc = build_sums(cap);
    if (rc < 0) {
        capture_abort(cap);
        return rc;
    }
    rec_close_infos(r);
    r->boundary.kind = kind;
    r->boundary.precision = PRECISION_NATIVE;
    r->boundary.exact = true;
    r->boundary.world = 1;
    r->boundary.local_parts = 1;
    r->boundary.chunk_count = layout_chunk_count(r->layout);
    r->boundary.stored_bytes = layout_stored_bytes(r->layout);
    cap->r = NULL;
    build_leave(cap);
    *ret = r;
    return 0;
}
