#ifndef VUG_TEXT_TOKENIZER_ADDED_TOKENS_H
#define VUG_TEXT_TOKENIZER_ADDED_TOKENS_H

/*
 * Added tokens: strings that are matched in the text before it is pre-tokenized. The
 * leftmost match wins, and of those that begin at one place the longest.
 */

#include "text/tokenizer/vocab.h"
#include "vug/chat.h"

#define VUG_ADDED_TOKENS_MAX ((size_t)1 << 20)
/* Matching looks at no more bytes than this at each place, so encoding stays linear
 * whatever the added tokens are. */
#define VUG_ADDED_TOKEN_MAX_BYTES 256

typedef struct {
    vug_str content; /* as declared; in the tokenizer's arena */
    vug_str pattern; /* what is searched for: the normalized content, if `normalized` */
    uint32_t id;
    bool lstrip, rstrip; /* the match includes the whitespace before it, after it */
    bool normalized;     /* matched after the normalizer, else before it */
    bool special;        /* callers can leave it out of decoded text, and not parse it */
    bool single_word;    /* never matched inside a word */
    bool control;        /* not matched in untrusted text; see mark_control_tokens */
} vug_added_token;

/* Added tokens of one kind, sorted by pattern: those that share a prefix are neighbours, so
 * each byte of a text narrows a range of candidates. */
typedef struct {
    const vug_added_token **sorted; /* [n] */
    uint32_t n;
    uint32_t first[257]; /* patterns that begin with byte b: first[b] .. first[b+1] */
} vug_added_token_set;

/* The set of the tokens whose `normalized` has that value. False when out of memory. */
bool vug_added_token_set_init(vug_added_token_set *set, const vug_added_token *token, size_t n,
                              bool normalized);
void vug_added_token_set_release(vug_added_token_set *set);

/* Ranges of a text, ascending and disjoint. */
typedef struct {
    const vug_range *range; /* [n] */
    size_t n;
} vug_range_list;

/* A part of a text, and the token that it is; NULL for ordinary text. */
typedef struct {
    vug_str text;
    const vug_added_token *token;
} vug_text_span;

/* Splits a text at added tokens. With `keep_special` false, special tokens stay text, and
 * nothing is searched for inside them (as in the reference). Control tokens that overlap an
 * untrusted range stay text too; the search then continues after the range. */
typedef struct {
    const vug_added_token_set *set;
    vug_str text;
    bool keep_special;
    vug_range_list untrusted;
    size_t n_past;                /* untrusted ranges that end before `at` */
    size_t done;                  /* bytes of the text that were returned in spans */
    size_t at;                    /* where the search continues */
    const vug_added_token *found; /* to be returned after the text in front of it */
    size_t found_from, found_to;
    size_t space, space_end; /* the last whitespace run that a token included */
} vug_added_token_split;

/* True with the next span, which is never empty. */
bool vug_added_token_split_next(vug_added_token_split *split, vug_text_span *span);

#endif
