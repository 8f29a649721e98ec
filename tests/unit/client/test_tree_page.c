/* PROTOCOL.md's example of a typed tree: its bytes are decoded and compared, line by line, with
 * what the page says they are; and the library makes the same bytes. */
#include <cairn/tree.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tree.h"
#include "support/case.h"

struct dump {
    char text[2048];
    size_t used;
};

static __attribute__((format(printf, 2, 3))) void dump_add(struct dump *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int bytes = vsnprintf(d->text + d->used, sizeof d->text - d->used, fmt, args);
    va_end(args);
    cr_assert(bytes >= 0 && (size_t)bytes < sizeof d->text - d->used);
    d->used += (size_t)bytes;
}

static void dump_value(struct dump *d, const struct cairn_node *n)
{
    const char *text = n->data;
    const uint8_t *byte = n->data;
    switch ((enum cairn_tree_kind)n->kind) {
    case CAIRN_TREE_TENSOR:
        dump_add(d, "tensor \"%s\"", text);
        if ((n->flags & CAIRN_HAS_ID) != 0) {
            dump_add(d, " id %" PRIu64, n->id);
        }
        break;
    case CAIRN_TREE_I64:
        dump_add(d, "i64 %" PRId64, n->value.i64);
        break;
    case CAIRN_TREE_U64:
        dump_add(d, "u64 %" PRIu64, n->value.u64);
        break;
    case CAIRN_TREE_F64:
        dump_add(d, "f64 %016" PRIx64, n->value.u64);
        break;
    case CAIRN_TREE_F32:
        dump_add(d, "f32 %08" PRIx64, n->value.u64);
        break;
    case CAIRN_TREE_BOOL:
        dump_add(d, "%s", n->value.boolean ? "true" : "false");
        break;
    case CAIRN_TREE_STRING:
        dump_add(d, "string \"%s\"", text);
        break;
    case CAIRN_TREE_BYTES:
        dump_add(d, "bytes ");
        for (uint64_t i = 0; i < n->bytes; i++) {
            dump_add(d, "%02x", byte[i]);
        }
        break;
    case CAIRN_TREE_NULL:
        dump_add(d, "null");
        break;
    case CAIRN_TREE_LIST:
        dump_add(d, "list of %" PRIu64, n->count);
        break;
    case CAIRN_TREE_MAP:
        dump_add(d, "map of %" PRIu64, n->count);
        break;
    }
}

static void dump_line(struct dump *d, const struct cairn_node *levels, size_t depth)
{
    struct tree_place place = { .bytes = 0 };
    for (size_t i = 1; i <= depth; i++) {
        tree_place_add(&place, levels[i].key, levels[i].index);
    }
    dump_add(d, "%s = ", depth == 0 ? "root" : place.text);
    dump_value(d, &levels[depth]);
    dump_add(d, "\n");
}

static void dump_tree(struct dump *d, const struct cairn_tree *t)
{
    struct cairn_node levels[8];
    size_t depth = 0;
    cr_assert_eq(cairn_tree_root(t, &levels[0]), 0);
    for (bool more = true; more;) {
        dump_line(d, levels, depth);
        cr_assert_lt(depth, 7);
        if (cairn_tree_first(&levels[depth], &levels[depth + 1]) == 0) {
            depth++;
            continue;
        }
        while (depth > 0 && cairn_tree_next(&levels[depth], &levels[depth]) < 0) {
            depth--;
        }
        more = depth > 0;
    }
}

/* ---- the page ---- */

static char *page_read(void)
{
    FILE *f = fopen(PROTOCOL_MD, "re");
    cr_assert_not_null(f, "%s", PROTOCOL_MD);
    size_t room = 1 << 20;
    char *text = malloc(room);
    cr_assert_not_null(text);
    size_t bytes = fread(text, 1, room - 1, f);
    text[bytes] = '\0';
    cr_assert_lt(bytes, room - 1);
    cr_assert_eq(fclose(f), 0);
    return text;
}

/* The block that starts behind `open`, which must be there; its end is cut off. */
static char *page_block(char **at, const char *open)
{
    char *start = strstr(*at, open);
    cr_assert_not_null(start, "no block %s", open);
    start += strlen(open);
    char *end = strstr(start, "```");
    cr_assert_not_null(end);
    *end = '\0';
    *at = end + 3;
    return start;
}

static size_t page_unhex(const char *text, uint8_t *ret, size_t room)
{
    size_t count = 0;
    unsigned byte = 0;
    int used = 0;
    while (sscanf(text, " %2x%n", &byte, &used) == 1) { // NOLINT(cert-err34-c): two digits
        cr_assert_lt(count, room);
        ret[count++] = (uint8_t)byte;
        text += used;
    }
    cr_assert_eq(strspn(text, " \n"), strlen(text), "not hex: %s", text);
    return count;
}

/* The tree of the page, as a trainer makes it. */
static struct cairn_tree *page_tree(void)
{
    const uint64_t id = 7;
    struct cairn_tree *t = cairn_tree_new();
    (void)cairn_tree_map(t, NULL);
    (void)cairn_tree_u64(t, "step", 1200);
    (void)cairn_tree_list(t, "betas");
    (void)cairn_tree_f64(t, NULL, 0.5);
    (void)cairn_tree_f64(t, NULL, -0.0);
    (void)cairn_tree_end(t);
    (void)cairn_tree_map(t, "data");
    (void)cairn_tree_str(t, "split", "train");
    (void)cairn_tree_bytes(t, "key", "\x01\xff", 2);
    (void)cairn_tree_bool(t, "shuffle", true);
    (void)cairn_tree_null(t, "limit");
    (void)cairn_tree_i64(t, "last", -1);
    (void)cairn_tree_f32(t, "noise", 1.0f);
    (void)cairn_tree_end(t);
    (void)cairn_tree_tensor(t, "ema", "w", &id);
    cr_assert_eq(cairn_tree_end(t), 0);
    return t;
}

CASE(tree_page, example_is_what_it_says)
{
    uint8_t bytes[2048];
    struct tree_fault fault = { .rc = 0 };
    struct dump d = { .used = 0 };
    char *page = page_read();
    char *at = strstr(page, "\n### Typed trees\n");
    cr_assert_not_null(at);
    size_t count = page_unhex(page_block(&at, "```tree-hex\n"), bytes, sizeof bytes);
    const char *says = page_block(&at, "```tree-text\n");
    cr_assert_eq(tree_check(slice_of(bytes, count), NULL, NULL, &fault), 0, "%s", fault.what);
    struct cairn_tree got = { .blob = bytes, .bytes = count, .loaded = true };
    dump_tree(&d, &got);
    cr_assert_str_eq(d.text, says);
    struct cairn_tree *t = page_tree();
    cr_assert_eq(slice_cmp(slice_of(t->blob, t->bytes), slice_of(bytes, count)), 0);
    (void)cairn_tree_free(t);
    free(page);
}
