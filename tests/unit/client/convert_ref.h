/* convert_ref.h: what a conversion must give, worked out without the code under test: a pattern
 * becomes a double (which holds every value of every type exactly) by ldexp, and a result is right
 * when no neighbour of it is nearer. Runs with the processor's default settings only. */
#ifndef CLIENT_CONVERT_REF_H
#define CLIENT_CONVERT_REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ref_class { REF_NUMBER, REF_INFINITE, REF_NAN };

struct ref_value {
    enum ref_class class;
    bool negative;
    double size;      /* of a number, without its sign */
    uint64_t payload; /* of a NaN, its top bit at bit 51 */
};

struct ref_value ref_decode(uint32_t dtype, uint64_t bits);

/* Is `result` of type `to` the right answer for `bits` of type `from`? */
bool ref_right(uint32_t from, uint64_t bits, uint32_t to, uint64_t result);

/* Is `result` another value than `bits`, so that nothing could take it back? */
bool ref_changed(uint32_t from, uint64_t bits, uint32_t to, uint64_t result);

/* Element i of a packed tensor. */
uint64_t ref_get(uint32_t dtype, const void *tensor, size_t i);
void ref_put(uint32_t dtype, void *tensor, size_t i, uint64_t bits);

/* Converts a tensor and holds every element, the counts and the first index against the above; then
 * again in pieces, which must make no difference. */
void ref_tensor(uint32_t from, const void *src, uint32_t to, size_t elements);

extern const uint32_t ref_floats[15]; /* every float type; ends with 0 */
extern const uint32_t ref_targets[6]; /* those that are offered as targets; ends with 0 */

#endif
