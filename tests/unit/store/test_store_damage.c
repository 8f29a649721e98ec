/* Rot and loss: whatever is planted is found, named, and never handed out as good. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "raw.h"
#include "store/row.h"

/* A store with two boundaries, closed: seq 1, two shared chunks and a label, and `second` as seq 2.
 */
static void plant_with(struct fix *f, struct rec *second)
{
    struct err err = { .code = 0 };
    struct rec *small = rec_small(100, 1);
    struct label label = { .name = slice_str("loss"), .value = slice_str("0.5") };
    small->b.labels = &label;
    small->b.label_count = 1;
    fix_open(f);
    cr_assert_eq(rec_save(small, f->run, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_save(second, f->run, &err), 0, "%s", err.msg);
    cr_assert_eq(rec_verify(f->run, 1, NULL) + rec_verify(f->run, 2, NULL), 0);
    fix_close(f);
    fix_fsck_clean(f);
    (void)rec_free(small);
    (void)rec_free(second);
}

/* Seq 2 has three own chunks. */
static void plant(struct fix *f)
{
    plant_with(f, rec_big(200, 2, 3));
}

/* For damage to rows: seq 2 is like seq 1. */
static void plant_small(struct fix *f)
{
    plant_with(f, rec_small(200, 2));
}

static void expect_verify(struct fix *f, uint64_t seq, uint64_t count, const char *expected)
{
    char text[1024];
    fix_reopen(f);
    cr_assert_eq(rec_verify(f->run, seq, text), count, "%s", text);
    cr_assert_not_null(strstr(text, expected), "expected '%s', verify says:\n%s", expected, text);
    fix_close(f);
}

static void expect_load(struct fix *f, uint64_t seq, enum component component)
{
    struct err err = { .code = 0 };
    struct st_load *load = NULL;
    fix_reopen(f);
    cr_assert_eq(st_load_open(f->run, seq, &load, &err), -CAIRN_ECORRUPT, "%s", err.msg);
    cr_assert_eq(err.component, (uint32_t)component, "%s", err.msg);
    fix_close(f);
}

/* ---- payload --------------------------------------------------------------------------------- */

CASE(payload, flip_in_an_own_chunk_names_the_tensor)
{
    struct fix f;
    char path[1024];
    plant(&f);
    raw_segment_path(&f, 2, path);
    raw_flip_file(path, 4096 + 2 * (8 << 20) + 1234);
    expect_verify(
        &f, 2, 1, "seq 2 model 'big': chunk 2 in segment 0000000000000002 does not match");
    fix_fsck_finds(&f, "seq 2: model: 'big': chunk 2");
    fix_remove(&f);
}

CASE(payload, flip_in_a_shared_chunk_names_only_the_tensor_it_hits)
{
    struct fix f;
    char path[1024];
    plant(&f);
    raw_segment_path(&f, 1, path);
    /* Chunk 0 is the model's: the weight, then at 120000 (aligned) the bias. */
    raw_flip_file(path, 4096 + 120000 + 5);
    expect_verify(&f, 1, 2, "model 'layer.0.bias': its bytes in chunk 0");
    fix_fsck_finds(&f, "seq 1: model: shared chunk 0 does not match");
    fix_remove(&f);
}

CASE(payload, what_is_read_is_the_damaged_chunk_not_an_error)
{
    struct fix f;
    char path[1024];
    struct err err = { .code = 0 };
    struct st_load *load = NULL;
    uint8_t *buffer = NULL;
    cr_assert_eq(posix_memalign((void **)&buffer, 4096, 8 << 20), 0);
    plant(&f);
    raw_segment_path(&f, 2, path);
    raw_flip_file(path, 4096 + 1234);
    fix_reopen(&f);
    cr_assert_eq(st_load_open(f.run, 2, &load, &err), 0, "%s", err.msg);
    cr_assert_eq(st_load_read(load, 0, buffer, &err), 0, "%s", err.msg);
    const struct chunk *chunk = st_load_chunk(load, 0);
    struct digest found = digest_bytes(buffer, chunk->bytes);
    cr_assert_not(digest_equal(&found, &chunk->digest));
    load = st_load_close(load);
    fix_remove(&f);
    free(buffer);
}

CASE(payload, truncated_segment_is_corrupt)
{
    struct fix f;
    char path[1024];
    plant(&f);
    raw_segment_path(&f, 2, path);
    raw_truncate(path, 4 << 20);
    expect_verify(&f, 2, 2, "chunk 2 in segment 0000000000000002 cannot be read");
    fix_fsck_finds(&f, "segment 0000000000000002: ");
    fix_remove(&f);
}

CASE(payload, missing_segment_is_corrupt)
{
    struct fix f;
    char path[1024];
    plant(&f);
    raw_segment_path(&f, 1, path);
    cr_assert_eq(unlink(path), 0);
    expect_load(&f, 1, COMPONENT_NONE);
    expect_verify(&f, 1, 1, "segment");
    fix_fsck_finds(&f, "boundary seq 1 needs segment 0000000000000001, which is missing");
    fix_remove(&f);
}

CASE(payload, segment_pages_and_footer_are_checked)
{
    static const struct {
        long long offset;
        const char *expected;
    } flips[] = { { 2, "without its magic" },
                  { 100, "first or last page does not match its digest" },
                  { -4096 + 25, "first or last page does not match its digest" },
                  { -4096 + 3000, "first or last page does not match its digest" },
                  { 4096 + 2 * 122880 + 30, "footer does not match its digest" } };
    for (size_t i = 0; i < sizeof flips / sizeof flips[0]; i++) {
        struct fix f;
        char path[1024];
        plant_small(&f);
        raw_segment_path(&f, 1, path);
        raw_flip_file(path, flips[i].offset);
        fix_fsck_finds(&f, flips[i].expected);
        fix_remove(&f);
    }
}

CASE(payload, segment_of_another_run_is_noticed)
{
    struct fix f;
    struct fix other;
    char from[1024];
    char to[1024];
    plant_small(&f);
    plant_small(&other);
    raw_segment_path(&other, 1, from);
    raw_segment_path(&f, 1, to);
    cr_assert_eq(rename(from, to), 0);
    fix_fsck_finds(&f, "belongs to another run");
    fix_remove(&other);
    fix_remove(&f);
}

/* ---- rows ------------------------------------------------------------------------------------ */

CASE(rows, a_flip_in_any_row_is_found)
{
    struct fix f;
    plant_small(&f);
    for (enum st_db db = DB_BOUNDARY; db < DB_PIN; db++) {
        for (unsigned nth = 0; nth < raw_count(&f, db); nth++) {
            char expected[64];
            raw_flip(&f, db, nth, 3);
            (void)snprintf(expected, sizeof expected, "row %s ", key_db_name(db));
            fix_fsck_finds(&f, expected);
            fix_fsck_finds(&f, "does not match its digest");
            raw_flip(&f, db, nth, 3);
        }
    }
    fix_fsck_clean(&f);
    fix_remove(&f);
}

CASE(rows, any_lost_row_is_found)
{
    struct fix f;
    plant_small(&f);
    for (enum st_db db = DB_BOUNDARY; db < DB_PIN; db++) {
        for (unsigned nth = 0; nth < raw_count(&f, db); nth++) {
            char expected[64];
            struct raw_row row = raw_take(&f, db, nth);
            (void)snprintf(expected,
                           sizeof expected,
                           db == DB_BOUNDARY ? "which is no boundary" : "there is no row %s ",
                           key_db_name(db));
            fix_fsck_finds(&f, expected);
            raw_give(&f, &row);
        }
    }
    fix_fsck_clean(&f);
    fix_remove(&f);
}

CASE(rows, damage_stops_a_load_and_names_the_component)
{
    struct fix f;
    plant_small(&f);
    /* Rows of component: seq 1 has head and page of each of five, but gradients has no page. */
    raw_flip(&f, DB_COMPONENT, 2, 5);
    expect_load(&f, 1, COMPONENT_OPTIMIZER);
    raw_flip(&f, DB_COMPONENT, 2, 5);
    raw_flip(&f, DB_COMPONENT, 3, 5);
    expect_verify(&f, 1, 1, "seq 1 optimizer");
    raw_flip(&f, DB_COMPONENT, 3, 5);
    raw_flip(&f, DB_CHUNK, 1, 5);
    expect_load(&f, 1, COMPONENT_OPTIMIZER);
    raw_flip(&f, DB_CHUNK, 1, 5);
    raw_flip(&f, DB_BOUNDARY, 0, 5);
    expect_load(&f, 1, COMPONENT_NONE);
    fix_remove(&f);
}

static void expect_selected(const struct fix *f, struct selector sel, uint64_t expected)
{
    struct err err = { .code = 0 };
    uint64_t seq = 0;
    cr_assert_eq(st_select(f->run, &sel, &seq, &err), 0, "%s", err.msg);
    cr_assert_eq(seq, expected);
}

CASE(rows, a_damaged_boundary_is_found_by_its_key_and_never_read)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct st_list list;
    struct bump b;
    uint64_t seq = 0;
    plant_small(&f);
    raw_flip(&f, DB_BOUNDARY, 0, 5);
    expect_verify(&f, 1, 1, "seq 1 ? '': run 'run': row boundary seq 1 does not match its digest");
    fix_reopen(&f);
    expect_selected(&f, (struct selector){ .kind = SELECT_LATEST, .number = 1 }, 1);
    expect_selected(&f, (struct selector){ .kind = SELECT_SEQ, .number = 1 }, 1);
    expect_selected(&f, (struct selector){ .kind = SELECT_STEP, .number = 100 }, 1);
    bump_init(&b, (size_t)1 << 20);
    cr_assert_eq(st_list(f.run, UINT64_MAX, 9, &b, &list, &err), 0, "%s", err.msg);
    cr_assert(list.count == 1 && list.boundaries[0].seq == 2);
    cr_assert(list.damaged_count == 1 && list.damaged[0] == 1);
    cr_assert_eq(st_list(f.run, UINT64_MAX, 1, &b, &list, &err), 0, "%s", err.msg);
    cr_assert(list.count == 1 && list.damaged_count == 0);
    bump_fini(&b);
    cr_assert_eq(st_before(f.run, 2, &seq, &err), 0, "%s", err.msg);
    cr_assert_eq(seq, 1);
    cr_assert_eq(st_before(f.run, 1, &seq, &err), 0, "%s", err.msg);
    cr_assert_eq(seq, 0);
    fix_close(&f);
    expect_load(&f, 1, COMPONENT_NONE);
    fix_remove(&f);
}

