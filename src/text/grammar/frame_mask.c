#include "text/grammar/frame_mask.h"

#include "text/grammar/closed_groups.h"

enum {
    MAX_ID_LIST = 1024, /* longer lists are stored as bits */
    UNCOUNTED = -1,
    AMBIGUOUS = -2,
    MIN_VISITS =
            64, /* of a position before its closed groups are looked for; doubled each time that
                        there are none */
};

/* ---- what a frame allows -------------------------------------------------------- */

/* Of a counted frame at the bottom of the stacks of a set. */
typedef struct {
    int32_t runs;      /* of the body, or edges of a bounded graph; or AMBIGUOUS */
    uint32_t distance; /* how many more are needed to end */
} stack_count;

/* The groups of vug_closed_groups_find. */
typedef struct {
    uint64_t groups;
    uint32_t n_visits;
    bool known; /* `groups` is valid */
} position_groups;

typedef struct {
    vug_group_traversal traversal;
    bool counted, ambiguous;
    vug_buf runs;    /* vug_token_run; not used once there is `word` */
    size_t n_tokens; /* of the runs */
    uint32_t *word;  /* [n_words]: bits of the tokens; NULL while there are few, and with counts */
    size_t n_words;
    vug_buf exits, group_exits; /* vug_frame_mask_exit */
    vug_buf counts;             /* stack_count, for each stack set */
    vug_buf closed;             /* position_groups, for each stack set */
    uint32_t min_visits;        /* of a position before its closed groups are looked for */
} frame_search;

/* How often the counted body at the bottom has run, if all stacks agree. */
static stack_count count_stacks(vug_grammar_matcher *matcher, vug_stack_set stacks)
{
    stack_count count = { UNCOUNTED, VUG_STATE_NONE };
    size_t n;
    const uint32_t *frame = vug_stack_set_frames(matcher, stacks, &n);
    for (size_t i = 0; i < n; i++) {
        vug_stack_frame f = vug_stack_frame_get(matcher, frame[i]);
        while (f.below != VUG_STACK_BOTTOM && vug_grammar_matcher_charge(matcher, 1))
            f = vug_stack_frame_get(matcher, f.below);
        const int32_t here = (int32_t)(VUG_FRAME_MASK_ANY_COUNT - f.max);
        if (count.runs != UNCOUNTED && count.runs != here)
            return (stack_count){ .runs = AMBIGUOUS };
        const uint32_t distance = matcher->a->state[f.state].distance;
        count.runs = here;
        count.distance = distance < count.distance ? distance : count.distance;
    }
    return n ? count : (stack_count){ .runs = AMBIGUOUS };
}

static stack_count count_at(frame_search *s, vug_stack_set stacks)
{
    const stack_count ambiguous = { .runs = AMBIGUOUS };
    while (s->counts.len / sizeof(stack_count) <= stacks && !s->counts.bad) {
        const vug_stack_set next = (vug_stack_set)(s->counts.len / sizeof(stack_count));
        const stack_count count =
                next == VUG_STACK_SET_DEAD ? ambiguous : count_stacks(s->traversal.matcher, next);
        vug_buf_append(&s->counts, &count, sizeof(count));
    }
    return s->counts.bad ? ambiguous : ((stack_count *)(void *)s->counts.ptr)[stacks];
}

static void set_bit(uint32_t *word, uint32_t id)
{
    word[id / 32] |= UINT32_C(1) << (id % 32);
}

static void set_bits(uint32_t *word, vug_token_run run)
{
    for (uint32_t i = 0; i < run.n; i++)
        set_bit(word, (uint32_t)run.id[i]);
}

/* Joins a run to the last one if it follows it in its trie. */
static void store_run(frame_search *s, vug_token_run run)
{
    vug_token_run *stored = (vug_token_run *)(void *)s->runs.ptr;
    const size_t n = s->runs.len / sizeof(run);
    s->n_tokens += run.n;
    if (n > 0 && stored[n - 1].id + stored[n - 1].n == run.id && stored[n - 1].need == run.need)
        stored[n - 1].n += run.n;
    else
        vug_buf_push(&s->runs, &run, sizeof(run));
}

