/* Snapshots: pages of sliding groups that the tree keeps although they are behind the window. */
#include "engine/prefix_snapshots.h"

/* ---- the pages of a boundary -------------------------------------------------------- */

typedef struct {
    uint64_t pages;
    uint64_t bytes;
    bool missing; /* a page is not there */
    bool idle;    /* a page is idle */
} boundary_pages;

typedef void slot_action(vug_prefix_tree *tree, vug_prefix_node *node, int group);

/* Goes over the pages of sliding groups that boundary `p` needs, the last of which is at `node`.
 * `action` may be NULL. */
static boundary_pages visit_pages(vug_prefix_tree *tree, vug_prefix_node *node, size_t p,
                                  slot_action *action)
{
    boundary_pages found = { 0 };
    for (int g = 0; g < tree->layout->n_groups; g++) {
        const vug_kv_group *group = &tree->layout->group[g];
        if (group->window == 0)
            continue;
        const size_t first = vug_prefix_first_needed(group, p);
        for (vug_prefix_node *at = node; at->end > 0 && vug_prefix_block(at) >= first;
             at = at->parent) {
            found.pages++;
            found.bytes += vug_kv_page_bytes(tree->pool, g);
            found.missing |= at->slot[g].page == 0;
            found.idle |= at->slot[g].idle;
            if (action)
                action(tree, at, g);
        }
    }
    return found;
}

/* ---- which snapshot is missed least -------------------------------------------------- */

/* The boundary of the last snapshot before `s` on its path; 0: the start. */
static size_t boundary_before(const vug_prefix_snapshot *s)
{
    size_t before = 0;
    for (const vug_prefix_node *node = s->node; node && before == 0; node = node->parent) {
        for (const vug_prefix_snapshot *i = node->snapshot; i; i = i->next_of_node)
            before = i->p < s->p && i->p > before ? i->p : before;
    }
    return before;
}

/* Those of a lower rank go first. A conversation comes back at the end of its system turn, which
 * others share, and at its last marks. A prompt has up to three marks of turns. */
typedef enum { RANK_PROMPT, RANK_EARLIER_TURN, RANK_KEPT } snapshot_rank;
enum { LAST_TURNS = 3 };

static snapshot_rank rank_of(const vug_prefix_snapshot *s)
{
    if (s->kind == VUG_MARK_PROMPT)
        return RANK_PROMPT;
    return s->kind == VUG_MARK_TURN && s->n_followed >= LAST_TURNS ? RANK_EARLIER_TURN : RANK_KEPT;
}

/* Earlier turns on the path to a turn at `p` that was not pinned before are followed by one more. */
static void count_following(const vug_prefix_node *node, size_t p)
{
    for (; node; node = node->parent) {
        for (vug_prefix_snapshot *s = node->snapshot; s; s = s->next_of_node)
            s->n_followed += s->p < p;
    }
}

typedef struct {
    snapshot_rank rank;
    uint64_t gap; /* tokens that are computed again if the snapshot is not there */
    uint64_t age; /* tokens that were added since it was last used */
} snapshot_value;

static snapshot_value value_of(const vug_prefix_tree *tree, const vug_prefix_snapshot *s)
{
    return (snapshot_value){ .rank = rank_of(s),
                             .gap = s->p - boundary_before(s),
                             .age = tree->tokens - s->used + VUG_KV_PAGE };
}

/* Whether the first is missed less, by rank and then by gap / age. */
static bool is_missed_less(const snapshot_value *a, const snapshot_value *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->gap * b->age < b->gap * a->age;
}

/* ---- giving up ---------------------------------------------------------------------- */

static void give_up(vug_prefix_tree *tree, vug_prefix_snapshot *s)
{
    (void)visit_pages(tree, s->node, s->p, vug_prefix_page_unpin);
    vug_prefix_snapshot **link = &s->node->snapshot;
    while (*link != s)
        link = &(*link)->next_of_node;
    *link = s->next_of_node;
    if (s->before)
        s->before->next = s->next;
    else
        tree->snapshot = s->next;
    if (s->next)
        s->next->before = s->before;
    tree->stats.snapshots--;
    vug_free(s);
}

/* The snapshot that is missed least of those up to `rank` except one, and, if `idle`, of those
 * that keep an idle page; NULL: none. */
static vug_prefix_snapshot *find_least(vug_prefix_tree *tree, snapshot_rank rank, bool idle,
                                       const vug_prefix_snapshot *except)
{
    vug_prefix_snapshot *least = NULL;
    snapshot_value least_value = { 0 };
    for (vug_prefix_snapshot *s = tree->snapshot; s; s = s->next) {
        if (s == except || rank_of(s) > rank)
            continue;
        if (idle && !visit_pages(tree, s->node, s->p, NULL).idle)
            continue;
        const snapshot_value value = value_of(tree, s);
        if (!least || is_missed_less(&value, &least_value)) {
            least = s;
            least_value = value;
        }
    }
    return least;
}

bool vug_prefix_snapshots_give_up(vug_prefix_tree *tree)
{
    vug_prefix_snapshot *least = find_least(tree, RANK_KEPT, true, NULL);
    if (least)
        give_up(tree, least);
    return least != NULL;
}

void vug_prefix_snapshots_drop(vug_prefix_tree *tree, vug_prefix_node *node)
{
    while (node->snapshot)
        give_up(tree, node->snapshot);
}

void vug_prefix_snapshots_use(const vug_prefix_tree *tree, const vug_prefix_node *node, size_t p)
{
    for (vug_prefix_snapshot *s = node->snapshot; s; s = s->next_of_node) {
        if (s->p == p)
            s->used = tree->tokens;
    }
}

/* ---- pinning ------------------------------------------------------------------------ */

/* Marks a boundary that is pinned already; false: it is not. */
static bool renew(const vug_prefix_tree *tree, const vug_prefix_node *node, size_t p,
                  vug_mark_kind kind)
{
    for (vug_prefix_snapshot *s = node->snapshot; s; s = s->next_of_node) {
        if (s->p != p)
            continue;
        s->kind = s->kind > kind ? s->kind : kind;
        s->used = tree->tokens;
        s->n_followed = 0;
        return true;
    }
    return false;
}

void vug_prefix_pin(vug_prefix_tree *tree, vug_prefix_node *node, size_t p, vug_mark_kind kind)
{
    if (!node || p == 0 || p > node->end)
        return;
    while (p <= node->end - node->n)
        node = node->parent;
    if (renew(tree, node, p, kind))
        return;
    const boundary_pages needed = visit_pages(tree, node, p, NULL);
    if (needed.pages == 0 || needed.missing || needed.bytes > tree->snapshot_limit)
        return;
    vug_prefix_snapshot *s = vug_alloc(1, sizeof(*s));
    if (!s)
        return;
    *s = (vug_prefix_snapshot){ .node = node,
                                .p = p,
                                .kind = kind,
                                .used = tree->tokens,
                                .next_of_node = node->snapshot,
                                .next = tree->snapshot };
    node->snapshot = s;
    if (s->next)
        s->next->before = s;
    tree->snapshot = s;
    tree->stats.snapshots++;
    if (kind == VUG_MARK_TURN)
        count_following(node, p);
    (void)visit_pages(tree, node, p, vug_prefix_page_pin);
    while (tree->stats.snapshot_bytes > tree->snapshot_limit) {
        vug_prefix_snapshot *least = find_least(tree, rank_of(s), false, s);
        give_up(tree, least ? least : s);
    }
}
