/* What requests may ask for in the manner of llama.cpp's server and of vLLM, with pebble. */
#include "test.h"

#include "serve_help.h"

#define CHAT(text, more) "{\"messages\":[{\"role\":\"user\",\"content\":\"" text "\"}]" more "}"
#define COMPLETION(more) "{\"prompt\":\"Once upon\",\"temperature\":0" more "}"

static int set_up(void **state)
{
    static server_process s; /* NOLINT: one for all tests */
    s = SERVE("--alias", "org/small");
    *state = &s;
    return 0;
}

static int tear_down(void **state)
{
    return serve_end(*state) == 0 ? 0 : -1;
}

/* The numbers of a list, as text. */
static vug_str list_at(const json_response *a, const char *path)
{
    const vug_jv *list = response_at(a, path);
    if (!vug_jv_is(list, VUG_JSON_ARRAY))
        fail_msg("no list %s in %s", path, a->text.ptr);
    return list->str;
}

/* ---- requests ------------------------------------------------------------------------- */

/* A path without /v1, and a request without a model. */
static void test_short_paths_without_a_model(void **state)
{
    static const struct {
        const char *path, *body;
    } rows[] = {
        { "/chat/completions",
          "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"max_tokens\":1}" },
        { "/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":1}" },
        { "/completions", "{\"prompt\":\"x\",\"max_tokens\":1}" },
        { "/embeddings", "{\"input\":\"x\"}" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_response a = serve_request(*state, rows[i].path, rows[i].body);
        assert_int_equal(a.status, 200);
        response_expect(&a, "model", "pebble");
        response_release(&a);
    }
    json_response list = serve_request(*state, "/models", NULL);
    response_expect(&list, "data.0.id", "pebble");
    json_response one = serve_request(*state, "/models/org/small", NULL);
    response_expect(&one, "id", "org/small");
    response_release(&list);
    response_release(&one);
}

static void test_context_error_has_the_numbers(void **state)
{
    json_response a =
            serve_request(*state, "/v1/chat/completions", CHAT("x", ",\"max_tokens\":5000"));
    assert_int_equal(a.status, 400);
    assert_true(response_number(&a, "error.n_prompt_tokens") == 10);
    assert_true(response_number(&a, "error.n_ctx") == 2048);
    response_release(&a);
}

/* An answer goes on where its beginning ends, which is not repeated. */
static void test_prefill(void **state)
{
    json_response all = serve_request(*state, "/v1/chat/completions",
                                      CHAT("What is vug?", ",\"temperature\":0"));
    const vug_str text = response_at(&all, "choices.0.message.content")->str;
    const char *at = memmem(text.ptr, text.len, " engine", 7);
    char body[2048];
    assert_non_null(at);
    (void)snprintf(body, sizeof(body),
                   "{\"temperature\":0,\"messages\":[{\"role\":\"user\",\"content\":\"What is "
                   "vug?\"},{\"role\":\"assistant\",\"content\":\"%.*s\"}]}",
                   (int)(at - text.ptr), text.ptr);
    json_response rest = serve_request(*state, "/v1/chat/completions", body);
    const vug_str want = { at, text.len - (size_t)(at - text.ptr) };
    assert_true(vug_str_equal(response_at(&rest, "choices.0.message.content")->str, want));
    json_response prompt = serve_request(*state, "/apply-template", body);
    const vug_str rendered = response_at(&prompt, "prompt")->str;
    assert_true((size_t)(at - text.ptr) < rendered.len &&
                memcmp(rendered.ptr + rendered.len - (at - text.ptr), text.ptr,
                       (size_t)(at - text.ptr)) == 0);
    response_release(&all);
    response_release(&rest);
    response_release(&prompt);
}

static void test_version_and_tokenizer(void **state)
{
    json_response version = serve_request(*state, "/version", NULL);
    response_expect(&version, "version", VUG_VERSION);
    json_response info = serve_request(*state, "/tokenizer_info", NULL);
    response_expect(&info, "bos_token", "<bos>");
    response_expect(&info, "eos_token", "<eos>");
    assert_true(response_number(&info, "vocab_size") == 4096);
    assert_true(response_number(&info, "model_max_length") == 2048);
    response_release(&version);
    response_release(&info);
}

/* The last tokens of a prompt count; with -1 as many as fit. */
static void test_truncated_prompts(void **state)
{
    static const struct {
        const char *fields;
        double n; /* tokens of the prompt */
    } rows[] = {
        { "\"max_tokens\":1,\"truncate_prompt_tokens\":3", 3 },
        { "\"max_tokens\":1,\"truncate_prompt_tokens\":9999", 2000 },
        { "\"max_tokens\":100,\"truncate_prompt_tokens\":-1", 1948 },
    };
    vug_buf body = { 0 };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        body.len = 0;
        vug_buf_printf(&body, "{\"temperature\":0,\"return_token_ids\":true,%s,\"prompt\":[5",
                       rows[i].fields);
        for (int k = 1; k < 2000; k++)
            vug_buf_printf(&body, ",%d", 6 + k % 100);
        vug_buf_puts(&body, "]}");
        json_response a = serve_request(*state, "/v1/completions", body.ptr);
        assert_int_equal(a.status, 200);
        assert_true(response_number(&a, "usage.prompt_tokens") == rows[i].n);
        if (i == 0)
            assert_true(vug_str_is(list_at(&a, "choices.0.prompt_token_ids"), "[103,104,105]"));
        response_release(&a);
    }
    vug_buf_release(&body);
    json_response all = serve_request(*state, "/v1/chat/completions",
                                      CHAT("Hi", ",\"max_tokens\":1,\"return_token_ids\":true"));
    json_response cut = serve_request(*state, "/v1/chat/completions",
                                      CHAT("Hi", ",\"max_tokens\":1,\"return_token_ids\":true,"
                                                 "\"truncate_prompt_tokens\":2"));
    const vug_str ids = list_at(&all, "prompt_token_ids");
    const vug_str last = list_at(&cut, "prompt_token_ids");
    assert_true(response_at(&cut, "prompt_token_ids")->n == 2);
    assert_memory_equal(ids.ptr + ids.len - last.len + 1, last.ptr + 1, last.len - 1);
    response_release(&all);
    response_release(&cut);
}

