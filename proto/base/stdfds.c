#include "base/stdfds.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool stdfds_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) {
            continue;
        }
        /* It takes the lowest number that is free, which is this one; children inherit it. What is
         * read from or written to it fails, as with a closed one: nothing is lost in silence.
         * NOLINTNEXTLINE(android-cloexec-open) */
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
            return false;
        }
    }
    return true;
}
