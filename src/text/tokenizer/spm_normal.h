#ifndef VUG_TEXT_TOKENIZER_SPM_NORMAL_H
#define VUG_TEXT_TOKENIZER_SPM_NORMAL_H

/*
 * The normalizer of a tokenizer.model: characters by others, whitespace, and the space that
 * stands before a text. One pass over the whole text, because each of these looks at what
 * came of the one before; symbols that a user defined are left as they are.
 */

#include "text/tokenizer/added.h"

typedef struct {
    /* A double array and what its values point to, texts that end with a NUL; both empty
     * where characters stay what they are. */
    vug_str units, texts;
    vug_matcher user; /* symbols of the user */
    bool dummy_prefix;
    bool remove_extra; /* whitespace at both ends, and after whitespace */
    bool escape;       /* a space is U+2581 */
    bool suffix;       /* the dummy comes at the end instead */
} vug_spm_normal;

/* A `precompiled_charsmap`, which must outlive it; an empty one is none. */
VUG_MUST_CHECK vug_status vug_spm_charsmap(vug_spm_normal *how, vug_bytes map, const char *file,
                                           vug_err *err);
/* Appends the normalized text, which is UTF-8 whatever `text` is. */
void vug_spm_normalize(const vug_spm_normal *how, vug_str text, vug_buf *to);

#endif
