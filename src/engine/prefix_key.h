#ifndef VUG_ENGINE_PREFIX_KEY_H
#define VUG_ENGINE_PREFIX_KEY_H

/*
 * Names of prefixes. The key of an empty prefix is a hash of everything but the tokens that
 * decides the contents of its pages. The key of a longer one is the SHA-256 of the key before it
 * and the tokens between them. So equal keys have equal pages, in this process and in others.
 */

#include "core/bytes.h"
#include "core/status.h"

enum { VUG_PREFIX_KEY = 32 }; /* bytes of a key: SHA-256 */

typedef struct {
    uint8_t byte[VUG_PREFIX_KEY];
} vug_prefix_key;

/* The key of the empty prefix from any byte strings part [n]; their order and borders count. */
VUG_MUST_CHECK vug_status vug_prefix_key_root(const vug_bytes *part, size_t n, vug_prefix_key *out,
                                              vug_err *err);
/* The key of the prefix that continues the one of `parent` with tokens id [n]. `out` may be
 * `parent`. Fails only when out of memory. */
VUG_MUST_CHECK vug_status vug_prefix_key_next(const vug_prefix_key *parent, const int32_t *id,
                                              size_t n, vug_prefix_key *out, vug_err *err);

#endif
