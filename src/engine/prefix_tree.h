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
 * only reference and no snapshot pins it; the least recently used one goes first, leaves of full
 * groups before their parents. The tree registers with the pool (vug_kv_pool_on_full).
 *
 * Not thread-safe: the owner of the pool serializes calls.
 */

#include "engine/kv_pool.h"

typedef struct vug_prefix_tree vug_prefix_tree;
typedef struct vug_prefix_node vug_prefix_node;

enum { VUG_PREFIX_KEY = 32 }; /* bytes of a key: SHA-256 */

/* What apart from the tokens decides the contents of pages: the weights, the graph, the formats
 * and the namespace of the cache. Sequences of different keys share nothing. */
typedef struct {
    uint8_t byte[VUG_PREFIX_KEY];
} vug_prefix_key;

/* `snapshot_share` (0 to 1) is the part of the pool's budget that snapshots may pin. */
VUG_MUST_CHECK vug_status vug_prefix_tree_create(vug_kv_pool *pool, double snapshot_share,
                                                 vug_prefix_tree **out, vug_err *err);
/* Releases the tree's pages. Accepts NULL. */
void vug_prefix_tree_destroy(vug_prefix_tree *tree);

/* ---- lookup -------------------------------------------------------------------- */

/* The longest usable prefix of ids [n] that is not longer than `most` tokens. The pages are
 * those of the blocks of VUG_KV_PAGE tokens that contain [0, length); page[g][b] is 0 where a
 * sliding group does not need the block. Every page is retained for the caller. If length is not
 * a multiple of VUG_KV_PAGE, the last page of each group holds other tokens from there on: the
 * caller copies it before it writes. */
typedef struct {
    size_t length;         /* 0: nothing is cached */
    vug_prefix_node *node; /* of the last whole block; pinned until vug_prefix_leave */
    size_t common;         /* tokens that a cached sequence shares, usable or not */
} vug_prefix_match;
void vug_prefix_find(vug_prefix_tree *tree, const vug_prefix_key *key, const int32_t *id, size_t n,
                     size_t most, vug_page *const *page, vug_prefix_match *out);
/* Only how much could be reused. */
size_t vug_prefix_peek(const vug_prefix_tree *tree, const vug_prefix_key *key, const int32_t *id,
                       size_t n, size_t most);

/* ---- publication ---------------------------------------------------------------- */

/* Adds the block of VUG_KV_PAGE accepted tokens that follows `node` (which the caller has
 * entered) and returns its node, entered in place of `node`. page [groups]: the sequence's own
 * pages, which the tree retains. If the block is there already, the tree keeps its pages, and
 * page[g] is replaced by the tree's page, retained for the caller, whose own is released: equal
 * prefixes have equal pages. Returns `node` itself if memory is short: the sequence then publishes
 * nothing more. */
vug_prefix_node *vug_prefix_add(vug_prefix_tree *tree, vug_prefix_node *node, const int32_t *id,
                                vug_page *page);
/* Adds the last tokens of a sequence that ends, fewer than VUG_KV_PAGE. */
void vug_prefix_add_last(vug_prefix_tree *tree, vug_prefix_node *node, const int32_t *id, size_t n,
                         const vug_page *page);
/* A sequence that has entered a node keeps it and its ancestors in the tree, with pages or not. */
vug_prefix_node *vug_prefix_enter_root(vug_prefix_tree *tree, const vug_prefix_key *key);
void vug_prefix_leave(vug_prefix_tree *tree, vug_prefix_node *node);

/* ---- snapshots ------------------------------------------------------------------- */

/* Where later prompts may branch, in the order in which they are given up. */
typedef enum {
    VUG_MARK_PROMPT, /* on the way of a long prompt */
    VUG_MARK_TURN,   /* the start of the last user turn, the opening of the answer */
    VUG_MARK_SYSTEM, /* the end of the system turn */
} vug_mark_kind;

/* Pins the pages of sliding groups that boundary `p` needs, if the nodes on the path to `node`
 * hold all of them; `node` contains position p - 1. Gives up other snapshots while the share is
 * exceeded: first of lower kinds, then the ones missed least, that is, those closest to the
 * snapshot before them in relation to their distance from the end of the path. Does nothing
 * without sliding groups. */
void vug_prefix_pin(vug_prefix_tree *tree, vug_prefix_node *node, size_t p, vug_mark_kind kind);

/* ---- state ----------------------------------------------------------------------- */

typedef struct {
    uint64_t nodes, pages; /* in the tree */
    uint64_t bytes;        /* of these pages */
    uint64_t evictable;    /* bytes of them that could be evicted now */
    uint64_t snapshots, snapshot_bytes;
    uint64_t evictions; /* pages, since the tree was created */
} vug_prefix_stats;
vug_prefix_stats vug_prefix_get_stats(const vug_prefix_tree *tree);
/* Drops every page and node that no sequence uses. */
void vug_prefix_clear(vug_prefix_tree *tree);

#endif
