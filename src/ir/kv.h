#ifndef VUG_IR_KV_H
#define VUG_IR_KV_H

/* Formats in which a cache holds keys and values: X(id, name). The first is what is
 * taken when nobody chooses; docs/arithmetic.md defines how each rounds. */

#include "core/bytes.h"

#define VUG_KV_TABLE(X) \
    X(F32, "f32")       \
    X(F16, "f16")       \
    X(BF16, "bf16")     \
    X(Q8, "q8")
#define VUG_KV_NAMES "\"f32\", \"f16\", \"bf16\" or \"q8\"" /* for a sentence */

typedef enum {
#define X(id, name) VUG_KV_##id,
    VUG_KV_TABLE(X)
#undef X
            VUG_KV_COUNT
} vug_kv;

enum { VUG_KV_GROUP = 32 }; /* elements of a head's key or value that share a scale of Q8 */

const char *vug_kv_name(vug_kv kv);
/* VUG_KV_COUNT when no format has this name. */
vug_kv vug_kv_find(vug_str name);

#endif
