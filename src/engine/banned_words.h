#ifndef VUG_ENGINE_BANNED_WORDS_H
#define VUG_ENGINE_BANNED_WORDS_H

/* Words that an answer must not have. A word is one or two sequences of tokens: what the tokenizer
 * makes of it alone and after a space. When an answer ends with all tokens of a sequence but the
 * last, the last is excluded. */

#include "engine/token_history.h"
#include "vug/vug.h"

typedef struct {
    vug_tokens *sequence; /* [n], none empty */
    size_t n;
} vug_banned_words;

/* VUG_UNSUPPORTED without a tokenizer if there are words. */
VUG_MUST_CHECK vug_status vug_banned_words_init(vug_banned_words *banned,
                                                const vug_sampling *sampling,
                                                const vug_tokenizer *tokenizer, vug_err *err);
void vug_banned_words_release(vug_banned_words *banned);
/* The id that sequence `i` excludes after these tokens, or -1. */
int32_t vug_banned_words_excluded(const vug_banned_words *banned, size_t i,
                                  const vug_token_history *history);

#endif
