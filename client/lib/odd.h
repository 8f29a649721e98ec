/* odd.h: what a capture or restore finds odd: it warns, or refuses if the trainer asked for that.
 */
#ifndef LIB_ODD_H
#define LIB_ODD_H

#include "lib/contract.h"

/* The component was recorded under another configuration digest than the trainer's.
 * Errors: EMISMATCH, if the trainer is strict about it. */
int odd_config(const struct cairn_record *r,
               enum component component,
               const struct cairn_component *part,
               const struct cairn_trainer *t,
               struct err *err);

/* The optimizer has state of parameters that the model does not have: it is carried along for ever,
 * and grows when every restart makes new ones. With a contract (else NULL) that decides, as the
 * model may be a part. Errors: EMISMATCH, if the trainer is strict; ENOMEM. */
int odd_optimizer(const struct cairn_record *r,
                  const struct contract *k,
                  const struct cairn_trainer *t,
                  struct err *err);

/* The record was to be read from memory (resident.h), which `why` was given up for. */
void odd_memory(const struct cairn_record *r, const char *why, const struct cairn_trainer *t);

#endif
