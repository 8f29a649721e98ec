#include <stdlib.h>
#include <string.h>

#include "record/digest.h"
#include "sample.h"
#include "support/case.h"
#include "wire/rows.h"

static struct wire_buf rows_buf;
static struct bump rows_bump;

static struct slice rows_begin(void)
{
    bump_fini(&rows_bump);
    bump_init(&rows_bump, wire_bump_cap((uint32_t)rows_buf.bytes));
    return slice_of(rows_buf.data, rows_buf.bytes);
}

static void rows_done(void)
{
    wire_buf_free(&rows_buf);
    bump_fini(&rows_bump);
}

CASE(rows, boundary)
{
    static const uint64_t segments[] = { 0, 7, UINT64_MAX };
    struct row_boundary in = { sample_boundary(), segments, 3 };
    struct row_boundary out = { .segment_count = 99 };
    struct err err = { 0 };
    cr_assert_eq(row_boundary_encode(&in, &rows_buf, &err), 0);
    cr_assert_eq(row_boundary_decode(rows_begin(), &rows_bump, &out, &err), 0, "%s", err.msg);
    cr_assert_eq(out.segment_count, 3);
    cr_assert_eq(memcmp(out.segments, segments, sizeof segments), 0);
    cr_assert(out.boundary.step == UINT64_MAX && out.boundary.seq == 11);
    cr_assert_eq(out.boundary.component_count, 2);
    cr_assert_eq(slice_cmp(out.boundary.components[0].type, slice_str("digits.mlp/1")), 0);
    cr_assert_eq(out.boundary.label_count, 3);
    rows_buf.bytes = 0;
    in.segment_count = 0; /* a boundary without chunks */
    cr_assert_eq(row_boundary_encode(&in, &rows_buf, &err), 0);
    cr_assert_eq(row_boundary_decode(rows_begin(), &rows_bump, &out, &err), 0);
    cr_assert_eq(out.segment_count, 0);
    rows_done();
}

CASE(rows, component)
{
    struct boundary b = sample_boundary();
    struct chunk_ref refs[2] = {
        { 5, UINT64_MAX, 6, { COMPONENT_MODEL, CHUNK_PACKED, 4096, sample_digest(1) } },
        { 6, 0, 0, { COMPONENT_MODEL, CHUNK_TRAINABLE, 1, sample_digest(2) } },
    };
    const struct slice paths[] = { slice_str("a"), slice_str("layer/\xC3\xA9") };
    struct row_component in = { b.components[0], refs, 2, paths, 2 };
    struct row_component out = { .page_count = 0 };
    struct err err = { 0 };
    cr_assert_eq(row_component_encode(&in, &rows_buf, &err), 0);
    cr_assert_eq(row_component_decode(rows_begin(), &rows_bump, &out, &err), 0, "%s", err.msg);
    cr_assert(out.chunk_count == 2 && out.page_count == 2);
    cr_assert(out.chunks[0].index == 5 && out.chunks[0].segment == UINT64_MAX);
    cr_assert(out.chunks[0].segment_index == 6 && out.chunks[0].chunk.bytes == 4096);
    cr_assert(digest_equal(&out.chunks[1].chunk.digest, &refs[1].chunk.digest));
    cr_assert_eq(slice_cmp(out.first_paths[1], paths[1]), 0);
    cr_assert_eq(out.info.entry_count, 101);
    rows_buf.bytes = 0;
    in = (struct row_component){ .info = b.components[1] };
    cr_assert_eq(row_component_encode(&in, &rows_buf, &err), 0);
    cr_assert_eq(row_component_decode(rows_begin(), &rows_bump, &out, &err), 0);
    cr_assert(out.chunk_count == 0 && out.page_count == 0);
    rows_done();
}

