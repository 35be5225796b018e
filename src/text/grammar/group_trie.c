#include "text/grammar/group_trie.h"

#include "core/utf8.h"
#include "text/grammar/intern.h"

/* Bytes after the last whole character. */
typedef struct {
    uint8_t n;
    char byte[3];
} unfinished_char;

/* Nodes are numbered in the order in which they are found, and then put in order. */
typedef struct {
    vug_group_trie *groups;
    vug_intern_table
            nodes; /* {parent, group}: the id + 1 is the number of the node; 0 is the root */
    uint32_t *at;  /* [nodes of the token trie]: the node of the path up to there without an
                               unfinished character */
    unfinished_char *rest; /* [nodes of the token trie] */
    uint32_t *member_of;   /* [nodes of the token trie]: or VUG_INTERN_NONE */
    uint32_t *place;       /* [n_nodes]: the number in the final order */
    uint32_t last[3];      /* parent, group and node of the last call of child_of */
    bool failed;           /* out of memory */
} group_trie_builder;

/* ---- paths ------------------------------------------------------------------------------------ */

static uint32_t child_of(group_trie_builder *b, uint32_t node, uint32_t group)
{
    const uint32_t key[2] = { node, group };
    if (b->last[0] == node && b->last[1] == group && b->last[2] > 0)
        return b->last[2];
    const uint32_t id = vug_intern_add(&b->nodes, key, 2);
    b->failed = b->failed || id == VUG_INTERN_NONE;
    if (b->failed)
        return 0;
    b->last[0] = node;
    b->last[1] = group;
    b->last[2] = id + 1;
    return id + 1;
}

static vug_group group_beyond_ascii(uint32_t code_point)
{
    if (code_point == 0x2028 || code_point == 0x2029)
        return VUG_GROUP_LINE_END;
    const bool space = code_point == 0xa0 || code_point == 0x1680 ||
                       (code_point >= 0x2000 && code_point <= 0x200a) || code_point == 0x202f ||
                       code_point == 0x205f || code_point == 0x3000 || code_point == 0xfeff;
    return space ? VUG_GROUP_SPACE : VUG_GROUP_OTHER;
}

/* After bytes that belong to no character. */
static uint32_t after_bytes(group_trie_builder *b, uint32_t node, const char *byte, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t not_ascii = child_of(b, node, VUG_GROUP_NOT_ASCII);
        node = child_of(b, not_ascii, VUG_GROUP_FIRST_BYTE + ((uint8_t)byte[i] - 0x80U));
    }
    return node;
}

/* The node `c` of the token trie begins with its byte what follows the node `at`. */
static void begin_char(group_trie_builder *b, uint32_t c, uint32_t at)
{
    const uint8_t byte = (uint8_t)b->groups->trie->node[c].byte;
    const char text = (char)byte;
    if (byte < 0x80) {
        b->at[c] = b->member_of[c] = child_of(b, at, vug_byte_group_of_ascii(byte));
        return;
    }
    b->member_of[c] = child_of(b, at, VUG_GROUP_NOT_ASCII);
    b->at[c] = at;
    if (vug_utf8_incomplete(&text, 1))
        b->rest[c] = (unfinished_char){ .n = 1, .byte = { text } };
    else
        b->at[c] = after_bytes(b, at, &text, 1);
}

