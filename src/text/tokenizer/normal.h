#ifndef VUG_TEXT_TOKENIZER_NORMAL_H
#define VUG_TEXT_TOKENIZER_NORMAL_H

/*
 * Unicode normal forms and categories, of which utf8proc has the tables; this is its
 * only door. Texts are valid UTF-8.
 */

#include "core/mem.h"

typedef enum {
    VUG_NFC,
    VUG_NFD,
    VUG_NFKC,
    VUG_NFKD,
} vug_normal_form;

/* True where a text of that form may be something else, found by a look at its bytes. */
bool vug_may_change(vug_normal_form form, vug_str text);
/* Appends the text in that form; linear in its length. Memory that runs out is noted in
 * `to`. */
void vug_put_normal(vug_normal_form form, vug_str text, vug_buf *to);
/* Appends the text in lower case, a character by itself. */
void vug_put_lowercase(vug_str text, vug_buf *to);
/* Appends the text without its marks (categories Mn, Mc and Me). */
void vug_put_unmarked(vug_str text, vug_buf *to);
/* What \w matches in the regex crate, by which the reference finds words: Alphabetic,
 * marks, decimal digits, connectors and joiners (Unicode TR18, annex C). */
bool vug_is_word(uint32_t cp);

#endif
