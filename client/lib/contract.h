/* contract.h: the trainable parameters that a continuation depends on, as metadata: id, dtype and
 * shape of each (seed: TrainableParameterContract; PROTOCOL.md, "Contract"). */
#ifndef LIB_CONTRACT_H
#define LIB_CONTRACT_H

#include "lib/param.h"
#include "lib/rec.h"

struct capture;

#define CONTRACT_VERSION 1

struct contract {
    struct param_list list; /* ascending by id, each id once; frozen ones are kept beside them */
    uint64_t trainable_count;
    bool has_base;
    uint8_t base[16]; /* identity of what the model does not carry, as the trainer names it */
};

/* What the trainer's own model is. Errors: EINVAL no walk; code, two that are tied differ;
 * ENOMEM; what the walk returned. */
int contract_of_trainer(struct cairn *c,
                        const struct cairn_trainer *t,
                        int code,
                        struct contract *ret);
/* What was recorded: the contract of a model-state record, else what its model says itself.
 * Errors: ECORRUPT not a contract; EVERSION; ENOMEM. */
int contract_of_record(const struct cairn_record *r, struct contract *ret, struct err *err);
/* One that holds nothing; *ret below need not be. */
void contract_init(struct contract *k);
void contract_fini(struct contract *k);

/* Is it a parameter, trainable or frozen? */
bool contract_has(const struct contract *k, uint64_t id);
/* Into component CONTRACT. */
int contract_capture(struct capture *cap, const struct contract *k);

/* Exactly the same parameters, and the same base? Errors: EMISMATCH, which lists those that are
 * missing in the trainer, those that it has beyond, and those that differ. */
int contract_compare(const struct contract *recorded, const struct contract *live, struct err *err);
/* Every pending gradient is that of a trainable parameter, of its shape, and floating.
 * Errors: code. */
int contract_check_gradients(const struct contract *k,
                             const struct cairn_reader *gradients,
                             int code,
                             struct err *err);

#endif