/* The node `c` of the token trie follows the node `above`. */
static void extend_path(group_trie_builder *b, uint32_t c, uint32_t above)
{
    const unfinished_char rest = b->rest[above];
    char text[4];
    uint32_t code_point;
    b->member_of[c] = VUG_INTERN_NONE;
    if (rest.n == 0) {
        begin_char(b, c, b->at[above]);
        return;
    }
    memcpy(text, rest.byte, sizeof(rest.byte));
    text[rest.n] = (char)b->groups->trie->node[c].byte;
    if (vug_utf8_decode(text, rest.n + 1U, &code_point) == rest.n + 1U) {
        const uint32_t not_ascii = child_of(b, b->at[above], VUG_GROUP_NOT_ASCII);
        b->at[c] = child_of(b, not_ascii, group_beyond_ascii(code_point));
    } else if (vug_utf8_incomplete(text, rest.n + 1U)) {
        b->at[c] = b->at[above];
        b->rest[c].n = (uint8_t)(rest.n + 1);
        memcpy(b->rest[c].byte, text, sizeof(b->rest[c].byte));
    } else {
        begin_char(b, c, after_bytes(b, b->at[above], rest.byte, rest.n));
    }
}

/* The node at which the tokens of a node of the token trie end. */
static uint32_t end_of_path(group_trie_builder *b, uint32_t node)
{
    return after_bytes(b, b->at[node], b->rest[node].byte, b->rest[node].n);
}

static void find_paths(group_trie_builder *b)
{
    const vug_token_trie *trie = b->groups->trie;
    b->member_of[0] = VUG_INTERN_NONE;
    for (uint32_t i = 0; i < trie->n_nodes && !b->failed; i++) {
        for (uint32_t c = trie->node[i].child; c < trie->node[i + 1].child; c++) {
            extend_path(b, c, i);
            if (trie->node[c].first < trie->node[c + 1].first)
                (void)end_of_path(b, c);
        }
    }
}

/* ---- the final order --------------------------------------------------------------------------- */

static uint32_t parent_of(const group_trie_builder *b, uint32_t node)
{
    size_t n;
    return vug_intern_get(&b->nodes, node - 1, &n)[0];
}

static uint32_t group_of(const group_trie_builder *b, uint32_t node)
{
    size_t n;
    return vug_intern_get(&b->nodes, node - 1, &n)[1];
}

/* Parents have lower numbers than their children. A pass down leaves the size of each subtree in
 * `end`, and a pass up places the nodes; `next` is where the next child of each goes. */
static bool place_nodes(group_trie_builder *b)
{
    vug_group_trie *g = b->groups;
    g->n_nodes = b->nodes.n + 1;
    g->node = vug_alloc_zero(g->n_nodes + 1, sizeof(*g->node));
    b->place = vug_alloc_zero(g->n_nodes, sizeof(*b->place));
    uint32_t *size = vug_alloc(g->n_nodes, sizeof(*size));
    uint32_t *next = vug_alloc(g->n_nodes, sizeof(*next));
    const bool allocated = g->node && b->place && size && next;
    for (size_t i = 0; allocated && i < g->n_nodes; i++)
        size[i] = 1;
    for (uint32_t i = (uint32_t)g->n_nodes; allocated && i-- > 1;)
        size[parent_of(b, i)] += size[i];
    for (uint32_t i = 0; allocated && i < g->n_nodes; i++) {
        const uint32_t parent = i > 0 ? parent_of(b, i) : 0;
        const uint32_t at = i > 0 ? next[parent] : 0;
        vug_group_trie_node *node = &g->node[at];
        b->place[i] = at;
        next[i] = at + 1;
        node->end = at + size[i];
        if (i == 0)
            continue;
        next[parent] += size[i];
        node->depth = (g->node[b->place[parent]].depth + 1) & 0xffffff;
        node->group = group_of(b, i) & 0xff;
        g->depth = node->depth > g->depth ? node->depth : g->depth;
    }
    vug_free(size);
    vug_free(next);
    return allocated;
}

/* Children have higher numbers than their parents. */
static bool find_groups_below(vug_group_trie *g)
{
    g->below = vug_alloc_zero(g->n_nodes, sizeof(*g->below));
    for (uint32_t i = (uint32_t)g->n_nodes; g->below && i-- > 0;) {
        const unsigned group = g->node[i].group;
        for (uint32_t c = i + 1; c < g->node[i].end; c = g->node[c].end)
            g->below[i] |= g->below[c];
        if (i > 0)
            g->below[i] |= group < VUG_BYTE_GROUP_ASCII   ? (uint64_t)1 << group
                           : group < VUG_GROUP_FIRST_BYTE ? VUG_BYTE_GROUP_BEYOND
                                                          : VUG_BYTE_GROUP_ILL_FORMED;
    }
    return g->below != NULL;
}

