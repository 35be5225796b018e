#ifndef VUG_TEXT_TOKENIZER_SPLITS_H
#define VUG_TEXT_TOKENIZER_SPLITS_H

/*
 * The regular expressions that split a text into words before byte-level byte pairs, by
 * the names that llama.cpp gives to them in `tokenizer.ggml.pre` (src/llama-vocab.cpp).
 */

#include "core/bytes.h"

typedef struct {
    const char *name;
    const char *expression; /* as the tokenizer.json of the family has it; "": GPT-2's */
    bool nfc;               /* the tokenizer.json has it; llama.cpp does without */
    bool ignore_merges, add_bos;
} vug_split_rule;

/* NULL for a name that is not known. */
const vug_split_rule *vug_split_by_name(vug_str name);
/* The first of those with that expression; NULL: none. */
const vug_split_rule *vug_split_by_expression(vug_str expression, bool ignore_merges);

#endif