/* ---- ids ------------------------------------------------------------------------------ */

/* The text of a list of ids. */
static void expect_text(const server_process *s, vug_str ids, const char *text)
{
    char body[4096];
    (void)snprintf(body, sizeof(body), "{\"tokens\":%.*s}", VUG_STR_ARG(ids));
    json_response a = serve_request(s, "/detokenize", body);
    response_expect(&a, "content", text);
    response_release(&a);
}

/* The ids are those of the prompt and of the answer with the token that ended it. */
static void test_token_ids(void **state)
{
    char text[1024];
    json_response a =
            serve_request(*state, "/v1/chat/completions",
                          CHAT("What is vug?", ",\"temperature\":0,\"return_token_ids\":true"));
    json_response prompt = serve_request(*state, "/tokenize", CHAT("What is vug?", ""));
    assert_true(vug_str_equal(list_at(&a, "prompt_token_ids"), list_at(&prompt, "tokens")));
    assert_int_equal(response_at(&a, "choices.0.token_ids")->n,
                     (size_t)response_number(&a, "usage.completion_tokens") + 1);
    (void)snprintf(text, sizeof(text), "%.*s<end_of_turn>",
                   VUG_STR_ARG(response_at(&a, "choices.0.message.content")->str));
    expect_text(*state, list_at(&a, "choices.0.token_ids"), text);
    response_release(&a);
    response_release(&prompt);
    a = serve_request(*state, "/v1/completions",
                      "{\"prompt\":[[5,6],[7]],\"max_tokens\":2,\"n\":2,\"temperature\":0,"
                      "\"ignore_eos\":true,\"return_token_ids\":true}");
    assert_true(vug_str_is(list_at(&a, "choices.1.prompt_token_ids"), "[5,6]"));
    assert_true(vug_str_is(list_at(&a, "choices.2.prompt_token_ids"), "[7]"));
    for (int i = 0; i < 4; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "choices.%d.token_ids", i);
        assert_int_equal(response_at(&a, path)->n, 2);
    }
    response_release(&a);
    a = serve_request(*state, "/v1/completions", COMPLETION(",\"max_tokens\":1"));
    assert_null(response_at(&a, "choices.0.token_ids"));
    assert_null(response_at(&a, "choices.0.prompt_token_ids"));
    response_release(&a);
}

