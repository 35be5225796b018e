/* Generation: adds a token, extends the session, and repeats that until the answer ends. */
#include "core/cancel.h"
#include "engine/draft_model.h"
#include "engine/generation_state.h"

/* For prompts without marks: more tokens than templates use at the end of a prompt to open the
 * answer. */
enum {
    ANSWER_PREFIX = 16,
    LONG_PROMPT = 1024,
    MOST_MARKS = 4,
    DEFAULT_ANSWER = 1024, /* tokens that an answer without max_tokens is expected to have */
};

/* Whether another token may follow while `pending` tokens are not in the cache yet. */
static bool has_room(const vug_generation_state *g, size_t pending)
{
    const int64_t held = (int64_t)(vug_session_length(g->session) + pending);
    return held < g->session->model->info.context &&
           (g->o->max_tokens == 0 || g->out->tokens.n < (size_t)g->o->max_tokens);
}

/* Lets the draft model write drafts; returns their number. If it fails, the answer goes on without
 * it. */
static size_t ask_draft_model(vug_generation_state *g, int32_t *draft, size_t n)
{
    const double start = vug_now();
    if (!g->draft)
        g->has_draft = vug_draft_session_create(g->session, &g->draft, NULL) == VUG_OK;
    g->has_draft =
            g->has_draft && vug_draft_session_write(g->draft, &g->sampler, draft, n, g->o->cancel);
    if (!g->has_draft)
        return 0;
    if (g->draft_is_read)
        vug_speculation_add_model_drafts(&g->speculation, n, vug_now() - start);
    g->draft_is_read = true;
    return n;
}

/* Writes drafts behind the answer's tokens, of which `pending` are not in the cache yet, and
 * returns their number. Beside other sequences they would not be computed. */
static size_t draft_tokens(vug_generation_state *g, size_t pending)
{
    const vug_tokens *t = &g->out->tokens;
    const vug_token_history *history = &g->sampler.history;
    const size_t room = (size_t)g->session->model->info.context - vug_session_length(g->session);
    size_t most = room - pending;
    if (g->o->max_tokens > 0 && most > (size_t)g->o->max_tokens - t->n - 1)
        most = (size_t)g->o->max_tokens - t->n - 1; /* a token follows each draft */
    if (most > VUG_MAX_DRAFT)
        most = VUG_MAX_DRAFT;
    if (g->o->max_draft > 0 && most > (size_t)g->o->max_draft)
        most = (size_t)g->o->max_draft;
    size_t n = vug_speculation_draft(&g->speculation, history->id, history->n, t->id + t->n, most);
    if (n > 0 || !g->has_draft)
        return n;
    n = vug_speculation_ask_model(&g->speculation, most);
    return n > 0 ? ask_draft_model(g, t->id + t->n, n) : 0;
}

static bool screens_logits(const vug_compiled *c)
{
    return c->backend->screens_logits && c->backend->screens_logits(c->program);
}

static bool draws_tokens(const vug_compiled *c)
{
    return c->backend->draws_tokens && c->backend->draws_tokens(c->program);
}

/* Whether a device can report log-probabilities: only those of the token that it draws and of the best. */
static bool can_report(const vug_generation_state *g)
{
    return !g->constraints.state && g->o->n_logprob_ids == 0;
}

/* Which logits the next tokens are chosen by. A grammar allows few tokens, perhaps none of the best, so
 * that the device must know which; log-probabilities are relative to the sum over all. */
