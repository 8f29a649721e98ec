#include "record/rules.h"

#include "base/utf8.h"
#include "internal/ckd.h"
#include "record/finite.h"

static bool rules_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool rules_name_char(char c)
{
    return rules_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
}

static bool rules_name(struct slice name, size_t max_bytes)
{
    const char *c = name.data;
    for (size_t i = 0; i < name.bytes; i++) {
        if (!rules_name_char(c[i])) {
            return false;
        }
    }
    return name.bytes > 0 && name.bytes <= max_bytes;
}

bool run_name_ok(struct slice name)
{
    return rules_name(name, LIMIT_RUN_NAME_BYTES) &&
           rules_letter_or_digit(*(const char *)name.data);
}

bool label_name_ok(struct slice name)
{
    return rules_name(name, LIMIT_LABEL_NAME_BYTES);
}

/* Nearly all text is ASCII: take eight bytes at once while none is 0 or above 0x7F. */
static size_t rules_ascii(const uint8_t *text, size_t bytes)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t done = 0;
    while (bytes - done >= sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, text + done, sizeof word);
        if (((word | (word - ones)) & high) != 0) {
            break;
        }
        done += sizeof word;
    }
    return done;
}

bool utf8_ok(struct slice text)
{
    const uint8_t *at = text.data;
    size_t left = text.bytes;
    if (left > 0) {
        size_t ascii = rules_ascii(at, left);
        at += ascii;
        left -= ascii;
    }
    while (left > 0) {
        size_t length = *at == 0 ? 0 : utf8_length(at, left);
        if (length == 0) {
            return false;
        }
        at += length;
        left -= length;
    }
    return true;
}

static bool rules_label_repeats(const struct label *labels, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (slice_cmp(labels[i].name, labels[index].name) == 0) {
            return true;
        }
    }
    return false;
}

int rules_labels(const struct label *labels, uint32_t count, struct err *err)
{
    if (count > LIMIT_LABELS) {
        return err_set(err, -CAIRN_ELIMIT, "%u labels: at most %u", count, LIMIT_LABELS);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct label *l = &labels[i];
        if (!label_name_ok(l->name)) {
            return err_set(err,
                           -CAIRN_EINVAL,
                           "label %u: the name is 1 to %u letters, digits, '_', '.', '-'",
                           i,
                           LIMIT_LABEL_NAME_BYTES);
        }
        int name_bytes = (int)l->name.bytes;
        const char *name = l->name.data;
        if (l->value.bytes > LIMIT_LABEL_VALUE_BYTES || !utf8_ok(l->value)) {
            return err_set(err,
                           -CAIRN_EINVAL,
                           "label \"%.*s\": the value is UTF-8 without NUL, at most %u bytes",
                           name_bytes,
                           name,
                           LIMIT_LABEL_VALUE_BYTES);
        }
        if (rules_label_repeats(labels, i)) {
            return err_set(err, -CAIRN_EINVAL, "label \"%.*s\" is given twice", name_bytes, name);
        }
    }
    return 0;
}

int rules_chunk(const struct chunk *c, uint32_t index, struct err *err)
{
    if (index >= LIMIT_CHUNKS) {
        return err_set(err, -CAIRN_ELIMIT, "chunk %u: at most %u chunks", index, LIMIT_CHUNKS);
    }
    if (c->component <= COMPONENT_NONE || c->component >= COMPONENT_NR) {
        return err_set(
            err, -CAIRN_EINVAL, "chunk %u: no component %u", index, (unsigned)c->component);
    }
    if ((c->flags & ~(uint32_t)(CHUNK_TRAINABLE | CHUNK_PACKED)) != 0) {
        return err_set(err, -CAIRN_EINVAL, "chunk %u: unknown flags %#x", index, c->flags);
    }
    if (c->bytes == 0 || c->bytes > LIMIT_CHUNK_BYTES) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "chunk %u: %u bytes, expected 1 to %u",
                       index,
                       c->bytes,
                       LIMIT_CHUNK_BYTES);
    }
    return 0;
}

uint32_t rules_components_of(uint32_t kind)
{
    uint32_t bits = 1u << COMPONENT_MODEL | 1u << COMPONENT_OPTIMIZER | 1u << COMPONENT_SCHEDULER |
                    1u << COMPONENT_GRADIENTS | 1u << COMPONENT_STATE;
    if ((kind & KIND_DTYPES) != 0) {
        bits |= 1u << COMPONENT_DTYPES;
    }
    if ((kind & KIND_WEIGHTED) != 0) {
        bits |= 1u << COMPONENT_WINDOW;
    }
    if ((kind & KIND_MODEL_STATE) != 0) {
        bits |= 1u << COMPONENT_CONTRACT;
    }
    return bits;
}

