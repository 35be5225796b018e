#ifndef VUG_TEXT_TOKENIZER_SPM_PIECES_H
#define VUG_TEXT_TOKENIZER_SPM_PIECES_H

/*
 * Pieces with scores and kinds, as SentencePiece has them (Kudo and Richardson 2018): in a
 * tokenizer.model, and as arrays in GGUF. What both become is made here.
 */

#include "text/tokenizer/tokenizer.h"

/* The numbers of both formats (sentencepiece_model.proto, Type; tokenizer.ggml.token_type). */
typedef enum {
    VUG_PIECE_NORMAL = 1,
    VUG_PIECE_UNKNOWN = 2,
    VUG_PIECE_CONTROL = 3,
    VUG_PIECE_USER = 4,
    VUG_PIECE_UNUSED = 5,
    VUG_PIECE_BYTE = 6,
} vug_piece_kind;

#define VUG_PIECE_MAX_BYTES 256 /* of one that is split, or walked to, which takes their square */

/* While a tokenizer is read. The spellings lie in its vocabulary. */
typedef struct {
    vug_tokenizer *t;
    const char *file; /* for sentences */
    float *score;     /* [n] */
    uint8_t *kind;    /* [n], vug_piece_kind */
    size_t n, cap;
    bool spaces_spelled; /* a run of spaces that a user defined may be spelled as such: it is a
                            piece of as many U+2581 */
    bool unused_merge;   /* unused pieces take part in merges, and are split again at the end */
    vug_err *err;
} vug_spm_pieces;

void vug_spm_release(vug_spm_pieces *p);
/* The piece of the next id. */
VUG_MUST_CHECK vug_status vug_spm_add(vug_spm_pieces *p, vug_str text, double score,
                                      vug_piece_kind kind);
/* After the last one: the vocabulary can be searched. */
VUG_MUST_CHECK vug_status vug_spm_seal(vug_spm_pieces *p);

/* Where pieces that a user defined are found. */
typedef enum {
    VUG_USER_RAW,        /* before the text is normalized */
    VUG_USER_NORMALIZED, /* in the normalized text */
    VUG_USER_SCORED,     /* by their scores, among the others */
} vug_user_place;

/* Pieces that are found in a text as a whole become added tokens. */
VUG_MUST_CHECK vug_status vug_spm_find_whole(vug_spm_pieces *p, vug_user_place user);

/*
 * Their byte-pair encoding (bpe_model.cc): of all pairs of neighbours that join to a
 * piece, the one of the best score goes first, of equal ones the leftmost. So any split of
 * a piece into two pieces is a merge, and its rank is the score of what comes out.
 */
VUG_MUST_CHECK vug_status vug_spm_merge(vug_spm_pieces *p);

/* ---- tokenizer_config.json (spm_config.c) --------------------------------------------- */

/* What stands around a text. */
typedef struct {
    bool add_bos, add_eos;
    int64_t bos, eos; /* ids, if they are those of pieces */
} vug_spm_ends;

/* Changes what the text of a tokenizer_config.json, which may be empty, says otherwise; also
 * which pieces are special. Tokens that the model does not have become added tokens. */
VUG_MUST_CHECK vug_status vug_spm_config(vug_str json, vug_spm_pieces *p, vug_spm_ends *ends);

#endif
