/* codec_note.c: pins and labels. */
#include "wire/codec_int.h"

int codec_pin_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Pin *m = pb;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->pin.run);
    rc = rc < 0 ? rc
                : codec_text(c, "selector", m->selector, LIMIT_SELECTOR_BYTES, &ret->pin.selector);
    rc = rc < 0 ? rc : codec_text(c, "name", m->name, LIMIT_LABEL_NAME_BYTES, &ret->pin.name);
    return rc < 0 ? rc : codec_text(c, "why", m->why, LIMIT_PIN_WHY_BYTES, &ret->pin.why);
}

void *codec_pin_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Pin *pb = codec_new(b, &cairn__pin__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->pin.run);
    pb->selector = codec_bin(msg->pin.selector);
    pb->name = codec_bin(msg->pin.name);
    pb->why = codec_bin(msg->pin.why);
    return pb;
}

int codec_unpin_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Unpin *m = pb;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->unpin.run);
    ret->unpin.why = slice_of(NULL, 0);
    rc = rc < 0
             ? rc
             : codec_text(c, "selector", m->selector, LIMIT_SELECTOR_BYTES, &ret->unpin.selector);
    return rc < 0 ? rc : codec_text(c, "name", m->name, LIMIT_LABEL_NAME_BYTES, &ret->unpin.name);
}

void *codec_unpin_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__Unpin *pb = codec_new(b, &cairn__unpin__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->unpin.run);
    pb->selector = codec_bin(msg->unpin.selector);
    pb->name = codec_bin(msg->unpin.name);
    return pb;
}

int codec_set_labels_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__SetLabels *m = pb;
    struct wire_set_labels *set = &ret->set_labels;
    int rc = codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &set->run);
    rc = rc < 0 ? rc : codec_text(c, "selector", m->selector, LIMIT_SELECTOR_BYTES, &set->selector);
    set->count = (uint32_t)m->n_labels;
    return rc < 0 ? rc : codec_labels_from(c, m->labels, m->n_labels, &set->labels);
}

void *codec_set_labels_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_set_labels *from = &msg->set_labels;
    Cairn__SetLabels *pb = codec_new(b, &cairn__set_labels__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(from->run);
    pb->selector = codec_bin(from->selector);
    pb->n_labels = from->count;
    pb->labels = codec_labels_to(b, from->labels, from->count);
    return pb->labels == NULL ? NULL : pb;
}

int codec_pin_list_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__PinList *m = pb;
    return codec_text(c, "run", m->run, CODEC_TEXT_SHORT, &ret->pin_list.run);
}

void *codec_pin_list_to(struct bump *b, const union wire_msg *msg)
{
    Cairn__PinList *pb = codec_new(b, &cairn__pin_list__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->run = codec_bin(msg->pin_list.run);
    return pb;
}

static int codec_pin_info_from(struct codec *c, const Cairn__PinInfo *pb, struct wire_pin_info *ret)
{
    ret->seq = pb->seq;
    ret->created_ns = pb->created_ns;
    ret->uid = pb->uid;
    int rc = codec_text(c, "name", pb->name, LIMIT_LABEL_NAME_BYTES, &ret->name);
    return rc < 0 ? rc : codec_text(c, "why", pb->why, LIMIT_PIN_WHY_BYTES, &ret->why);
}

int codec_pins_from(struct codec *c, const void *pb, union wire_msg *ret)
{
    const Cairn__Pins *m = pb;
    struct wire_pin_info *pins = codec_array(c, m->n_pins, sizeof *pins);
    int rc = pins != NULL ? 0 : c->bump->exhausted ? -CAIRN_ELIMIT : -CAIRN_ENOMEM;
    for (size_t i = 0; rc == 0 && i < m->n_pins; i++) {
        rc = codec_pin_info_from(c, m->pins[i], &pins[i]);
    }
    ret->pins = (struct wire_pins){ pins, (uint32_t)m->n_pins, m->more != 0 };
    return rc;
}

static Cairn__PinInfo *codec_pin_info_to(struct bump *b, const struct wire_pin_info *from)
{
    Cairn__PinInfo *pb = codec_new(b, &cairn__pin_info__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->seq = from->seq;
    pb->name = codec_bin(from->name);
    pb->why = codec_bin(from->why);
    pb->uid = from->uid;
    pb->created_ns = from->created_ns;
    return pb;
}

void *codec_pins_to(struct bump *b, const union wire_msg *msg)
{
    const struct wire_pins *from = &msg->pins;
    Cairn__Pins *pb = codec_new(b, &cairn__pins__descriptor);
    if (pb == NULL) {
        return NULL;
    }
    pb->more = from->more;
    pb->n_pins = from->count;
    pb->pins = codec_list(b, from->count);
    for (uint32_t i = 0; pb->pins != NULL && i < from->count; i++) {
        pb->pins[i] = codec_pin_info_to(b, &from->pins[i]);
        if (pb->pins[i] == NULL) {
            return NULL;
        }
    }
    return pb->pins == NULL ? NULL : pb;
}
