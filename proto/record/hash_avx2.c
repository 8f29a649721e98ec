/* hash_avx2.c: XXH3 with vectors of 256 bits; compiled for AVX2, called where there is AVX2. */
#define HASH_SET hash_avx2
#define HASH_NAME "avx2"
#define HASH_USABLE (__builtin_cpu_supports("avx2") != 0)
#include "record/hash_body.h"
