#ifndef VUG_TEXT_TOKENIZER_VOCAB_H
#define VUG_TEXT_TOKENIZER_VOCAB_H

/*
 * The vocabulary: from ids to token texts and back.
 *
 * Token texts lie in one pool, each as two bytes of length, the bytes and a NUL. The index
 * contains the model's own tokens only: an added token outside of the model's vocabulary has
 * a text, but BPE never finds it by that (text/tokenizer/added_tokens.h matches it).
 *
 * Built in two steps: vug_vocab_add for every token, then vug_vocab_seal, which sizes the
 * index once.
 */

#include "core/mem.h"
#include "text/tokenizer/hash_index.h"

#define VUG_TOKEN_MAX_BYTES 0xffff
#define VUG_MAX_IDS         0xfffffe /* ids are below this */

typedef struct {
    vug_buf pool;
    uint32_t *at; /* [n_ids] offset of the text in the pool; 0: no such token */
    size_t n_ids; /* the highest id plus one */
    size_t cap;   /* of `at` */
    size_t n_tokens;
    vug_hash_index index; /* the tokens that were there when it was sealed */
} vug_vocab;

/* All-zero is an empty vocabulary. */
void vug_vocab_release(vug_vocab *vocab);
uint64_t vug_vocab_memory(const vug_vocab *vocab);

typedef enum {
    VUG_VOCAB_ADDED,
    VUG_VOCAB_NOMEM,
    VUG_VOCAB_TAKEN,     /* the id has another text */
    VUG_VOCAB_DUPLICATE, /* the text has another id; from seal */
    VUG_VOCAB_COLLIDES,  /* too many hash collisions; from seal */
} vug_vocab_result;

/* `text` has at most VUG_TOKEN_MAX_BYTES, `id` is below VUG_MAX_IDS. */
vug_vocab_result vug_vocab_add(vug_vocab *vocab, vug_str text, uint32_t id);
/* On failure `which` is the id that could not be indexed. */
vug_vocab_result vug_vocab_seal(vug_vocab *vocab, uint32_t *which);

/* The text of an id; ptr is NULL if there is none. */
static inline vug_str vug_vocab_text(const vug_vocab *vocab, uint32_t id)
{
    if (id >= vocab->n_ids || vocab->at[id] == 0)
        return (vug_str){ 0 };
    const unsigned char *text = (const unsigned char *)vocab->pool.ptr + vocab->at[id];
    return (vug_str){ (const char *)text, (size_t)text[-2] | (size_t)text[-1] << 8 };
}

/* The id of a token of the model, or -1. */
int32_t vug_vocab_find(const vug_vocab *vocab, vug_str text);
/* The same for `n` <= VUG_VOCAB_BATCH texts, several times as fast: the cost is memory
 * latency, and here the accesses overlap. */
#define VUG_VOCAB_BATCH 128
void vug_vocab_find_many(const vug_vocab *vocab, const vug_str *text, size_t n, int32_t *id);

#endif
