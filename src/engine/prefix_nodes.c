/* The nodes of a prefix tree: their order, their pages, and what can be given up. */
#include "engine/prefix_nodes.h"

/* ---- tokens ---------------------------------------------------------------------- */

size_t vug_prefix_shared(const vug_prefix_node *node, const int32_t *id, size_t n)
{
    size_t i = 0;
    while (i < node->n && i < n && node->id[i] == id[i])
        i++;
    return i;
}

static bool is_before(const vug_prefix_node *node, const int32_t *id, size_t n)
{
    const size_t i = vug_prefix_shared(node, id, n);
    return i < node->n && i < n ? node->id[i] < id[i] : node->n < n;
}

size_t vug_prefix_child_index(const vug_prefix_node *node, const int32_t *id, size_t n)
{
    size_t low = 0, high = node->n_children;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_before(node->child[middle], id, n))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

vug_prefix_node *vug_prefix_child(const vug_prefix_node *node, const int32_t *id, size_t n)
{
    const size_t i = vug_prefix_child_index(node, id, n);
    if (i == node->n_children)
        return NULL;
    vug_prefix_node *child = node->child[i];
    return child->n == n && vug_prefix_shared(child, id, n) == n ? child : NULL;
}

/* ---- nodes ----------------------------------------------------------------------- */

static void update_spare(vug_prefix_tree *tree, vug_prefix_node *node)
{
    if (node->parent && node->n_pages == 0 && node->n_children == 0 && node->users == 0)
        vug_prefix_heap_push(&tree->spare, &node->entry);
    else
        vug_prefix_heap_remove(&tree->spare, &node->entry);
}

static vug_prefix_node *node_create(const vug_prefix_tree *tree, vug_prefix_node *parent,
                                    const int32_t *id, size_t n)
{
    const int n_groups = tree->layout->n_groups;
    vug_prefix_node *node =
            vug_alloc_zero(1, sizeof(*node) + (size_t)n_groups * sizeof(node->slot[0]));
    if (!node)
        return NULL;
    node->parent = parent;
    /* The words of a key have no positions. */
    node->end = parent && parent->parent ? parent->end + n : 0;
    node->n = n;
    if (n > 0)
        memcpy(node->id, id, n * sizeof(*id));
    node->entry = (vug_prefix_entry){
        .node = node, .group = -1, .used = tree->clock, .position = node->end
    };
    for (int g = 0; g < n_groups; g++)
        node->slot[g].entry = (vug_prefix_entry){ .node = node, .group = g, .position = node->end };
    return node;
}

static bool reserve_child(vug_prefix_node *node)
{
    if (node->n_children < node->cap_children)
        return true;
    /* Most nodes have one child. */
    const size_t cap = node->cap_children > 0 ? 2 * node->cap_children : 1;
    vug_prefix_node **more = vug_realloc(node->child, cap, sizeof(void *));
    if (!more)
        return false;
    node->child = more;
    node->cap_children = cap;
    return true;
}

vug_prefix_node *vug_prefix_child_create(vug_prefix_tree *tree, vug_prefix_node *parent,
                                         const int32_t *id, size_t n)
{
    vug_prefix_node *node = parent ? vug_prefix_child(parent, id, n) : NULL;
    if (node)
        return node;
    if ((parent && !reserve_child(parent)) ||
        !vug_prefix_heap_reserve(&tree->spare, (size_t)tree->stats.nodes + 1))
        return NULL;
    node = node_create(tree, parent, id, n);
    if (!node || !parent)
        return node;
    const size_t i = vug_prefix_child_index(parent, id, n);
    memmove(&parent->child[i + 1], &parent->child[i], (parent->n_children - i) * sizeof(void *));
    parent->child[i] = node;
    parent->n_children++;
    tree->stats.nodes++;
    tree->n_empty++;
    update_spare(tree, node);
    return node;
}

enum { KEY_WORDS = VUG_PREFIX_KEY / sizeof(int32_t) };

vug_prefix_node *vug_prefix_root(const vug_prefix_tree *tree, const vug_prefix_key *key)
{
    int32_t word[KEY_WORDS];
    memcpy(word, key->byte, sizeof(word));
    return vug_prefix_child(tree->top, word, KEY_WORDS);
}

vug_prefix_node *vug_prefix_root_create(vug_prefix_tree *tree, const vug_prefix_key *key)
{
    int32_t word[KEY_WORDS];
    memcpy(word, key->byte, sizeof(word));
    return vug_prefix_child_create(tree, tree->top, word, KEY_WORDS);
}

void vug_prefix_node_remove(vug_prefix_tree *tree, vug_prefix_node *node)
{
    VUG_ASSERT(node->n_children == 0 && !node->snapshot);
    for (int g = 0; g < tree->layout->n_groups; g++) {
        if (node->slot[g].page != 0)
            vug_prefix_drop_page(tree, node, g);
    }
    vug_prefix_heap_remove(&tree->spare, &node->entry);
    vug_prefix_node *parent = node->parent;
    if (parent) {
        const size_t i = vug_prefix_child_index(parent, node->id, node->n);
        parent->n_children--;
        memmove(&parent->child[i], &parent->child[i + 1],
                (parent->n_children - i) * sizeof(void *));
        tree->stats.nodes--;
        tree->n_empty--;
        update_spare(tree, parent);
    }
    vug_free(node->child);
    vug_free(node);
}

