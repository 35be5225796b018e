#include "text/grammar/token_mask.h"

/* ---- masks of stack sets ----------------------------------------------------------- */

typedef struct {
    vug_mask_cache *cache;
    vug_trie_traversal traversal;
    uint32_t *word; /* the mask under construction */
    bool first;     /* the mask is uninitialized */
} mask_filler;

static void set_bits(uint32_t *word, const uint32_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        word[id[i] / 32] |= UINT32_C(1) << (id[i] % 32);
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
        add_ids(f, mask->by_need, mask->need_first[max + 1]);
    } else {
        const uint32_t row = max < VUG_FRAME_MASK_FITS ? max : VUG_FRAME_MASK_FITS - 1;
        const uint32_t from = mask->need_first[row + 1];
        add_words(f, mask->fits + row * f->cache->n_words);
        set_bits(f->word, mask->by_need + from, mask->need_first[max + 1] - from);
    }
}

/* Adds the tokens that end at a node. */
static void allow_tokens_at(const vug_token_trie *trie, uint32_t node, uint32_t *word)
{
    for (uint32_t i = trie->node[node].first; i < trie->node[node + 1].first; i++) {
        const uint32_t id = (uint32_t)trie->id[i];
        word[id / 32] |= UINT32_C(1) << (id % 32);
    }
}

/* Tries the tokens in which the frame ends with the frames below it. False on failure. */
static bool add_exits(mask_filler *f, const vug_frame_mask *mask, uint32_t frame)
{
    vug_trie_traversal *t = &f->traversal;
    const vug_stack_frame top = vug_stack_frame_get(t->matcher, frame);
    if (top.below == VUG_STACK_BOTTOM || mask->exit_first[256] == 0)
        return true;
    const vug_stack_set below = vug_grammar_matcher_pop(t->matcher, frame);
    for (unsigned byte = 0; below != VUG_STACK_SET_FAILED && byte < 256; byte++) {
        if (mask->exit_first[byte] == mask->exit_first[byte + 1])
            continue;
        const uint32_t n_exits = mask->exit_first[byte + 1] - mask->exit_first[byte];
        const vug_stack_set to =
                vug_grammar_matcher_charge(t->matcher, n_exits)
                        ? vug_grammar_matcher_step(t->matcher, below, (uint8_t)byte)
                        : VUG_STACK_SET_FAILED;
        if (to == VUG_STACK_SET_FAILED)
            return false;
        if (to == VUG_STACK_SET_DEAD)
            continue;
        for (uint32_t i = mask->exit_first[byte]; i < mask->exit_first[byte + 1]; i++) {
            const vug_frame_mask_exit e = mask->exit[i];
            if (mask->n_needs > 0 && (e.count < top.min || e.count > top.max))
                continue;
            allow_tokens_at(t->trie, e.node, f->word);
            vug_trie_traversal_enter(t, e.node, to);
            while (vug_trie_traversal_next(t))
                allow_tokens_at(t->trie, t->node, f->word);
            if (vug_trie_traversal_failed(t))
                return false;
        }
    }
    return below != VUG_STACK_SET_FAILED;
}

/* Maps counts that no token can distinguish to the same value. */
static uint32_t cap_count(const vug_mask_cache *cache, uint32_t count)
{
    return count > cache->trie->longest + 1 ? (uint32_t)cache->trie->longest + 1 : count;
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
    vug_status st = vug_trie_traversal_init(&f.traversal, cache->trie, matcher, err);
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        size_t same; /* the list may move when stack sets are added */
        st = add_frame(&f, vug_stack_set_frames(matcher, stacks, &same)[i], err);
    }
    vug_trie_traversal_release(&f.traversal);
    return st;
}

vug_status vug_token_mask_continues(const vug_mask_cache *cache, vug_grammar_matcher *matcher,
                                    vug_stack_set stacks, uint32_t node, bool *continues,
                                    vug_err *err)
{
    vug_trie_traversal t;
    VUG_TRY(vug_trie_traversal_init(&t, cache->trie, matcher, err));
    vug_trie_traversal_enter(&t, node, stacks);
    const vug_token_trie_node *all = cache->trie->node;
    *continues = false;
    while (!*continues && vug_trie_traversal_next(&t))
        *continues = all[t.node].first < all[t.node + 1].first;
    const bool failed = vug_trie_traversal_failed(&t);
    vug_trie_traversal_release(&t);
    return failed ? vug_grammar_matcher_error(matcher, err) : VUG_OK;
}
