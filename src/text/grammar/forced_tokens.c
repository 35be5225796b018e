#include "core/utf8.h"
#include "text/grammar/grammar_internal.h"
#include "text/text.h"

enum { MAX_FORCED = 1024 }; /* bytes to look ahead */

/* The only byte that may come next, or -1. */
static int only_next_byte(const vug_grammar_matcher *m, vug_stack_set at)
{
    const vug_automaton *a = m->a;
    int only = -1;
    size_t n;
    const uint32_t *frame = vug_stack_set_frames(m, at, &n);
    if (vug_stack_set_accepts(m, at))
        return -1;
    for (size_t i = 0; i < n; i++) {
        const vug_automaton_state *s = &a->state[vug_stack_frame_get(m, frame[i]).state];
        for (uint32_t e = s[0].edge; e < s[1].edge; e++) {
            const int byte = a->edge[e].from;
            if (a->edge[e].to != byte || (only >= 0 && only != byte))
                return -1;
            only = byte;
        }
    }
    return only;
}

/* Puts the bytes that must come, up to a complete character, into `bytes`. Returns the stacks
 * after them, or VUG_STACK_SET_FAILED. */
static vug_stack_set append_forced_bytes(vug_grammar_state *s)
{
    vug_stack_set at = s->at, complete = s->at;
    size_t n_complete = 0;
    s->bytes.len = 0;
    while (s->bytes.len < MAX_FORCED) {
        const int byte = only_next_byte(&s->matcher, at);
        if (byte < 0)
            break;
        const char c = (char)byte;
        vug_buf_append(&s->bytes, &c, 1);
        at = vug_grammar_matcher_step(&s->matcher, at, (uint8_t)byte);
        if (at == VUG_STACK_SET_FAILED)
            return at;
        size_t part = s->bytes.len - n_complete;
        if (part > 4 || !vug_utf8_incomplete(s->bytes.ptr + n_complete, part)) {
            n_complete = s->bytes.len;
            complete = at;
        }
    }
    s->bytes.len = n_complete;
    return complete;
}

/* Cuts `tokens`, those of `text`, to the prefix that they share with the tokens of its first
 * `n` bytes. */
static vug_status keep_common_prefix(const vug_tokenizer *t, vug_str text, size_t n,
                                     vug_tokens *tokens, vug_err *err)
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

/* The trie node of these bytes, or 0. */
static uint32_t find_trie_node(const vug_token_trie *trie, vug_str bytes)
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
 * Which tokens of the forced text are certain. The tokenizer encodes a text as a whole, so the
 * tokens of the forced text depend on what follows it: a token may begin in the forced text and
 * end after it. Suppose it begins at byte j. Then the bytes before j are encoded as they would
 * be alone, because in BPE a part of a text that begins and ends at token boundaries is encoded
 * as it would be alone. So the certain tokens are the common prefix of the tokens of the forced
 * text and of its first j bytes, for every possible j. j is possible if the bytes from j on are
 * the beginning of a token that continues as the grammar allows. The last token is dropped as
 * well, because pre-tokenizers look ahead, unless nothing may follow.
 *
 * A model trained on the tokenizer's output gives the remaining tokens all of its probability,
 * except for what it gives to other encodings of the same text and to texts that the grammar
 * forbids. The boundary before the forced text is no question: the previous token ended there.
 */
static vug_status keep_certain_tokens(vug_grammar_state *s, vug_stack_set end, vug_tokens *tokens,
                                      vug_err *err)
{
    const vug_mask_cache *cache = s->grammar->cache;
    const vug_str text = { s->bytes.ptr, s->bytes.len };
    size_t n_frames;
    (void)vug_stack_set_frames(&s->matcher, end, &n_frames);
    if (n_frames == 0)
        return VUG_OK;
    tokens->n -= tokens->n > 0;
    const size_t longest = cache->groups->trie->longest;
    for (size_t j = text.len > longest ? text.len - longest : 0; j < text.len && tokens->n; j++) {
        const uint32_t node = find_trie_node(cache->groups->trie, vug_str_from(text, j));
        bool continues = false;
        if (node)
            VUG_TRY(vug_token_mask_continues(cache, &s->matcher, end, node, &continues, err));
        if (continues)
            VUG_TRY(keep_common_prefix(s->grammar->tokenizer, text, j, tokens, err));
    }
    return VUG_OK;
}

/* False for tokenizers that add something before a text or change it: they get no forced tokens. */
static bool spells_text(const vug_tokenizer *t, const vug_tokens *tokens, vug_str text)
{
    vug_buf bytes = { 0 };
    bool same = true;
    for (size_t i = 0; i < tokens->n && same; i++)
        same = !vug_tokenizer_is_special(t, tokens->id[i]) &&
               vug_tokenizer_append_bytes(t, tokens->id[i], &bytes);
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
    VUG_TRY(vug_grammar_state_begin_call(s, err));
    const vug_stack_set end = append_forced_bytes(s);
    if (end == VUG_STACK_SET_FAILED)
        return vug_grammar_matcher_error(&s->matcher, err);
    VUG_TRY(vug_buf_ok(&s->bytes, err));
    if (s->bytes.len == 0)
        return VUG_OK;
    VUG_TRY(vug_tokenizer_encode(t, s->bytes.ptr, s->bytes.len, VUG_ENCODE_PLAIN, &tokens, err));
    vug_status st = VUG_OK;
    if (!spells_text(t, &tokens, (vug_str){ s->bytes.ptr, s->bytes.len }))
        tokens.n = 0;
    if (tokens.n > 0)
        st = keep_certain_tokens(s, end, &tokens, err);
    if (st == VUG_OK) {
        *n = tokens.n < cap ? tokens.n : cap;
        for (size_t i = 0; i < *n; i++)
            id[i] = tokens.id[i];
    }
    vug_tokens_release(&tokens);
    return st;
}
