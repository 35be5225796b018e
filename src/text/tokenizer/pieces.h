#ifndef VUG_TEXT_TOKENIZER_PIECES_H
#define VUG_TEXT_TOKENIZER_PIECES_H

/*
 * What makes encoding fast, and changes nothing: a word is encoded in pieces where no
 * merge joins them, and pieces that came before are remembered.
 *
 * A Gemma "word" is everything between two added tokens, in which words of a language
 * begin with U+2581. Of all merges only those of runs of it, and one more, have it at
 * the beginning of their right side: so before any other U+2581 nothing is ever joined.
 */

#include "text/tokenizer/bpe.h"

typedef struct {
    bool possible;
    uint8_t joined[256]; /* after a byte: whether a merge puts U+2581 there */
} vug_cuts;

/* `bpe` is complete. */
void vug_cuts_init(vug_cuts *cuts, const vug_bpe *bpe, const vug_vocab *vocab);

/* One encoding's, of one thread. All-zero is empty. */
typedef struct vug_memo vug_memo;
typedef struct {
    vug_bpe_work bpe;
    vug_memo *memo;
} vug_pieces_work;

/* For a text of so many bytes; short ones do without a memory. */
bool vug_pieces_prepare(vug_pieces_work *work, size_t len);
void vug_pieces_release(vug_pieces_work *work);

typedef struct {
    const vug_bpe *bpe;
    const vug_vocab *vocab;
    const vug_cuts *cuts;
} vug_pieces;

/* Appends what vug_bpe_encode appends. False when out of memory. */
bool vug_pieces_encode(const vug_pieces *how, vug_str word, vug_pieces_work *work,
                       vug_id_list *out);

#endif
