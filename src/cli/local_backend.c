#include "cli/local_backend.h"

#include <string.h>

#include "cli/grammar_options.h"
#include "cli/interrupt.h"
#include "cli/sampling_options.h"

static const char *const finish_name[] = {
    [VUG_FINISH_STOP] = "stop",
    [VUG_FINISH_LENGTH] = "length",
    [VUG_FINISH_CALLBACK] = "callback",
    [VUG_FINISH_CANCELLED] = "cancelled",
};

/* Opens the chat template and checks that it supports the options. */
static vug_status open_chat(vug_local_backend *b, vug_err *err)
{
    const vug_options *opt = b->opt;
    if (opt->raw)
        return VUG_OK;
    VUG_TRY(vug_prompt_options_init(&b->prompt_options, opt, err));
    if (opt->chat_template)
        VUG_TRY(vug_chat_open(vug_model_describe(b->model).path, opt->chat_template, &b->own_chat,
                              err));
    b->chat = b->own_chat ? b->own_chat : vug_model_chat(b->model, err);
    if (!b->chat)
        return VUG_UNSUPPORTED;
    if (opt->tools && !vug_chat_supports_tools(b->chat))
        return VUG_FAIL(err, VUG_UNSUPPORTED, "%s: this chat template does not support tools",
                        vug_chat_source(b->chat));
    return VUG_OK;
}

vug_status vug_local_backend_init(vug_local_backend *b, vug_ui *ui, const vug_options *opt,
                                  const vug_model *model, vug_err *err)
{
    *b = (vug_local_backend){
        .ui = ui, .opt = opt, .model = model, .printer = { .ui = ui, .silent = opt->json }
    };
    VUG_TRY(vug_sampling_from_options(opt, model, &b->arena, &b->sampling, err));
    b->first_seed = b->next_seed = b->sampling.seed;
    VUG_TRY(open_chat(b, err));
    return vug_grammar_from_options(opt, model, b->chat, &b->prompt_options.tools, &b->grammar,
                                    err);
}

void vug_local_backend_release(vug_local_backend *b)
{
    vug_generation_release(&b->last);
    vug_response_printer_release(&b->printer);
    vug_grammar_destroy(b->grammar);
    vug_chat_close(b->own_chat);
    vug_prompt_options_release(&b->prompt_options);
    vug_arena_release(&b->arena);
    *b = (vug_local_backend){ 0 };
}

/* ---- responses ------------------------------------------------------------- */

static vug_token_logprob token_logprob(const vug_local_backend *b, int32_t id, float logprob)
{
    size_t len = 0;
    const char *text = vug_tokenizer_token(vug_model_tokenizer(b->model, NULL), id, &len);
    return (vug_token_logprob){ id, { text ? text : "", len }, (double)logprob };
}

static void print_logprobs(vug_local_backend *b, const vug_piece *piece)
{
    const vug_token_logprob token = token_logprob(b, piece->token, piece->logprob);
    vug_token_logprob top[VUG_MAX_TOP_LOGPROBS];
    for (size_t i = 0; i < piece->n_top; i++)
        top[i] = token_logprob(b, piece->top[i].token, piece->top[i].logprob);
    vug_response_printer_add_logprob(&b->printer, &token, top, piece->n_top);
}

static bool on_piece(const vug_piece *piece, void *user)
{
    vug_local_backend *b = user;
    if (b->opt->given[VUG_OPTION_logprobs] && piece->token >= 0)
        print_logprobs(b, piece);
    if (!b->parser)
        return vug_response_printer_write(&b->printer, piece->text, piece->len);
    return !b->ui->out_errno;
}

static vug_status generate_chat_response(vug_local_backend *b, const vug_conversation *conversation,
                                         const vug_prompt *prompt, vug_generate_options options,
                                         vug_generation *out, vug_err *err)
{
    const vug_tokenizer *tokenizer = vug_model_tokenizer(b->model, err);
    vug_tokens tokens = { 0 };
    vug_chat_marks marks = { 0 };
    if (!tokenizer)
        return VUG_UNSUPPORTED;
    const vug_response_parser_options parser_options = {
        .chat = b->chat,
        .tokenizer = tokenizer,
        .prompt = prompt,
        .tools = b->prompt_options.tools.ptr,
        .tools_len = b->prompt_options.tools.len,
        .on_part = vug_response_printer_on_part,
        .user = &b->printer,
    };
    VUG_TRY(vug_response_parser_create(&parser_options, &b->parser, err));
    options.parser = b->parser;
    options.thinking_budget = b->prompt_options.thinking;
    vug_status st = vug_prompt_encode(tokenizer, prompt, &tokens, err);
    if (st == VUG_OK)
        st = vug_chat_mark(b->chat, conversation, tokenizer, prompt, tokens.n, &marks, err);
    options.mark = marks.mark;
    options.n_marks = marks.n;
    if (st == VUG_OK)
        st = vug_generate(b->session, tokens.id, tokens.n, &options, out, err);
    if (st == VUG_OK) {
        st = vug_response_parser_finish(b->parser, err);
        if (st != VUG_OK)
            vug_generation_release(out);
    }
    vug_response_parser_destroy(b->parser);
    b->parser = NULL;
    vug_tokens_release(&tokens);
    return st;
}

