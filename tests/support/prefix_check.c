#include "test.h"

#include "prefix_check.h"

/* The node after `node` in an order that visits all nodes, parents first; NULL: it is the last. */
static const vug_prefix_node *next_node(const vug_prefix_node *node)
{
    if (node->n_children > 0)
        return node->child[0];
    for (; node->parent; node = node->parent) {
        const vug_prefix_node *parent = node->parent;
        size_t i = 0;
        while (parent->child[i] != node)
            i++;
        if (i + 1 < parent->n_children)
            return parent->child[i + 1];
    }
    return NULL;
}

/* Whether a group needs the block of `node` at boundary `p`: by definition, if it needs one of its
 * positions. */
static bool needs_node(const vug_kv_group *group, const vug_prefix_node *node, size_t p)
{
    const size_t window = (size_t)group->window;
    const size_t begin = vug_prefix_block(node) * VUG_KV_PAGE;
    for (size_t i = begin; i < begin + VUG_KV_PAGE && i < p; i++) {
        if (window == 0 || i + window > p)
            return true;
    }
    return false;
}

/* ---- invariants ------------------------------------------------------------------- */

static bool is_ascending(const vug_prefix_node *a, const vug_prefix_node *b)
{
    const size_t shared = vug_prefix_shared(a, b->id, b->n);
    if (shared == a->n)
        return shared < b->n;
    return shared < b->n && a->id[shared] < b->id[shared];
}

static void check_children(const vug_prefix_node *node)
{
    for (size_t i = 0; i < node->n_children; i++) {
        const vug_prefix_node *child = node->child[i];
        assert_ptr_equal(child->parent, node);
        assert_int_equal(child->end, node->parent ? node->end + child->n : 0);
        if (node->parent)
            assert_in_range(child->n, 1, VUG_KV_PAGE);
        if (i > 0)
            assert_true(is_ascending(node->child[i - 1], child));
    }
    if (node->n_children > 0)
        assert_int_equal(node->end % VUG_KV_PAGE, 0);
}

static void check_entry(const vug_prefix_heap *heap, const vug_prefix_entry *entry, bool in_heap)
{
    assert_int_equal(entry->at > 0, in_heap);
    if (!in_heap)
        return;
    assert_true(entry->at <= heap->n && heap->n < heap->cap);
    assert_ptr_equal(heap->entry[entry->at], entry);
    const vug_prefix_entry *above = entry->at > 1 ? heap->entry[entry->at / 2] : NULL;
    assert_false(above && (entry->used < above->used ||
                           (entry->used == above->used && entry->position > above->position)));
}

static uint32_t count_pins(const vug_prefix_tree *tree, const vug_prefix_node *node, int g)
{
    uint32_t pins = 0;
    for (const vug_prefix_snapshot *s = tree->snapshot; s; s = s->next) {
        if (tree->layout->group[g].window == 0 || !needs_node(&tree->layout->group[g], node, s->p))
            continue;
        for (const vug_prefix_node *at = s->node; at; at = at->parent)
            pins += at == node;
    }
    return pins;
}

static void check_slot(const vug_prefix_tree *tree, const vug_prefix_node *node, int g,
                       bool leaves_first)
{
    const vug_prefix_slot *slot = &node->slot[g];
    assert_int_equal(slot->pins, count_pins(tree, node, g));
    check_entry(&tree->idle, &slot->entry, slot->idle && slot->pins == 0);
    if (slot->page == 0) {
        assert_false(slot->idle);
        assert_int_equal(slot->pins, 0);
        return;
    }
    assert_ptr_equal(tree->holder[g][slot->page], node);
    assert_int_equal(slot->idle, vug_kv_page_references(tree->pool, g, slot->page) == 1);
    if (leaves_first && tree->layout->group[g].window == 0 && node->parent->end > 0)
        assert_int_not_equal(node->parent->slot[g].page, 0);
}

void help_prefix_check(const vug_prefix_tree *tree, bool leaves_first)
{
    vug_prefix_stats stats = { 0 };
    size_t n_empty = 0, n_spare = 0, n_idle = 0;
    for (const vug_prefix_node *node = tree->top; node; node = next_node(node)) {
        uint32_t n_pages = 0;
        check_children(node);
        for (int g = 0; g < tree->layout->n_groups; g++) {
            const vug_prefix_slot *slot = &node->slot[g];
            const uint64_t bytes = vug_kv_page_bytes(tree->pool, g);
            check_slot(tree, node, g, leaves_first);
            n_pages += slot->page != 0;
            n_idle += slot->entry.at > 0;
            stats.bytes += slot->page ? bytes : 0;
            stats.evictable += slot->idle ? bytes : 0;
            stats.snapshot_bytes += slot->pins ? bytes : 0;
        }
        assert_int_equal(node->n_pages, n_pages);
        const bool spare = node->parent && n_pages + node->n_children + node->users == 0;
        check_entry(&tree->spare, &node->entry, spare);
        n_spare += spare;
        n_empty += node->parent && n_pages == 0;
        stats.nodes += node->parent != NULL;
        stats.pages += n_pages;
    }
    for (const vug_prefix_snapshot *s = tree->snapshot; s; s = s->next)
        stats.snapshots++;
    stats.evictions = tree->stats.evictions;
    assert_memory_equal(&stats, &tree->stats, sizeof(stats));
    assert_int_equal(n_empty, tree->n_empty);
    assert_int_equal(n_idle, tree->idle.n);
    assert_int_equal(n_spare, tree->spare.n);
}

/* ---- lookup ----------------------------------------------------------------------- */

/* The key and all tokens on the path to `node`, but for its own, are those asked for. */
static bool is_on_path(const vug_prefix_node *node, const vug_prefix_key *key, const int32_t *id,
                       size_t n)
{
    for (node = node->parent; node->end > 0; node = node->parent) {
        if (node->end > n || memcmp(node->id, id + node->end - node->n, node->n * sizeof(*id)) != 0)
            return false;
    }
    return memcmp(node->id, key->byte, VUG_PREFIX_KEY) == 0;
}

static bool has_pages(const vug_prefix_tree *tree, const vug_prefix_node *node, size_t p)
{
    for (; node->end > 0; node = node->parent) {
        for (int g = 0; g < tree->layout->n_groups; g++) {
            if (node->slot[g].page == 0 && needs_node(&tree->layout->group[g], node, p))
                return false;
        }
    }
    return true;
}

size_t help_prefix_longest(const vug_prefix_tree *tree, const vug_prefix_key *key,
                           const int32_t *id, size_t n, size_t most)
{
    size_t longest = 0;
    for (const vug_prefix_node *node = tree->top; node; node = next_node(node)) {
        if (node->end == 0 || node->end - node->n >= n || !is_on_path(node, key, id, n))
            continue;
        const size_t begin = node->end - node->n;
        const size_t end = begin + vug_prefix_shared(node, id + begin, n - begin);
        for (size_t p = begin + 1; p <= end && p <= most; p++) {
            if (p > longest && has_pages(tree, node, p))
                longest = p;
        }
    }
    return longest;
}