CASE(rows, rot_in_the_file_itself_is_found)
{
    struct fix f;
    char path[1024];
    plant_small(&f);
    fix_path(&f, "index/data.mdb", path);
    cr_assert_gt(raw_flip_text(path, "layer.0.bias"), 0);
    expect_verify(&f, 1, 1, "seq 1 model '': run 'run': row component seq 1 rank 0 model page 0");
    fix_fsck_finds(&f, "does not match its digest");
    fix_remove(&f);
}

CASE(rows, lost_meta_or_database_is_corrupt)
{
    struct fix f;
    struct err err = { .code = 0 };
    plant_small(&f);
    raw_delete(&f, DB_META, 2);
    fix_fsck_finds(&f, "cannot be opened");
    cr_assert_eq(st_open(f.dir, NULL, &f.st, &err), 0, "%s", err.msg);
    cr_assert_eq(st_run_open(f.st, FIX_UID, slice_str("run"), true, &f.run, &err), -CAIRN_ECORRUPT);
    fix_remove(&f);
    plant_small(&f);
    raw_drop(&f, DB_REF);
    fix_fsck_finds(&f, "database 'ref' is missing");
    fix_remove(&f);
}

/* ---- a lost key is not a lost boundary ---------------------------------------------------------
 */

CASE(rows, lost_index_rows_are_made_up_for)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct row_save save;
    uint64_t seq = 0;
    struct selector step = { .kind = SELECT_STEP, .number = 100 };
    struct selector id = { .kind = SELECT_ID };
    struct rec *r = rec_small(100, 1);
    plant_small(&f);
    raw_delete(&f, DB_STEP, 0);
    while (raw_count(&f, DB_SAVEID) > 0) {
        raw_delete(&f, DB_SAVEID, 0);
    }
    fix_reopen(&f);
    memcpy(id.id, r->b.save_id, sizeof id.id);
    cr_assert_eq(st_select(f.run, &step, &seq, &err), 0, "%s", err.msg);
    cr_assert_eq(seq, 1);
    cr_assert_eq(st_select(f.run, &id, &seq, &err), 0, "%s", err.msg);
    cr_assert_eq(seq, 1);
    cr_assert_eq(st_save_state(f.run, r->b.save_id, 0, &save, &err), 0);
    cr_assert_eq(save.state, SAVE_COMMITTED);
    cr_assert_eq(save.seq, 1);
    fix_remove(&f);
    (void)rec_free(r);
}