/* More chunks than a CHUNKS frame may have: a row is not a frame. */
CASE(rows, component_of_many_chunks)
{
    const uint32_t count = 20000;
    struct boundary b = sample_boundary();
    struct chunk_ref *refs = calloc(count, sizeof *refs);
    cr_assert_not_null(refs);
    for (uint32_t i = 0; i < count; i++) {
        refs[i] = (struct chunk_ref){ .index = i,
                                      .chunk = { COMPONENT_MODEL, 0, 8388608, sample_digest(3) } };
    }
    struct row_component in = { .info = b.components[0], .chunks = refs, .chunk_count = count };
    struct row_component out = { .page_count = 0 };
    struct err err = { 0 };
    cr_assert_eq(row_component_encode(&in, &rows_buf, &err), 0);
    cr_assert_eq(row_component_decode(rows_begin(), &rows_bump, &out, &err), 0, "%s", err.msg);
    cr_assert_eq(out.chunk_count, count);
    cr_assert_eq(out.chunks[count - 1].index, count - 1);
    free(refs);
    rows_done();
}

CASE(rows, entries)
{
    struct entry e[2] = { sample_tensor("a"), sample_tensor("b") };
    struct wire_entries in = { COMPONENT_OPTIMIZER, 4, e, 2 };
    struct wire_entries out = { .count = 0 };
    struct err err = { 0 };
    cr_assert_eq(row_entries_encode(&in, &rows_buf, &err), 0);
    cr_assert_eq(row_entries_decode(rows_begin(), &rows_bump, &out, &err), 0, "%s", err.msg);
    cr_assert(out.component == COMPONENT_OPTIMIZER && out.page == 4 && out.count == 2);
    cr_assert_eq(slice_cmp(out.entries[1].path, slice_str("b")), 0);
    cr_assert(digest_equal(&out.entries[1].digest, &e[1].digest));
    rows_done();
}

CASE(rows, small_ones)
{
    struct err err = { 0 };
    struct row_chunk chunk = { UINT64_MAX, 8388608, sample_digest(5), true };
    struct row_chunk chunk_out = { .bytes = 0 };
    cr_assert_eq(row_chunk_encode(&chunk, &rows_buf, &err), 0);
    cr_assert_eq(row_chunk_decode(rows_begin(), &rows_bump, &chunk_out, &err), 0);
    cr_assert(chunk_out.offset == UINT64_MAX && chunk_out.bytes == 8388608 && chunk_out.proved);
    cr_assert(digest_equal(&chunk.digest, &chunk_out.digest));
    rows_buf.bytes = 0;
    struct row_save save = { SAVE_PRUNED, 12, sample_digest(6) };
    struct row_save save_out = { .seq = 0 };
    cr_assert_eq(row_save_encode(&save, &rows_buf, &err), 0);
    cr_assert_eq(row_save_decode(rows_begin(), &rows_bump, &save_out, &err), 0);
    cr_assert(save_out.state == SAVE_PRUNED && save_out.seq == 12);
    cr_assert(digest_equal(&save.root, &save_out.root));
    rows_buf.bytes = 0;
    struct row_run run = { 1, 2, UINT64_MAX, 4, 5 };
    struct row_run run_out = { .bytes = 0 };
    cr_assert_eq(row_run_encode(&run, &rows_buf, &err), 0);
    cr_assert_eq(row_run_decode(rows_begin(), &rows_bump, &run_out, &err), 0);
    cr_assert(run_out.boundary_count == 1 && run_out.latest_seq == 2 && run_out.latest_ns == 4);
    cr_assert(run_out.latest_step == UINT64_MAX && run_out.bytes == 5);
    rows_done();
}

CASE(rows, damaged)
{
    struct err err = { 0 };
    struct row_chunk chunk = { 4096, 100, sample_digest(5), false };
    cr_assert_eq(row_chunk_encode(&chunk, &rows_buf, &err), 0);
    struct row_chunk out = { .bytes = 77 };
    struct slice whole = rows_begin();
    for (size_t bytes = 0; bytes < whole.bytes; bytes++) {
        struct slice cut = slice_of(whole.data, bytes);
        cr_assert_eq(row_chunk_decode(cut, &rows_bump, &out, &err), -CAIRN_EPROTO, "%zu", bytes);
        cr_assert_neq(err.msg[0], '\0');
    }
    struct row_run run = { .bytes = 0 };
    cr_assert_eq(row_run_decode(whole, &rows_bump, &run, &err), -CAIRN_EPROTO); /* another row */
    rows_done();
}
