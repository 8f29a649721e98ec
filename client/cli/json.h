/* json.h: the objects behind --json. Names and meanings are stable: fields are added, never
 * changed.
 *
 * Whole numbers are JSON integers; one above 2^63-1, which few readers can hold, is a string of
 * digits. The id of a parameter, which may be any 64 bits, is always a string of decimal digits, as
 * in every message. Save ids and digests are strings of hex. Times are *_ns since 1970 and RFC 3339
 * beside it. Text that is no UTF-8 arrives escaped as for a terminal. Building never fails: without
 * memory the program ends. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <cairn/record.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

json_t *json_u64(uint64_t value);
json_t *json_text(const char *text);
/* object[name] = value; takes value. */
void json_set(json_t *object, const char *name, json_t *value);
void json_add(json_t *array, json_t *value);

/* One document on stdout; takes it. */
void json_out(json_t *document);
/* One document of several, on a line of its own; takes it. */
void json_out_line(json_t *document);
/* A document written piece by piece: one member of its object, after "{" or ",". Takes value. */
void json_out_member(const char *before, const char *name, json_t *value);
/* One element of an array, on a line of its own. Takes value. */
void json_out_element(json_t *value, bool first);
/* {"code": "CAIRN_ENOENT", "number": 2, "text": "...", "doing": "..."} */
json_t *json_error(int rc, const char *doing, const char *why);
/* {"error": {"code": "CAIRN_ENOENT", "number": 2, "text": "...", "doing": "..."}} */
void json_out_error(int rc, const char *doing, const char *why);

/* The facts of a boundary, without labels. */
json_t *json_boundary(const struct cairn_boundary *b);

#endif
