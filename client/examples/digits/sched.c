#include "sched.h"

#include <math.h>

#define SCHED_PI 3.14159265358979323846
#define SCHED_COSINE_FLOOR 0.02 /* of the initial rate */
#define SCHED_STEP_FACTOR 0.8

void sched_init(struct sched *s, enum sched_kind kind, double initial_lr, uint64_t period)
{
    *s = (struct sched){ .kind = kind,
                         .initial_lr = initial_lr,
                         .period = period,
                         .current_iter = UINT64_MAX,
                         .iter_idx = -1 };
}

double sched_power(double base, uint64_t n)
{
    double result = 1.0;
    for (; n > 0; n >>= 1) {
        if (n & 1) {
            result *= base;
        }
        base *= base;
    }
    return result;
}

static double sched_cosine(struct sched *s)
{
    s->current_iter++; /* the first wraps to 0 */
    double turn = SCHED_PI * (double)(s->current_iter % s->period) / (double)s->period;
    double lowest = SCHED_COSINE_FLOOR * s->initial_lr;
    return lowest + 0.5 * (s->initial_lr - lowest) * (1.0 + cos(turn));
}

static double sched_step(struct sched *s)
{
    s->iter_idx++;
    uint64_t stairs = (uint64_t)s->iter_idx / s->period;
    return s->initial_lr * sched_power(SCHED_STEP_FACTOR, stairs);
}

double sched_next(struct sched *s)
{
    return s->kind == SCHED_COSINE ? sched_cosine(s) : sched_step(s);
}
