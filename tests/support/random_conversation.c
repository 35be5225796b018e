#include "random_conversation.h"

#include <math.h>
#include <string.h>

#include "engine_help.h"

enum {
    MOST_QUESTION = 40,
    MOST_ANSWER = 40,
    MOST_TURNS = 7,
    OPENING = 3, /* tokens that open an answer */
};

/* What ends a call early. */
typedef struct {
    random_conversation *c;
    vug_session *session;
    size_t n_prompt;
    size_t n_pieces;
    size_t stop_at, cancel_at, cancel_other_at; /* pieces or steps; 0: not at all */
} running_call;

vug_status random_conversation_init(random_conversation *c)
{
    c->row = vug_alloc((size_t)CONVERSATION_CONTEXT * c->n_vocab, sizeof(*c->row));
    if (!c->row)
        return VUG_FAIL_NOMEM(&c->err, "rows of logits", c->n_vocab);
    return vug_session_create(c->cold, &c->cold_session, &c->err);
}

void random_conversation_release(random_conversation *c)
{
    vug_session_destroy(c->cold_session);
    vug_free(c->row);
    *c = (random_conversation){ 0 };
}

static size_t random_below(random_conversation *c, uint64_t n)
{
    return (size_t)help_random(&c->random, n);
}

static bool one_in(random_conversation *c, uint64_t n)
{
    return random_below(c, n) == 0;
}

static void add_tokens(random_conversation *c, size_t n)
{
    help_tokens(help_bits(&c->random), c->id + c->n, n, (int64_t)c->n_vocab);
    c->n += n;
}

/* ---- rows of logits --------------------------------------------------------------------- */

/* Sampling may have left out logits that it did not look at (vug_session_logits). */
static bool is_equal(const random_conversation *c, float a, float b)
{
    if (a == VUG_LOGIT_UNWANTED || b == VUG_LOGIT_UNWANTED)
        return true;
    return c->tolerance == 0 ? help_difference(&a, &b, 1) == 1
                             : fabs((double)a - (double)b) <= c->tolerance;
}

/* The index of the first known logit that differs by more than the tolerance, or `n`. */
static size_t find_difference(const random_conversation *c, const float *a, const float *b,
                              size_t n)
{
    size_t i = 0;
    while (i < n && is_equal(c, a[i], b[i]))
        i++;
    return i;
}

static bool compare_row(random_conversation *c, size_t at, const float *row, const char *what)
{
    const size_t v = c->n_vocab;
    const size_t i = find_difference(c, c->row + at * v, row, v);
    if (i < v && c->err.code == VUG_OK)
        (void)VUG_FAIL(&c->err, VUG_FORMAT, "the logits after token %zu differ from %s at id %zu",
                       at, what, i);
    return i == v;
}

/* Keeps the logits after token `at`, to be compared with those of a cold run. */
static void keep_row(random_conversation *c, size_t at, const float *row)
{
    float *kept = c->row + at * c->n_vocab;
    if (c->has[at])
        (void)compare_row(c, at, row, "those that were computed before");
    for (size_t i = 0; i < c->n_vocab; i++) {
        if (!c->has[at] || row[i] != VUG_LOGIT_UNWANTED)
            kept[i] = row[i];
    }
    c->has[at] = true;
}

static bool draws_tokens(const random_conversation *c)
{
    const vug_compiled *program = &c->model->main.compiled;
    return program->backend->draws_tokens && program->backend->draws_tokens(program->program);
}

/* Every choice of a token looks at the greatest logit; a device that draws tokens tells only of the one
 * that it has drawn. Tokenizers have all ids of the models. */
static bool knows_choice(random_conversation *c, size_t at, const float *cold)
{
    const float *row = c->row + at * c->n_vocab;
    size_t best = 0, n_known = 0;
    for (size_t i = 0; i < c->n_vocab; i++) {
        best = cold[i] > cold[best] ? i : best;
        n_known += row[i] != VUG_LOGIT_UNWANTED;
    }
    if (row[best] != VUG_LOGIT_UNWANTED || (draws_tokens(c) && n_known > 0))
        return true;
    if (c->err.code == VUG_OK)
        (void)VUG_FAIL(&c->err, VUG_FORMAT, "the best logit after token %zu was left out", at);
    return false;
}

