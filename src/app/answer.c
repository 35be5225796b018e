#include "app/answer.h"

#include <string.h>

#include "app/interrupt.h"
#include "core/json.h"

static const char *const finish_name[] = {
    [VUG_FINISH_STOP] = "stop",
    [VUG_FINISH_LENGTH] = "length",
    [VUG_FINISH_CALLBACK] = "callback",
    [VUG_FINISH_CANCELLED] = "cancelled",
};

vug_status vug_answerer_init(vug_answerer *a, vug_ui *ui, const vug_options *opt,
                             const vug_model *model, vug_err *err)
{
    *a = (vug_answerer){ .ui = ui, .opt = opt, .model = model };
    return vug_sampling_of(opt, model, &a->arena, &a->sampling, err);
}

void vug_answerer_release(vug_answerer *a)
{
    vug_arena_release(&a->arena);
    vug_buf_release(&a->logprobs.buf);
    *a = (vug_answerer){ 0 };
}

/* ---- log-probabilities ----------------------------------------------------- */

/* A token as a JSON string: quotes and escapes also serve a person's eye. */
static void spell(const vug_answerer *a, int32_t id, vug_buf *to)
{
    size_t len = 0;
    const vug_tokenizer *tokenizer = vug_model_tokenizer(a->model, NULL);
    const char *text = vug_tokenizer_token(tokenizer, id, &len);
    vug_json_write_string(to, text ? text : "", len);
}

static void logprob_json(const vug_answerer *a, vug_js *js, int32_t id, float logprob)
{
    vug_buf token = { 0 };
    spell(a, id, &token);
    vug_js_int(js, "id", id);
    vug_js_raw(js, "token", token.ptr ? token.ptr : "null", token.ptr ? token.len : 4);
    vug_js_f64(js, "logprob", (double)logprob);
    vug_buf_release(&token);
}

static void keep_logprobs(vug_answerer *a, const vug_piece *piece)
{
    vug_js *js = &a->logprobs;
    vug_js_open(js, NULL, '{');
    logprob_json(a, js, piece->token, piece->logprob);
    vug_js_open(js, "top", '[');
    for (size_t i = 0; i < piece->n_top; i++) {
        vug_js_open(js, NULL, '{');
        logprob_json(a, js, piece->top[i].token, piece->top[i].logprob);
        vug_js_close(js, '}');
    }
    vug_js_close(js, ']');
    vug_js_close(js, '}');
}

static void print_logprobs(const vug_answerer *a, const vug_piece *piece)
{
    vug_buf line = { 0 };
    vug_buf_printf(&line, "%8d %9.4f ", (int)piece->token, (double)piece->logprob);
    spell(a, piece->token, &line);
    for (size_t i = 0; i < piece->n_top; i++) {
        vug_buf_printf(&line, "%s%9.4f ", i ? "" : "  |", (double)piece->top[i].logprob);
        spell(a, piece->top[i].token, &line);
    }
    (void)fprintf(stderr, "%s%s%s\n", a->ui->err.dim, line.ptr ? line.ptr : "", a->ui->err.off);
    vug_buf_release(&line);
}

/* ---- one answer ------------------------------------------------------------ */

static bool on_piece(const vug_piece *piece, void *user)
{
    vug_answerer *a = user;
    if (a->opt->given[VUG_OPTION_logprobs] && piece->token >= 0) {
        if (a->opt->json)
            keep_logprobs(a, piece);
        else
            print_logprobs(a, piece);
    }
    if (a->opt->json || piece->len == 0)
        return true;
    a->last = piece->text[piece->len - 1];
    return vug_ui_text(a->ui, piece->text, piece->len);
}

vug_status vug_answer(vug_answerer *a, const vug_conversation *c, const vug_str *raw,
                      vug_generation *out, vug_err *err)
{
    const vug_generate_options how = {
        .max_tokens = a->opt->max_tokens,
        .sampling = a->sampling,
        .n_top = a->opt->logprobs,
        .logprobs = a->opt->given[VUG_OPTION_logprobs],
        .ignore_stop = a->opt->ignore_eos,
        .on_piece = on_piece,
        .user = a,
    };
    vug_status st;
    a->last = '\n';
    vug_interrupt_watch(a->session);
    if (raw)
        st = vug_generate_text(a->session, raw->ptr, raw->len, &how, out, err);
    else
        st = vug_generate_chat(a->session, c->message, c->n, &how, out, err);
    vug_interrupt_watch(NULL);
    if (a->last != '\n') {
        (void)vug_ui_out(a->ui, "\n", 1);
        (void)vug_ui_flush(a->ui);
    }
    return st;
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

void vug_answer_speed(const vug_answerer *a, const vug_generation *g)
{
    const vug_style *style = &a->ui->err;
    if (a->opt->quiet || a->opt->json)
        return;
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

void vug_answer_json(const vug_answerer *a, const vug_generation *g, double load_s, vug_js *js)
{
    vug_js_open(js, NULL, '{');
    vug_js_text(js, "text", g->text.ptr ? g->text.ptr : "", g->text.len);
    vug_js_ids(js, "tokens", g->tokens.id, g->tokens.n);
    vug_js_str(js, "finish", finish_name[g->finish]);
    vug_js_u64(js, "prompt_tokens", g->n_prompt);
    vug_js_u64(js, "cached_tokens", g->n_cached);
    vug_js_u64(js, "seed", a->sampling.seed);
    if (a->opt->given[VUG_OPTION_logprobs]) {
        vug_js_open(js, "logprobs", '[');
        if (a->logprobs.buf.len)
            vug_js_raw(js, NULL, a->logprobs.buf.ptr, a->logprobs.buf.len);
        vug_js_close(js, ']');
    }
    vug_js_open(js, "timings", '{');
    vug_js_f64(js, "load_s", load_s);
    vug_js_f64(js, "prompt_s", g->prompt_s);
    vug_js_f64(js, "decode_s", g->decode_s);
    vug_js_f64(js, "prompt_tokens_per_s", prompt_speed(g));
    vug_js_f64(js, "decode_tokens_per_s", decode_speed(g));
    vug_js_close(js, '}');
    vug_js_close(js, '}');
}
