#include "lib/odd.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/describe.h"
#include "lib/members.h"

/* Tell, or refuse with the same words. */
static int
odd_end(const struct cairn_trainer *t, bool strict, const struct err *odd, struct err *err)
{
    if (strict) {
        *err = *odd;
        return odd->code;
    }
    if (t->warn != NULL) {
        t->warn(t->warn_arg, odd->msg);
    }
    return 0;
}

void odd_memory(const struct cairn_record *r, const char *why, const struct cairn_trainer *t)
{
    struct err odd = { 0 };
    (void)err_set(
        &odd,
        -CAIRN_ECORRUPT,
        "run '%s' seq %llu: from some chunk on it was read from the disk, not from memory: "
        "%s",
        r->c->run,
        (unsigned long long)r->boundary.seq,
        why);
    (void)odd_end(t, false, &odd, NULL);
}

/* ---- configuration ---- */

#define ODD_CONFIG_BYTES 16
#define ODD_HEX_BYTES (2 * ODD_CONFIG_BYTES + 1)

static void odd_hex(const uint8_t *config, char text[ODD_HEX_BYTES])
{
    for (size_t i = 0; i < ODD_CONFIG_BYTES; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", config[i]);
    }
}

/* Nothing can be compared: no reason to warn, but who is strict wants to know that they are equal.
 */
static int odd_one_config(enum component component, bool recorded, struct err *err)
{
    (void)err_set(err,
                  -CAIRN_EMISMATCH,
                  "%s: %s: strict_config demands both",
                  component_name(component),
                  recorded ? "recorded under a configuration, the trainer tells none"
                           : "recorded without a configuration, the trainer tells one");
    return err_at(err, component, NULL, 0);
}

int odd_config(const struct cairn_record *r,
               enum component component,
               const struct cairn_component *part,
               const struct cairn_trainer *t,
               struct err *err)
{
    const struct component_info *info = rec_info(r, component);
    char recorded[ODD_HEX_BYTES];
    char live[ODD_HEX_BYTES];
    struct err odd = { 0 };
    bool has_config = info != NULL && info->has_config;
    if (has_config != (part->config != NULL)) {
        return t->strict_config ? odd_one_config(component, has_config, err) : 0;
    }
    if (!has_config || memcmp(info->config.byte, part->config, ODD_CONFIG_BYTES) == 0) {
        return 0;
    }
    odd_hex(info->config.byte, recorded);
    odd_hex(part->config, live);
    (void)err_set(&odd,
                  -CAIRN_EMISMATCH,
                  "%s: recorded under configuration %s, the trainer's is %s: what continues is "
                  "not what was recorded",
                  component_name(component),
                  recorded,
                  live);
    (void)err_at(&odd, component, NULL, 0);
    return odd_end(t, t->strict_config, &odd, err);
}

/* ---- optimizer ---- */

#define ODD_IDS_SHOWN 8

struct odd_ids {
    uint64_t count;
    uint64_t last; /* an id has several entries, side by side */
    struct describe text;
};

static void odd_note(struct odd_ids *ids, uint64_t id)
{
    if (ids->count > 0 && ids->last == id) {
        return;
    }
    if (ids->count < ODD_IDS_SHOWN) {
        describe_add(&ids->text, ids->count == 0 ? "%" PRIu64 : ", %" PRIu64, id);
    }
    ids->last = id;
    ids->count++;
}

static bool
odd_known(const struct members *members, const struct contract *k, const struct entry *e)
{
    return k != NULL ? contract_has(k, e->id) : members_have(members, e);
}

int odd_optimizer(const struct cairn_record *r,
                  const struct contract *k,
                  const struct cairn_trainer *t,
                  struct err *err)
{
    const struct cairn_reader *optimizer = &r->components[COMPONENT_OPTIMIZER];
    struct odd_ids ids = { .count = 0 };
    struct members members;
    struct err odd = { 0 };
    int rc = members_of(&r->components[COMPONENT_MODEL], &members, err);
    for (uint64_t i = 0; rc == 0 && i < optimizer->count; i++) {
        const struct entry *e = &optimizer->entries[i];
        if ((e->flags & ENTRY_HAS_ID) != 0 && !odd_known(&members, k, e)) {
            odd_note(&ids, e->id);
        }
    }
    members_fini(&members);
    if (rc < 0 || ids.count == 0) {
        return rc;
    }
    (void)err_set(&odd,
                  -CAIRN_EMISMATCH,
                  "optimizer: it has state of %" PRIu64 " parameters that the model does not have "
                  "(%s%s): give restored parameters their recorded ids",
                  ids.count,
                  ids.text.text,
                  ids.count > ODD_IDS_SHOWN ? ", ..." : "");
    (void)err_at(&odd, COMPONENT_OPTIMIZER, NULL, 0);
    return odd_end(t, t->strict_optimizer, &odd, err);
}
