/* Bounds of an answer: tokens that a grammar forbids or forces, thinking that is closed when
 * its budget is spent. */
#include "engine/sampler.h"
#include "text/text.h"

vug_status vug_bounds_init(vug_bounds *b, const vug_generate_options *o, const vug_session *session,
                           vug_err *err)
{
    const vug_model *model = session->model;
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
    vug_status st = VUG_OK;
    if (!b->allowed)
        st = VUG_FAIL_NOMEM(err, "the mask of a grammar", b->n_words * sizeof(*b->allowed));
    if (st == VUG_OK)
        st = vug_grammar_start(o->grammar, &b->state, err);
    if (st == VUG_OK)
        vug_grammar_heed(b->state, &session->cancel);
    else
        vug_bounds_release(b);
    return st;
}

void vug_bounds_release(vug_bounds *b)
{
    vug_grammar_state_destroy(b->state);
    vug_free(b->allowed);
    *b = (vug_bounds){ 0 };
}

static bool is_thinking(const vug_bounds *b)
{
    return b->reply && vug_reply_is_thinking(b->reply);
}

/* How many of the ids, from the first on, the model has rows for: a checkpoint's tokenizer may
 * know more tokens than its model. */
static size_t known(const vug_bounds *b, const int32_t *id, size_t n)
{
    size_t i = 0;
    while (i < n && id[i] < b->model->info.n_vocab)
        i++;
    return i;
}

/* `text`, of what closes the thinking, becomes the tokens that come next. */
static vug_status force(vug_bounds *b, const char *text, vug_err *err)
{
    const vug_tokenizer *tokenizer = vug_model_tokenizer(b->model, err);
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    vug_tokens id;
    VUG_TRY(vug_tokenizer_encode(tokenizer, text, strlen(text), VUG_ENCODE_PARSE_SPECIAL, &id,
                                 err));
    vug_status st = VUG_OK;
    if (id.n == 0 || id.n > VUG_MOST_FORCED || known(b, id.id, id.n) < id.n) {
        st = VUG_FAIL(err, VUG_UNSUPPORTED,
                      "what ends the thinking is %zu tokens, expected 1 to %d, and such as the "
                      "model has",
                      id.n, VUG_MOST_FORCED);
    } else {
        memcpy(b->forced, id.id, id.n * sizeof(*id.id));
        b->n_forced = id.n;
        b->next = 0;
        b->closing = true;
    }
    vug_tokens_release(&id);
    return st;
}

/* What the model was trained to write between the thinking that it has ended by itself and
 * the content: no part of the grammar's text. */
static const char *gap(const vug_reply *reply)
{
    const char *end = vug_reply_thinking_end(reply), *at = end + strlen(end);
    while (at > end && (at[-1] == '\n' || at[-1] == ' '))
        at--;
    return at;
}

/* Whether one of the tokens that the model has is allowed; of others no more is said. */
static bool any(vug_bounds *b)
{
    const size_t rows = (size_t)b->model->info.n_vocab;
    for (size_t i = rows / 32; i < b->n_words; i++)
        b->allowed[i] &= i > rows / 32 ? 0 : (UINT32_C(1) << rows % 32) - 1;
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
    VUG_TRY(vug_grammar_forced(b->state, b->forced, VUG_MOST_FORCED, &b->n_forced, err));
    b->n_forced = known(b, b->forced, b->n_forced);
    if (b->n_forced > 0) {
        out->forced = b->forced[0];
        return VUG_OK;
    }
    VUG_TRY(vug_grammar_mask(b->state, b->allowed, b->n_words, err));
    const bool may_end = vug_grammar_may_end(b->state);
    if (!any(b)) {
        out->ended = may_end;
        return may_end ? VUG_OK
                       : VUG_FAIL(err, VUG_UNSUPPORTED,
                                  "the grammar wants text for which the model has no token");
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
        VUG_TRY(force(b, vug_reply_thinking_end(b->reply), err));
    if (vug_bounds_is_forced(b))
        out->forced = b->forced[b->next];
    else if (b->state && !is_thinking(b))
        return ask_grammar(b, out, err);
    return VUG_OK;
}

vug_status vug_bounds_stop(vug_bounds *b, bool *stops, vug_err *err)
{
    *stops = !b->state || !is_thinking(b) || vug_grammar_may_end(b->state);
    return *stops ? VUG_OK : force(b, vug_reply_thinking_end(b->reply), err);
}

vug_status vug_bounds_take(vug_bounds *b, int32_t id, vug_err *err)
{
    const bool thinking = is_thinking(b);
    if (vug_bounds_is_forced(b))
        b->next++;
    if (thinking && b->thinking_left > 0)
        b->thinking_left--;
    if (b->state && !thinking && !b->closing)
        VUG_TRY(vug_grammar_accept(b->state, id, err));
    b->closing = b->closing && vug_bounds_is_forced(b);
    if (!b->reply)
        return VUG_OK;
    VUG_TRY(vug_reply_push(b->reply, id, err));
    if (b->state && thinking && !is_thinking(b) && !b->closing && *gap(b->reply))
        return force(b, gap(b->reply), err);
    return VUG_OK;
}
