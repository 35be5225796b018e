#include "text/grammar/mask.h"

/* ---- the cache ---------------------------------------------------------------- */

vug_status vug_mask_cache_init(vug_mask_cache *c, const vug_trie *trie, size_t n_words,
                               vug_err *err)
{
    *c = (vug_mask_cache){ .trie = trie, .n_words = n_words };
    return vug_lock_create(&c->lock, err);
}

void vug_mask_cache_release(vug_mask_cache *c)
{
    vug_frame_mask **mask = (void *)c->masks.ptr;
    for (size_t i = 0; i < c->frames.n; i++)
        vug_frame_mask_destroy(mask[i]);
    vug_buf_release(&c->masks);
    vug_sets_release(&c->frames);
    vug_lock_destroy(c->lock);
    *c = (vug_mask_cache){ 0 };
}

size_t vug_mask_cache_bytes(vug_mask_cache *c)
{
    vug_lock_take(c->lock);
    const size_t bytes = c->bytes;
    vug_lock_leave(c->lock);
    return bytes;
}

static vug_frame_mask *find(vug_mask_cache *c, const uint32_t key[3])
{
    vug_lock_take(c->lock);
    const uint32_t at = vug_sets_find(&c->frames, key, 3);
    vug_frame_mask *found =
            at == VUG_SETS_NONE ? NULL : ((vug_frame_mask **)(void *)c->masks.ptr)[at];
    vug_lock_leave(c->lock);
    return found;
}

/* False if there is no room for it, or if another thread was faster. */
static bool keep(vug_mask_cache *c, const uint32_t key[3], vug_frame_mask *mask)
{
    vug_lock_take(c->lock);
    bool kept = c->bytes + mask->bytes <= VUG_MASKS_MAX_BYTES &&
                vug_sets_find(&c->frames, key, 3) == VUG_SETS_NONE;
    if (kept) {
        vug_buf_append(&c->masks, &mask, sizeof(vug_frame_mask *));
        kept = !c->masks.bad;
    }
    if (kept && vug_sets_intern(&c->frames, key, 3) == VUG_SETS_NONE) {
        c->masks.len -= sizeof(vug_frame_mask *);
        kept = false;
    }
    c->bytes += kept ? mask->bytes : 0;
    vug_lock_leave(c->lock);
    return kept;
}

/* `ours`: it was not kept, and is to be destroyed after use. */
static vug_status get(vug_mask_cache *c, vug_walk *walk, const uint32_t key[3],
                      vug_frame_mask **mask, bool *ours, vug_err *err)
{
    *mask = find(c, key);
    *ours = false;
    if (*mask)
        return VUG_OK;
    VUG_TRY(vug_frame_mask_make(c->trie, c->n_words, walk, key, mask, err));
    *ours = !keep(c, key, *mask);
    return VUG_OK;
}

/* ---- masks of places ----------------------------------------------------------- */

typedef struct {
    vug_mask_cache *cache;
    vug_trie_walk below;
    uint32_t *word; /* bits of allowed tokens */
    bool first;     /* nothing is in the bits yet, not even zeros */
} filler;

static void set(uint32_t *word, const uint32_t *id, size_t n)
{
    for (size_t i = 0; i < n; i++)
        word[id[i] / 32] |= UINT32_C(1) << (id[i] % 32);
}

static void unite_words(filler *f, const uint32_t *word)
{
    const size_t n = f->cache->n_words;
    if (f->first)
        memcpy(f->word, word, n * sizeof(*word));
    for (size_t i = 0; !f->first && i < n; i++)
        f->word[i] |= word[i];
}

static void unite_ids(filler *f, const uint32_t *id, size_t n)
{
    if (f->first)
        memset(f->word, 0, f->cache->n_words * sizeof(*f->word));
    set(f->word, id, n);
}

static void unite(filler *f, const vug_frame_mask *m)
{
    if (m->word)
        unite_words(f, m->word);
    else
        unite_ids(f, m->id, m->n_ids);
}

/* Those that go through the body `max` times at most. */
static void unite_counted(filler *f, const vug_frame_mask *m, uint32_t max)
{
    if (max >= m->n_needs - 1) {
        unite(f, m);
    } else if (!m->fit || m->n_needs <= VUG_MASK_FITS) {
        unite_ids(f, m->by_need, m->need_first[max + 1]);
    } else {
        const uint32_t row = max < VUG_MASK_FITS ? max : VUG_MASK_FITS - 1;
        const uint32_t from = m->need_first[row + 1];
        unite_words(f, m->fit + row * f->cache->n_words);
        set(f->word, m->by_need + from, m->need_first[max + 1] - from);
    }
}