void vug_prefix_prune(vug_prefix_tree *tree, size_t most)
{
    while (tree->n_empty > most && vug_prefix_heap_first(&tree->spare))
        vug_prefix_node_remove(tree, vug_prefix_heap_first(&tree->spare)->node);
}

void vug_prefix_touch(vug_prefix_tree *tree, vug_prefix_node *node)
{
    vug_prefix_heap_remove(&tree->spare, &node->entry);
    node->entry.used = tree->clock;
    update_spare(tree, node);
}

void vug_prefix_use(vug_prefix_tree *tree, vug_prefix_node *node, int users)
{
    VUG_ASSERT(users > 0 || node->users >= (uint32_t)-users);
    node->users += (uint32_t)users;
    vug_prefix_touch(tree, node);
}

/* ---- pages ----------------------------------------------------------------------- */

#define LATER (UINT64_C(1) << 63) /* in the order of eviction: after all that lack it */

/* An idle page can be evicted unless it is pinned. */
static void update_idle(vug_prefix_tree *tree, vug_prefix_slot *slot)
{
    if (slot->idle && slot->pins == 0)
        vug_prefix_heap_push(&tree->idle, &slot->entry);
    else
        vug_prefix_heap_remove(&tree->idle, &slot->entry);
}

/* Whether a sequence has left a page of a sliding group behind its window, and goes on. */
static bool is_left_behind(const vug_prefix_tree *tree, const vug_prefix_slot *slot)
{
    bool in_use = false;
    if (tree->layout->group[slot->entry.group].window == 0)
        return false;
    for (int g = 0; g < tree->layout->n_groups; g++) {
        const vug_prefix_slot *other = &slot->entry.node->slot[g];
        in_use |= tree->layout->group[g].window == 0 && other->page != 0 && !other->idle;
    }
    return in_use;
}

/* Later prompts hardly need pages that were left behind, so all of them go before the others. */
static void set_idle(vug_prefix_tree *tree, vug_prefix_slot *slot, bool idle)
{
    if (slot->idle == idle)
        return;
    const uint64_t bytes = vug_kv_page_bytes(tree->pool, slot->entry.group);
    tree->stats.evictable = idle ? tree->stats.evictable + bytes : tree->stats.evictable - bytes;
    slot->idle = idle;
    if (idle)
        slot->entry.used = tree->clock | (is_left_behind(tree, slot) ? 0 : LATER);
    update_idle(tree, slot);
}

bool vug_prefix_reserve_pages(vug_prefix_tree *tree)
{
    const size_t most = (size_t)tree->stats.pages + (size_t)tree->layout->n_groups;
    return vug_prefix_heap_reserve(&tree->idle, most);
}

void vug_prefix_hold(vug_prefix_tree *tree, vug_prefix_node *node, int group, vug_page page)
{
    vug_prefix_slot *slot = &node->slot[group];
    VUG_ASSERT(slot->page == 0 && !tree->holder[group][page]);
    vug_kv_page_retain(tree->pool, group, page);
    slot->page = page;
    tree->holder[group][page] = node;
    tree->stats.pages++;
    tree->stats.bytes += vug_kv_page_bytes(tree->pool, group);
    if (node->n_pages++ == 0)
        tree->n_empty--;
    update_spare(tree, node);
}

void vug_prefix_drop_page(vug_prefix_tree *tree, vug_prefix_node *node, int group)
{
    vug_prefix_slot *slot = &node->slot[group];
    const vug_page page = slot->page;
    VUG_ASSERT(page != 0 && slot->pins == 0);
    set_idle(tree, slot, false);
    slot->page = 0;
    tree->holder[group][page] = NULL;
    tree->stats.pages--;
    tree->stats.bytes -= vug_kv_page_bytes(tree->pool, group);
    if (--node->n_pages == 0)
        tree->n_empty++;
    update_spare(tree, node);
    vug_kv_page_release(tree->pool, group, page);
}

vug_page vug_prefix_page_retain(vug_prefix_tree *tree, vug_prefix_node *node, int group)
{
    vug_prefix_slot *slot = &node->slot[group];
    VUG_ASSERT(slot->page != 0);
    vug_kv_page_retain(tree->pool, group, slot->page);
    set_idle(tree, slot, false);
    return slot->page;
}

void vug_prefix_page_pin(vug_prefix_tree *tree, vug_prefix_node *node, int group)
{
    vug_prefix_slot *slot = &node->slot[group];
    if (slot->pins++ == 0)
        tree->stats.snapshot_bytes += vug_kv_page_bytes(tree->pool, group);
    update_idle(tree, slot);
}

void vug_prefix_page_unpin(vug_prefix_tree *tree, vug_prefix_node *node, int group)
{
    vug_prefix_slot *slot = &node->slot[group];
    VUG_ASSERT(slot->pins > 0);
    if (--slot->pins == 0)
        tree->stats.snapshot_bytes -= vug_kv_page_bytes(tree->pool, group);
    update_idle(tree, slot);
}

void vug_prefix_page_idle(void *user, int group, vug_page page)
{
    vug_prefix_tree *tree = user;
    vug_prefix_node *node = tree->holder[group][page];
    if (node)
        set_idle(tree, &node->slot[group], true);
}
