#ifndef VUG_TEXT_TOKENIZER_UNICODE_NORMALIZE_H
#define VUG_TEXT_TOKENIZER_UNICODE_NORMALIZE_H

/* Unicode normalization forms and categories, from utf8proc's tables. Texts are valid UTF-8. */

#include "core/mem.h"

typedef enum {
    VUG_NFC,
    VUG_NFD,
    VUG_NFKC,
    VUG_NFKD,
} vug_unicode_form;

/* False if the text is certainly in that form already, judged by its bytes alone. */
bool vug_unicode_may_change(vug_unicode_form form, vug_str text);
/* Appends the text in that form; linear in its length. `to` records a lack of memory. */
void vug_unicode_append_form(vug_unicode_form form, vug_str text, vug_buf *to);
/* Appends the text in lower case, each character by itself. */
void vug_unicode_append_lowercase(vug_str text, vug_buf *to);
/* Appends the text without its marks (categories Mn, Mc and Me). */
void vug_unicode_append_unaccented(vug_str text, vug_buf *to);
/* Whether \w of the regex crate matches, by which the reference finds words: Alphabetic,
 * marks, decimal digits, connectors and joiners (Unicode TR18, annex C). */
bool vug_unicode_is_word(uint32_t cp);

#endif
