/* Generation: sampling a token, decoding it, extending the session, until
 * something ends it. */
#include "engine/sampler.h"

/* Tokens at a prompt's end which open the answer, as every template has fewer: prompts that go on
 * from there may have others in their place. */
enum { OPENING = 16 };

/* One generation on its way. */
typedef struct {
    vug_session *session;
    const vug_generate_options *o;
    vug_sampler sampler;
    vug_bounds bounds;
    vug_decoder *decoder; /* NULL without a tokenizer */
    size_t cap;           /* of out->tokens */
    vug_buf text;
    vug_logprob top[VUG_MAX_TOP_LOGPROBS];
    vug_generation *out;
} answering;

static bool is_among(int32_t id, const int32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == id)
            return true;
    }
    return false;
}

/* The model's own. */
static bool is_stop(const answering *g, int32_t id)
{
    const vug_checkpoint *c = &g->session->model->checkpoint;
    return !g->o->ignore_stop && is_among(id, c->stop, c->n_stop);
}

static vug_status keep_token(answering *g, int32_t id, vug_err *err)
{
    vug_tokens *t = &g->out->tokens;
    if (t->n == g->cap) {
        const size_t cap = g->cap ? g->cap * 2 : 256;
        int32_t *grown = vug_realloc(t->id, cap, sizeof(*grown));
        if (!grown)
            return VUG_FAIL_NOMEM(err, "the answer", cap * sizeof(*grown));
        t->id = grown;
        g->cap = cap;
    }
    t->id[t->n++] = id;
    return VUG_OK;
}

/* Hands a piece to the caller; false when the caller has had enough. */
static bool deliver(answering *g, vug_piece *piece)
{
    vug_buf_append(&g->text, piece->text, piece->len);
    return !g->o->on_piece || g->o->on_piece(piece, g->o->user);
}

/* The token that comes next; -1 when none may. *ended: it is no part of the answer. The caller's
 * stops end it wherever they come, the model's only where the bounds let it, and not where they
 * force one: what closes the thinking in place of a stop could be such a token itself. */
static vug_status choose(answering *g, int32_t *id, bool *ended, vug_err *err)
{
    vug_next next;
    VUG_TRY(vug_bounds_next(&g->bounds, &next, err));
    *ended = next.ended;
    *id = next.forced;
    if (next.ended)
        return VUG_OK;
    if (next.forced >= 0)
        vug_sampler_see(&g->sampler, next.forced);
    else
        *id = vug_sampler_draw(&g->sampler, g->session->logits, next.allowed);
    *ended = is_among(*id, g->o->stop, g->o->n_stop);
    if (*ended || next.forced >= 0 || !is_stop(g, *id))
        return VUG_OK;
    VUG_TRY(vug_bounds_stop(&g->bounds, ended, err));
    return *ended ? VUG_OK : choose(g, id, ended, err);
}

static vug_piece piece_of(answering *g, int32_t id)
{
    vug_piece piece = { .token = id, .top = g->top, .n_top = (size_t)g->o->n_top };
    if ((int64_t)piece.n_top > g->sampler.n_usable)
        piece.n_top = (size_t)g->sampler.n_usable;
    if (g->o->logprobs || g->o->n_top)
        piece.logprob =
                vug_logprobs(g->session->logits, g->sampler.n_usable, id, g->top, piece.n_top);
    return piece;
}

/* `more` is false when the generation ends with this token. */
static vug_status take_token(answering *g, bool *more, vug_err *err)
{
    const vug_generate_options *o = g->o;
    int32_t id;
    bool ended;
    VUG_TRY(choose(g, &id, &ended, err));
    *more = !ended;
    if (ended) {
        g->out->finish = VUG_FINISH_STOP;
        if (o->report_stop && id >= 0) {
            vug_piece stop = piece_of(g, id);
            stop.is_stop = true;
            (void)deliver(g, &stop);
        }
        return VUG_OK;
    }
    vug_piece piece = piece_of(g, id);
    VUG_TRY(keep_token(g, id, err));
    if (g->decoder)
        VUG_TRY(vug_decoder_push(g->decoder, id, &piece.text, &piece.len, err));
    *more = deliver(g, &piece);
    VUG_TRY(vug_bounds_take(&g->bounds, id, err));
    *more = *more && !(o->reply && vug_reply_is_over(o->reply));
    if (!*more)
        g->out->finish = VUG_FINISH_CALLBACK;
    return VUG_OK;
}

/* Whether another token may be taken while `pending` of them are not in the cache yet. */
static bool has_room(const answering *g, size_t pending)
{
    const int64_t held = (int64_t)(g->session->n + pending);
    return held < g->session->model->info.context &&
           (g->o->max_tokens == 0 || g->out->tokens.n < (size_t)g->o->max_tokens);
}

/* Tokens that are certain go through the model together, unless their logits are wanted. */
static vug_status decode_loop(answering *g, vug_err *err)
{
    vug_session *s = g->session;
    const vug_forward_options each = { 0 };
    const bool together = !g->o->logprobs && !g->o->n_top;
    for (bool more = true; more;) {
        size_t pending = 0;
        do {
            VUG_TRY(take_token(g, &more, err));
            pending += more;
        } while (more && together && has_room(g, pending) && vug_bounds_is_forced(&g->bounds));
        if (!more)
            break;
        if (!has_room(g, pending - 1)) {
            g->out->finish = VUG_FINISH_LENGTH;
            break;
        }
        const vug_tokens *t = &g->out->tokens;
        VUG_TRY(vug_session_extend(s, &t->id[t->n - pending], pending, &each, err));
    }
    return VUG_OK;
}

