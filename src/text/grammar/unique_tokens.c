#include "text/grammar/unique_tokens.h"

#include "core/pool.h"

/* ---- both positions ----------------------------------------------------------------------- */

/* How many open arrays of a stack have items that differ. The frame of an array is in its start
 * state until the opening bracket has been read. */
static size_t count_unique(const vug_grammar_matcher *m, uint32_t frame)
{
    const vug_automaton_state *state = m->a->state;
    size_t n = 0;
    while (frame != VUG_STACK_BOTTOM) {
        const vug_stack_frame f = vug_stack_frame_get(m, frame);
        const uint32_t start = state[f.state].start;
        n += f.state != start && state[start].unique_items;
        frame = f.below;
    }
    return n;
}

/* Whether the bracket before these stacks is that of a unique array, in one of them. */
static bool opens_unique(const vug_unique_matcher *m, vug_stack_set at)
{
    size_t n;
    const uint32_t *frame = vug_stack_set_frames(m->matcher, at, &n);
    bool opens = false;
    for (size_t i = 0; i < n && !opens; i++)
        opens = count_unique(m->matcher, frame[i]) > m->items->n_unique;
    return opens;
}

static bool is_alive(vug_stack_set at)
{
    return at != VUG_STACK_SET_DEAD && at != VUG_STACK_SET_FAILED;
}

vug_stack_set vug_unique_match(const vug_unique_matcher *m, vug_stack_set at, vug_str bytes,
                               bool *repeats)
{
    bool equal = false;
    for (size_t i = 0; i < bytes.len && is_alive(at); i++) {
        const char c = bytes.ptr[i];
        at = vug_grammar_matcher_step(m->matcher, at, (uint8_t)c);
        equal = is_alive(at) &&
                !vug_unique_items_read(m->items, c, c == '[' && opens_unique(m, at));
        at = equal ? VUG_STACK_SET_DEAD : at;
    }
    if (repeats)
        *repeats = equal;
    return at;
}

/* ---- whether another item is possible ------------------------------------------------------- */

enum {
    MAX_TRIES = 20000, /* bytes, before another item is taken to be possible */
    MAX_ITEM = 2000,   /* bytes of an item that is looked for */
};

typedef struct {
    const vug_unique_matcher *m;
    vug_unique_goal goal;
    size_t n_tries;
} other_search;

/* Bytes that end something come first, so that the search goes no deeper than it must. All that may
 * tell short values apart come one by one; of all others, one of each class is enough. */
static const char first_tries[] =
        "\"]},:0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
        "XYZ-_. +/@";

static bool finds_other(other_search *s, vug_stack_set at, int depth);

/* Each level of recursion is one byte of an item. */
static bool try_byte(other_search *s, vug_stack_set at, char c, // NOLINT(misc-no-recursion)
                     int depth)
{
    const bool is_space = c == ' ' || c == '\t' || c == '\n';
    if (is_space && !s->m->items->in_string) /* makes no other value */
        return false;
    if (s->n_tries++ > MAX_TRIES || depth > MAX_ITEM)
        return true;
    if (vug_grammar_matcher_step(s->m->matcher, at, (uint8_t)c) == VUG_STACK_SET_DEAD)
        return false;
    const vug_unique_mark mark = vug_unique_items_mark(s->m->items);
    const vug_stack_set to = vug_unique_match(s->m, at, (vug_str){ &c, 1 }, NULL);
    const bool found =
            to == VUG_STACK_SET_FAILED ||
            (to != VUG_STACK_SET_DEAD &&
             (vug_unique_items_reached(s->m->items, s->goal) || finds_other(s, to, depth + 1)));
    vug_unique_items_return(s->m->items, mark);
    return found;
}

static bool finds_other(other_search *s, vug_stack_set at, int depth) // NOLINT(misc-no-recursion)
{
    const vug_automaton *a = s->m->matcher->a;
    bool found = false;
    for (size_t i = 0; first_tries[i] != '\0' && !found; i++)
        found = try_byte(s, at, first_tries[i], depth);
    for (uint32_t c = 0; c < a->n_classes && !found; c++)
        if (a->byte_of[c] == '\0' || !strchr(first_tries, a->byte_of[c]))
            found = try_byte(s, at, (char)a->byte_of[c], depth);
    return found;
}

bool vug_unique_can_differ(const vug_unique_matcher *m, vug_stack_set at)
{
    other_search s = { .m = m };
    return !vug_unique_items_find_goal(m->items, &s.goal) || finds_other(&s, at, 0);
}

