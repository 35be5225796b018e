#include "server/api/internal.h"

/* Responses of /completion, under the names of llama.cpp's server. */

static void write_probabilities(const vug_completion_choice *c, vug_json_writer *js)
{
    const vug_buf *list = &c->tokens.list[0];
    if (!c->logprobs)
        return;
    vug_json_begin(js, "completion_probabilities", '[');
    vug_json_put_raw(js, NULL, list->ptr, list->len);
    vug_json_end(js, ']');
}

/* What is known only at the end of an answer. */
static void write_end(const vug_completion_choice *c, vug_json_writer *js)
{
    const char *type = c->stops.found ? "word" : c->reason == VUG_API_FINISH_STOP ? "eos" : "limit";
    const vug_str word = c->stops.found ? c->stops.ended_by : (vug_str){ "", 0 };
    vug_json_put_text(js, "model", c->head->model.ptr, c->head->model.len);
    vug_json_put_string(js, "stop_type", type);
    vug_json_put_text(js, "stopping_word", word.ptr, word.len);
    vug_json_put_bool(js, "truncated", false);
    vug_json_put_u64(js, "tokens_cached", c->n_prompt + c->n_tokens);
    vug_api_write_timings(c->usage, js);
}

/* Without the closing brace. */
static void write_beginning(const vug_completion_choice *c, vug_str text, vug_json_writer *js)
{
    vug_json_begin(js, NULL, '{');
    vug_json_put_i64(js, "index", c->index);
    vug_json_put_text(js, "content", text.ptr, text.len);
    vug_json_begin(js, "tokens", '[');
    vug_json_put_raw(js, NULL, c->ids.ptr, c->ids.len);
    vug_json_end(js, ']');
    vug_json_put_bool(js, "stop", c->reason != VUG_API_UNFINISHED);
    vug_json_put_u64(js, "tokens_predicted", c->n_tokens);
    vug_json_put_u64(js, "tokens_evaluated", c->n_prompt);
}

void vug_native_write_progress(const vug_completion_choice *c, const vug_api_progress *progress,
                               vug_json_writer *js)
{
    write_beginning(c, (vug_str){ "", 0 }, js);
    vug_api_write_progress(progress, js);
    vug_json_end(js, '}');
}

void vug_native_write(const vug_completion_choice *c, vug_str text, bool is_event,
                      vug_json_writer *js)
{
    const bool is_end = c->reason != VUG_API_UNFINISHED;
    write_beginning(c, text, js);
    write_probabilities(c, js);
    vug_logprobs_write_prompt(&c->prompt_logprobs, js);
    if (is_end)
        write_end(c, js);
    else if (is_event && c->head->timings_per_token)
        vug_api_write_timings(c->usage, js);
    vug_json_end(js, '}');
}