/* Counts the tokens and members of each node, in the node after it. */
static void count_lists(group_trie_builder *b)
{
    const vug_token_trie *trie = b->groups->trie;
    vug_group_trie_node *node = b->groups->node;
    for (uint32_t i = 0; i < trie->n_nodes; i++) {
        const uint32_t n = trie->node[i + 1].first - trie->node[i].first;
        if (n > 0)
            node[b->place[end_of_path(b, i)] + 1].first += n;
        if (b->member_of[i] != VUG_INTERN_NONE)
            node[b->place[b->member_of[i]] + 1].member++;
    }
    for (size_t i = 0; i < b->groups->n_nodes; i++) {
        node[i + 1].first += node[i].first;
        node[i + 1].member += node[i].member;
    }
    b->groups->n_members = node[b->groups->n_nodes].member;
}

/* From the last element to the first, so that each list ends up where it begins. */
static bool fill_lists(group_trie_builder *b)
{
    vug_group_trie *g = b->groups;
    const vug_token_trie *trie = g->trie;
    g->id = vug_alloc(trie->n_tokens + 1, sizeof(*g->id));
    g->member = vug_alloc(g->n_members + 1, sizeof(*g->member));
    if (!g->id || !g->member)
        return false;
    for (uint32_t i = (uint32_t)trie->n_nodes; i-- > 0;) {
        const uint32_t from = trie->node[i].first, end = trie->node[i + 1].first;
        uint32_t *next = from < end ? &g->node[b->place[end_of_path(b, i)] + 1].first : NULL;
        for (uint32_t k = end; k-- > from;)
            g->id[--*next] = trie->id[k];
        if (b->member_of[i] != VUG_INTERN_NONE)
            g->member[--g->node[b->place[b->member_of[i]] + 1].member] = i;
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        g->node[i].first = g->node[i + 1].first;
        g->node[i].member = g->node[i + 1].member;
    }
    g->node[g->n_nodes].first = (uint32_t)trie->n_tokens;
    g->node[g->n_nodes].member = (uint32_t)g->n_members;
    return true;
}

/* ---- lifetime ---------------------------------------------------------------------------------- */

vug_status vug_group_trie_init(vug_group_trie *groups, const vug_token_trie *trie, vug_err *err)
{
    *groups = (vug_group_trie){ .trie = trie };
    group_trie_builder b = { .groups = groups };
    b.at = vug_alloc_zero(trie->n_nodes, sizeof(*b.at));
    b.rest = vug_alloc_zero(trie->n_nodes, sizeof(*b.rest));
    b.member_of = vug_alloc(trie->n_nodes, sizeof(*b.member_of));
    b.failed = !b.at || !b.rest || !b.member_of;
    if (!b.failed)
        find_paths(&b);
    b.failed = b.failed || !place_nodes(&b) || !find_groups_below(groups);
    if (!b.failed) {
        count_lists(&b);
        b.failed = !fill_lists(&b);
    }
    vug_intern_release(&b.nodes);
    vug_free(b.at);
    vug_free(b.rest);
    vug_free(b.member_of);
    vug_free(b.place);
    if (!b.failed)
        return VUG_OK;
    vug_group_trie_release(groups);
    return VUG_FAIL_NOMEM(err, "the token trie", trie->n_nodes * sizeof(uint32_t));
}

void vug_group_trie_release(vug_group_trie *g)
{
    vug_free(g->node);
    vug_free(g->below);
    vug_free(g->id);
    vug_free(g->member);
    *g = (vug_group_trie){ 0 };
}
