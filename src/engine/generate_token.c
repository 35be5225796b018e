/* The tokens of an answer: chosen, decoded, and delivered to the caller. */
#include "engine/generation_state.h"

/* ---- stops ----------------------------------------------------------------------------- */

static vug_status init_stop_strings(vug_generation_state *g, vug_err *err)
{
    const size_t n = g->o->n_stop_strings;
    if (n == 0)
        return VUG_OK;
    vug_str *text = vug_arena_alloc(&g->arena, n, sizeof(*text));
    if (!text)
        return VUG_FAIL_NOMEM(err, "the stop strings", n * sizeof(*text));
    for (size_t i = 0; i < n; i++) {
        text[i] = vug_str_of(g->o->stop_string[i]);
        if (text[i].len == 0 || text[i].len > UINT16_MAX)
            return VUG_FAIL(err, VUG_ARGUMENT, "stop string %zu has %zu bytes, expected 1 to %d", i,
                            text[i].len, UINT16_MAX);
    }
    if (!vug_stop_strings_init(&g->stop_strings, text, n, &g->arena))
        return VUG_FAIL_NOMEM(err, "the stop strings", n * sizeof(*text));
    return VUG_OK;
}

/* Lists the stop tokens that min_tokens excludes. */
static vug_status list_stops(vug_generation_state *g, vug_err *err)
{
    const vug_checkpoint *c = &g->session->model->checkpoint;
    const size_t own = g->o->ignore_stop ? 0 : c->n_stop;
    if (g->o->min_tokens == 0)
        return VUG_OK;
    g->stop = vug_alloc(own + g->o->n_stop, sizeof(*g->stop));
    if (!g->stop)
        return VUG_FAIL_NOMEM(err, "the stop tokens", (own + g->o->n_stop) * sizeof(*g->stop));
    for (size_t i = 0; i < own + g->o->n_stop; i++)
        g->stop[g->n_stop++] = i < own ? c->stop[i] : g->o->stop[i - own];
    return VUG_OK;
}

vug_status vug_generation_init_stops(vug_generation_state *g, vug_err *err)
{
    VUG_TRY(list_stops(g, err));
    return init_stop_strings(g, err);
}

/* ---- tokens ---------------------------------------------------------------------------- */

static bool is_among(int32_t id, const int32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i] == id)
            return true;
    }
    return false;
}

/* Whether it is one of the model's stop tokens. */
static bool is_stop(const vug_generation_state *g, int32_t id)
{
    const vug_checkpoint *c = &g->session->model->checkpoint;
    return !g->o->ignore_stop && is_among(id, c->stop, c->n_stop);
}

static vug_status append_token(vug_generation_state *g, int32_t id, vug_err *err)
{
    vug_tokens *t = &g->out->tokens;
    int32_t *grown = vug_grow_array(t->id, &g->cap, t->n + VUG_MAX_DRAFT, sizeof(*grown));
    if (!grown)
        return VUG_FAIL_NOMEM(err, "the answer", (t->n + 1) * sizeof(*grown));
    t->id = grown;
    t->id[t->n++] = id;
    return VUG_OK;
}

/* Passes a piece to the caller; false when the caller ends the generation. */
static bool deliver_piece(vug_generation_state *g, vug_piece *piece)
{
    vug_buf_append(&g->text, piece->text, piece->len);
    return !g->o->on_piece || g->o->on_piece(piece, g->o->user);
}

/* Cuts the text of a piece before a stop string, and before what may become one. */
static void cut_stop_string(vug_generation_state *g, vug_piece *piece)
{
    if (g->stop_strings.n == 0)
        return;
    g->shown.len = 0;
    (void)vug_stop_strings_push(&g->stop_strings, piece->text, piece->len, &g->shown);
    piece->text = g->shown.ptr;
    piece->len = g->shown.len;
}

/* Samples a token that is allowed. Stop tokens count as not allowed before min_tokens, unless
 * nothing else may follow. */
static vug_status sample_token(vug_generation_state *g, const uint32_t *allowed, int32_t *id,
                               vug_err *err)
{
    const bool early = g->out->tokens.n < (size_t)g->o->min_tokens;
    const vug_logits_row *row = vug_session_row(g->session);
    const vug_sampler_mask any = { .allowed = allowed,
                                   .known = row->n_known > 0 ? row->known : NULL,
                                   .n_known = row->n_known };
    vug_sampler_mask no_stop = any;
    no_stop.excluded = g->stop;
    no_stop.n_excluded = g->n_stop;
    *id = early ? vug_sampler_sample(&g->sampler, row->logit, &no_stop) : -1;
    if (*id < 0)
        *id = vug_sampler_sample(&g->sampler, row->logit, &any);
    if (*id < 0)
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "no token may follow: the allowed tokens, the banned ones and the grammar "
                        "exclude all");
    return VUG_OK;
}

