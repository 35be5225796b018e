#include "text/mask.h"

enum {
    FEW_IDS = 1024, /* a list of more is kept as bits */
};

/* ---- walking the tree of tokens ------------------------------------------------- */

typedef struct {
    uint32_t node, end; /* siblings that are still to be tried */
    vug_place place;    /* before them */
} branch;

typedef struct {
    const vug_trie *trie;
    vug_walk *walk;
    branch *path;    /* [longest + 1] */
    uint32_t *word;  /* allowed tokens; or NULL: ... */
    vug_buf *id;     /* ... here */
    vug_buf *resume; /* nodes where the text may be done; or NULL */
    bool first_only; /* one allowed token is enough */
} hunt;

static void allow(hunt *h, const vug_trie_node *node)
{
    for (uint32_t i = node[0].first; i < node[1].first; i++) {
        const uint32_t id = (uint32_t)h->trie->id[i];
        if (h->word)
            h->word[id / 32] |= UINT32_C(1) << (id % 32);
        else
            vug_buf_append(h->id, &id, sizeof(id));
    }
}

/* Tries what comes below `node`, before which the text stands at `place`. False when the
 * walk failed. */
static bool hunt_below(hunt *h, uint32_t node, vug_place place)
{
    const vug_trie_node *all = h->trie->node;
    size_t depth = 0;
    h->path[0] = (branch){ all[node].child, all[node + 1].child, place };
    for (;;) {
        branch *b = &h->path[depth];
        if (b->node == b->end) {
            if (depth-- == 0)
                return true;
            continue;
        }
        const uint32_t at = b->node++;
        const vug_place to = vug_walk_step(h->walk, b->place, (uint8_t)all[at].byte);
        if (to == VUG_PLACE_DEAD)
            continue;
        if (to == VUG_PLACE_FAILED)
            return false;
        allow(h, &all[at]);
        if (h->first_only && h->id->len > 0)
            return true;
        if (all[at].child == all[at + 1].child)
            continue;
        if (h->resume && vug_place_done(h->walk, to))
            vug_buf_append(h->resume, &at, sizeof(at));
        h->path[++depth] = (branch){ all[at].child, all[at + 1].child, to };
    }
}

/* ---- masks of frames -------------------------------------------------------------- */

static void destroy_mask(vug_frame_mask *m)
{
    if (!m)
        return;
    vug_free(m->word);
    vug_free(m->id);
    vug_free(m->resume);
    vug_free(m);
}

static size_t mask_bytes(const vug_mask_cache *c, const vug_frame_mask *m)
{
    return sizeof(*m) + (m->word ? c->n_words : m->n_ids) * 4 + m->n_resume * 4;
}

static void add_ids(const vug_frame_mask *m, uint32_t *word)
{
    for (size_t i = 0; i < m->n_ids; i++)
        word[m->id[i] / 32] |= UINT32_C(1) << (m->id[i] % 32);
}

/* Takes the lists over. */
static vug_frame_mask *make_mask(const vug_mask_cache *c, vug_buf *id, vug_buf *resume)
{
    vug_frame_mask *m = vug_alloc_zero(1, sizeof(*m));
    if (!m)
        return NULL;
    m->id = (void *)id->ptr;
    m->n_ids = id->len / sizeof(*m->id);
    m->resume = (void *)resume->ptr;
    m->n_resume = resume->len / sizeof(*m->resume);
    *id = *resume = (vug_buf){ 0 };
    if (m->n_ids <= FEW_IDS)
        return m;
    m->word = vug_alloc_zero(c->n_words, sizeof(*m->word));
    if (!m->word) {
        destroy_mask(m);
        return NULL;
    }
    add_ids(m, m->word);
    vug_free(m->id);
    m->id = NULL;
    m->n_ids = 0;
    return m;
}

static vug_status hunt_mask(const vug_mask_cache *c, vug_walk *w, const uint32_t key[3],
                            vug_frame_mask **out, vug_err *err)
{
    vug_buf id = { 0 }, resume = { 0 };
    hunt h = { .trie = c->trie, .walk = w, .id = &id, .resume = &resume };
    h.path = vug_alloc(c->trie->longest + 1, sizeof(*h.path));
    if (!h.path)
        return VUG_FAIL_NOMEM(err, "a mask of tokens", c->trie->longest * sizeof(*h.path));
    const vug_place alone = vug_walk_alone(w, key[0], key[1], key[2]);
    const bool walked = alone != VUG_PLACE_FAILED && hunt_below(&h, 0, alone);
    *out = walked && !id.bad && !resume.bad ? make_mask(c, &id, &resume) : NULL;
    vug_free(h.path);
    vug_buf_release(&id);
    vug_buf_release(&resume);
    if (!walked)
        return vug_walk_why(w, err);
    return *out ? VUG_OK : VUG_FAIL_NOMEM(err, "a mask of tokens", c->n_words * 4);
}

/* Counts that no token can tell apart are one. */
static uint32_t cap(const vug_mask_cache *c, uint32_t count)
{
    return count > c->trie->longest + 1 ? (uint32_t)c->trie->longest + 1 : count;
}

