/* table.h: rows and columns for people, by libsmartcols. Nothing is cut, whatever the terminal. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct table;

struct table_column {
    const char *name;
    bool right; /* numbers */
};

/* Never NULL: the program ends when memory is out. */
struct table *table_new(const struct table_column *columns, size_t column_count, bool headings);
/* Begin a row; the cells that follow fill it from the left. */
void table_row(struct table *t);
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_cell_text(struct table *t, const char *text); /* of a peer: escaped */
/* Print what is there, and forget the rows (headings are not printed again). */
void table_flush(struct table *t);
struct table *table_free(struct table *t);

#endif