/* ---- streams -------------------------------------------------------------------------- */

enum { MAX_EVENTS = 64 };

/* The events of a stream but [DONE]. */
typedef struct {
    vug_arena arena;
    http_response response;
    const vug_jv *event[MAX_EVENTS];
    size_t n;
} event_list;

static event_list read_events(const server_process *s, const char *path, const char *body)
{
    http_client c = http_connect(&s->at);
    event_list l = { .n = 0 };
    http_send_request(&c, path, body);
    l.response = http_read_response(&c, true);
    http_close(&c);
    char *at = l.response.body.ptr;
    while ((at = strstr(at, "data: {")) != NULL) {
        char *end = strstr(at, "\n\n");
        vug_err err;
        assert_true(end && l.n < MAX_EVENTS);
        if (vug_json_tree((vug_str){ at + 6, (size_t)(end - at) - 6 }, "event", &l.arena,
                          &l.event[l.n++], &err) != VUG_OK)
            fail_msg("%s", err.msg);
        at = end;
    }
    assert_true(l.n > 1);
    return l;
}

static void release_events(event_list *l)
{
    vug_arena_release(&l->arena);
    http_response_release(&l->response);
}

static const vug_jv *choice_of(const vug_jv *event)
{
    return vug_jv_get(event, "choices")->child;
}

/* All events together have the ids of the whole answer; the first has those of the prompt. */
static void test_token_ids_of_streams(void **state)
{
    static const char *const path[] = { "/v1/chat/completions", "/v1/completions" };
    static const char *const body[] = {
        CHAT("What is vug?", ",\"temperature\":0,\"max_tokens\":9,\"return_token_ids\":true%s"),
        COMPLETION(",\"max_tokens\":9,\"return_token_ids\":true%s"),
    };
    for (size_t k = 0; k < 2; k++) {
        char text[512];
        vug_buf ids = { 0 };
        (void)snprintf(text, sizeof(text), body[k], "");
        json_response whole = serve_request(*state, path[k], text);
        (void)snprintf(text, sizeof(text), body[k], ",\"stream\":true");
        event_list l = read_events(*state, path[k], text);
        for (size_t i = 0; i < l.n; i++) {
            const vug_str list = vug_jv_get(choice_of(l.event[i]), "token_ids")->str;
            const vug_jv *prompt =
                    vug_jv_get(k ? choice_of(l.event[i]) : l.event[i], "prompt_token_ids");
            assert_int_equal(prompt != NULL, i == 0);
            if (prompt)
                assert_true(vug_str_equal(
                        prompt->str,
                        list_at(&whole, k ? "choices.0.prompt_token_ids" : "prompt_token_ids")));
            if (list.len > 2)
                vug_buf_printf(&ids, "%s%.*s", ids.len ? "," : "", (int)list.len - 2, list.ptr + 1);
        }
        const vug_str want = list_at(&whole, "choices.0.token_ids");
        assert_true(vug_str_equal((vug_str){ ids.ptr, ids.len },
                                  (vug_str){ want.ptr + 1, want.len - 2 }));
        vug_buf_release(&ids);
        response_release(&whole);
        release_events(&l);
    }
}

/* With continuous_usage_stats every event counts the tokens so far, without it only the last. */
static void test_continuous_usage(void **state)
{
    event_list l = read_events(*state, "/v1/chat/completions",
                               CHAT("What is vug?",
                                    ",\"max_tokens\":5,\"ignore_eos\":true,\"stream\":true,"
                                    "\"stream_options\":{\"include_usage\":true,"
                                    "\"continuous_usage_stats\":true}"));
    double before = 0;
    for (size_t i = 0; i < l.n; i++) {
        const vug_jv *usage = vug_jv_get(l.event[i], "usage");
        const double n = vug_jv_get(usage, "completion_tokens")->f64;
        assert_true(n >= before && n <= 5);
        assert_true(i == 0 || vug_jv_get(usage, "prompt_tokens")->f64 == 13);
        before = n;
    }
    assert_true(before == 5);
    assert_true(vug_jv_get(vug_jv_get(l.event[1], "usage"), "completion_tokens")->f64 < 5);
    release_events(&l);
    l = read_events(*state, "/v1/chat/completions",
                    CHAT("What is vug?", ",\"max_tokens\":5,\"stream\":true,\"stream_options\":{"
                                         "\"include_usage\":true}"));
    assert_int_equal(vug_jv_get(l.event[1], "usage")->type, VUG_JSON_NULL);
    release_events(&l);
}