/* Allows tokens. Without counts, many are stored as bits at once. */
static void allow_tokens(frame_search *s, vug_token_run run)
{
    if (s->word) {
        set_bits(s->word, run);
        return;
    }
    if (run.n > 0)
        store_run(s, run);
    if (s->counted || s->n_tokens <= MAX_ID_LIST)
        return;
    s->word = vug_alloc_zero(s->n_words, sizeof(*s->word));
    s->runs.bad = s->runs.bad || !s->word;
    const vug_token_run *stored = (const void *)s->runs.ptr;
    for (size_t i = 0; s->word && i < s->runs.len / sizeof(*stored); i++)
        set_bits(s->word, stored[i]);
}

/* A node of a trie was reached: its tokens are allowed. True if the frame may end there; then
 * `count` is how often a counted body has run. */
static bool reach_node(frame_search *s, vug_stack_set stacks, vug_token_run run, uint32_t *count)
{
    const bool done = vug_stack_set_accepts(s->traversal.matcher, stacks);
    *count = 0;
    if (s->counted) {
        const stack_count c = count_at(s, stacks);
        s->ambiguous = s->ambiguous || c.runs < 0;
        *count = c.runs < 0 ? 0 : (uint32_t)c.runs;
        run.need = done ? *count : *count + c.distance;
    }
    allow_tokens(s, run);
    return done;
}

/* Makes room for all stack sets. False when out of memory. */
static bool reserve_positions(frame_search *s)
{
    static const position_groups unknown = { 0 };
    const size_t n = s->traversal.matcher->stack_sets.n;
    while (s->closed.len / sizeof(unknown) < n && !s->closed.bad)
        vug_buf_append(&s->closed, &unknown, sizeof(unknown));
    return !s->closed.bad;
}

/* The groups of characters that are allowed in any order after a position. They are found once it
 * was reached several times, for all positions that they lead to. */
static uint64_t closed_groups(frame_search *s, vug_stack_set stacks)
{
    vug_closed_groups found;
    if (s->counted || !reserve_positions(s))
        return 0;
    position_groups *position = (position_groups *)(void *)s->closed.ptr;
    if (position[stacks].known || ++position[stacks].n_visits < s->min_visits)
        return position[stacks].groups;
    vug_closed_groups_find(&found, s->traversal.matcher, stacks);
    if (!reserve_positions(s))
        return 0;
    position = (position_groups *)(void *)s->closed.ptr;
    position[stacks] = (position_groups){ .groups = found.groups, .known = true };
    for (size_t i = 0; i < found.n && found.groups != 0; i++)
        position[found.at[i]] = position[stacks];
    if (found.groups == 0 && s->min_visits <= UINT32_MAX / 2)
        s->min_visits *= 2; /* positions near this one rarely have any */
    return found.groups;
}

static void reach_trie_node(frame_search *s)
{
    const vug_token_trie *trie = s->traversal.groups->trie;
    const vug_token_trie_node *node = &trie->node[s->traversal.rest.node];
    const vug_token_run run = { .id = trie->id + node[0].first,
                                .n = node[1].first - node[0].first };
    uint32_t count;
    const bool done = reach_node(s, s->traversal.rest.stacks, run, &count);
    for (uint32_t c = node[0].child; done && c < node[1].child; c++) {
        const vug_frame_mask_exit e = { c, count };
        vug_buf_push(&s->exits, &e, sizeof(e));
    }
}

static void reach_group_node(frame_search *s)
{
    const vug_group_trie *groups = s->traversal.groups;
    const vug_group_trie_node *node = &groups->node[s->traversal.node];
    const vug_token_run run = { .id = groups->id + node[0].first,
                                .n = node[1].first - node[0].first };
    uint32_t count;
    if (node->group == VUG_GROUP_NOT_ASCII) /* within a path: the node above was reached */
        return;
    const bool done = reach_node(s, s->traversal.stacks, run, &count);
    if (node[1].depth > node->depth)
        s->traversal.closed[node->depth] = closed_groups(s, s->traversal.stacks);
    for (uint32_t c = s->traversal.node + 1; done && c < node->end; c = groups->node[c].end) {
        const vug_frame_mask_exit e = { c, count };
        vug_buf_push(&s->group_exits, &e, sizeof(e));
    }
}

