#include "record/rules.h"
#include "sample.h"
#include "support/case.h"

CASE(rules, run_names)
{
    char name[129];
    memset(name, 'a', sizeof name);
    cr_assert(run_name_ok(slice_of(name, 128)));
    cr_assert_not(run_name_ok(slice_of(name, 129)));
    cr_assert(run_name_ok(slice_str("a")));
    cr_assert(run_name_ok(slice_str("0.a_b-C")));
    static const char *const bad[] = { "", ".", "..", "-a", "_a", "a/b", "a b", "a\xC3\xA9", "a@" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_not(run_name_ok(slice_str(bad[i])), "%s", bad[i]);
    }
    cr_assert_not(run_name_ok(slice_of("a\0b", 3)));
    cr_assert_not(run_name_ok(slice_of(NULL, 0)));
}

CASE(rules, texts)
{
    cr_assert(utf8_ok(slice_of(NULL, 0)));
    cr_assert(utf8_ok(slice_str("layers.0/weight ~ \xF0\x9F\x98\x80")));
    cr_assert(utf8_ok(slice_str("0123456789abcdef\xC3\xA9")));
    cr_assert_not(utf8_ok(slice_of("ab\0cdefghijkl", 13)));
    cr_assert_not(utf8_ok(slice_of("\0", 1)));
    cr_assert_not(utf8_ok(slice_of("abcdefg\0abcdefgh", 16)));
    cr_assert_not(utf8_ok(slice_str("01234567\xC3")));
    cr_assert_not(utf8_ok(slice_str("\xED\xA0\x80")));
    /* A bad byte at every place of a longer text. */
    for (size_t i = 0; i < 24; i++) {
        char text[24];
        memset(text, 'x', sizeof text);
        cr_assert(utf8_ok(slice_of(text, sizeof text)));
        text[i] = '\x80';
        cr_assert_not(utf8_ok(slice_of(text, sizeof text)), "at %zu", i);
        text[i] = '\0';
        cr_assert_not(utf8_ok(slice_of(text, sizeof text)), "NUL at %zu", i);
    }
}

static void rules_label_refused(struct label l)
{
    struct err err = { 0 };
    cr_assert_eq(rules_labels(&l, 1, &err), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(err.msg, "label"));
}

CASE(rules, labels)
{
    static struct label labels[LIMIT_LABELS + 1];
    static char names[LIMIT_LABELS + 1][3];
    static char text[300];
    memset(text, 'x', sizeof text);
    for (unsigned i = 0; i <= LIMIT_LABELS; i++) {
        names[i][0] = (char)('a' + i / 26);
        names[i][1] = (char)('a' + i % 26);
        labels[i] = (struct label){ slice_of(names[i], 2), slice_of(text, 256) };
    }
    cr_assert_eq(rules_labels(labels, LIMIT_LABELS, NULL), 0);
    cr_assert_eq(rules_labels(labels, LIMIT_LABELS + 1, NULL), -CAIRN_ELIMIT);
    cr_assert_eq(rules_labels(NULL, 0, NULL), 0);
    rules_label_refused((struct label){ slice_of(NULL, 0), slice_str("v") });
    rules_label_refused((struct label){ slice_of(text, 65), slice_str("v") });
    rules_label_refused((struct label){ slice_str("a:b"), slice_str("v") });
    rules_label_refused((struct label){ slice_str("a"), slice_of(text, 257) });
    rules_label_refused((struct label){ slice_str("a"), slice_of("\xFF", 1) });
    rules_label_refused((struct label){ slice_str("a"), slice_of("x\0y", 3) });
    struct err err = { 0 };
    labels[5].name = labels[2].name;
    cr_assert_eq(rules_labels(labels, 6, &err), -CAIRN_EINVAL);
    cr_assert_not_null(strstr(err.msg, "twice"));
}

static void rules_chunk_refused(struct chunk c, int code)
{
    struct err err = { 0 };
    cr_assert_eq(rules_chunk(&c, 0, &err), code);
    cr_assert_neq(err.msg[0], '\0');
}

CASE(rules, chunks)
{
    struct chunk c = { .component = COMPONENT_MODEL,
                       .flags = CHUNK_TRAINABLE | CHUNK_PACKED,
                       .bytes = LIMIT_CHUNK_BYTES };
    cr_assert_eq(rules_chunk(&c, LIMIT_CHUNKS - 1, NULL), 0);
    cr_assert_eq(rules_chunk(&c, LIMIT_CHUNKS, NULL), -CAIRN_ELIMIT);
    struct chunk bad = c;
    bad.component = COMPONENT_NONE;
    rules_chunk_refused(bad, -CAIRN_EINVAL);
    bad.component = COMPONENT_NR;
    rules_chunk_refused(bad, -CAIRN_EINVAL);
    bad = c;
    bad.flags = 4;
    rules_chunk_refused(bad, -CAIRN_EINVAL);
    bad = c;
    bad.bytes = 0;
    rules_chunk_refused(bad, -CAIRN_EINVAL);
    bad.bytes = LIMIT_CHUNK_BYTES + 1;
    rules_chunk_refused(bad, -CAIRN_EINVAL);
}

