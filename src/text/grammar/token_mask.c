#include "text/grammar/token_mask.h"

#include "text/grammar/frame_key.h"

/* Masks that took this much work to compute are kept for all grammars: about 0.1 ms. */
#define MIN_SHARED_WORK ((uint64_t)1 << 14)

/* ---- the cache ---------------------------------------------------------------- */

static vug_status init_cache(vug_mask_cache *cache, const vug_token_trie *trie, size_t max_bytes,
                             vug_err *err)
{
    *cache = (vug_mask_cache){ .trie = trie, .max_bytes = max_bytes };
    return vug_mutex_create(&cache->lock, err);
}

static void destroy_shared(void *attachment)
{
    vug_mask_cache_release(attachment);
    vug_free(attachment);
}

static vug_status create_shared(const vug_token_trie *trie, void **out, vug_err *err)
{
    vug_mask_cache *cache = vug_alloc_zero(1, sizeof(*cache));
    if (!cache)
        return VUG_FAIL_NOMEM(err, "the token masks of a vocabulary", sizeof(*cache));
    const vug_status st = init_cache(cache, trie, VUG_SHARED_MASK_CACHE_MAX_BYTES, err);
    if (st == VUG_OK)
        *out = cache;
    else
        vug_free(cache);
    return st;
}

vug_status vug_mask_cache_init(vug_mask_cache *cache, const vug_tokenizer *tokenizer, vug_err *err)
{
    static const vug_token_trie_attachment kind = { create_shared, destroy_shared };
    void *shared = NULL;
    VUG_TRY(vug_token_trie_attach(tokenizer, &kind, &shared, err));
    const vug_mask_cache *of_tokenizer = shared;
    VUG_TRY(init_cache(cache, of_tokenizer->trie, VUG_MASK_CACHE_MAX_BYTES, err));
    cache->shared = shared;
    cache->n_words = ((size_t)vug_tokenizer_size(tokenizer) + 31) / 32;
    return VUG_OK;
}

void vug_mask_cache_release(vug_mask_cache *cache)
{
    const vug_cached_mask *entry = (const void *)cache->masks.ptr;
    for (size_t i = 0; i < cache->keys.n; i++)
        if (entry[i].owned)
            vug_frame_mask_destroy(entry[i].mask);
    vug_buf_release(&cache->masks);
    vug_intern_release(&cache->keys);
    vug_mutex_destroy(cache->lock);
    *cache = (vug_mask_cache){ 0 };
}

size_t vug_mask_cache_bytes(vug_mask_cache *cache)
{
    vug_mutex_lock(cache->lock);
    const size_t bytes = cache->bytes;
    vug_mutex_unlock(cache->lock);
    return bytes;
}

static vug_frame_mask *find_mask(vug_mask_cache *cache, const uint32_t *key, size_t n)
{
    vug_mutex_lock(cache->lock);
    const uint32_t at = vug_intern_find(&cache->keys, key, n);
    vug_frame_mask *found =
            at == VUG_INTERN_NONE ? NULL : ((vug_cached_mask *)(void *)cache->masks.ptr)[at].mask;
    vug_mutex_unlock(cache->lock);
    return found;
}

/* False if there is no room for the mask, or another thread has stored one already. */
static bool store_mask(vug_mask_cache *cache, const uint32_t *key, size_t n, vug_cached_mask entry)
{
    const size_t bytes = entry.owned ? entry.mask->bytes + n * sizeof(*key) : 0;
    vug_mutex_lock(cache->lock);
    bool kept = cache->bytes + bytes <= cache->max_bytes &&
                vug_intern_find(&cache->keys, key, n) == VUG_INTERN_NONE;
    if (kept) {
        vug_buf_append(&cache->masks, &entry, sizeof(entry));
        kept = !cache->masks.bad;
    }
    if (kept && vug_intern_add(&cache->keys, key, n) == VUG_INTERN_NONE) {
        cache->masks.len -= sizeof(entry);
        kept = false;
    }
    cache->bytes += kept ? bytes : 0;
    vug_mutex_unlock(cache->lock);
    return kept;
}

/* A frame that reads few different bytes has a mask that is cheap to compute. */
static bool reads_many_bytes(const vug_automaton *a, uint32_t state)
{
    enum { MANY = 16 };
    const vug_automaton_state *s = &a->state[state];
    unsigned n = 0;
    for (uint32_t e = s->edge; e < s[1].edge; e++)
        n += a->edge[e].to - a->edge[e].from + 1U;
    return n >= MANY;
}

/* Finds the mask of a frame in the cache of the tokenizer, or computes it. `shared`: it is in the
 * cache of the tokenizer. */
static vug_status make_mask(vug_mask_cache *cache, vug_grammar_matcher *matcher,
                            const uint32_t key[3], vug_frame_mask **mask, bool *shared,
                            vug_err *err)
{
    vug_buf long_key = { 0 };
    const bool portable =
            reads_many_bytes(matcher->a, key[0]) && vug_frame_key_write(matcher->a, key, &long_key);
    const uint32_t *word = (const void *)long_key.ptr;
    const size_t n = long_key.len / sizeof(*word);
    const uint64_t before = matcher->work;
    vug_status st = VUG_OK;
    *mask = portable ? find_mask(cache->shared, word, n) : NULL;
    *shared = *mask != NULL;
    if (!*mask) {
        st = vug_frame_mask_create(cache->trie, cache->n_words, matcher, key, mask, err);
        if (st == VUG_OK && portable && matcher->work - before >= MIN_SHARED_WORK)
            *shared = store_mask(cache->shared, word, n,
                                 (vug_cached_mask){ .mask = *mask, .owned = true });
    }
    vug_buf_release(&long_key);
    return st;
}

/* `owned`: the mask was not stored, and the caller destroys it after use. */
static vug_status get_mask(vug_mask_cache *cache, vug_grammar_matcher *matcher,
                           const uint32_t key[3], vug_frame_mask **mask, bool *owned, vug_err *err)
{
    bool shared;
    *mask = find_mask(cache, key, 3);
    *owned = false;
    if (*mask)
        return VUG_OK;
    VUG_TRY(make_mask(cache, matcher, key, mask, &shared, err));
    const bool stored = store_mask(cache, key, 3, (vug_cached_mask){ *mask, !shared });
    *owned = !stored && !shared;
    return VUG_OK;
}

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
    bool owned = false;
    VUG_TRY(get_mask(cache, matcher, key, &mask, &owned, err));
    if (mask->ambiguous) {
        const bool exact = matcher->a->state[top.state].counts_edges;
        const uint32_t exact_key[3] = { top.state, exact ? top.min : cap_count(cache, top.min),
                                        exact ? top.max : cap_count(cache, top.max) };
        if (owned)
            vug_frame_mask_destroy(mask);
        VUG_TRY(get_mask(cache, matcher, exact_key, &mask, &owned, err));
    }
    if (mask->n_needs > 0)
        add_counted_mask(f, mask, top.max);
    else
        add_mask(f, mask);
    f->first = false;
    const bool complete = add_exits(f, mask, frame);
    if (owned)
        vug_frame_mask_destroy(mask);
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
