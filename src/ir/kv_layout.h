#ifndef VUG_IR_KV_LAYOUT_H
#define VUG_IR_KV_LAYOUT_H

/*
 * How the key/value cache of a graph is divided into pages.
 *
 * Layers whose caches have the same window, heads and width form a group. A page holds
 * VUG_KV_PAGE consecutive positions of one sequence, for all layers of a group. Pages are cut
 * at multiples of VUG_KV_PAGE. A sequence has a page table for each group: the page of position
 * p is table[group][p / VUG_KV_PAGE].
 */

#include "ir/ir.h"
#include "ir/kv_format.h"

enum {
    VUG_KV_PAGE = 64,       /* positions */
    VUG_KV_MAX_GROUPS = 16, /* published models have at most 2 */
};

/* Index of a page in its group, from 1 on. 0 is no page. */
typedef uint32_t vug_page;

typedef struct {
    int64_t window;       /* 0: full */
    int64_t heads, width; /* K, E */
    int n_layers;
    int device; /* which of the two devices of a model (engine/layer_split.h); 0 of one device */
} vug_kv_group;

/* Where the cache of a layer lies. */
typedef struct {
    int group;  /* -1: the layer has no cache of its own */
    int index;  /* among the layers of the group, in the order of the graph */
    int source; /* the layer whose cache this one reads: itself or an earlier one */
} vug_kv_place;

typedef struct {
    vug_kv_group group[VUG_KV_MAX_GROUPS];
    int n_groups;
    vug_kv_place *layer; /* [n_layers of the graph]; owned */
    int n_layers;
    vug_kv_format format;
} vug_kv_layout;

/* Fails, and leaves an all-zero layout, if two nodes fill the cache of one layer, if a node
 * fills the cache of a layer that the graph does not have, or if there are too many groups. The
 * caller releases the layout. */
VUG_MUST_CHECK vug_status vug_kv_layout_init(vug_kv_layout *layout, const vug_graph *graph,
                                             vug_kv_format format, vug_err *err);
/* Accepts an all-zero layout. */
void vug_kv_layout_release(vug_kv_layout *layout);

/* The pages that `n` positions touch. */
static inline int64_t vug_kv_pages_of(int64_t n)
{
    return (n + VUG_KV_PAGE - 1) / VUG_KV_PAGE;
}

/* The most pages of a group that a sequence of up to `context` tokens holds in steps of up to
 * `batch`: of a window those of the keys that a step sees, wherever they begin, and one more. */
static inline int64_t vug_kv_pages_of_sequence(const vug_kv_group *group, int64_t context,
                                               int64_t batch)
{
    const int64_t all = vug_kv_pages_of(context);
    if (group->window == 0 || group->window >= context)
        return all;
    const int64_t seen = vug_kv_pages_of(group->window - 1 + batch) + 2;
    return seen < all ? seen : all;
}

#endif