/* Chooses the next token; -1 if none is allowed. `*ended`: it is not part of the answer. The
 * caller's stop tokens always end the answer. The model's do so only if the constraints allow it
 * and did not force the token: the text that closes the thinking may itself be a stop token. */
static vug_status choose_token(vug_generation_state *g, int32_t *id, bool *ended, vug_err *err)
{
    vug_next_token next;
    VUG_TRY(vug_constraints_next(&g->constraints, &next, err));
    *ended = next.ended;
    *id = next.forced;
    if (next.ended)
        return VUG_OK;
    if (next.forced < 0)
        VUG_TRY(sample_token(g, next.allowed, id, err));
    *ended = is_among(*id, g->o->stop, g->o->n_stop);
    if (*ended || next.forced >= 0 || !is_stop(g, *id))
        return VUG_OK;
    VUG_TRY(vug_constraints_on_stop(&g->constraints, ended, err));
    return *ended ? VUG_OK : choose_token(g, id, ended, err);
}

static vug_piece token_piece(vug_generation_state *g, int32_t id)
{
    const vug_generate_options *o = g->o;
    const vug_logits_row *row = vug_session_row(g->session);
    vug_piece piece = { .token = id,
                        .top = g->top,
                        .n_top = o->n_logprob_ids > 0 ? o->n_logprob_ids : vug_generation_top(g) };
    if (vug_generation_reports_logprobs(g) && row->n_top > 0)
        piece.logprob = vug_take_logprobs(row, id, g->top, piece.n_top);
    else if (vug_generation_reports_logprobs(g))
        piece.logprob = vug_compute_logprobs(
                &g->sampler.candidates, row->logit, g->sampler.model.n_usable, id,
                o->n_logprob_ids > 0 ? o->logprob_id : NULL, g->top, piece.n_top);
    return piece;
}

vug_status vug_generation_add_token(vug_generation_state *g, bool *more, vug_err *err)
{
    const vug_generate_options *o = g->o;
    int32_t id;
    bool ended;
    VUG_TRY(choose_token(g, &id, &ended, err));
    *more = !ended;
    if (ended) {
        g->out->finish = VUG_FINISH_STOP;
        if (o->report_stop && id >= 0) {
            vug_piece stop = token_piece(g, id);
            stop.is_stop = true;
            (void)deliver_piece(g, &stop);
        }
        return VUG_OK;
    }
    vug_piece piece = token_piece(g, id);
    VUG_TRY(append_token(g, id, err));
    VUG_TRY(vug_sampler_accept(&g->sampler, id, err));
    if (g->decoder)
        VUG_TRY(vug_decoder_push(g->decoder, id, &piece.text, &piece.len, err));
    cut_stop_string(g, &piece);
    *more = deliver_piece(g, &piece) && !g->stop_strings.found;
    VUG_TRY(vug_constraints_accept(&g->constraints, id, err));
    *more = *more && !(o->parser && vug_response_parser_is_stopped(o->parser));
    if (!*more)
        g->out->finish = g->stop_strings.found ? VUG_FINISH_STOP : VUG_FINISH_CALLBACK;
    return VUG_OK;
}

vug_status vug_generation_flush_text(vug_generation_state *g, vug_err *err)
{
    vug_piece piece = { .token = -1 };
    if (!g->decoder)
        return VUG_OK;
    VUG_TRY(vug_decoder_finish(g->decoder, &piece.text, &piece.len, err));
    cut_stop_string(g, &piece);
    if (g->stop_strings.n > 0) {
        vug_stop_strings_flush(&g->stop_strings, &g->shown);
        VUG_TRY(vug_buf_ok(&g->shown, err));
        piece.text = g->shown.ptr;
        piece.len = g->shown.len;
    }
    if (g->out->finish == VUG_FINISH_CALLBACK)
        vug_buf_append(&g->text, piece.text, piece.len);
    else if (piece.len)
        (void)deliver_piece(g, &piece);
    return VUG_OK;
}
