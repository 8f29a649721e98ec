/* saver.h: a save that is under way on a thread of its own, by a handle of its own. */
#ifndef SUPPORT_SAVER_H
#define SUPPORT_SAVER_H

#include <pthread.h>

#include "support/sample.h"

struct saver {
    struct sample sample; /* a few tensors, in a chunk or two */
    struct cairn *c;
    uint8_t save_id[16];
    bool has_save_id;
    struct cairn_boundary saved;
    int rc;
    pthread_t thread;
};

/* Save what the seed makes, as that step. save_id: 16 bytes, or NULL. */
void saver_start(struct saver *s,
                 const char *socket_path,
                 const char *run,
                 uint64_t seed,
                 const uint8_t *save_id);
/* Wait for it; it must have returned `code`. What was saved is in s->saved. */
void saver_end(struct saver *s, int code);

#endif
