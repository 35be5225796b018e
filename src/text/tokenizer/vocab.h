#ifndef VUG_TEXT_TOKENIZER_VOCAB_H
#define VUG_TEXT_TOKENIZER_VOCAB_H

/*
 * The spellings of all ids, and the way from a spelling to the id.
 *
 * Spellings lie in one pool, each as two bytes of length, the bytes and a NUL.
 * The index holds the tokens of the model only: an added token outside of the
 * model's vocabulary has a spelling, but text that merely contains it never
 * becomes that id (text/tokenizer/added.h matches it).
 *
 * Built in two steps: vug_vocab_add for every token, then vug_vocab_seal, which
 * sizes the index once.
 */

#include "core/mem.h"
#include "text/tokenizer/index.h"

#define VUG_TOKEN_MAX_BYTES 0xffff
#define VUG_MAX_IDS         0xfffffe /* ids are below this */

typedef struct {
    vug_buf pool;
    uint32_t *at; /* [n_ids] offset of the bytes in the pool; 0: no such token */
    size_t n_ids; /* the highest id plus one */
    size_t cap;   /* of `at` */
    size_t n_tokens;
    vug_index index; /* of the tokens that were there when sealed */
} vug_vocab;

/* All-zero is an empty vocabulary. */
void vug_vocab_release(vug_vocab *vocab);
uint64_t vug_vocab_memory(const vug_vocab *vocab);

typedef enum {
    VUG_VOCAB_ADDED,
    VUG_VOCAB_NOMEM,
    VUG_VOCAB_TAKEN,     /* the id has another spelling */
    VUG_VOCAB_DUPLICATE, /* the spelling has another id; from seal */
    VUG_VOCAB_COLLIDES,  /* the spellings are made to collide; from seal */
} vug_vocab_result;

/* `text` has at most VUG_TOKEN_MAX_BYTES, `id` is below VUG_MAX_IDS. */
vug_vocab_result vug_vocab_add(vug_vocab *vocab, vug_str text, uint32_t id);
/* `which` becomes the id that is in the way. */
vug_vocab_result vug_vocab_seal(vug_vocab *vocab, uint32_t *which);

/* The spelling of an id; ptr is NULL where there is none. */
static inline vug_str vug_vocab_text(const vug_vocab *vocab, uint32_t id)
{
    if (id >= vocab->n_ids || vocab->at[id] == 0)
        return (vug_str){ 0 };
    const unsigned char *text = (const unsigned char *)vocab->pool.ptr + vocab->at[id];
    return (vug_str){ (const char *)text, (size_t)text[-2] | (size_t)text[-1] << 8 };
}

/* The id of a token of the model, or -1. */
int32_t vug_vocab_find(const vug_vocab *vocab, vug_str text);
/* The same for `n` <= VUG_VOCAB_BATCH of them, several times as fast: what is
 * waited for is memory, and here all wait at once. */
#define VUG_VOCAB_BATCH 128
void vug_vocab_find_many(const vug_vocab *vocab, const vug_str *text, size_t n, int32_t *id);

#endif
