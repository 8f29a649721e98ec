/* limits.h: every limit that both sides share. The wire announces them in WELCOME. */
#ifndef INTERNAL_LIMITS_H
#define INTERNAL_LIMITS_H

#define LIMIT_CHUNK_BYTES (8u << 20)     /* payload of one chunk, and of one DATA frame */
#define LIMIT_OWN_CHUNK_BYTES (4u << 20) /* a tensor of this size or more has its own chunks */
#define LIMIT_INLINE_COMPONENT_BYTES (64u << 10) /* a component up to this size has no chunks */
#define LIMIT_SCALAR_BYTES (64u << 10)           /* one string or bytes scalar */
#define LIMIT_PAGE_BYTES 4096u                   /* alignment of chunks in region and segment */
#define LIMIT_PACK_ALIGN_BYTES 64u               /* alignment of entries in a shared chunk */
#define LIMIT_MESSAGE_BYTES (4u << 20)           /* protobuf part of any frame */
#define LIMIT_ENTRIES_PER_PAGE 4096u      /* entries in one ENTRIES frame and manifest page */
#define LIMIT_ENTRIES_BYTES (1u << 20)    /* protobuf part of one ENTRIES or CHUNKS frame */
#define LIMIT_CHUNKS_PER_PAGE 4096u       /* chunks in one CHUNKS frame */
#define LIMIT_ENTRIES (4u << 20)          /* entries of one component */
#define LIMIT_CHUNKS (1u << 20)           /* chunks of one part: 8 TiB */
#define LIMIT_METADATA_BYTES (256u << 20) /* staged manifest of one part */
#define LIMIT_PATH_BYTES 4096u
#define LIMIT_RANK 32u      /* dimensions of a shape */
#define LIMIT_BLOCK_RANK 5u /* dimensions of a block of quantized values */
#define LIMIT_RUN_NAME_BYTES 128u
#define LIMIT_SELECTOR_BYTES 512u
#define LIMIT_TYPE_BYTES 255u /* fingerprint of a component */
#define LIMIT_LABELS 64u
#define LIMIT_LABEL_NAME_BYTES 64u
#define LIMIT_LABEL_VALUE_BYTES 256u
#define LIMIT_POLICY_BYTES 1024u
#define LIMIT_PINS 4096u /* in one PINS */
#define LIMIT_PIN_WHY_BYTES 255u
#define LIMIT_KEPT 32768u       /* boundaries in one KEPT */
#define LIMIT_POLICY_BEST 8u    /* labels of a policy */
#define LIMIT_LEFT_SAVES 16u    /* sealed, of a run and uid, that wait without a client */
#define LIMIT_FIND 1024u        /* boundaries in one FOUND */
#define LIMIT_WINDOW_CHUNKS 16u /* credits of a load */

#endif
