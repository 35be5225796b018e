#include "cli/remote/chat_request.h"

#include <string.h>

#include "cli/input.h"
#include "cli/sampling_options.h"
#include "core/json.h"
#include "core/json_writer.h"

static const size_t max_file = (size_t)16 << 20; /* bytes */

/* ---- files ----------------------------------------------------------------------------- */

/* The files become part of the request unchanged. */
static vug_status check_json(const char *option, const char *path, const vug_text *text,
                             vug_json_type type, vug_err *err)
{
    vug_arena arena = { 0 };
    const vug_jv *root;
    if (!text->ptr)
        return VUG_OK;
    vug_status st = vug_json_tree((vug_str){ text->ptr, text->len }, vug_input_name(path), &arena,
                                  &root, err);
    if (st == VUG_OK && root->type != type)
        st = VUG_FAIL(err, VUG_ARGUMENT, "%s %s: expected %s", option, path,
                      type == VUG_JSON_ARRAY ? "an array of tools"
                                             : "a JSON schema, which is an object");
    vug_arena_release(&arena);
    return st;
}

vug_status vug_chat_request_init(vug_chat_request *r, const vug_options *opt, vug_err *err)
{
    *r = (vug_chat_request){ .opt = opt, .seed = opt->seed };
    VUG_TRY(vug_prompt_options_init(&r->prompt_options, opt, err));
    if (opt->schema)
        VUG_TRY(vug_input_read(opt->schema, max_file, &r->schema, err));
    if (opt->grammar)
        VUG_TRY(vug_input_read(opt->grammar, max_file, &r->grammar, err));
    VUG_TRY(check_json("--tools", opt->tools, &r->prompt_options.tools, VUG_JSON_ARRAY, err));
    return check_json("--schema", opt->schema, &r->schema, VUG_JSON_OBJECT, err);
}

void vug_chat_request_release(vug_chat_request *r)
{
    vug_prompt_options_release(&r->prompt_options);
    vug_text_release(&r->schema);
    vug_text_release(&r->grammar);
    *r = (vug_chat_request){ 0 };
}

/* ---- JSON ------------------------------------------------------------------------------ */

/* Only fields that the user set are sent, because servers differ in their defaults and in the
 * fields that they accept. */
static void write_if_given(vug_json_writer *js, const vug_options *opt, vug_option option,
                           const char *key, double value)
{
    if (opt->given[option])
        vug_json_put_f64(js, key, value);
}

/* An object that maps token ids to numbers. */
static vug_status write_biases(vug_json_writer *js, const vug_options *opt, vug_err *err)
{
    if (!opt->logit_bias.n)
        return VUG_OK;
    vug_json_begin(js, "logit_bias", '{');
    for (size_t i = 0; i < opt->logit_bias.n; i++) {
        vug_token_bias bias;
        if (!vug_token_bias_parse(opt->logit_bias.item[i], &bias) || bias.id < 0)
            return VUG_FAIL(err, VUG_ARGUMENT, "--logit-bias %s: expected ID=X, such as 106=-100",
                            opt->logit_bias.item[i]);
        vug_json_put_f64(js, bias.key, bias.value);
    }
    vug_json_end(js, '}');
    return VUG_OK;
}

static void write_tools(vug_json_writer *js, const vug_chat_request *r)
{
    const char *choice = r->opt->tool_choice;
    if (r->prompt_options.tools.ptr)
        vug_json_put_raw(js, "tools", r->prompt_options.tools.ptr, r->prompt_options.tools.len);
    if (!choice)
        return;
    if (strcmp(choice, "auto") == 0 || strcmp(choice, "required") == 0 ||
        strcmp(choice, "none") == 0) {
        vug_json_put_string(js, "tool_choice", choice);
        return;
    }
    vug_json_begin(js, "tool_choice", '{');
    vug_json_put_string(js, "type", "function");
    vug_json_begin(js, "function", '{');
    vug_json_put_string(js, "name", choice);
    vug_json_end(js, '}');
    vug_json_end(js, '}');
}

/* OpenAI's API has a field for a schema only. The field for a grammar is llama.cpp's, the one for
 * a regular expression vLLM's. */
static void write_output_constraint(vug_json_writer *js, const vug_chat_request *r)
{
    if (r->schema.ptr) {
        vug_json_begin(js, "response_format", '{');
        vug_json_put_string(js, "type", "json_schema");
        vug_json_begin(js, "json_schema", '{');
        vug_json_put_string(js, "name", "answer");
        vug_json_put_bool(js, "strict", true);
        vug_json_put_raw(js, "schema", r->schema.ptr, r->schema.len);
        vug_json_end(js, '}');
        vug_json_end(js, '}');
    }
    if (r->grammar.ptr)
        vug_json_put_text(js, "grammar", r->grammar.ptr, r->grammar.len);
    if (r->opt->regex) {
        vug_json_begin(js, "structured_outputs", '{');
        vug_json_put_string(js, "regex", r->opt->regex);
        vug_json_end(js, '}');
    }
}

