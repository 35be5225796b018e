/*
 * engine: a file of the cache on disk, checked as the page that its own header names, and as one
 * fixed page. What passes is, byte for byte, what would be written.
 */

#include "engine/page_file.h"
#include "fuzz/fuzz.h"

static void check(const uint8_t *header, const vug_page_id *id, vug_bytes contents)
{
    vug_err err = { 0 };
    uint8_t written[VUG_PAGE_HEADER];
    const vug_status st = vug_page_header_check(header, id, contents, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK) {
        VUG_ASSERT(vug_page_header_write(id, contents, written, NULL) == VUG_OK);
        VUG_ASSERT(memcmp(written, header, VUG_PAGE_HEADER) == 0);
    }
}

int vug_fuzz_page_file(const uint8_t *data, size_t n)
{
    vug_page_id id = { .part = 1 };
    if (n < VUG_PAGE_HEADER)
        return 0;
    const vug_bytes contents = { data + VUG_PAGE_HEADER, n - VUG_PAGE_HEADER };
    check(data, &id, contents);
    id.part = (uint32_t)data[12] | (uint32_t)data[13] << 8 | (uint32_t)data[14] << 16 |
              (uint32_t)data[15] << 24;
    memcpy(id.key.byte, data + 24, VUG_PREFIX_KEY);
    check(data, &id, contents);
    return 0;
}
