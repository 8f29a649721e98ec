#include "support/case.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_LSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_LSAN 1
#endif
#endif
#ifdef HAVE_LSAN
int __lsan_do_recoverable_leak_check(void);
int __lsan_is_turned_off(void);

/* Criterion's runner, which runs none of our code, loses a few bytes of its own when cases end in
 * another order than they began. A suppression by name would hide our leaks too, as the library is
 * below every case on the stack: so the runner is not asked, and its workers, which it starts with
 * this variable, are. */
int __lsan_is_turned_off(void)
{
    return getenv("BXFI_MAP") == NULL;
}
#endif

static int open_fd_count(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

void case_run(void (*body)(void))
{
    int before = open_fd_count();
    body();
    int after = open_fd_count();
    if (after != before) {
        (void)fprintf(stderr, "case: %d descriptors before, %d after\n", before, after);
        abort();
    }
#ifdef HAVE_LSAN
    if (__lsan_do_recoverable_leak_check() != 0) {
        (void)fprintf(stderr, "case: leaked memory\n");
        abort();
    }
#endif
}