static vug_frame_mask *find_mask(vug_mask_cache *c, const uint32_t key[3])
{
    vug_lock_take(c->lock);
    const uint32_t at = vug_sets_find(&c->frames, key, 3);
    vug_frame_mask *found =
            at == VUG_SETS_NONE ? NULL : ((vug_frame_mask **)(void *)c->masks.ptr)[at];
    vug_lock_leave(c->lock);
    return found;
}

/* False if there is no room for it, or if another thread was faster. */
static bool keep_mask(vug_mask_cache *c, const uint32_t key[3], vug_frame_mask *mask)
{
    const size_t bytes = mask_bytes(c, mask);
    vug_lock_take(c->lock);
    bool kept = c->bytes + bytes <= VUG_MASKS_MAX_BYTES &&
                vug_sets_find(&c->frames, key, 3) == VUG_SETS_NONE;
    if (kept) {
        vug_buf_append(&c->masks, &mask, sizeof(mask));
        kept = !c->masks.bad;
    }
    if (kept && vug_sets_intern(&c->frames, key, 3) == VUG_SETS_NONE) {
        c->masks.len -= sizeof(mask);
        kept = false;
    }
    c->bytes += kept ? bytes : 0;
    vug_lock_leave(c->lock);
    return kept;
}

vug_status vug_mask_cache_init(vug_mask_cache *c, const vug_trie *trie, size_t n_words,
                               vug_err *err)
{
    *c = (vug_mask_cache){ .trie = trie, .n_words = n_words };
    return vug_lock_create(&c->lock, err);
}

void vug_mask_cache_release(vug_mask_cache *c)
{
    vug_frame_mask **mask = (void *)c->masks.ptr;
    for (size_t i = 0; i < c->masks.len / sizeof(*mask); i++)
        destroy_mask(mask[i]);
    vug_buf_release(&c->masks);
    vug_sets_release(&c->frames);
    vug_lock_destroy(c->lock);
    *c = (vug_mask_cache){ 0 };
}

/* ---- masks of places --------------------------------------------------------------- */

static void unite(const vug_mask_cache *c, const vug_frame_mask *m, bool first, uint32_t *word)
{
    if (m->word && first)
        memcpy(word, m->word, c->n_words * sizeof(*word));
    else if (first)
        memset(word, 0, c->n_words * sizeof(*word));
    for (size_t i = 0; m->word && !first && i < c->n_words; i++)
        word[i] |= m->word[i];
    add_ids(m, word);
}

/* Tokens in which the frame ends go on with what is below it. */
static bool resume(hunt *h, const vug_frame_mask *m, uint32_t frame)
{
    if (m->n_resume == 0 || vug_frame_of(h->walk, frame).below == VUG_FRAME_BOTTOM)
        return true;
    const vug_place below = vug_walk_below(h->walk, frame);
    if (below == VUG_PLACE_FAILED)
        return false;
    size_t n;
    (void)vug_place_frames(h->walk, below, &n);
    bool walked = true;
    for (size_t i = 0; n > 0 && i < m->n_resume && walked; i++)
        walked = hunt_below(h, m->resume[i], below);
    return walked;
}

static vug_status add_frame(vug_mask_cache *c, hunt *h, uint32_t frame, bool first, vug_err *err)
{
    const vug_frame f = vug_frame_of(h->walk, frame);
    const uint32_t key[3] = { f.state, cap(c, f.min), cap(c, f.max) };
    vug_frame_mask *mask = find_mask(c, key);
    bool ours = false;
    if (!mask) {
        VUG_TRY(hunt_mask(c, h->walk, key, &mask, err));
        ours = !keep_mask(c, key, mask);
    }
    unite(c, mask, first, h->word);
    const bool walked = resume(h, mask, frame);
    if (ours)
        destroy_mask(mask);
    return walked ? VUG_OK : vug_walk_why(h->walk, err);
}

vug_status vug_mask_fill(vug_mask_cache *c, vug_walk *walk, vug_place place, uint32_t *word,
                         vug_err *err)
{
    hunt h = { .trie = c->trie, .walk = walk, .word = word };
    size_t n;
    (void)vug_place_frames(walk, place, &n);
    if (n == 0)
        memset(word, 0, c->n_words * sizeof(*word));
    h.path = vug_alloc(c->trie->longest + 1, sizeof(*h.path));
    if (!h.path)
        return VUG_FAIL_NOMEM(err, "a mask of tokens", c->trie->longest * sizeof(*h.path));
    vug_status st = VUG_OK;
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        size_t same; /* the list may move while places are added */
        st = add_frame(c, &h, vug_place_frames(walk, place, &same)[i], i == 0, err);
    }
    vug_free(h.path);
    return st;
}

vug_status vug_mask_goes_on(const vug_mask_cache *c, vug_walk *walk, vug_place place, uint32_t node,
                            bool *goes_on, vug_err *err)
{
    vug_buf id = { 0 };
    hunt h = { .trie = c->trie, .walk = walk, .id = &id, .first_only = true };
    h.path = vug_alloc(c->trie->longest + 1, sizeof(*h.path));
    if (!h.path)
        return VUG_FAIL_NOMEM(err, "a mask of tokens", c->trie->longest * sizeof(*h.path));
    const bool walked = hunt_below(&h, node, place);
    *goes_on = id.len > 0;
    vug_free(h.path);
    vug_buf_release(&id);
    return walked ? VUG_OK : vug_walk_why(walk, err);
}
