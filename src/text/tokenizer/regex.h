#ifndef VUG_TEXT_TOKENIZER_REGEX_H
#define VUG_TEXT_TOKENIZER_REGEX_H

/*
 * The regular expressions that tokenizer files declare. The reference runs them with
 * Oniguruma (HF tokenizers, utils/onig.rs); here PCRE2 does, of which this is the only
 * door. Where the two mean different things by the same spelling, the expression is
 * translated (regex_syntax.c); what has no translation is refused by name.
 *
 * Expressions and texts are untrusted: steps per match and what is looked at in all are
 * limited, in proportion to the text, and past the limit there is an error.
 */

#include "core/mem.h"

#define VUG_REGEX_MAX_BYTES ((size_t)8 << 10)

typedef struct vug_regex vug_regex; /* read-only: any number of threads may use it */

/* `what`, for sentences, is what the expression belongs to. */
VUG_MUST_CHECK vug_status vug_regex_compile(vug_str pattern, const char *what, vug_regex **out,
                                            vug_err *err);
void vug_regex_destroy(vug_regex *regex);

/* Working memory of one thread, for any expressions. All-zero is empty. */
typedef struct {
    void *match, *limits; /* of PCRE2 */
    uint64_t looked;      /* bytes looked at beyond what matches took */
} vug_regex_work;

void vug_regex_work_release(vug_regex_work *work);

/* The first match that begins at or after `from`: from hit[0] to hit[1]. `*found` is
 * false where there is none. `text` is valid UTF-8; what lies before `from` is seen by
 * expressions that look behind. */
VUG_MUST_CHECK vug_status vug_regex_find(const vug_regex *regex, vug_regex_work *work, vug_str text,
                                         size_t from, size_t hit[2], bool *found, vug_err *err);

/* regex_syntax.c: appends the same expression as PCRE2 spells it, for compiling with
 * PCRE2_UTF, PCRE2_UCP and PCRE2_MULTILINE. */
VUG_MUST_CHECK vug_status vug_regex_translate(vug_str pattern, const char *what, vug_buf *to,
                                              vug_err *err);

/* regex_cost.c: whether a match of the expression, which has been translated, takes time
 * in proportion to what it reaches over. */
bool vug_regex_is_simple(vug_str pattern);

#endif
