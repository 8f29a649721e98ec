/* contract_fit.c: the question whether a restore would fit, asked before any payload moves. */
#include "lib/call.h"
#include "lib/contract.h"

static int fit_compare(struct cairn *c,
                       const struct cairn_record *r,
                       const struct cairn_trainer *t,
                       uint64_t *ret_count)
{
    struct contract recorded;
    struct contract live;
    int rc = contract_of_record(r, &recorded, &c->err);
    if (rc < 0) {
        return rc;
    }
    if (ret_count != NULL) {
        *ret_count = recorded.trainable_count;
    }
    rc = contract_of_trainer(c, t, -CAIRN_EMISMATCH, &live);
    if (rc == 0) {
        rc = contract_compare(&recorded, &live, &c->err);
        contract_fini(&live);
    }
    contract_fini(&recorded);
    return rc;
}

int cairn_contract_fit(struct cairn *c,
                       const char *selector,
                       const struct cairn_trainer *t,
                       uint64_t *ret_count)
{
    struct cairn_record *r = NULL;
    int rc = cl_enter(c);
    if (rc == 0 && t == NULL) {
        rc = cl_invalid(c, "a contract is compared with a trainer");
    }
    if (rc == 0) {
        rc = cairn_load(c, selector, 0, &r);
    }
    if (rc < 0) {
        return rc;
    }
    rc = fit_compare(c, r, t, ret_count);
    (void)cairn_record_free(r);
    return rc;
}
