#include "text/grammar/grammar.h"

#include "core/text.h"
#include "text/grammar/mask.h"
#include "text/text.h"

/*
 * A grammar for one vocabulary, and where a text stands in it.
 *
 *     text ─► rules ─► automaton ─┐
 *                                 ├─► walk ─► mask
 *     tokenizer ─► tree of tokens ┘
 */

enum {
    RECENT = 8,          /* whole masks that a text remembers: of strings, token by token */
    MAX_FORCED = 1024,   /* bytes that are looked ahead */
    MAX_TEXT = 16 << 20, /* bytes of a grammar */
};

struct vug_grammar {
    const vug_tokenizer *tokenizer;
    vug_automaton *automaton;
    vug_mask_cache *cache;
};

struct vug_grammar_state {
    const vug_grammar *grammar;
    vug_walk walk;
    vug_place at; /* VUG_PLACE_UNKNOWN: at the beginning, to be looked up */
    bool may_end, empty_may_end;
    vug_buf bytes;           /* of a token, or of what is forced */
    uint32_t *recent;        /* [RECENT, n_words] */
    vug_place place[RECENT]; /* whose masks they are; VUG_PLACE_DEAD: of none */
    size_t oldest;
};

/* ---- grammars ------------------------------------------------------------------ */

vug_status vug_grammar_read(vug_rules *rules, vug_grammar_kind kind, vug_str text, vug_node *root,
                            vug_err *err)
{
    switch (kind) {
    case VUG_GRAMMAR_JSON:
        return vug_rules_schema(rules, vug_str_of("{\"type\":\"object\"}"), root, err);
    case VUG_GRAMMAR_SCHEMA:
        return vug_rules_schema(rules, text, root, err);
    case VUG_GRAMMAR_REGEX:
        return vug_rules_regex(rules, text, root, err);
    case VUG_GRAMMAR_GBNF:
        return vug_rules_gbnf(rules, text, root, err);
    }
    return VUG_FAIL(err, VUG_ARGUMENT, "a grammar of the kind %d, expected a vug_grammar_kind",
                    (int)kind);
}

/* Destroyed by the caller after a failure. */
static vug_status fill(vug_grammar *g, const vug_rules *rules, vug_node root, vug_err *err)
{
    const vug_trie *trie = NULL;
    VUG_TRY(vug_automaton_create(rules, root, &g->automaton, err));
    VUG_TRY(vug_trie_of(g->tokenizer, &trie, err));
    g->cache = vug_alloc_zero(1, sizeof(*g->cache));
    if (!g->cache)
        return VUG_FAIL_NOMEM(err, "a grammar", sizeof(*g->cache));
    const size_t n_words = ((size_t)vug_tokenizer_size(g->tokenizer) + 31) / 32;
    return vug_mask_cache_init(g->cache, trie, n_words, err);
}

vug_status vug_grammar_over(const vug_rules *rules, vug_node root, const vug_tokenizer *tokenizer,
                            vug_grammar **out, vug_err *err)
{
    vug_grammar *g = vug_alloc_zero(1, sizeof(*g));
    if (!g)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: a grammar");
    g->tokenizer = tokenizer;
    const vug_status st = fill(g, rules, root, err);
    if (st == VUG_OK)
        *out = g;
    else
        vug_grammar_destroy(g);
    return st;
}

vug_status vug_grammar_create(vug_grammar_kind kind, const char *text, size_t len,
                              const vug_tokenizer *tokenizer, vug_grammar **out, vug_err *err)
{
    vug_node root = VUG_NODE_EMPTY;
    if (len > MAX_TEXT)
        return VUG_FAIL(err, VUG_LIMIT, "a grammar of %zu bytes, at most %d are read", len,
                        MAX_TEXT);
    vug_rules *rules = vug_rules_create();
    if (!rules)
        return VUG_FAIL(err, VUG_NOMEM, "out of memory: a grammar");
    vug_status st = vug_grammar_read(rules, kind, (vug_str){ text, len }, &root, err);
    if (st == VUG_OK) {
        st = vug_grammar_over(rules, root, tokenizer, out, err);
        /* What a schema says is named so when it is read. */
        if (st != VUG_OK && kind == VUG_GRAMMAR_SCHEMA)
            st = vug_fail_within(err, st, "schema");
    }
    vug_rules_destroy(rules);
    return st;
}

