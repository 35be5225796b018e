#ifndef VUG_TEXT_TOKENIZER_REGEX_COST_H
#define VUG_TEXT_TOKENIZER_REGEX_COST_H

#include "core/bytes.h"

/* Whether a match takes time linear in the bytes that it reaches over. The expression has
 * passed vug_regex_translate. */
bool vug_regex_is_linear(vug_str pattern);

#endif
