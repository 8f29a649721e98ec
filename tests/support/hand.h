/* hand.h: a client of arenas, by hand, and saves from one, made well or badly. The record is a
 * model of three small tensors, "t0" to "t2", each in a chunk of its own with 100 bytes of padding.
 * Failures that a test does not ask for end the process with a message. Without Criterion: forked
 * children use it too.
 */
#ifndef SUPPORT_HAND_H
#define SUPPORT_HAND_H

#include "support/peer.h"

enum { HAND_CHUNKS = 3, HAND_PLACE_BYTES = 1 << 20, HAND_BYTES = HAND_PLACE_BYTES - 100 };

struct hand {
    struct peer_client p;
    const char *run;
    uint32_t request; /* of the upload: another one for each BEGIN */
    uint32_t arena;
    int fd; /* of the arena; -1: closed, or none */
    uint8_t *base;
    uint64_t bytes;
    uint64_t offsets[HAND_CHUNKS]; /* of the chunks: one behind the other, if nobody says else */
    uint64_t shape[1];
    struct chunk chunks[HAND_CHUNKS];
    struct entry entries[HAND_CHUNKS];
    struct component_info infos[5];
    struct boundary boundary;
};

/* Connect, HELLO. No arena yet. */
void hand_up(struct hand *h, const char *socket_path, const char *run);
void hand_down(struct hand *h);
/* ARENA_OPEN of 4 MiB for saves, or as it is asked for; mapped, and its descriptor kept. */
void hand_open(struct hand *h);
void hand_open_as(struct hand *h, uint64_t bytes, bool ring);
/* No mapping and no descriptor any more; the daemon is told nothing. */
void hand_unmap(struct hand *h);
/* Send ARENA_MAPPED or ARENA_CLOSE; DONE must come. */
void hand_arena(struct hand *h, enum wire_type type);
void hand_send_arena(struct hand *h, enum wire_type type, uint32_t arena);
/* Bytes of that seed where the chunks are, and the record of them under a save id that begins with
 * `id`. */
void hand_fill(struct hand *h, uint8_t seed, uint8_t id);
/* The record of what is there. */
void hand_sum(struct hand *h, uint8_t id);

/* A save, frame by frame. */
void hand_send_begin(struct hand *h);
void hand_begin(struct hand *h); /* and its BEGUN(RECEIVING) */
void hand_chunks(struct hand *h, uint32_t first, uint32_t count);
void hand_entries(struct hand *h);
void hand_seal(struct hand *h);
void hand_announce(struct hand *h); /* all from BEGIN to ENTRIES */
/* COMMITTED must come; returns its seq. ERROR must come. */
uint64_t hand_committed(struct hand *h);
void hand_refused(struct hand *h, uint32_t code, const char *words);
/* Bytes of memory that the arena has, whoever made them. */
uint64_t hand_memory(const struct hand *h);

#endif
