/* flip_words.h: which bits are flipped, and what has to be said of one. */
#ifndef INTEGRATION_FLIP_WORDS_H
#define INTEGRATION_FLIP_WORDS_H

#include "flip.h"

/* One bit of each byte, another one from byte to byte; in the long tier, which the environment asks
 * for (CAIRN_TEST_FLIP_ALL), two. */
bool flip_long(void);
unsigned flip_passes(void);
uint8_t flip_mask(uint64_t at, unsigned pass);
/* Of a value that is large only the edges are flipped, and some bytes in the middle; in the long
 * tier all, unless it is very large. */
bool flip_chosen(const struct flip_range *r, uint64_t at);

/* What a sentence about damage must contain: the component or the database; the entry (""): any).
 * `only` is for where the entry need not be named: another one must not be. */
struct words {
    const char *component;
    char path[FLIP_ENTRY_BYTES], only[FLIP_ENTRY_BYTES];
};
/* Of a row. `copied`: the boundary has a segment, in which there is another copy of it. */
void words_of_row(const struct flip *f, bool copied, struct words *ret);
void words_of_range(const struct flip_range *r, struct words *ret);
void words_expect(const char *text, const struct words *w, const char *where);

/* "component seq 2 rank 0 model page 1, byte 7 of its value ^ 0x80", "byte 4099 of the segment..."
 */
enum { FLIP_WHERE_BYTES = 256 };
void where_of_row(const struct flip *f, char ret_text[FLIP_WHERE_BYTES]);
void where_of_byte(uint64_t at, uint8_t mask, char ret_text[FLIP_WHERE_BYTES]);

#endif
