/* An index whose tree is damaged, not just its rows: walks end, and say so. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lmdb.h>

#include "raw.h"

/* LMDB as newer releases are: a wrong page under a cursor is an error, again at each step. */
static bool step_is_damaged;
int real_cursor_get(MDB_cursor *c,
                    MDB_val *key,
                    MDB_val *data,
                    MDB_cursor_op op) __asm__("__real_mdb_cursor_get");
int wrap_cursor_get(MDB_cursor *c,
                    MDB_val *key,
                    MDB_val *data,
                    MDB_cursor_op op) __asm__("__wrap_mdb_cursor_get");
int wrap_cursor_get(MDB_cursor *c, MDB_val *key, MDB_val *data, MDB_cursor_op op)
{
    return step_is_damaged && op == MDB_NEXT ? MDB_CORRUPTED : real_cursor_get(c, key, data, op);
}

static void plant(struct fix *f)
{
    struct err err = { .code = 0 };
    struct rec *r = rec_small(100, 1);
    fix_open(f);
    cr_assert_eq(rec_save(r, f->run, &err), 0, "%s", err.msg);
    fix_close(f);
    (void)rec_free(r);
}

/* ---- LMDB says so ---------------------------------------------------------------------------- */

struct told {
    unsigned count, stuck;
};

static int tell(void *arg, const char *where, const char *text)
{
    struct told *told = arg;
    told->stuck += strstr(text, "MDB_CORRUPTED") != NULL;
    (void)where;
    return ++told->count < 1000 ? 0 : -CAIRN_ECANCELED;
}

CASE(tree, a_walk_that_cannot_step_ends_with_a_finding)
{
    struct fix f;
    struct told told = { .count = 0 };
    struct err err = { .code = 0 };
    struct wire_verified verified;
    plant(&f);
    step_is_damaged = true;
    cr_assert_eq(st_fsck(f.dir, tell, &told, &verified, &err), 0, "%u findings", told.count);
    step_is_damaged = false;
    cr_assert_gt(told.stuck, 1); /* each of the databases that has rows */
    cr_assert_eq(verified.finding_count, told.count);
    fix_fsck_clean(&f);
    fix_remove(&f);
}

/* ---- pages ----------------------------------------------------------------------------------- */

enum { PAGE_BYTES = 4096, PAGE_FLAGS = 10, PAGE_LOWER = 12, PAGE_HEAD = 16, PAGE_BRANCH = 1 };
enum { STEPS = 500 }; /* more rows than a page holds: the only tree with branches */

static uint16_t get16(const uint8_t *at)
{
    uint16_t value = 0;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The nth node of a branch page begins with the low half of its child's number. */
static uint8_t *child(uint8_t *page, unsigned nth)
{
    return page + get16(page + PAGE_HEAD + (size_t)2 * nth);
}

typedef void damage_fn(uint8_t *page);

static void lead_nowhere(uint8_t *page)
{
    memset(child(page, 2), 0xff, 4);
}

static void lead_back(uint8_t *page)
{
    memcpy(child(page, 2), child(page, 0), 4);
}

/* Whatever version of the tree a branch page belongs to. */
static unsigned damage_branches(const char *path, damage_fn *damage)
{
    uint8_t page[PAGE_BYTES];
    struct stat st;
    unsigned count = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    cr_assert_geq(fd, 0, "%s", path);
    cr_assert_eq(fstat(fd, &st), 0);
    for (off_t at = (off_t)2 * PAGE_BYTES; at < st.st_size; at += PAGE_BYTES) {
        cr_assert_eq(pread(fd, page, sizeof page, at), PAGE_BYTES);
        if (get16(page + PAGE_FLAGS) == PAGE_BRANCH && get16(page + PAGE_LOWER) >= PAGE_HEAD + 6) {
            damage(page);
            cr_assert_eq(pwrite(fd, page, sizeof page, at), PAGE_BYTES);
            count++;
        }
    }
    (void)close(fd);
    return count;
}

static void plant_damaged(struct fix *f, damage_fn *damage)
{
    char path[1024];
    plant(f);
    raw_put_steps(f, STEPS);
    fix_path(f, "index/data.mdb", path);
    cr_assert_gt(damage_branches(path, damage), 0);
}

CASE(tree, a_page_that_is_not_there_does_not_end_the_check)
{
    struct fix f;
    plant_damaged(&f, lead_nowhere);
    fix_fsck_finds(&f, "walk the rows of step: MDB_PAGE_NOTFOUND");
    fix_remove(&f);
}

CASE(tree, a_page_that_comes_twice_is_found)
{
    struct fix f;
    plant_damaged(&f, lead_back);
    fix_fsck_finds(&f, "the rows of step are not in order");
    fix_remove(&f);
}
