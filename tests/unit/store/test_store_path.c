/* The path of a boundary: in, onto the disk, and back, bit for bit. */
#include "fixture.h"

#include <cairn/record.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void save_and_compare(struct fix *f, struct rec *r)
{
    struct err err = { .code = 0 };
    cr_assert_eq(rec_save(r, f->run, &err), 0, "%s", err.msg);
    rec_compare(r, f->run, r->b.seq);
}

CASE(path, small_record_comes_back)
{
    struct fix f;
    struct rec *r = rec_small(100, 1);
    fix_open(&f);
    save_and_compare(&f, r);
    cr_assert_eq(r->b.seq, 1);
    cr_assert_eq(r->b.parent_seq, 0);
    cr_assert_gt(r->b.created_ns, 0);
    fix_reopen(&f);
    rec_compare(r, f.run, 1);
    fix_close(&f);
    fix_fsck_clean(&f);
    r = rec_free(r);
    fix_remove(&f);
}