/* Text that waited for the rest of a character. A caller who has had enough finds
 * it in the answer's text only. */
static vug_status flush_text(answering *g, vug_err *err)
{
    vug_piece piece = { .token = -1 };
    if (!g->decoder)
        return VUG_OK;
    VUG_TRY(vug_decoder_finish(g->decoder, &piece.text, &piece.len, err));
    if (g->out->finish == VUG_FINISH_CALLBACK)
        vug_buf_append(&g->text, piece.text, piece.len);
    else if (piece.len)
        (void)deliver(g, &piece);
    return VUG_OK;
}

static vug_status run(answering *g, const int32_t *id, size_t n, vug_err *err)
{
    const vug_forward_options whole = { 0 };
    const double start = vug_now();
    VUG_TRY(vug_session_prepare(g->session, id, n, &g->out->n_cached, err));
    g->out->n_prompt = n;
    const size_t cached = g->out->n_cached;
    vug_status st = vug_session_extend(g->session, id + cached, n - cached, &whole, err);
    const double first = vug_now();
    g->out->prompt_s = first - start;
    if (st == VUG_OK) {
        if (n > OPENING)
            vug_snapshot_take(g->session, n - OPENING);
        vug_sampler_see_prompt(&g->sampler, id, n);
        st = decode_loop(g, err);
        g->out->decode_s = vug_now() - first;
    }
    if (st == VUG_CANCELLED) {
        g->out->finish = VUG_FINISH_CANCELLED;
        st = VUG_OK;
    }
    return st == VUG_OK ? flush_text(g, err) : st;
}

static vug_status check_options(const vug_generate_options *o, vug_err *err)
{
    if (o->max_tokens < 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "max_tokens: %d, expected 0 or more", o->max_tokens);
    if (o->n_top < 0 || o->n_top > VUG_MAX_TOP_LOGPROBS)
        return VUG_FAIL(err, VUG_ARGUMENT, "log-probabilities of %d tokens, at most %d", o->n_top,
                        VUG_MAX_TOP_LOGPROBS);
    return VUG_OK;
}

vug_status vug_generate(vug_session *session, const int32_t *id, size_t n,
                        const vug_generate_options *options, vug_generation *out, vug_err *err)
{
    const vug_generate_options none = { 0 };
    const vug_model *m = session->model;
    vug_generation result = { 0 };
    answering g = { .session = session, .o = options ? options : &none, .out = &result };
    VUG_TRY(check_options(g.o, err));
    const vug_tokenizer *tokenizer = m->checkpoint.tokenizer;
    int64_t usable = m->info.n_vocab;
    if (tokenizer && vug_tokenizer_size(tokenizer) < usable)
        usable = vug_tokenizer_size(tokenizer);
    vug_sampling sampling = g.o->sampling;
    if (sampling.n == 0) {
        sampling.stage = m->checkpoint.sampling.stage;
        sampling.n = m->checkpoint.sampling.n;
    }
    VUG_TRY(vug_sampler_init(&g.sampler, &sampling, m->info.n_vocab, usable, err));
    vug_status st = vug_bounds_init(&g.bounds, g.o, session, err);
    if (st == VUG_OK && tokenizer)
        st = vug_decoder_create(tokenizer, true, &g.decoder, err);
    if (st == VUG_OK)
        st = run(&g, id, n, err);
    vug_session_end_call(session);
    if (st == VUG_OK)
        st = vug_buf_take(&g.text, &result.text, err);
    vug_buf_release(&g.text);
    vug_decoder_destroy(g.decoder);
    vug_bounds_release(&g.bounds);
    vug_sampler_release(&g.sampler);
    if (st != VUG_OK) {
        vug_generation_release(&result);
        return st;
    }
    *out = result;
    return VUG_OK;
}

void vug_generation_release(vug_generation *generation)
{
    vug_tokens_release(&generation->tokens);
    vug_text_release(&generation->text);
}

vug_status vug_generate_text(vug_session *session, const char *text, size_t len,
                             const vug_generate_options *options, vug_generation *out, vug_err *err)
{
    vug_tokens tokens;
    if (len == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "the prompt is empty: there is nothing to continue");
    const vug_tokenizer *tokenizer = vug_model_tokenizer(session->model, err);
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    VUG_TRY(vug_tokenizer_encode(tokenizer, text, len,
                                 VUG_ENCODE_PARSE_SPECIAL | VUG_ENCODE_ADD_MISSING, &tokens, err));
    const vug_status st = vug_generate(session, tokens.id, tokens.n, options, out, err);
    vug_tokens_release(&tokens);
    return st;
}

vug_status vug_generate_chat(vug_session *session, const vug_message *message, size_t n,
                             const vug_generate_options *options, vug_generation *out, vug_err *err)
{
    vug_tokens tokens;
    VUG_TRY(vug_model_prompt(session->model, message, n, &tokens, err));
    const vug_status st = vug_generate(session, tokens.id, tokens.n, options, out, err);
    vug_tokens_release(&tokens);
    return st;
}
