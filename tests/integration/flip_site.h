/* flip_site.h: a daemon with two small boundaries of everything a record can hold, and everything
 * that the library lets anybody see of one of them. */
#ifndef INTEGRATION_FLIP_SITE_H
#define INTEGRATION_FLIP_SITE_H

#include <cairn/record.h>

#include "../unit/client/job.h"
#include "flip.h"
#include "support/daemon.h"

/* All that can be read of a boundary, one behind the other. */
struct sight {
    uint8_t *data;
    size_t bytes, room;
};

/* A step that loses its bit in a flipped key, so that the key is before all others then. */
enum { SITE_STEP = 0x80 };
enum { SITE_TEXT_BYTES = 1024 };
enum { SITE_OLDER = 0, SITE_NEWEST = 1, SITE_BOUNDARIES = 2 }; /* seq 1 and 2 */

struct site {
    char dir[TMP_PATH_BYTES];
    struct daemon d;
    struct sight whole[SITE_BOUNDARIES], seen;
    uint8_t save_id[SITE_BOUNDARIES][16];
    struct flip_rows rows;
    char index[FLIP_PATH_BYTES], segment[FLIP_PATH_BYTES];
    struct cairn *other; /* of the run that is opened so that the other one is closed */
};

enum site_kind {
    SITE_PACKED, /* two shared chunks, with a tensor of 68 KB in one of them */
    SITE_OWN     /* the large tensor has a chunk of its own */
};

/* A daemon that keeps one run open at a time, with run "flip": two boundaries of one step, labelled
 * loss=0.5 and loss=0.25. The newest has all seven components of a weighted record with dtypes, and
 * a segment; the older one is plain, with scalars only, in the manifest. The store is stopped, and
 * sound, when this returns. */
void site_up(struct site *s, enum site_kind kind);
void site_down(struct site *s); /* the store is stopped, and must be sound again */
/* Start, and have another run to open, so that "flip" can be closed. */
void site_start(struct site *s);
void site_stop(struct site *s);

/* Close "flip" in the running daemon, so that the next question opens it anew. */
void site_close_run(struct site *s);
/* Open, load, and read everything of what a selector names into s->seen, with a handle of its own:
 * 0 or what failed, with the sentence. */
int site_look(struct site *s, const char *selector, char ret_text[SITE_TEXT_BYTES]);
/* The whole of it is what it was? */
bool site_same(const struct site *s, int boundary);

#endif