/* If only such characters are below the current node of the token trie, all tokens there are allowed.
 * The nodes of a level are consecutive, and so are their tokens. */
static void take_subtree(frame_search *s)
{
    const vug_token_trie *trie = s->traversal.groups->trie;
    const uint32_t node = s->traversal.rest.node;
    if (s->counted || !vug_trie_traversal_has_subtree(&s->traversal.rest) ||
        (trie->below[node] & ~closed_groups(s, s->traversal.rest.stacks)) != 0)
        return;
    uint32_t from = trie->node[node].child, end = trie->node[node + 1].child;
    while (from < end) {
        const uint32_t first = trie->node[from].first;
        allow_tokens(s,
                     (vug_token_run){ .id = trie->id + first, .n = trie->node[end].first - first });
        (void)vug_grammar_matcher_charge(s->traversal.matcher, end - from);
        from = trie->node[from].child;
        end = trie->node[end].child;
    }
    vug_trie_traversal_skip_subtree(&s->traversal.rest);
}

static void take_group_subtree(frame_search *s)
{
    const vug_group_trie *groups = s->traversal.groups;
    const vug_group_trie_node *node = &groups->node[s->traversal.node];
    const uint32_t n = groups->node[node->end].first - node->first;
    (void)vug_grammar_matcher_charge(s->traversal.matcher, n);
    allow_tokens(s, (vug_token_run){ .id = groups->id + node->first, .n = n });
}

/* Tries the nodes of the token trie that the traversal has entered. False when the matcher failed. */
static bool traverse_rest(frame_search *s)
{
    vug_trie_traversal *t = &s->traversal.rest;
    while (!s->ambiguous && vug_trie_traversal_next(t)) {
        reach_trie_node(s);
        take_subtree(s);
    }
    /* If counting spent the work budget, `ambiguous` is meaningless. */
    return !vug_trie_traversal_failed(t) && !vug_grammar_matcher_stopped(t->matcher);
}

/* Tries a node of the token trie and the subtree below it. False when the matcher failed. */
static bool traverse_node(frame_search *s, uint32_t node, vug_stack_set before)
{
    vug_trie_traversal *t = &s->traversal.rest;
    vug_trie_traversal_enter_node(t, node, before);
    return traverse_rest(s);
}

/* Tries a node of the group trie and the subtree below it. False when the matcher failed. */
static bool traverse_group(frame_search *s, uint32_t node, vug_stack_set before)
{
    vug_group_traversal *t = &s->traversal;
    vug_group_traversal_enter(t, node, before);
    while (!s->ambiguous && vug_group_traversal_next(t)) {
        if (t->whole)
            take_group_subtree(s);
        else
            reach_group_node(s);
    }
    while (!s->ambiguous && vug_group_traversal_enter_rest(t))
        if (!traverse_rest(s))
            return false;
    return !vug_group_traversal_failed(t) && !vug_grammar_matcher_stopped(t->matcher);
}

/* ---- what it has from its base ------------------------------------------------ */

static void clear_tokens(frame_search *s, vug_trie_range nodes)
{
    const vug_token_trie *trie = s->traversal.groups->trie;
    const uint32_t first = trie->node[nodes.from].first, end = trie->node[nodes.end].first;
    (void)vug_grammar_matcher_charge(s->traversal.matcher, end - first);
    for (uint32_t i = first; i < end; i++) {
        const uint32_t id = (uint32_t)trie->id[i];
        s->word[id / 32] &= ~(UINT32_C(1) << (id % 32));
    }
}

static void add_mask_tokens(frame_search *s, const vug_frame_mask *mask)
{
    for (size_t i = 0; mask->word && i < s->n_words; i++)
        s->word[i] |= mask->word[i];
    for (size_t i = 0; i < mask->n_ids; i++)
        set_bit(s->word, mask->id[i]);
}

/* The frames below a top frame of the base. */
typedef struct {
    vug_stack_set stacks;
    bool unknown; /* the frame is the lowest one */
    const vug_mask_difference *difference;
} frames_below;

