#ifndef VUG_TEXT_TOKENIZER_SPM_PIECES_H
#define VUG_TEXT_TOKENIZER_SPM_PIECES_H

/*
 * Pieces with scores and kinds, as SentencePiece has them (Kudo and Richardson 2018). They
 * come from a tokenizer.model or from the arrays of a GGUF file; this turns both into a
 * vocabulary, added tokens and merges.
 */

#include "text/tokenizer/internal.h"

/* The values of both formats (sentencepiece_model.proto, Type; tokenizer.ggml.token_type). */
typedef enum {
    VUG_PIECE_NORMAL = 1,
    VUG_PIECE_UNKNOWN = 2,
    VUG_PIECE_CONTROL = 3,
    VUG_PIECE_USER_DEFINED = 4,
    VUG_PIECE_UNUSED = 5,
    VUG_PIECE_BYTE = 6,
} vug_spm_piece_kind;

/* Deriving the merges of a piece takes the square of its length. */
#define VUG_SPM_PIECE_MAX_BYTES 256

/* Exists while a tokenizer is read. The pieces' texts are in the tokenizer's vocabulary. */
typedef struct {
    vug_tokenizer *t;
    const char *file; /* for error messages */
    float *score;     /* [n] */
    uint8_t *kind;    /* [n], vug_spm_piece_kind */
    size_t n, cap;
    bool spaces_to_metaspaces; /* a user-defined run of spaces becomes as many U+2581 */
    bool merges_unused; /* unused pieces take part in merges and are split again at the end */
    vug_err *err;
} vug_spm_pieces;

void vug_spm_release(vug_spm_pieces *p);
/* Adds the piece of the next id. */
VUG_MUST_CHECK vug_status vug_spm_add(vug_spm_pieces *p, vug_str text, double score,
                                      vug_spm_piece_kind kind);
/* After the last piece: makes the vocabulary searchable. */
VUG_MUST_CHECK vug_status vug_spm_seal(vug_spm_pieces *p);

/* When user-defined pieces are matched. */
typedef enum {
    VUG_SPM_MATCH_RAW,        /* before the text is normalized */
    VUG_SPM_MATCH_NORMALIZED, /* in the normalized text */
} vug_spm_match_stage;

/* Makes added tokens of the pieces that are matched as a whole: control, unknown and
 * user-defined ones. */
VUG_MUST_CHECK vug_status vug_spm_make_added_tokens(vug_spm_pieces *p, vug_spm_match_stage user);

/*
 * Derives the merges of SentencePiece's BPE (bpe_model.cc): of all adjacent pairs that join
 * to a piece, the one with the best score is merged first, of equal ones the leftmost. So
 * every split of a piece into two pieces is a merge, ranked by the score of the piece.
 */
VUG_MUST_CHECK vug_status vug_spm_derive_merges(vug_spm_pieces *p);

/* Sets the steps around the model: pieces have U+2581 for spaces. With `prefix` one is put in
 * front of every text, as in older models, and removed again by decoding. */
void vug_spm_set_steps(vug_tokenizer *t, bool prefix);

/* ---- tokenizer_config.json (spm_config.c) --------------------------------------------- */

/* BOS and EOS around a text. */
typedef struct {
    bool add_bos, add_eos;
    int64_t bos, eos; /* may be no ids of pieces */
} vug_spm_bos_eos;

/* Applies what a tokenizer_config.json overrides: BOS and EOS, and which pieces are special.
 * Tokens that the model lacks become added tokens. `json` may be empty. */
VUG_MUST_CHECK vug_status vug_spm_read_config(vug_str json, vug_spm_pieces *p,
                                              vug_spm_bos_eos *bos_eos);

#endif
