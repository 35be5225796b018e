#ifndef VUG_TEXT_TOKENIZER_BPE_H
#define VUG_TEXT_TOKENIZER_BPE_H

/*
 * Byte-pair encoding of one word (Sennrich et al. 2016, section 3.2), by merges
 * of ids with ranks. A Gemma "word" is everything between two added tokens, so
 * the work is O(n log n) in its length.
 */

#include "text/tokenizer/vocab.h"

#define VUG_NO_ID UINT32_MAX
/* Four times those of the largest published vocabulary, 514,906; they take 40 MB. */
#define VUG_BPE_MAX_MERGES (1 << 21)

/* The pair (left, right) becomes `result`; the rank is the place in the list. */
typedef struct {
    uint32_t left, right, result;
} vug_merge;

typedef struct {
    vug_merge *merge; /* [n_merges], by rank */
    size_t n_merges, cap;
    /* [n_merges] of merges as good as each other, of which the leftmost place goes
     * first, the first; NULL: every rank is one by itself. */
    uint32_t *first_alike;
    vug_index index;       /* of merges by (left, right) */
    uint32_t byte_id[256]; /* of "<0x00>" ..; VUG_NO_ID where there is none */
    uint32_t unk;          /* or VUG_NO_ID: characters without a token are dropped */
    bool byte_fallback;
    bool fuse_unk;      /* one unk for a run of unknown characters */
    bool ignore_merges; /* a word that is a token is that token */
} vug_bpe;

void vug_bpe_release(vug_bpe *bpe);
uint64_t vug_bpe_memory(const vug_bpe *bpe);
/* Appends the merge of the next rank; false when out of memory. */
bool vug_bpe_add(vug_bpe *bpe, vug_merge merge);
/* Builds the index; of equal pairs the last one holds, as in the reference. */
VUG_MUST_CHECK vug_status vug_bpe_seal(vug_bpe *bpe, const char *name, vug_err *err);

/* Ids as they come out; a growing list. All-zero is empty. */
typedef struct {
    int32_t *id;
    size_t n, cap;
} vug_id_list;

bool vug_id_push(vug_id_list *list, uint32_t id);

/* Working memory, to be reused from word to word. All-zero is empty. */
typedef struct vug_symbol vug_symbol;
typedef struct {
    vug_symbol *symbol;
    uint64_t *heap;
    size_t symbol_cap, heap_cap;
} vug_bpe_work;

void vug_bpe_work_release(vug_bpe_work *work);

/* Appends the ids of `word`, which is UTF-8 of at most VUG_BPE_MAX_WORD bytes;
 * false when out of memory. */
#define VUG_BPE_MAX_WORD ((size_t)1 << 30)
bool vug_bpe_encode(const vug_bpe *bpe, const vug_vocab *vocab, vug_str word, vug_bpe_work *work,
                    vug_id_list *out);

#endif