CASE(rows, a_damaged_step_key_is_a_lost_one)
{
    struct fix f;
    struct err err = { .code = 0 };
    uint64_t seq = 0;
    struct selector step = { .kind = SELECT_STEP, .number = 100 };
    plant_small(&f);
    raw_flip(&f, DB_STEP, 0, 3);
    fix_reopen(&f);
    cr_assert_eq(st_select(f.run, &step, &seq, &err), 0, "%s", err.msg);
    cr_assert_eq(seq, 1);
    fix_remove(&f);
}

/* Boundaries with these losses, and the nth row of label lost. */
static uint64_t best_without(const char *const *losses, unsigned count, unsigned nth, bool max)
{
    struct fix f;
    struct err err = { .code = 0 };
    struct selector sel = { .kind = SELECT_BEST, .label = slice_str("loss"), .want_max = max };
    uint64_t seq = 0;
    fix_open(&f);
    for (unsigned i = 0; i < count; i++) {
        struct rec *r = rec_tiny(i + 1, i + 1);
        const struct label label = { .name = slice_str("loss"), .value = slice_str(losses[i]) };
        r->b.labels = &label;
        r->b.label_count = 1;
        cr_assert_eq(rec_save(r, f.run, &err), 0, "%s", err.msg);
        (void)rec_free(r);
    }
    fix_close(&f);
    raw_delete(&f, DB_LABEL, nth);
    fix_fsck_finds(&f, "there is no row label");
    fix_reopen(&f);
    cr_assert_eq(st_select(f.run, &sel, &seq, &err), 0, "%s", err.msg);
    fix_remove(&f);
    return seq;
}

