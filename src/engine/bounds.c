/* Bounds of an answer: tokens that a grammar forbids or forces, thinking that is closed when
 * its budget is spent. */
#include "engine/sampler.h"

enum { MOST_FORCED = 256 }; /* tokens, asked for at once */

vug_status vug_bounds_init(vug_bounds *b, const vug_generate_options *o, const vug_model *model,
                           vug_err *err)
{
    *b = (vug_bounds){ .model = model,
                       .reply = o->reply,
                       .thinking_left = o->thinking_budget ? o->thinking_budget : -1,
                       .may_stop = !o->ignore_stop };
    if (o->thinking_budget < 0 || (o->thinking_budget && !o->reply))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "thinking_budget: %d, expected 0 or more, and above 0 a reply that tells "
                        "thinking from content",
                        o->thinking_budget);
    if (!o->grammar)
        return VUG_OK;
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, err);
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    const int64_t size = vug_tokenizer_size(tokenizer), rows = model->info.n_vocab;
    b->n_words = (size_t)((size > rows ? size : rows) + 31) / 32;
    b->allowed = vug_alloc_zero(b->n_words, sizeof(*b->allowed));
    b->forced.id = vug_alloc(MOST_FORCED, sizeof(*b->forced.id));
    vug_status st = VUG_OK;
    if (!b->allowed || !b->forced.id)
        st = VUG_FAIL_NOMEM(err, "the mask of a grammar", b->n_words * sizeof(*b->allowed));
    if (st == VUG_OK)
        st = vug_grammar_start(o->grammar, &b->state, err);
    if (st != VUG_OK)
        vug_bounds_release(b);
    return st;
}

void vug_bounds_release(vug_bounds *b)
{
    vug_grammar_state_destroy(b->state);
    vug_free(b->allowed);
    vug_tokens_release(&b->forced);
    *b = (vug_bounds){ 0 };
}

static bool is_thinking(const vug_bounds *b)
{
    return b->reply && vug_reply_is_thinking(b->reply);
}

/* The text that closes the thinking becomes the tokens that come next. */
static vug_status close_thinking(vug_bounds *b, vug_err *err)
{
    const vug_chat *chat = vug_model_chat(b->model, err);
    const vug_tokenizer *tokenizer = vug_model_tokenizer(b->model, err);
    if (!chat || !tokenizer)
        return VUG_UNSUPPORTED;
    const char *end = vug_chat_thinking_end(chat);
    vug_tokens_release(&b->forced);
    b->next = 0;
    return vug_tokenizer_encode(tokenizer, end, strlen(end), VUG_ENCODE_PARSE_SPECIAL, &b->forced,
                                err);
}

static bool any(const vug_bounds *b)
{
    for (size_t i = 0; i < b->n_words; i++) {
        if (b->allowed[i])
            return true;
    }
    return false;
}

static void allow_stops(vug_bounds *b)
{
    size_t n;
    const int32_t *stop = vug_model_stop_tokens(b->model, &n);
    for (size_t i = 0; i < n; i++) {
        if ((size_t)stop[i] / 32 < b->n_words)
            b->allowed[stop[i] / 32] |= 1u << (stop[i] % 32);
    }
}

static vug_status ask_grammar(vug_bounds *b, vug_next *out, vug_err *err)
{
    b->next = 0;
    VUG_TRY(vug_grammar_forced(b->state, b->forced.id, MOST_FORCED, &b->forced.n, err));
    if (b->forced.n > 0) {
        out->forced = b->forced.id[0];
        return VUG_OK;
    }
    VUG_TRY(vug_grammar_mask(b->state, b->allowed, b->n_words, err));
    const bool may_end = vug_grammar_may_end(b->state);
    if (!any(b)) {
        out->ended = may_end;
        return may_end ? VUG_OK
                       : VUG_FAIL(err, VUG_UNSUPPORTED,
                                  "the grammar wants text for which the tokenizer has no token");
    }
    if (may_end && b->may_stop)
        allow_stops(b);
    out->allowed = b->allowed;
    return VUG_OK;
}

vug_status vug_bounds_next(vug_bounds *b, vug_next *out, vug_err *err)
{
    *out = (vug_next){ .forced = -1 };
    if (!vug_bounds_is_forced(b) && is_thinking(b) && b->thinking_left == 0)
        VUG_TRY(close_thinking(b, err));
    if (vug_bounds_is_forced(b))
        out->forced = b->forced.id[b->next];
    else if (b->state && !is_thinking(b))
        return ask_grammar(b, out, err);
    return VUG_OK;
}

vug_status vug_bounds_take(vug_bounds *b, int32_t id, vug_err *err)
{
    const bool thinking = is_thinking(b);
    if (vug_bounds_is_forced(b))
        b->next++;
    if (thinking && b->thinking_left > 0)
        b->thinking_left--;
    if (b->state && !thinking)
        VUG_TRY(vug_grammar_accept(b->state, id, err));
    return b->reply ? vug_reply_push(b->reply, id, err) : VUG_OK;
}