/* What follows an exit at a node of the token trie. False when the matcher failed. */
static bool follow_exit(frame_search *s, uint32_t node, const frames_below *below)
{
    const vug_frame_mask_exit e = { .node = node };
    if (vug_mask_difference_has(below->difference, node))
        return true;
    if (!below->unknown)
        return traverse_node(s, node, below->stacks);
    vug_buf_push(&s->exits, &e, sizeof(e));
    return true;
}

/* What follows an exit at a node of the group trie. False when the matcher failed. */
static bool follow_group_exit(frame_search *s, uint32_t node, const frames_below *below)
{
    const vug_group_trie *groups = s->traversal.groups;
    const vug_frame_mask_exit e = { .node = node };
    bool complete = true;
    if (vug_mask_difference_has_group(below->difference, node)) {
        const uint32_t end = groups->node[node + 1].member;
        for (uint32_t k = groups->node[node].member; k < end && complete; k++)
            complete = follow_exit(s, groups->member[k], below);
        return complete;
    }
    if (!below->unknown)
        return traverse_group(s, node, below->stacks);
    vug_buf_push(&s->group_exits, &e, sizeof(e));
    return true;
}

/* What follows after the end of a top frame of the base. False when the matcher failed. */
static bool follow_exits(frame_search *s, const vug_frame_mask *mask, uint32_t frame,
                         const vug_mask_difference *difference)
{
    vug_grammar_matcher *matcher = s->traversal.matcher;
    frames_below below = { .difference = difference };
    if (mask->exits.n + mask->group_exits.n == 0)
        return true;
    below.unknown = vug_stack_frame_get(matcher, frame).below == VUG_STACK_BOTTOM;
    below.stacks = below.unknown ? VUG_STACK_SET_DEAD : vug_grammar_matcher_pop(matcher, frame);
    bool complete = below.stacks != VUG_STACK_SET_FAILED &&
                    vug_grammar_matcher_charge(matcher, mask->exits.n + mask->group_exits.n);
    for (uint32_t i = 0; i < mask->exits.n && complete; i++)
        complete = follow_exit(s, mask->exits.exit[i].node, &below);
    for (uint32_t i = 0; i < mask->group_exits.n && complete; i++)
        complete = follow_group_exit(s, mask->group_exits.exit[i].node, &below);
    return complete;
}

/* Only tokens that begin with bytes after which the two differ are tried. */
static bool search_from_base(frame_search *s, vug_stack_set stacks, const vug_frame_mask_base *b,
                             const vug_mask_difference *d)
{
    const vug_trie_range *range = (const void *)d->ranges.ptr;
    const uint32_t *node = (const void *)d->nodes.ptr;
    bool complete = true;
    for (size_t i = 0; i < b->base.n; i++)
        add_mask_tokens(s, b->mask[i]);
    for (size_t i = 0; i < d->ranges.len / sizeof(*range); i++)
        clear_tokens(s, range[i]);
    for (size_t i = 0; i < b->base.n && complete; i++)
        complete = follow_exits(s, b->mask[i], b->base.frame[i], d);
    for (size_t i = 0; i < d->nodes.len / sizeof(*node) && complete; i++)
        complete = traverse_node(s, node[i], stacks);
    return complete && !vug_grammar_matcher_stopped(s->traversal.matcher);
}

/* Whether what follows from the base takes less time than trying all tokens by groups: few exits are
 * followed, and few tokens are tried one by one. */
static bool is_worth_it(const frame_search *s, const vug_frame_mask_base *b,
                        const vug_mask_difference *d)
{
    enum { MAX_EXITS = 1024 };
    const size_t max_nodes = s->traversal.groups->trie->n_nodes / 4;
    const vug_trie_range *range = (const void *)d->ranges.ptr;
    size_t n_exits = 0, n_nodes = 0;
    for (size_t i = 0; i < b->base.n; i++)
        n_exits += b->mask[i]->exits.n + b->mask[i]->group_exits.n;
    for (size_t i = 0; i < d->ranges.len / sizeof(*range); i++)
        n_nodes += range[i].end - range[i].from;
    return n_exits <= MAX_EXITS && n_nodes <= max_nodes;
}