void vug_grammar_destroy(vug_grammar *g)
{
    if (!g)
        return;
    if (g->cache && g->cache->lock)
        vug_mask_cache_release(g->cache);
    vug_free(g->cache);
    vug_automaton_destroy(g->automaton);
    vug_free(g);
}

size_t vug_grammar_bytes(const vug_grammar *g)
{
    const vug_automaton *a = g->automaton;
    return sizeof(*g) + sizeof(*g->cache) + sizeof(*a) + (a->n_states + 1) * sizeof(*a->state) +
           a->n_edges * sizeof(*a->edge) + a->n_calls * sizeof(*a->call) +
           a->n_rules * sizeof(*a->rule) + vug_mask_cache_bytes(g->cache);
}

/* ---- where a text stands ---------------------------------------------------------- */

/* What every call begins with that walks. */
static vug_status begin(vug_grammar_state *s, vug_err *err)
{
    bool forgotten = false;
    vug_place at = s->at == VUG_PLACE_UNKNOWN ? VUG_PLACE_DEAD : s->at;
    VUG_TRY(vug_walk_begin(&s->walk, &at, &forgotten, err));
    for (size_t i = 0; i < RECENT && forgotten; i++)
        s->place[i] = VUG_PLACE_DEAD;
    if (s->at == VUG_PLACE_UNKNOWN)
        at = vug_walk_start(&s->walk);
    if (at == VUG_PLACE_FAILED)
        return vug_walk_why(&s->walk, err);
    s->at = at;
    s->may_end = vug_place_done(&s->walk, at);
    return VUG_OK;
}

static vug_status init(vug_grammar_state *s, vug_err *err)
{
    const size_t n_words = s->grammar->cache->n_words;
    VUG_TRY(vug_walk_init(&s->walk, s->grammar->automaton, err));
    s->recent = vug_alloc(RECENT * n_words + 1, sizeof(*s->recent));
    if (!s->recent)
        return VUG_FAIL_NOMEM(err, "masks of tokens", RECENT * n_words * sizeof(*s->recent));
    VUG_TRY(begin(s, err));
    s->empty_may_end = s->may_end;
    return VUG_OK;
}

vug_status vug_grammar_start(const vug_grammar *g, vug_grammar_state **out, vug_err *err)
{
    vug_grammar_state *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "a text under a grammar", sizeof(*s));
    s->grammar = g;
    s->at = VUG_PLACE_UNKNOWN;
    const vug_status st = init(s, err);
    if (st != VUG_OK) {
        vug_grammar_state_destroy(s);
        return st;
    }
    *out = s;
    return VUG_OK;
}

void vug_grammar_state_destroy(vug_grammar_state *s)
{
    if (!s)
        return;
    vug_walk_release(&s->walk);
    vug_buf_release(&s->bytes);
    vug_free(s->recent);
    vug_free(s);
}

void vug_grammar_heed(vug_grammar_state *s, const atomic_bool *cancel)
{
    s->walk.cancel = cancel;
}

void vug_grammar_restart(vug_grammar_state *s)
{
    s->at = VUG_PLACE_UNKNOWN;
    s->may_end = s->empty_may_end;
}

bool vug_grammar_may_end(const vug_grammar_state *s)
{
    return s->may_end;
}

vug_status vug_grammar_mask(vug_grammar_state *s, uint32_t *word, size_t n_words, vug_err *err)
{
    vug_mask_cache *cache = s->grammar->cache;
    const size_t n = cache->n_words;
    if (n_words < n)
        return VUG_FAIL(err, VUG_ARGUMENT, "a mask of %zu words, the vocabulary has %zu", n_words,
                        n);
    VUG_TRY(begin(s, err));
    size_t i = 0;
    while (i < RECENT && s->place[i] != s->at)
        i++;
    if (i == RECENT) {
        i = s->oldest;
        s->place[i] = VUG_PLACE_DEAD;
        VUG_TRY(vug_mask_fill(cache, &s->walk, s->at, s->recent + i * n, err));
        s->place[i] = s->at;
        s->oldest = (i + 1) % RECENT;
    }
    if (n > 0)
        memcpy(word, s->recent + i * n, n * sizeof(*word));
    memset(word + n, 0, (n_words - n) * sizeof(*word));
    return VUG_OK;
}

