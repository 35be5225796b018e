/* The prefix tree: what sequences publish, and what is evicted. prefix_find.c finds prefixes. */
#include "engine/prefix_tree.h"

#include "engine/prefix_nodes.h"
#include "engine/prefix_snapshots.h"

/* ---- eviction -------------------------------------------------------------------- */

static bool has_idle_page(const vug_prefix_slot *slot)
{
    return slot->idle && slot->pins == 0;
}

/* Evicts a page. Without the page of a full group no boundary in the node is usable: its
 * snapshots and its other pages go too. */
static void evict(vug_prefix_tree *tree, vug_prefix_node *node, int group)
{
    const vug_kv_layout *layout = tree->layout;
    const uint64_t before = tree->stats.pages;
    vug_prefix_drop_page(tree, node, group);
    if (layout->group[group].window == 0) {
        vug_prefix_snapshots_drop(tree, node);
        for (int g = 0; g < layout->n_groups; g++) {
            if (has_idle_page(&node->slot[g]))
                vug_prefix_drop_page(tree, node, g);
        }
    }
    tree->stats.evictions += before - tree->stats.pages;
}

/* Evicts the least recently used page that nothing needs; false: there is none. */
static bool evict_first(vug_prefix_tree *tree)
{
    const vug_prefix_entry *first = vug_prefix_heap_first(&tree->idle);
    if (first)
        evict(tree, first->node, first->group);
    return first != NULL;
}

/* For the pool. The snapshots are the last that it gets. */
static bool reclaim_page(void *user)
{
    vug_prefix_tree *tree = user;
    while (!evict_first(tree)) {
        if (!vug_prefix_snapshots_give_up(tree))
            return false;
    }
    return true;
}

void vug_prefix_clear(vug_prefix_tree *tree)
{
    const uint64_t evictions = tree->stats.evictions;
    while (tree->snapshot)
        vug_prefix_snapshots_drop(tree, tree->snapshot->node);
    while (evict_first(tree))
        ;
    tree->stats.evictions = evictions;
    vug_prefix_prune(tree, 0);
}

/* ---- creation -------------------------------------------------------------------- */

static vug_status init_tree(vug_prefix_tree *tree, vug_err *err)
{
    for (int g = 0; g < tree->layout->n_groups; g++) {
        const size_t n = (size_t)vug_kv_pool_max_pages(tree->pool, g) + 1;
        tree->holder[g] = vug_alloc_zero(n, sizeof(void *));
        if (!tree->holder[g])
            return VUG_FAIL_NOMEM(err, "the prefix tree", n * sizeof(void *));
    }
    tree->top = vug_prefix_child_create(tree, NULL, NULL, 0);
    if (!tree->top)
        return VUG_FAIL_NOMEM(err, "the prefix tree", sizeof(*tree->top));
    vug_kv_pool_on_full(tree->pool, reclaim_page, tree);
    vug_kv_pool_on_idle(tree->pool, vug_prefix_page_idle, tree);
    return VUG_OK;
}

vug_status vug_prefix_tree_create(vug_kv_pool *pool, double snapshot_share, vug_prefix_tree **out,
                                  vug_err *err)
{
    VUG_ASSERT(snapshot_share >= 0 && snapshot_share <= 1);
    *out = NULL;
    vug_prefix_tree *tree = vug_alloc_zero(1, sizeof(*tree));
    if (!tree)
        return VUG_FAIL_NOMEM(err, "the prefix tree", sizeof(*tree));
    tree->pool = pool;
    tree->layout = vug_kv_pool_layout(pool);
    tree->snapshot_limit = (uint64_t)(snapshot_share * (double)vug_kv_pool_get_stats(pool).budget);
    const vug_status st = init_tree(tree, err);
    if (st != VUG_OK) {
        vug_prefix_tree_destroy(tree);
        return st;
    }
    *out = tree;
    return VUG_OK;
}

/* Removes every node, children first; a path may be too long for recursion. */
static void remove_nodes(vug_prefix_tree *tree)
{
    vug_prefix_node *node = tree->top;
    while (node) {
        if (node->n_children > 0) {
            node = node->child[node->n_children - 1];
            continue;
        }
        vug_prefix_node *parent = node->parent;
        vug_prefix_snapshots_drop(tree, node);
        vug_prefix_node_remove(tree, node);
        node = parent;
    }
}

void vug_prefix_tree_destroy(vug_prefix_tree *tree)
{
    if (!tree)
        return;
    vug_kv_pool_on_full(tree->pool, NULL, NULL);
    vug_kv_pool_on_idle(tree->pool, NULL, NULL);
    remove_nodes(tree);
    for (int g = 0; g < VUG_KV_MAX_GROUPS; g++)
        vug_free(tree->holder[g]);
    vug_prefix_heap_release(&tree->idle);
    vug_prefix_heap_release(&tree->spare);
    vug_free(tree);
}

vug_prefix_stats vug_prefix_get_stats(const vug_prefix_tree *tree)
{
    return tree->stats;
}

/* ---- entering -------------------------------------------------------------------- */