static void test_timings_per_token(void **state)
{
    event_list l = read_events(*state, "/v1/completions",
                               COMPLETION(",\"max_tokens\":4,\"ignore_eos\":true,\"stream\":true,"
                                          "\"timings_per_token\":true"));
    double before = 0;
    for (size_t i = 0; i < l.n; i++) {
        const vug_jv *timings = vug_jv_get(l.event[i], "timings");
        const double n = vug_jv_get(timings, "predicted_n")->f64;
        assert_true(n > before || (i == l.n - 1 && n == before));
        assert_true(vug_jv_get(timings, "prompt_ms")->f64 > 0);
        before = n;
    }
    assert_true(before == 4);
    release_events(&l);
}

/* ---- prompts ---------------------------------------------------------------------------- */

/* prompt_logprobs has what echo reports, by id. */
static void test_prompt_logprobs(void **state)
{
    json_response list = serve_request(
            *state, "/v1/completions",
            "{\"prompt\":\"Once upon a time\",\"max_tokens\":1,\"prompt_logprobs\":2,\"n\":2,"
            "\"return_token_ids\":true}");
    json_response echo =
            serve_request(*state, "/v1/completions",
                          "{\"prompt\":\"Once upon a time\",\"max_tokens\":0,\"echo\":true,"
                          "\"logprobs\":2}");
    const vug_jv *entry = response_at(&list, "choices.0.prompt_logprobs")->child;
    const vug_jv *id = response_at(&list, "choices.0.prompt_token_ids")->child->next;
    const vug_jv *want = response_at(&echo, "choices.0.logprobs.token_logprobs")->child->next;
    const vug_jv *text = response_at(&echo, "choices.0.logprobs.tokens")->child->next;
    assert_int_equal(entry->type, VUG_JSON_NULL);
    assert_null(response_at(&list, "choices.1.prompt_logprobs"));
    assert_true(response_number(&list, "usage.prompt_tokens_details.cached_tokens") == 0);
    for (entry = entry->next; entry; entry = entry->next) {
        char key[16];
        double best = 0;
        (void)snprintf(key, sizeof(key), "%.0f", id->f64);
        const vug_jv *token = vug_jv_get(entry, key);
        assert_float_equal(vug_jv_get(token, "logprob")->f64, want->f64, 1e-5);
        assert_true(vug_str_equal(vug_jv_get(token, "decoded_token")->str, text->str));
        const double rank = vug_jv_get(token, "rank")->f64;
        assert_int_equal(entry->n, rank > 2 ? 3 : 2);
        for (const vug_jv *v = entry->child; v; v = v->next) {
            if (vug_jv_get(v, "rank")->f64 == 1)
                best = vug_jv_get(v, "logprob")->f64;
        }
        assert_true(best < 0 && best >= vug_jv_get(token, "logprob")->f64);
        id = id->next;
        want = want->next;
        text = text->next;
    }
    assert_true(!id && !want);
    response_release(&list);
    response_release(&echo);
    list = serve_request(*state, "/v1/chat/completions",
                         CHAT("Hi", ",\"max_tokens\":1,\"prompt_logprobs\":0"));
    assert_int_equal(response_at(&list, "prompt_logprobs")->n,
                     (size_t)response_number(&list, "usage.prompt_tokens"));
    response_release(&list);
}

