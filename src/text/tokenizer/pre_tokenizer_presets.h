#ifndef VUG_TEXT_TOKENIZER_PRE_TOKENIZER_PRESETS_H
#define VUG_TEXT_TOKENIZER_PRE_TOKENIZER_PRESETS_H

/*
 * The regular expressions of byte-level pre-tokenizers, by the names that llama.cpp gives
 * them in `tokenizer.ggml.pre` (src/llama-vocab.cpp).
 */

#include "core/bytes.h"

typedef struct {
    const char *name;
    const char *regex; /* as in the family's tokenizer.json; "": GPT-2's */
    bool nfc;          /* in the tokenizer.json; llama.cpp does not normalize */
    bool ignore_merges, add_bos;
} vug_pre_tokenizer_preset;

/* NULL for an unknown name. */
const vug_pre_tokenizer_preset *vug_pre_tokenizer_preset_by_name(vug_str name);
/* The first preset with that regular expression, or NULL. */
const vug_pre_tokenizer_preset *vug_pre_tokenizer_preset_by_regex(vug_str regex,
                                                                  bool ignore_merges);

#endif
