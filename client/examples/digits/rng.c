#include "rng.h"

/* Every input bit reaches every output bit: two rounds of multiply and fold. */
static uint64_t rng_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 29;
    x *= UINT64_C(0xa0761d6478bd642f);
    x ^= x >> 32;
    return x;
}

void rng_init(struct rng *r, uint64_t seed)
{
    r->key = rng_mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    r->counter = 0;
}

/* The key enters twice, so that the streams of two keys are not shifted copies of each other. */
uint64_t rng_next(struct rng *r)
{
    uint64_t x = rng_mix(r->key + r->counter * UINT64_C(0x9e3779b97f4a7c15));
    r->counter++;
    return rng_mix(x ^ (r->key >> 1));
}

/* The high half of a 64 x 32 bit product; n is far below 2^32, so the bias is below 2^-32. */
uint64_t rng_below(struct rng *r, uint64_t n)
{
    return ((rng_next(r) >> 32) * n) >> 32;
}

float rng_signed_unit(struct rng *r)
{
    return (float)(int32_t)(rng_next(r) >> 40) * 0x1p-23F - 1.0F;
}
