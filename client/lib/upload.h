/* upload.h: one captured record on its way to the daemon. */
#ifndef LIB_UPLOAD_H
#define LIB_UPLOAD_H

#include "lib/rec.h"

enum upload_until { UPLOAD_SEALED, UPLOAD_COMMITTED };

struct upload {
    struct cairn_record *record; /* what is sent */
    enum upload_until until;
    uint32_t arena;           /* where its payload lies; 0: it goes as DATA */
    uint32_t request;         /* of the BEGIN on the connection under way */
    bool committed;           /* and `boundary` says as what */
    struct boundary boundary; /* its pointers live until the next receive */
};

/* Give the record what the caller chose: step, save id, labels, precision; compute the root. *ret
 * is what is to be sent: r, or what hangs on it. Errors: EINVAL, ENOTSUP, ENOMEM, EPRECISION,
 * ERANGE. */
int upload_prepare(struct cairn *c,
                   struct cairn_record *r,
                   const struct cairn_save_args *a,
                   struct cairn_record **ret);
/* Send it and wait until it is sealed or committed, whatever happens to the connection meanwhile,
 * until the deadline. Errors: as cairn_save. */
int upload_run(struct cairn *c, struct upload *u);
/* One attempt of it. */
int upload_attempt(struct cairn *c, struct upload *u);

#endif
