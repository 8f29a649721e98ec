/* selector.h: `RUN`, `RUN@latest~1`, `RUN@1200`, `RUN@seq:7`, `RUN@id:HEX`, `RUN@best:loss:min`,
 * `RUN@finite`; RUN may be `USER/RUN` or `UID/RUN`. One grammar for wire, command and policies. */
#ifndef RECORD_SELECTOR_H
#define RECORD_SELECTOR_H

#include "internal/err.h"
#include "record/record.h"

enum selector_kind {
    SELECT_LATEST, /* number = how many before the newest */
    SELECT_STEP,   /* number = step: the newest boundary of it */
    SELECT_SEQ,    /* number = seq */
    SELECT_ID,     /* id */
    SELECT_BEST,   /* label, want_max */
    SELECT_FINITE
};

struct selector {
    enum selector_kind kind;
    uint64_t number;
    uint8_t id[16];
    struct slice label; /* points into the text */
    bool want_max;
};

/* The part after '@' ("" and "latest" are the newest). Errors: EINVAL naming what was expected. */
int selector_parse(struct slice text, struct selector *ret, struct err *err);
/* Split "USER/RUN@SEL" (each part may be missing but RUN); slices point into text. */
int selector_split(struct slice text,
                   struct slice *ret_user,
                   struct slice *ret_run,
                   struct slice *ret_selector,
                   struct err *err);

#endif