/* What a later release will take, and this one must not pretend to. */
static int rules_supported(const struct boundary *b, struct err *err)
{
    if (b->world != 1 || b->rank != 0 || b->local_parts != 1) {
        return err_set(err,
                       -CAIRN_ENOTSUP,
                       "rank %u of world %u with %u local parts: only world 1 is supported",
                       b->rank,
                       b->world,
                       b->local_parts);
    }
    return 0;
}

static int rules_kind(const struct boundary *b, struct err *err)
{
    uint32_t both = KIND_DTYPES | KIND_MODEL_STATE;
    if ((b->kind & ~(uint32_t)KINDS_KNOWN) != 0) {
        return err_set(err, -CAIRN_EINVAL, "unknown kind %#x", b->kind);
    }
    if ((b->kind & both) == both) {
        return err_set(err, -CAIRN_EINVAL, "a model state has its dtypes in its contract");
    }
    return 0;
}

static int rules_exact(const struct boundary *b, struct err *err)
{
    if ((uint32_t)b->precision > PRECISION_DOUBLE) {
        return err_set(err, -CAIRN_EINVAL, "unknown precision %u", (unsigned)b->precision);
    }
    if (b->precision == PRECISION_NATIVE && !b->exact) {
        return err_set(err, -CAIRN_EINVAL, "a native record is exact");
    }
    return 0;
}

/* A byte in each chunk at least, and no entry is longer than all that is stored and what travels
 * with the metadata; tied entries count each, though they lie in one place. */
static uint64_t rules_most_payload(const struct boundary *b)
{
    uint64_t entries = b->entry_count == 0 ? 1 : b->entry_count;
    uint64_t most = 0;
    return ckd_mul_u64(b->stored_bytes + LIMIT_METADATA_BYTES, entries, &most) ? UINT64_MAX : most;
}

static int rules_sizes(const struct boundary *b, struct err *err)
{
    if (b->chunk_count > LIMIT_CHUNKS) {
        return err_set(err, -CAIRN_ELIMIT, "%u chunks: at most %u", b->chunk_count, LIMIT_CHUNKS);
    }
    if (b->entry_count > (uint64_t)LIMIT_ENTRIES * (COMPONENT_NR - 1)) {
        return err_set(err,
                       -CAIRN_ELIMIT,
                       "%llu entries: at most %u in a component",
                       (unsigned long long)b->entry_count,
                       LIMIT_ENTRIES);
    }
    uint64_t least = (uint64_t)b->chunk_count * LIMIT_PAGE_BYTES;
    uint64_t most = (uint64_t)b->chunk_count * LIMIT_CHUNK_BYTES;
    if (b->stored_bytes % LIMIT_PAGE_BYTES != 0 || b->stored_bytes < least ||
        b->stored_bytes > most) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "stored_bytes %llu cannot be those of %u chunks",
                       (unsigned long long)b->stored_bytes,
                       b->chunk_count);
    }
    if (b->payload_bytes < b->chunk_count || b->payload_bytes > rules_most_payload(b)) {
        return err_set(err,
                       -CAIRN_EINVAL,
                       "payload_bytes %llu cannot be those of %llu entries in %u chunks with %llu "
                       "stored_bytes",
                       (unsigned long long)b->payload_bytes,
                       (unsigned long long)b->entry_count,
                       b->chunk_count,
                       (unsigned long long)b->stored_bytes);
    }
    return 0;
}

int rules_begin(const struct boundary *b, struct err *err)
{
    if (b->world == 0 || b->rank >= b->world) {
        return err_set(err, -CAIRN_EINVAL, "rank %u of world %u", b->rank, b->world);
    }
    if (b->seq != 0) {
        return err_set(err, -CAIRN_EINVAL, "the daemon gives the seq, not the client");
    }
    if (b->not_finite || nonfinite_any(&b->nonfinite)) {
        return err_set(err, -CAIRN_EINVAL, "the entries say what is NaN or Inf, not BEGIN");
    }
    if (b->marks != 0 || b->pin_count != 0) {
        return err_set(err, -CAIRN_EINVAL, "marks and pins are the daemon's to tell");
    }
    if (b->trainable_bytes != 0 || b->trainable_new_bytes != 0 || b->warnings != 0) {
        return err_set(err, -CAIRN_EINVAL, "what changed is the daemon's to tell");
    }
    int rc = rules_kind(b, err);
    rc = rc < 0 ? rc : rules_supported(b, err);
    rc = rc < 0 ? rc : rules_exact(b, err);
    rc = rc < 0 ? rc : rules_sizes(b, err);
    return rc < 0 ? rc : rules_labels(b->labels, b->label_count, err);
}
