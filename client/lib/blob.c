/* blob.c: opaque bytes with a media tag and a version.
 *
 * Three entries: the bytes, as a tensor of dtype OPAQUE, and two scalars beside it. So the bytes
 * are the caller's and no others, and a listing shows what they are. */
#include <stdio.h>

#include "lib/capture.h"
#include "lib/tree.h"
#include "record/rules.h"

#define BLOB_MEDIA "@media"
#define BLOB_VERSION "@version"
/* Room for a path and one of these. */
#define BLOB_NAME_BYTES (LIMIT_PATH_BYTES + 16u)

/* A path that is too long is cut at a length that is still too long, and refused by its rule. */
static const char *blob_name(char *to, const char *path, const char *what)
{
    (void)snprintf(to, BLOB_NAME_BYTES, "%s%s", path, what);
    return to;
}

static bool blob_media_ok(const char *media)
{
    return media != NULL && strlen(media) <= CAIRN_BLOB_MEDIA_BYTES && utf8_ok(slice_str(media));
}

int cairn_put_blob(struct cairn_writer *w,
                   const char *path,
                   const char *media,
                   uint32_t version,
                   const void *data,
                   uint64_t bytes)
{
    char name[BLOB_NAME_BYTES];
    struct entry e = { .path = slice_str(path) };
    if (w == NULL) {
        return -CAIRN_EINVAL;
    }
    if (path == NULL || !blob_media_ok(media)) {
        int rc = err_set(&w->cap->c->err,
                         -CAIRN_EINVAL,
                         "opaque bytes need a path and a media tag: UTF-8 of at most %u bytes",
                         CAIRN_BLOB_MEDIA_BYTES);
        return writer_fail(w, rc, &e);
    }
    struct cairn_entry tensor = opaque_entry(path, &bytes);
    int rc = cairn_put(w, &tensor, data);
    if (rc == 0) {
        rc = cairn_put_str(w, blob_name(name, path, BLOB_MEDIA), media);
    }
    return rc < 0 ? rc : cairn_put_u64(w, blob_name(name, path, BLOB_VERSION), version);
}

static int blob_mismatch(const struct cairn_reader *r, const char *path, const char *what)
{
    struct err *err = cl_err(r->record->c);
    (void)err_set(
        err, -CAIRN_EMISMATCH, "%s '%.100s': %s", component_name(r->component), path, what);
    return err_at(err, r->component, path, strlen(path));
}

int cairn_blob_info(const struct cairn_reader *r, const char *path, struct cairn_blob *ret)
{
    char name[BLOB_NAME_BYTES];
    struct cairn_blob blob = { .media = NULL };
    uint64_t version = 0;
    if (r == NULL || path == NULL || ret == NULL) {
        return -CAIRN_EINVAL;
    }
    int rc = opaque_find(r, path, &blob.bytes);
    if (rc < 0) {
        return rc;
    }
    if (cairn_get_str(r, blob_name(name, path, BLOB_MEDIA), &blob.media) < 0 ||
        cairn_get_u64(r, blob_name(name, path, BLOB_VERSION), &version) < 0 ||
        version > UINT32_MAX) {
        return blob_mismatch(r, path, "has no " BLOB_MEDIA " or no " BLOB_VERSION " beside it");
    }
    blob.version = (uint32_t)version;
    *ret = blob;
    return 0;
}

static int blob_compare(const struct cairn_reader *r,
                        const char *path,
                        const struct cairn_blob *is,
                        const struct cairn_blob *want)
{
    char text[400];
    if (strcmp(is->media, want->media) != 0) {
        (void)snprintf(
            text, sizeof text, "recorded media '%.120s', wanted '%.120s'", is->media, want->media);
        return blob_mismatch(r, path, text);
    }
    if (is->version != want->version) {
        (void)snprintf(text,
                       sizeof text,
                       "media '%.120s': recorded version %u, wanted %u",
                       is->media,
                       is->version,
                       want->version);
        return blob_mismatch(r, path, text);
    }
    return 0;
}

int cairn_get_blob(const struct cairn_reader *r,
                   const char *path,
                   const char *media,
                   uint32_t version,
                   void *dst,
                   uint64_t dst_bytes)
{
    struct cairn_blob is = { .media = "" };
    struct cairn_blob want = { .media = media, .bytes = dst_bytes, .version = version };
    if (r == NULL || path == NULL || media == NULL) {
        return -CAIRN_EINVAL;
    }
    int rc = cairn_blob_info(r, path, &is);
    if (rc == 0) {
        rc = blob_compare(r, path, &is, &want);
    }
    if (rc < 0 || dst == NULL) {
        return rc;
    }
    struct cairn_entry tensor = opaque_entry(path, &dst_bytes);
    return cairn_get(r, &tensor, dst); /* compares the length, and says both */
}
