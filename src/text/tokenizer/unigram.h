#ifndef VUG_TEXT_TOKENIZER_UNIGRAM_H
#define VUG_TEXT_TOKENIZER_UNIGRAM_H

/*
 * Unigram language models (Kudo 2018, section 3): of all ways to cut a text into pieces
 * the one with the best sum of scores. Which ones are compared, in which precision and
 * what wins a tie is that of the two reference implementations, SentencePiece
 * (unigram_model.cc, EncodeOptimized) and HF tokenizers (models/unigram/model.rs).
 */

#include "text/tokenizer/bpe.h"

#define VUG_UNIGRAM_MAX_PIECE 256                 /* bytes; encoding walks as far from each place */
#define VUG_UNIGRAM_MAX_NODES ((uint32_t)1 << 23) /* some four times those of 250,000 pieces */
#define VUG_UNIGRAM_PENALTY   10 /* an unknown character is so much below the worst */

typedef struct {
    uint32_t id;    /* of the piece that ends here, or VUG_NO_ID */
    uint32_t first; /* its children are neighbours, ascending by byte */
    uint16_t n;
    uint8_t byte;
} vug_unigram_node;

typedef struct {
    vug_unigram_node *node; /* [n_nodes], the root first */
    uint32_t n_nodes;
    uint32_t root[256]; /* the root's child of each byte, or 0 */
    double *score;      /* [n_ids] */
    size_t n_ids;
    double unk_score;
    uint32_t unk;
    uint32_t byte_id[256]; /* as in vug_bpe */
    bool byte_fallback;
    bool fuse_unk; /* unknown characters that are neighbours are one */
    /* Sums are rounded to floats, and what is unknown stays so, as in SentencePiece; else
     * sums are doubles, and what was fused is looked up once more, as in HF tokenizers. */
    bool sentencepiece;
} vug_unigram;

/* A piece that a text may be cut into; the spelling is borrowed. */
typedef struct {
    vug_str text; /* 1 to VUG_UNIGRAM_MAX_PIECE bytes of UTF-8 */
    uint32_t id;
} vug_unigram_piece;

void vug_unigram_release(vug_unigram *u);
uint64_t vug_unigram_memory(const vug_unigram *u);
/* Sorts `piece` and makes the tree of them. */
VUG_MUST_CHECK vug_status vug_unigram_seal(vug_unigram *u, vug_unigram_piece *piece, size_t n,
                                           const char *name, vug_err *err);

/* Working memory, to be reused. All-zero is empty. */
typedef struct vug_unigram_end vug_unigram_end;
typedef struct {
    vug_unigram_end *end;
    size_t cap;
} vug_unigram_work;

void vug_unigram_work_release(vug_unigram_work *work);

/* Appends the ids of `word`, UTF-8 of at most VUG_BPE_MAX_WORD bytes; false when out of
 * memory. */
bool vug_unigram_encode(const vug_unigram *u, const vug_vocab *vocab, vug_str word,
                        vug_unigram_work *work, vug_id_list *out);

#endif