vug_prefix_node *vug_prefix_enter_root(vug_prefix_tree *tree, const vug_prefix_key *key)
{
    tree->clock++;
    vug_prefix_node *root = vug_prefix_root_create(tree, key);
    if (root)
        vug_prefix_use(tree, root, 1);
    return root;
}

void vug_prefix_enter(vug_prefix_tree *tree, vug_prefix_node *node)
{
    if (node)
        vug_prefix_use(tree, node, 1);
}

void vug_prefix_leave(vug_prefix_tree *tree, vug_prefix_node *node)
{
    if (!node)
        return;
    tree->clock++;
    vug_prefix_use(tree, node, -1);
    vug_prefix_prune(tree, VUG_PREFIX_MAX_EMPTY);
}

/* Makes a sequence that has entered `from` enter `to`. */
static vug_prefix_node *move_user(vug_prefix_tree *tree, vug_prefix_node *from, vug_prefix_node *to)
{
    vug_prefix_use(tree, to, 1);
    vug_prefix_leave(tree, from);
    return to;
}

vug_prefix_node *vug_prefix_back(vug_prefix_tree *tree, vug_prefix_node *node, size_t n)
{
    vug_prefix_node *to = node;
    while (to && (to->end > n || !vug_prefix_is_whole(to)))
        to = to->parent;
    return to == node ? node : move_user(tree, node, to);
}

/* ---- publication ----------------------------------------------------------------- */

/* Whether a node has a page wherever `page` [groups] has one. */
static bool has_pages(const vug_prefix_tree *tree, const vug_prefix_node *node,
                      const vug_page *page)
{
    for (int g = 0; g < tree->layout->n_groups; g++) {
        if (page[g] != 0 && node->slot[g].page == 0)
            return false;
    }
    return true;
}

/* Whether a leaf has nothing that `next`, the child after it, does not have as well. */
static bool is_superseded(const vug_prefix_tree *tree, const vug_prefix_node *leaf,
                          const vug_prefix_node *next)
{
    if (leaf->users > 0 || leaf->n >= next->n ||
        vug_prefix_shared(leaf, next->id, next->n) < leaf->n)
        return false;
    for (int g = 0; g < tree->layout->n_groups; g++) {
        const vug_prefix_slot *slot = &leaf->slot[g];
        if (slot->pins > 0 || (slot->page != 0 && next->slot[g].page == 0))
            return false;
    }
    return true;
}

/* Removes the leaves where earlier sequences ended and this one went on. */
static void remove_superseded(vug_prefix_tree *tree, const vug_prefix_node *node)
{
    vug_prefix_node *parent = node->parent;
    size_t i = vug_prefix_child_index(parent, node->id, node->n);
    for (; i > 0 && is_superseded(tree, parent->child[i - 1], node); i--)
        vug_prefix_node_remove(tree, parent->child[i - 1]);
}

/* Makes a node hold the pages that it lacks, and gives the sequence the pages that it has. */
static void exchange_pages(vug_prefix_tree *tree, vug_prefix_node *node, vug_page *page)
{
    for (int g = 0; g < tree->layout->n_groups; g++) {
        const vug_page held = node->slot[g].page, own = page[g];
        if (own == 0)
            continue;
        if (held == 0) {
            /* A sequence that copied only some pages of a node has the others of that node. */
            if (!tree->holder[g][own])
                vug_prefix_hold(tree, node, g, own);
            continue;
        }
        page[g] = vug_prefix_page_retain(tree, node, g);
        vug_kv_page_release(tree->pool, g, own);
    }
}

/* The child of `node` with these tokens and pages, entered in place of `node`; `node` itself if
 * memory is short. */
static vug_prefix_node *add_block(vug_prefix_tree *tree, vug_prefix_node *node, const int32_t *id,
                                  size_t n, vug_page *page)
{
    tree->clock++;
    tree->tokens += n;
    if (!node || !vug_prefix_reserve_pages(tree))
        return node;
    VUG_ASSERT(vug_prefix_is_whole(node) && node->parent);
    vug_prefix_node *child = vug_prefix_child_create(tree, node, id, n);
    if (!child)
        return node;
    exchange_pages(tree, child, page);
    remove_superseded(tree, child);
    return move_user(tree, node, child);
}

vug_prefix_node *vug_prefix_add(vug_prefix_tree *tree, vug_prefix_node *node, const int32_t *id,
                                vug_page *page)
{
    return add_block(tree, node, id, VUG_KV_PAGE, page);
}

vug_prefix_node *vug_prefix_add_last(vug_prefix_tree *tree, vug_prefix_node *node,
                                     const int32_t *id, size_t n, vug_page *page)
{
    VUG_ASSERT(n < VUG_KV_PAGE);
    if (!node || n == 0)
        return node;
    /* A child that begins with these tokens may have all their pages. */
    for (size_t i = vug_prefix_child_index(node, id, n); i < node->n_children; i++) {
        vug_prefix_node *child = node->child[i];
        if (vug_prefix_shared(child, id, n) < n)
            break;
        if (has_pages(tree, child, page)) {
            tree->clock++;
            tree->tokens += n;
            return move_user(tree, node, child);
        }
    }
    return add_block(tree, node, id, n, page);
}
