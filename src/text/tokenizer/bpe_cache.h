#ifndef VUG_TEXT_TOKENIZER_BPE_CACHE_H
#define VUG_TEXT_TOKENIZER_BPE_CACHE_H

/*
 * Makes BPE faster without changing its result: a word is split where no merge can cross,
 * and the ids of parts that occurred before are cached.
 *
 * A Gemma "word" is everything between two added tokens; the words of a language begin with
 * U+2581 in it. The only merges whose right side begins with U+2581 are those of runs of it
 * and one more, so nothing ever merges across any other U+2581.
 */

#include "text/tokenizer/bpe.h"

typedef struct {
    bool possible;
    uint8_t joined[256]; /* after a byte: whether a merge puts U+2581 there */
} vug_safe_splits;

/* `bpe` is complete. */
void vug_safe_splits_init(vug_safe_splits *splits, const vug_bpe *bpe, const vug_vocab *vocab);

/* The cache and working memory of one encoding, of one thread. All-zero is empty. */
typedef struct vug_bpe_memo vug_bpe_memo;
typedef struct {
    vug_bpe_work bpe;
    vug_bpe_memo *memo;
} vug_bpe_cache;

/* For a text of `len` bytes; short ones get no memo. False when out of memory. */
bool vug_bpe_cache_init(vug_bpe_cache *cache, size_t len);
void vug_bpe_cache_release(vug_bpe_cache *cache);

typedef struct {
    const vug_bpe *bpe;
    const vug_vocab *vocab;
    const vug_safe_splits *splits;
} vug_bpe_tables;

/* Appends the ids that vug_bpe_encode appends. False when out of memory. */
bool vug_bpe_encode_cached(const vug_bpe_tables *tables, vug_str word, vug_bpe_cache *cache,
                           vug_id_list *out);

#endif