/* The tokens that end at a node. */
static void allow(const vug_trie *trie, uint32_t node, uint32_t *word)
{
    for (uint32_t i = trie->node[node].first; i < trie->node[node + 1].first; i++) {
        const uint32_t id = (uint32_t)trie->id[i];
        word[id / 32] |= UINT32_C(1) << (id % 32);
    }
}

/* Tokens in which the frame ends go on with what is below it. */
static bool leave(filler *f, const vug_frame_mask *m, uint32_t frame)
{
    vug_trie_walk *h = &f->below;
    const vug_frame top = vug_frame_of(h->walk, frame);
    if (top.below == VUG_FRAME_BOTTOM || m->exit_first[256] == 0)
        return true;
    const vug_place below = vug_walk_below(h->walk, frame);
    for (unsigned byte = 0; below != VUG_PLACE_FAILED && byte < 256; byte++) {
        if (m->exit_first[byte] == m->exit_first[byte + 1])
            continue;
        const uint32_t n_exits = m->exit_first[byte + 1] - m->exit_first[byte];
        const vug_place to = vug_walk_spend(h->walk, n_exits)
                                     ? vug_walk_step(h->walk, below, (uint8_t)byte)
                                     : VUG_PLACE_FAILED;
        if (to == VUG_PLACE_FAILED)
            return false;
        if (to == VUG_PLACE_DEAD)
            continue;
        for (uint32_t i = m->exit_first[byte]; i < m->exit_first[byte + 1]; i++) {
            const vug_mask_exit e = m->exit[i];
            if (m->n_needs > 0 && (e.count < top.min || e.count > top.max))
                continue;
            allow(h->trie, e.node, f->word);
            vug_trie_enter(h, e.node, to);
            while (vug_trie_next(h))
                allow(h->trie, h->node, f->word);
            if (vug_trie_failed(h))
                return false;
        }
    }
    return below != VUG_PLACE_FAILED;
}

/* Counts that no token can tell apart are one. */
static uint32_t cap(const vug_mask_cache *c, uint32_t count)
{
    return count > c->trie->longest + 1 ? (uint32_t)c->trie->longest + 1 : count;
}

static vug_status add_frame(filler *f, uint32_t frame, vug_err *err)
{
    vug_mask_cache *c = f->cache;
    vug_walk *walk = f->below.walk;
    const vug_frame top = vug_frame_of(walk, frame);
    const bool counted = top.max > 1;
    const uint32_t key[3] = { top.state, counted ? 0 : 1, counted ? VUG_MASK_COUNTS : 1 };
    vug_frame_mask *mask = NULL;
    bool ours = false;
    VUG_TRY(get(c, walk, key, &mask, &ours, err));
    if (mask->ambiguous) {
        const uint32_t exact[3] = { top.state, cap(c, top.min), cap(c, top.max) };
        if (ours)
            vug_frame_mask_destroy(mask);
        VUG_TRY(get(c, walk, exact, &mask, &ours, err));
    }
    if (mask->n_needs > 0)
        unite_counted(f, mask, top.max);
    else
        unite(f, mask);
    f->first = false;
    const bool walked = leave(f, mask, frame);
    if (ours)
        vug_frame_mask_destroy(mask);
    return walked ? VUG_OK : vug_walk_why(walk, err);
}

vug_status vug_mask_fill(vug_mask_cache *c, vug_walk *walk, vug_place place, uint32_t *word,
                         vug_err *err)
{
    filler f = { .cache = c, .word = word, .first = true };
    size_t n;
    (void)vug_place_frames(walk, place, &n);
    if (n == 0)
        memset(word, 0, c->n_words * sizeof(*word));
    vug_status st = vug_trie_walk_init(&f.below, c->trie, walk, err);
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        size_t same; /* the list may move while places are added */
        st = add_frame(&f, vug_place_frames(walk, place, &same)[i], err);
    }
    vug_trie_walk_release(&f.below);
    return st;
}

vug_status vug_mask_goes_on(const vug_mask_cache *c, vug_walk *walk, vug_place place, uint32_t node,
                            bool *goes_on, vug_err *err)
{
    vug_trie_walk h;
    VUG_TRY(vug_trie_walk_init(&h, c->trie, walk, err));
    vug_trie_enter(&h, node, place);
    const vug_trie_node *all = c->trie->node;
    *goes_on = false;
    while (!*goes_on && vug_trie_next(&h))
        *goes_on = all[h.node].first < all[h.node + 1].first;
    const bool failed = vug_trie_failed(&h);
    vug_trie_walk_release(&h);
    return failed ? vug_walk_why(walk, err) : VUG_OK;
}
