#include "text/grammar/mask_cache.h"

#include "text/grammar/frame_key.h"

/* Masks that took this much work to compute are kept for all grammars: about 0.02 ms. */
#define MIN_SHARED_WORK ((uint64_t)1 << 10)

typedef struct {
    vug_frame_mask *mask;
    bool shared; /* in the cache of a grammar: the tokenizer keeps it, too */
    bool used;   /* found since the cache was last full */
} cached_mask;

static cached_mask *entries_of(const vug_mask_cache *cache)
{
    return (cached_mask *)(void *)cache->masks.ptr;
}

/* ---- lifetime -------------------------------------------------------------------------------- */

/* What the grammars of a tokenizer share. */
typedef struct {
    vug_mask_cache cache;
    vug_group_trie groups;
} shared_masks;

static vug_status init_cache(vug_mask_cache *cache, const vug_group_trie *groups, size_t max_bytes,
                             vug_err *err)
{
    *cache = (vug_mask_cache){ .groups = groups,
                               .max_bytes = max_bytes,
                               .min_work = MIN_SHARED_WORK };
    return vug_mutex_create(&cache->lock, err);
}

static void destroy_shared(void *attachment)
{
    shared_masks *shared = attachment;
    vug_mask_cache_release(&shared->cache);
    vug_group_trie_release(&shared->groups);
    vug_free(shared);
}

static vug_status create_shared(const vug_token_trie *trie, void **out, vug_err *err)
{
    shared_masks *shared = vug_alloc_zero(1, sizeof(*shared));
    if (!shared)
        return VUG_FAIL_NOMEM(err, "the token masks of a vocabulary", sizeof(*shared));
    vug_status st = vug_group_trie_init(&shared->groups, trie, err);
    if (st == VUG_OK)
        st = init_cache(&shared->cache, &shared->groups, VUG_SHARED_MASK_CACHE_MAX_BYTES, err);
    if (st == VUG_OK) {
        *out = shared;
        return VUG_OK;
    }
    vug_group_trie_release(&shared->groups);
    vug_free(shared);
    return st;
}

vug_status vug_mask_cache_init(vug_mask_cache *cache, const vug_tokenizer *tokenizer, vug_err *err)
{
    static const vug_token_trie_attachment kind = { create_shared, destroy_shared };
    void *attachment = NULL;
    VUG_TRY(vug_token_trie_attach(tokenizer, &kind, &attachment, err));
    shared_masks *shared = attachment;
    VUG_TRY(init_cache(cache, &shared->groups, VUG_MASK_CACHE_MAX_BYTES, err));
    cache->shared = &shared->cache;
    cache->n_words = ((size_t)vug_tokenizer_size(tokenizer) + 31) / 32;
    return VUG_OK;
}

static void release_masks(vug_mask_cache *cache)
{
    for (size_t i = 0; i < cache->keys.n; i++)
        vug_frame_mask_release(entries_of(cache)[i].mask);
    vug_buf_release(&cache->masks);
    vug_intern_release(&cache->keys);
    cache->bytes = cache->shared_bytes = 0;
}

void vug_mask_cache_release(vug_mask_cache *cache)
{
    release_masks(cache);
    vug_mutex_destroy(cache->lock);
    *cache = (vug_mask_cache){ 0 };
}

