/* The policy of a run: a row of meta in the words of record/policy.h, or the store's default. */
#include <stdio.h>
#include <string.h>

#include "store/row.h"
#include "store/store_int.h"

#define POLICY_META "policy"

static int policy_get_txn(struct txn *t, void *arg, struct err *err)
{
    char *text = arg;
    struct key key = key_meta(POLICY_META);
    struct slice value;
    int rc = row_get(t, DB_META, &key, &value, err);
    if (rc == -CAIRN_ENOENT) {
        text[0] = '\0';
        return 0;
    }
    if (rc == 0 && value.bytes >= POLICY_TEXT_BYTES) {
        return row_undecodable(DB_META, key_slice(&key), err);
    }
    if (rc == 0) {
        memcpy(text, value.data, value.bytes);
        text[value.bytes] = '\0';
    }
    return rc;
}

int st_policy_get(struct st_run *run,
                  char ret_text[POLICY_TEXT_BYTES],
                  bool *ret_is_default,
                  struct err *err)
{
    const char *preset = run->st->options.keep_default;
    int rc = env_read(&run->index, policy_get_txn, ret_text, err);
    if (rc < 0) {
        return run_wrap(run, rc, err);
    }
    *ret_is_default = ret_text[0] == '\0';
    if (*ret_is_default) {
        (void)snprintf(ret_text, POLICY_TEXT_BYTES, "%s", preset == NULL ? "none" : preset);
    }
    return 0;
}

static int policy_put_txn(struct txn *t, void *arg, struct err *err)
{
    const struct policy *policy = arg;
    struct key key = key_meta(POLICY_META);
    char text[POLICY_TEXT_BYTES];
    return policy == NULL ? row_del(t, DB_META, &key, err)
                          : row_put(t, DB_META, &key, slice_str(policy_print(policy, text)), err);
}

int st_policy_put(struct st_run *run, const struct policy *policy, struct err *err)
{
    union { /* a transaction only reads it */
        const struct policy *in;
        void *out;
    } arg = { .in = policy };
    const struct txn_job job = { .fn = policy_put_txn, .arg = arg.out, .failpoint = "policy" };
    return run_change(run, &job, err);
}
