#ifndef VUG_TEXT_TOKENIZER_ADDED_H
#define VUG_TEXT_TOKENIZER_ADDED_H

/*
 * Added tokens: spellings that are found in the text before anything else is
 * done to it, leftmost first and the longest of those that begin there.
 */

#include "text/tokenizer/vocab.h"
#include "vug/chat.h"

#define VUG_ADDED_MAX_TOKENS ((size_t)1 << 20)
/* A match looks at no more bytes than this per place, which keeps encoding
 * linear whatever the spellings are. */
#define VUG_ADDED_MAX_BYTES 256

typedef struct {
    vug_str content; /* as written; in the tokenizer's arena */
    vug_str pattern; /* what is looked for: normalized, if `normalized` */
    uint32_t id;
    bool lstrip, rstrip; /* takes the whitespace before, after it along */
    bool normalized;     /* looked for after the normalizer, else before */
    bool special;        /* not part of decoded text; not parsed on request */
    bool single_word;    /* not within a word */
    bool control;        /* text where somebody else wrote it; see vug_tokenizer_seal */
} vug_added_token;

/* The tokens of one kind by the bytes of their patterns: those that share a
 * prefix are neighbours, so that walking down the bytes of a text narrows a
 * range. */
typedef struct {
    const vug_added_token **sorted; /* [n] */
    uint32_t n;
    uint32_t first[257]; /* patterns that begin with byte b: first[b] .. first[b+1] */
} vug_matcher;

/* Of the tokens whose `normalized` is that. False when out of memory. */
bool vug_matcher_init(vug_matcher *matcher, const vug_added_token *token, size_t n,
                      bool normalized);
void vug_matcher_release(vug_matcher *matcher);

/* The longest token whose pattern begins the text, or NULL. */
const vug_added_token *vug_matcher_longest(const vug_matcher *matcher, vug_str text);

/* Of a text, ascending and apart. */
typedef struct {
    const vug_range *range; /* [n] */
    size_t n;
} vug_ranges;

/* A stretch of text, and the token that it is or NULL. */
typedef struct {
    vug_str text;
    const vug_added_token *token;
} vug_span;

/* Walks over a text. With `keep_special` false, special tokens that are found
 * stay text, and what overlaps them is not looked for, as in the reference. Control
 * tokens that overlap a plain range stay text, too; what follows the range is looked at
 * as if it began there. */
typedef struct {
    const vug_matcher *matcher;
    vug_str text;
    bool keep_special;
    vug_ranges plain;
    size_t n_past;                /* of `plain`: those that end before `at` */
    size_t done;                  /* bytes of text that spans were given out for */
    size_t at;                    /* where the search goes on */
    const vug_added_token *found; /* to be given out after the text before it */
    size_t found_from, found_to;
    size_t space, space_end; /* white space that a token took along last */
} vug_split;

/* True with the next span; none is empty. */
bool vug_split_next(vug_split *split, vug_span *span);

#endif
