#include "text/grammar/grammar_internal.h"
#include "text/text.h"

vug_status vug_grammar_state_begin_call(vug_grammar_state *s, vug_err *err)
{
    bool forgotten = false;
    vug_stack_set at = s->at == VUG_STACK_SET_UNKNOWN ? VUG_STACK_SET_DEAD : s->at;
    VUG_TRY(vug_grammar_matcher_begin_call(&s->matcher, &at, &forgotten, err));
    for (size_t i = 0; i < VUG_GRAMMAR_RECENT_MASKS && forgotten; i++)
        s->recent_of[i] = VUG_STACK_SET_DEAD;
    if (s->at == VUG_STACK_SET_UNKNOWN)
        at = vug_grammar_matcher_start(&s->matcher);
    if (at == VUG_STACK_SET_FAILED)
        return vug_grammar_matcher_error(&s->matcher, err);
    s->at = at;
    s->may_end = vug_stack_set_accepts(&s->matcher, at);
    return VUG_OK;
}

static vug_status init_state(vug_grammar_state *s, vug_err *err)
{
    const size_t n_words = s->grammar->cache->n_words;
    VUG_TRY(vug_grammar_matcher_init(&s->matcher, s->grammar->automaton, err));
    s->recent = vug_alloc(VUG_GRAMMAR_RECENT_MASKS * n_words + 1, sizeof(*s->recent));
    if (!s->recent)
        return VUG_FAIL_NOMEM(err, "token masks",
                              VUG_GRAMMAR_RECENT_MASKS * n_words * sizeof(*s->recent));
    VUG_TRY(vug_grammar_state_begin_call(s, err));
    s->empty_may_end = s->may_end;
    return VUG_OK;
}

vug_status vug_grammar_state_create(const vug_grammar *g, vug_grammar_state **out, vug_err *err)
{
    vug_grammar_state *s = vug_alloc_zero(1, sizeof(*s));
    if (!s)
        return VUG_FAIL_NOMEM(err, "the state of a grammar", sizeof(*s));
    s->grammar = g;
    s->at = VUG_STACK_SET_UNKNOWN;
    const vug_status st = init_state(s, err);
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
    vug_grammar_matcher_release(&s->matcher);
    vug_buf_release(&s->bytes);
    vug_unique_items_release(&s->unique);
    vug_free(s->recent);
    vug_free(s);
}

void vug_grammar_state_set_cancel(vug_grammar_state *s, const vug_cancel_token *cancel)
{
    s->matcher.cancel = cancel;
}

void vug_grammar_state_reset(vug_grammar_state *s)
{
    s->at = VUG_STACK_SET_UNKNOWN;
    s->may_end = s->empty_may_end;
    vug_unique_items_clear(&s->unique);
}

bool vug_grammar_may_end(const vug_grammar_state *s)
{
    return s->may_end;
}

/* Removes the tokens that repeat items. They depend on the text, so the mask that is kept has them. */
static vug_status exclude_repeating(vug_grammar_state *s, uint32_t *word, vug_err *err)
{
    const vug_unique_matcher m = { &s->matcher, &s->unique };
    return vug_unique_exclude_tokens(&m, s->at, s->grammar->vocabulary, word, err);
}

vug_status vug_grammar_mask(vug_grammar_state *s, uint32_t *word, size_t n_words, vug_err *err)
{
    vug_mask_cache *cache = s->grammar->cache;
    const size_t n = cache->n_words;
    if (n_words < n)
        return VUG_FAIL(err, VUG_ARGUMENT, "a mask of %zu words, the vocabulary has %zu", n_words,
                        n);
    VUG_TRY(vug_grammar_state_begin_call(s, err));
    size_t i = 0;
    while (i < VUG_GRAMMAR_RECENT_MASKS && s->recent_of[i] != s->at)
        i++;
    if (i == VUG_GRAMMAR_RECENT_MASKS) {
        i = s->oldest;
        s->recent_of[i] = VUG_STACK_SET_DEAD;
        VUG_TRY(vug_token_mask_fill(cache, &s->matcher, s->at, s->recent + i * n, err));
        s->recent_of[i] = s->at;
        s->oldest = (i + 1) % VUG_GRAMMAR_RECENT_MASKS;
    }
    if (n > 0)
        memcpy(word, s->recent + i * n, n * sizeof(*word));
    memset(word + n, 0, (n_words - n) * sizeof(*word));
    return s->matcher.a->has_unique_items && n > 0 ? exclude_repeating(s, word, err) : VUG_OK;
}

/* The stacks after the bytes. */
static vug_stack_set match_bytes(vug_grammar_state *s, vug_stack_set at, vug_str bytes)
{
    const vug_unique_matcher m = { &s->matcher, &s->unique };
    if (s->matcher.a->has_unique_items) {
        const vug_unique_mark mark = vug_unique_items_mark(&s->unique);
        at = vug_unique_match(&m, at, bytes, NULL);
        if (at != VUG_STACK_SET_DEAD && at != VUG_STACK_SET_FAILED &&
            !vug_unique_can_differ(&m, at))
            at = VUG_STACK_SET_DEAD;
        if (at == VUG_STACK_SET_DEAD || at == VUG_STACK_SET_FAILED)
            vug_unique_items_return(&s->unique, mark);
        else
            vug_unique_items_drop(&s->unique, mark);
        return at;
    }
    for (size_t i = 0; i < bytes.len && at != VUG_STACK_SET_DEAD && at != VUG_STACK_SET_FAILED; i++)
        at = vug_grammar_matcher_step(&s->matcher, at, (uint8_t)bytes.ptr[i]);
    return at;
}

/* A token that the grammar names takes precedence over its text. */
static vug_stack_set match_marked(vug_grammar_state *s, int32_t id)
{
    s->bytes.len = 0;
    if (!vug_token_marked_bytes(s->grammar->tokenizer, id, &s->bytes) || s->bytes.bad)
        return VUG_STACK_SET_DEAD;
    return match_bytes(s, s->at, (vug_str){ s->bytes.ptr, s->bytes.len });
}

vug_status vug_grammar_accept(vug_grammar_state *s, int32_t id, vug_err *err)
{
    const vug_tokenizer *tokenizer = s->grammar->tokenizer;
    VUG_TRY(vug_grammar_state_begin_call(s, err));
    vug_stack_set to = match_marked(s, id);
    if (to == VUG_STACK_SET_DEAD) {
        s->bytes.len = 0;
        const bool is_text = id >= 0 && !vug_tokenizer_is_special(tokenizer, id) &&
                             vug_tokenizer_append_bytes(tokenizer, id, &s->bytes) &&
                             s->bytes.len > 0;
        VUG_TRY(vug_buf_ok(&s->bytes, err));
        if (!is_text)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "token %d is not text, and the grammar does not name it", (int)id);
        to = match_bytes(s, s->at, (vug_str){ s->bytes.ptr, s->bytes.len });
    }
    if (to == VUG_STACK_SET_FAILED)
        return vug_grammar_matcher_error(&s->matcher, err);
    if (vug_unique_items_failed(&s->unique))
        return VUG_FAIL_NOMEM(err, "items of an array", s->unique.text.len);
    if (to == VUG_STACK_SET_DEAD)
        return VUG_FAIL(err, VUG_ARGUMENT, "the grammar does not allow token %d, '%.*s', here",
                        (int)id, VUG_STR_ARG(((vug_str){ s->bytes.ptr, s->bytes.len })));
    s->at = to;
    s->may_end = vug_stack_set_accepts(&s->matcher, to);
    return VUG_OK;
}