static vug_status find_wanted(vug_generation_state *g, size_t n_draft, vug_logits_wanted *out,
                              vug_err *err)
{
    const bool is_early = g->out->tokens.n < (size_t)g->o->min_tokens;
    const vug_compiled *program = &g->session->model->main.compiled;
    const bool draws = draws_tokens(program), reports = vug_generation_reports_logprobs(g);
    vug_next_token next = { 0 };
    *out = (vug_logits_wanted){ 0 };
    if ((reports || g->constraints.state) && (!draws || n_draft > 0))
        return VUG_OK;
    if (reports || g->constraints.state)
        VUG_TRY(vug_constraints_next(&g->constraints, &next, err));
    if (reports && (next.forced >= 0 || !can_report(g)))
        return VUG_OK;
    const vug_sampler_mask mask = { .allowed = next.allowed,
                                    .excluded = g->stop,
                                    .n_excluded = is_early ? g->n_stop : 0 };
    vug_logits_wanted wanted = vug_sampler_wanted(&g->sampler, &mask, n_draft, draws);
    const bool needs_screen = vug_sampler_draws_from_all(&g->sampler) || wanted.share > 0;
    if (wanted.best == 0 ||
        (needs_screen && wanted.draw.temperature == 0 && !screens_logits(program)))
        return VUG_OK;
    if (reports)
        wanted.top = vug_generation_top(g) > 0 ? (int64_t)vug_generation_top(g) : 1;
    *out = wanted;
    return VUG_OK;
}

/* The tokens that the answer may get after the next one. */
static size_t tokens_left(const vug_generation_state *g)
{
    const size_t most = (size_t)g->o->max_tokens, n = g->out->tokens.n + 1;
    return most == 0 ? SIZE_MAX : most > n ? most - n : 0;
}

/* Whether penalties change logits by the answer's tokens: then no step can be started before the host has
 * the token of the one before. */
static bool penalizes(const vug_generation_state *g)
{
    const vug_sampler_settings *settings = &g->sampler.settings;
    return settings->has_penalty || settings->value[VUG_SAMPLER_DRY] != 0;
}

/* Brings the answer's last `pending` tokens into the cache, and the logits after them. */
static vug_status extend_answer(vug_generation_state *g, size_t pending, vug_err *err)
{
    vug_session *s = g->session;
    const vug_tokens *t = &g->out->tokens;
    if (vug_is_cancelled(g->o->cancel))
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    for (; pending > 0 && vug_session_accept_draft(s, t->id[t->n - pending]); pending--)
        vug_speculation_accept(&g->speculation);
    if (pending == 0)
        return VUG_OK;
    const bool drafts = g->speculates && s->sequence.was_alone;
    const size_t n_draft = drafts ? draft_tokens(g, pending) : 0;
    const vug_forward_options each = { .priority = g->o->priority, .cancel = g->o->cancel };
    VUG_TRY(find_wanted(g, n_draft, &s->wanted, err));
    s->n_more = tokens_left(g);
    const double start = vug_now();
    VUG_TRY(vug_session_extend_with_drafts(s, t->id + t->n - pending, pending + n_draft, n_draft,
                                           &each, err));
    vug_speculation_add_step(&g->speculation, pending, s->n_draft, s->sequence.was_alone,
                             vug_now() - start);
    return VUG_OK;
}

/* Whether the next token, or that none follows, is known without logits. */
static vug_status is_next_known(vug_generation_state *g, bool *known, vug_err *err)
{
    vug_next_token next;
    VUG_TRY(vug_constraints_next(&g->constraints, &next, err));
    *known = next.forced >= 0 || next.ended;
    return VUG_OK;
}

/* Forced tokens go through the model together with the one before them, unless their log-probabilities
 * are requested. The last token before a grammar ends does not. */
static vug_status decode_loop(vug_generation_state *g, vug_err *err)
{
    const bool together = !vug_generation_reports_logprobs(g);
    for (bool more = true; more;) {
        size_t pending = 0;
        bool known;
        do {
            VUG_TRY(vug_generation_add_token(g, &more, err));
            pending += more;
            known = more && together && has_room(g, pending);
            if (known)
                VUG_TRY(is_next_known(g, &known, err));
        } while (known);
        if (!more)
            break;
        if (!has_room(g, pending - 1)) {
            g->out->finish = VUG_FINISH_LENGTH;
            break;
        }
        VUG_TRY(extend_answer(g, pending, err));
    }
    return VUG_OK;
}

