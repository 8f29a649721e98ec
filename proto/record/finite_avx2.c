/* finite_avx2.c: with vectors of 256 bits; compiled for AVX2, called where there is AVX2. */
#define FINITE_SET finite_avx2
#define FINITE_NAME "avx2"
#define FINITE_USABLE (__builtin_cpu_supports("avx2") != 0)
#include "record/finite_body.h"
