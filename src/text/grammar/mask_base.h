#ifndef VUG_TEXT_GRAMMAR_MASK_BASE_H
#define VUG_TEXT_GRAMMAR_MASK_BASE_H

/*
 * Many frames lead to the same position with most bytes, and from there the same bytes lead nowhere
 * else: in a name that is none of the given names of an object, for example, any text may follow
 * nearly every first byte. This position is the base of the frame. From both, the same tokens are
 * possible, except for those that begin with a byte that leads elsewhere. The masks of the frames
 * on top of the base are often known, so only those tokens need be tried. Used by mask_cache.c and
 * frame_mask.c.
 */

#include "text/grammar/group_steps.h"

#define VUG_MASK_BASE_MAX_FRAMES 4

typedef struct {
    vug_stack_set stacks;
    uint32_t frame[VUG_MASK_BASE_MAX_FRAMES]; /* [n]: the top frames, which do not count */
    size_t n;
} vug_mask_base;

/* Finds the base of a frame. False if it has none. */
bool vug_mask_base_find(vug_grammar_matcher *matcher, const uint32_t state_min_max[3],
                        vug_mask_base *base);

typedef struct {
    uint32_t from, end;
} vug_trie_range;

/* Below which nodes two positions differ. */
typedef struct {
    vug_buf nodes;  /* uint32_t: children of the root whose byte leads elsewhere */
    vug_buf ranges; /* vug_trie_range: these and all nodes below, in ascending order */
    vug_buf groups; /* vug_trie_range of the group trie: children of the root with such bytes, and all
                       nodes below */
} vug_mask_difference;

/* False when out of memory. */
bool vug_mask_difference_init(vug_mask_difference *difference, const vug_group_trie *groups,
                              vug_grammar_matcher *matcher, vug_stack_set a, vug_stack_set b);
void vug_mask_difference_release(vug_mask_difference *difference);
/* Whether a node of the token trie is in one of the ranges. */
bool vug_mask_difference_has(const vug_mask_difference *difference, uint32_t node);
/* The same for a node of the group trie. Then some of its members are in one of the ranges. */
bool vug_mask_difference_has_group(const vug_mask_difference *difference, uint32_t node);

#endif
