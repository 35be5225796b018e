/* What a server is asked, as JSON: only fields that the user gave, for servers differ in their
 * defaults and in what they take. */
#include <string.h>

#include "app/remote/remote.h"
#include "core/text.h"

static void put_number(vug_js *js, const vug_options *opt, vug_option option, const char *key,
                       double value)
{
    if (opt->given[option])
        vug_js_f64(js, key, value);
}

/* ID=X, as an object from ids to numbers. */
static vug_status put_biases(vug_js *js, const vug_options *opt, vug_err *err)
{
    if (!opt->logit_bias.n)
        return VUG_OK;
    vug_js_open(js, "logit_bias", '{');
    for (size_t i = 0; i < opt->logit_bias.n; i++) {
        const char *text = opt->logit_bias.item[i];
        const size_t len = strcspn(text, "=");
        char id[24] = { 0 };
        int64_t number = -1;
        double value = 0;
        if (len < sizeof(id))
            memcpy(id, text, len);
        if (!text[len] || !vug_parse_i64(id, &number) || number < 0 ||
            !vug_parse_f64(text + len + 1, &value))
            return VUG_FAIL(err, VUG_ARGUMENT, "--logit-bias %s: expected ID=X, such as 106=-100",
                            text);
        vug_js_f64(js, id, value);
    }
    vug_js_close(js, '}');
    return VUG_OK;
}

static void put_tools(vug_js *js, const vug_remote *r)
{
    const char *choice = r->opt->tool_choice;
    if (r->setting.tools.ptr)
        vug_js_raw(js, "tools", r->setting.tools.ptr, r->setting.tools.len);
    if (!choice)
        return;
    if (strcmp(choice, "auto") == 0 || strcmp(choice, "required") == 0 ||
        strcmp(choice, "none") == 0) {
        vug_js_str(js, "tool_choice", choice);
        return;
    }
    vug_js_open(js, "tool_choice", '{');
    vug_js_str(js, "type", "function");
    vug_js_open(js, "function", '{');
    vug_js_str(js, "name", choice);
    vug_js_close(js, '}');
    vug_js_close(js, '}');
}

/* A schema has a name of OpenAI's; a grammar has llama.cpp's and an expression vLLM's, for
 * neither is among OpenAI's. */
static void put_form(vug_js *js, const vug_remote *r)
{
    if (r->schema.ptr) {
        vug_js_open(js, "response_format", '{');
        vug_js_str(js, "type", "json_schema");
        vug_js_open(js, "json_schema", '{');
        vug_js_str(js, "name", "answer");
        vug_js_bool(js, "strict", true);
        vug_js_raw(js, "schema", r->schema.ptr, r->schema.len);
        vug_js_close(js, '}');
        vug_js_close(js, '}');
    }
    if (r->grammar.ptr)
        vug_js_text(js, "grammar", r->grammar.ptr, r->grammar.len);
    if (r->opt->regex) {
        vug_js_open(js, "structured_outputs", '{');
        vug_js_str(js, "regex", r->opt->regex);
        vug_js_close(js, '}');
    }
}

/* Every server has another name for the most tokens of thinking: Qwen's API, vLLM, llama.cpp. */
static void put_thinking(vug_js *js, const vug_setting *setting)
{
    static const char *const budget[] = { "thinking_budget", "thinking_token_budget",
                                          "thinking_budget_tokens" };
    for (size_t i = 0; setting->thinking && i < sizeof(budget) / sizeof(budget[0]); i++)
        vug_js_int(js, budget[i], setting->thinking);
    if (setting->variables.len)
        vug_js_raw(js, "chat_template_kwargs", setting->variables.ptr, setting->variables.len);
}

static void put_logprobs(vug_js *js, const vug_options *opt)
{
    if (!opt->given[VUG_OPTION_logprobs])
        return;
    if (opt->raw) {
        vug_js_int(js, "logprobs", opt->logprobs);
        return;
    }
    vug_js_bool(js, "logprobs", true);
    vug_js_int(js, "top_logprobs", opt->logprobs);
}

/* max_tokens has a newer name, which many servers ignore without a word. */
static void put_sampling(vug_js *js, const vug_remote *r)
{
    const vug_options *opt = r->opt;
    if (opt->max_tokens > 0)
        vug_js_int(js, "max_tokens", opt->max_tokens);
    put_number(js, opt, VUG_OPTION_temperature, "temperature", opt->temperature);
    put_number(js, opt, VUG_OPTION_top_p, "top_p", opt->top_p);
    put_number(js, opt, VUG_OPTION_top_k, "top_k", opt->top_k);
    put_number(js, opt, VUG_OPTION_min_p, "min_p", opt->min_p);
    put_number(js, opt, VUG_OPTION_repetition, "repetition_penalty", opt->repetition);
    put_number(js, opt, VUG_OPTION_repetition, "repeat_penalty", opt->repetition); /* llama.cpp */
    put_number(js, opt, VUG_OPTION_presence, "presence_penalty", opt->presence);
    put_number(js, opt, VUG_OPTION_frequency, "frequency_penalty", opt->frequency);
    if (opt->given[VUG_OPTION_seed])
        vug_js_u64(js, "seed", r->next_seed);
    if (opt->ignore_eos)
        vug_js_bool(js, "ignore_eos", true);
}

static void put_question(vug_js *js, const vug_talk *talk, const vug_str *raw)
{
    if (raw) {
        vug_js_text(js, "prompt", raw->ptr, raw->len);
        return;
    }
    vug_js_open(js, "messages", '[');
    vug_js_raw(js, NULL, talk->json.ptr ? talk->json.ptr : "", talk->json.len);
    vug_js_close(js, ']');
}

vug_status vug_remote_request(const vug_remote *r, const vug_talk *talk, const vug_str *raw,
                              vug_buf *to, vug_err *err)
{
    vug_js js = { 0 };
    vug_js_open(&js, NULL, '{');
    vug_js_text(&js, "model", r->model.ptr, r->model.len);
    put_question(&js, talk, raw);
    vug_js_bool(&js, "stream", true);
    vug_js_open(&js, "stream_options", '{');
    vug_js_bool(&js, "include_usage", true);
    vug_js_close(&js, '}');
    put_sampling(&js, r);
    put_logprobs(&js, r->opt);
    put_tools(&js, r);
    put_form(&js, r);
    put_thinking(&js, &r->setting);
    vug_status st = put_biases(&js, r->opt, err);
    vug_js_close(&js, '}');
    if (st == VUG_OK)
        st = talk->json.bad ? vug_buf_ok(&talk->json, err) : vug_buf_ok(&js.buf, err);
    if (st == VUG_OK)
        vug_buf_append(to, js.buf.ptr, js.buf.len);
    vug_buf_release(&js.buf);
    return st == VUG_OK ? vug_buf_ok(to, err) : st;
}
