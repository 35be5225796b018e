#include <math.h>

#include "core/os.h"
#include "server/respond.h"

/* Prompts with the log-probability of each token: echoed, or as a list. */

enum { ROWS = 32 }; /* of logits at a time: 32 MiB for a vocabulary of 262,144 */

typedef struct {
    vug_server_response *response;
    const vug_tokens *prompt;
    vug_str text; /* of the prompt, what is not echoed yet */
    vug_decoder *decoder;
    vug_buf echo;  /* text without log-probabilities, sent as a whole */
    vug_buf *list; /* of prompt_logprobs; NULL: the prompt is echoed */
    vug_logprob top[VUG_MAX_TOP_LOGPROBS];
    size_t n_top;
    bool is_first;
    vug_status st;
    vug_err err;
} prompt_scorer;

/* ---- a row of logits ---------------------------------------------------------------- */

static double log_sum_exp(const float *logit, size_t n)
{
    float most = logit[0];
    double sum = 0;
    for (size_t i = 1; i < n; i++)
        most = logit[i] > most ? logit[i] : most;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)(logit[i] - most));
    return (double)most + log(sum);
}

/* The best tokens, by insertion: there are at most 20. Ties go to the lower id. */
static void find_top_tokens(prompt_scorer *s, const float *logit, size_t n, double total)
{
    size_t n_found = 0;
    for (size_t i = 0; i < n && s->n_top; i++) {
        if (n_found == s->n_top && logit[i] <= s->top[n_found - 1].logprob)
            continue;
        size_t at = n_found < s->n_top ? n_found++ : n_found - 1;
        for (; at > 0 && s->top[at - 1].logprob < logit[i]; at--)
            s->top[at] = s->top[at - 1];
        s->top[at] = (vug_logprob){ (int32_t)i, logit[i] };
    }
    for (size_t i = 0; i < n_found; i++)
        s->top[i].logprob = (float)((double)s->top[i].logprob - total);
}

/* ---- tokens ------------------------------------------------------------------------- */

/* A special token is text if the prompt's text spells it, but not if the tokenizer added it or the
 * prompt is a list of tokens. */
static bool is_text_token(const prompt_scorer *s, int32_t id)
{
    const vug_tokenizer *tokenizer = s->response->request->service->tokenizer;
    const char *spelling = vug_tokenizer_token(tokenizer, id, NULL);
    return !vug_tokenizer_is_special(tokenizer, id) ||
           (spelling && vug_str_starts(s->text, spelling));
}

static void echo_text(prompt_scorer *s, const char *text, size_t len)
{
    if (s->response->completion->logprobs)
        vug_completion_choice_echo(s->response->completion, text, len);
    else
        vug_buf_append(&s->echo, text, len);
}

static vug_status echo_token(prompt_scorer *s, int32_t id, float logprob)
{
    vug_completion_choice *choice = s->response->completion;
    const vug_logprob token = { id, logprob };
    const bool is_text = is_text_token(s, id);
    vug_api_logprob out = { .is_first = s->is_first };
    const char *text;
    size_t len;
    if (choice->logprobs) {
        if (!vug_server_describe_logprob(s->response, &token, s->top, s->is_first ? 0 : s->n_top,
                                         &out))
            return VUG_FAIL_NOMEM(&s->err, "log-probabilities", 0);
        out.token.is_control = !is_text;
        vug_completion_choice_logprob(choice, &out);
    }
    s->is_first = false;
    if (!is_text)
        return VUG_OK;
    VUG_TRY(vug_decoder_push(s->decoder, id, &text, &len, &s->err));
    echo_text(s, text, len);
    const size_t n = len < s->text.len ? len : s->text.len;
    if (n > 0)
        s->text = (vug_str){ s->text.ptr + n, s->text.len - n };
    return VUG_OK;
}

/* A token of prompt_logprobs. `rank` counts from 1. */
static vug_status list_token(prompt_scorer *s, int32_t id, float logprob, size_t rank)
{
    const vug_logprob token = { id, logprob };
    vug_api_logprob out = { .is_first = s->is_first };
    if (!s->is_first && !vug_server_describe_logprob(s->response, &token, s->top, s->n_top, &out))
        return VUG_FAIL_NOMEM(&s->err, "log-probabilities", 0);
    s->is_first = false;
    vug_api_add_prompt_logprob(&out, rank, s->list);
    return VUG_OK;
}

