/* finite_avx512.c: with vectors of 512 bits; compiled for AVX-512, called where there is it. */
#define FINITE_SET finite_avx512
#define FINITE_NAME "avx512"
#define FINITE_USABLE (__builtin_cpu_supports("avx512bw") != 0)
#include "record/finite_body.h"
