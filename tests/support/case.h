/* case.h: a guarded test body. Criterion alone lets a leaked descriptor or a leaked byte pass, so
 * the guards run inside the body and abort, which Criterion does report.
 *
 *     CASE(frame, refuses_wrong_magic)
 *     {
 *         cr_assert_eq(...);
 *     }
 */
#ifndef SUPPORT_CASE_H
#define SUPPORT_CASE_H

#include <criterion/criterion.h>

void case_run(void (*body)(void)); /* counts descriptors before and after, asks LeakSanitizer */

/* A CASE without options leaves the dots of the macro empty, as Criterion's own Test does. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define CASE(suite, name, ...)                                                                     \
    static void suite##_##name##_body(void);                                                       \
    Test(suite, name, ##__VA_ARGS__)                                                               \
    {                                                                                              \
        case_run(suite##_##name##_body);                                                           \
    }                                                                                              \
    static void suite##_##name##_body(void)

#endif
