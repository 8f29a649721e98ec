/* fake_resident.c: the fake's payload in memory, rightly or wrongly. */
#include <cairn/error.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_int.h"

enum { FAKE_ARENA = 5 };

static uint64_t fake_place(const struct fake *f, uint32_t chunk)
{
    uint64_t at = (uint64_t)chunk * LIMIT_CHUNK_BYTES;
    return f->resident == FAKE_RESIDENT_OUTSIDE && chunk == f->resident_chunk ? UINT64_MAX - 4095
                                                                              : at;
}

/* The payload, one chunk behind the other. */
static int fake_memory(const struct fake *f, const struct fake_boundary *b, uint64_t bytes)
{
    int fd = memfd_create("fake-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool sealed = f->resident != FAKE_RESIDENT_UNSEALED;
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
        (sealed && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)) {
        abort();
    }
    for (uint32_t i = 0; i < b->chunk_count; i++) {
        off_t at = (off_t)i * LIMIT_CHUNK_BYTES;
        uint8_t wrong = (uint8_t)(b->chunks[i][100] ^ 1);
        bool damaged = f->resident == FAKE_RESIDENT_DAMAGED && i == f->resident_chunk;
        if (pwrite(fd, b->chunks[i], b->chunk_bytes[i], at) != b->chunk_bytes[i] ||
            (damaged && pwrite(fd, &wrong, 1, at + 100) != 1)) {
            abort();
        }
    }
    return fd;
}

static void fake_send_fd(struct fake *f, struct fake_conn *c, int fd)
{
    union {
        struct cmsghdr head;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS } };
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    struct iovec iov = { .iov_base = f->out.data, .iov_len = f->out.bytes };
    struct msghdr msg = { .msg_iov = &iov,
                          .msg_iovlen = 1,
                          .msg_control = f->resident == FAKE_RESIDENT_NO_FD ? NULL : &control,
                          .msg_controllen =
                              f->resident == FAKE_RESIDENT_NO_FD ? 0 : sizeof control.bytes };
    if (sendmsg(c->fd, &msg, MSG_NOSIGNAL) != (ssize_t)f->out.bytes) {
        abort();
    }
}

void fake_op_resident(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    struct err err = { 0 };
    if (c->pinned == NULL || f->resident == FAKE_RESIDENT_NONE) {
        fake_bad(f, c, "RESIDENT of what is not");
        return;
    }
    if (f->resident == FAKE_RESIDENT_REFUSED) {
        fake_refuse(f, c, in->frame.request, CAIRN_ENOENT, false);
        return;
    }
    uint64_t bytes = (uint64_t)c->pinned->chunk_count * LIMIT_CHUNK_BYTES;
    uint64_t more = f->resident == FAKE_RESIDENT_SHORT ? 1 << 21 : 0;
    union wire_msg msg = { .arena = { .arena = FAKE_ARENA, .bytes = bytes + more } };
    f->out.bytes = 0;
    if (wire_encode(WIRE_ARENA, in->frame.request, &msg, 0, &f->out, &err) < 0) {
        abort();
    }
    int fd = fake_memory(f, c->pinned, bytes);
    fake_send_fd(f, c, fd);
    (void)close(fd);
}

void fake_op_arena_close(struct fake *f, struct fake_conn *c, struct fake_in *in)
{
    if (in->msg.arena_ref.arena != FAKE_ARENA) {
        fake_bad(f, c, "ARENA_CLOSE of another arena");
        return;
    }
    fake_reply(f, c, WIRE_DONE, in->frame.request, (union wire_msg){ 0 });
}

void fake_say_places(struct fake *f, uint32_t arena, struct bump *bump, struct wire_chunks *page)
{
    if (arena == 0 || f->resident == FAKE_RESIDENT_NO_PLACES) {
        return;
    }
    uint64_t *offsets = bump_alloc(bump, page->count * sizeof *offsets);
    for (uint32_t i = 0; i < page->count; i++) {
        offsets[i] = fake_place(f, page->first + i);
    }
    page->offsets = offsets;
}
