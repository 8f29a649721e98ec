/* note.c: pins and labels. None of it is sent twice by itself: a relative selector may name another
 * boundary then. */
#include <cairn/keep.h>
#include <stdlib.h>

#include "lib/call.h"
#include "lib/labels.h"
#include "lib/rec.h"
#include "record/rules.h"
#include "record/selector.h"

#define NOTE_BUMP_BYTES (1u << 20) /* far more than 64 labels take */

/* Ready to ask about the boundary that the selector names. */
static int note_enter(struct cairn *c, const char *selector)
{
    struct selector parsed;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (selector == NULL) {
        return cl_invalid(c, "a selector is needed");
    }
    return selector_parse(slice_str(selector), &parsed, &c->err);
}

static int
note_ask(struct cairn *c, uint32_t type, const union wire_msg *msg, struct cairn_boundary *ret)
{
    union wire_msg answer;
    int rc = cl_ready(c);
    rc = rc < 0 ? rc : cl_ask_once(c, type, msg, WIRE_DESCRIBED, &answer);
    if (rc == 0 && ret != NULL) {
        rec_public(&answer.described.boundary, ret);
    }
    return rc;
}

static int note_check_name(struct cairn *c, const char *name)
{
    return name != NULL && label_name_ok(slice_str(name))
               ? 0
               : cl_invalid(c, "a pin's name is 1 to 64 letters, digits, '.', '_' or '-'");
}

int cairn_pin(struct cairn *c,
              const char *selector,
              const char *name,
              const char *why,
              struct cairn_boundary *ret)
{
    int rc = note_enter(c, selector);
    rc = rc < 0 ? rc : note_check_name(c, name);
    if (rc == 0 && why != NULL && strlen(why) > LIMIT_PIN_WHY_BYTES) {
        rc = cl_invalid(c, "why it is pinned is told in at most 255 bytes");
    }
    if (rc < 0) {
        return rc;
    }
    const union wire_msg msg = { .pin = { .run = slice_str(c->run),
                                          .selector = slice_str(selector),
                                          .name = slice_str(name),
                                          .why = slice_str(why == NULL ? "" : why) } };
    return note_ask(c, WIRE_PIN, &msg, ret);
}

int cairn_unpin(struct cairn *c, const char *selector, const char *name, struct cairn_boundary *ret)
{
    int rc = note_enter(c, selector);
    rc = rc < 0 ? rc : note_check_name(c, name);
    if (rc < 0) {
        return rc;
    }
    const union wire_msg msg = { .unpin = { .run = slice_str(c->run),
                                            .selector = slice_str(selector),
                                            .name = slice_str(name) } };
    return note_ask(c, WIRE_UNPIN, &msg, ret);
}

int cairn_label(struct cairn *c,
                const char *selector,
                const char *const *labels,
                struct cairn_boundary *ret)
{
    struct bump bump;
    union wire_msg msg = { .set_labels = { .count = 0 } };
    struct wire_set_labels *set = &msg.set_labels;
    int rc = note_enter(c, selector);
    if (rc < 0) {
        return rc;
    }
    bump_init(&bump, NOTE_BUMP_BYTES);
    rc = labels_take(c, &bump, labels, &set->labels, &set->count);
    rc = rc < 0 ? rc : rules_labels(set->labels, set->count, &c->err);
    if (rc == 0) {
        set->run = slice_str(c->run);
        set->selector = slice_str(selector);
        rc = note_ask(c, WIRE_LABEL, &msg, ret);
    }
    bump_fini(&bump);
    return rc;
}

/* ---- all pins of a run ----------------------------------------------------------------------- */

/* The answer is copied before anybody is called: a callback may use the handle. */
struct note_pin {
    struct cairn_pin_info info;
    char name[LIMIT_LABEL_NAME_BYTES + 1], why[LIMIT_PIN_WHY_BYTES + 1];
};

static void note_text(char *ret, struct slice text)
{
    memcpy(ret, text.bytes == 0 ? "" : text.data, text.bytes);
    ret[text.bytes] = '\0';
}

static struct note_pin *note_pins_copy(const struct wire_pins *from)
{
    struct note_pin *pins = calloc(from->count + (size_t)1, sizeof *pins);
    for (uint32_t i = 0; pins != NULL && i < from->count; i++) {
        const struct wire_pin_info *pin = &from->pins[i];
        note_text(pins[i].name, pin->name);
        note_text(pins[i].why, pin->why);
        pins[i].info = (struct cairn_pin_info){ .seq = pin->seq,
                                                .created_ns = pin->created_ns,
                                                .uid = pin->uid,
                                                .name = pins[i].name,
                                                .why = pins[i].why };
    }
    return pins;
}

int cairn_pins(struct cairn *c, int (*each)(void *arg, const struct cairn_pin_info *pin), void *arg)
{
    union wire_msg answer;
    int rc = cl_enter_run(c, 0);
    if (rc < 0) {
        return rc;
    }
    if (each == NULL) {
        return cl_invalid(c, "a list of pins needs a function to call");
    }
    const union wire_msg msg = { .pin_list = { .run = slice_str(c->run) } };
    rc = cl_ask(c, WIRE_PIN_LIST, &msg, WIRE_PINS, &answer);
    if (rc < 0) {
        return rc;
    }
    const uint32_t count = answer.pins.count;
    const bool more = answer.pins.more;
    struct note_pin *pins = note_pins_copy(&answer.pins);
    if (pins == NULL) {
        return err_set(&c->err, -CAIRN_ENOMEM, "no memory for %u pins", count);
    }
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = each(arg, &pins[i].info);
    }
    free(pins);
    return rc == 0 && more ? err_set(&c->err, -CAIRN_ELIMIT, "there are more than %u pins", count)
                           : rc;
}
