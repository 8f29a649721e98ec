/* main.c: runs the tests that criterion.h beside it collected, each in a forked child, and says
 * what became of them. Understands --filter SUITE/NAME; other arguments of Criterion's runner are
 * accepted and change nothing. */
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

static struct plain_test *plain_tests;
static bool plain_any_failed; /* in the child: a check that is not fatal failed */

void plain_add(struct plain_test *test)
{
    struct plain_test **at = &plain_tests;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = test;
}

void plain_failed(bool fatal, const char *file, int line, const char *what, const char *format, ...)
{
    va_list args;
    (void)fprintf(stderr, "%s:%d: Assertion Failed: %s. ", file, line, what);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    plain_any_failed = true;
    if (fatal) {
        exit(EXIT_FAILURE);
    }
}

static _Noreturn void plain_child(const struct plain_test *test)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a runner that CTest killed leaves no child behind */
    /* The sanitizer is slow: a test has five times the time that it asks for. */
    double seconds = 5 * test->timeout;
    struct itimerval limit = { .it_value.tv_sec = (time_t)seconds };
    limit.it_value.tv_usec = (suseconds_t)((seconds - (double)limit.it_value.tv_sec) * 1000000);
    (void)setitimer(ITIMER_REAL, &limit, NULL);
    if (test->init != NULL) {
        test->init();
    }
    test->body();
    if (test->fini != NULL) {
        test->fini();
    }
    exit(plain_any_failed ? EXIT_FAILURE : EXIT_SUCCESS);
}

static bool plain_run(const struct plain_test *test)
{
    int status = 0;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        plain_child(test);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("plain");
        return false;
    }
    bool ok = test->signal != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == test->signal
                                : WIFEXITED(status) && WEXITSTATUS(status) == test->exit_code;
    bool late = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    if (!ok) {
        (void)fprintf(stderr,
                      "[FAIL] %s::%s: %s (status %#x)\n",
                      test->suite,
                      test->name,
                      late ? "Timed out" : "ended badly",
                      (unsigned)status);
    }
    return ok;
}

static bool plain_wanted(const struct plain_test *test, const char *filter)
{
    size_t suite = strlen(test->suite);
    return !test->disabled &&
           (filter == NULL || (strncmp(filter, test->suite, suite) == 0 && filter[suite] == '/' &&
                               strcmp(filter + suite + 1, test->name) == 0));
}

int main(int argc, char **argv)
{
    const char *filter = NULL;
    int tested = 0;
    int failing = 0;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--filter") == 0) {
            filter = argv[i + 1];
        }
    }
    for (const struct plain_test *test = plain_tests; test != NULL; test = test->next) {
        if (plain_wanted(test, filter)) {
            tested++;
            failing += plain_run(test) ? 0 : 1;
        }
    }
    (void)fprintf(stderr,
                  "[====] Synthesis: Tested: %d | Passing: %d | Failing: %d\n",
                  tested,
                  tested - failing,
                  failing);
    return tested > 0 && failing == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
