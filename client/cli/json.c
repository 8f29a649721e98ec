#include "json.h"

#include <stdlib.h>
#include <unistd.h>

#include "output.h"

static void json_need(bool ok)
{
    if (!ok) {
        static const char message[] = "cairn: out of memory\n";
        (void)!write(STDERR_FILENO, message, sizeof message - 1);
        _exit(OUT_FAILURE);
    }
}

json_t *json_u64(uint64_t value)
{
    if (value <= INT64_MAX) {
        return json_integer((json_int_t)value);
    }
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    return json_string(digits);
}

json_t *json_text(const char *text)
{
    json_t *value = json_string(text);
    if (value == NULL) {
        char *safe = out_escape(text);
        value = json_string(safe);
        free(safe);
    }
    return value;
}

void json_set(json_t *object, const char *name, json_t *value)
{
    json_need(value != NULL && json_object_set_new(object, name, value) == 0);
}

void json_add(json_t *array, json_t *value)
{
    json_need(value != NULL && json_array_append_new(array, value) == 0);
}

/* A full disk or a closed pipe shows in ferror(stdout), which main asks at the end. */
static void json_write(const json_t *value, size_t flags)
{
    json_need(value != NULL && (json_dumpf(value, stdout, flags) == 0 || ferror(stdout) != 0));
}

void json_out(json_t *document)
{
    json_write(document, JSON_INDENT(2));
    (void)fputc('\n', stdout);
    json_decref(document);
}

void json_out_line(json_t *document)
{
    json_write(document, JSON_REAL_PRECISION(15)); /* 1.15, not 1.1499999999999999 */
    (void)fputc('\n', stdout);
    json_decref(document);
}

void json_out_member(const char *before, const char *name, json_t *value)
{
    (void)printf("%s\n\"%s\": ", before, name);
    json_write(value, JSON_ENCODE_ANY);
    json_decref(value);
}

void json_out_element(json_t *value, bool first)
{
    (void)fputs(first ? "\n" : ",\n", stdout);
    json_write(value, 0);
    json_decref(value);
}

json_t *json_error(int rc, const char *doing, const char *why)
{
    json_t *error = json_object();
    json_set(error, "code", json_text(cairn_error_name(rc)));
    json_set(error, "number", json_u64((uint64_t)-rc));
    json_set(error, "doing", json_text(doing));
    json_set(error, "text", json_text(why));
    return error;
}

void json_out_error(int rc, const char *doing, const char *why)
{
    json_t *document = json_object();
    json_set(document, "error", json_error(rc, doing, why));
    json_out(document);
}

json_t *json_boundary(const struct cairn_boundary *b)
{
    struct out_buf buf;
    json_t *object = json_object();
    json_set(object, "seq", json_u64(b->seq));
    json_set(object, "step", json_u64(b->step));
    json_set(object, "parent_seq", json_u64(b->parent_seq));
    json_set(object, "kind", json_text(out_kind_name(&buf, b->kind)));
    json_set(object, "precision", json_text(out_precision_name(b->precision)));
    json_set(object, "exact", json_boolean(b->exact));
    json_set(object, "created_ns", json_u64(b->created_ns));
    json_set(object, "created", json_text(out_time(&buf, b->created_ns)));
    json_set(object, "entries", json_u64(b->entry_count));
    json_set(object, "bytes", json_u64(b->payload_bytes));
    json_set(object, "bytes_new", json_u64(b->bytes_new));
    json_set(object, "bytes_shared", json_u64(b->bytes_shared));
    json_set(object, "nan", json_u64(b->nan_count));
    json_set(object, "inf", json_u64(b->inf_count));
    json_set(object, "finite", json_boolean(b->finite));
    json_set(object, "warnings", json_u64(b->warnings));
    json_set(object, "trainable_bytes", json_u64(b->trainable_bytes));
    json_set(object, "trainable_new_bytes", json_u64(b->trainable_new_bytes));
    json_set(object, "abandoned", json_boolean(b->abandoned));
    json_set(object, "rotten", json_boolean(b->rotten));
    json_set(object, "pins", json_u64(b->pin_count));
    json_set(object, "save_id", json_text(out_hex(&buf, b->save_id, sizeof b->save_id)));
    json_set(object, "root", json_text(out_hex(&buf, b->root, sizeof b->root)));
    return object;
}
