#ifndef VUG_TEXT_TOKENIZER_REGEX_SYNTAX_H
#define VUG_TEXT_TOKENIZER_REGEX_SYNTAX_H

#include "core/mem.h"

/* Appends an expression of Oniguruma in PCRE2's syntax, to be compiled with PCRE2_UTF,
 * PCRE2_UCP and PCRE2_MULTILINE. `what` names its owner in error messages. */
VUG_MUST_CHECK vug_status vug_regex_translate(vug_str pattern, const char *what, vug_buf *to,
                                              vug_err *err);

#endif
