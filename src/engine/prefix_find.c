/* Finding the longest prefix of a prompt whose keys and values a prefix tree holds. */
#include "engine/prefix_nodes.h"
#include "engine/prefix_snapshots.h"

/* ---- usable boundaries ----------------------------------------------------------- */

/* Of a path, for each group: the first block from which on every node has the page. */
typedef struct {
    size_t first[VUG_KV_MAX_GROUPS];
} page_runs;

static page_runs extend_runs(const vug_prefix_tree *tree, const page_runs *parent,
                             const vug_prefix_node *node)
{
    page_runs runs = *parent;
    for (int g = 0; g < tree->layout->n_groups; g++) {
        if (node->slot[g].page == 0)
            runs.first[g] = vug_prefix_block(node) + 1;
    }
    return runs;
}

/* Whether boundary `p` in the last node of the path is usable. */
static bool is_usable(const vug_prefix_tree *tree, const page_runs *runs, size_t p)
{
    for (int g = 0; g < tree->layout->n_groups; g++) {
        if (runs->first[g] > vug_prefix_first_needed(&tree->layout->group[g], p))
            return false;
    }
    return true;
}

/* ---- search ---------------------------------------------------------------------- */

typedef struct {
    const vug_prefix_tree *tree;
    const int32_t *id;
    size_t n, most;
    size_t length;            /* as in vug_prefix_match */
    size_t common;            /* tokens that a cached sequence shares, usable or not */
    vug_prefix_node *whole;   /* of the last whole block before `length` */
    vug_prefix_node *last;    /* contains position length - 1; the root if length is 0 */
    vug_prefix_node *closest; /* contains position common - 1; the root if common is 0 */
} prefix_search;

/* Takes the longest usable boundary in `child` of `whole`, of which `shared` tokens are those of
 * the prompt; false: there is none. It is longer than what was found in nodes before. In one node a boundary needs
 * no more pages than any shorter one. */
static bool take_boundary(prefix_search *s, vug_prefix_node *whole, const page_runs *parent,
                          vug_prefix_node *child, size_t shared)
{
    const size_t end = whole->end + shared, p = end < s->most ? end : s->most;
    const page_runs runs = extend_runs(s->tree, parent, child);
    if (p <= whole->end || !is_usable(s->tree, &runs, p))
        return false;
    s->length = p;
    s->whole = p == child->end && vug_prefix_is_whole(child) ? child : whole;
    s->last = child;
    return true;
}

/* Tries the children of `node` that share the first of the `n` tokens at `id`, most shared tokens
 * first. With the distance from the place where the tokens would be sorted in, a child shares
 * ever fewer of them. */
static void search_children(prefix_search *s, vug_prefix_node *node, const page_runs *runs,
                            const int32_t *id, size_t n)
{
    size_t after = vug_prefix_child_index(node, id, n), before = after;
    for (bool first = true;; first = false) {
        const size_t shared_before =
                before > 0 ? vug_prefix_shared(node->child[before - 1], id, n) : 0;
        const size_t shared_after =
                after < node->n_children ? vug_prefix_shared(node->child[after], id, n) : 0;
        const bool is_before = shared_before > shared_after;
        const size_t shared = is_before ? shared_before : shared_after;
        if (shared == 0)
            return;
        vug_prefix_node *child = is_before ? node->child[--before] : node->child[after++];
        if (first) {
            s->common = node->end + shared;
            s->closest = child;
        }
        if (node->end >= s->most || take_boundary(s, node, runs, child, shared))
            return;
    }
}