/* A long prompt is processed in steps, each with an event, from what is cached up to all of it. */
static void test_prompt_progress(void **state)
{
    static const char *const path[] = { "/v1/completions", "/v1/chat/completions", "/completion" };
    vug_buf body = { 0 };
    for (size_t k = 0; k < sizeof(path) / sizeof(path[0]); k++) {
        body.len = 0;
        vug_buf_printf(&body, "{\"max_tokens\":1,\"stream\":true,\"return_progress\":true,%s%zu",
                       k == 1 ? "\"messages\":[{\"role\":\"user\",\"content\":\"" : "\"prompt\":\"",
                       k);
        for (int i = 0; i < 1500; i++)
            vug_buf_puts(&body, " a");
        vug_buf_puts(&body, k == 1 ? "\"}]}" : "\"}");
        event_list l = read_events(*state, path[k], body.ptr);
        double before = -1, total = 0;
        size_t n = 0;
        for (size_t i = 0; i < l.n; i++) {
            const vug_jv *progress = vug_jv_get(l.event[i], "prompt_progress");
            if (!progress)
                continue;
            const double processed = vug_jv_get(progress, "processed")->f64;
            total = vug_jv_get(progress, "total")->f64;
            assert_true(processed > before && vug_jv_get(progress, "time_ms")->f64 >= 0);
            assert_true(n > 0 || processed == vug_jv_get(progress, "cache")->f64);
            before = processed;
            n++;
        }
        assert_true(n >= 3 && before == total && total > 1500);
        release_events(&l);
    }
    vug_buf_release(&body);
    event_list none =
            read_events(*state, "/v1/completions", COMPLETION(",\"max_tokens\":1,\"stream\":true"));
    assert_null(vug_jv_get(none.event[0], "prompt_progress"));
    release_events(&none);
}

/* ---- llama.cpp's endpoint --------------------------------------------------------------- */

static void test_native_completion(void **state)
{
    json_response own = serve_request(
            *state, "/completion",
            COMPLETION(",\"n_predict\":4,\"n_probs\":2,\"stop\":\"time\",\"return_tokens\":true"));
    json_response other = serve_request(*state, "/v1/completions",
                                        COMPLETION(",\"max_tokens\":4,\"logprobs\":2"));
    response_expect(&own, "content", " a ");
    response_expect(&own, "stop_type", "word");
    response_expect(&own, "stopping_word", "time");
    assert_true(response_at(&own, "stop")->boolean);
    assert_true(response_number(&own, "tokens_predicted") == 2);
    assert_true(response_number(&own, "tokens_evaluated") ==
                response_number(&other, "usage.prompt_tokens"));
    assert_int_equal(response_at(&own, "tokens")->n, 2);
    assert_true(response_number(&own, "completion_probabilities.0.id") ==
                response_number(&own, "tokens.0"));
    response_expect(&own, "completion_probabilities.0.token", " a");
    assert_int_equal(response_at(&own, "completion_probabilities.0.top_logprobs")->n, 2);
    assert_true(response_number(&own, "completion_probabilities.0.logprob") ==
                response_number(&other, "choices.0.logprobs.token_logprobs.0"));
    assert_true(response_number(&own, "timings.predicted_n") == 2);
    response_release(&own);
    response_release(&other);
}

static void test_native_ends(void **state)
{
    static const struct {
        const char *fields, *type;
    } rows[] = {
        { ",\"n_predict\":1", "limit" },
        { ",\"n_predict\":-1", "eos" },
        { "", "eos" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char body[256];
        (void)snprintf(body, sizeof(body), COMPLETION("%s"), rows[i].fields);
        json_response a = serve_request(*state, "/completion", body);
        response_expect(&a, "stop_type", rows[i].type);
        assert_int_equal(response_at(&a, "tokens")->n, 0);
        assert_null(response_at(&a, "completion_probabilities"));
        response_release(&a);
    }
    json_response all = serve_request(*state, "/completion", COMPLETION(",\"return_tokens\":true"));
    assert_int_equal(response_at(&all, "tokens")->n,
                     (size_t)response_number(&all, "tokens_predicted") + 1);
    response_release(&all);
    json_response two = serve_request(*state, "/completion",
                                      "{\"prompt\":[\"Once upon\",\"vug\"],\"n_predict\":1}");
    assert_int_equal(two.json->n, 2);
    assert_true(response_number(&two, "1.index") == 1);
    response_release(&two);
}

/* Without an answer, the prompt is in the cache for the next request. */
static void test_native_without_an_answer(void **state)
{
    static const char body[] = "{\"prompt\":\"%s\",\"temperature\":0,\"n_predict\":%d}";
    char text[1200], sent[1400];
    size_t n = 0;
    while (n < 1000)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "number %zu and ", n);
    (void)snprintf(sent, sizeof(sent), body, text, 0);
    json_response none = serve_request(*state, "/completion", sent);
    assert_int_equal(none.status, 200);
    response_expect(&none, "content", "");
    response_expect(&none, "stop_type", "limit");
    assert_true(response_number(&none, "tokens_evaluated") > 200);
    (void)snprintf(sent, sizeof(sent), body, text, 1);
    json_response one = serve_request(*state, "/completion", sent);
    assert_true(response_number(&one, "timings.cache_n") > 128);
    response_release(&none);
    response_release(&one);
}