/* The thinking budget has a different name in Qwen's API, vLLM and llama.cpp. */
static void write_thinking(vug_json_writer *js, const vug_prompt_options *p)
{
    static const char *const names[] = { "thinking_budget", "thinking_token_budget",
                                         "thinking_budget_tokens" };
    for (size_t i = 0; p->thinking && i < sizeof(names) / sizeof(names[0]); i++)
        vug_json_put_i64(js, names[i], p->thinking);
    if (p->variables.len)
        vug_json_put_raw(js, "chat_template_kwargs", p->variables.ptr, p->variables.len);
}

static void write_logprobs(vug_json_writer *js, const vug_options *opt)
{
    if (!opt->given[VUG_OPTION_logprobs])
        return;
    if (opt->raw) {
        vug_json_put_i64(js, "logprobs", opt->logprobs);
        return;
    }
    vug_json_put_bool(js, "logprobs", true);
    vug_json_put_i64(js, "top_logprobs", opt->logprobs);
}

static void write_list(vug_json_writer *js, const char *key, const vug_option_list *list)
{
    if (list->n == 0)
        return;
    vug_json_begin(js, key, '[');
    for (size_t i = 0; i < list->n; i++)
        vug_json_put_string(js, NULL, list->item[i]);
    vug_json_end(js, ']');
}

/* These fields have the names of llama.cpp. */
static void write_llama_samplers(vug_json_writer *js, const vug_options *opt)
{
    write_if_given(js, opt, VUG_OPTION_typical_p, "typical_p", opt->typical_p);
    write_if_given(js, opt, VUG_OPTION_top_n_sigma, "top_n_sigma", opt->top_n_sigma);
    write_if_given(js, opt, VUG_OPTION_xtc, "xtc_probability", opt->xtc);
    write_if_given(js, opt, VUG_OPTION_xtc_threshold, "xtc_threshold", opt->xtc_threshold);
    write_if_given(js, opt, VUG_OPTION_repeat_last_n, "repeat_last_n", opt->repeat_last_n);
    write_if_given(js, opt, VUG_OPTION_dry, "dry_multiplier", opt->dry);
    write_if_given(js, opt, VUG_OPTION_dry_base, "dry_base", opt->dry_base);
    write_if_given(js, opt, VUG_OPTION_dry_allowed_length, "dry_allowed_length",
                   opt->dry_allowed_length);
    write_if_given(js, opt, VUG_OPTION_dry_last_n, "dry_penalty_last_n", opt->dry_last_n);
    write_list(js, "dry_sequence_breakers", &opt->dry_breaker);
}

/* max_tokens has a newer name, but many servers silently ignore that. */
static void write_sampling(vug_json_writer *js, const vug_chat_request *r)
{
    const vug_options *opt = r->opt;
    if (opt->max_tokens > 0)
        vug_json_put_i64(js, "max_tokens", opt->max_tokens);
    write_if_given(js, opt, VUG_OPTION_temperature, "temperature", opt->temperature);
    write_if_given(js, opt, VUG_OPTION_top_p, "top_p", opt->top_p);
    write_if_given(js, opt, VUG_OPTION_top_k, "top_k", opt->top_k);
    write_if_given(js, opt, VUG_OPTION_min_p, "min_p", opt->min_p);
    write_llama_samplers(js, opt);
    write_if_given(js, opt, VUG_OPTION_repetition, "repetition_penalty", opt->repetition);
    write_if_given(js, opt, VUG_OPTION_repetition, "repeat_penalty",
                   opt->repetition); /* llama.cpp */
    write_if_given(js, opt, VUG_OPTION_presence, "presence_penalty", opt->presence);
    write_if_given(js, opt, VUG_OPTION_frequency, "frequency_penalty", opt->frequency);
    if (opt->given[VUG_OPTION_seed])
        vug_json_put_u64(js, "seed", r->seed);
    if (opt->ignore_eos)
        vug_json_put_bool(js, "ignore_eos", true);
    if (opt->min_tokens > 0)
        vug_json_put_i64(js, "min_tokens", opt->min_tokens);
    write_list(js, "bad_words", &opt->bad_word);
}

static void write_conversation(vug_json_writer *js, const vug_chat_history *history,
                               const vug_str *raw)
{
    if (raw) {
        vug_json_put_text(js, "prompt", raw->ptr, raw->len);
        return;
    }
    vug_json_begin(js, "messages", '[');
    vug_json_put_raw(js, NULL, history->json.ptr ? history->json.ptr : "", history->json.len);
    vug_json_end(js, ']');
}

vug_status vug_chat_request_write(const vug_chat_request *r, const vug_chat_history *history,
                                  const vug_str *raw, vug_buf *to, vug_err *err)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_text(&js, "model", r->model.ptr, r->model.len);
    write_conversation(&js, history, raw);
    vug_json_put_bool(&js, "stream", true);
    vug_json_begin(&js, "stream_options", '{');
    vug_json_put_bool(&js, "include_usage", true);
    vug_json_end(&js, '}');
    write_sampling(&js, r);
    write_logprobs(&js, r->opt);
    write_tools(&js, r);
    write_output_constraint(&js, r);
    write_thinking(&js, &r->prompt_options);
    vug_status st = write_biases(&js, r->opt, err);
    vug_json_end(&js, '}');
    if (st == VUG_OK)
        st = history->json.bad ? vug_buf_ok(&history->json, err) : vug_buf_ok(to, err);
    return st;
}
