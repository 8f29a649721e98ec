/* warm.c: memory for records before there is one. */
#include "internal/ckd.h"
#include "lib/call.h"

/* What packing wants beside the payload itself. */
#define WARM_SLACK_BYTES (UINT64_C(16) << 20)
#define WARM_MOST_BYTES (UINT64_C(1) << 39)

/* Free regions that know how much will be put into them. */
static int warm_regions(struct cairn *c, uint64_t bytes, unsigned count)
{
    struct region *taken[REGION_CACHE] = { NULL };
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < count; i++) {
        rc = region_take(&c->regions, &taken[i], &c->err);
        if (rc == 0) {
            taken[i]->used_bytes = bytes > taken[i]->used_bytes ? bytes : taken[i]->used_bytes;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        (void)region_give(&c->regions, taken[i]);
    }
    return rc;
}

/* What is not shared is private: it is touched all the same. */
static int warm_touch(struct cairn *c, uint64_t bytes)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < REGION_CACHE; i++) {
        struct region *r = c->regions.free[i];
        if (r != NULL && r->used_bytes >= bytes) {
            rc = region_ready(r, bytes, &c->err);
            region_touch(r, rc == 0 ? bytes : 0);
        }
    }
    return rc;
}

int cairn_warm(struct cairn *c, uint64_t bytes, unsigned count)
{
    int rc = cl_enter_daemon(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (bytes == 0 || bytes > WARM_MOST_BYTES || count < 1 || count > REGION_CACHE) {
        return cl_invalid(c, "memory is warmed for 1 or 2 records of at least a byte");
    }
    bytes = round_up_u64(bytes + bytes / 64 + WARM_SLACK_BYTES, LIMIT_PAGE_BYTES);
    do {
        rc = cl_ready(c);
    } while (rc < 0 && cl_again(c));
    if (rc == 0) {
        rc = warm_regions(c, bytes, count);
    }
    if (rc == 0) {
        cl_tend_arenas_anew(c);
        rc = warm_touch(c, bytes);
    }
    return rc;
}