size_t vug_mask_cache_bytes(vug_mask_cache *cache)
{
    vug_mutex_lock(cache->lock);
    const size_t bytes = cache->bytes - cache->shared_bytes;
    vug_mutex_unlock(cache->lock);
    return bytes;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* The caller holds the mask from the cache of the tokenizer, where it may be dropped. */
static vug_frame_mask *find_mask(vug_mask_cache *cache, const uint32_t *key, size_t n)
{
    vug_mutex_lock(cache->lock);
    const uint32_t at = vug_intern_find(&cache->keys, key, n);
    vug_frame_mask *found = at == VUG_INTERN_NONE ? NULL : entries_of(cache)[at].mask;
    if (found && !cache->shared) {
        entries_of(cache)[at].used = true;
        vug_frame_mask_hold(found);
    }
    vug_mutex_unlock(cache->lock);
    return found;
}

static size_t bytes_of(const vug_frame_mask *mask, size_t n_key)
{
    return mask->bytes + n_key * sizeof(uint32_t);
}

/* The caller holds the lock, and the mask fits. The cache owns the mask, unless this fails. */
static bool add_entry(vug_mask_cache *cache, const uint32_t *key, size_t n, cached_mask entry)
{
    vug_buf_append(&cache->masks, &entry, sizeof(entry));
    if (cache->masks.bad)
        return false;
    if (vug_intern_add(&cache->keys, key, n) == VUG_INTERN_NONE) {
        cache->masks.len -= sizeof(entry);
        return false;
    }
    cache->bytes += bytes_of(entry.mask, n);
    cache->shared_bytes += entry.shared ? bytes_of(entry.mask, n) : 0;
    return true;
}

/* Out of memory, or after too many collisions of keys, which a grammar can be made for. */
static bool has_failed(const vug_mask_cache *cache)
{
    return cache->masks.bad || cache->keys.too_many_collisions;
}

/* Drops the masks that nobody has found since the last time, and all if the cache stays more than
 * half full. The caller holds the lock. Grammars keep those that they hold. */
static void drop_masks(vug_mask_cache *cache)
{
    vug_mask_cache kept = *cache;
    kept.keys = (vug_intern_table){ 0 };
    kept.masks = (vug_buf){ 0 };
    kept.bytes = 0;
    for (size_t i = 0; i < cache->keys.n; i++) {
        const cached_mask entry = { .mask = entries_of(cache)[i].mask };
        size_t n;
        const uint32_t *key = vug_intern_get(&cache->keys, (uint32_t)i, &n);
        if (entries_of(cache)[i].used && add_entry(&kept, key, n, entry))
            vug_frame_mask_hold(entry.mask);
    }
    release_masks(cache);
    *cache = kept;
    if (cache->bytes > cache->max_bytes / 2 || has_failed(cache))
        release_masks(cache);
}

/* True: the cache owns the mask. False: it does not fit, or another thread has stored one already. */
static bool store_mask(vug_mask_cache *cache, const uint32_t *key, size_t n, cached_mask entry)
{
    const size_t bytes = bytes_of(entry.mask, n);
    vug_mutex_lock(cache->lock);
    const bool full = cache->bytes > cache->max_bytes - bytes || has_failed(cache);
    if (!cache->shared && bytes <= cache->max_bytes && full)
        drop_masks(cache);
    const bool kept = bytes <= cache->max_bytes && cache->bytes <= cache->max_bytes - bytes &&
                      vug_intern_find(&cache->keys, key, n) == VUG_INTERN_NONE &&
                      add_entry(cache, key, n, entry);
    vug_mutex_unlock(cache->lock);
    return kept;
}

/* ---- masks of frames ------------------------------------------------------------------------- */

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

static vug_status get_mask(vug_mask_cache *cache, vug_grammar_matcher *matcher,
                           const uint32_t key[3], bool has_base, vug_frame_mask **mask,
                           bool *temporary, vug_err *err);

/* Computes the mask of a frame, from those of its base if it may have one and has one. The caller
 * holds it. */
static vug_status create_mask(vug_mask_cache *cache, // NOLINT(misc-no-recursion)
                              vug_grammar_matcher *matcher, const uint32_t key[3], bool has_base,
                              vug_frame_mask **mask, vug_err *err)
{
    vug_frame_mask_base b;
    bool temporary[VUG_MASK_BASE_MAX_FRAMES];
    size_t n = 0;
    vug_status st = VUG_OK;
    has_base = has_base && key[2] == 1 && vug_mask_base_find(matcher, key, &b.base);
    while (has_base && n < b.base.n && st == VUG_OK) {
        const vug_stack_frame f = vug_stack_frame_get(matcher, b.base.frame[n]);
        const uint32_t frame_key[3] = { f.state, 1, 1 };
        st = get_mask(cache, matcher, frame_key, false, &b.mask[n], &temporary[n], err);
        n += st == VUG_OK;
    }
    if (st == VUG_OK)
        st = vug_frame_mask_create(cache->groups, cache->n_words, matcher, key,
                                   has_base ? &b : NULL, mask, err);
    for (size_t i = 0; i < n; i++)
        if (temporary[i])
            vug_frame_mask_release(b.mask[i]);
    return st;
}

/* Finds the mask of a frame in the cache of the tokenizer, or computes it. The caller holds it.
 * `shared`: it is in the cache of the tokenizer. */
static vug_status make_mask(vug_mask_cache *cache, // NOLINT(misc-no-recursion)
                            vug_grammar_matcher *matcher, const uint32_t key[3], bool has_base,
                            vug_frame_mask **mask, bool *shared, vug_err *err)
{
    vug_buf long_key = { 0 };
    const bool many = reads_many_bytes(matcher->a, key[0]);
    const bool portable = many && vug_frame_key_write(matcher->a, key, &long_key);
    const uint32_t *word = (const void *)long_key.ptr;
    const size_t n = long_key.len / sizeof(*word);
    const uint64_t before = matcher->work;
    vug_status st = VUG_OK;
    *mask = portable ? find_mask(cache->shared, word, n) : NULL;
    *shared = *mask != NULL;
    if (!*mask) {
        st = create_mask(cache, matcher, key, many && has_base, mask, err);
        if (st == VUG_OK && portable && matcher->work - before >= cache->shared->min_work) {
            vug_frame_mask_hold(*mask);
            *shared = store_mask(cache->shared, word, n, (cached_mask){ .mask = *mask });
            if (!*shared)
                vug_frame_mask_release(*mask);
        }
    }
    vug_buf_release(&long_key);
    return st;
}

/* `has_base`: the frame may have one. The frames of a base have none, so there is one level of
 * recursion. */
static vug_status get_mask(vug_mask_cache *cache, // NOLINT(misc-no-recursion)
                           vug_grammar_matcher *matcher, const uint32_t key[3], bool has_base,
                           vug_frame_mask **mask, bool *temporary, vug_err *err)
{
    bool shared;
    *mask = find_mask(cache, key, 3);
    *temporary = false;
    if (*mask)
        return VUG_OK;
    VUG_TRY(make_mask(cache, matcher, key, has_base, mask, &shared, err));
    *temporary = !store_mask(cache, key, 3, (cached_mask){ .mask = *mask, .shared = shared });
    return VUG_OK;
}

vug_status vug_mask_cache_get(vug_mask_cache *cache, vug_grammar_matcher *matcher,
                              const uint32_t state_min_max[3], vug_frame_mask **mask,
                              bool *temporary, vug_err *err)
{
    return get_mask(cache, matcher, state_min_max, true, mask, temporary, err);
}