static void rules_begin_refused(const struct boundary *b, int code, const char *word)
{
    struct err err = { 0 };
    cr_assert_eq(rules_begin(b, &err), code, "%s: %s", word, err.msg);
    cr_assert_not_null(strstr(err.msg, word), "%s", err.msg);
}

CASE(rules, E30_begin)
{
    struct boundary b = sample_begin();
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.kind = KIND_DTYPES | KIND_WEIGHTED;
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.kind = KIND_MODEL_STATE | KIND_WEIGHTED;
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.kind = KIND_MODEL_STATE | KIND_DTYPES;
    rules_begin_refused(&b, -CAIRN_EINVAL, "contract");
    b.kind = 8;
    rules_begin_refused(&b, -CAIRN_EINVAL, "kind");
    b = sample_begin();
    b.world = 2;
    rules_begin_refused(&b, -CAIRN_ENOTSUP, "world 2");
    b.rank = 2;
    rules_begin_refused(&b, -CAIRN_EINVAL, "rank 2");
    b.world = 0;
    rules_begin_refused(&b, -CAIRN_EINVAL, "world 0");
    b = sample_begin();
    b.local_parts = 0;
    rules_begin_refused(&b, -CAIRN_ENOTSUP, "local parts");
    b = sample_begin();
    b.exact = false;
    rules_begin_refused(&b, -CAIRN_EINVAL, "exact");
    b.precision = PRECISION_HALF;
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.precision = (enum precision)4;
    rules_begin_refused(&b, -CAIRN_EINVAL, "precision");
    b = sample_begin();
    b.seq = 1;
    rules_begin_refused(&b, -CAIRN_EINVAL, "seq");
    b = sample_begin();
    b.not_finite = true;
    rules_begin_refused(&b, -CAIRN_EINVAL, "NaN or Inf");
    b = sample_begin();
    b.nonfinite.inf = 1;
    rules_begin_refused(&b, -CAIRN_EINVAL, "NaN or Inf");
    b = sample_begin();
    b.warnings = WARNING_STALE;
    rules_begin_refused(&b, -CAIRN_EINVAL, "what changed");
    b = sample_begin();
    b.entry_count = (uint64_t)LIMIT_ENTRIES * 8 + 1;
    rules_begin_refused(&b, -CAIRN_ELIMIT, "entries");
}

CASE(rules, begin_sizes)
{
    struct boundary b = sample_begin();
    b.chunk_count = LIMIT_CHUNKS + 1;
    rules_begin_refused(&b, -CAIRN_ELIMIT, "chunks");
    b.chunk_count = 0;
    rules_begin_refused(&b, -CAIRN_EINVAL, "stored_bytes");
    b.stored_bytes = 0;
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.chunk_count = 2;
    b.stored_bytes = 4096;
    rules_begin_refused(&b, -CAIRN_EINVAL, "stored_bytes");
    b.stored_bytes = 8193;
    rules_begin_refused(&b, -CAIRN_EINVAL, "stored_bytes");
    b.stored_bytes = 2 * UINT64_C(8388608);
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.stored_bytes += 4096;
    rules_begin_refused(&b, -CAIRN_EINVAL, "stored_bytes");
    b = sample_begin();
    struct label bad = { slice_str(""), slice_str("") };
    b.labels = &bad;
    b.label_count = 1;
    rules_begin_refused(&b, -CAIRN_EINVAL, "label");
}

CASE(rules, begin_payload)
{
    struct boundary b = sample_begin();
    b.chunk_count = 2;
    b.stored_bytes = 8192;
    b.payload_bytes = 2;
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.payload_bytes = 1;
    rules_begin_refused(&b, -CAIRN_EINVAL, "payload_bytes");
    b.entry_count = 1;
    b.payload_bytes = 8192 + LIMIT_METADATA_BYTES;
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.payload_bytes++;
    rules_begin_refused(&b, -CAIRN_EINVAL, "payload_bytes");
    b.entry_count = 2; /* E18: tied ones lie in one place */
    cr_assert_eq(rules_begin(&b, NULL), 0);
    b.payload_bytes = UINT64_C(1) << 63;
    rules_begin_refused(&b, -CAIRN_EINVAL, "payload_bytes");
}

CASE(rules, R15_R41_components_of_a_kind)
{
    cr_assert_eq(rules_components_of(KIND_PLAIN), 0x3E);
    cr_assert_eq(rules_components_of(KIND_DTYPES), 0x3E | 1u << COMPONENT_DTYPES);
    cr_assert_eq(rules_components_of(KIND_WEIGHTED), 0x3E | 1u << COMPONENT_WINDOW);
    cr_assert_eq(rules_components_of(KIND_DTYPES | KIND_WEIGHTED),
                 0x3E | 1u << COMPONENT_DTYPES | 1u << COMPONENT_WINDOW);
    cr_assert_eq(rules_components_of(KIND_MODEL_STATE), 0x3E | 1u << COMPONENT_CONTRACT);
}
