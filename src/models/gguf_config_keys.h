#ifndef VUG_MODELS_GGUF_CONFIG_KEYS_H
#define VUG_MODELS_GGUF_CONFIG_KEYS_H

/*
 * The keys of a config in GGUF files, without "ARCHITECTURE." in front. Keys that begin with
 * "vug." or "rope.llama3.", and "rope.partial_rotary_factor", are our own: other programs
 * have no key for these facts and ignore ours.
 */

#include "models/common.h"

/* INT and FLOAT keys are copied; SPECIAL ones need code of their own. */
typedef enum {
    VUG_GGUF_CONFIG_INT,
    VUG_GGUF_CONFIG_FLOAT,
    VUG_GGUF_CONFIG_SPECIAL
} vug_gguf_config_kind;

typedef struct {
    const char *gguf, *json;
    vug_gguf_config_kind kind;
    bool needed;
    size_t field; /* offset in vug_config: int64_t of INT, float of FLOAT; 0 is not written */
} vug_gguf_config_row;

size_t vug_gguf_config_row_count(void);
/* `i` < count. */
const vug_gguf_config_row *vug_gguf_config_row_at(size_t i);

/* The keys of the end-of-sequence ids, in the order of a config's. */
enum { VUG_N_GGUF_EOS_KEYS = 3 };
const char *vug_gguf_eos_key(int i);
#define VUG_GGUF_EOS_IDS_KEY "vug.eos_token_ids" /* if there are more */
#define VUG_GGUF_DTYPE_KEY   "vug.dtype"

/* query_pre_attn_scalar if no key has it. */
int64_t vug_gguf_implied_attn_scalar(const vug_gguf_arch *gguf, const vug_config *c);

/* Whether layer `i` has a window if no key says so. */
static inline bool vug_gguf_implied_window(int64_t period, int64_t i)
{
    return period > 0 && (i + 1) % period != 0;
}

#endif
