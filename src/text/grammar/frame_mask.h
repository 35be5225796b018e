#ifndef VUG_TEXT_GRAMMAR_FRAME_MASK_H
#define VUG_TEXT_GRAMMAR_FRAME_MASK_H

/*
 * Which tokens one stack frame allows when nothing is known about the frames below it. Used
 * by mask_cache.c and token_mask.c.
 */

#include <stdatomic.h>

#include "text/grammar/group_traversal.h"
#include "text/grammar/mask_base.h"

/* A node of a trie before which the frame may have ended. */
typedef struct {
    uint32_t node;
    uint32_t count; /* how often a counted body has run before */
} vug_frame_mask_exit;

typedef struct {
    vug_frame_mask_exit *exit; /* [n] */
    uint32_t *first;           /* [257]: where those of each byte or group begin; NULL if n is 0 */
    uint32_t n;
} vug_frame_mask_exits;

/* Tokens that are consecutive in one of the tries of a vocabulary. */
typedef struct {
    const int32_t *id; /* [n], owned by the trie */
    uint32_t n;
    uint32_t need; /* how many runs of a counted body they need */
} vug_token_run;

typedef struct {
    uint32_t *word; /* bits of the tokens that stay within the frame or end with it; or NULL ... */
    uint32_t *id;   /* ... if there are few: then their ids */
    size_t n_ids;
    vug_frame_mask_exits exits;       /* nodes of the token trie, sorted by byte */
    vug_frame_mask_exits group_exits; /* nodes of the group trie, sorted by group */
    /* For a counted frame: the same tokens by how many runs of the body they need. */
    vug_token_run *by_need; /* sorted by need */
    uint32_t *need_first;   /* [n_needs + 1]: where the runs of each need begin */
    uint32_t *fits;         /* [VUG_FRAME_MASK_FITS, n_words]: bits of the tokens that need at most
                             0 runs, 1 run, ...; NULL if `word` is */
    size_t n_needs;         /* 0 for a frame that does not count */
    bool ambiguous;         /* the need depends on how a token is parsed: nothing above is valid */
    size_t bytes;
    _Atomic uint32_t n_holders; /* caches and callers; the last one destroys it */
} vug_frame_mask;

/* The maximum of a counted frame whose count is left open: more than any token can need. The
 * mask then says how many runs each token needs, for every minimum and maximum. */
#define VUG_FRAME_MASK_ANY_COUNT ((uint32_t)1 << 30)

/* Few tokens are longer than this, and so few need more runs. */
#define VUG_FRAME_MASK_FITS 17

/* The base of a frame, with the masks of its top frames. */
typedef struct {
    vug_mask_base base;
    vug_frame_mask *mask[VUG_MASK_BASE_MAX_FRAMES]; /* [base.n] */
} vug_frame_mask_base;

/* The caller holds the mask. `base`: NULL if the frame has none. */
VUG_MUST_CHECK vug_status vug_frame_mask_create(const vug_group_trie *groups, size_t n_words,
                                                vug_grammar_matcher *matcher,
                                                const uint32_t state_min_max[3],
                                                const vug_frame_mask_base *base,
                                                vug_frame_mask **out, vug_err *err);
void vug_frame_mask_hold(vug_frame_mask *mask);
void vug_frame_mask_release(vug_frame_mask *mask);

#endif