/* Where the bytes lead from `at`. */
static vug_place walk_bytes(vug_grammar_state *s, vug_place at, vug_str bytes)
{
    for (size_t i = 0; i < bytes.len && at != VUG_PLACE_DEAD && at != VUG_PLACE_FAILED; i++)
        at = vug_walk_step(&s->walk, at, (uint8_t)bytes.ptr[i]);
    return at;
}

/* A token that the grammar names is that, where its letters would do as well. */
static vug_place walk_itself(vug_grammar_state *s, int32_t id)
{
    s->bytes.len = 0;
    if (!vug_token_itself(s->grammar->tokenizer, id, &s->bytes) || s->bytes.bad)
        return VUG_PLACE_DEAD;
    return walk_bytes(s, s->at, (vug_str){ s->bytes.ptr, s->bytes.len });
}

vug_status vug_grammar_accept(vug_grammar_state *s, int32_t id, vug_err *err)
{
    const vug_tokenizer *tokenizer = s->grammar->tokenizer;
    VUG_TRY(begin(s, err));
    vug_place to = walk_itself(s, id);
    if (to == VUG_PLACE_DEAD) {
        s->bytes.len = 0;
        const bool text = id >= 0 && !vug_token_is_special(tokenizer, id) &&
                          vug_token_bytes(tokenizer, id, &s->bytes) && s->bytes.len > 0;
        VUG_TRY(vug_buf_ok(&s->bytes, err));
        if (!text)
            return VUG_FAIL(err, VUG_ARGUMENT, "token %d is no text, and not named by the grammar",
                            (int)id);
        to = walk_bytes(s, s->at, (vug_str){ s->bytes.ptr, s->bytes.len });
    }
    if (to == VUG_PLACE_FAILED)
        return vug_walk_why(&s->walk, err);
    if (to == VUG_PLACE_DEAD)
        return VUG_FAIL(err, VUG_ARGUMENT, "token %d, '%.*s', may not come here by the grammar",
                        (int)id, VUG_STR_ARG(((vug_str){ s->bytes.ptr, s->bytes.len })));
    s->at = to;
    s->may_end = vug_place_done(&s->walk, to);
    return VUG_OK;
}

/* ---- what comes whatever the model thinks ------------------------------------------- */

/* The only byte that may come, or -1. */
static int only_byte(const vug_walk *w, vug_place at)
{
    const vug_automaton *a = w->a;
    int only = -1;
    size_t n;
    const uint32_t *frame = vug_place_frames(w, at, &n);
    if (vug_place_done(w, at))
        return -1;
    for (size_t i = 0; i < n; i++) {
        const vug_automaton_state *s = &a->state[vug_frame_of(w, frame[i]).state];
        for (uint32_t e = s[0].edge; e < s[1].edge; e++) {
            const int byte = a->edge[e].from;
            if (a->edge[e].to != byte || (only >= 0 && only != byte))
                return -1;
            only = byte;
        }
    }
    return only;
}

/* Puts the bytes that must come, up to a whole character, into the state; gives where they
 * lead, or VUG_PLACE_FAILED. */
static vug_place forced_bytes(vug_grammar_state *s)
{
    vug_place at = s->at, whole = s->at;
    size_t n_whole = 0;
    s->bytes.len = 0;
    while (s->bytes.len < MAX_FORCED) {
        const int byte = only_byte(&s->walk, at);
        if (byte < 0)
            break;
        const char c = (char)byte;
        vug_buf_append(&s->bytes, &c, 1);
        at = vug_walk_step(&s->walk, at, (uint8_t)byte);
        if (at == VUG_PLACE_FAILED)
            return at;
        size_t part = s->bytes.len - n_whole;
        if (part > 4 || !vug_utf8_incomplete(s->bytes.ptr + n_whole, part)) {
            n_whole = s->bytes.len;
            whole = at;
        }
    }
    s->bytes.len = n_whole;
    return whole;
}

/* Leaves of the tokens of `text` those with which the tokens of its first `n` bytes begin, too. */
static vug_status keep_common(const vug_tokenizer *t, vug_str text, size_t n, vug_tokens *tokens,
                              vug_err *err)
{
    vug_tokens part = { 0 };
    VUG_TRY(vug_tokenizer_encode(t, text.ptr, n, VUG_ENCODE_PLAIN, &part, err));
    size_t same = 0;
    while (same < part.n && same < tokens->n && part.id[same] == tokens->id[same])
        same++;
    tokens->n = same;
    vug_tokens_release(&part);
    return VUG_OK;
}

