#include "stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t stop_signals;

static void stop_ask(int signo)
{
    (void)signo;
    stop_signals = 1;
}

void stop_on_sigterm(void)
{
    struct sigaction action = { .sa_handler = stop_ask, .sa_flags = SA_RESTART };
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool stop_asked(void)
{
    return stop_signals != 0;
}
