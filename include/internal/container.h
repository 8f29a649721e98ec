/* container.h: from an embedded member back to the struct that holds it. */
#ifndef INTERNAL_CONTAINER_H
#define INTERNAL_CONTAINER_H

#include <stddef.h>

#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif
