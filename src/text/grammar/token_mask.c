#include "text/grammar/token_mask.h"

/* ---- masks of stack sets ----------------------------------------------------------- */

typedef struct {
    vug_mask_cache *cache;
    vug_group_traversal traversal;
    uint32_t *word; /* the mask under construction */
    bool first;     /* the mask is uninitialized */
} mask_filler;

static void set_bits(uint32_t *word, const uint32_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        word[id[i] / 32] |= UINT32_C(1) << (id[i] % 32);
}

static void set_run_bits(uint32_t *word, vug_token_run run)
{
    for (uint32_t i = 0; i < run.n; i++)
        word[(uint32_t)run.id[i] / 32] |= UINT32_C(1) << ((uint32_t)run.id[i] % 32);
}

static void add_words(mask_filler *f, const uint32_t *word)
{
    const size_t n = f->cache->n_words;
    if (f->first)
        memcpy(f->word, word, n * sizeof(*word));
    for (size_t i = 0; !f->first && i < n; i++)
        f->word[i] |= word[i];
}

static void add_ids(mask_filler *f, const uint32_t *id, size_t n)
{
    if (f->first)
        memset(f->word, 0, f->cache->n_words * sizeof(*f->word));
    set_bits(f->word, id, n);
}

static void add_runs(mask_filler *f, const vug_token_run *run, size_t n)
{
    if (f->first)
        memset(f->word, 0, f->cache->n_words * sizeof(*f->word));
    for (size_t i = 0; i < n; i++)
        set_run_bits(f->word, run[i]);
}

static void add_mask(mask_filler *f, const vug_frame_mask *mask)
{
    if (mask->word)
        add_words(f, mask->word);
    else
        add_ids(f, mask->id, mask->n_ids);
}

/* Adds the tokens that need at most `max` runs of the body. */
static void add_counted_mask(mask_filler *f, const vug_frame_mask *mask, uint32_t max)
{
    if (max >= mask->n_needs - 1) {
        add_mask(f, mask);
    } else if (!mask->fits || mask->n_needs <= VUG_FRAME_MASK_FITS) {
        add_runs(f, mask->by_need, mask->need_first[max + 1]);
    } else {
        const uint32_t row = max < VUG_FRAME_MASK_FITS ? max : VUG_FRAME_MASK_FITS - 1;
        add_words(f, mask->fits + row * f->cache->n_words);
        for (uint32_t i = mask->need_first[row + 1]; i < mask->need_first[max + 1]; i++)
            set_run_bits(f->word, mask->by_need[i]);
    }
}

/* Adds the tokens that end at a node of the token trie. */
static void allow_tokens_at(const vug_token_trie *trie, uint32_t node, uint32_t *word)
{
    const uint32_t first = trie->node[node].first;
    set_run_bits(word, (vug_token_run){ .id = trie->id + first,
                                        .n = trie->node[node + 1].first - first });
}

/* Adds the tokens that end at a node of the group trie. */
static void allow_group_tokens_at(const vug_group_trie *groups, uint32_t node, uint32_t *word)
{
    const uint32_t first = groups->node[node].first;
    set_run_bits(word, (vug_token_run){ .id = groups->id + first,
                                        .n = groups->node[node + 1].first - first });
}

/* Adds the tokens at the nodes of the token trie that the traversal has entered. */
static void add_rest(mask_filler *f)
{
    vug_trie_traversal *t = &f->traversal.rest;
    while (vug_trie_traversal_next(t))
        allow_tokens_at(t->trie, t->node, f->word);
}

/* Adds the tokens that go through a node of the group trie. False on failure. */
static bool add_group(mask_filler *f, uint32_t node, vug_stack_set before)
{
    vug_group_traversal *t = &f->traversal;
    vug_group_traversal_enter(t, node, before);
    while (vug_group_traversal_next(t))
        allow_group_tokens_at(t->groups, t->node, f->word);
    while (vug_group_traversal_enter_rest(t))
        add_rest(f);
    return !vug_group_traversal_failed(t);
}

static bool fits_count(const vug_frame_mask *mask, vug_stack_frame top, vug_frame_mask_exit e)
{
    return mask->n_needs == 0 || (e.count >= top.min && e.count <= top.max);
}

/* Of the exits before a byte or a group, whose step from `below` is `to`. False on failure. */
static bool add_exits_of_key(mask_filler *f, const vug_frame_mask *mask, vug_stack_frame top,
                             const vug_frame_mask_exits *exits, unsigned key, vug_stack_set below)
{
    vug_group_traversal *t = &f->traversal;
    const bool grouped = exits == &mask->group_exits;
    const uint32_t first = exits->first[key], end = exits->first[key + 1];
    if (first == end)
        return true;
    if (!vug_grammar_matcher_charge(t->matcher, end - first))
        return false;
    const vug_stack_set to = grouped ? vug_group_step(t->matcher, below, key)
                                     : vug_grammar_matcher_step(t->matcher, below, (uint8_t)key);
    bool complete = to != VUG_STACK_SET_FAILED;
    for (uint32_t i = first; i < end && complete && to != VUG_STACK_SET_DEAD; i++) {
        const vug_frame_mask_exit e = exits->exit[i];
        if (!fits_count(mask, top, e))
            continue;
        if (grouped) {
            complete = add_group(f, e.node, below);
            continue;
        }
        vug_trie_traversal_enter_node(&t->rest, e.node, below);
        add_rest(f);
        complete = !vug_trie_traversal_failed(&t->rest);
    }
    return complete;
}