CASE(rows, a_lost_label_key_is_not_a_lost_label)
{
    static const char *const losses[] = { "3", "1", "2", "1", "nan" };
    cr_assert_eq(best_without(losses, 1, 0, false), 1);
    cr_assert_eq(best_without(losses, 3, 1, false), 2);
    cr_assert_eq(best_without(losses, 3, 0, true), 1);
    cr_assert_eq(best_without(losses, 5, 3, false), 4); /* of equal ones the newest */
    cr_assert_eq(best_without(losses, 5, 1, false), 4);
    cr_assert_eq(best_without(losses, 5, 4, false), 4); /* NaN is no number in a row either */
}

CASE(rows, lost_chunk_rows_do_not_cost_the_segment)
{
    struct fix f;
    char path[1024];
    plant_small(&f);
    raw_delete(&f, DB_CHUNK, 0);
    raw_delete(&f, DB_CHUNK, 0);
    expect_load(&f, 1, COMPONENT_MODEL);
    raw_segment_path(&f, 1, path);
    cr_assert_eq(access(path, F_OK), 0);
    fix_remove(&f);
}

CASE(rows, index_that_names_another_boundary_is_corrupt)
{
    struct fix f;
    struct err err = { .code = 0 };
    uint64_t seq = 0;
    struct selector sel = { .kind = SELECT_STEP, .number = 555 };
    struct key key = key_step(555, 1);
    plant_small(&f);
    raw_put(&f, DB_STEP, &key, slice_of(NULL, 0));
    fix_fsck_finds(&f, "seq 1 is indexed as step 555, it is step 100");
    fix_reopen(&f);
    cr_assert_eq(st_select(f.run, &sel, &seq, &err), -CAIRN_ECORRUPT, "%s", err.msg);
    fix_remove(&f);
}

