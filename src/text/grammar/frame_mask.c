#include "text/grammar/frame_mask.h"

enum {
    FEW_IDS = 1024, /* a list of more is kept as bits */
    NOT_COUNTED = -1,
    AMBIGUOUS = -2,
};

/* ---- walking the tree of tokens ----------------------------------------------- */

vug_status vug_trie_walk_init(vug_trie_walk *h, const vug_trie *trie, vug_walk *walk, vug_err *err)
{
    const size_t n = trie->longest + 1;
    *h = (vug_trie_walk){ .trie = trie, .walk = walk, .path = vug_alloc(n, sizeof(*h->path)) };
    return h->path ? VUG_OK : VUG_FAIL_NOMEM(err, "a mask of tokens", n * sizeof(*h->path));
}

void vug_trie_walk_release(vug_trie_walk *h)
{
    vug_free(h->path);
    *h = (vug_trie_walk){ 0 };
}

/* ---- what a frame allows -------------------------------------------------------- */

typedef struct {
    uint32_t id, need;
} found_token;

typedef struct {
    vug_trie_walk at;
    bool counted, ambiguous;
    vug_buf tokens; /* found_token */
    vug_buf exits;  /* vug_mask_exit */
    vug_buf counts; /* int32_t for each place: how often the body was gone through */
} hunt;

/* Half a million times for a large mask. */
static inline void push(vug_buf *list, const void *element, size_t size)
{
    if (list->len + size >= list->cap) {
        vug_buf_append(list, element, size);
        return;
    }
    memcpy(list->ptr + list->len, element, size);
    list->len += size;
}

/* How often the counted body over the bottom was gone through, if all stacks agree. */
static int32_t count_stacks(vug_walk *w, vug_place place)
{
    int32_t count = NOT_COUNTED;
    size_t n;
    const uint32_t *frame = vug_place_frames(w, place, &n);
    for (size_t i = 0; i < n; i++) {
        vug_frame f = vug_frame_of(w, frame[i]);
        while (f.below != VUG_FRAME_BOTTOM && vug_walk_spend(w, 1))
            f = vug_frame_of(w, f.below);
        const int32_t here = (int32_t)(VUG_MASK_COUNTS - f.max);
        if (count != NOT_COUNTED && count != here)
            return AMBIGUOUS;
        count = here;
    }
    return n ? count : AMBIGUOUS;
}

static int32_t count_at(hunt *h, vug_place place)
{
    while (h->counts.len / sizeof(int32_t) <= place && !h->counts.bad) {
        const vug_place next = (vug_place)(h->counts.len / sizeof(int32_t));
        const int32_t count = next == VUG_PLACE_DEAD ? AMBIGUOUS : count_stacks(h->at.walk, next);
        vug_buf_append(&h->counts, &count, sizeof(count));
    }
    return h->counts.bad ? AMBIGUOUS : ((int32_t *)(void *)h->counts.ptr)[place];
}

/* At a node, after its byte: its tokens are allowed, and where the frame may be at its
 * end, its children are exits. */
static void note(hunt *h)
{
    const vug_trie *trie = h->at.trie;
    const vug_trie_node *all = trie->node;
    const uint32_t node = h->at.node;
    const bool done = vug_place_done(h->at.walk, h->at.place);
    uint32_t count = 0;
    if (h->counted) {
        const int32_t times = count_at(h, h->at.place);
        h->ambiguous = h->ambiguous || times < 0;
        count = times < 0 ? 0 : (uint32_t)times;
    }
    for (uint32_t i = all[node].first; i < all[node + 1].first; i++) {
        const found_token t = { (uint32_t)trie->id[i], done ? count : count + 1 };
        push(&h->tokens, &t, sizeof(t));
    }
    for (uint32_t c = all[node].child; done && c < all[node + 1].child; c++) {
        const vug_mask_exit e = { c, count };
        push(&h->exits, &e, sizeof(e));
    }
}

/* False when the walk failed. */
static bool hunt_all(hunt *h, vug_place place)
{
    vug_trie_enter(&h->at, 0, place);
    while (!h->ambiguous && vug_trie_next(&h->at))
        note(h);
    /* Where counting was too much, `ambiguous` means nothing. */
    return !vug_trie_failed(&h->at) && !vug_walk_stuck(h->at.walk);
}

/* ---- from what was found to a mask ------------------------------------------------- */

void vug_frame_mask_destroy(vug_frame_mask *m)
{
    if (!m)
        return;
    vug_free(m->word);
    vug_free(m->id);
    vug_free(m->exit);
    vug_free(m->by_need);
    vug_free(m->need_first);
    vug_free(m->fit);
    vug_free(m);
}

static bool keep_tokens(vug_frame_mask *m, const found_token *token, size_t n, size_t n_words)
{
    if (n > FEW_IDS)
        m->word = vug_alloc_zero(n_words, sizeof(*m->word));
    else
        m->id = vug_alloc(n, sizeof(*m->id));
    m->bytes += n > FEW_IDS ? n_words * sizeof(*m->word) : n * sizeof(*m->id);
    if (!m->word && !m->id)
        return n == 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t id = token[i].id;
        if (m->word)
            m->word[id / 32] |= UINT32_C(1) << (id % 32);
        else
            m->id[m->n_ids++] = id;
    }
    return true;
}

