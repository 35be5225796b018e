#include "server/api/internal.h"

/* Parses a body to a JSON tree, passes each member to the parser that fields.def names, and then
 * evaluates fields that depend on each other. */

enum {
#define X(id, path) id = 1 << VUG_API_##id,
    VUG_API_ENDPOINT_TABLE(X)
#undef X
};

const char *vug_api_endpoint_path(vug_api_endpoint endpoint)
{
    static const char *const path[] = {
#define X(id, path) [VUG_API_##id] = (path),
        VUG_API_ENDPOINT_TABLE(X)
#undef X
    };
    return path[endpoint];
}

static const struct {
    vug_field field;
    vug_field_parser *parse;
} field_row[VUG_FIELD_COUNT] = {
#define X(name, endpoints, parser, min, max, help)                                              \
    { { #name, VUG_FIELD_##name, (unsigned)(endpoints), (double)(min), (double)(max), (help) }, \
      vug_request_parse_##parser },
#define X_AS(id, name, endpoints, parser, min, max, help)                                      \
    { { (name), VUG_FIELD_##id, (unsigned)(endpoints), (double)(min), (double)(max), (help) }, \
      vug_request_parse_##parser },
#include "server/api/fields.def"
#undef X
};

/* llama.cpp's own endpoints take the fields of /v1/completions, too. */
static unsigned endpoints_of(const vug_api_request *r)
{
    const unsigned own = 1u << r->endpoint;
    return vug_api_is_native(r->endpoint) ? own | NATIVE | COMPLETION : own;
}

static void parse_member(vug_request_parser *p, const vug_jv *member)
{
    const unsigned endpoints = endpoints_of(p->out);
    for (size_t i = 0; i < VUG_FIELD_COUNT; i++) {
        const vug_field *field = &field_row[i].field;
        if (!(field->endpoints & endpoints) || !vug_str_is(member->key, field->name))
            continue;
        p->out->given[i] = true;
        field_row[i].parse(p, field, member);
        return;
    }
}

/* ---- fields that depend on each other ----------------------------------------- */

static bool flag_of(const vug_api_request *r, vug_field_id id, bool fallback)
{
    return r->given[id] ? r->number[id] != 0 : fallback;
}

static void require_field(vug_request_parser *p, vug_field_id id)
{
    if (!p->out->given[id])
        vug_field_reject(p, field_row[id].field.name, "%s is missing", field_row[id].field.name);
}

bool vug_api_has_token_limit(const vug_api_request *r)
{
    return r->given[VUG_FIELD_max_tokens] || r->given[VUG_FIELD_max_completion_tokens] ||
           r->given[VUG_FIELD_n_predict];
}

static void validate_token_limit(vug_request_parser *p)
{
    static const vug_field_id names[] = { VUG_FIELD_max_tokens, VUG_FIELD_max_completion_tokens,
                                          VUG_FIELD_n_predict };
    vug_api_request *r = p->out;
    const bool is_completion = r->endpoint == VUG_API_COMPLETION;
    const bool allow_0 = vug_api_is_native(r->endpoint) || (r->endpoint != VUG_API_CHAT && r->echo);
    r->max_tokens = is_completion && !vug_api_has_token_limit(r) ? VUG_API_COMPLETION_TOKENS : -1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const int64_t n = (int64_t)r->number[names[i]];
        if (!r->given[names[i]] || n < 0)
            continue;
        if (n == 0 && !allow_0)
            vug_field_reject(p, field_row[names[i]].field.name,
                             "%s must be at least 1, or -1 for as many as the context holds%s",
                             field_row[names[i]].field.name, is_completion ? "; 0 needs echo" : "");
        if (r->max_tokens < 0 || n < r->max_tokens)
            r->max_tokens = n;
    }
}

static void validate_truncation(vug_request_parser *p)
{
    const vug_api_request *r = p->out;
    const vug_field_id id = VUG_FIELD_truncate_prompt_tokens;
    if (!r->given[id])
        return;
    if (r->number[id] == 0)
        vug_field_reject(p, "truncate_prompt_tokens",
                         "truncate_prompt_tokens must be at least 1, or -1");
    if (r->echo)
        vug_field_reject(p, "truncate_prompt_tokens",
                         "truncate_prompt_tokens and echo cannot be combined");
}

/* After those of the endpoint, which set `logprobs`. */
static void validate_logprob_ids(vug_request_parser *p)
{
    const vug_api_request *r = p->out;
    if (r->n_logprob_ids == 0)
        return;
    if (!r->logprobs)
        vug_field_reject(p, "logprob_token_ids", "logprob_token_ids needs logprobs");
    if (r->max_tokens == 0)
        vug_field_reject(p, "logprob_token_ids",
                         "logprob_token_ids and max_tokens 0: no token is generated");
}

static void validate_prompt_logprobs(vug_request_parser *p)
{
    if (p->out->given[VUG_FIELD_prompt_logprobs] && p->out->stream)
        vug_field_reject(p, "prompt_logprobs", "prompt_logprobs is not available in a stream");
}

/* OpenAI's servers refuse them, too. */
static void validate_stream_options(vug_request_parser *p)
{
    if (p->out->given[VUG_FIELD_stream_options] && !p->out->stream)
        vug_field_reject(p, "stream_options", "stream_options is only allowed when stream is true");
}

static void validate_choices(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    r->n = r->given[VUG_FIELD_n] ? (int)r->number[VUG_FIELD_n] : 1;
    if (r->given[VUG_FIELD_best_of] && (int)r->number[VUG_FIELD_best_of] != r->n)
        vug_field_reject(p, "best_of",
                         "best_of is %d: vug returns every answer that it generates, so "
                         "only the value of n, which is %d, is taken",
                         (int)r->number[VUG_FIELD_best_of], r->n);
    if (r->n_prompts * (size_t)r->n > VUG_API_MAX_PROMPTS)
        vug_field_reject(p, "n",
                         "%zu prompts with %d answers each: a request may have at most %d answers",
                         r->n_prompts, r->n, VUG_API_MAX_PROMPTS);
}

static void validate_chat(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    if (r->echo)
        vug_field_reject(p, "echo", "echo is not supported in chat, only in /v1/completions");
    require_field(p, VUG_FIELD_messages);
    if (r->given[VUG_FIELD_top_logprobs] && !r->logprobs)
        vug_field_reject(p, "top_logprobs", "top_logprobs needs logprobs: true");
    r->top_logprobs = (int)r->number[VUG_FIELD_top_logprobs];
    r->single_call = !flag_of(r, VUG_FIELD_parallel_tool_calls, true);
}

/* llama.cpp's `content` gets no special tokens by default, vLLM's `prompt` does. */
static void validate_tokenize(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    const bool content = r->given[VUG_FIELD_content], prompt = r->given[VUG_FIELD_prompt];
    if (content + prompt + r->given[VUG_FIELD_messages] != 1)
        vug_field_reject(p, "content", "exactly one of content, prompt and messages is required");
    else if (prompt && (r->n_prompts != 1 || r->prompt[0].is_tokens))
        vug_field_reject(p, "prompt", "prompt must be a string here");
    r->add_special =
            flag_of(r, VUG_FIELD_add_special, flag_of(r, VUG_FIELD_add_special_tokens, prompt));
    r->with_pieces = flag_of(r, VUG_FIELD_with_pieces, false);
}

static void validate_fields(vug_request_parser *p)
{
    vug_api_request *r = p->out;
    r->stream = flag_of(r, VUG_FIELD_stream, false);
    r->echo = flag_of(r, VUG_FIELD_echo, false);
    r->ignore_eos = flag_of(r, VUG_FIELD_ignore_eos, false);
    r->add_special = flag_of(r, VUG_FIELD_add_special_tokens, true);
    r->parse_special = flag_of(r, VUG_FIELD_parse_special, true);
    r->no_generation_prompt = !flag_of(r, VUG_FIELD_add_generation_prompt, true);
    validate_token_limit(p);
    validate_stream_options(p);
    validate_truncation(p);
    validate_prompt_logprobs(p);
    validate_choices(p);
    r->min_tokens = (int)r->number[VUG_FIELD_min_tokens];
    vug_request_validate_tools(p);
    vug_request_validate_thinking(p);
    vug_request_validate_prefill(p);
    switch (r->endpoint) {
    case VUG_API_CHAT:
        validate_chat(p);
        break;
    case VUG_API_COMPLETION:
    case VUG_API_NATIVE:
        require_field(p, VUG_FIELD_prompt);
        break;
    case VUG_API_INFILL:
        require_field(p, VUG_FIELD_input_prefix);
        require_field(p, VUG_FIELD_input_suffix);
        break;
    case VUG_API_TOKENIZE:
        validate_tokenize(p);
        break;
    case VUG_API_DETOKENIZE:
        require_field(p, VUG_FIELD_tokens);
        break;
    case VUG_API_EMBEDDING:
        require_field(p, VUG_FIELD_input);
        break;
    default:
        require_field(p, VUG_FIELD_messages);
        break;
    }
    if (r->number[VUG_FIELD_n_probs] > 0) {
        r->logprobs = true;
        r->top_logprobs = (int)r->number[VUG_FIELD_n_probs];
    }
    validate_logprob_ids(p);
    vug_request_validate_infill(p);
}

bool vug_api_generates(vug_api_endpoint endpoint)
{
    return endpoint == VUG_API_CHAT || endpoint == VUG_API_COMPLETION ||
           vug_api_is_native(endpoint);
}

bool vug_api_is_native(vug_api_endpoint endpoint)
{
    return endpoint == VUG_API_NATIVE || endpoint == VUG_API_INFILL;
}

/* ---- parsing --------------------------------------------------------------------- */

/* NULL when the request was rejected. */
static const vug_jv *parse_tree(vug_request_parser *p, vug_str body)
{
    const vug_jv *root = NULL;
    vug_err err = { 0 };
    if (body.len > VUG_API_MAX_BODY) {
        vug_api_error_set(p->error, VUG_API_TOO_LARGE, NULL,
                          "the body has %zu bytes, at most %zu are allowed", body.len,
                          VUG_API_MAX_BODY);
        return NULL;
    }
    const vug_status st = vug_json_tree(body, "the body", p->arena, &root, &err);
    /* VUG_NOMEM may mean that the arena's budget is used up or that the machine has no memory. */
    if (st == VUG_NOMEM && p->arena->held > VUG_API_MAX_JSON_MEMORY / 2)
        vug_field_reject(p, NULL, "the body has more values than fit into %zu MiB of memory",
                         VUG_API_MAX_JSON_MEMORY >> 20);
    else if (st != VUG_OK)
        vug_api_error_from(p->error, &err, NULL);
    else if (!vug_jv_is(root, VUG_JSON_OBJECT))
        vug_field_reject(p, NULL, "the body must be a JSON object");
    else
        return root;
    return NULL;
}

bool vug_api_parse_request(vug_api_endpoint endpoint, vug_str body, vug_arena *arena,
                           vug_api_request *out, vug_api_error *error)
{
    vug_api_request request = { .endpoint = endpoint };
    vug_request_parser p = { .out = &request, .arena = arena, .error = error };
    if (!arena->budget)
        arena->budget = VUG_API_MAX_JSON_MEMORY;
    const vug_jv *root = parse_tree(&p, body);
    if (!root)
        return false;
    for (const vug_jv *m = root->child; m && !p.bad; m = m->next) {
        if (m->type != VUG_JSON_NULL)
            parse_member(&p, m);
    }
    if (!p.bad)
        validate_fields(&p);
    if (p.bad)
        return false;
    *out = request;
    return true;
}

/* ---- depending on the model -------------------------------------------------------- */

static bool check_token(int32_t id, int64_t n_vocab, const char *param, vug_api_error *error)
{
    return id < n_vocab || vug_api_error_set(error, VUG_API_BAD_REQUEST, param,
                                             "%s: token %d is not one of this model's 0 to %lld",
                                             param, id, (long long)n_vocab - 1);
}

bool vug_api_check_tokens(const vug_api_request *r, int64_t n_vocab, vug_api_error *error)
{
    const char *param = r->endpoint == VUG_API_DETOKENIZE  ? "tokens"
                        : r->endpoint == VUG_API_EMBEDDING ? "input"
                                                           : "prompt";
    bool ok = true;
    for (size_t k = 0; k < r->n_prompts && ok; k++) {
        for (size_t i = 0; i < r->prompt[k].n && ok; i++)
            ok = check_token(r->prompt[k].id[i], n_vocab, param, error);
    }
    for (size_t i = 0; i < r->n_stop_ids && ok; i++)
        ok = check_token(r->stop_id[i], n_vocab, "stop_token_ids", error);
    for (size_t i = 0; i < r->n_bias && ok; i++)
        ok = check_token(r->bias[i].token, n_vocab, "logit_bias", error);
    for (size_t i = 0; i < r->n_logprob_ids && ok; i++)
        ok = check_token(r->logprob_id[i], n_vocab, "logprob_token_ids", error);
    for (size_t i = 0; i < r->n_allowed && ok; i++)
        ok = check_token(r->allowed_id[i], n_vocab, "allowed_token_ids", error);
    return ok;
}

/* Later rows override earlier ones. */
static const struct {
    vug_field_id field;
    vug_sampler_kind kind;
} sampler_fields[] = {
    { VUG_FIELD_repeat_penalty, VUG_SAMPLER_REPETITION },
    { VUG_FIELD_repetition_penalty, VUG_SAMPLER_REPETITION },
    { VUG_FIELD_presence_penalty, VUG_SAMPLER_PRESENCE },
    { VUG_FIELD_frequency_penalty, VUG_SAMPLER_FREQUENCY },
    { VUG_FIELD_temperature, VUG_SAMPLER_TEMPERATURE },
    { VUG_FIELD_top_k, VUG_SAMPLER_TOP_K },
    { VUG_FIELD_top_p, VUG_SAMPLER_TOP_P },
    { VUG_FIELD_min_p, VUG_SAMPLER_MIN_P },
    { VUG_FIELD_repeat_last_n, VUG_SAMPLER_REPEAT_LAST_N },
    { VUG_FIELD_typical_p, VUG_SAMPLER_TYPICAL_P },
    { VUG_FIELD_top_n_sigma, VUG_SAMPLER_TOP_N_SIGMA },
    { VUG_FIELD_xtc_probability, VUG_SAMPLER_XTC },
    { VUG_FIELD_xtc_threshold, VUG_SAMPLER_XTC_THRESHOLD },
    { VUG_FIELD_dry_multiplier, VUG_SAMPLER_DRY },
    { VUG_FIELD_dry_base, VUG_SAMPLER_DRY_BASE },
    { VUG_FIELD_dry_allowed_length, VUG_SAMPLER_DRY_ALLOWED_LENGTH },
    { VUG_FIELD_dry_penalty_last_n, VUG_SAMPLER_DRY_LAST_N },
};

static bool is_off_below_0(vug_sampler_kind kind)
{
    return kind == VUG_SAMPLER_TOP_K || kind == VUG_SAMPLER_TOP_N_SIGMA;
}

bool vug_api_make_sampling(const vug_api_request *r, const vug_sampling_defaults *defaults,
                           uint64_t seed, vug_arena *arena, vug_sampling *out)
{
    enum { N_FIELDS = sizeof(sampler_fields) / sizeof(sampler_fields[0]) };
    vug_sampler_config *setting = vug_arena_alloc(arena, r->n_bias + N_FIELDS, sizeof(*setting));
    vug_sampler_config *chain =
            vug_arena_alloc(arena, r->n_bias + N_FIELDS + VUG_SAMPLER_COUNT, sizeof(*chain));
    if (!setting || !chain)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < N_FIELDS; i++) {
        const vug_sampler_kind kind = sampler_fields[i].kind;
        const double x = r->number[sampler_fields[i].field];
        if (r->given[sampler_fields[i].field])
            setting[n++] = (vug_sampler_config){
                .kind = kind,
                .value = x < 0 && is_off_below_0(kind) ? 0 : (float)x,
            };
    }
    for (size_t i = 0; i < r->n_bias; i++)
        setting[n++] = r->bias[i];
    *out = (vug_sampling){
        .sampler = chain,
        .n = vug_sampling_merge(defaults, setting, n, chain),
        .seed = r->given[VUG_FIELD_seed] ? r->seed : seed,
        .allowed = r->allowed_id,
        .n_allowed = r->n_allowed,
        .banned_word = r->bad_word,
        .n_banned_words = r->n_bad_words,
        .dry_breaker = r->dry_breaker,
        .n_dry_breakers = r->n_dry_breakers,
    };
    return true;
}
