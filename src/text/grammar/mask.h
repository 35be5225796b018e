#ifndef VUG_TEXT_GRAMMAR_MASK_H
#define VUG_TEXT_GRAMMAR_MASK_H

/*
 * Which tokens may come at a place, as bits.
 *
 * What a token may be depends on the whole stack, but mostly only its top frame is ever
 * looked at. So the vocabulary is tried once for each frame that occurs, with nothing
 * known of what is below: tokens that stay inside are allowed wherever that frame is on
 * top, and where a frame may end within a token, the nodes of the tree of tokens that
 * come next are noted, for what is below to be tried from there on (Dong et al. 2024,
 * "XGrammar", call these tokens context-dependent). They are noted by byte: a string's
 * end is one byte. A mask of a place is the union over its stacks.
 *
 * Counted frames are tried once for all counts, noting how often a token goes through the
 * body. Where that depends on how the token is read, there is a mask for each pair of
 * counts, as far as a token can count.
 */

#include "core/os.h"
#include "text/grammar/frame_mask.h"

/* What is kept of a grammar's masks; past it they are made anew whenever they are needed. */
#define VUG_MASKS_MAX_BYTES ((size_t)96 << 20)

typedef struct {
    const vug_trie *trie;
    size_t n_words;  /* of a mask: (vocabulary + 31) / 32 */
    vug_lock *lock;  /* over all that follows */
    vug_sets frames; /* state, min and max; their ids are those of ... */
    vug_buf masks;   /* ... vug_frame_mask *, which stay as they are */
    size_t bytes;
} vug_mask_cache;

VUG_MUST_CHECK vug_status vug_mask_cache_init(vug_mask_cache *cache, const vug_trie *trie,
                                              size_t n_words, vug_err *err);
void vug_mask_cache_release(vug_mask_cache *cache);
/* Of the masks. */
size_t vug_mask_cache_bytes(vug_mask_cache *cache);

/* `word` has the cache's n_words. The cache may be shared by threads, the walk not. */
VUG_MUST_CHECK vug_status vug_mask_fill(vug_mask_cache *cache, vug_walk *walk, vug_place place,
                                        uint32_t *word, vug_err *err);

/* Whether a token goes through `node` and on from there, if `place` is where it stands. */
VUG_MUST_CHECK vug_status vug_mask_goes_on(const vug_mask_cache *cache, vug_walk *walk,
                                           vug_place place, uint32_t node, bool *goes_on,
                                           vug_err *err);

#endif
