#include "base/stdfds.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool stdfds_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* open takes the lowest number that is free, which is this one. */
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) {
            return false;
        }
    }
    return true;
}
