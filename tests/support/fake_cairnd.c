/* fake_cairnd: a daemon that misbehaves in the way that $FAKE names, for the tests of `cairn exec`.
 *
 *   broken   says why on stderr, ends with 3, is never ready
 *   crash    is ready, then dies by SIGKILL at once
 *   deaf     is ready, ignores SIGTERM
 *   good     is ready, ends with 0 at SIGTERM
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int fake_ready(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    static const char message[] = "STATUS=fake\nREADY=1";
    const char *path = getenv("NOTIFY_SOCKET");
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (path == NULL || fd < 0 || strlen(path) >= sizeof address.sun_path) {
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path));
    ssize_t sent = sendto(
        fd, message, sizeof message - 1, 0, (const struct sockaddr *)&address, sizeof address);
    (void)close(fd);
    return sent < 0 ? -1 : 0;
}

int main(void)
{
    const char *mode = getenv("FAKE");
    sigset_t term;
    int number = 0;
    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &term, NULL);
    if (mode == NULL || strcmp(mode, "broken") == 0) {
        (void)fputs("fake: the data is \033[31mheld\033[0m by another daemon\n", stderr);
        return 3;
    }
    if (fake_ready() < 0) {
        return 4;
    }
    if (strcmp(mode, "crash") == 0) {
        (void)raise(SIGKILL);
    }
    do {
        (void)sigwait(&term, &number);
    } while (strcmp(mode, "deaf") == 0);
    return 0;
}
