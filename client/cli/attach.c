#include "attach.h"

#include <cairn/admin.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

#define ATTACH_WAIT_MS 5000

/* The path that DATA/socket holds, when the file is a plain one of ours. */
static bool attach_read(const char *data, char ret_socket[static ATTACH_SOCKET_BYTES])
{
    struct stat st = { 0 };
    char *path = out_format("%s/socket", data);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    free(path);
    if (fd < 0) {
        return false;
    }
    ssize_t bytes = -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
        bytes = read(fd, ret_socket, ATTACH_SOCKET_BYTES - 1);
    }
    (void)close(fd);
    ret_socket[bytes > 0 ? bytes : 0] = '\0';
    char *end = strchr(ret_socket, '\n');
    if (ret_socket[0] != '/' || end == NULL) {
        return false; /* written in part, or no path */
    }
    *end = '\0';
    return true;
}

/* A path may name another daemon by now: the one that is meant says that it serves this directory.
 */
static bool attach_serves(const char *socket, const char *real, uint64_t *ret_pid)
{
    struct cairn *c = NULL;
    struct cairn_status status = { 0 };
    int rc = cairn_admin_open(socket, &c);
    if (rc == 0) {
        rc = cairn_set_timeout(c, ATTACH_WAIT_MS);
    }
    if (rc == 0) {
        rc = cairn_status(c, &status);
    }
    (void)cairn_close(c);
    *ret_pid = status.pid;
    /* The status has room for so much of the name. */
    return rc == 0 && strncmp(status.data_dir, real, sizeof status.data_dir - 1) == 0;
}

bool attach_find(const char *data, char ret_socket[static ATTACH_SOCKET_BYTES], uint64_t *ret_pid)
{
    char *real = realpath(data, NULL);
    bool found =
        real != NULL && attach_read(real, ret_socket) && attach_serves(ret_socket, real, ret_pid);
    free(real);
    return found;
}

int attach_record(const char *data, const char *socket)
{
    char *path = out_format("%s/socket", data);
    char *fresh = out_format("%s/socket.new", data);
    (void)unlink(fresh);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = fd >= 0 && dprintf(fd, "%s\n", socket) > 0 ? 0 : -1;
    if (fd >= 0 && close(fd) < 0) {
        rc = -1;
    }
    if (rc == 0) {
        rc = rename(fresh, path);
    }
    int error = errno;
    if (rc < 0) {
        (void)unlink(fresh);
    }
    free(path);
    free(fresh);
    errno = error;
    return rc;
}

void attach_forget(const char *data, const char *socket)
{
    char recorded[ATTACH_SOCKET_BYTES];
    if (attach_read(data, recorded) && strcmp(recorded, socket) == 0) {
        char *path = out_format("%s/socket", data);
        (void)unlink(path);
        free(path);
    }
}
