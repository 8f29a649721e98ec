/* about.c: which component and entry a failure is about, in words. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/handle.h"

/* "model: ...", "component model ...", "chunk 3 (model)", "entries of model": as a word, and not as
 * in "no parameter of the model", which tells of no component. */
static bool about_has_component(const char *text, const char *name)
{
    static const char *const fronts[] = { "component ", "(", " of " };
    size_t bytes = strlen(name);
    for (const char *at = strstr(text, name); at != NULL; at = strstr(at + 1, name)) {
        size_t before = (size_t)(at - text);
        bool named = before == 0;
        for (size_t i = 0; !named && i < sizeof fronts / sizeof fronts[0]; i++) {
            size_t front = strlen(fronts[i]);
            named = before >= front && strncmp(at - front, fronts[i], front) == 0;
        }
        if (named && isalnum((unsigned char)at[bytes]) == 0) {
            return true;
        }
    }
    return false;
}

static bool about_has_path(const char *text, const char *shown)
{
    char quoted[CL_SHOWN_BYTES + 3];
    (void)snprintf(quoted, sizeof quoted, "'%s'", shown);
    return strstr(text, quoted) != NULL;
}

int cl_about(struct err *err, uint32_t component, struct slice path, const uint64_t *id)
{
    char shown[CL_SHOWN_BYTES + 1];
    char entry[CL_SHOWN_BYTES + 40] = "";
    (void)err_at(err, component, path.data, path.bytes);
    (void)snprintf(shown, sizeof shown, "%.*s", CL_SHOWN_BYTES, err->path);
    bool names_component = component == COMPONENT_NONE || component >= COMPONENT_NR ||
                           about_has_component(err->msg, component_name(component));
    bool names_path = shown[0] == '\0' || about_has_path(err->msg, shown);
    if (!names_path && id != NULL) {
        (void)snprintf(entry, sizeof entry, "'%s' (id %" PRIu64 ")", shown, *id);
    } else if (!names_path) {
        (void)snprintf(entry, sizeof entry, "'%s'", shown);
    }
    if (names_component && names_path) {
        return err->code;
    }
    return err_wrap(err,
                    err->code,
                    "%s%s%s",
                    names_component ? "entry" : component_name(component),
                    names_path ? "" : " ",
                    entry);
}

int cl_about_entry(struct err *err, uint32_t component, const struct entry *e)
{
    return cl_about(err, component, e->path, (e->flags & ENTRY_HAS_ID) != 0 ? &e->id : NULL);
}

int cl_during(struct err *err, int rc, const char *what, uint32_t component)
{
    const char *name = component_name(component);
    return about_has_component(err->msg, name) ? err_wrap(err, rc, "%s", what)
                                               : err_wrap(err, rc, "%s %s", what, name);
}