static vug_status continue_conversation(vug_local_backend *b, const vug_chat_history *history,
                                        const vug_generate_options *options, vug_generation *out,
                                        vug_err *err)
{
    vug_buf messages = { 0 };
    vug_prompt prompt = { 0 };
    vug_buf_puts(&messages, "[");
    vug_buf_append(&messages, history->json.ptr ? history->json.ptr : "", history->json.len);
    vug_buf_puts(&messages, "]");
    vug_status st =
            history->json.bad ? vug_buf_ok(&history->json, err) : vug_buf_ok(&messages, err);
    const vug_str text = { messages.ptr, messages.len };
    const vug_conversation c = vug_prompt_options_conversation(&b->prompt_options, text);
    if (st == VUG_OK)
        st = vug_prompt_options_render(&b->prompt_options, b->chat, text, &prompt, err);
    if (st == VUG_OK)
        st = generate_chat_response(b, &c, &prompt, *options, out, err);
    vug_prompt_release(&prompt);
    vug_buf_release(&messages);
    return st;
}

static vug_status generate_response(void *self, const vug_chat_history *history, const vug_str *raw,
                                    bool *interrupted, vug_err *err)
{
    vug_local_backend *b = self;
    vug_generation *out = &b->last;
    b->sampling.seed = b->next_seed;
    const vug_generate_options options = {
        .max_tokens = b->opt->max_tokens,
        .min_tokens = b->opt->min_tokens,
        .sampling = b->sampling,
        .n_top = b->opt->logprobs,
        .logprobs = b->opt->given[VUG_OPTION_logprobs],
        .ignore_stop = b->opt->ignore_eos,
        .grammar = b->grammar,
        .speculation = vug_options_speculation(b->opt),
        .cancel = &b->cancel,
        .on_piece = on_piece,
        .user = b,
    };
    vug_status st;
    vug_generation_release(out);
    vug_response_printer_begin(&b->printer);
    vug_interrupt_watch(&b->cancel);
    if (raw)
        st = vug_generate_text(b->session, raw->ptr, raw->len, &options, out, err);
    else
        st = continue_conversation(b, history, &options, out, err);
    vug_interrupt_watch(NULL);
    vug_response_printer_end(&b->printer);
    if (st == VUG_OK) {
        b->next_seed++;
        *interrupted = out->finish == VUG_FINISH_CANCELLED;
    }
    return st;
}

static void reset_conversation(void *self)
{
    vug_local_backend *b = self;
    b->next_seed = b->first_seed;
}

/* ---- statistics ------------------------------------------------------------ */

static double per_second(double n, double seconds)
{
    return seconds > 0 ? n / seconds : 0;
}

static double prompt_speed(const vug_generation *g)
{
    return per_second((double)(g->n_prompt - g->n_cached), g->prompt_s);
}

/* The first token comes from the prompt's logits, so n tokens take n - 1 steps, and the stop
 * token takes one more. */
static double decode_speed(const vug_generation *g)
{
    const size_t steps = g->tokens.n + (g->finish == VUG_FINISH_STOP);
    return steps > 1 ? per_second((double)(steps - 1), g->decode_s) : 0;
}

static void print_stats(const void *self)
{
    const vug_local_backend *b = self;
    const vug_generation *g = &b->last;
    const vug_style *style = &b->ui->err;
    (void)fprintf(stderr, "%sprompt %zu tokens", style->dim, g->n_prompt);
    if (g->n_cached)
        (void)fprintf(stderr, " (%zu cached)", g->n_cached);
    if (g->n_prompt > g->n_cached)
        (void)fprintf(stderr, ", %.1f tokens/s", prompt_speed(g));
    (void)fprintf(stderr, "; answer %zu tokens, %.1f tokens/s", g->tokens.n, decode_speed(g));
    if (g->n_drafted)
        (void)fprintf(stderr, " (%zu of %zu drafts accepted)", g->n_accepted, g->n_drafted);
    if (g->finish == VUG_FINISH_LENGTH)
        (void)fputs("; stopped at the length limit", stderr);
    if (g->finish == VUG_FINISH_CANCELLED)
        (void)fputs("; interrupted", stderr);
    (void)fprintf(stderr, "%s\n", style->off);
}

static void write_json(const void *self, vug_json_writer *js)
{
    const vug_local_backend *b = self;
    const vug_generation *g = &b->last;
    vug_json_begin(js, NULL, '{');
    vug_json_put_text(js, "text", g->text.ptr ? g->text.ptr : "", g->text.len);
    if (b->chat)
        vug_response_printer_write_json(&b->printer, js);
    vug_json_put_i32s(js, "tokens", g->tokens.id, g->tokens.n);
    vug_json_put_string(js, "finish", finish_name[g->finish]);
    vug_json_put_u64(js, "prompt_tokens", g->n_prompt);
    vug_json_put_u64(js, "cached_tokens", g->n_cached);
    vug_json_put_u64(js, "drafted_tokens", g->n_drafted);
    vug_json_put_u64(js, "accepted_tokens", g->n_accepted);
    vug_json_put_u64(js, "seed", b->sampling.seed);
    if (b->opt->given[VUG_OPTION_logprobs])
        vug_response_printer_write_logprobs(&b->printer, js);
    vug_json_begin(js, "timings", '{');
    vug_json_put_f64(js, "load_s", b->load_s);
    vug_json_put_f64(js, "prompt_s", g->prompt_s);
    vug_json_put_f64(js, "decode_s", g->decode_s);
    vug_json_put_f64(js, "prompt_tokens_per_s", prompt_speed(g));
    vug_json_put_f64(js, "decode_tokens_per_s", decode_speed(g));
    vug_json_end(js, '}');
    vug_json_end(js, '}');
}

vug_chat_backend vug_local_backend_interface(vug_local_backend *b)
{
    return (vug_chat_backend){
        .self = b,
        .printer = &b->printer,
        .opt = b->opt,
        .generate = generate_response,
        .print_stats = print_stats,
        .write_json = write_json,
        .reset = reset_conversation,
    };
}
