#include "app/answer.h"

#include <string.h>

#include "app/interrupt.h"

static const char *const finish_name[] = {
    [VUG_FINISH_STOP] = "stop",
    [VUG_FINISH_LENGTH] = "length",
    [VUG_FINISH_CALLBACK] = "callback",
    [VUG_FINISH_CANCELLED] = "cancelled",
};

/* The template of the conversation, and whether it can do what is asked. */
static vug_status open_chat(vug_answerer *a, vug_err *err)
{
    const vug_options *opt = a->opt;
    if (opt->raw)
        return VUG_OK;
    VUG_TRY(vug_setting_init(&a->setting, opt, err));
    if (opt->chat_template)
        VUG_TRY(vug_chat_open(vug_model_describe(a->model).path, opt->chat_template, &a->own, err));
    a->chat = a->own ? a->own : vug_model_chat(a->model, err);
    if (!a->chat)
        return VUG_UNSUPPORTED;
    if (opt->tools && !vug_chat_prints_tools(a->chat))
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "%s: this chat template does not tell the model of tools",
                        vug_chat_source(a->chat));
    return VUG_OK;
}

vug_status vug_answerer_init(vug_answerer *a, vug_ui *ui, const vug_options *opt,
                             const vug_model *model, vug_err *err)
{
    *a = (vug_answerer){
        .ui = ui, .opt = opt, .model = model, .shown = { .ui = ui, .silent = opt->json }
    };
    VUG_TRY(vug_sampling_of(opt, model, &a->arena, &a->sampling, err));
    a->first_seed = a->next_seed = a->sampling.seed;
    VUG_TRY(open_chat(a, err));
    return vug_form_of(a, &a->grammar, err);
}

void vug_answerer_release(vug_answerer *a)
{
    vug_generation_release(&a->last);
    vug_shown_release(&a->shown);
    vug_grammar_destroy(a->grammar);
    vug_chat_close(a->own);
    vug_setting_release(&a->setting);
    vug_arena_release(&a->arena);
    *a = (vug_answerer){ 0 };
}

/* ---- one answer ------------------------------------------------------------ */

static vug_shown_token spelled(const vug_answerer *a, int32_t id, float logprob)
{
    size_t len = 0;
    const char *text = vug_tokenizer_token(vug_model_tokenizer(a->model, NULL), id, &len);
    return (vug_shown_token){ id, { text ? text : "", len }, (double)logprob };
}

static void show_logprobs(vug_answerer *a, const vug_piece *piece)
{
    const vug_shown_token token = spelled(a, piece->token, piece->logprob);
    vug_shown_token top[VUG_MAX_TOP_LOGPROBS];
    for (size_t i = 0; i < piece->n_top; i++)
        top[i] = spelled(a, piece->top[i].token, piece->top[i].logprob);
    vug_shown_logprob(&a->shown, &token, top, piece->n_top);
}

static bool on_piece(const vug_piece *piece, void *user)
{
    vug_answerer *a = user;
    if (a->opt->given[VUG_OPTION_logprobs] && piece->token >= 0)
        show_logprobs(a, piece);
    if (!a->reply)
        return vug_shown_text(&a->shown, piece->text, piece->len);
    return !a->ui->out_errno;
}

static vug_status generate(vug_answerer *a, const vug_prompt *prompt, vug_generate_options how,
                           vug_generation *out, vug_err *err)
{
    const vug_tokenizer *tokenizer = vug_model_tokenizer(a->model, err);
    vug_tokens tokens = { 0 };
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    const vug_reply_options taking = {
        .chat = a->chat,
        .tokenizer = tokenizer,
        .prompt = prompt,
        .tools = a->setting.tools.ptr,
        .tools_len = a->setting.tools.len,
        .on_part = vug_shown_part,
        .user = &a->shown,
    };
    VUG_TRY(vug_reply_create(&taking, &a->reply, err));
    how.reply = a->reply;
    how.thinking_budget = a->setting.thinking;
    vug_status st = vug_prompt_encode(tokenizer, prompt, &tokens, err);
    if (st == VUG_OK)
        st = vug_generate(a->session, tokens.id, tokens.n, &how, out, err);
    if (st == VUG_OK) {
        st = vug_reply_finish(a->reply, err);
        if (st != VUG_OK)
            vug_generation_release(out);
    }
    vug_reply_destroy(a->reply);
    a->reply = NULL;
    vug_tokens_release(&tokens);
    return st;
}

