#ifndef VUG_MODELS_GGUF_KEYS_H
#define VUG_MODELS_GGUF_KEYS_H

/*
 * What GGUF calls the keys of a config, below "ARCHITECTURE.". Keys below "vug." and
 * "rope.llama3.", and "rope.partial_rotary_factor", are ours: other programs know no
 * key for what they say, and pass them over.
 */

#include "models/common.h"

/* Whole numbers and others are copied by themselves; the rest needs code. */
typedef enum { VUG_KEY_WHOLE, VUG_KEY_REAL, VUG_KEY_OTHER } vug_key_kind;

typedef struct {
    const char *gguf, *json;
    vug_key_kind kind;
    bool needed;
    size_t field; /* in vug_config: int64_t of WHOLE, float of REAL; written unless 0 */
} vug_key_row;

size_t vug_key_rows(void);
/* `i` < count. */
const vug_key_row *vug_key_row_at(size_t i);

/* The ids that end a text, in the order of a config's. */
enum { VUG_N_EOS_KEYS = 3 };
const char *vug_eos_key(int i);
#define VUG_ALL_EOS_KEY "vug.eos_token_ids" /* where they are more */
#define VUG_DTYPE_KEY   "vug.dtype"

/* What query_pre_attn_scalar is where no key says it. */
int64_t vug_implied_scalar(const vug_gguf_arch *gguf, const vug_config *c);

/* Whether layer `i` has a window if no key says it. */
static inline bool vug_implied_window(int64_t period, int64_t i)
{
    return period > 0 && (i + 1) % period != 0;
}

#endif