static bool compare_step(const vug_step *step, void *user)
{
    random_conversation *c = user;
    for (int64_t i = 0; i < step->n; i++) {
        const size_t at = (size_t)(step->first + i);
        if (!c->has[at])
            continue;
        const float *cold = step->logits + (size_t)i * c->n_vocab;
        if (!compare_row(c, at, cold, "a cold run's") || !knows_choice(c, at, cold))
            return false;
        c->has[at] = false;
        c->n_compared++;
    }
    return true;
}

/* Compares the rows so far, and goes on after the first `n` tokens. */
static vug_status compare_and_cut(random_conversation *c, size_t n)
{
    const vug_forward_options o = { .all_logits = true, .on_step = compare_step, .user = c };
    size_t end = c->n;
    while (end > 0 && !c->has[end - 1])
        end--;
    if (end > 0)
        VUG_TRY(vug_session_forward(c->cold_session, c->id, end, &o, &c->err));
    c->n = n;
    return c->err.code;
}

/* ---- calls ------------------------------------------------------------------------------ */

static bool interrupt_call(running_call *call)
{
    call->n_pieces++;
    if (call->n_pieces == call->cancel_at)
        vug_cancel_token_trigger(call->c->own);
    if (call->n_pieces == call->cancel_other_at)
        vug_cancel_token_trigger(call->c->other);
    return call->n_pieces != call->stop_at;
}

static bool on_piece(const vug_piece *piece, void *user)
{
    running_call *call = user;
    if (piece->token < 0)
        return true;
    keep_row(call->c, call->n_prompt - 1 + call->n_pieces, vug_session_logits(call->session));
    return interrupt_call(call);
}

static bool on_step(const vug_step *step, void *user)
{
    running_call *call = user;
    const size_t end = (size_t)(step->first + step->n), n = (size_t)step->n_logits;
    for (size_t i = 0; i < n; i++)
        keep_row(call->c, end - n + i, step->logits + i * call->c->n_vocab);
    return interrupt_call(call);
}

static running_call begin_call(random_conversation *c, vug_session *session)
{
    running_call call = { .c = c, .session = session, .n_prompt = c->n };
    vug_cancel_token_reset(c->own);
    if (one_in(c, 10))
        call.cancel_at = 1 + random_below(c, 10);
    if (one_in(c, 10))
        call.stop_at = 1 + random_below(c, 10);
    if (one_in(c, 10))
        call.cancel_other_at = 1 + random_below(c, 10);
    if (one_in(c, 20))
        vug_cancel_token_trigger(c->own);
    return call;
}

/* Reads the tokens so far, in chunks or not. */
static vug_status forward(random_conversation *c, vug_session *session)
{
    running_call call = begin_call(c, session);
    const vug_forward_options o = { .chunk = (int)random_below(c, 3) * 20,
                                    .all_logits = one_in(c, 3),
                                    .cancel = c->own,
                                    .on_step = on_step,
                                    .user = &call };
    vug_err err = { 0 };
    const vug_status st = vug_session_forward(session, c->id, c->n, &o, &err);
    c->n_cancelled += st == VUG_CANCELLED;
    if (st != VUG_OK && st != VUG_CANCELLED && c->err.code == VUG_OK)
        c->err = err;
    return c->err.code;
}

/* Appends the tokens of an answer from `first` on; a cancelled answer may have none. */
static void append_answer(random_conversation *c, const vug_tokens *answer, size_t first)
{
    for (size_t i = first; i < answer->n; i++)
        c->id[c->n++] = answer->id[i];
}

/* Generates an answer and appends it; now and then without its beginning, as templates drop the
 * thinking of earlier turns. */
