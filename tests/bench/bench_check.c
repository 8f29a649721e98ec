/* bench_check: is what `cairn bench --json` printed (on stdin) right? Takes every median, ratio and
 * verdict again from the lists of runs, and knows the rows, goals and bytes by itself.
 *
 *   bench_check MIB ROUNDS    prints the best raw write in seconds; exits 1 when something is wrong
 *
 * Times are not judged: machines differ, and so do their neighbours. */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_ROUNDS_MAX = 99 };

static const struct check_row {
    const char *name;
    double goal;
    double mib;           /* 0: as many as were asked for */
    double floor_per_mib; /* seconds, where the floor is a number; 0: it is measured */
} check_rows[] = {
    { "capture", 1.25, 0, 0 },
    { "capture_2", 1.25, 0, 0 },
    { "save", 1.15, 0, 0 },
    { "steady", 1.0, 0, 0 },
    { "frozen", 0.3, 0, 0 },
    { "load", 1.25, 0, 0 },
    { "small", 1.0, 100000.0 / 1024, 1024.0 / 300000 },
    { "daemon_cpu", 1.0, 0, 0.25 / 1024 },
    { "restore_resident", 1.5, 0, 0 },
    { "restore_resident_all", 2.3, 0, 0 },
};
enum { CHECK_ROWS = sizeof check_rows / sizeof check_rows[0] };

static bool check_say(bool ok, const char *row, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "bench_check: %s: %s\n", row, what);
    }
    return ok;
}

static bool check_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ---- lists of runs ---- */

static int check_order(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorted into ret. False when it is no list of that many times. */
static bool check_list(const json_t *list, size_t rounds, double ret[static CHECK_ROUNDS_MAX])
{
    bool ok = json_array_size(list) == rounds;
    for (size_t i = 0; ok && i < rounds; i++) {
        ret[i] = json_number_value(json_array_get(list, i));
        ok = isfinite(ret[i]) && ret[i] > 0;
    }
    if (ok) {
        qsort(ret, rounds, sizeof *ret, check_order);
    }
    return ok;
}

static double check_median(const double *sorted, size_t count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* ---- rows ---- */

static bool check_figures(const json_t *o, const struct check_row *row, double mib, size_t rounds)
{
    double runs[CHECK_ROUNDS_MAX];
    double floors[CHECK_ROUNDS_MAX];
    double ratio = json_number_value(json_object_get(o, "ratio"));
    double goal = json_number_value(json_object_get(o, "goal"));
    const json_t *met = json_object_get(o, "met");
    if (!check_say(check_list(json_object_get(o, "seconds"), rounds, runs) &&
                       check_list(json_object_get(o, "floor_seconds"), rounds, floors),
                   row->name,
                   "a list does not hold a time for each round")) {
        return false;
    }
    double again = check_median(runs, rounds) / check_median(floors, rounds);
    double bytes = mib * 1024 * 1024;
    bool fixed = row->floor_per_mib > 0;
    return check_say(check_near(ratio, again), row->name, "another ratio than its lists give") &&
           check_say(check_near(goal, row->goal), row->name, "another goal") &&
           check_say(json_is_boolean(met) && json_is_true(met) == (ratio <= goal),
                     row->name,
                     "met is not whether the ratio is at most the goal") &&
           check_say(check_near(json_number_value(json_object_get(o, "bytes")), bytes),
                     row->name,
                     "other bytes") &&
           check_say(!fixed || (check_near(floors[0], row->floor_per_mib * mib) &&
                                check_near(floors[rounds - 1], floors[0])),
                     row->name,
                     "another floor than the goal says");
}

/* Nine tenths of it are frozen: of the rest no chunk is whole. */
static bool check_frozen(const json_t *o, const char *name, double mib)
{
    double written = json_number_value(json_object_get(o, "bytes_new")) / (1024 * 1024);
    return strcmp(name, "frozen") != 0 ||
           check_say(written > mib / 20 && written < mib / 10 + 3 * 8, name, "other bytes are new");
}

static bool check_row(const json_t *o, double mib, size_t rounds, size_t seen[static CHECK_ROWS])
{
    const char *name = json_string_value(json_object_get(o, "row"));
    for (size_t i = 0; name != NULL && i < CHECK_ROWS; i++) {
        if (strcmp(name, check_rows[i].name) == 0) {
            seen[i]++;
            return check_frozen(o, name, mib) &&
                   check_figures(
                       o, &check_rows[i], check_rows[i].mib > 0 ? check_rows[i].mib : mib, rounds);
        }
    }
    return check_say(false, name == NULL ? "?" : name, "no such row");
}

/* For a comparison with the same floor, measured by others. */
static void check_print_floor(const json_t *o, size_t rounds)
{
    double floors[CHECK_ROUNDS_MAX];
    const char *name = json_string_value(json_object_get(o, "row"));
    if (name != NULL && strcmp(name, "save") == 0 &&
        check_list(json_object_get(o, "floor_seconds"), rounds, floors)) {
        (void)printf("%.6f\n", floors[0]);
    }
}

/* One object a line, and nothing else. */
static bool check_line(const char *line, double mib, size_t rounds, size_t seen[static CHECK_ROWS])
{
    json_error_t error;
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    bool ok = check_say(json_is_object(o), "a line", "is no JSON object") &&
              check_row(o, mib, rounds, seen);
    if (ok) {
        check_print_floor(o, rounds);
    }
    json_decref(o);
    return ok;
}

int main(int argc, char **argv)
{
    size_t seen[CHECK_ROWS] = { 0 };
    char *line = NULL;
    size_t room = 0;
    double mib = argc == 3 ? strtod(argv[1], NULL) : 0;
    size_t rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (mib <= 0 || rounds == 0 || rounds > CHECK_ROUNDS_MAX) {
        (void)fprintf(stderr, "usage: bench_check MIB ROUNDS\n");
        return 2;
    }
    bool ok = true;
    while (getline(&line, &room, stdin) > 0) {
        ok = check_line(line, mib, rounds, seen) && ok;
    }
    free(line);
    for (size_t i = 0; i < CHECK_ROWS; i++) {
        ok = check_say(seen[i] == 1, check_rows[i].name, "is not there once") && ok;
    }
    return ok ? 0 : 1;
}
