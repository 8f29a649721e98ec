/* bench_report.c: medians, ratios and goals, as a table and as JSON. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "json.h"
#include "output.h"
#include "table.h"

#define REPORT_NOISE 1.5 /* slowest over fastest of a floor, from which on it is said */

static const struct report_row {
    const char *name, *what, *against;
    double goal; /* of median over median */
    bool disk;   /* the floor is the disk's */
} report_rows[] = {
    [BENCH_CAPTURE] = { "capture",
                        "trainer stopped for a capture",
                        "memcpy, 1 thread",
                        1.25,
                        false },
    [BENCH_CAPTURE_2] = { "capture_2",
                          "the same, with 2 threads",
                          "memcpy, 2 threads",
                          1.25,
                          false },
    [BENCH_SAVE] = { "save", "capture to durable, a fresh file", "raw write", 1.15, true },
    [BENCH_STEADY] = { "steady", "the same, into what a removed one left", "raw write", 1.0, true },
    [BENCH_FROZEN] = { "frozen",
                       "capture to durable, 90 % of it frozen",
                       "a full save",
                       0.3,
                       false },
    [BENCH_LOAD] = { "load", "load and restore, cold", "raw read", 1.25, true },
    [BENCH_SMALL] = { "small",
                      "100000 tensors of 1 KiB to durable",
                      "300000 entries/s",
                      1.0,
                      false },
    [BENCH_DAEMON_CPU] = { "daemon_cpu",
                           "CPU time of cairnd for a save",
                           "0.25 s/GiB",
                           1.0,
                           false },
    [BENCH_RESIDENT] = { "restore_resident",
                         "restore after a restart, from memory",
                         "memcpy, 1 thread",
                         1.5,
                         false },
    [BENCH_RESIDENT_ALL] = { "restore_resident_all",
                             "the same, with its load",
                             "memcpy, 1 thread",
                             2.3,
                             false },
};
_Static_assert(sizeof report_rows / sizeof report_rows[0] == BENCH_ROWS, "a text for every row");

/* ---- sums ---- */

static int report_order(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

struct report_sum {
    double least, median, most;
};

static struct report_sum report_sum(const double *values, unsigned count)
{
    double sorted[BENCH_ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, report_order);
    unsigned half = count / 2;
    double median = count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    return (struct report_sum){ sorted[0], median, sorted[count - 1] };
}

static double report_ratio(const struct bench_figures *f, enum bench_row row)
{
    return report_sum(f->seconds[row], f->rounds).median /
           report_sum(f->floor_seconds[row], f->rounds).median;
}

/* ---- JSON ---- */

static json_t *report_list(const double *values, unsigned count)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < count; i++) {
        json_add(list, json_real(values[i]));
    }
    return list;
}

static void report_json(const struct bench_figures *f, enum bench_row row)
{
    const struct report_row *r = &report_rows[row];
    double ratio = report_ratio(f, row);
    json_t *o = json_object();
    json_set(o, "row", json_text(r->name));
    json_set(o, "bytes", json_u64(f->bytes[row]));
    json_set(o, "seconds", report_list(f->seconds[row], f->rounds));
    json_set(o, "floor", json_text(r->against));
    json_set(o, "floor_seconds", report_list(f->floor_seconds[row], f->rounds));
    if (r->disk) {
        json_set(o, "floor_io", json_text(f->buffered ? "buffered" : "direct"));
    }
    if (row == BENCH_FROZEN) {
        json_set(o, "bytes_new", json_u64(f->frozen_new_bytes));
    }
    json_set(o, "ratio", json_real(ratio));
    json_set(o, "goal", json_real(r->goal));
    json_set(o, "met", json_boolean(ratio <= r->goal));
    json_out_line(o);
}

/* ---- the table ---- */

static void report_cells(struct table *t, const struct bench_figures *f, enum bench_row row)
{
    const struct report_row *r = &report_rows[row];
    double ratio = report_ratio(f, row);
    table_row(t);
    table_cell_text(t, r->name);
    table_cell_text(t, r->what);
    table_cell(t, "%.3f", report_sum(f->seconds[row], f->rounds).median);
    table_cell(t, "%s%s", r->against, r->disk && f->buffered ? " (buffered)" : "");
    table_cell(t, "%.3f", report_sum(f->floor_seconds[row], f->rounds).median);
    table_cell(t, "%.2f", ratio);
    table_cell(t, "%.2f", r->goal);
    table_cell_text(t, ratio <= r->goal ? "yes" : "no");
}

static void report_table(const struct bench_figures *f, bool headings)
{
    static const struct table_column columns[] = {
        { "ROW", false },    { "WHAT", false }, { "SECONDS", true }, { "FLOOR", false },
        { "SECONDS", true }, { "RATIO", true }, { "GOAL", true },    { "MET", false },
    };
    struct table *t = table_new(columns, sizeof columns / sizeof columns[0], headings);
    for (enum bench_row row = 0; row < BENCH_ROWS; row++) {
        report_cells(t, f, row);
    }
    table_flush(t);
    (void)table_free(t);
}

/* What a reader must know before believing a ratio. */
static void report_notes(const struct bench_figures *f)
{
    struct out_buf b;
    (void)printf(
        "\nMedians of %u round%s with a state of %s. Met: the ratio is at most the goal.\n",
        f->rounds,
        f->rounds == 1 ? "" : "s",
        out_size(&b, f->bytes[BENCH_SAVE]));
    (void)printf("Of the state with frozen parameters %s were written, %.2f of it (goal 0.15).\n",
                 out_size(&b, f->frozen_new_bytes),
                 (double)f->frozen_new_bytes / (double)f->bytes[BENCH_FROZEN]);
    if (f->buffered) {
        (void)fputs("Without O_DIRECT (", stdout);
        out_text(stdout, f->buffered_why);
        (void)puts("):\nraw write and raw read went through the page cache, and say "
                   "less about the disk.");
    }
    for (enum bench_row row = 0; row < BENCH_ROWS; row++) {
        struct report_sum sum = report_sum(f->floor_seconds[row], f->rounds);
        if (sum.most > REPORT_NOISE * sum.least) {
            (void)printf(
                "%s took between %.3f and %.3f s: something else was at work, the ratio of "
                "'%s' says little.\n",
                report_rows[row].against,
                sum.least,
                sum.most,
                report_rows[row].name);
        }
    }
}

void bench_report(const struct bench_options *o, const struct bench_figures *f)
{
    if (o->json) {
        for (enum bench_row row = 0; row < BENCH_ROWS; row++) {
            report_json(f, row);
        }
        return;
    }
    report_table(f, !o->quiet);
    if (!o->quiet) {
        report_notes(f);
    }
}
