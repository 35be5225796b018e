#ifndef VUG_ENGINE_PREFIX_TREE_H
#define VUG_ENGINE_PREFIX_TREE_H

/*
 * The prefixes whose keys and values are cached: a tree over pages of tokens. A node stands for
 * VUG_KV_PAGE tokens after its parent's, or for fewer if it is a leaf where a sequence ended, and
 * holds the page of each group, or none (0) where the page was evicted.
 *
 * A boundary p of a path is usable when every full group has the pages of positions [0, p), and
 * every group with a window W those of [p - W + 1, p). So a sliding group needs pages only
 * around the boundaries where a later prompt may branch. Snapshots pin them there.
 *
 * The tree owns one reference of every page that it holds. A page is evictable when that is the
 * only reference. When the pool asks for memory, pages go first that a sequence left behind the
 * window of a sliding group: that its page of a full group for the same tokens was still in use
 * tells them. Of these and of the others, the page whose last other reference was released first
 * goes first; of pages that were released between the same calls of the tree, those of the last
 * blocks do. So the pages of a full group go from the end of a path, if a sequence holds the pages
 * of full groups until it releases them together. Pages that snapshots pin go last.
 *
 * Nodes without pages stay, because they tell what a conversation once was. Whenever a sequence
 * leaves a node, the least recently used leaves without pages are dropped while more than 32768
 * nodes have none; nodes that a sequence has entered stay.
 *
 * The time of a call grows with the number of blocks that it visits and with the logarithm of the
 * number of nodes and pages. Only giving up a snapshot goes over all snapshots.
 *
 * The tree registers with the pool (vug_kv_pool_on_full, vug_kv_pool_on_idle). Not thread-safe:
 * the owner of the pool serializes calls.
 */

#include "engine/kv_pool.h"
#include "engine/prefix_key.h"
#include "vug/vug.h"

typedef struct vug_prefix_tree vug_prefix_tree;
typedef struct vug_prefix_node vug_prefix_node;

/* `snapshot_share` (0 to 1) is the part of the pool's budget that snapshots may pin. The pool must
 * outlive the tree. */
VUG_MUST_CHECK vug_status vug_prefix_tree_create(vug_kv_pool *pool, double snapshot_share,
                                                 vug_prefix_tree **out, vug_err *err);
/* Releases the tree's pages; nodes that sequences have entered are lost. Accepts NULL. */
void vug_prefix_tree_destroy(vug_prefix_tree *tree);

/* ---- lookup -------------------------------------------------------------------- */

typedef struct {
    size_t length;         /* 0: nothing is cached */
    vug_prefix_node *node; /* of the last whole block, or the root; entered; NULL: out of memory */
    vug_cache_miss miss;   /* why it is not longer */
} vug_prefix_match;
/* The longest usable prefix of id [n] that is not longer than `most` tokens. The pages are those
 * of the blocks of VUG_KV_PAGE tokens that contain [0, length): page[g] has room for as many as
 * `most` tokens touch, and page[g][b] is 0 where a sliding group does not need the block. Every
 * page is retained for the caller. If length is not a multiple of VUG_KV_PAGE, the last page of
 * each group holds other tokens from there on: the caller copies it before it writes. */
void vug_prefix_find(vug_prefix_tree *tree, const vug_prefix_key *key, const int32_t *id, size_t n,
                     size_t most, vug_page *const *page, vug_prefix_match *out);
/* Only how much could be reused. */
size_t vug_prefix_peek(const vug_prefix_tree *tree, const vug_prefix_key *key, const int32_t *id,
                       size_t n, size_t most);

/* ---- publication ---------------------------------------------------------------- */

/* A sequence that has entered a node keeps it and its ancestors in the tree, with pages or not.
 * Functions that take a node accept NULL, do nothing then, and return NULL: a sequence that could
 * not enter the root publishes nothing. */

/* The root of a key, entered; NULL when out of memory. */
vug_prefix_node *vug_prefix_enter_root(vug_prefix_tree *tree, const vug_prefix_key *key);
/* Another sequence enters a node: it continues the same prefix. */
void vug_prefix_enter(vug_prefix_tree *tree, vug_prefix_node *node);
void vug_prefix_leave(vug_prefix_tree *tree, vug_prefix_node *node);
/* For a sequence that goes back to its first `n` tokens: the node of the last whole block within
 * them, or the root, entered in place of `node`. */
vug_prefix_node *vug_prefix_back(vug_prefix_tree *tree, vug_prefix_node *node, size_t n);

/* Adds the block of VUG_KV_PAGE accepted tokens that follows `node` (which the caller has
 * entered) and returns its node, entered in place of `node`. page [groups]: the sequence's own
 * pages, which the tree retains; 0: the sequence has none any more. If the block is there already,
 * the tree keeps its pages, and page[g] is replaced by the tree's page, retained for the caller,
 * whose own is released: equal prefixes have equal pages. Returns `node` itself if memory is
 * short: the sequence then publishes nothing more. */
vug_prefix_node *vug_prefix_add(vug_prefix_tree *tree, vug_prefix_node *node, const int32_t *id,
                                vug_page *page);
/* The same for the last tokens of a sequence that ends: n < VUG_KV_PAGE. Nothing follows the node
 * that it returns, but boundaries in it can be pinned. The node may have more tokens: then the
 * tree has all pages already, and the caller's are untouched. */
vug_prefix_node *vug_prefix_add_last(vug_prefix_tree *tree, vug_prefix_node *node,
                                     const int32_t *id, size_t n, vug_page *page);

/* ---- snapshots ------------------------------------------------------------------- */

/* Pins the pages of sliding groups that boundary `p` needs, if the nodes on the path to `node`
 * hold all of them; `node`, which the caller has entered, or an ancestor contains position p - 1.
 * Gives up other snapshots while the share is exceeded: those of VUG_MARK_PROMPT before earlier
 * turns, these before ends of system turns and the last turns of conversations, and never a higher
 * one for a lower one; among equals the ones missed least. These have the fewest tokens between the snapshot before them
 * and their boundary, which would be computed again, in relation to the tokens that were added to
 * the tree since they were pinned or found. So the snapshots of a conversation thin out towards
 * its beginning, and those of old conversations go. Does nothing if no group needs a page, if the
 * pages exceed the share or if memory is short. A boundary that is pinned already keeps the higher
 * kind, and counts as a last turn again. A snapshot is also given up when a page of a full group at its node is evicted, and when
 * the pool has no other memory left. */
void vug_prefix_pin(vug_prefix_tree *tree, vug_prefix_node *node, size_t p, vug_mark_kind kind);

/* ---- state ----------------------------------------------------------------------- */

typedef struct {
    uint64_t nodes, pages;              /* in the tree; roots are nodes */
    uint64_t bytes;                     /* of these pages */
    uint64_t evictable;                 /* bytes of them that no sequence uses, pinned or not */
    uint64_t snapshots, snapshot_bytes; /* bytes of the pages that they pin */
    uint64_t evictions;                 /* pages that the pool reclaimed so far */
} vug_prefix_stats;
vug_prefix_stats vug_prefix_get_stats(const vug_prefix_tree *tree);
/* Drops every snapshot, and every page and node that no sequence uses. */
void vug_prefix_clear(vug_prefix_tree *tree);

#endif
