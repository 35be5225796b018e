#include "engine/constraints.h"
#include "text/text.h"

vug_status vug_constraints_init(vug_constraints *c, const vug_generate_options *o,
                                const vug_model *model, vug_err *err)
{
    *c = (vug_constraints){ .model = model,
                            .parser = o->parser,
                            .thinking_left = o->thinking_budget ? o->thinking_budget : -1,
                            .may_stop = !o->ignore_stop };
    if (o->thinking_budget < 0 || (o->thinking_budget && !o->parser))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "thinking_budget: %d, expected 0 or more; a budget above 0 needs a "
                        "response parser",
                        o->thinking_budget);
    if (!o->grammar)
        return VUG_OK;
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, err);
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    const int64_t size = vug_tokenizer_size(tokenizer), rows = model->info.n_vocab;
    c->n_words = (size_t)((size > rows ? size : rows) + 31) / 32;
    c->allowed = vug_alloc_zero(c->n_words, sizeof(*c->allowed));
    vug_status st = VUG_OK;
    if (!c->allowed)
        st = VUG_FAIL_NOMEM(err, "the mask of a grammar", c->n_words * sizeof(*c->allowed));
    if (st == VUG_OK)
        st = vug_grammar_state_create(o->grammar, &c->state, err);
    if (st == VUG_OK)
        vug_grammar_state_set_cancel(c->state, o->cancel);
    else
        vug_constraints_release(c);
    return st;
}

void vug_constraints_release(vug_constraints *c)
{
    vug_grammar_state_destroy(c->state);
    vug_free(c->allowed);
    *c = (vug_constraints){ 0 };
}

/* Whether the next token is one of those that are forced together. */
static bool is_forced(const vug_constraints *c)
{
    return c->next < c->n_forced;
}

static bool is_thinking(const vug_constraints *c)
{
    return c->parser && vug_response_parser_is_thinking(c->parser);
}

/* The number of leading ids that the model has logits for: a tokenizer may have more tokens than
 * its model. */
static size_t count_known_ids(const vug_constraints *c, const int32_t *id, size_t n)
{
    size_t i = 0;
    while (i < n && id[i] < c->model->info.n_vocab)
        i++;
    return i;
}

/* Forces the tokens of `text`, which is or follows the end of the thinking. */
static vug_status force_text(vug_constraints *c, const char *text, vug_err *err)
{
    const vug_tokenizer *tokenizer = vug_model_tokenizer(c->model, err);
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    vug_tokens id;
    VUG_TRY(vug_tokenizer_encode(tokenizer, text, strlen(text), VUG_ENCODE_PARSE_SPECIAL, &id,
                                 err));
    vug_status st = VUG_OK;
    if (id.n == 0 || id.n > VUG_MAX_FORCED || count_known_ids(c, id.id, id.n) < id.n) {
        st = VUG_FAIL(err, VUG_UNSUPPORTED,
                      "the end of the thinking is %zu tokens, expected 1 to %d that the model "
                      "has",
                      id.n, VUG_MAX_FORCED);
    } else {
        memcpy(c->forced, id.id, id.n * sizeof(*id.id));
        c->n_forced = id.n;
        c->next = 0;
        c->closing = true;
    }
    vug_tokens_release(&id);
    return st;
}

/* The white space that the model was trained to write between thinking and content. The grammar
 * does not cover it. */
static const char *text_after_thinking(const vug_response_parser *parser)
{
    const char *end = vug_response_parser_thinking_end(parser), *at = end + strlen(end);
    while (at > end && (at[-1] == '\n' || at[-1] == ' '))
        at--;
    return at;
}

/* Forbids ids that the model has no logits for. Returns whether any other token is allowed. */
static bool has_allowed_token(vug_constraints *c)
{
    const size_t rows = (size_t)c->model->info.n_vocab;
    for (size_t i = rows / 32; i < c->n_words; i++)
        c->allowed[i] &= i > rows / 32 ? 0 : (UINT32_C(1) << rows % 32) - 1;
    for (size_t i = 0; i < c->n_words; i++) {
        if (c->allowed[i])
            return true;
    }
    return false;
}

static void allow_stops(vug_constraints *c)
{
    size_t n;
    const int32_t *stop = vug_model_stop_tokens(c->model, &n);
    for (size_t i = 0; i < n; i++) {
        if ((size_t)stop[i] / 32 < c->n_words)
            c->allowed[stop[i] / 32] |= 1u << (stop[i] % 32);
    }
}

static vug_status query_grammar(vug_constraints *c, vug_next_token *out, vug_err *err)
{
    c->next = 0;
    VUG_TRY(vug_grammar_forced(c->state, c->forced, VUG_MAX_FORCED, &c->n_forced, err));
    c->n_forced = count_known_ids(c, c->forced, c->n_forced);
    if (c->n_forced > 0) {
        out->forced = c->forced[0];
        return VUG_OK;
    }
    VUG_TRY(vug_grammar_mask(c->state, c->allowed, c->n_words, err));
    const bool may_end = vug_grammar_may_end(c->state);
    if (!has_allowed_token(c)) {
        out->ended = may_end;
        return may_end ? VUG_OK
                       : VUG_FAIL(err, VUG_UNSUPPORTED,
                                  "the model has no token for the text that the grammar requires");
    }
    if (may_end && c->may_stop)
        allow_stops(c);
    out->allowed = c->allowed;
    return VUG_OK;
}

static vug_status find_next(vug_constraints *c, vug_next_token *out, vug_err *err)
{
    *out = (vug_next_token){ .forced = -1 };
    if (!is_forced(c) && is_thinking(c) && c->thinking_left == 0)
        VUG_TRY(force_text(c, vug_response_parser_thinking_end(c->parser), err));
    if (is_forced(c))
        out->forced = c->forced[c->next];
    else if (c->state && !is_thinking(c))
        return query_grammar(c, out, err);
    return VUG_OK;
}

vug_status vug_constraints_next(vug_constraints *c, vug_next_token *out, vug_err *err)
{
    if (!c->is_found)
        VUG_TRY(find_next(c, &c->found, err));
    c->is_found = true;
    *out = c->found;
    return VUG_OK;
}

vug_status vug_constraints_on_stop(vug_constraints *c, bool *stops, vug_err *err)
{
    c->is_found = false;
    *stops = !c->state || !is_thinking(c) || vug_grammar_may_end(c->state);
    return *stops ? VUG_OK : force_text(c, vug_response_parser_thinking_end(c->parser), err);
}

vug_status vug_constraints_accept(vug_constraints *c, int32_t id, vug_err *err)
{
    const bool thinking = is_thinking(c);
    c->is_found = false;
    if (is_forced(c))
        c->next++;
    if (thinking && c->thinking_left > 0)
        c->thinking_left--;
    if (c->state && !thinking && !c->closing)
        VUG_TRY(vug_grammar_accept(c->state, id, err));
    c->closing = c->closing && is_forced(c);
    if (!c->parser)
        return VUG_OK;
    VUG_TRY(vug_response_parser_push(c->parser, id, err));
    if (c->state && thinking && !is_thinking(c) && !c->closing && *text_after_thinking(c->parser))
        return force_text(c, text_after_thinking(c->parser), err);
    return VUG_OK;
}
