/* utf8.h: one step of a strict UTF-8 reader. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the character that starts at text: 1..4; 0 when what is there is no UTF-8 (an overlong
 * form, a surrogate, a number above U+10FFFF, a stray or missing continuation byte, no byte at
 * all). A NUL is a character of length 1. */
size_t utf8_length(const uint8_t *text, size_t bytes);

#endif
