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

/* In depth, through the nodes whose bytes lead on. */
typedef struct {
    const vug_trie *trie;
    vug_walk *walk;
    vug_trie_branch *path; /* [longest + 1] */
    size_t depth;          /* branches of the path: 0 at the end, and after a failure */
    uint32_t node;         /* where the walk stands, ... */
    vug_place place;       /* ... behind the node's byte; VUG_PLACE_FAILED after a failure */
} vug_trie_walk;

VUG_MUST_CHECK vug_status vug_trie_walk_init(vug_trie_walk *h, const vug_trie *trie, vug_walk *walk,
                                             vug_err *err);
void vug_trie_walk_release(vug_trie_walk *h);

/* To stand before what comes below `node`, after which the text is at `place`. */
static inline void vug_trie_enter(vug_trie_walk *h, uint32_t node, vug_place place)
{
    const vug_trie_node *at = &h->trie->node[node];
    h->place = place;
    h->depth = 1;
    h->path[0] = (vug_trie_branch){ at[0].child, at[1].child, place };
}

/* To the next node; false when there is none, or the walk failed. */
static inline bool vug_trie_next(vug_trie_walk *h)
{
    const vug_trie_node *all = h->trie->node;
    size_t depth = h->depth;
    while (depth > 0) {
        vug_trie_branch *b = &h->path[depth - 1];
        if (b->node == b->end) {
            depth--;
            continue;
        }
        const uint32_t at = b->node++;
        const vug_place to = vug_walk_spend(h->walk, 1)
                                     ? vug_walk_step(h->walk, b->place, (uint8_t)all[at].byte)
                                     : VUG_PLACE_FAILED;
        if (to == VUG_PLACE_DEAD)
            continue;
        h->node = at;
        h->place = to;
        if (to == VUG_PLACE_FAILED)
            break;
        if (all[at].child < all[at + 1].child)
            h->path[depth++] = (vug_trie_branch){ all[at].child, all[at + 1].child, to };
        h->depth = depth;
        return true;
    }
    h->depth = 0;
    return false;
}

static inline bool vug_trie_failed(const vug_trie_walk *h)
{
    return h->place == VUG_PLACE_FAILED;
}

#endif
