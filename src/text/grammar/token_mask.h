#ifndef VUG_TEXT_GRAMMAR_TOKEN_MASK_H
#define VUG_TEXT_GRAMMAR_TOKEN_MASK_H

/*
 * Which tokens may come next, as a bit mask.
 *
 * Whether a token may come depends on the whole stack, but mostly on its top frame alone. So
 * the vocabulary is tried once for each frame that occurs, without looking at the frames
 * below. Tokens that stay inside the frame are allowed wherever it is on top. Where the frame
 * may end within a token, the trie nodes that come next are recorded, and only the tokens
 * below them are tried with the real stack (Dong et al. 2024, "XGrammar", call them
 * context-dependent). They are recorded by byte, since a string, for example, ends with one
 * fixed byte. The mask of a stack set is the union over its stacks.
 *
 * A counted frame is tried once for all counts, recording how many runs of the body a token
 * needs. If that depends on how the token is parsed, there is a mask for each pair of counts,
 * up to the counts that a token can distinguish.
 */

#include "text/grammar/mask_cache.h"

/* Writes the mask of a stack set: the cache's n_words words. Threads may share the cache, but
 * not the matcher. */
VUG_MUST_CHECK vug_status vug_token_mask_fill(vug_mask_cache *cache, vug_grammar_matcher *matcher,
                                              vug_stack_set stacks, uint32_t *word, vug_err *err);

/* Whether some token goes through `node` and continues as the grammar allows. `stacks` is the
 * position after the node. */
VUG_MUST_CHECK vug_status vug_token_mask_continues(const vug_mask_cache *cache,
                                                   vug_grammar_matcher *matcher,
                                                   vug_stack_set stacks, uint32_t node,
                                                   bool *continues, vug_err *err);

#endif
