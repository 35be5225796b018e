/* The keys of prefixes: a chain of SHA-256. */
#include "engine/prefix_key.h"

#include "core/sha256.h"

_Static_assert((int)VUG_PREFIX_KEY == (int)VUG_SHA256_BYTES, "a key is a SHA-256");

vug_status vug_prefix_key_root(const vug_bytes *part, size_t n, vug_prefix_key *out, vug_err *err)
{
    static const char domain[] = "vug prefix key 1";
    vug_sha256 hash;
    vug_prefix_key key;
    vug_sha256_begin(&hash);
    vug_sha256_add(&hash, domain, sizeof(domain));
    for (size_t i = 0; i < n; i++)
        vug_sha256_add_sized(&hash, part[i]);
    VUG_TRY(vug_sha256_finish(&hash, key.byte, err));
    *out = key;
    return VUG_OK;
}

vug_status vug_prefix_key_next(const vug_prefix_key *parent, const int32_t *id, size_t n,
                               vug_prefix_key *out, vug_err *err)
{
    vug_sha256 hash;
    vug_prefix_key key;
    vug_sha256_begin(&hash);
    vug_sha256_add(&hash, parent->byte, sizeof(parent->byte));
    for (size_t i = 0; i < n; i++) {
        const uint32_t token = (uint32_t)id[i];
        const uint8_t bytes[] = { (uint8_t)token, (uint8_t)(token >> 8), (uint8_t)(token >> 16),
                                  (uint8_t)(token >> 24) };
        vug_sha256_add(&hash, bytes, sizeof(bytes));
    }
    VUG_TRY(vug_sha256_finish(&hash, key.byte, err));
    *out = key;
    return VUG_OK;
}
