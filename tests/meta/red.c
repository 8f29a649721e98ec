/* red.c: tests that must fail, one for each guard, and one that must pass. red.sh runs each of them
 * through CTest and is content only with a failure for the right reason: a guard that was never
 * seen red guards nothing. */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/case.h"

CASE(red, nothing_wrong)
{
    cr_assert(true);
}

CASE(red, failed_check)
{
    cr_assert(false, "a check that fails");
}

CASE(red, failed_assert)
{
    assert(getpid() == 0);
}

CASE(red, fd_leak)
{
    cr_assert_geq(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
}

CASE(red, hang_of_a_case, .timeout = 0.5)
{
    (void)pause();
}

CASE(red, hang_of_a_program)
{
    (void)pause();
}

static void red_check_in_fini(void)
{
    cr_assert(false, "Criterion prints this and passes");
}

CASE(red, failed_check_in_fini, .fini = red_check_in_fini)
{
    cr_assert(true);
}

/* The pointer is hidden from the compiler, which drops a malloc that nobody reads. */
static void *volatile red_leaked;

CASE(red, heap_leak)
{
    red_leaked = malloc(100);
    red_leaked = NULL;
}

/* Without the guard of case.h: LeakSanitizer prints at exit, Criterion passes, CTest must not. */
Test(red, heap_leak_without_the_guard)
{
    red_leaked = malloc(100);
    red_leaked = NULL;
}

CASE(red, heap_overflow)
{
    volatile char *bytes = malloc(8);
    volatile size_t past_end = 8;
    cr_assert_not_null(bytes);
    bytes[past_end] = 1;
    free((void *)bytes);
}

CASE(red, undefined_behaviour)
{
    volatile int most = INT_MAX;
    most = most + 1;
}

static int red_shared;

static void *red_race(void *arg)
{
    (void)arg;
    red_shared++;
    return NULL;
}

CASE(red, data_race)
{
    pthread_t one;
    pthread_t two;
    cr_assert_eq(pthread_create(&one, NULL, red_race, NULL), 0);
    cr_assert_eq(pthread_create(&two, NULL, red_race, NULL), 0);
    cr_assert_eq(pthread_join(one, NULL), 0);
    cr_assert_eq(pthread_join(two, NULL), 0);
}
