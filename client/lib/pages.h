/* pages.h: address space for huge pages, and pages that are there before they are needed.
 *
 * Huge pages are what makes a disk fast here, not only the processor: a direct read or write of
 * 8 MiB is a few pieces for the device, not 2048. Measured on a virtual disk: 9 GB/s instead of 2.
 */
#ifndef LIB_PAGES_H
#define LIB_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGES_HUGE_BYTES (UINT64_C(2) << 20)

/* Address space without memory, where huge pages can be. NULL: there is not so much. */
void *pages_reserve(uint64_t bytes);
/* A forked child does not get it, and huge pages are welcome. Neither is needed to be right. */
void pages_advise(void *base, uint64_t bytes);
/* Have all pages of a writable range there, huge if they can be; nothing in them changes. Takes as
 * long as the kernel needs to clear them.   False: there is no memory for them, or the kernel
 * cannot (Linux before 5.14): then who writes there will see. */
bool pages_touch(void *base, uint64_t bytes);
/* Map the pages of a shared mapping that are there already, from one offset to another: at once it
 * is cheaper than one by one as they are read. */
void pages_read_ahead(void *base, uint64_t from, uint64_t to);

#endif
