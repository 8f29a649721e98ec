/* hash_avx512.c: XXH3 with vectors of 512 bits; compiled for AVX-512, called where there is it. */
#define HASH_SET hash_avx512
#define HASH_NAME "avx512"
#define HASH_USABLE (__builtin_cpu_supports("avx512f") != 0)
#include "record/hash_body.h"
