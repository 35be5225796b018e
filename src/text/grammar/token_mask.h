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
 *
 * Most masks that are expensive to compute belong to frames that many grammars have, above all
 * those inside a JSON string. They are kept with the tokenizer, for all of its grammars; the key is
 * the part of the automaton that they depend on.
 */

#include "core/pool.h"
#include "text/grammar/frame_mask.h"

/* The memory for the masks of one grammar, and for those that the grammars of a tokenizer share.
 * Beyond it, masks are recomputed when needed. */
#define VUG_MASK_CACHE_MAX_BYTES        ((size_t)96 << 20)
#define VUG_SHARED_MASK_CACHE_MAX_BYTES ((size_t)64 << 20)

typedef struct vug_mask_cache vug_mask_cache;
struct vug_mask_cache {
    const vug_token_trie *trie;
    vug_mask_cache *shared; /* of the tokenizer; NULL in that cache itself */
    size_t n_words;         /* of a mask: (vocabulary + 31) / 32 */
    size_t max_bytes;
    vug_mutex *lock;       /* guards everything below */
    vug_intern_table keys; /* an id is the index in `masks`. {state, min, max}, and in the cache of
                              a tokenizer what vug_frame_key_write writes */
    vug_buf masks;         /* vug_cached_mask, immutable once stored */
    size_t bytes;
};

typedef struct {
    vug_frame_mask *mask;
    bool owned; /* else it belongs to the tokenizer's cache */
} vug_cached_mask;

/* The tokenizer outlives the cache. */
VUG_MUST_CHECK vug_status vug_mask_cache_init(vug_mask_cache *cache, const vug_tokenizer *tokenizer,
                                              vug_err *err);
void vug_mask_cache_release(vug_mask_cache *cache);
/* The memory of the cached masks. */
size_t vug_mask_cache_bytes(vug_mask_cache *cache);

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