/* Tries the tokens in which the frame ends with the frames below it. False on failure. */
static bool add_exits(mask_filler *f, const vug_frame_mask *mask, uint32_t frame)
{
    vug_grammar_matcher *matcher = f->traversal.matcher;
    const vug_stack_frame top = vug_stack_frame_get(matcher, frame);
    if (top.below == VUG_STACK_BOTTOM || mask->exits.n + mask->group_exits.n == 0)
        return true;
    const vug_stack_set below = vug_grammar_matcher_pop(matcher, frame);
    bool complete = below != VUG_STACK_SET_FAILED;
    for (unsigned group = 0; group < VUG_N_GROUPS && complete && mask->group_exits.n > 0; group++)
        complete = add_exits_of_key(f, mask, top, &mask->group_exits, group, below);
    for (unsigned byte = 0; byte < 256 && complete && mask->exits.n > 0; byte++)
        complete = add_exits_of_key(f, mask, top, &mask->exits, byte, below);
    return complete;
}

/* Maps counts that no token can distinguish to the same value. */
static uint32_t cap_count(const vug_mask_cache *cache, uint32_t count)
{
    return count > cache->groups->trie->longest + 1 ? (uint32_t)cache->groups->trie->longest + 1
                                                    : count;
}

static vug_status add_frame(mask_filler *f, uint32_t frame, vug_err *err)
{
    vug_mask_cache *cache = f->cache;
    vug_grammar_matcher *matcher = f->traversal.matcher;
    const vug_stack_frame top = vug_stack_frame_get(matcher, frame);
    const bool counted = top.max > 1;
    const uint32_t key[3] = { top.state, counted ? 0 : 1, counted ? VUG_FRAME_MASK_ANY_COUNT : 1 };
    vug_frame_mask *mask = NULL;
    bool temporary = false;
    VUG_TRY(vug_mask_cache_get(cache, matcher, key, &mask, &temporary, err));
    if (mask->ambiguous) {
        const bool exact = matcher->a->state[top.state].counts_edges;
        const uint32_t exact_key[3] = { top.state, exact ? top.min : cap_count(cache, top.min),
                                        exact ? top.max : cap_count(cache, top.max) };
        if (temporary)
            vug_frame_mask_release(mask);
        VUG_TRY(vug_mask_cache_get(cache, matcher, exact_key, &mask, &temporary, err));
    }
    if (mask->n_needs > 0)
        add_counted_mask(f, mask, top.max);
    else
        add_mask(f, mask);
    f->first = false;
    const bool complete = add_exits(f, mask, frame);
    if (temporary)
        vug_frame_mask_release(mask);
    return complete ? VUG_OK : vug_grammar_matcher_error(matcher, err);
}

vug_status vug_token_mask_fill(vug_mask_cache *cache, vug_grammar_matcher *matcher,
                               vug_stack_set stacks, uint32_t *word, vug_err *err)
{
    mask_filler f = { .cache = cache, .word = word, .first = true };
    size_t n;
    (void)vug_stack_set_frames(matcher, stacks, &n);
    if (n == 0)
        memset(word, 0, cache->n_words * sizeof(*word));
    vug_status st = vug_group_traversal_init(&f.traversal, cache->groups, matcher, err);
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        size_t same; /* the list may move when stack sets are added */
        st = add_frame(&f, vug_stack_set_frames(matcher, stacks, &same)[i], err);
    }
    vug_group_traversal_release(&f.traversal);
    return st;
}

vug_status vug_token_mask_continues(const vug_mask_cache *cache, vug_grammar_matcher *matcher,
                                    vug_stack_set stacks, uint32_t node, bool *continues,
                                    vug_err *err)
{
    vug_trie_traversal t;
    VUG_TRY(vug_trie_traversal_init(&t, cache->groups->trie, matcher, err));
    vug_trie_traversal_enter(&t, node, stacks);
    const vug_token_trie_node *all = cache->groups->trie->node;
    *continues = false;
    while (!*continues && vug_trie_traversal_next(&t))
        *continues = all[t.node].first < all[t.node + 1].first;
    const bool failed = vug_trie_traversal_failed(&t);
    vug_trie_traversal_release(&t);
    return failed ? vug_grammar_matcher_error(matcher, err) : VUG_OK;
}
