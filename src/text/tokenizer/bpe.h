#ifndef VUG_TEXT_TOKENIZER_BPE_H
#define VUG_TEXT_TOKENIZER_BPE_H

/*
 * Byte-pair encoding of one word (Sennrich et al. 2016, section 3.2), by ranked merges of
 * ids. A Gemma "word" is everything between two added tokens, so the work is O(n log n) in
 * its length.
 */

#include "text/tokenizer/vocab.h"

#define VUG_NO_ID UINT32_MAX
/* Four times those of the largest published vocabulary, 514,906; they take 40 MB. */
#define VUG_BPE_MAX_MERGES (1 << 21)

/* The pair (left, right) becomes `result`; the rank is the index in the list. */
typedef struct {
    uint32_t left, right, result;
} vug_bpe_merge;

typedef struct {
    vug_bpe_merge *merge; /* [n_merges], by rank */
    size_t n_merges, cap;
    /* [n_merges] The lowest rank among merges of equal score, of which the leftmost in the
     * text goes first. NULL: every merge has a rank of its own. */
    uint32_t *priority;
    vug_hash_index index;  /* merges by (left, right) */
    uint32_t byte_id[256]; /* ids of "<0x00>" and so on; VUG_NO_ID where there is none */
    uint32_t unk;          /* VUG_NO_ID: characters without a token are dropped */
    bool byte_fallback;
    bool fuse_unk;      /* one unk for a run of unknown characters */
    bool ignore_merges; /* a word that is a token becomes that token */
} vug_bpe;

void vug_bpe_release(vug_bpe *bpe);
uint64_t vug_bpe_memory(const vug_bpe *bpe);
/* Appends the merge of the next rank; false when out of memory. */
bool vug_bpe_add_merge(vug_bpe *bpe, vug_bpe_merge merge);
/* Builds the index. Of equal pairs the last one counts, as in the reference. */
VUG_MUST_CHECK vug_status vug_bpe_seal(vug_bpe *bpe, const char *name, vug_err *err);
/* Finds the ids of "<0x00>" to "<0xFF>" (upper case); VUG_NO_ID where there is none. */
void vug_bpe_find_byte_tokens(const vug_vocab *vocab, uint32_t id[256]);

/* A growing list of ids. All-zero is empty. */
typedef struct {
    int32_t *id;
    size_t n, cap;
} vug_id_list;

bool vug_id_list_push(vug_id_list *list, uint32_t id);

/* Working memory, reused from word to word. All-zero is empty. */
typedef struct vug_bpe_symbol vug_bpe_symbol;
typedef struct {
    vug_bpe_symbol *symbol;
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
