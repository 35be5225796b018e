#ifndef VUG_TEXT_TOKENIZER_REGEX_H
#define VUG_TEXT_TOKENIZER_REGEX_H

/*
 * The regular expressions of tokenizer files. The reference runs them with Oniguruma (HF
 * tokenizers, utils/onig.rs), vug with PCRE2, which only these files use. Where the two
 * dialects differ, regex_syntax.c translates the expression; what has no translation is
 * refused by name.
 *
 * Expressions and texts are untrusted: the steps of a match and the bytes looked at in all
 * are limited in proportion to the text. Beyond the limit there is an error.
 */

#include "core/mem.h"

#define VUG_REGEX_MAX_BYTES ((size_t)8 << 10)

typedef struct vug_regex vug_regex; /* read-only: any number of threads may use it */

/* `what` names the expression's owner in error messages. */
VUG_MUST_CHECK vug_status vug_regex_compile(vug_str pattern, const char *what, vug_regex **out,
                                            vug_err *err);
void vug_regex_destroy(vug_regex *regex);

/* Working memory of one thread, for any expressions. All-zero is empty. */
typedef struct {
    void *match, *limits; /* PCRE2's match data and match context */
    uint64_t looked;      /* bytes looked at beyond first windows */
} vug_regex_work;

void vug_regex_work_release(vug_regex_work *work);

/* Finds the first match that begins at or after `from`: it reaches from hit[0] to hit[1].
 * `*found` is false if there is none. `text` is valid UTF-8; lookbehind sees what lies
 * before `from`. */
VUG_MUST_CHECK vug_status vug_regex_find(const vug_regex *regex, vug_regex_work *work, vug_str text,
                                         size_t from, size_t hit[2], bool *found, vug_err *err);

#endif