static vug_status converse(vug_answerer *a, const vug_talk *talk, const vug_generate_options *how,
                           vug_generation *out, vug_err *err)
{
    vug_buf messages = { 0 };
    vug_prompt prompt = { 0 };
    vug_buf_puts(&messages, "[");
    vug_buf_append(&messages, talk->json.ptr ? talk->json.ptr : "", talk->json.len);
    vug_buf_puts(&messages, "]");
    vug_status st = talk->json.bad ? vug_buf_ok(&talk->json, err) : vug_buf_ok(&messages, err);
    if (st == VUG_OK)
        st = vug_setting_render(&a->setting, a->chat, (vug_str){ messages.ptr, messages.len },
                                &prompt, err);
    if (st == VUG_OK)
        st = generate(a, &prompt, *how, out, err);
    vug_prompt_release(&prompt);
    vug_buf_release(&messages);
    return st;
}

static vug_status answer(void *self, const vug_talk *talk, const vug_str *raw, bool *interrupted,
                         vug_err *err)
{
    vug_answerer *a = self;
    vug_generation *out = &a->last;
    a->sampling.seed = a->next_seed;
    const vug_generate_options how = {
        .max_tokens = a->opt->max_tokens,
        .sampling = a->sampling,
        .n_top = a->opt->logprobs,
        .logprobs = a->opt->given[VUG_OPTION_logprobs],
        .ignore_stop = a->opt->ignore_eos,
        .grammar = a->grammar,
        .on_piece = on_piece,
        .user = a,
    };
    vug_status st;
    vug_generation_release(out);
    vug_shown_begin(&a->shown);
    vug_interrupt_watch(a->session);
    if (raw)
        st = vug_generate_text(a->session, raw->ptr, raw->len, &how, out, err);
    else
        st = converse(a, talk, &how, out, err);
    vug_interrupt_watch(NULL);
    vug_shown_end(&a->shown);
    if (st == VUG_OK) {
        a->next_seed++;
        *interrupted = out->finish == VUG_FINISH_CANCELLED;
    }
    return st;
}

static void reset(void *self)
{
    vug_answerer *a = self;
    vug_session_reset(a->session);
    a->next_seed = a->first_seed;
}

/* ---- what it took ---------------------------------------------------------- */

static double per_second(double n, double seconds)
{
    return seconds > 0 ? n / seconds : 0;
}

static double prompt_speed(const vug_generation *g)
{
    return per_second((double)(g->n_prompt - g->n_cached), g->prompt_s);
}

/* The prompt's logits gave the first token, so n tokens took n - 1 steps, and
 * one more when that step gave the stop token. */
static double decode_speed(const vug_generation *g)
{
    const size_t steps = g->tokens.n + (g->finish == VUG_FINISH_STOP);
    return steps > 1 ? per_second((double)(steps - 1), g->decode_s) : 0;
}

static void figures(const void *self)
{
    const vug_answerer *a = self;
    const vug_generation *g = &a->last;
    const vug_style *style = &a->ui->err;
    (void)fprintf(stderr, "%sprompt %zu tokens", style->dim, g->n_prompt);
    if (g->n_cached)
        (void)fprintf(stderr, " (%zu cached)", g->n_cached);
    if (g->n_prompt > g->n_cached)
        (void)fprintf(stderr, ", %.1f tokens/s", prompt_speed(g));
    (void)fprintf(stderr, "; answer %zu tokens, %.1f tokens/s", g->tokens.n, decode_speed(g));
    if (g->finish == VUG_FINISH_LENGTH)
        (void)fputs("; stopped at the length limit", stderr);
    if (g->finish == VUG_FINISH_CANCELLED)
        (void)fputs("; interrupted", stderr);
    (void)fprintf(stderr, "%s\n", style->off);
}

static void json(const void *self, vug_js *js)
{
    const vug_answerer *a = self;
    const vug_generation *g = &a->last;
    vug_js_open(js, NULL, '{');
    vug_js_text(js, "text", g->text.ptr ? g->text.ptr : "", g->text.len);
    if (a->chat)
        vug_shown_json(&a->shown, js);
    vug_js_ids(js, "tokens", g->tokens.id, g->tokens.n);
    vug_js_str(js, "finish", finish_name[g->finish]);
    vug_js_u64(js, "prompt_tokens", g->n_prompt);
    vug_js_u64(js, "cached_tokens", g->n_cached);
    vug_js_u64(js, "seed", a->sampling.seed);
    if (a->opt->given[VUG_OPTION_logprobs])
        vug_shown_logprobs_json(&a->shown, js);
    vug_js_open(js, "timings", '{');
    vug_js_f64(js, "load_s", a->load_s);
    vug_js_f64(js, "prompt_s", g->prompt_s);
    vug_js_f64(js, "decode_s", g->decode_s);
    vug_js_f64(js, "prompt_tokens_per_s", prompt_speed(g));
    vug_js_f64(js, "decode_tokens_per_s", decode_speed(g));
    vug_js_close(js, '}');
    vug_js_close(js, '}');
}

vug_partner vug_answerer_partner(vug_answerer *a)
{
    return (vug_partner){
        .self = a,
        .shown = &a->shown,
        .opt = a->opt,
        .answer = answer,
        .figures = figures,
        .json = json,
        .reset = reset,
    };
}