static bool search_tokens(frame_search *s, vug_stack_set stacks, const vug_frame_mask_base *base)
{
    vug_mask_difference d = { 0 };
    bool complete = true;
    if (!base || s->counted)
        return traverse_group(s, 0, stacks);
    s->runs.bad = !vug_mask_difference_init(&d, s->traversal.groups, s->traversal.matcher, stacks,
                                            base->base.stacks);
    if (!s->runs.bad && is_worth_it(s, base, &d)) {
        s->word = vug_alloc_zero(s->n_words, sizeof(*s->word));
        s->runs.bad = !s->word;
        complete = s->runs.bad || search_from_base(s, stacks, base, &d);
    } else if (!s->runs.bad) {
        complete = traverse_group(s, 0, stacks);
    }
    vug_mask_difference_release(&d);
    return complete;
}

/* ---- building the mask ------------------------------------------------- */

void vug_frame_mask_hold(vug_frame_mask *m)
{
    atomic_fetch_add_explicit(&m->n_holders, 1, memory_order_relaxed);
}

static void release_exits(vug_frame_mask_exits *exits)
{
    vug_free(exits->exit);
    vug_free(exits->first);
}

void vug_frame_mask_release(vug_frame_mask *m)
{
    if (atomic_fetch_sub_explicit(&m->n_holders, 1, memory_order_acq_rel) > 1)
        return;
    vug_free(m->word);
    vug_free(m->id);
    release_exits(&m->exits);
    release_exits(&m->group_exits);
    vug_free(m->by_need);
    vug_free(m->need_first);
    vug_free(m->fits);
    vug_free(m);
}

static bool store_tokens(vug_frame_mask *m, frame_search *s)
{
    const vug_token_run *run = (const void *)s->runs.ptr;
    const size_t n_runs = s->runs.len / sizeof(*run);
    const bool bits = s->word || s->n_tokens > MAX_ID_LIST;
    if (s->word) {
        m->word = s->word;
        s->word = NULL;
    } else if (bits) {
        m->word = vug_alloc_zero(s->n_words, sizeof(*m->word));
        for (size_t i = 0; m->word && i < n_runs; i++)
            set_bits(m->word, run[i]);
    } else {
        m->id = vug_alloc(s->n_tokens, sizeof(*m->id));
        for (size_t i = 0; m->id && i < n_runs; i++)
            for (uint32_t k = 0; k < run[i].n; k++)
                m->id[m->n_ids++] = (uint32_t)run[i].id[k];
    }
    m->bytes += bits ? s->n_words * sizeof(*m->word) : s->n_tokens * sizeof(*m->id);
    return m->word || m->id || s->n_tokens == 0;
}

static unsigned exit_key(const vug_group_trie *groups, uint32_t node, bool grouped)
{
    return grouped ? groups->node[node].group : groups->trie->node[node].byte;
}

/* A counting sort by byte or group. */
static bool store_exits(vug_frame_mask *m, vug_frame_mask_exits *exits,
                        const vug_group_trie *groups, const vug_buf *found, bool grouped)
{
    enum { N_KEYS = 256 };
    const vug_frame_mask_exit *exit = (const void *)found->ptr;
    const size_t n = found->len / sizeof(*exit);
    if (n == 0)
        return true;
    exits->n = (uint32_t)n;
    exits->exit = vug_alloc(n, sizeof(*exit));
    exits->first = vug_alloc_zero(N_KEYS + 1, sizeof(*exits->first));
    m->bytes += n * sizeof(*exit) + (N_KEYS + 1) * sizeof(*exits->first);
    if (!exits->exit || !exits->first)
        return false;
    uint32_t *first = exits->first;
    for (size_t i = 0; i < n; i++)
        first[exit_key(groups, exit[i].node, grouped)]++;
    for (size_t i = 0; i < N_KEYS; i++)
        first[i + 1] += first[i];
    for (size_t i = n; i-- > 0;) /* backwards: leaves where each key begins */
        exits->exit[--first[exit_key(groups, exit[i].node, grouped)]] = exit[i];
    return true;
}

