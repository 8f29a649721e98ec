#include <signal.h>

#include "base/sm.h"
#include "support/case.h"

enum light { LIGHT_RED, LIGHT_GREEN, LIGHT_OFF, LIGHT_NR };
static const char *const light_names[LIGHT_NR] = { "red", "green", "off" };
static const uint32_t light_next[LIGHT_NR] = {
    [LIGHT_RED] = SM_BIT(LIGHT_GREEN) | SM_BIT(LIGHT_OFF),
    [LIGHT_GREEN] = SM_BIT(LIGHT_RED),
};
static const struct sm_type light = { "light", light_names, light_next, LIGHT_NR };

CASE(sm, moves_that_the_table_allows)
{
    struct sm sm;
    sm_init(&sm, &light, LIGHT_RED, 7);
    cr_assert_str_eq(sm_name(&sm), "red");
    sm_move(&sm, LIGHT_GREEN);
    sm_move(&sm, LIGHT_RED);
    sm_move(&sm, LIGHT_OFF);
    cr_assert_str_eq(sm_name(&sm), "off");
}

CASE(sm, an_illegal_move_ends_the_process, .signal = SIGABRT)
{
    struct sm sm;
    sm_init(&sm, &light, LIGHT_GREEN, 7);
    sm_move(&sm, LIGHT_OFF);
}

CASE(sm, a_state_that_does_not_exist_ends_the_process, .signal = SIGABRT)
{
    struct sm sm;
    sm_init(&sm, &light, LIGHT_RED, 7);
    sm_move(&sm, LIGHT_NR);
}
