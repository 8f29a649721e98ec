/* manifest.h: the inside of a part's manifest: what was fed, checked, and staged as rows. */
#ifndef STORE_MANIFEST_H
#define STORE_MANIFEST_H

#include "store/check.h"
#include "store/store.h"

struct manifest_page {
    enum component component;
    uint32_t page;
    uint8_t *data; /* the row's value, as it will be stored */
    size_t bytes;
    uint8_t *first_path;
    size_t first_path_bytes;
};

struct st_manifest {
    struct check check;
    struct manifest_page *pages;
    uint32_t page_count, page_cap;
    size_t staged_bytes;
    bool broken, sealed;
    struct component_info infos[COMPONENT_NR];
    uint32_t info_count;
    uint8_t types[COMPONENT_NR][LIMIT_TYPE_BYTES];
    struct digest root;
};

#endif
