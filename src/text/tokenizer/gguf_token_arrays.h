#ifndef VUG_TEXT_TOKENIZER_GGUF_TOKEN_ARRAYS_H
#define VUG_TEXT_TOKENIZER_GGUF_TOKEN_ARRAYS_H

/* A tokenizer.json as the arrays that llama.cpp reads from a GGUF file (conversion/base.py,
 * set_vocab; src/llama-vocab.cpp). */

#include "core/mem.h"
#include "core/status.h"

typedef struct {
    vug_str left, right;
} vug_gguf_merge;

/* Strings point into the JSON text or into `arena`. */
typedef struct {
    vug_arena arena;
    int64_t n;      /* ids */
    vug_str *piece; /* [n]; ptr NULL: no token has the id */
    int32_t *kind;  /* [n], vug_spm_piece_kind */
    vug_gguf_merge *merges;
    size_t n_merges;
    bool bpe, byte_fallback, byte_level, ignore_merges;
    bool prefix; /* a space is put in front of every text */
    bool other;  /* there are steps that no llama.cpp pre-tokenizer has */
    int n_splits;
    vug_str unknown; /* empty: none */
    vug_str regex;   /* of the pre-tokenizer; empty: GPT-2's */
} vug_gguf_token_arrays;

/* Reads a tokenizer.json; `out` is to be released even after a failure. `name` appears in
 * error messages. */
VUG_MUST_CHECK vug_status vug_gguf_token_arrays_read(vug_gguf_token_arrays *out, int64_t n_vocab,
                                                     vug_str json, const char *name, vug_err *err);
void vug_gguf_token_arrays_release(vug_gguf_token_arrays *a);

#endif
