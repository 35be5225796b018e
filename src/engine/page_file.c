/* The header of a file that holds a page. */
#include "engine/page_file.h"

#include "core/sha256.h"

enum { VERSION = 1, CHECKSUM_AT = 56 };

static void put_le(uint8_t *to, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

vug_status vug_page_header_write(const vug_page_id *id, vug_bytes contents,
                                 uint8_t out[VUG_PAGE_HEADER], vug_err *err)
{
    static const uint8_t magic[] = { 'v', 'u', 'g', 'p', 'a', 'g', 'e', '\n' };
    vug_sha256 hash;
    memcpy(out, magic, sizeof(magic));
    put_le(out + 8, VERSION, 4);
    put_le(out + 12, id->part, 4);
    put_le(out + 16, contents.len, 8);
    memcpy(out + 24, id->key.byte, VUG_PREFIX_KEY);
    vug_sha256_begin(&hash);
    vug_sha256_add(&hash, out, CHECKSUM_AT);
    vug_sha256_add(&hash, contents.ptr, contents.len);
    return vug_sha256_finish(&hash, out + CHECKSUM_AT, err);
}

/* There is one valid header, so this compares with it and interprets nothing. */
vug_status vug_page_header_check(const uint8_t header[VUG_PAGE_HEADER], const vug_page_id *id,
                                 vug_bytes contents, vug_err *err)
{
    uint8_t expected[VUG_PAGE_HEADER];
    VUG_TRY(vug_page_header_write(id, contents, expected, err));
    if (memcmp(header, expected, CHECKSUM_AT) != 0)
        return VUG_FAIL(err, VUG_FORMAT, "not the header of the page that the file is named after");
    if (memcmp(header + CHECKSUM_AT, expected + CHECKSUM_AT, VUG_SHA256_BYTES) != 0)
        return VUG_FAIL(err, VUG_FORMAT, "the contents do not have the checksum in the header");
    return VUG_OK;
}
