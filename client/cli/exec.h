/* exec.h: run one command beside a private daemon, and keep the daemon alive meanwhile. */
#ifndef CLI_EXEC_H
#define CLI_EXEC_H

#include <stdbool.h>

/* `who` ("cairn exec") begins what is said on stderr. Returns the exit code for the program: the
 * command's, 128 + N when signal N ended it, or one of OUT_EXEC_* when it was not run. */
int exec_run(const char *who, const char *data, char **command, bool quiet);

#endif
