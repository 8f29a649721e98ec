/* fake_int.h: what the two halves of the fake daemon share. */
#ifndef CLIENT_FAKE_INT_H
#define CLIENT_FAKE_INT_H

#include "fake.h"

/* One frame that came, and what the fault list says about it. */
struct fake_in {
    struct frame frame;
    struct slice message;
    uint8_t *payload;
    union wire_msg msg;
    enum fake_act act;
};

bool fake_read(int fd, void *dst, size_t bytes);
bool fake_write(int fd, const void *src, size_t bytes);
void fake_close(struct fake_conn *c);
void fake_reply(
    struct fake *f, struct fake_conn *c, uint32_t type, uint32_t request, union wire_msg msg);
void fake_refuse(struct fake *f, struct fake_conn *c, uint32_t request, int code, bool closing);
void fake_bad(struct fake *f, struct fake_conn *c, const char *why);
void fake_boundary_free(struct fake_boundary *b);
void fake_begin(struct fake *f, struct fake_conn *c, uint32_t request, union wire_msg *msg);
void fake_store_frame(struct fake_boundary *b, uint32_t type, struct slice message);
void fake_committed(struct fake *f,
                    struct fake_conn *c,
                    uint32_t request,
                    const struct fake_boundary *b);
void fake_seal(
    struct fake *f, struct fake_conn *c, uint32_t request, union wire_msg *msg, enum fake_act act);
void fake_find(struct fake *f, struct fake_conn *c, uint32_t request, const struct wire_find *find);
void fake_page(struct fake *f,
               struct fake_conn *c,
               uint32_t request,
               uint32_t type,
               const union wire_msg *question);
void fake_pump(struct fake *f, struct fake_conn *c);
void fake_load(struct fake *f, struct fake_conn *c, uint32_t request, const struct wire_load *load);
void fake_describe(struct fake *f,
                   struct fake_conn *c,
                   uint32_t request,
                   const struct wire_describe *describe);
void fake_op_resident(struct fake *f, struct fake_conn *c, struct fake_in *in);
void fake_op_arena_close(struct fake *f, struct fake_conn *c, struct fake_in *in);
/* Where the chunks of a page lie in that arena. */
void fake_say_places(struct fake *f, uint32_t arena, struct bump *bump, struct wire_chunks *page);
void fake_abort(struct fake *f, struct fake_conn *c, uint32_t request);

#endif
