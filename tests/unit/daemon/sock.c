#include "sock.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void sock_dir_make(struct sock_dir *d)
{
    (void)snprintf(d->dir, sizeof d->dir, "/tmp/cairn-unit-XXXXXX");
    if (mkdtemp(d->dir) == NULL) {
        perror("mkdtemp");
        abort();
    }
    (void)snprintf(d->path, sizeof d->path, "%s/s", d->dir);
}

void sock_dir_remove(struct sock_dir *d)
{
    DIR *dir = opendir(d->dir);
    for (const struct dirent *e = NULL; dir != NULL && (e = readdir(dir)) != NULL;) {
        (void)unlinkat(dirfd(dir), e->d_name, 0);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    (void)rmdir(d->dir);
}

static struct sockaddr_un sock_address(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    (void)snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
    return addr;
}

int sock_listen(const char *path)
{
    struct sockaddr_un addr = sock_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof addr) < 0 || listen(fd, 16) < 0) {
        perror("listen");
        abort();
    }
    return fd;
}

int sock_connect(const char *path)
{
    struct sockaddr_un addr = sock_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof addr) < 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}
