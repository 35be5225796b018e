#ifndef VUG_ENGINE_PROMPT_LOOKUP_H
#define VUG_ENGINE_PROMPT_LOOKUP_H

/*
 * Prompt lookup (Saxena 2023): an answer often repeats a part of its prompt, of itself, or of
 * another text. If its last tokens occur in such a text, the tokens that follow them there are a
 * draft of the next ones.
 *
 * A hash table of a text has, for the tokens before each position, 1 to 4 and 8 of them, the last
 * position that follows the same ones.
 */

#include "core/mem.h"
#include "core/status.h"

enum {
    VUG_LEAST_MATCH = 1, /* tokens that a draft's place must have in common with the end */
    VUG_MOST_MATCH = 16, /* more are not counted */
};

typedef struct {
    uint32_t *position; /* [1 << bits] by hash of some tokens, of the token after them; 0: none */
    int bits;
    size_t n; /* positions below this one are in the table */
} vug_prompt_lookup;

/* For a text of about `n_tokens`; longer ones forget old positions. */
VUG_MUST_CHECK vug_status vug_prompt_lookup_init(vug_prompt_lookup *lookup, size_t n_tokens,
                                                 vug_err *err);
void vug_prompt_lookup_release(vug_prompt_lookup *lookup);
/* Adds the positions below `n`, each of which has a token after it. The text is that of the last
 * call, perhaps with more tokens. */
void vug_prompt_lookup_add(vug_prompt_lookup *lookup, const int32_t *text, size_t n);
/* Finds a position of the text that follows the last tokens of id [n], n >= 1. Returns how many
 * tokens are the same before both; 0: there is none. `text` may be `id`. */
size_t vug_prompt_lookup_find(const vug_prompt_lookup *lookup, const int32_t *text,
                              const int32_t *id, size_t n, size_t *position);

#endif