/* ---- rows too many --------------------------------------------------------------------------- */

static void planted(enum st_db db, struct key key, struct slice value, const char *expected)
{
    struct fix f;
    plant_small(&f);
    raw_put(&f, db, &key, value);
    fix_fsck_finds(&f, expected);
    fix_remove(&f);
}

CASE(rows, dangling_rows_are_found)
{
    static const uint8_t id[16] = { 1, 2, 3 };
    const struct slice none = slice_of(NULL, 0);
    planted(DB_STEP, key_step(7, 77), none, "a row of step is about seq 77");
    planted(DB_REF, key_ref(1, 0, 77), none, "a row of ref is about seq 77");
    planted(DB_REF, key_ref(1, 0, 2), none, "5 rows of ref, boundaries use 4 chunks");
    planted(DB_REF, key_ref(9, 0, 2), none, "there is no row chunk segment 0000000000000009");
    planted(DB_LABEL, key_label(77, slice_str("x")), none, "is about seq 77");
    planted(DB_PIN, key_label(77, slice_str("x")), none, "is about seq 77");
    planted(DB_MARK, key_label(77, none), none, "is about seq 77");
    planted(DB_COMPONENT, key_component(77, 0, 1, 0), none, "a row of component is about seq 77");
    planted(DB_COMPONENT, key_component(1, 0, 1, 9), none, "seq 1 has no page 9 of model");
    planted(DB_COMPONENT, key_component(1, 3, 1, 0), none, "of rank 3");
    planted(DB_DIGEST, key_digest(id, 9, 1, 0), none, "which has another digest");
    planted(DB_PRUNED, key_pruned(77, 0), none, "its save id does not say so");
}

static void planted_save(enum save_state state, uint64_t seq, const char *expected)
{
    static const uint8_t id[16] = { 1, 2, 3 };
    struct row_save save = { .state = state, .seq = seq };
    struct wire_buf b = { .data = NULL };
    cr_assert_eq(row_save_encode(&save, &b, NULL), 0);
    planted(DB_SAVEID, key_saveid(id, 0), slice_of(b.data, b.bytes), expected);
    wire_buf_free(&b);
}

CASE(rows, save_ids_agree_with_boundaries)
{
    planted_save(SAVE_COMMITTED, 77, "a row of saveid is about seq 77");
    planted_save(SAVE_COMMITTED, 1, "which has another");
    planted_save(SAVE_PRUNED, 1, "was removed; it is there");
    planted_save(SAVE_RECEIVING, 1, "in state");
}

CASE(rows, orphaned_and_overlapping_chunks_are_found)
{
    struct row_chunk row = { .offset = 4096, .bytes = 100 };
    struct wire_buf b = { .data = NULL };
    cr_assert_eq(row_chunk_encode(&row, &b, NULL), 0);
    struct slice value = slice_of(b.data, b.bytes);
    planted(DB_CHUNK, key_chunk(1, 9), value, "no boundary refers to chunk 9");
    planted(DB_CHUNK, key_chunk(1, 9), value, "are no place after");
    planted(DB_CHUNK, key_chunk(8, 0), value, "segment 0000000000000008, which is missing");
    wire_buf_free(&b);
}

/* ---- NaN and Inf ----------------------------------------------------------------------------- */

enum lie { LIE_NONE, LIE_SUM, LIE_FLAG, LIE_COMPONENT };