/* The events have the content and the tokens of the whole answer; the last one ends it, without
 * [DONE]. */
static void test_native_stream(void **state)
{
    json_response whole = serve_request(*state, "/completion",
                                        COMPLETION(",\"n_predict\":6,\"return_tokens\":true"));
    event_list l = read_events(*state, "/completion",
                               COMPLETION(",\"n_predict\":6,\"stream\":true,\"stream_options\":{"
                                          "\"include_usage\":true}"));
    vug_buf text = { 0 };
    size_t n = 0;
    for (size_t i = 0; i < l.n; i++) {
        const vug_str content = vug_jv_get(l.event[i], "content")->str;
        vug_buf_append(&text, content.ptr, content.len);
        n += vug_jv_get(l.event[i], "tokens")->n;
        assert_int_equal(vug_jv_get(l.event[i], "stop")->boolean, i == l.n - 1);
        assert_int_equal(vug_jv_get(l.event[i], "timings") != NULL, i == l.n - 1);
    }
    response_expect(&whole, "content", text.ptr);
    assert_int_equal(n, response_at(&whole, "tokens")->n);
    assert_null(strstr(l.response.body.ptr, "[DONE]"));
    vug_buf_release(&text);
    release_events(&l);
    response_release(&whole);
}

/* n_probs asks for log-probabilities on all endpoints. */
static void test_n_probs(void **state)
{
    json_response a = serve_request(*state, "/v1/chat/completions",
                                    CHAT("Hi", ",\"max_tokens\":1,\"n_probs\":3"));
    assert_int_equal(response_at(&a, "choices.0.logprobs.content.0.top_logprobs")->n, 3);
    response_release(&a);
}

/* ---- text ----------------------------------------------------------------------------- */

