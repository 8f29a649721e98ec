#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "loop.h"
#include "notify.h"
#include "support/case.h"

/* A systemd of our own: a datagram socket at $NOTIFY_SOCKET. */
static int listen_as_systemd(void)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    socklen_t bytes = sizeof(sa_family_t);
    char name[128];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&addr, bytes), 0); /* the kernel finds a name */
    bytes = sizeof addr;
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&addr, &bytes), 0);
    size_t name_bytes = bytes - sizeof(sa_family_t);
    (void)snprintf(name, sizeof name, "@%.*s", (int)name_bytes - 1, addr.sun_path + 1);
    (void)setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static const char *heard(int fd)
{
    static char text[512];
    ssize_t bytes = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    text[bytes < 0 ? 0 : bytes] = '\0';
    return text;
}

CASE(notify, ready_and_stopping_with_a_status)
{
    int fd = listen_as_systemd();
    ntf_ready("serving /data (direct)");
    cr_assert_str_eq(heard(fd), "READY=1\nSTATUS=serving /data (direct)");
    ntf_stopping("finishing");
    cr_assert_str_eq(heard(fd), "STOPPING=1\nSTATUS=finishing");
    (void)close(fd);
}

CASE(notify, nobody_asked)
{
    (void)unsetenv("NOTIFY_SOCKET");
    ntf_ready("serving");
    ntf_stopping("finishing");
}

static bool something_came(void *arg)
{
    struct pollfd poll_fd = { .fd = *(int *)arg, .events = POLLIN };
    return poll(&poll_fd, 1, 0) == 1;
}

CASE(notify, the_watchdog_is_fed_from_the_loop)
{
    uv_loop_t loop;
    struct notify n = { .watched = 0 };
    int fd = listen_as_systemd();
    (void)setenv("WATCHDOG_USEC", "30000", 1);
    (void)unsetenv("WATCHDOG_PID");
    cr_assert_eq(uv_loop_init(&loop), 0);
    ntf_open(&n, &loop);
    cr_assert_str_eq(heard(fd), "", "not before the loop turns");
    for (int i = 0; i < 3; i++) {
        cr_assert(loop_until(&loop, something_came, &fd));
        cr_assert_str_eq(heard(fd), "WATCHDOG=1");
    }
    ntf_close(&n);
    ntf_close(&n);
    cr_assert(loop_end(&loop));
    (void)close(fd);
}

CASE(notify, no_watchdog_no_timer)
{
    uv_loop_t loop;
    struct notify n = { .watched = 0 };
    (void)unsetenv("WATCHDOG_USEC");
    cr_assert_eq(uv_loop_init(&loop), 0);
    ntf_open(&n, &loop);
    cr_assert_eq(uv_loop_alive(&loop), 0);
    ntf_close(&n);
    cr_assert(loop_end(&loop));
}