static size_t count_above(const float *logit, size_t n, float value)
{
    size_t above = 0;
    for (size_t i = 0; i < n; i++)
        above += logit[i] > value;
    return above;
}

/* ---- scoring ------------------------------------------------------------------------ */

/* Row t predicts token t + 1. */
static bool on_step(const vug_step *step, void *user)
{
    prompt_scorer *s = user;
    const vug_service *service = s->response->request->service;
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
        const double total = log_sum_exp(logit, usable);
        find_top_tokens(s, logit, usable, total);
        const float logprob = (float)((double)logit[id] - total);
        s->st = s->list ? list_token(s, id, logprob, count_above(logit, usable, logit[id]) + 1)
                        : echo_token(s, id, logprob);
    }
    vug_server_request *request = s->response->request;
    vug_mutex_lock(request->lock);
    const bool sent = vug_server_response_flush(s->response);
    vug_mutex_unlock(request->lock);
    return s->st == VUG_OK && sent && !vug_job_is_cancelled(&request->job);
}

static vug_status score_prompt(prompt_scorer *s)
{
    vug_server_request *request = s->response->request;
    const vug_forward_options options = { .chunk = ROWS,
                                          .all_logits = true,
                                          .priority = request->job.priority,
                                          .cancel = &request->job.cancel,
                                          .on_step = on_step,
                                          .user = s };
    VUG_TRY(vug_server_response_session(s->response, &s->err));
    const double start = vug_now();
    vug_status st = vug_session_forward(s->response->session, s->prompt->id, s->prompt->n, &options,
                                        &s->err);
    vug_mutex_lock(request->lock);
    request->usage.prompt_s += vug_now() - start;
    vug_mutex_unlock(request->lock);
    if (st == VUG_OK && s->st == VUG_OK && vug_job_is_cancelled(&request->job))
        st = VUG_FAIL(&s->err, VUG_CANCELLED, "the client has disconnected");
    return st == VUG_OK ? s->st : st;
}

static vug_status echo_prompt(prompt_scorer *s)
{
    const bool scored = s->response->completion->logprobs;
    const char *text;
    size_t len;
    VUG_TRY(echo_token(s, s->prompt->id[0], 0));
    if (scored)
        VUG_TRY(score_prompt(s));
    for (size_t i = 1; i < s->prompt->n && !scored; i++)
        VUG_TRY(echo_token(s, s->prompt->id[i], 0));
    VUG_TRY(vug_decoder_finish(s->decoder, &text, &len, &s->err));
    echo_text(s, text, len);
    VUG_TRY(vug_buf_ok(&s->echo, &s->err));
    return VUG_OK;
}

vug_status vug_server_echo_prompt(vug_server_response *response, const vug_tokens *prompt,
                                  vug_str text, vug_err *err)
{
    const vug_server_request *request = response->request;
    prompt_scorer s = { .response = response, .prompt = prompt, .text = text, .is_first = true };
    s.n_top = request->api.logprobs ? (size_t)request->api.top_logprobs : 0;
    VUG_TRY(vug_decoder_create(request->service->tokenizer, false, &s.decoder, err));
    const vug_status st = echo_prompt(&s);
    if (st == VUG_OK)
        vug_server_response_echo(response, s.echo.ptr, s.echo.len);
    vug_decoder_destroy(s.decoder);
    vug_buf_release(&s.echo);
    if (st != VUG_OK && err)
        *err = s.err;
    return st;
}

vug_status vug_server_list_prompt_logprobs(vug_server_response *response, const vug_tokens *prompt,
                                           vug_buf *list, vug_err *err)
{
    const vug_api_request *r = &response->request->api;
    prompt_scorer s = { .response = response,
                        .prompt = prompt,
                        .list = list,
                        .n_top = (size_t)r->number[VUG_FIELD_prompt_logprobs],
                        .is_first = true };
    vug_status st = list_token(&s, prompt->id[0], 0, 0);
    if (st == VUG_OK)
        st = score_prompt(&s);
    if (st != VUG_OK && err)
        *err = s.err;
    return st;
}