/* A counting sort by byte. */
static bool keep_exits(vug_frame_mask *m, const vug_trie *trie, const vug_mask_exit *exit, size_t n)
{
    m->exit = vug_alloc(n, sizeof(*m->exit));
    m->bytes += n * sizeof(*m->exit);
    if (!m->exit && n > 0)
        return false;
    for (size_t i = 0; i < n; i++)
        m->exit_first[trie->node[exit[i].node].byte + 1]++;
    for (size_t i = 0; i < 256; i++)
        m->exit_first[i + 1] += m->exit_first[i];
    for (size_t i = n; i-- > 0;) /* from the end: what is left are the beginnings */
        m->exit[--m->exit_first[trie->node[exit[i].node].byte + 1]] = exit[i];
    memmove(m->exit_first, m->exit_first + 1, 256 * sizeof(*m->exit_first));
    m->exit_first[256] = (uint32_t)n;
    return true;
}

/* And one by need. */
static bool keep_needs(vug_frame_mask *m, const found_token *token, size_t n, size_t longest)
{
    m->n_needs = longest + 2; /* a token of n bytes ends in the n-th time or begins the next */
    m->by_need = vug_alloc(n, sizeof(*m->by_need));
    m->need_first = vug_alloc_zero(m->n_needs + 1, sizeof(*m->need_first));
    m->bytes += n * sizeof(*m->by_need) + m->n_needs * sizeof(*m->need_first);
    if ((!m->by_need && n > 0) || !m->need_first)
        return false;
    for (size_t i = 0; i < n; i++) {
        VUG_ASSERT(token[i].need < m->n_needs);
        m->need_first[token[i].need]++;
    }
    for (size_t i = 0; i < m->n_needs; i++)
        m->need_first[i + 1] += m->need_first[i];
    for (size_t i = n; i-- > 0;)
        m->by_need[--m->need_first[token[i].need]] = token[i].id;
    return true;
}

/* Bits for small counts, where most tokens are too long. */
static bool keep_fits(vug_frame_mask *m, size_t n_words)
{
    if (!m->word)
        return true;
    m->fit = vug_alloc_zero(VUG_MASK_FITS, n_words * sizeof(*m->fit));
    m->bytes += VUG_MASK_FITS * n_words * sizeof(*m->fit);
    for (size_t k = 0; m->fit && k < VUG_MASK_FITS; k++) {
        uint32_t *word = m->fit + k * n_words;
        if (k > 0)
            memcpy(word, word - n_words, n_words * sizeof(*word));
        for (uint32_t i = k < m->n_needs ? m->need_first[k] : 0;
             k < m->n_needs && i < m->need_first[k + 1]; i++)
            word[m->by_need[i] / 32] |= UINT32_C(1) << (m->by_need[i] % 32);
    }
    return m->fit != NULL;
}

static vug_frame_mask *make(const hunt *h, size_t n_words)
{
    vug_frame_mask *m = vug_alloc_zero(1, sizeof(*m));
    if (!m)
        return NULL;
    m->bytes = sizeof(*m);
    m->ambiguous = h->ambiguous;
    if (m->ambiguous)
        return m;
    const found_token *token = (const void *)h->tokens.ptr;
    const size_t n = h->tokens.len / sizeof(*token);
    const bool kept = keep_tokens(m, token, n, n_words) &&
                      keep_exits(m, h->at.trie, (const void *)h->exits.ptr,
                                 h->exits.len / sizeof(vug_mask_exit)) &&
                      (!h->counted ||
                       (keep_needs(m, token, n, h->at.trie->longest) && keep_fits(m, n_words)));
    if (!kept) {
        vug_frame_mask_destroy(m);
        return NULL;
    }
    return m;
}

vug_status vug_frame_mask_make(const vug_trie *trie, size_t n_words, vug_walk *walk,
                               const uint32_t state_min_max[3], vug_frame_mask **out, vug_err *err)
{
    const uint32_t *key = state_min_max;
    hunt h = { .counted = key[2] == VUG_MASK_COUNTS };
    VUG_TRY(vug_trie_walk_init(&h.at, trie, walk, err));
    const vug_place alone = vug_walk_alone(walk, (vug_frame){ key[0], key[1], key[2], 0 });
    const bool walked = alone != VUG_PLACE_FAILED && hunt_all(&h, alone);
    const bool bad = h.tokens.bad || h.exits.bad || h.counts.bad;
    *out = walked && !bad ? make(&h, n_words) : NULL;
    vug_trie_walk_release(&h.at);
    vug_buf_release(&h.tokens);
    vug_buf_release(&h.exits);
    vug_buf_release(&h.counts);
    if (!walked)
        return vug_walk_why(walk, err);
    return *out ? VUG_OK : VUG_FAIL_NOMEM(err, "a mask of tokens", n_words * 4);
}
