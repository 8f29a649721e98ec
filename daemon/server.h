/* server.h: the daemon: owns loop, store, ops, listener and connections, and their order. */
#ifndef SERVER_H
#define SERVER_H

#include "conf/conf.h"

/* Serve until SIGTERM or SIGINT. Returns the exit code: 0 stopped in order, 1 could not start, or
 * something hung for 10 s while stopping (the log says what). */
int server_run(const struct conf *conf);

#endif
