#ifndef VUG_ENGINE_PREFIX_NODES_H
#define VUG_ENGINE_PREFIX_NODES_H

/*
 * The nodes of a prefix tree and the pages that they hold. Only the files of the tree include
 * this.
 *
 * The tree has a hidden top. The children of the top are the roots, one for each key, whose
 * tokens are the 32 bytes of the key. The children of a node are sorted by their tokens, so a
 * binary search finds the ones that share most tokens with a prompt, and no choice of tokens
 * makes it slow.
 *
 * A page that the tree holds is idle when no sequence has a reference, and pinned when a
 * snapshot needs it. A node is spare when it has no pages, no children and no sequence.
 */

#include "engine/prefix_heap.h"
#include "engine/prefix_tree.h"

/* Nodes without pages, roots included, that the tree keeps beside those that sequences use. */
enum { VUG_PREFIX_MAX_EMPTY = 1 << 15 };

/* The page of a group at a node. */
typedef struct {
    vug_page page; /* 0: none */
    uint32_t pins; /* snapshots that need it */
    bool idle;
    vug_prefix_entry entry; /* in `idle` of the tree while it is idle and not pinned */
} vug_prefix_slot;

typedef struct vug_prefix_snapshot vug_prefix_snapshot;
struct vug_prefix_snapshot {
    vug_prefix_node *node; /* contains position p - 1 */
    size_t p;
    vug_mark_kind kind;
    uint64_t used;       /* `tokens` of the tree when it was last used */
    uint32_t n_followed; /* of VUG_MARK_TURN: later turns on its path, pinned since it was */
    vug_prefix_snapshot *next_of_node;  /* in any order */
    vug_prefix_snapshot *before, *next; /* in `snapshot` of the tree */
};

struct vug_prefix_node {
    vug_prefix_node *parent; /* NULL: the top */
    vug_prefix_node **child; /* sorted by tokens; a prefix of another child precedes it */
    size_t n_children, cap_children;
    size_t end; /* position after the last token; 0: a root or the top */
    int32_t id[VUG_KV_PAGE];
    size_t n;         /* tokens, or words of the key; fewer than VUG_KV_PAGE: a root or a leaf */
    uint32_t users;   /* sequences that have entered the node */
    uint32_t n_pages; /* slots with a page */
    vug_prefix_snapshot *snapshot;
    vug_prefix_entry entry; /* in `spare` of the tree while it is spare */
    vug_prefix_slot slot[]; /* [groups] */
};

struct vug_prefix_tree {
    vug_kv_pool *pool;
    const vug_kv_layout *layout; /* the pool's */
    vug_prefix_node *top;
    vug_prefix_node **holder[VUG_KV_MAX_GROUPS]; /* [pages + 1]: the node that holds a page */
    vug_prefix_heap idle;                        /* pages that can be evicted */
    vug_prefix_heap spare;                       /* nodes that can be dropped */
    size_t n_empty;                              /* nodes without pages, spare or not */
    uint64_t clock;                              /* calls so far */
    uint64_t tokens;                             /* that sequences added so far */
    vug_prefix_snapshot *snapshot;
    uint64_t snapshot_limit; /* bytes */
    vug_prefix_stats stats;
};

/* Of a node with tokens: the index of its block in page tables. */
static inline size_t vug_prefix_block(const vug_prefix_node *node)
{
    return (node->end - 1) / VUG_KV_PAGE;
}

/* Whether blocks can follow the node. */
static inline bool vug_prefix_is_whole(const vug_prefix_node *node)
{
    return node->end % VUG_KV_PAGE == 0;
}

/* The first block whose page a group needs to continue at boundary `p` > 0; the number of blocks
 * if it needs none. */
static inline size_t vug_prefix_first_needed(const vug_kv_group *group, size_t p)
{
    const size_t window = (size_t)group->window;
    if (window == 0 || p + 1 <= window)
        return 0;
    return window == 1 ? (size_t)vug_kv_pages_of((int64_t)p) : (p + 1 - window) / VUG_KV_PAGE;
}

/* ---- nodes ----------------------------------------------------------------------- */

/* The number of first tokens that a node shares with id [n]. */
size_t vug_prefix_shared(const vug_prefix_node *node, const int32_t *id, size_t n);
/* The index of the first child whose tokens are not before id [n]. */
size_t vug_prefix_child_index(const vug_prefix_node *node, const int32_t *id, size_t n);
/* The child with exactly these tokens; NULL: none. */
vug_prefix_node *vug_prefix_child(const vug_prefix_node *node, const int32_t *id, size_t n);
/* The child with exactly these tokens, which is created if it does not exist; NULL when out of
 * memory. `parent` is the top or in use, and NULL for the top alone. */
vug_prefix_node *vug_prefix_child_create(vug_prefix_tree *tree, vug_prefix_node *parent,
                                         const int32_t *id, size_t n);
/* Frees a node and drops its pages, whoever uses it. It has no children and no snapshots. */
void vug_prefix_node_remove(vug_prefix_tree *tree, vug_prefix_node *node);
/* Drops spare nodes, the least recently used first, while more than `most` have no pages. */
void vug_prefix_prune(vug_prefix_tree *tree, size_t most);
/* Says that a node is used now. */
void vug_prefix_touch(vug_prefix_tree *tree, vug_prefix_node *node);
/* Adds or removes users of a node. */
void vug_prefix_use(vug_prefix_tree *tree, vug_prefix_node *node, int users);

/* The root of a key, if it exists, and one that is created; NULL when out of memory. */
vug_prefix_node *vug_prefix_root(const vug_prefix_tree *tree, const vug_prefix_key *key);
vug_prefix_node *vug_prefix_root_create(vug_prefix_tree *tree, const vug_prefix_key *key);

/* ---- pages ----------------------------------------------------------------------- */

/* Makes room for the pages of one more node; false when out of memory. */
bool vug_prefix_reserve_pages(vug_prefix_tree *tree);
/* Makes a node hold a page that a sequence uses; there must be room. */
void vug_prefix_hold(vug_prefix_tree *tree, vug_prefix_node *node, int group, vug_page page);
/* Releases the page of a node, which has one and no pins. */
void vug_prefix_drop_page(vug_prefix_tree *tree, vug_prefix_node *node, int group);
/* A reference to the page of a node, for a sequence. */
vug_page vug_prefix_page_retain(vug_prefix_tree *tree, vug_prefix_node *node, int group);
/* A snapshot begins to need a page, or ceases to. */
void vug_prefix_page_pin(vug_prefix_tree *tree, vug_prefix_node *node, int group);
void vug_prefix_page_unpin(vug_prefix_tree *tree, vug_prefix_node *node, int group);
/* For the pool, with the tree as `user`: a page has one reference left. */
void vug_prefix_page_idle(void *user, int group, vug_page page);

#endif
