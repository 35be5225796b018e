#include <math.h>

#include "app/server/speech.h"

/* Prompts that are given back, each token with what the model thought of it. */

enum { ROWS = 32 }; /* of logits at a time: 32 MiB for a vocabulary of 262,144 */

typedef struct {
    vug_speech *speech;
    const vug_tokens *prompt;
    vug_str given; /* the prompt's text that is not echoed yet */
    vug_decoder *decoder;
    vug_buf plain; /* text without log-probabilities, which goes out as a whole */
    vug_logprob top[VUG_MAX_TOP_LOGPROBS];
    size_t n_top;
    bool first, stepped;
    vug_status st;
    vug_err err;
} scorer;

bool vug_spell_logprob(const vug_tokenizer *tokenizer, const vug_logprob *token,
                       const vug_logprob *top, size_t n_top, vug_buf *to, vug_api_token *room,
                       vug_api_logprob *out)
{
    size_t from[VUG_MAX_TOP_LOGPROBS + 2] = { 0 };
    for (size_t i = 0; i <= n_top; i++) {
        vug_text text = { 0 };
        const int32_t id = i ? top[i - 1].token : token->token;
        if (vug_tokenizer_bytes(tokenizer, id, &text, NULL) == VUG_OK)
            vug_buf_append(to, text.ptr, text.len);
        vug_text_release(&text);
        from[i + 1] = to->len;
    }
    if (to->bad)
        return false;
    const char *bytes = to->ptr ? to->ptr : "";
    for (size_t i = 0; i < n_top; i++)
        room[i] = (vug_api_token){ { bytes + from[i + 1], from[i + 2] - from[i + 1] },
                                   top[i].logprob,
                                   vug_tokenizer_is_special(tokenizer, top[i].token) };
    out->token = (vug_api_token){ { bytes, from[1] },
                                  token->logprob,
                                  vug_tokenizer_is_special(tokenizer, token->token) };
    out->top = room;
    out->n_top = n_top;
    return true;
}

/* ---- a row of logits ---------------------------------------------------------------- */

static double log_sum(const float *logit, size_t n)
{
    float most = logit[0];
    double sum = 0;
    for (size_t i = 1; i < n; i++)
        most = logit[i] > most ? logit[i] : most;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)(logit[i] - most));
    return (double)most + log(sum);
}

/* The best ones, by insertion: there are at most 20. Among equals the lower id. */
static void find_top(scorer *s, const float *logit, size_t n, double total)
{
    size_t have = 0;
    for (size_t i = 0; i < n && s->n_top; i++) {
        if (have == s->n_top && logit[i] <= s->top[have - 1].logprob)
            continue;
        size_t at = have < s->n_top ? have++ : have - 1;
        for (; at > 0 && s->top[at - 1].logprob < logit[i]; at--)
            s->top[at] = s->top[at - 1];
        s->top[at] = (vug_logprob){ (int32_t)i, logit[i] };
    }
    for (size_t i = 0; i < have; i++)
        s->top[i].logprob = (float)((double)s->top[i].logprob - total);
}

/* ---- tokens ------------------------------------------------------------------------- */

/* A special token is text where the prompt spells it; what the tokenizer has put in front, or a
 * list of tokens has, is not. */
static bool is_text(const scorer *s, int32_t id)
{
    const vug_tokenizer *tokenizer = s->speech->asked->service->tokenizer;
    const char *spelled = vug_tokenizer_token(tokenizer, id, NULL);
    return !vug_tokenizer_is_special(tokenizer, id) ||
           (spelled && vug_str_starts(s->given, spelled));
}

static void put_text(scorer *s, const char *text, size_t len)
{
    if (s->speech->text->logprobs)
        vug_text_choice_echo(s->speech->text, text, len);
    else
        vug_buf_append(&s->plain, text, len);
}

