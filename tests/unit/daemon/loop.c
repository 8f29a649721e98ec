#include "loop.h"

/* The first loop of a process opens a pipe for signals, for good: not a leak of any test. */
__attribute__((constructor)) static void loop_first(void)
{
    uv_loop_t loop;
    (void)uv_loop_init(&loop);
    (void)uv_loop_close(&loop);
}

struct loop_alarm {
    uv_timer_t timer;
    bool late, closed;
};

static void loop_late(uv_timer_t *timer)
{
    struct loop_alarm *alarm = timer->data;
    alarm->late = true;
}

static void loop_alarm_closed(uv_handle_t *handle)
{
    struct loop_alarm *alarm = handle->data;
    alarm->closed = true;
}

bool loop_until(uv_loop_t *loop, bool (*done)(void *arg), void *arg)
{
    struct loop_alarm alarm = { .late = false };
    (void)uv_timer_init(loop, &alarm.timer);
    alarm.timer.data = &alarm;
    (void)uv_timer_start(&alarm.timer, loop_late, LOOP_DEADLINE_MS, 0);
    while (!alarm.late && !done(arg)) {
        (void)uv_run(loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&alarm.timer, loop_alarm_closed);
    while (!alarm.closed) {
        (void)uv_run(loop, UV_RUN_NOWAIT);
    }
    return !alarm.late;
}

static bool loop_is_idle(void *arg)
{
    uv_loop_t *loop = arg;
    return loop->active_handles <= 1; /* the deadline's own */
}

bool loop_end(uv_loop_t *loop)
{
    return loop_until(loop, loop_is_idle, loop) && uv_run(loop, UV_RUN_NOWAIT) == 0 &&
           uv_loop_close(loop) == 0;
}

bool loop_flag(void *arg)
{
    const bool *flag = arg;
    return *flag;
}
