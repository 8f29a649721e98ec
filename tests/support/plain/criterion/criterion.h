/* criterion.h for the thread sanitizer: the words of Criterion that our tests use, on a small
 * runner of our own (../main.c). Criterion's runner maps shared memory at addresses of its choice,
 * and most of them are what the sanitizer keeps for itself; so in that one leg the same tests run
 * here, each in a forked child. */
#ifndef PLAIN_CRITERION_H
#define PLAIN_CRITERION_H

/* The message of a check may be left out, for which ISO C has no macro before C23. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plain_test {
    const char *suite, *name;
    void (*body)(void);
    void (*init)(void);
    void (*fini)(void);
    double timeout; /* seconds; 0: none */
    int signal, exit_code;
    bool disabled;
    const char *description;
    struct plain_test *next;
};

void plain_add(struct plain_test *test);
/* Print where and what, with the format and arguments of the test if there are any. */
void plain_failed(bool fatal, const char *file, int line, const char *what, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#define Test(s, n, ...)                                                                            \
    static void s##_##n##_impl(void);                                                              \
    static struct plain_test s##_##n##_test = {                                                    \
        .suite = #s, .name = #n, .body = s##_##n##_impl, ##__VA_ARGS__                             \
    };                                                                                             \
    __attribute__((constructor)) static void s##_##n##_add(void)                                   \
    {                                                                                              \
        plain_add(&s##_##n##_test);                                                                \
    }                                                                                              \
    static void s##_##n##_impl(void)

#define PLAIN_CHECK(fatal, ok, what, ...)                                                          \
    do {                                                                                           \
        if (!(ok)) {                                                                               \
            plain_failed(fatal, __FILE__, __LINE__, what, "" __VA_ARGS__);                         \
        }                                                                                          \
    } while (0)

#define PLAIN_TWO(fatal, a, op, b, ...) PLAIN_CHECK(fatal, (a)op(b), #a " " #op " " #b, __VA_ARGS__)
#define PLAIN_STR(fatal, a, op, b, ...)                                                            \
    PLAIN_CHECK(fatal, strcmp(a, b) op 0, "strings: " #a " " #op " " #b, __VA_ARGS__)
#define PLAIN_MEM(fatal, a, op, b, n, ...)                                                         \
    PLAIN_CHECK(fatal, memcmp(a, b, n) op 0, "bytes: " #a " " #op " " #b, __VA_ARGS__)

#define cr_assert(ok, ...) PLAIN_CHECK(true, ok, #ok, __VA_ARGS__)
#define cr_assert_not(ok, ...) PLAIN_CHECK(true, !(ok), "not " #ok, __VA_ARGS__)
#define cr_assert_fail(...) PLAIN_CHECK(true, false, "reached", __VA_ARGS__)
#define cr_assert_eq(a, b, ...) PLAIN_TWO(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) PLAIN_TWO(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) PLAIN_TWO(true, a, <, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) PLAIN_TWO(true, a, <=, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) PLAIN_TWO(true, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) PLAIN_TWO(true, a, >=, b, __VA_ARGS__)
#define cr_assert_null(a, ...) PLAIN_TWO(true, a, ==, NULL, __VA_ARGS__)
#define cr_assert_not_null(a, ...) PLAIN_TWO(true, a, !=, NULL, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) PLAIN_STR(true, a, ==, b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) PLAIN_STR(true, a, !=, b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...) PLAIN_MEM(true, a, ==, b, n, __VA_ARGS__)
#define cr_assert_arr_neq(a, b, n, ...) PLAIN_MEM(true, a, !=, b, n, __VA_ARGS__)
#define cr_expect(ok, ...) PLAIN_CHECK(false, ok, #ok, __VA_ARGS__)
#define cr_expect_eq(a, b, ...) PLAIN_TWO(false, a, ==, b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) PLAIN_STR(false, a, ==, b, __VA_ARGS__)

#define cr_log_info(...) ((void)fprintf(stderr, __VA_ARGS__), (void)fputc('\n', stderr))
#define cr_log_warn(...) cr_log_info(__VA_ARGS__)
#define cr_log_error(...) cr_log_info(__VA_ARGS__)

#endif
