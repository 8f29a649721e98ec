/* stream_read.c: the bytes of an entry, out of the chunks that hold it. */
#include "lib/call.h"
#include "lib/pending.h"
#include "record/digest.h"

static int stream_corrupt(struct cairn *c,
                          const struct cairn_record *r,
                          const struct entry *e,
                          const char *what)
{
    enum component component = r->chunks[e->first_chunk].component;
    (void)err_set(&c->err,
                  -CAIRN_ECORRUPT,
                  "run '%s' seq %llu: %s '%.*s': %s does not match its digest",
                  c->run,
                  (unsigned long long)r->boundary.seq,
                  component_name(component),
                  cl_shown(e->path),
                  (const char *)e->path.data,
                  what);
    return err_at(&c->err, component, e->path.data, e->path.bytes);
}

/* The entry whose bytes in a damaged chunk are not its own: the reader may have asked for another
 * in the same chunk. NULL: none, it is the bytes between them. */
static const struct entry *
stream_hit(const struct cairn_record *r, uint32_t index, const uint8_t *chunk)
{
    const struct cairn_reader *reader = &r->components[r->chunks[index].component];
    for (uint64_t i = 0; i < reader->count; i++) {
        const struct entry *e = &reader->entries[i];
        if (e->value.bytes == e->bytes || e->first_chunk != index) {
            continue;
        }
        struct digest digest = digest_bytes(chunk + e->offset_bytes, e->bytes);
        if (!digest_equal(&digest, &e->digest)) {
            return e;
        }
    }
    return NULL;
}

/* One chunk of an entry, which has it for its own, or of that the bytes that are in the span. */
static int stream_read_piece(struct cairn *c,
                             struct cairn_record *r,
                             const struct entry *e,
                             uint32_t nth,
                             struct span span,
                             uint8_t *dst)
{
    struct stream_chunk chunk;
    uint32_t index = e->first_chunk + nth;
    uint64_t starts = nth * (uint64_t)LIMIT_CHUNK_BYTES; /* in the entry */
    uint64_t ends = starts + r->chunks[index].bytes;
    uint64_t end = span.offset_bytes + span.bytes;
    uint64_t from = span.offset_bytes > starts ? span.offset_bytes : starts;
    uint64_t to = end < ends ? end : ends;
    bool whole = from == starts && to == ends;
    uint32_t needed = (uint32_t)((end - starts + LIMIT_CHUNK_BYTES - 1) / LIMIT_CHUNK_BYTES);
    uint8_t *at = dst + (from - span.offset_bytes);
    int rc = stream_chunk(c, r, index, needed, whole ? at : NULL, &chunk);
    if (rc == 0 && !chunk.valid) {
        rc = stream_corrupt(c, r, e, "a chunk of it");
    }
    if (rc == 0 && !whole) {
        memcpy(at, chunk.data + (from - starts), to - from);
        chunk.buf->consumed = to == ends;
    }
    return rc;
}

static int stream_read_own(
    struct cairn *c, struct cairn_record *r, const struct entry *e, struct span span, uint8_t *dst)
{
    uint32_t nth = (uint32_t)(span.offset_bytes / LIMIT_CHUNK_BYTES);
    uint32_t last = (uint32_t)((span.offset_bytes + span.bytes - 1) / LIMIT_CHUNK_BYTES);
    int rc = 0;
    for (; rc == 0 && nth <= last; nth++) {
        rc = stream_read_piece(c, r, e, nth, span, dst);
    }
    return rc;
}

static int stream_read_packed(
    struct cairn *c, struct cairn_record *r, const struct entry *e, struct span span, void *dst)
{
    struct stream_chunk chunk;
    int rc = stream_chunk(c, r, e->first_chunk, 1, NULL, &chunk);
    if (rc < 0) {
        return rc;
    }
    if (!chunk.valid) {
        const struct entry *hit = stream_hit(r, e->first_chunk, chunk.data);
        return hit == NULL ? stream_corrupt(c, r, e, "the chunk that holds it")
                           : stream_corrupt(c, r, hit, "what its chunk holds of it");
    }
    const uint8_t *from = chunk.data + e->offset_bytes;
    struct digest digest = digest_bytes(from, e->bytes);
    if (!digest_equal(&digest, &e->digest)) {
        return stream_corrupt(c, r, e, "what the chunk holds of it");
    }
    memcpy(dst, from + span.offset_bytes, span.bytes);
    uint64_t end = e->offset_bytes + span.offset_bytes + span.bytes;
    chunk.buf->consumed = end == r->chunks[e->first_chunk].bytes;
    return 0;
}

int stream_read(
    struct cairn *c, struct cairn_record *r, const struct entry *e, struct span span, void *dst)
{
    if (c->stream.record != r) {
        int rc = stream_stop(c);
        stream_forget(&c->stream);
        c->stream.record = r;
        if (rc < 0 && !c->lost) {
            return rc;
        }
        c->lost = false;
    }
    return e->bytes >= LIMIT_OWN_CHUNK_BYTES ? stream_read_own(c, r, e, span, dst)
                                             : stream_read_packed(c, r, e, span, dst);
}
