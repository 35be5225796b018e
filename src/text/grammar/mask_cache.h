#ifndef VUG_TEXT_GRAMMAR_MASK_CACHE_H
#define VUG_TEXT_GRAMMAR_MASK_CACHE_H

/*
 * The masks of stack frames that have been computed, for one grammar and for all grammars of a
 * tokenizer. Used by token_mask.c, and by the grammar that owns the cache.
 *
 * Most masks that are expensive to compute belong to frames that many grammars have, above all
 * those inside a JSON string. They are kept with the tokenizer, for all of its grammars; the key is
 * the part of the automaton that they depend on. When that cache is full, the masks that no grammar
 * has asked for since it was last full are dropped, or all if these are too few. So a grammar with
 * very many masks does not keep others from sharing theirs.
 */

#include "core/pool.h"
#include "text/grammar/frame_mask.h"

/* The memory for the masks of one grammar, with those that it shares, and for those that the
 * tokenizer keeps. Beyond the first, masks are recomputed when needed. */
#define VUG_MASK_CACHE_MAX_BYTES        ((size_t)96 << 20)
#define VUG_SHARED_MASK_CACHE_MAX_BYTES ((size_t)64 << 20)

typedef struct vug_mask_cache vug_mask_cache;
struct vug_mask_cache {
    const vug_group_trie *groups;
    vug_mask_cache *shared; /* of the tokenizer; NULL in that cache itself */
    size_t n_words;         /* of a mask: (vocabulary + 31) / 32 */
    size_t max_bytes;
    uint64_t min_work;     /* of the tokenizer: masks that took less work to compute are not kept */
    vug_mutex *lock;       /* guards everything below */
    vug_intern_table keys; /* an id is the index in `masks`. {state, min, max}, and in the cache of
                              a tokenizer what vug_frame_key_write writes */
    vug_buf masks;         /* vug_cached_mask, immutable once stored */
    size_t bytes;          /* of all masks; at most `max_bytes` */
    size_t shared_bytes;   /* of those among them that the tokenizer keeps, too */
};

/* The tokenizer outlives the cache. */
VUG_MUST_CHECK vug_status vug_mask_cache_init(vug_mask_cache *cache, const vug_tokenizer *tokenizer,
                                              vug_err *err);
void vug_mask_cache_release(vug_mask_cache *cache);
/* The memory of the cached masks without those that the tokenizer keeps, too. */
size_t vug_mask_cache_bytes(vug_mask_cache *cache);

/* Finds the mask of a frame, or computes it. `temporary`: it was not stored, and the caller
 * releases it after use; else it is valid as long as the cache. Threads may share the cache, but
 * not the matcher. */
VUG_MUST_CHECK vug_status vug_mask_cache_get(vug_mask_cache *cache, vug_grammar_matcher *matcher,
                                             const uint32_t state_min_max[3], vug_frame_mask **mask,
                                             bool *temporary, vug_err *err);

#endif
