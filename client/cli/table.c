#include "table.h"

#include <libsmartcols.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "output.h"

struct table {
    struct libscols_table *scols;
    struct libscols_line *line;
    size_t cell, column_count, row_count;
};

static void table_need(bool ok)
{
    if (!ok) {
        static const char message[] = "cairn: cannot make a table: out of memory\n";
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
        _exit(OUT_FAILURE);
    }
}

struct table *table_new(const struct table_column *columns, size_t column_count, bool headings)
{
    struct table *t = calloc(1, sizeof *t);
    table_need(t != NULL);
    t->scols = scols_new_table();
    table_need(t->scols != NULL);
    t->column_count = column_count;
    /* Without this a narrow terminal would cut ids. */
    (void)scols_table_set_termforce(t->scols, SCOLS_TERMFORCE_NEVER);
    (void)scols_table_enable_noheadings(t->scols, headings ? 0 : 1);
    for (size_t i = 0; i < column_count; i++) {
        int flags = columns[i].right ? SCOLS_FL_RIGHT : 0;
        struct libscols_column *column =
            scols_table_new_column(t->scols, columns[i].name, 0, flags);
        table_need(column != NULL);
        /* Cells are safe already: their "\\x1b" is not to be escaped once more. */
        (void)scols_column_set_safechars(column, "\\");
    }
    return t;
}

void table_row(struct table *t)
{
    t->line = scols_table_new_line(t->scols, NULL);
    table_need(t->line != NULL);
    t->cell = 0;
    t->row_count++;
}

/* Takes text. */
static void table_put(struct table *t, char *text)
{
    table_need(scols_line_refer_data(t->line, t->cell, text) == 0);
    t->cell++;
}

void table_cell(struct table *t, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int length = vasprintf(&text, fmt, args);
    va_end(args);
    table_need(length >= 0);
    table_put(t, text);
}

void table_cell_text(struct table *t, const char *text)
{
    table_put(t, out_escape(text));
}

void table_flush(struct table *t)
{
    if (t->row_count == 0) {
        return;
    }
    table_need(scols_print_table(t->scols) == 0);
    scols_table_remove_lines(t->scols);
    (void)scols_table_enable_noheadings(t->scols, 1);
    t->row_count = 0;
}

struct table *table_free(struct table *t)
{
    if (t != NULL) {
        scols_unref_table(t->scols);
        free(t);
    }
    return NULL;
}