/* The node of the tree with these bytes, or 0. */
static uint32_t find_node(const vug_trie *trie, vug_str bytes)
{
    uint32_t node = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        uint32_t child = trie->node[node].child;
        const uint32_t end = trie->node[node + 1].child;
        while (child < end && trie->node[child].byte != (uint8_t)bytes.ptr[i])
            child++;
        if (child == end)
            return 0;
        node = child;
    }
    return node;
}

/*
 * Which tokens of the forced text are certain. The tokenizer writes what it has to write
 * as a whole, and its tokens depend on what follows: a token may begin in the forced text
 * and end behind it. Let it begin at byte j: then the bytes before j are written as they
 * are written alone, since a part of a BPE text that begins and ends between tokens is
 * written as it is alone. So what is certain are the tokens that the text and all these
 * beginnings of it have in common. j is possible where the bytes from j on are the
 * beginning of a token that goes on as the grammar allows. The last token goes as well,
 * for pre-tokenizers that look ahead, unless nothing may follow.
 *
 * A model that was trained on what the tokenizer writes gives the tokens that are left
 * all its probability, but for what it gives to texts that are written otherwise or that
 * the grammar does not allow. Before the forced text there is no question: that boundary
 * was drawn by the token which came before.
 */
static vug_status keep_certain(vug_grammar_state *s, vug_place end, vug_tokens *tokens,
                               vug_err *err)
{
    const vug_mask_cache *cache = s->grammar->cache;
    const vug_str text = { s->bytes.ptr, s->bytes.len };
    size_t n_frames;
    (void)vug_place_frames(&s->walk, end, &n_frames);
    if (n_frames == 0)
        return VUG_OK;
    tokens->n -= tokens->n > 0;
    const size_t longest = cache->trie->longest;
    for (size_t j = text.len > longest ? text.len - longest : 0; j < text.len && tokens->n; j++) {
        const uint32_t node = find_node(cache->trie, vug_str_from(text, j));
        bool goes_on = false;
        if (node)
            VUG_TRY(vug_mask_goes_on(cache, &s->walk, end, node, &goes_on, err));
        if (goes_on)
            VUG_TRY(keep_common(s->grammar->tokenizer, text, j, tokens, err));
    }
    return VUG_OK;
}

/* Tokenizers that put something before a text, or write it otherwise, are left alone. */
static bool spells(const vug_tokenizer *t, const vug_tokens *tokens, vug_str text)
{
    vug_buf bytes = { 0 };
    bool same = true;
    for (size_t i = 0; i < tokens->n && same; i++)
        same = !vug_token_is_special(t, tokens->id[i]) && vug_token_bytes(t, tokens->id[i], &bytes);
    same = same && !bytes.bad && vug_str_equal((vug_str){ bytes.ptr, bytes.len }, text);
    vug_buf_release(&bytes);
    return same;
}

vug_status vug_grammar_forced(vug_grammar_state *s, int32_t *id, size_t cap, size_t *n,
                              vug_err *err)
{
    const vug_tokenizer *t = s->grammar->tokenizer;
    vug_tokens tokens = { 0 };
    *n = 0;
    VUG_TRY(begin(s, err));
    const vug_place end = forced_bytes(s);
    if (end == VUG_PLACE_FAILED)
        return vug_walk_why(&s->walk, err);
    VUG_TRY(vug_buf_ok(&s->bytes, err));
    if (s->bytes.len == 0)
        return VUG_OK;
    VUG_TRY(vug_tokenizer_encode(t, s->bytes.ptr, s->bytes.len, VUG_ENCODE_PLAIN, &tokens, err));
    vug_status st = VUG_OK;
    if (!spells(t, &tokens, (vug_str){ s->bytes.ptr, s->bytes.len }))
        tokens.n = 0;
    if (tokens.n > 0)
        st = keep_certain(s, end, &tokens, err);
    if (st == VUG_OK) {
        *n = tokens.n < cap ? tokens.n : cap;
        for (size_t i = 0; i < *n; i++)
            id[i] = tokens.id[i];
    }
    vug_tokens_release(&tokens);
    return st;
}