/* Marks where the next prompt may depart from this one, and places on the way of a long one. */
static void mark_branches(vug_session *s, size_t n, const vug_generate_options *o)
{
    for (size_t i = 0; i < o->n_marks && i < MOST_MARKS; i++)
        vug_session_mark(s, o->mark[i].at, o->mark[i].kind);
    if (o->n_marks == 0 && n > ANSWER_PREFIX)
        vug_session_mark(s, n - ANSWER_PREFIX, VUG_MARK_PROMPT);
    for (size_t quarter = 1; quarter < 4 && n >= LONG_PROMPT; quarter++)
        vug_session_mark(s, n / 4 * quarter, VUG_MARK_PROMPT);
}

/* Reports the drafts, and keeps what the next answer can use. */
static void end_speculation(const vug_generation_state *g)
{
    const vug_speculation *s = &g->speculation;
    g->out->n_drafted = s->n_drafted;
    g->out->n_accepted = s->n_accepted;
    g->out->n_prediction_drafted = s->n_prediction_drafted;
    g->out->n_prediction_accepted = s->n_prediction_accepted;
    vug_scheduler_store_costs(g->session->model->scheduler, &s->costs);
}

static bool report_prompt_step(const vug_step *step, void *user)
{
    const vug_generation_state *g = user;
    g->o->on_prompt((size_t)(step->first + step->n), g->o->user);
    return true;
}

static vug_status run_generation(vug_generation_state *g, const int32_t *id, size_t n, vug_err *err)
{
    const bool in_steps = g->o->on_prompt && g->o->prompt_steps;
    const vug_forward_options whole = { .priority = g->o->priority,
                                        .cancel = g->o->cancel,
                                        .on_step = in_steps ? report_prompt_step : NULL,
                                        .user = g };
    const double start = vug_now();
    VUG_TRY(vug_session_prepare(g->session, id, n, g->o->cancel, &g->out->n_cached, err));
    g->out->n_prompt = n;
    g->out->miss = g->session->sequence.kv.miss;
    if (g->o->on_prompt)
        g->o->on_prompt(g->out->n_cached, g->o->user);
    mark_branches(g->session, n, g->o);
    const size_t cached = g->out->n_cached;
    vug_status st = vug_sampler_set_prompt(&g->sampler, id, n, err);
    if (st == VUG_OK)
        st = find_wanted(g, 0, &g->session->wanted, err);
    g->session->n_more = penalizes(g) ? 0 : tokens_left(g);
    if (st == VUG_OK)
        st = vug_session_extend(g->session, id + cached, n - cached, &whole, err);
    if (st == VUG_OK && g->o->share_prompt)
        vug_scheduler_share(g->session->model->scheduler, &g->session->sequence);
    const double first = vug_now();
    g->out->prompt_s = first - start;
    if (st == VUG_OK) {
        st = decode_loop(g, err);
        g->out->decode_s = vug_now() - first;
        if (g->speculates)
            end_speculation(g);
    }
    vug_scheduler_pause(g->session->model->scheduler, &g->session->sequence);
    g->session->wanted = (vug_logits_wanted){ 0 };
    g->session->n_more = 0;
    if (st == VUG_CANCELLED) {
        g->out->finish = VUG_FINISH_CANCELLED;
        st = VUG_OK;
    }
    return st == VUG_OK ? vug_generation_flush_text(g, err) : st;
}

static vug_status check_ids(const int32_t *id, size_t n, int64_t n_vocab, const char *of,
                            vug_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (id[i] < 0 || id[i] >= n_vocab)
            return VUG_FAIL(err, VUG_ARGUMENT, "token %zu of %s is %d, ids are 0 to %lld", i, of,
                            id[i], (long long)n_vocab - 1);
    }
    return VUG_OK;
}

