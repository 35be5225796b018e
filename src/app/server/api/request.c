#include "app/server/api/request.h"

#include "app/server/api/request_fields.h"

/*
 * A body becomes a tree, each member of it goes to the reader that its row of fields.def
 * names, and then what several fields say together is settled.
 */

enum {
#define X(id, path) id = 1 << VUG_API_##id,
    VUG_API_ENDPOINT_TABLE(X)
#undef X
};

static const struct {
    vug_field field;
    vug_field_reader *take;
} row[VUG_FIELD_COUNT] = {
#define X(name, endpoints, reader, min, max, help)                                              \
    { { #name, VUG_FIELD_##name, (unsigned)(endpoints), (double)(min), (double)(max), (help) }, \
      vug_take_##reader },
#include "app/server/api/fields.def"
#undef X
};

static void read_member(vug_taker *t, const vug_jv *member)
{
    for (size_t i = 0; i < VUG_FIELD_COUNT; i++) {
        const vug_field *field = &row[i].field;
        if (!(field->endpoints >> t->out->endpoint & 1u) || !vug_str_is(member->key, field->name))
            continue;
        t->out->given[i] = true;
        row[i].take(t, field, member);
        return;
    }
}

/* ---- what several fields say together ----------------------------------------- */

static bool on(const vug_api_request *r, vug_field_id id, bool otherwise)
{
    return r->given[id] ? r->number[id] != 0 : otherwise;
}

static void require(vug_taker *t, vug_field_id id)
{
    if (!t->out->given[id])
        vug_refuse(t, row[id].field.name, "%s is missing", row[id].field.name);
}

bool vug_api_has_length(const vug_api_request *r)
{
    return r->given[VUG_FIELD_max_tokens] || r->given[VUG_FIELD_max_completion_tokens] ||
           r->given[VUG_FIELD_n_predict];
}

static void settle_length(vug_taker *t)
{
    static const vug_field_id names[] = { VUG_FIELD_max_tokens, VUG_FIELD_max_completion_tokens,
                                          VUG_FIELD_n_predict };
    vug_api_request *r = t->out;
    const bool is_text = r->endpoint == VUG_API_TEXT;
    const bool may_be_0 = is_text && r->echo;
    r->max_tokens = is_text && !vug_api_has_length(r) ? VUG_API_TEXT_TOKENS : -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const int64_t n = (int64_t)r->number[names[i]];
        if (!r->given[names[i]] || n < 0)
            continue;
        if (n == 0 && !may_be_0)
            vug_refuse(t, row[names[i]].field.name,
                       "%s must be at least 1, or -1 for as many as the context holds%s",
                       row[names[i]].field.name, is_text ? "; 0 needs echo" : "");
        if (r->max_tokens < 0 || n < r->max_tokens)
            r->max_tokens = n;
    }
}

static void settle_choices(vug_taker *t)
{
    vug_api_request *r = t->out;
    r->n = r->given[VUG_FIELD_n] ? (int)r->number[VUG_FIELD_n] : 1;
    if (r->given[VUG_FIELD_best_of] && (int)r->number[VUG_FIELD_best_of] != r->n)
        vug_refuse(t, "best_of",
                   "best_of is %d: vug returns every answer that it generates, so "
                   "only the value of n, which is %d, is taken",
                   (int)r->number[VUG_FIELD_best_of], r->n);
    if (r->n_prompts * (size_t)r->n > VUG_API_MAX_PROMPTS)
        vug_refuse(t, "n", "%zu prompts with %d answers each: at most %d answers to one request",
                   r->n_prompts, r->n, VUG_API_MAX_PROMPTS);
}

/* llama.cpp's window of the penalties: another one than ours matters only with them. */
static void settle_penalties(vug_taker *t)
{
    const vug_api_request *r = t->out;
    const bool multiplies =
            (r->given[VUG_FIELD_repeat_penalty] && r->number[VUG_FIELD_repeat_penalty] != 1) ||
            (r->given[VUG_FIELD_repetition_penalty] &&
             r->number[VUG_FIELD_repetition_penalty] != 1);
    const bool subtracts = r->number[VUG_FIELD_presence_penalty] != 0 ||
                           r->number[VUG_FIELD_frequency_penalty] != 0;
    if (r->given[VUG_FIELD_repeat_last_n] && r->number[VUG_FIELD_repeat_last_n] >= 0 &&
        (multiplies || subtracts))
        vug_refuse(t, "repeat_last_n", "repeat_last_n is not supported (%s)",
                   row[VUG_FIELD_repeat_last_n].field.help);
}

static void settle_chat(vug_taker *t)
{
    vug_api_request *r = t->out;
    if (r->echo)
        vug_refuse(t, "echo", "echo is not supported in chat; /v1/completions has it");
    require(t, VUG_FIELD_model);
    require(t, VUG_FIELD_messages);
    if (r->given[VUG_FIELD_top_logprobs] && !r->logprobs)
        vug_refuse(t, "top_logprobs", "top_logprobs needs logprobs: true");
    r->top_logprobs = (int)r->number[VUG_FIELD_top_logprobs];
    r->one_call = !on(r, VUG_FIELD_parallel_tool_calls, true);
}

/* llama.cpp's content is a text as it stands, vLLM's prompt one as a model wants it. */
static void settle_tokenize(vug_taker *t)
{
    vug_api_request *r = t->out;
    const bool content = r->given[VUG_FIELD_content], prompt = r->given[VUG_FIELD_prompt];
    if (content + prompt + r->given[VUG_FIELD_messages] != 1)
        vug_refuse(t, "content", "one of content, prompt and messages is needed");
    else if (prompt && (r->n_prompts != 1 || r->prompt[0].is_tokens))
        vug_refuse(t, "prompt", "prompt must be a string here");
    r->add_special = on(r, VUG_FIELD_add_special, on(r, VUG_FIELD_add_special_tokens, prompt));
    r->pieces = on(r, VUG_FIELD_with_pieces, false);
}

static void settle(vug_taker *t)
{
    vug_api_request *r = t->out;
    r->stream = on(r, VUG_FIELD_stream, false);
    r->echo = on(r, VUG_FIELD_echo, false);
    r->ignore_eos = on(r, VUG_FIELD_ignore_eos, false);
    r->add_special = on(r, VUG_FIELD_add_special_tokens, true);
    r->parse_special = on(r, VUG_FIELD_parse_special, true);
    r->no_reply = !on(r, VUG_FIELD_add_generation_prompt, true);
    settle_length(t);
    settle_choices(t);
    settle_penalties(t);
    vug_settle_tools(t);
    vug_settle_thinking(t);
    switch (r->endpoint) {
    case VUG_API_CHAT:
        settle_chat(t);
        break;
    case VUG_API_TEXT:
        require(t, VUG_FIELD_model);
        require(t, VUG_FIELD_prompt);
        break;
    case VUG_API_TOKENIZE:
        settle_tokenize(t);
        break;
    case VUG_API_DETOKENIZE:
        require(t, VUG_FIELD_tokens);
        break;
    default:
        require(t, VUG_FIELD_messages);
        break;
    }
}

/* ---- reading --------------------------------------------------------------------- */

/* NULL when it is no object. */
static const vug_jv *read_tree(vug_taker *t, vug_str body)
{
    const vug_jv *root = NULL;
    vug_err err = { 0 };
    if (body.len > VUG_API_MAX_BODY) {
        vug_api_error_set(t->error, VUG_API_TOO_LARGE, NULL,
                          "the body has %zu bytes, at most %zu are read", body.len,
                          VUG_API_MAX_BODY);
        return NULL;
    }
    const vug_status st = vug_json_tree(body, "the body", t->arena, &root, &err);
    /* A budget that is nearly used up, or a machine without memory? */
    if (st == VUG_NOMEM && t->arena->held > VUG_API_MAX_TREE / 2)
        vug_refuse(t, NULL, "the body has more values than fit into %zu MiB of memory",
                   VUG_API_MAX_TREE >> 20);
    else if (st != VUG_OK)
        vug_api_error_take(t->error, &err, NULL);
    else if (!vug_jv_is(root, VUG_JSON_OBJECT))
        vug_refuse(t, NULL, "the body must be a JSON object");
    else
        return root;
    return NULL;
}

bool vug_api_request_read(vug_api_endpoint endpoint, vug_str body, vug_arena *arena,
                          vug_api_request *out, vug_api_error *error)
{
    vug_api_request request = { .endpoint = endpoint };
    vug_taker t = { .out = &request, .arena = arena, .error = error };
    if (!arena->budget)
        arena->budget = VUG_API_MAX_TREE;
    const vug_jv *root = read_tree(&t, body);
    if (!root)
        return false;
    for (const vug_jv *m = root->child; m && !t.bad; m = m->next) {
        if (m->type != VUG_JSON_NULL)
            read_member(&t, m);
    }
    if (!t.bad)
        settle(&t);
    if (t.bad)
        return false;
    *out = request;
    return true;
}

/* ---- with the model's help --------------------------------------------------------- */

bool vug_api_check_tokens(const vug_api_request *r, int64_t n_vocab, vug_api_error *error)
{
    for (size_t p = 0; p < r->n_prompts; p++) {
        for (size_t i = 0; i < r->prompt[p].n; i++) {
            if (r->prompt[p].id[i] < n_vocab)
                continue;
            return vug_api_error_set(error, VUG_API_BAD_REQUEST,
                                     r->endpoint == VUG_API_DETOKENIZE ? "tokens" : "prompt",
                                     "token %d is not one of this model's 0 to %lld",
                                     r->prompt[p].id[i], (long long)n_vocab - 1);
        }
    }
    for (size_t i = 0; i < r->n_stop_ids; i++) {
        if (r->stop_id[i] < n_vocab)
            continue;
        return vug_api_error_set(error, VUG_API_BAD_REQUEST, "stop_token_ids",
                                 "stop_token_ids: token %d is not one of this model's 0 to %lld",
                                 r->stop_id[i], (long long)n_vocab - 1);
    }
    for (size_t i = 0; i < r->n_bias; i++) {
        if (r->bias[i].token < n_vocab)
            continue;
        return vug_api_error_set(error, VUG_API_BAD_REQUEST, "logit_bias",
                                 "logit_bias: token %d is not one of this model's 0 to %lld",
                                 r->bias[i].token, (long long)n_vocab - 1);
    }
    return true;
}

/* A later row comes before an earlier one. */
static const struct {
    vug_field_id field;
    vug_sampler_kind kind;
} sampling[] = {
    { VUG_FIELD_repeat_penalty, VUG_SAMPLER_REPETITION },
    { VUG_FIELD_repetition_penalty, VUG_SAMPLER_REPETITION },
    { VUG_FIELD_presence_penalty, VUG_SAMPLER_PRESENCE },
    { VUG_FIELD_frequency_penalty, VUG_SAMPLER_FREQUENCY },
    { VUG_FIELD_temperature, VUG_SAMPLER_TEMPERATURE },
    { VUG_FIELD_top_k, VUG_SAMPLER_TOP_K },
    { VUG_FIELD_top_p, VUG_SAMPLER_TOP_P },
    { VUG_FIELD_min_p, VUG_SAMPLER_MIN_P },
};

bool vug_api_sampling(const vug_api_request *r, const vug_sampling_defaults *defaults,
                      uint64_t seed, vug_arena *arena, vug_sampling *out)
{
    bool has[VUG_SAMPLER_COUNT] = { [VUG_SAMPLER_TEMPERATURE] = true };
    float value[VUG_SAMPLER_COUNT] = { [VUG_SAMPLER_TEMPERATURE] = 1 };
    for (size_t i = 0; i < defaults->n; i++) {
        has[defaults->stage[i].kind] = true;
        value[defaults->stage[i].kind] = defaults->stage[i].value;
    }
    for (size_t i = 0; i < sizeof(sampling) / sizeof(sampling[0]); i++) {
        if (!r->given[sampling[i].field])
            continue;
        const double x = r->number[sampling[i].field];
        has[sampling[i].kind] = true;
        value[sampling[i].kind] = x < 0 && sampling[i].kind == VUG_SAMPLER_TOP_K ? 0 : (float)x;
    }
    vug_sampler_stage *stage =
            vug_arena_alloc(arena, r->n_bias + VUG_SAMPLER_COUNT, sizeof(*stage));
    if (!stage)
        return false;
    size_t n = 0;
    for (int k = 0; k < VUG_SAMPLER_COUNT; k++) {
        for (size_t i = 0; k == VUG_SAMPLER_BIAS && i < r->n_bias; i++)
            stage[n++] = r->bias[i];
        if (k != VUG_SAMPLER_BIAS && has[k])
            stage[n++] = (vug_sampler_stage){ .kind = (vug_sampler_kind)k, .value = value[k] };
    }
    *out = (vug_sampling){ .stage = stage,
                           .n = n,
                           .seed = r->given[VUG_FIELD_seed] ? r->seed : seed };
    return true;
}
