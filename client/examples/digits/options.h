/* options.h: the command line of digits. */
#ifndef DIGITS_OPTIONS_H
#define DIGITS_OPTIONS_H

#include "job.h"

struct options {
    const char *data;
    const char *socket; /* NULL: $CAIRN_SOCKET, else the system's */
    const char *run;
    const char *events;
    uint64_t updates;
    uint64_t save_every; /* microbatches */
    uint64_t timeout_s;
    const char *from;     /* selector; NULL: the newest, and the line goes on */
    uint64_t spoil_after; /* updates; 0: never */
    bool no_save;
    bool keep_going;
    struct job_config job;
};

/* Fill *ret from the arguments; ends the process after --help and after a bad argument (64). */
int options_parse(int argc, char **argv, struct options *ret);

#endif