static vug_status check_options(const vug_generate_options *o, int64_t n_vocab, vug_err *err)
{
    if (o->max_tokens < 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "max_tokens: %d, expected 0 or more", o->max_tokens);
    if (o->min_tokens < 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "min_tokens: %d, expected 0 or more", o->min_tokens);
    if (o->n_top < 0 || o->n_top > VUG_MAX_TOP_LOGPROBS)
        return VUG_FAIL(err, VUG_ARGUMENT, "n_top: %d, expected 0 to %d", o->n_top,
                        VUG_MAX_TOP_LOGPROBS);
    if (o->max_draft < 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "max_draft: %d, expected 0 or more", o->max_draft);
    if (o->n_logprob_ids > VUG_MAX_LOGPROB_IDS)
        return VUG_FAIL(err, VUG_ARGUMENT, "n_logprob_ids: %zu, expected 0 to %d", o->n_logprob_ids,
                        VUG_MAX_LOGPROB_IDS);
    VUG_TRY(check_ids(o->prediction, o->n_prediction, n_vocab, "the prediction", err));
    VUG_TRY(check_ids(o->logprob_id, o->n_logprob_ids, n_vocab, "logprob_id", err));
    if (o->n_stop_strings > 0 && o->parser)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "stop strings and a parser: the parser gets tokens, which no stop string "
                        "cuts; search its parts instead");
    return VUG_OK;
}

/* The tokens of a prompt and its answer. */
static size_t expected_tokens(const vug_generation_state *g, size_t n_prompt)
{
    const size_t context = (size_t)g->session->model->info.context;
    const size_t answer = g->o->max_tokens > 0 ? (size_t)g->o->max_tokens : DEFAULT_ANSWER;
    return n_prompt + answer < context ? n_prompt + answer : context;
}

static vug_status start_speculation(vug_generation_state *g, size_t n_prompt, vug_err *err)
{
    const vug_step_costs costs = vug_scheduler_load_costs(g->session->model->scheduler);
    const vug_speculation_start start = { .costs = &costs,
                                          .n_tokens = expected_tokens(g, n_prompt),
                                          .prediction = g->o->prediction,
                                          .n_prediction = g->o->n_prediction };
    return vug_speculation_init(&g->speculation, &start, err);
}

vug_status vug_generate(vug_session *session, const int32_t *id, size_t n,
                        const vug_generate_options *options, vug_generation *out, vug_err *err)
{
    const vug_generate_options none = { 0 };
    const vug_model *m = session->model;
    vug_generation result = { 0 };
    vug_generation_state g = { .session = session, .o = options ? options : &none, .out = &result };
    VUG_TRY(check_options(g.o, m->info.n_vocab, err));
    g.speculates = g.o->speculation == VUG_SPECULATION_LOOKUP;
    g.has_draft = g.speculates && m->draft;
    const vug_tokenizer *tokenizer = m->checkpoint.tokenizer;
    int64_t usable = m->info.n_vocab;
    if (tokenizer && vug_tokenizer_size(tokenizer) < usable)
        usable = vug_tokenizer_size(tokenizer);
    vug_sampling sampling = g.o->sampling;
    if (sampling.n == 0) {
        sampling.sampler = m->checkpoint.sampling.sampler;
        sampling.n = m->checkpoint.sampling.n;
    }
    const vug_sampler_model sampled = { m->info.n_vocab, usable, (size_t)m->info.context + 1,
                                        tokenizer };
    VUG_TRY(vug_sampler_init(&g.sampler, &sampling, &sampled, err));
    vug_status st = vug_generation_init_stops(&g, err);
    if (st == VUG_OK)
        st = vug_constraints_init(&g.constraints, g.o, m, err);
    if (st == VUG_OK && g.speculates)
        st = start_speculation(&g, n, err);
    if (st == VUG_OK && tokenizer)
        st = vug_decoder_create(tokenizer, true, &g.decoder, err);
    if (st == VUG_OK)
        st = run_generation(&g, id, n, err);
    if (st == VUG_OK)
        st = vug_buf_take(&g.text, &result.text, err);
    vug_buf_release(&g.text);
    vug_buf_release(&g.shown);
    vug_arena_release(&g.arena);
    vug_decoder_destroy(g.decoder);
    vug_session_destroy(g.draft);
    vug_speculation_release(&g.speculation);
    vug_constraints_release(&g.constraints);
    vug_sampler_release(&g.sampler);
    vug_free(g.stop);
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
