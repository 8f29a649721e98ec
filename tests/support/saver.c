#include "support/saver.h"

#include <string.h>

#include <criterion/criterion.h>

static void *saver_main(void *arg)
{
    struct saver *s = arg;
    struct cairn_record *record = NULL;
    struct cairn_save_args args = { .step = s->sample.seed,
                                    .save_id = s->has_save_id ? s->save_id : NULL };
    s->rc = cairn_capture(s->c, &s->sample.trainer, &record);
    s->rc = s->rc < 0 ? s->rc : cairn_save(s->c, &record, &args, &s->saved);
    (void)cairn_record_free(record);
    return NULL;
}

void saver_start(struct saver *s,
                 const char *socket_path,
                 const char *run,
                 uint64_t seed,
                 const uint8_t *save_id)
{
    *s = (struct saver){ .has_save_id = save_id != NULL };
    if (save_id != NULL) {
        memcpy(s->save_id, save_id, sizeof s->save_id);
    }
    cr_assert_eq(cairn_open(socket_path, run, &s->c), 0, "%s", cairn_error(s->c));
    sample_init(&s->sample,
                (struct sample_tensors){ .count = 2, .tensor_bytes = 65536 },
                (struct sample_tensors){ .count = 1, .tensor_bytes = 4096 });
    sample_fill(&s->sample, seed);
    cr_assert_eq(pthread_create(&s->thread, NULL, saver_main, s), 0);
}

void saver_end(struct saver *s, int code)
{
    cr_assert_eq(pthread_join(s->thread, NULL), 0);
    cr_assert_eq(s->rc, code, "%d: %s", s->rc, cairn_error(s->c));
    (void)cairn_close(s->c);
    sample_fini(&s->sample);
}
