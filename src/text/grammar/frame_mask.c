#include "text/grammar/frame_mask.h"

#include "text/grammar/self_loops.h"

#define LOOPS_UNKNOWN UINT64_MAX

enum {
    MAX_ID_LIST = 1024, /* longer lists are stored as bits */
    UNCOUNTED = -1,
    AMBIGUOUS = -2,
};

/* ---- what a frame allows -------------------------------------------------------- */

typedef struct {
    uint32_t id, need;
} token_need;

/* Of a counted frame at the bottom of the stacks of a set. */
typedef struct {
    int32_t runs;      /* of the body, or edges of a bounded graph; or AMBIGUOUS */
    uint32_t distance; /* how many more are needed to end */
} stack_count;

typedef struct {
    vug_trie_traversal traversal;
    bool counted, ambiguous;
    vug_buf tokens; /* token_need; not used once there is `word` */
    uint32_t *word; /* [n_words]: bits of the tokens; NULL while there are few, and with counts */
    size_t n_words;
    vug_buf exits;  /* vug_frame_mask_exit */
    vug_buf counts; /* stack_count, for each stack set */
    vug_buf loops;  /* uint64_t: vug_self_loop_groups, for each stack set; LOOPS_UNKNOWN */
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

/* Allows the tokens [first, end) of the trie. Without counts, many are stored as bits at once. */
static void allow_tokens(frame_search *s, uint32_t first, uint32_t end, uint32_t need)
{
    const int32_t *id = s->traversal.trie->id;
    if (s->word) {
        for (uint32_t i = first; i < end; i++)
            set_bit(s->word, (uint32_t)id[i]);
        return;
    }
    for (uint32_t i = first; i < end; i++) {
        const token_need t = { (uint32_t)id[i], need };
        vug_buf_push(&s->tokens, &t, sizeof(t));
    }
    if (s->counted || s->tokens.len / sizeof(token_need) <= MAX_ID_LIST)
        return;
    s->word = vug_alloc_zero(s->n_words, sizeof(*s->word));
    s->tokens.bad = s->tokens.bad || !s->word;
    const token_need *token = (const void *)s->tokens.ptr;
    for (size_t i = 0; s->word && i < s->tokens.len / sizeof(*token); i++)
        set_bit(s->word, token[i].id);
}

/* The current node was reached: its tokens are allowed, and if the frame may end here, its
 * children are exits. */
static void record_node(frame_search *s)
{
    const vug_token_trie *trie = s->traversal.trie;
    const vug_token_trie_node *all = trie->node;
    const uint32_t node = s->traversal.node;
    const bool done = vug_stack_set_accepts(s->traversal.matcher, s->traversal.stacks);
    uint32_t count = 0, need = 0;
    if (s->counted) {
        const stack_count c = count_at(s, s->traversal.stacks);
        s->ambiguous = s->ambiguous || c.runs < 0;
        count = c.runs < 0 ? 0 : (uint32_t)c.runs;
        need = done ? count : count + c.distance;
    }
    allow_tokens(s, all[node].first, all[node + 1].first, need);
    for (uint32_t c = all[node].child; done && c < all[node + 1].child; c++) {
        const vug_frame_mask_exit e = { c, count };
        vug_buf_push(&s->exits, &e, sizeof(e));
    }
}

/* The groups of bytes after which the stack set of the current node stays the same. They are found
 * once it is seen to do so. */
static uint64_t loops_here(frame_search *s)
{
    const uint64_t unknown = LOOPS_UNKNOWN;
    const vug_stack_set stacks = s->traversal.stacks;
    while (s->loops.len / sizeof(unknown) <= stacks && !s->loops.bad)
        vug_buf_append(&s->loops, &unknown, sizeof(unknown));
    if (s->loops.bad)
        return 0;
    uint64_t *loops = (uint64_t *)(void *)s->loops.ptr + stacks;
    if (*loops == unknown && vug_trie_traversal_in_loop(&s->traversal))
        *loops = vug_self_loop_groups(s->traversal.matcher, stacks);
    return *loops == unknown ? 0 : *loops;
}

/* If no byte below the current node leads anywhere else, all tokens there are allowed. The nodes of
 * a level are consecutive, and so are their tokens. */
static void take_subtree(frame_search *s)
{
    const vug_token_trie *trie = s->traversal.trie;
    const uint32_t node = s->traversal.node;
    if (s->counted || !vug_trie_traversal_has_subtree(&s->traversal) ||
        (trie->below[node] & ~loops_here(s)) != 0)
        return;
    uint32_t from = trie->node[node].child, end = trie->node[node + 1].child;
    while (from < end) {
        allow_tokens(s, trie->node[from].first, trie->node[end].first, 0);
        (void)vug_grammar_matcher_charge(s->traversal.matcher, end - from);
        from = trie->node[from].child;
        end = trie->node[end].child;
    }
    vug_trie_traversal_skip_subtree(&s->traversal);
}

/* False when the matcher failed. */
static bool traverse(frame_search *s)
{
    while (!s->ambiguous && vug_trie_traversal_next(&s->traversal)) {
        record_node(s);
        take_subtree(s);
    }
    /* If counting spent the work budget, `ambiguous` is meaningless. */
    return !vug_trie_traversal_failed(&s->traversal) &&
           !vug_grammar_matcher_stopped(s->traversal.matcher);
}

/* ---- what it has from its base ------------------------------------------------ */

static void clear_tokens(frame_search *s, vug_trie_range nodes)
{
    const vug_token_trie *trie = s->traversal.trie;
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

/* What follows after the end of a top frame of the base. False when the matcher failed. */
static bool follow_exits(frame_search *s, const vug_frame_mask *mask, uint32_t frame,
                         const vug_mask_difference *d)
{
    vug_grammar_matcher *matcher = s->traversal.matcher;
    const uint32_t n_exits = mask->exit_first[256];
    const bool lowest = vug_stack_frame_get(matcher, frame).below == VUG_STACK_BOTTOM;
    const vug_stack_set below =
            lowest || n_exits == 0 ? VUG_STACK_SET_DEAD : vug_grammar_matcher_pop(matcher, frame);
    bool complete = below != VUG_STACK_SET_FAILED && vug_grammar_matcher_charge(matcher, n_exits);
    for (uint32_t i = 0; i < n_exits && complete; i++) {
        if (vug_mask_difference_has(d, mask->exit[i].node))
            continue;
        if (lowest) {
            vug_buf_push(&s->exits, &mask->exit[i], sizeof(mask->exit[i]));
        } else {
            vug_trie_traversal_enter_node(&s->traversal, mask->exit[i].node, below);
            complete = traverse(s);
        }
    }
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
    for (size_t i = 0; i < d->nodes.len / sizeof(*node) && complete; i++) {
        vug_trie_traversal_enter_node(&s->traversal, node[i], stacks);
        complete = traverse(s);
    }
    return complete && !vug_grammar_matcher_stopped(s->traversal.matcher);
}

static bool search_trie(frame_search *s, vug_stack_set stacks, const vug_frame_mask_base *base)
{
    if (!base || s->counted) {
        vug_trie_traversal_enter(&s->traversal, 0, stacks);
        return traverse(s);
    }
    vug_mask_difference d;
    s->word = vug_alloc_zero(s->n_words, sizeof(*s->word));
    s->tokens.bad = !vug_mask_difference_init(&d, s->traversal.trie, s->traversal.matcher, stacks,
                                              base->base.stacks) ||
                    !s->word;
    const bool complete = s->tokens.bad || search_from_base(s, stacks, base, &d);
    vug_mask_difference_release(&d);
    return complete;
}

/* ---- building the mask ------------------------------------------------- */

void vug_frame_mask_hold(vug_frame_mask *m)
{
    atomic_fetch_add_explicit(&m->n_holders, 1, memory_order_relaxed);
}

void vug_frame_mask_release(vug_frame_mask *m)
{
    if (atomic_fetch_sub_explicit(&m->n_holders, 1, memory_order_acq_rel) > 1)
        return;
    vug_free(m->word);
    vug_free(m->id);
    vug_free(m->exit);
    vug_free(m->by_need);
    vug_free(m->need_first);
    vug_free(m->fits);
    vug_free(m);
}

static bool store_tokens(vug_frame_mask *m, frame_search *s)
{
    const token_need *token = (const void *)s->tokens.ptr;
    const size_t n = s->tokens.len / sizeof(*token);
    const bool bits = s->word || n > MAX_ID_LIST;
    if (s->word) {
        m->word = s->word;
        s->word = NULL;
    } else if (bits) {
        m->word = vug_alloc_zero(s->n_words, sizeof(*m->word));
        for (size_t i = 0; m->word && i < n; i++)
            set_bit(m->word, token[i].id);
    } else {
        m->id = vug_alloc(n, sizeof(*m->id));
        for (; m->id && m->n_ids < n; m->n_ids++)
            m->id[m->n_ids] = token[m->n_ids].id;
    }
    m->bytes += bits ? s->n_words * sizeof(*m->word) : n * sizeof(*m->id);
    return m->word || m->id || n == 0;
}

/* A counting sort by byte. */
static bool store_exits(vug_frame_mask *m, const vug_token_trie *trie,
                        const vug_frame_mask_exit *exit, size_t n)
{
    m->exit = vug_alloc(n, sizeof(*m->exit));
    m->bytes += n * sizeof(*m->exit);
    if (!m->exit && n > 0)
        return false;
    for (size_t i = 0; i < n; i++)
        m->exit_first[trie->node[exit[i].node].byte + 1]++;
    for (size_t i = 0; i < 256; i++)
        m->exit_first[i + 1] += m->exit_first[i];
    for (size_t i = n; i-- > 0;) /* backwards: leaves where each byte begins */
        m->exit[--m->exit_first[trie->node[exit[i].node].byte + 1]] = exit[i];
    memmove(m->exit_first, m->exit_first + 1, 256 * sizeof(*m->exit_first));
    m->exit_first[256] = (uint32_t)n;
    return true;
}

/* A counting sort by need. */
static bool store_needs(vug_frame_mask *m, const token_need *token, size_t n)
{
    m->n_needs = 1;
    for (size_t i = 0; i < n; i++)
        m->n_needs = token[i].need >= m->n_needs ? token[i].need + 1 : m->n_needs;
    m->by_need = vug_alloc(n, sizeof(*m->by_need));
    m->need_first = vug_alloc_zero(m->n_needs + 1, sizeof(*m->need_first));
    m->bytes += n * sizeof(*m->by_need) + m->n_needs * sizeof(*m->need_first);
    if ((!m->by_need && n > 0) || !m->need_first)
        return false;
    for (size_t i = 0; i < n; i++)
        m->need_first[token[i].need]++;
    for (size_t i = 0; i < m->n_needs; i++)
        m->need_first[i + 1] += m->need_first[i];
    for (size_t i = n; i-- > 0;)
        m->by_need[--m->need_first[token[i].need]] = token[i].id;
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
            set_bit(word, m->by_need[i]);
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
    const token_need *token = (const void *)s->tokens.ptr;
    const size_t n = s->tokens.len / sizeof(*token);
    const bool stored = store_tokens(m, s) &&
                        store_exits(m, s->traversal.trie, (const void *)s->exits.ptr,
                                    s->exits.len / sizeof(vug_frame_mask_exit)) &&
                        (!s->counted || (store_needs(m, token, n) && store_fits(m, s->n_words)));
    if (!stored) {
        vug_frame_mask_release(m);
        return NULL;
    }
    return m;
}

vug_status vug_frame_mask_create(const vug_token_trie *trie, size_t n_words,
                                 vug_grammar_matcher *matcher, const uint32_t state_min_max[3],
                                 const vug_frame_mask_base *base, vug_frame_mask **out,
                                 vug_err *err)
{
    const uint32_t *key = state_min_max;
    frame_search s = { .counted = key[2] == VUG_FRAME_MASK_ANY_COUNT, .n_words = n_words };
    VUG_TRY(vug_trie_traversal_init(&s.traversal, trie, matcher, err));
    const vug_stack_set alone = vug_grammar_matcher_single_frame(
            matcher, (vug_stack_frame){ key[0], key[1], key[2], 0 });
    const bool complete = alone != VUG_STACK_SET_FAILED && search_trie(&s, alone, base);
    const bool bad = s.tokens.bad || s.exits.bad || s.counts.bad || s.loops.bad;
    *out = complete && !bad ? build_mask(&s) : NULL;
    vug_trie_traversal_release(&s.traversal);
    vug_free(s.word);
    vug_buf_release(&s.tokens);
    vug_buf_release(&s.exits);
    vug_buf_release(&s.counts);
    vug_buf_release(&s.loops);
    if (!complete)
        return vug_grammar_matcher_error(matcher, err);
    return *out ? VUG_OK : VUG_FAIL_NOMEM(err, "a token mask", n_words * 4);
}
