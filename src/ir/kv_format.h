#ifndef VUG_IR_KV_FORMAT_H
#define VUG_IR_KV_FORMAT_H

/* Formats in which a cache stores keys and values: X(id, name). The first is the default;
 * docs/arithmetic.md defines how each rounds. */

#include "core/bytes.h"

#define VUG_KV_FORMATS(X) \
    X(F32, "f32")         \
    X(F16, "f16")         \
    X(BF16, "bf16")       \
    X(Q8, "q8")
#define VUG_KV_FORMAT_NAMES "\"f32\", \"f16\", \"bf16\" or \"q8\"" /* for error messages */

typedef enum {
#define X(id, name) VUG_KV_##id,
    VUG_KV_FORMATS(X)
#undef X
            VUG_KV_COUNT
} vug_kv_format;

enum { VUG_KV_Q8_BLOCK = 32 }; /* elements of a head's key or value that share a scale in Q8 */

const char *vug_kv_format_name(vug_kv_format kv);
/* VUG_KV_COUNT if no format has this name. */
vug_kv_format vug_kv_format_find(vug_str name);

#endif