static prefix_search search_path(const vug_prefix_tree *tree, vug_prefix_node *root,
                                 const int32_t *id, size_t n, size_t most)
{
    prefix_search s = { .tree = tree,
                        .id = id,
                        .n = n,
                        .most = most < n ? most : n,
                        .whole = root,
                        .last = root,
                        .closest = root };
    page_runs runs = { .first = { 0 } };
    for (vug_prefix_node *node = root, *child; node->end < n; node = child) {
        const size_t left = n - node->end;
        const int32_t *next = id + node->end;
        child = left >= VUG_KV_PAGE ? vug_prefix_child(node, next, VUG_KV_PAGE) : NULL;
        if (!child || !take_boundary(&s, node, &runs, child, VUG_KV_PAGE))
            search_children(&s, node, &runs, next, left < VUG_KV_PAGE ? left : VUG_KV_PAGE);
        if (!child)
            break;
        s.common = child->end;
        s.closest = child;
        runs = extend_runs(tree, &runs, child);
    }
    return s;
}

/* ---- lookup ---------------------------------------------------------------------- */

static void retain_pages(vug_prefix_tree *tree, vug_prefix_node *last, size_t length,
                         vug_page *const *page)
{
    for (vug_prefix_node *node = last; node->end > 0; node = node->parent) {
        const size_t block = vug_prefix_block(node);
        for (int g = 0; g < tree->layout->n_groups; g++) {
            const bool needed = block >= vug_prefix_first_needed(&tree->layout->group[g], length);
            page[g][block] = needed ? vug_prefix_page_retain(tree, node, g) : 0;
        }
    }
}

/* Whether a group of the kind lacks a page for boundary `p`, on the path to `node`. */
static bool lacks_page(const vug_prefix_tree *tree, const vug_prefix_node *node, size_t p,
                       bool is_sliding)
{
    for (; node->end > 0; node = node->parent) {
        const size_t block = vug_prefix_block(node);
        for (int g = 0; g < tree->layout->n_groups; g++) {
            const vug_kv_group *group = &tree->layout->group[g];
            if ((group->window > 0) == is_sliding && node->slot[g].page == 0 &&
                block * VUG_KV_PAGE < p && block >= vug_prefix_first_needed(group, p))
                return true;
        }
    }
    return false;
}

/* A token that follows the first `s->common` of a cached sequence; -1: none. */
static int32_t token_after(const prefix_search *s)
{
    const vug_prefix_node *node = s->closest;
    if (s->common < node->end)
        return node->id[s->common - (node->end - node->n)];
    return node->n_children > 0 ? node->child[0]->id[0] : -1;
}

static vug_cache_miss explain_miss(const prefix_search *s)
{
    const size_t wanted = s->common < s->most ? s->common : s->most;
    vug_cache_miss miss = { .n_same = s->common, .cached = token_after(s) };
    if (s->length == wanted)
        miss.reason = wanted == s->most ? VUG_MISS_NONE : VUG_MISS_DIFFERS;
    else if (lacks_page(s->tree, s->closest, wanted, false))
        miss.reason = VUG_MISS_EVICTED;
    else
        miss.reason = VUG_MISS_SNAPSHOT;
    return miss;
}

void vug_prefix_find(vug_prefix_tree *tree, const vug_prefix_key *key, const int32_t *id, size_t n,
                     size_t most, vug_page *const *page, vug_prefix_match *out)
{
    vug_prefix_node *root = vug_prefix_enter_root(tree, key);
    *out = (vug_prefix_match){ .node = root };
    if (!root)
        return;
    const prefix_search s = search_path(tree, root, id, n, most);
    *out = (vug_prefix_match){ .length = s.length, .node = s.whole, .miss = explain_miss(&s) };
    retain_pages(tree, s.last, s.length, page);
    vug_prefix_snapshots_use(tree, s.last, s.length);
    vug_prefix_touch(tree, s.closest);
    vug_prefix_enter(tree, s.whole);
    vug_prefix_leave(tree, root);
}

size_t vug_prefix_peek(const vug_prefix_tree *tree, const vug_prefix_key *key, const int32_t *id,
                       size_t n, size_t most)
{
    vug_prefix_node *root = vug_prefix_root(tree, key);
    return root ? search_path(tree, root, id, n, most).length : 0;
}
