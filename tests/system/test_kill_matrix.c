/* test_kill_matrix.c: a state of 256 MiB and more, killed in every phase. See kill_matrix.h.
 *
 * CAIRN_KILL_SPOIL=digest or =segment spoils what is compared: the test must then fail. */
#include <stdlib.h>
#include <string.h>

#include "kill_matrix.h"
#include "support/case.h"

CASE(kill_matrix, R02_E26_every_phase_of_a_large_state, .timeout = 1500)
{
    const char *spoil = getenv("CAIRN_KILL_SPOIL");
    struct stage_options options = {
        .width = 3840, /* 270 MB between two windows, 330 MB within one */
        .updates = 3,
        .microbatches = 2,
        .rows = 1,
        .save_every = 1,
        .spoil_digest = spoil != NULL && strcmp(spoil, "digest") == 0,
        .spoil_segment = spoil != NULL && strcmp(spoil, "segment") == 0,
    };
    struct kill_quota quota = {
        .long_random = 9, .long_failpoint = 1, .short_failpoint = 10, .chunks_least = 32
    };
    kill_matrix(&options, &quota);
}
