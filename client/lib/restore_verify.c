/* restore_verify.c: all that is stored of a record is read and checked before any of it is used. */
#include <stdio.h>

#include "cairn/admin.h"

#include "lib/training.h"

/* The first finding is the one that is told. */
struct verify_first {
    struct err err;
    uint64_t count;
};

static int verify_found(void *arg, const struct cairn_finding *f)
{
    struct verify_first *first = arg;
    struct slice path = slice_str(f->path);
    if (first->count++ > 0) {
        return 0;
    }
    (void)err_set(&first->err, -CAIRN_ECORRUPT, "%s", f->text);
    (void)cl_about(&first->err, f->component, path, NULL);
    return 0;
}

int restore_verify(struct cairn *c, const struct cairn_record *r)
{
    struct verify_first first = { .count = 0 };
    struct cairn_verified verified = { 0 };
    unsigned long long seq = r->boundary.seq;
    char selector[32];
    (void)snprintf(selector, sizeof selector, "seq:%llu", seq);
    int rc = cairn_verify(c, selector, verify_found, &first, &verified);
    if (rc == -CAIRN_ENOENT) {
        return err_set(&c->err,
                       -CAIRN_EPRUNED,
                       "run '%s' seq %llu was removed before it was restored",
                       c->run,
                       seq);
    }
    if (rc != -CAIRN_ECORRUPT || first.count == 0) {
        return rc < 0 ? err_wrap(&c->err, rc, "verify first") : 0;
    }
    c->err = first.err;
    return err_wrap(&c->err,
                    rc,
                    "run '%s' seq %llu: nothing was restored: %llu findings (`cairn verify` lists "
                    "them), the first",
                    c->run,
                    seq,
                    (unsigned long long)verified.finding_count);
}