/* A counting sort by need. */
static bool store_needs(vug_frame_mask *m, const frame_search *s)
{
    const vug_token_run *run = (const void *)s->runs.ptr;
    const size_t n = s->runs.len / sizeof(*run);
    m->n_needs = 1;
    for (size_t i = 0; i < n; i++)
        m->n_needs = run[i].need >= m->n_needs ? run[i].need + 1 : m->n_needs;
    m->by_need = vug_alloc(n, sizeof(*m->by_need));
    m->need_first = vug_alloc_zero(m->n_needs + 1, sizeof(*m->need_first));
    m->bytes += n * sizeof(*m->by_need) + m->n_needs * sizeof(*m->need_first);
    if ((!m->by_need && n > 0) || !m->need_first)
        return false;
    for (size_t i = 0; i < n; i++)
        m->need_first[run[i].need]++;
    for (size_t i = 0; i < m->n_needs; i++)
        m->need_first[i + 1] += m->need_first[i];
    for (size_t i = n; i-- > 0;)
        m->by_need[--m->need_first[run[i].need]] = run[i];
    return true;
}

/* Bits for small counts, since collecting ids up to them would be slow for most masks. */
static bool store_fits(vug_frame_mask *m, size_t n_words)
{
    if (!m->word)
        return true;
    m->fits = vug_alloc_zero(VUG_FRAME_MASK_FITS, n_words * sizeof(*m->fits));
    m->bytes += VUG_FRAME_MASK_FITS * n_words * sizeof(*m->fits);
    for (size_t k = 0; m->fits && k < VUG_FRAME_MASK_FITS; k++) {
        uint32_t *word = m->fits + k * n_words;
        if (k > 0)
            memcpy(word, word - n_words, n_words * sizeof(*word));
        for (uint32_t i = k < m->n_needs ? m->need_first[k] : 0;
             k < m->n_needs && i < m->need_first[k + 1]; i++)
            set_bits(word, m->by_need[i]);
    }
    return m->fits != NULL;
}

static vug_frame_mask *build_mask(frame_search *s)
{
    vug_frame_mask *m = vug_alloc_zero(1, sizeof(*m));
    if (!m)
        return NULL;
    m->bytes = sizeof(*m);
    m->n_holders = 1;
    m->ambiguous = s->ambiguous;
    if (m->ambiguous)
        return m;
    const vug_group_trie *groups = s->traversal.groups;
    const bool stored = store_tokens(m, s) && store_exits(m, &m->exits, groups, &s->exits, false) &&
                        store_exits(m, &m->group_exits, groups, &s->group_exits, true) &&
                        (!s->counted || (store_needs(m, s) && store_fits(m, s->n_words)));
    if (!stored) {
        vug_frame_mask_release(m);
        return NULL;
    }
    return m;
}

vug_status vug_frame_mask_create(const vug_group_trie *groups, size_t n_words,
                                 vug_grammar_matcher *matcher, const uint32_t state_min_max[3],
                                 const vug_frame_mask_base *base, vug_frame_mask **out,
                                 vug_err *err)
{
    const uint32_t *key = state_min_max;
    frame_search s = { .counted = key[2] == VUG_FRAME_MASK_ANY_COUNT,
                       .n_words = n_words,
                       .min_visits = MIN_VISITS };
    VUG_TRY(vug_group_traversal_init(&s.traversal, groups, matcher, err));
    const vug_stack_set alone = vug_grammar_matcher_single_frame(
            matcher, (vug_stack_frame){ key[0], key[1], key[2], 0 });
    const bool complete = alone != VUG_STACK_SET_FAILED && search_tokens(&s, alone, base);
    const bool bad = s.runs.bad || s.exits.bad || s.group_exits.bad || s.counts.bad || s.closed.bad;
    *out = complete && !bad ? build_mask(&s) : NULL;
    vug_group_traversal_release(&s.traversal);
    vug_free(s.word);
    vug_buf_release(&s.runs);
    vug_buf_release(&s.exits);
    vug_buf_release(&s.group_exits);
    vug_buf_release(&s.counts);
    vug_buf_release(&s.closed);
    if (!complete)
        return vug_grammar_matcher_error(matcher, err);
    return *out ? VUG_OK : VUG_FAIL_NOMEM(err, "a token mask", n_words * 4);
}