/* A sound row of a boundary that says something else of NaN and Inf. */
static void lie_in_the_row(const struct fix *f, enum lie lie)
{
    struct bump bump;
    struct row_boundary row;
    struct component_info infos[COMPONENT_NR];
    struct wire_buf b = { .data = NULL };
    struct err err = { .code = 0 };
    struct raw_row raw = raw_take(f, DB_BOUNDARY, 1);
    struct key key = key_boundary(2);
    row_bump_init(&bump, raw.value_bytes);
    cr_assert_eq(row_boundary_decode(slice_of(raw.value, raw.value_bytes - 8), &bump, &row, &err),
                 0);
    cr_assert(row.boundary.not_finite && row.boundary.nonfinite.inf == 3);
    memcpy(infos, row.boundary.components, row.boundary.component_count * sizeof infos[0]);
    row.boundary.components = infos;
    row.boundary.nonfinite.inf += lie == LIE_SUM;
    row.boundary.not_finite = lie != LIE_FLAG;
    infos[0].nonfinite.nan += lie == LIE_COMPONENT;
    cr_assert_eq(row_boundary_encode(&row, &b, &err), 0);
    raw_put(f, DB_BOUNDARY, &key, slice_of(b.data, b.bytes));
    wire_buf_free(&b);
    bump_fini(&bump);
    free(raw.value);
}

CASE(rows, sums_of_nan_and_inf_are_those_of_the_entries)
{
    static const char *const says[] = {
        [LIE_SUM] = "what its row says of NaN and Inf is not what its entries say",
        [LIE_FLAG] = "what its row says of NaN and Inf is not what its entries say",
        [LIE_COMPONENT] = "model: its first row does not fit the boundary's",
    };
    for (enum lie lie = LIE_NONE; lie <= LIE_COMPONENT; lie++) {
        struct fix f;
        struct rec *r = rec_small(200, 2);
        r->entries[COMPONENT_MODEL][0].nonfinite.inf = 3;
        r->infos[0].nonfinite.inf = 3;
        plant_with(&f, r);
        lie_in_the_row(&f, lie);
        if (lie == LIE_NONE) {
            fix_fsck_clean(&f);
        } else {
            fix_fsck_finds(&f, says[lie]);
            expect_verify(&f, 2, 1, says[lie]);
        }
        fix_remove(&f);
    }
}

CASE(rows, meta_agrees_with_the_boundaries)
{
    uint8_t two[8] = { 0, 0, 0, 0, 0, 0, 0, 2 };
    struct row_run run = { .boundary_count = 9, .latest_seq = 2 };
    struct wire_buf b = { .data = NULL };
    cr_assert_eq(row_run_encode(&run, &b, NULL), 0);
    planted(DB_META, key_meta("summary"), slice_of(b.data, b.bytes), "meta counts 9 boundaries");
    planted(DB_META, key_meta("next_seq"), slice_of(two, 8), "would give seq 2 again");
    planted(DB_META, key_meta("next_segment"), slice_of(two, 8), "would give segment");
    wire_buf_free(&b);
}

CASE(catalogue, rows_about_nothing_are_found)
{
    struct fix f;
    struct row_run row = { .boundary_count = 3, .latest_seq = 99 };
    struct wire_buf b = { .data = NULL };
    cr_assert_eq(row_run_encode(&row, &b, NULL), 0);
    struct slice value = slice_of(b.data, b.bytes);
    plant_small(&f);
    raw_put_catalogue(&f, 9, "ghost", value, true);
    fix_fsck_finds(&f, "lists run 'ghost' of uid 9, which is not there");
    raw_put_catalogue(&f, FIX_UID, "run", value, true);
    fix_fsck_finds(&f, "is listed up to seq 99, which it does not have");
    raw_put_catalogue(&f, FIX_UID, "run", value, false);
    fix_fsck_finds(&f, "does not match its digest");
    fix_reopen(&f); /* made anew */
    fix_close(&f);
    fix_fsck_clean(&f);
    fix_remove(&f);
    wire_buf_free(&b);
}
