/* show_entries.h: the entries of a loaded boundary, filtered by COMPONENT/PATH, one by one: a
 * boundary may have millions of them. */
#ifndef CLI_SHOW_ENTRIES_H
#define CLI_SHOW_ENTRIES_H

#include <cairn/record.h>
#include <stdbool.h>
#include <stdint.h>

/* Entries whose "component/path" begins with pattern or matches it as a glob (NULL: all), as a
 * table on stdout. Returns 0 or what the library said. */
int show_entries_table(const struct cairn_record *r,
                       const char *pattern,
                       bool headings,
                       uint64_t *ret_count);
/* The same as the elements of a JSON array, without its brackets, an object a line. */
int show_entries_json(const struct cairn_record *r, const char *pattern, uint64_t *ret_count);

#endif
