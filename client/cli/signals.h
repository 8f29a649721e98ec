/* signals.h: which signals are the command's and which are ours, while `cairn exec` runs it. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

/* Block what is handed on, and SIGCHLD. Returns a descriptor from which they are read (struct
 * signalfd_siginfo), or -1 with errno; *ret_old is the mask for the processes that are started. */
int signals_open(sigset_t *ret_old);

/* Has the command got this one already, or is it not meant for it? A key of the terminal goes to
 * the whole foreground group; a hangup goes to the session's leader only, which may be us. And what
 * we wrote to nobody (SIGPIPE) is our own affair. */
bool signals_has_command(const struct signalfd_siginfo *info);

/* May this one end what is under way before there is a command? Not when it is ignored (nohup), for
 * then the command would not mind either; not when it is our own SIGPIPE. */
bool signals_ends_start(const struct signalfd_siginfo *info);

#endif
