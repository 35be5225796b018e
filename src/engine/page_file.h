#ifndef VUG_ENGINE_PAGE_FILE_H
#define VUG_ENGINE_PAGE_FILE_H

/*
 * The format of a file that holds one cached page. All numbers are little-endian:
 *
 *      0   8  "vugpage\n"
 *      8   4  version of this format: 1
 *     12   4  part
 *     16   8  bytes of the contents
 *     24  32  key
 *     56  32  SHA-256 of bytes 0 to 55 and the contents
 *     88   -  contents
 *
 * Whoever reads a file knows its key, part and size already, so a file is either exactly what
 * was asked for or worthless.
 */

#include "engine/prefix_key.h"

enum { VUG_PAGE_HEADER = 88 }; /* bytes */

/* What a page is found by. `part` numbers what is stored under one key, such as the groups of
 * layers. */
typedef struct {
    vug_prefix_key key;
    uint32_t part;
} vug_page_id;

/* Fails only when out of memory, as SHA-256 does. */
VUG_MUST_CHECK vug_status vug_page_header_write(const vug_page_id *id, vug_bytes contents,
                                                uint8_t out[VUG_PAGE_HEADER], vug_err *err);
/* VUG_FORMAT: the header is not that of a page with this id and these contents. VUG_NOMEM: it was
 * not checked. */
VUG_MUST_CHECK vug_status vug_page_header_check(const uint8_t header[VUG_PAGE_HEADER],
                                                const vug_page_id *id, vug_bytes contents,
                                                vug_err *err);

#endif