/* ---- tokens ------------------------------------------------------------------------------- */

enum {
    MAX_TRIED = 1024, /* tokens of a mask that are all tried */
    MAX_EXACT = 256,  /* of those: each is tried as if it were the only one */
    N_KNOWN = 64,     /* a power of two */
};

enum { HAS_QUOTE = 1, HAS_BRACKET = 2, HAS_LIST = 4 };

/* Each of these characters is a group of its own. */
static uint8_t kinds_after(uint8_t kinds, uint32_t group)
{
    if (group == vug_byte_group_of_ascii('"') || group == vug_byte_group_of_ascii('\\'))
        return kinds | HAS_QUOTE;
    if (group == vug_byte_group_of_ascii('['))
        return kinds | HAS_BRACKET;
    return group == vug_byte_group_of_ascii(',') && (kinds & HAS_BRACKET) ? kinds | HAS_LIST
                                                                          : kinds;
}

static void set_bit(uint32_t *word, uint32_t id)
{
    word[id / 32] |= UINT32_C(1) << (id % 32);
}

struct vug_unique_vocabulary {
    const vug_tokenizer *tokenizer;
    const vug_group_trie *groups;
    size_t n_words;
    vug_mutex *lock;  /* guards the creation of what follows */
    uint32_t *quoted; /* tokens with a quote or a backslash */
    uint32_t *lists;  /* tokens with a comma after an opening bracket */
};

vug_status vug_unique_vocabulary_create(const vug_tokenizer *tokenizer,
                                        const vug_group_trie *groups, size_t n_words,
                                        vug_unique_vocabulary **out, vug_err *err)
{
    vug_unique_vocabulary *v = vug_alloc_zero(1, sizeof(*v));
    if (!v)
        return VUG_FAIL_NOMEM(err, "kinds of tokens", sizeof(*v));
    v->tokenizer = tokenizer;
    v->groups = groups;
    v->n_words = n_words;
    const vug_status st = vug_mutex_create(&v->lock, err);
    if (st == VUG_OK)
        *out = v;
    else
        vug_free(v);
    return st;
}

void vug_unique_vocabulary_destroy(vug_unique_vocabulary *v)
{
    if (!v)
        return;
    vug_mutex_destroy(v->lock);
    vug_free(v->quoted);
    vug_free(v->lists);
    vug_free(v);
}

size_t vug_unique_vocabulary_bytes(const vug_unique_vocabulary *v)
{
    return v ? sizeof(*v) + 2 * v->n_words * sizeof(uint32_t) : 0;
}

static void find_kinds(const vug_unique_vocabulary *v, uint8_t *kinds)
{
    const vug_group_trie *groups = v->groups;
    for (uint32_t i = 0; i < groups->n_nodes; i++) { /* a node comes before its children */
        const vug_group_trie_node *node = &groups->node[i];
        for (uint32_t c = i + 1; c < node->end; c = groups->node[c].end)
            kinds[c] = kinds_after(kinds[i], groups->node[c].group);
        for (uint32_t t = node[0].first; t < node[1].first; t++) {
            if (kinds[i] & HAS_QUOTE)
                set_bit(v->quoted, (uint32_t)groups->id[t]);
            if (kinds[i] & HAS_LIST)
                set_bit(v->lists, (uint32_t)groups->id[t]);
        }
    }
}

static bool add_kinds(vug_unique_vocabulary *v)
{
    uint8_t *kinds = vug_alloc_zero(v->groups->n_nodes, sizeof(*kinds));
    v->quoted = vug_alloc_zero(v->n_words, sizeof(*v->quoted));
    v->lists = vug_alloc_zero(v->n_words, sizeof(*v->lists));
    const bool added = kinds && v->quoted && v->lists;
    if (added) {
        find_kinds(v, kinds);
    } else {
        vug_free(v->quoted);
        vug_free(v->lists);
        v->quoted = v->lists = NULL;
    }
    vug_free(kinds);
    return added;
}

static vug_status need_kinds(vug_unique_vocabulary *v, vug_err *err)
{
    vug_mutex_lock(v->lock);
    const bool added = v->quoted || add_kinds(v);
    vug_mutex_unlock(v->lock);
    return added ? VUG_OK : VUG_FAIL_NOMEM(err, "kinds of tokens", v->groups->n_nodes);
}

