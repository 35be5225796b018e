#ifndef VUG_ENGINE_PROMPT_LOOKUP_H
#define VUG_ENGINE_PROMPT_LOOKUP_H

/*
 * Drafts by prompt lookup (Saxena 2023): an answer often repeats a part of its prompt or of itself.
 * If the last tokens occurred before, the tokens that followed them then are the draft.
 *
 * A hash table has, for the tokens before each position, 1 to 4 of them, the last position that
 * followed the same ones.
 */

#include "core/mem.h"
#include "core/status.h"

enum {
    VUG_LEAST_MATCH = 1, /* tokens that a draft's place must have in common with the end */
    VUG_MOST_MATCH = 8,  /* more are not counted */
};

typedef struct {
    uint32_t *position; /* [1 << bits] by hash of some tokens, of the token after them; 0: none */
    int bits;
    size_t n; /* the tokens that are in the table */
} vug_prompt_lookup;

/* For sequences of about `n_tokens`; longer ones forget old positions. */
VUG_MUST_CHECK vug_status vug_prompt_lookup_init(vug_prompt_lookup *lookup, size_t n_tokens,
                                                 vug_err *err);
void vug_prompt_lookup_release(vug_prompt_lookup *lookup);
/* Writes `most` tokens that may follow id [n] to `draft`, and returns the length of the match: how
 * many tokens before them are those before the earlier place; 0: there is none. The sequence is
 * that of the last call, and more tokens. */
size_t vug_prompt_lookup_draft(vug_prompt_lookup *lookup, const int32_t *id, size_t n,
                               int32_t *draft, size_t most);

#endif
