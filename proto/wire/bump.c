#include "wire/bump.h"

#include <stdint.h>
#include <stdlib.h>

#define BUMP_ALIGN 16u
#define BUMP_BLOCK_MIN ((size_t)16 << 10)
#define BUMP_BLOCK_MAX ((size_t)1 << 20)
#define BUMP_BYTES_MAX (SIZE_MAX / 2) /* of one request: sums below do not overflow */

struct bump_block {
    struct bump_block *older;
    size_t room_bytes;
    size_t used_bytes;
    _Alignas(BUMP_ALIGN) uint8_t data[];
};

void bump_init(struct bump *b, size_t cap_bytes)
{
    *b = (struct bump){ .cap_bytes = cap_bytes };
}

/* Blocks double up to a limit: a small message costs little, a big one few calls. */
static struct bump_block *bump_grow(struct bump *b, size_t bytes)
{
    size_t room = b->head == NULL ? BUMP_BLOCK_MIN : b->head->room_bytes * 2;
    room = room > BUMP_BLOCK_MAX ? BUMP_BLOCK_MAX : room;
    room = room < bytes ? bytes : room;
    struct bump_block *block = malloc(sizeof *block + room);
    if (block != NULL) {
        block->older = b->head;
        block->room_bytes = room;
        block->used_bytes = 0;
        b->head = block;
    }
    return block;
}

void *bump_alloc(struct bump *b, size_t bytes)
{
    if (bytes > BUMP_BYTES_MAX) {
        b->exhausted = true;
        return NULL;
    }
    size_t rounded = (bytes + BUMP_ALIGN - 1) & ~(size_t)(BUMP_ALIGN - 1);
    if (b->used_bytes > b->cap_bytes || rounded > b->cap_bytes - b->used_bytes) {
        b->exhausted = true;
        return NULL;
    }
    struct bump_block *block = b->head;
    if (block == NULL || block->room_bytes - block->used_bytes < rounded) {
        block = bump_grow(b, rounded);
        if (block == NULL) {
            return NULL;
        }
    }
    void *at = block->data + block->used_bytes;
    block->used_bytes += rounded;
    b->used_bytes += rounded;
    return at;
}

void bump_reset(struct bump *b)
{
    struct bump_block *keep = NULL;
    while (b->head != NULL) {
        struct bump_block *block = b->head;
        b->head = block->older;
        if (keep == NULL && block->room_bytes <= BUMP_BLOCK_MAX) {
            keep = block;
        } else {
            free(block);
        }
    }
    if (keep != NULL) {
        keep->older = NULL;
        keep->used_bytes = 0;
    }
    b->head = keep;
    b->used_bytes = 0;
    b->exhausted = false;
}

void bump_fini(struct bump *b)
{
    bump_reset(b);
    free(b->head);
    b->head = NULL;
}
