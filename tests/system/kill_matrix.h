/* kill_matrix.h: kills in every phase for every victim, until there were enough of each. */
#ifndef SYSTEM_KILL_MATRIX_H
#define SYSTEM_KILL_MATRIX_H

#include "kill_acts.h"

/* Play until every quota is met and the last run has ended; print the table; fail on any wrong. */
void kill_matrix(const struct stage_options *options, const struct kill_quota *quota);

#endif