/* They have the values that the list of the most likely tokens has, in the order of the request. */
static void test_logprobs_of_listed_ids(void **state)
{
    json_response top =
            serve_request(*state, "/completion", COMPLETION(",\"n_predict\":2,\"n_probs\":3"));
    const int first = (int)response_number(&top, "completion_probabilities.0.top_logprobs.0.id");
    const int third = (int)response_number(&top, "completion_probabilities.0.top_logprobs.2.id");
    char body[256];
    (void)snprintf(body, sizeof(body),
                   COMPLETION(",\"n_predict\":2,\"n_probs\":1,\"logprob_token_ids\":[%d,%d]"),
                   third, first);
    json_response listed = serve_request(*state, "/completion", body);
    const struct {
        const char *at, *from;
    } rows[] = {
        { "completion_probabilities.0.top_logprobs.0.logprob",
          "completion_probabilities.0.top_logprobs.2.logprob" },
        { "completion_probabilities.0.top_logprobs.1.logprob",
          "completion_probabilities.0.top_logprobs.0.logprob" },
        { "completion_probabilities.0.logprob", "completion_probabilities.0.logprob" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_true(response_number(&listed, rows[i].at) == response_number(&top, rows[i].from));
    assert_int_equal(response_at(&listed, "completion_probabilities.1.top_logprobs")->n, 2);
    response_release(&top);
    response_release(&listed);
    json_response chat = serve_request(
            *state, "/v1/chat/completions",
            CHAT("Hi", ",\"max_tokens\":1,\"logprobs\":true,\"logprob_token_ids\":[7,8,9]"));
    assert_int_equal(response_at(&chat, "choices.0.logprobs.content.0.top_logprobs")->n, 3);
    response_release(&chat);
    json_response bad =
            serve_request(*state, "/v1/chat/completions",
                          CHAT("Hi", ",\"logprobs\":true,\"logprob_token_ids\":[4096]"));
    assert_int_equal(bad.status, 400);
    response_expect(&bad, "error.param", "logprob_token_ids");
    response_release(&bad);
}

static void test_included_stop(void **state)
{
#define STOP ",\"temperature\":0,\"stop\":[\"ngine in\"],\"logprobs\":true"
    json_response cut = serve_request(*state, "/v1/chat/completions", CHAT("What is vug?", STOP));
    json_response all =
            serve_request(*state, "/v1/chat/completions",
                          CHAT("What is vug?", STOP ",\"include_stop_str_in_output\":true"));
    const vug_str shorter = response_at(&cut, "choices.0.message.content")->str;
    const vug_str longer = response_at(&all, "choices.0.message.content")->str;
    char want[512];
    (void)snprintf(want, sizeof(want), "%.*sngine in", VUG_STR_ARG(shorter));
    assert_true(vug_str_is(longer, want));
    response_expect(&all, "choices.0.finish_reason", "stop");
    assert_true(response_at(&all, "choices.0.logprobs.content")->n >
                response_at(&cut, "choices.0.logprobs.content")->n);
    response_release(&cut);
    response_release(&all);
#undef STOP
}

static void test_tokens_as_ids(void **state)
{
    json_response a = serve_request(*state, "/v1/chat/completions",
                                    CHAT("What is vug?",
                                         ",\"temperature\":0,\"max_tokens\":2,\"logprobs\":true,"
                                         "\"top_logprobs\":1,\"return_token_ids\":true,"
                                         "\"return_tokens_as_token_ids\":true"));
    char name[64];
    (void)snprintf(name, sizeof(name), "token_id:%.0f",
                   response_number(&a, "choices.0.token_ids.0"));
    response_expect(&a, "choices.0.logprobs.content.0.token", name);
    response_expect(&a, "choices.0.logprobs.content.0.top_logprobs.0.token", name);
    assert_true(response_number(&a, "choices.0.logprobs.content.0.bytes.0") == 'v');
    response_release(&a);
    a = serve_request(*state, "/v1/completions",
                      COMPLETION(",\"max_tokens\":2,\"logprobs\":2,\"return_token_ids\":true,"
                                 "\"return_tokens_as_token_ids\":true"));
    (void)snprintf(name, sizeof(name), "token_id:%.0f",
                   response_number(&a, "choices.0.token_ids.1"));
    response_expect(&a, "choices.0.logprobs.tokens.1", name);
    assert_int_equal(response_at(&a, "choices.0.logprobs.top_logprobs.1")->n, 2);
    assert_non_null(vug_jv_get(response_at(&a, "choices.0.logprobs.top_logprobs.1"), name));
    assert_true(response_number(&a, "choices.0.logprobs.text_offset.1") < 8);
    response_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_paths_without_a_model),
        cmocka_unit_test(test_context_error_has_the_numbers),
        cmocka_unit_test(test_prefill),
        cmocka_unit_test(test_version_and_tokenizer),
        cmocka_unit_test(test_truncated_prompts),
        cmocka_unit_test(test_token_ids),
        cmocka_unit_test(test_token_ids_of_streams),
        cmocka_unit_test(test_continuous_usage),
        cmocka_unit_test(test_timings_per_token),
        cmocka_unit_test(test_prompt_logprobs),
        cmocka_unit_test(test_prompt_progress),
        cmocka_unit_test(test_native_completion),
        cmocka_unit_test(test_native_without_an_answer),
        cmocka_unit_test(test_native_ends),
        cmocka_unit_test(test_native_stream),
        cmocka_unit_test(test_n_probs),
        cmocka_unit_test(test_logprobs_of_listed_ids),
        cmocka_unit_test(test_included_stop),
        cmocka_unit_test(test_tokens_as_ids),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
