/* upload_stage.c: metadata of uploads waits in memory until its boundary commits. There is so much
 * room for all of it, half of that for one uid. Asked after each page: over it by one at most. */
#include <inttypes.h>

#include "ops/ops_int.h"

int upload_check_staged(const struct upload *u, struct err *err)
{
    const struct ops *ops = u->ops;
    uint64_t most = ops->options.metadata_bytes;
    uint64_t share = most / 2;
    uint64_t all = 0;
    uint64_t by_uid = 0;
    for (const struct run *run = ops->runs; run != NULL; run = run->next) {
        for (const struct upload *o = run->uploads; o != NULL; o = o->next) {
            uint64_t bytes = st_manifest_bytes(o->manifest);
            all += bytes;
            by_uid += o->peer.uid == u->peer.uid ? bytes : 0;
        }
    }
    if (st_manifest_bytes(u->manifest) > share) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "the metadata of this save takes more than the %" PRIu64
                       " bytes that one user may stage (half of --metadata-bytes)",
                       share);
    }
    if (by_uid > share) {
        return err_set(err,
                       -CAIRN_EBUSY,
                       "the saves of uid %" PRIu32
                       " that are under way stage more than the %" PRIu64
                       " bytes of metadata that one user may (half of --metadata-bytes): try again",
                       u->peer.uid,
                       share);
    }
    if (all > most) {
        return err_set(err,
                       -CAIRN_EBUSY,
                       "the saves under way stage more than %" PRIu64
                       " bytes of metadata (--metadata-bytes): try again",
                       most);
    }
    return 0;
}
