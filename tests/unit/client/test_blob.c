/* Opaque bytes: any length, under a media tag and a version that must be named. */
#include <cairn/tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ground.h"

struct blob {
    const char *path, *media;
    uint32_t version;
    uint64_t bytes;
    uint8_t *data;
};

static int put_blob(void *self, struct cairn_writer *w)
{
    const struct blob *b = self;
    int rc = cairn_put_u64(w, "updates", 3);
    return rc < 0 ? rc : cairn_put_blob(w, b->path, b->media, b->version, b->data, b->bytes);
}

static void blob_init(struct blob *b, uint64_t bytes)
{
    *b = (struct blob){ .path = "rng", .media = "torch.cpu.rng", .version = 3, .bytes = bytes };
    b->data = malloc(bytes + 1);
    bytes_fill(b->data, bytes, bytes);
}

CASE(blob, E32_opaque_bytes_of_any_length_come_back)
{
    /* none, one, PyTorch's, more than fits the entries, chunks of its own, the last one short */
    static const uint64_t lengths[] = { 0, 1, 5056, 70000, 4194304, 20000001 };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct ground g;
        struct blob b;
        struct cairn_blob info;
        const struct cairn_reader *reader = NULL;
        blob_init(&b, lengths[i]);
        ground_up(&g);
        struct cairn_record *r = ground_state(&g, put_blob, &b, &reader);
        cr_assert_eq(cairn_blob_info(reader, "rng", &info), 0, "%s", cairn_error(g.c));
        cr_assert_str_eq(info.media, b.media);
        cr_assert_eq(info.version, b.version);
        cr_assert_eq(info.bytes, b.bytes);
        uint8_t *got = calloc(1, b.bytes + 1);
        cr_assert_eq(cairn_get_blob(reader, "rng", b.media, b.version, got, b.bytes), 0);
        cr_assert(same_bits(got, b.data, b.bytes), "%llu", (unsigned long long)b.bytes);
        free(got);
        free(b.data);
        (void)cairn_record_free(r);
        ground_down(&g);
    }
}

CASE(blob, another_media_version_or_length_is_refused_by_name)
{
    uint8_t dst[101];
    uint8_t before[101];
    struct ground g;
    struct blob b;
    const struct cairn_reader *reader = NULL;
    blob_init(&b, 100);
    ground_up(&g);
    struct cairn_record *r = ground_state(&g, put_blob, &b, &reader);
    memset(dst, 0xee, sizeof dst);
    memcpy(before, dst, sizeof dst);
    cr_assert_eq(cairn_get_blob(reader, "rng", "numpy.rng", 3, dst, 100), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c),
                              "state 'rng': recorded media 'torch.cpu.rng', "
                              "wanted 'numpy.rng'"),
                       "%s",
                       cairn_error(g.c));
    cr_assert_eq(cairn_get_blob(reader, "rng", b.media, 4, dst, 100), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c), "recorded version 3, wanted 4"));
    for (uint64_t bytes = 99; bytes <= 101; bytes += 2) {
        cr_assert_eq(cairn_get_blob(reader, "rng", b.media, 3, dst, bytes), -CAIRN_EMISMATCH);
        cr_assert_not_null(strstr(cairn_error(g.c), "of 100 bytes"), "%s", cairn_error(g.c));
    }
    cr_assert(same_bits(dst, before, sizeof dst), "nothing was written");
    cr_assert_eq(cairn_get_blob(reader, "rng", b.media, 3, NULL, 0), 0, "only a look");
    cr_assert_eq(cairn_get_blob(reader, "other", b.media, 3, dst, 100), -CAIRN_ENOENT);
    cr_assert_eq(cairn_get_blob(reader, "updates", b.media, 3, dst, 100), -CAIRN_EMISMATCH);
    free(b.data);
    (void)cairn_record_free(r);
    ground_down(&g);
}

static int put_bare(void *self, struct cairn_writer *w)
{
    const uint64_t bytes = 4;
    return cairn_put(
        w,
        &(struct cairn_entry){
            .path = "rng", .dtype = CAIRN_OPAQUE, .rank = 1, .shape = &bytes, .bytes = bytes },
        self);
}

CASE(blob, bytes_without_tag_and_version_are_no_blob)
{
    static char data[] = "bare";
    struct ground g;
    struct cairn_blob info;
    const struct cairn_reader *reader = NULL;
    ground_up(&g);
    struct cairn_record *r = ground_state(&g, put_bare, data, &reader);
    cr_assert_eq(cairn_blob_info(reader, "rng", &info), -CAIRN_EMISMATCH);
    cr_assert_not_null(strstr(cairn_error(g.c), "@media"), "%s", cairn_error(g.c));
    (void)cairn_record_free(r);
    ground_down(&g);
}

CASE(blob, its_path_and_media_tag_have_rules)
{
    char media[CAIRN_BLOB_MEDIA_BYTES + 2];
    char path[4097 - sizeof "@version" + 2];
    memset(media, 'm', sizeof media);
    memset(path, 'p', sizeof path);
    media[sizeof media - 1] = '\0';
    path[sizeof path - 1] = '\0';
    const struct {
        const char *path, *media;
        bool ok;
    } puts[] = {
        { "rng", media + 1, true }, { "rng", media, false }, { "rng", "\xff", false },
        { "rng", "", true },        { "rng", NULL, false },  { NULL, "x", false },
        { "", "x", false },         { path + 1, "x", true }, { path, "x", false },
    };
    for (size_t i = 0; i < sizeof puts / sizeof puts[0]; i++) {
        struct ground g;
        struct blob b;
        struct cairn_record *r = NULL;
        blob_init(&b, 8);
        b.path = puts[i].path;
        b.media = puts[i].media;
        ground_up(&g);
        g.job.t.state = (struct cairn_component){ .self = &b, .put = put_blob };
        int rc = cairn_capture(g.c, &g.job.t, &r);
        cr_assert_eq(rc, puts[i].ok ? 0 : -CAIRN_EINVAL, "%zu: %d %s", i, rc, cairn_error(g.c));
        (void)cairn_record_free(r);
        free(b.data);
        ground_down(&g);
    }
}