static vug_status answer(random_conversation *c, vug_session *session, const vug_mark *mark,
                         size_t n_marks)
{
    static const vug_sampler_config greedy = { VUG_SAMPLER_TEMPERATURE, 0, 0 },
                                    drawn = { VUG_SAMPLER_TEMPERATURE, 0.8F, 0 };
    running_call call = begin_call(c, session);
    const vug_generate_options o = {
        .max_tokens = 1 + (int)random_below(c, MOST_ANSWER),
        .ignore_stop = true,
        .sampling = { .sampler = one_in(c, 2) ? &greedy : &drawn,
                      .n = 1,
                      .seed = help_bits(&c->random) },
        .mark = mark,
        .n_marks = n_marks,
        .priority = (int)random_below(c, 3),
        .logprobs = one_in(c, 2), /* with them, all logits are computed */
        .speculation = one_in(c, 3) ? VUG_SPECULATION_OFF : VUG_SPECULATION_LOOKUP,
        .cancel = c->own,
        .on_piece = on_piece,
        .user = &call,
    };
    vug_generation g = { 0 };
    vug_err err = { 0 }; /* also filled when the call is cancelled, which is no failure */
    if (vug_generate(session, c->id, c->n, &o, &g, &err) != VUG_OK)
        return c->err.code ? c->err.code : (c->err = err).code;
    c->n_cancelled += g.finish == VUG_FINISH_CANCELLED;
    const size_t before = c->n;
    append_answer(c, &g.tokens, 0);
    vug_status st = VUG_OK;
    if (one_in(c, 4)) {
        const size_t dropped = random_below(c, g.tokens.n + 1);
        st = compare_and_cut(c, before);
        append_answer(c, &g.tokens, dropped);
    }
    vug_generation_release(&g);
    return st == VUG_OK ? c->err.code : st;
}

/* ---- conversations ------------------------------------------------------------------------ */

size_t random_conversation_system(size_t i, size_t n_vocab, int32_t *id)
{
    const size_t n = CONVERSATION_SYSTEM - 45 * i % CONVERSATION_SYSTEM;
    help_tokens(1000 + i, id, n, (int64_t)n_vocab);
    return n;
}

static vug_status take_turn(random_conversation *c, vug_session *session, size_t system)
{
    const size_t before = c->n;
    add_tokens(c, 1 + random_below(c, MOST_QUESTION));
    add_tokens(c, OPENING);
    const vug_mark mark[] = { { system, VUG_MARK_SYSTEM },
                              { before - 1, VUG_MARK_TURN },
                              { c->n - OPENING - 1, VUG_MARK_TURN } };
    const size_t prompt = c->n;
    if (one_in(c, 5))
        VUG_TRY(forward(c, session));
    VUG_TRY(answer(c, session, mark, one_in(c, 4) ? 0 : 3));
    switch (random_below(c, 8)) {
    case 0: /* another answer */
        VUG_TRY(compare_and_cut(c, prompt));
        return answer(c, session, mark, 3);
    case 1: /* the question is edited */
        return compare_and_cut(c, before);
    case 2: /* a branch anywhere */
        return compare_and_cut(c, system + random_below(c, c->n - system));
    default:
        return VUG_OK;
    }
}

/* Now and then a session lets its pages idle, begins anew, or is closed. */
static vug_status change_session(random_conversation *c, vug_session **session)
{
    if (*session && one_in(c, 3)) {
        vug_session_destroy(*session);
        *session = NULL;
    }
    if (!*session)
        VUG_TRY(vug_session_create(c->model, session, &c->err));
    if (one_in(c, 12))
        vug_session_reset(*session);
    if (one_in(c, 12))
        VUG_TRY(vug_session_set_namespace(*session, "a", 1, &c->err));
    return VUG_OK;
}

vug_status random_conversation_run(random_conversation *c, uint64_t seed)
{
    const size_t turns = 2 + help_random(&seed, MOST_TURNS);
    vug_session *session = NULL;
    vug_status st = VUG_OK;
    c->random = seed;
    c->err = (vug_err){ 0 };
    memset(c->has, 0, sizeof(c->has));
    const size_t system =
            random_conversation_system(random_below(c, c->n_systems), c->n_vocab, c->id);
    c->n = system;
    for (size_t turn = 0; st == VUG_OK && turn < turns; turn++) {
        if (c->n + MOST_QUESTION + OPENING + MOST_ANSWER > CONVERSATION_CONTEXT)
            break;
        st = change_session(c, &session);
        if (st == VUG_OK)
            st = take_turn(c, session, system);
    }
    vug_session_destroy(session);
    return st == VUG_OK ? compare_and_cut(c, 0) : st;
}
