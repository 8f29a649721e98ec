/* test_kill_small.c: the kill matrix with a small state, for every leg. See kill_matrix.h. */
#include <stdlib.h>
#include <string.h>

#include "kill_matrix.h"
#include "support/case.h"

CASE(kill_small, R02_E26_every_phase_once, .timeout = 240)
{
    const char *spoil = getenv("CAIRN_KILL_SPOIL");
    struct stage_options options = {
        .width = 180, /* 1 MB */
        .updates = 6,
        .microbatches = 3,
        .rows = 4,
        .save_every = 1,
        .spoil_digest = spoil != NULL && strcmp(spoil, "digest") == 0,
        .spoil_segment = spoil != NULL && strcmp(spoil, "segment") == 0,
    };
    /* Everything is too short for a random moment. */
    struct kill_quota quota = {
        .long_random = 0, .long_failpoint = 1, .short_failpoint = 1, .chunks_least = 2
    };
    kill_matrix(&options, &quota);
}
