/* attach.h: a data directory that a private daemon serves names the socket, so that a second
 * `cairn exec` with the same directory uses the daemon that is there. */
#ifndef CLI_ATTACH_H
#define CLI_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#define ATTACH_SOCKET_BYTES 108

/* Is there a daemon that serves this directory? The file DATA/socket must be ours, and who answers
 * at the socket that it names must be a cairnd which says that its data is there. */
bool attach_find(const char *data, char ret_socket[static ATTACH_SOCKET_BYTES], uint64_t *ret_pid);
/* Name the socket in the directory (mode 0600). Returns 0, or -1 with errno. */
int attach_record(const char *data, const char *socket);
/* Take the name away again, unless it is another's by now. */
void attach_forget(const char *data, const char *socket);

#endif