typedef struct {
    const vug_unique_matcher *m;
    const vug_unique_vocabulary *v;
    vug_stack_set at;
    uint32_t *word;
    vug_buf bytes; /* of a token */
    bool exact;
    /* Stacks after which another item is possible. Where many tokens lead to the same stacks, the
     * text that they write matters only to how the item ends. */
    vug_stack_set known[N_KNOWN];
} token_filter;

static bool can_differ(token_filter *f, vug_stack_set at)
{
    vug_stack_set *known = &f->known[at % N_KNOWN];
    if (!f->exact && *known == at)
        return true;
    const bool can = vug_unique_can_differ(f->m, at);
    if (can)
        *known = at;
    return can;
}

/* Clears the bit of a token that cannot come. Tokens that the grammar names end no item. */
static void try_token(token_filter *f, uint32_t id)
{
    f->bytes.len = 0;
    if (!(f->word[id / 32] >> (id % 32) & 1) ||
        vug_tokenizer_is_special(f->v->tokenizer, (int32_t)id) ||
        !vug_tokenizer_append_bytes(f->v->tokenizer, (int32_t)id, &f->bytes))
        return;
    const vug_unique_mark mark = vug_unique_items_mark(f->m->items);
    bool repeats = false;
    const vug_stack_set to =
            vug_unique_match(f->m, f->at, (vug_str){ f->bytes.ptr, f->bytes.len }, &repeats);
    if (repeats || (is_alive(to) && !can_differ(f, to)))
        f->word[id / 32] &= ~(UINT32_C(1) << (id % 32));
    vug_unique_items_return(f->m->items, mark);
}

/* Tries the tokens of the mask that are also in `kind`, or all. */
static void try_tokens(token_filter *f, const uint32_t *kind)
{
    for (size_t i = 0; i < f->v->n_words; i++) {
        uint32_t bits = f->word[i] & (kind ? kind[i] : UINT32_MAX);
        for (uint32_t b = 0; bits != 0; b++, bits >>= 1)
            if (bits & 1)
                try_token(f, (uint32_t)(32 * i + b));
    }
}

/* Tries the tokens that a text begins with. */
static void try_prefixes(token_filter *f, vug_str text)
{
    const vug_token_trie *trie = f->v->groups->trie;
    const vug_token_trie_node *all = trie->node;
    uint32_t node = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint32_t child = all[node].child;
        while (child < all[node + 1].child && all[child].byte != (uint8_t)text.ptr[i])
            child++;
        if (child == all[node + 1].child)
            return;
        node = child;
        for (uint32_t t = all[node].first; t < all[node + 1].first; t++)
            try_token(f, (uint32_t)trie->id[t]);
    }
}

/* Tries the tokens that continue the current string as an earlier one. */
static void try_rests(token_filter *f)
{
    vug_buf copy = { 0 }; /* trying moves the strings */
    uint32_t next = 0;
    vug_str rest;
    while (vug_unique_items_next_rest(f->m->items, &next, &rest)) {
        copy.len = 0;
        vug_buf_append(&copy, rest.ptr, rest.len);
        try_prefixes(f, (vug_str){ copy.ptr, copy.len });
    }
    vug_buf_release(&copy);
}

/* The tokens of a mask, up to one more than `max`. */
static size_t count_tokens(const uint32_t *word, size_t n_words, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < n_words && n <= max; i++)
        for (uint32_t bits = word[i]; bits != 0; bits &= bits - 1)
            n++;
    return n;
}

vug_status vug_unique_exclude_tokens(const vug_unique_matcher *m, vug_stack_set at,
                                     vug_unique_vocabulary *v, uint32_t *word, vug_err *err)
{
    VUG_TRY(need_kinds(v, err));
    token_filter f = { .m = m, .v = v, .at = at, .word = word };
    const bool inside = vug_unique_items_inside(m->items);
    const size_t n = inside ? count_tokens(word, v->n_words, MAX_TRIED) : 0;
    f.exact = n <= MAX_EXACT;
    if (!inside) {
        try_tokens(&f, v->lists);
    } else if (!m->items->in_string || n <= MAX_TRIED) {
        try_tokens(&f, NULL);
    } else {
        try_tokens(&f, v->quoted);
        try_rests(&f);
    }
    const bool failed = f.bytes.bad || vug_unique_items_failed(m->items);
    vug_buf_release(&f.bytes);
    if (failed)
        return VUG_FAIL_NOMEM(err, "items of an array", m->items->text.len);
    return vug_grammar_matcher_stopped(m->matcher) ? vug_grammar_matcher_error(m->matcher, err)
                                                   : VUG_OK;
}