static vug_status put(scorer *s, int32_t id, float logprob)
{
    vug_speech *speech = s->speech;
    const vug_logprob token = { id, logprob };
    const bool shown = is_text(s, id);
    vug_api_logprob out = { .is_first = s->first };
    const char *text;
    size_t len;
    speech->spelled.len = 0;
    if (speech->text->logprobs) {
        if (!vug_spell_logprob(speech->asked->service->tokenizer, &token, s->top,
                               s->first ? 0 : s->n_top, &speech->spelled, speech->room, &out))
            return VUG_FAIL_NOMEM(&s->err, "log-probabilities", 0);
        out.token.is_control = !shown;
        vug_text_choice_logprob(speech->text, &out);
    }
    s->first = false;
    if (!shown)
        return VUG_OK;
    VUG_TRY(vug_decoder_push(s->decoder, id, &text, &len, &s->err));
    put_text(s, text, len);
    const size_t n = len < s->given.len ? len : s->given.len;
    if (n > 0)
        s->given = (vug_str){ s->given.ptr + n, s->given.len - n };
    return VUG_OK;
}

/* Row t foretells token t + 1. */
static bool on_step(const vug_step *step, void *user)
{
    scorer *s = user;
    s->stepped = true;
    const vug_service *service = s->speech->asked->service;
    const size_t n_vocab = (size_t)service->info.n_vocab;
    size_t usable = (size_t)vug_tokenizer_size(service->tokenizer);
    if (usable > n_vocab)
        usable = n_vocab;
    const int64_t first = step->first + step->n - step->n_logits;
    for (int64_t t = 0; t < step->n_logits && s->st == VUG_OK; t++) {
        const float *logit = step->logits + (size_t)t * n_vocab;
        const size_t next = (size_t)(first + t + 1);
        if (next >= s->prompt->n)
            break;
        const int32_t id = s->prompt->id[next];
        const double total = log_sum(logit, usable);
        find_top(s, logit, usable, total);
        s->st = put(s, id, (float)((double)logit[id] - total));
    }
    return s->st == VUG_OK && vug_speech_send(s->speech) &&
           !vug_worker_is_gone(&s->speech->asked->job);
}

static vug_status attempt(scorer *s, vug_kept_session *kept)
{
    vug_asked *a = s->speech->asked;
    const vug_forward_options how = {
        .chunk = ROWS, .all_logits = true, .on_step = on_step, .user = s
    };
    if (!vug_worker_enter(&a->job, kept->session))
        return VUG_FAIL(&s->err, VUG_CANCELLED, "the client has left");
    const vug_status st =
            vug_session_forward(kept->session, s->prompt->id, s->prompt->n, &how, &s->err);
    kept->cancelled = vug_worker_leave(&a->job);
    return st;
}

static vug_status score(scorer *s)
{
    vug_asked *a = s->speech->asked;
    const vug_tokens *prompt = s->prompt;
    vug_kept_session *kept;
    VUG_TRY(vug_asked_session(a, prompt, &kept, &s->err));
    const bool was_told = kept->cancelled;
    vug_status st = attempt(s, kept);
    if (st == VUG_CANCELLED && was_told && !s->stepped)
        st = attempt(s, kept); /* perhaps that was meant for the one before */
    if (st == VUG_OK && s->st == VUG_OK && vug_worker_is_gone(&a->job))
        st = VUG_FAIL(&s->err, VUG_CANCELLED, "the client has left");
    return st == VUG_OK ? s->st : st;
}

vug_status vug_echo(vug_speech *speech, const vug_tokens *prompt, vug_str given, vug_err *err)
{
    vug_asked *a = speech->asked;
    scorer s = { .speech = speech, .prompt = prompt, .given = given, .first = true };
    const char *text;
    size_t len;
    s.n_top = a->request.logprobs ? (size_t)a->request.top_logprobs : 0;
    VUG_TRY(vug_decoder_create(a->service->tokenizer, false, &s.decoder, err));
    s.st = put(&s, prompt->id[0], 0);
    if (s.st == VUG_OK && a->request.logprobs)
        s.st = score(&s);
    for (size_t i = 1; i < prompt->n && s.st == VUG_OK && !a->request.logprobs; i++)
        s.st = put(&s, prompt->id[i], 0);
    if (s.st == VUG_OK)
        s.st = vug_decoder_finish(s.decoder, &text, &len, &s.err);
    if (s.st == VUG_OK)
        put_text(&s, text, len);
    if (s.st == VUG_OK)
        s.st = vug_buf_ok(&s.plain, &s.err);
    if (s.st == VUG_OK)
        vug_text_choice_echo(speech->text, s.plain.ptr, s.plain.len);
    vug_decoder_destroy(s.decoder);
    vug_buf_release(&s.plain);
    if (s.st != VUG_OK && err)
        *err = s.err;
    return s.st;
}
