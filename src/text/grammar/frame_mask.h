#ifndef VUG_TEXT_GRAMMAR_FRAME_MASK_H
#define VUG_TEXT_GRAMMAR_FRAME_MASK_H

/*
 * Which tokens one frame of a stack allows, with nothing known of what is below; private
 * to masks.
 */

#include "text/grammar/trie.h"
#include "text/grammar/walk.h"

/* A node of the tree of tokens before whose byte the frame may have ended. */
typedef struct {
    uint32_t node;
    uint32_t count; /* how often a counted body was gone through before */
} vug_mask_exit;

typedef struct {
    uint32_t *word; /* tokens that stay within the frame, or end with it, as bits; or NULL ... */
    uint32_t *id;   /* ... where there are few: then these */
    size_t n_ids;
    vug_mask_exit *exit;      /* by byte */
    uint32_t exit_first[257]; /* where those of each byte begin */
    /* Of a counted frame: which of the tokens go through the body `n` times at most. */
    uint32_t *by_need;    /* by the number of times that they need */
    uint32_t *need_first; /* [n_needs + 1] */
    uint32_t *fit;        /* [VUG_MASK_FITS, n_words]: those that need 0 times, 1 at most, ...; or
                             NULL as `word` */
    size_t n_needs;       /* 0 of frames that do not count */
    bool ambiguous;       /* times depend on how a token is read: nothing above holds */
    size_t bytes;
} vug_frame_mask;

/* As the maximum of a counted frame: more than any token can count to. The mask then
 * says how often tokens go through the body, for every minimum and maximum. */
#define VUG_MASK_COUNTS ((uint32_t)1 << 30)

/* Most tokens are no longer than this; those that are, are few. */
#define VUG_MASK_FITS 17

VUG_MUST_CHECK vug_status vug_frame_mask_make(const vug_trie *trie, size_t n_words, vug_walk *walk,
                                              const uint32_t state_min_max[3], vug_frame_mask **out,
                                              vug_err *err);
void vug_frame_mask_destroy(vug_frame_mask *mask);

/* ---- walking the tree of tokens ----------------------------------------------- */

typedef struct {
    uint32_t node, end; /* siblings that are still to be tried */
    vug_place place;    /* before them */
} vug_trie_branch;

/* What is found below a node goes to one of these. */
typedef struct {
    const vug_trie *trie;
    vug_walk *walk;
    vug_trie_branch *path; /* [longest + 1] */
    uint32_t *word;        /* bits of allowed tokens */
    bool any;              /* without `word`: the first that is found ends the walk */
} vug_trie_walk;

static inline void vug_trie_allow(const vug_trie *trie, uint32_t node, uint32_t *word)
{
    for (uint32_t i = trie->node[node].first; i < trie->node[node + 1].first; i++) {
        const uint32_t id = (uint32_t)trie->id[i];
        word[id / 32] |= UINT32_C(1) << (id % 32);
    }
}

/* Tries what comes below `node`, after which the text stands at `place`. False when the
 * walk failed. */
bool vug_trie_try(vug_trie_walk *h, uint32_t node, vug_place place);

#endif
