

#include "test.h"

#include <signal.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "serve_help.h"

/* ---- the program --------------------------------------------------------------------- */

enum { MOST_ARGUMENTS = 24 };

server_process serve_begin(const char *const *more)
{
    const char *argv[MOST_ARGUMENTS] = { "vug", "serve", SERVE_MODEL, "--port", "0" };
    int out[2];
    for (size_t n = 5; *more && n + 1 < MOST_ARGUMENTS; n++)
        argv[n] = *more++;
    assert_int_equal(pipe(out), 0);
    server_process s = { .process = fork(), .out = out[0] };
    assert_true(s.process >= 0);
    if (s.process == 0) {
#if defined(__linux__)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failing test does not end it */
#endif
        capture_reset_signals();
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(out[0]);
        (void)execv(capture_program(), (char *const *)argv);
        _exit(127);
    }
    assert_int_equal(close(out[1]), 0);
    serve_wait_for(&s, "\n");
    const char *port = strstr(s.text, "://127.0.0.1:");
    assert_non_null(port);
    s.at.port = (int)strtol(port + strlen("://127.0.0.1:"), NULL, 10);
    return s;
}

void serve_wait_for(server_process *s, const char *text)
{
    while (!strstr(s->text, text)) {
        const ssize_t got = read(s->out, s->text + s->n, sizeof(s->text) - 1 - s->n);
        if (got <= 0)
            fail_msg("no '%s' in: %s", text, s->text);
        s->n += (size_t)got;
    }
}

server_process serve_ready(const char *const *more)
{
    server_process s = serve_begin(more);
    serve_wait_for(&s, "ready: ");
    return s;
}

int serve_end(server_process *s)
{
    int status = -1;
    assert_int_equal(kill(s->process, SIGTERM), 0);
    assert_int_equal(waitpid(s->process, &status, 0), s->process);
    assert_int_equal(close(s->out), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- inside the test --------------------------------------------------------------- */

static void on_loaded(const vug_err *err, void *user)
{
    assert_null(err);
    http_count(&((server_fixture *)user)->loaded);
}

static void *run_http(void *http)
{
    vug_err err;
    assert_int_equal(vug_http_run(http, &err), VUG_OK);
    return NULL;
}

void serve_inside(server_fixture *s, const char *model, const vug_http_options *how)
{
    vug_err err;
    *s = (server_fixture){ 0 };
    s->route = vug_server_routes(&s->n_routes);
    assert_int_equal(vug_metrics_create(&s->metrics, &err), VUG_OK);
    vug_server_options options = {
        .http = *how, .model_path = model, .model = { .slots = 1 }, .max_waiting = 4
    };
    options.http.metrics = s->metrics;
    assert_int_equal(vug_service_create(&options, &s->service, &err), VUG_OK);
    assert_int_equal(
            vug_http_open(&options.http, s->route, s->n_routes, s->service, &s->http, &err),
            VUG_OK);
    atomic_store(&s->service->http, s->http);
    s->at.at.port = (int)strtol(strrchr(vug_http_address(s->http, 0), ':') + 1, NULL, 10);
    assert_int_equal(pthread_create(&s->thread, NULL, run_http, s->http), 0);
}

void serve_inside_load(server_fixture *s)
{
    vug_service_start(s->service, on_loaded, s);
    http_wait_for(&s->loaded, 1);
}

void serve_inside_end(server_fixture *s)
{
    vug_http_drain(s->http);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    vug_service_destroy(s->service);
    vug_http_close(s->http);
    vug_metrics_destroy(s->metrics);
}

/* ---- answers ------------------------------------------------------------------------- */

json_response serve_read_response(http_client *c)
{
    http_response a = http_read_response(c, true);
    json_response out = { .status = a.status, .head = a.head, .text = a.body };
    vug_err err;
    if (a.body.len && strchr("{[", a.body.ptr[0]) &&
        vug_json_tree((vug_str){ a.body.ptr, a.body.len }, "answer", &out.arena, &out.json, &err) !=
                VUG_OK)
        fail_msg("%s: %s", err.msg, a.body.ptr);
    return out;
}

json_response serve_request(const server_process *s, const char *path, const char *body)
{
    http_client c = http_connect(&s->at);
    http_send_request(&c, path, body);
    json_response out = serve_read_response(&c);
    http_close(&c);
    return out;
}

void response_release(json_response *a)
{
    vug_arena_release(&a->arena);
    vug_text_release(&a->head);
    vug_text_release(&a->text);
}

static const vug_jv *walk(const vug_jv *v, const char *path)
{
    while (*path && v) {
        char key[64] = "";
        const size_t n = strcspn(path, ".");
        assert_true(n < sizeof(key));
        memcpy(key, path, n);
        if (v->type == VUG_JSON_ARRAY) {
            long i = strtol(key, NULL, 10);
            for (v = v->child; v && i > 0; i--)
                v = v->next;
        } else {
            v = vug_jv_get(v, key);
        }
        path += n + (path[n] == '.');
    }
    return v;
}

const vug_jv *response_at(const json_response *a, const char *path)
{
    return walk(a->json, path);
}

double response_number(const json_response *a, const char *path)
{
    const vug_jv *v = response_at(a, path);
    if (!vug_jv_is(v, VUG_JSON_NUMBER))
        fail_msg("no number %s in %s", path, a->text.ptr);
    return v->f64;
}

void response_expect(const json_response *a, const char *path, const char *text)
{
    const vug_jv *v = response_at(a, path);
    if (!v || !vug_str_is(v->str, text))
        fail_msg("%s is not '%s' in %s", path, text, a->text.ptr);
}

/* ---- chats ---------------------------------------------------------------------------- */

static void add(vug_buf *to, const vug_jv *text)
{
    if (vug_jv_is(text, VUG_JSON_STRING))
        vug_buf_append(to, text->str.ptr, text->str.len);
}

static void add_logprobs(vug_buf *to, const vug_jv *choice)
{
    const vug_jv *list = walk(choice, "logprobs.content");
    for (const vug_jv *v = list ? list->child : NULL; v; v = v->next)
        add(to, vug_jv_get(v, "token"));
}

static void take_usage(chat_stream *h, const vug_jv *usage)
{
    h->prompt_tokens = (int)walk(usage, "prompt_tokens")->f64;
    h->completion_tokens = (int)walk(usage, "completion_tokens")->f64;
    assert_true(walk(usage, "total_tokens")->f64 ==
                (double)(h->prompt_tokens + h->completion_tokens));
}

static void take_reason(chat_stream *h, size_t i, const vug_jv *reason)
{
    assert_true(reason->str.len < sizeof(h->finish[i]));
    assert_int_equal(h->finish[i][0], '\0');
    memcpy(h->finish[i], reason->str.ptr, reason->str.len);
}

typedef struct {
    chat_stream *h;
    const char *id; /* the common beginning of all events, up to the choices */
    size_t id_len;
    int n_calls[STREAM_CHOICES];
    bool has_role[STREAM_CHOICES], usage, timings;
} stream_parser;

static void add_call(stream_parser *l, size_t i, const vug_jv *calls)
{
    vug_buf *to = &l->h->calls[i];
    const vug_jv *call = calls->child;
    assert_int_equal(calls->n, 1);
    assert_true(vug_jv_is(vug_jv_get(call, "index"), VUG_JSON_NUMBER));
    const int index = (int)vug_jv_get(call, "index")->i64;
    const vug_jv *name = walk(call, "function.name");
    if (name) {
        assert_int_equal(index, l->n_calls[i]++);
        assert_true(vug_str_starts(vug_jv_get(call, "id")->str, "call_"));
        assert_true(vug_str_is(vug_jv_get(call, "type")->str, "function"));
        vug_buf_puts(to, to->len ? ");" : "");
        add(to, name);
        vug_buf_puts(to, "(");
    } else {
        assert_int_equal(index, l->n_calls[i] - 1);
        assert_null(vug_jv_get(call, "id"));
        assert_null(vug_jv_get(call, "type"));
    }
    add(to, walk(call, "function.arguments"));
}

static void add_choice(stream_parser *l, const vug_jv *choice)
{
    const size_t i = (size_t)vug_jv_get(choice, "index")->i64;
    const vug_jv *delta = vug_jv_get(choice, "delta");
    const vug_jv *reason = vug_jv_get(choice, "finish_reason");
    assert_true(i < STREAM_CHOICES);
    assert_true(vug_jv_is(delta, VUG_JSON_OBJECT));
    assert_non_null(reason);
    assert_int_equal(l->h->finish[i][0], '\0'); /* nothing may follow */
    assert_true((vug_jv_get(delta, "role") != NULL) == !l->has_role[i]);
    l->has_role[i] = true;
    assert_true(delta->n <= 1 || vug_jv_get(delta, "role"));
    add(&l->h->content[i], vug_jv_get(delta, "content"));
    add(&l->h->thinking[i], vug_jv_get(delta, "reasoning_content"));
    if (vug_jv_get(delta, "tool_calls"))
        add_call(l, i, vug_jv_get(delta, "tool_calls"));
    add_logprobs(&l->h->logprobs[i], choice);
    if (reason->type == VUG_JSON_STRING) {
        assert_int_equal(delta->n, 0);
        take_reason(l->h, i, reason);
        if (l->n_calls[i])
            vug_buf_puts(&l->h->calls[i], ")");
    }
}

static void add_event(stream_parser *l, vug_str event)
{
    const vug_jv *root;
    vug_arena arena = { 0 };
    vug_err err;
    const char *choices = strstr(event.ptr, "\"choices\":");
    assert_true(choices && choices < event.ptr + event.len);
    const size_t same = (size_t)(choices - event.ptr);
    if (!l->id) {
        l->id = event.ptr;
        l->id_len = same;
    }
    assert_int_equal(same, l->id_len);
    assert_memory_equal(l->id, event.ptr, same);
    assert_int_equal(vug_json_tree(event, "event", &arena, &root, &err), VUG_OK);
    assert_true(vug_str_is(vug_jv_get(root, "object")->str, "chat.completion.chunk"));
    assert_false(l->usage || l->timings); /* nothing may follow */
    l->timings = vug_jv_get(root, "timings") != NULL;
    if (vug_jv_is(vug_jv_get(root, "usage"), VUG_JSON_OBJECT)) {
        l->usage = true;
        assert_int_equal(vug_jv_get(root, "choices")->n, 0);
        take_usage(l->h, vug_jv_get(root, "usage"));
    } else {
        assert_int_equal(vug_jv_get(root, "choices")->n, 1);
        add_choice(l, vug_jv_get(root, "choices")->child);
    }
    vug_arena_release(&arena);
}

chat_stream serve_stream_chat(const server_process *s, const char *body)
{
    chat_stream h = { .prompt_tokens = -1, .completion_tokens = -1 };
    stream_parser l = { .h = &h };
    http_client c = http_connect(&s->at);
    http_send_request(&c, "/v1/chat/completions", body);
    http_response a = http_read_response(&c, true);
    if (a.status != 200)
        fail_msg("%d: %s", a.status, a.body.ptr);
    assert_true(http_header_is(&a, "content-type", "text/event-stream; charset=utf-8"));
    const char *at = a.body.ptr;
    while (strcmp(at, "data: [DONE]\n\n") != 0) {
        const char *end = strstr(at, "\n\n");
        assert_non_null(end);
        if (*at != ':') {
            assert_int_equal(strncmp(at, "data: ", 6), 0);
            add_event(&l, (vug_str){ at + 6, (size_t)(end - at) - 6 });
        }
        at = end + 2;
    }
    assert_true(l.timings);
    http_response_release(&a);
    http_close(&c);
    return h;
}

chat_stream serve_whole_chat(const server_process *s, const char *body)
{
    chat_stream h = { 0 };
    json_response a = serve_request(s, "/v1/chat/completions", body);
    if (a.status != 200)
        fail_msg("%d: %s", a.status, a.text.ptr);
    response_expect(&a, "object", "chat.completion");
    size_t i = 0;
    for (const vug_jv *c = response_at(&a, "choices")->child; c; c = c->next, i++) {
        const vug_jv *calls = walk(c, "message.tool_calls");
        assert_true(i < STREAM_CHOICES);
        assert_true(vug_str_is(walk(c, "message.role")->str, "assistant"));
        add(&h.content[i], walk(c, "message.content"));
        add(&h.thinking[i], walk(c, "message.reasoning_content"));
        assert_true(!calls || calls->n > 0);
        for (const vug_jv *call = calls ? calls->child : NULL; call; call = call->next) {
            add(&h.calls[i], walk(call, "function.name"));
            vug_buf_puts(&h.calls[i], "(");
            add(&h.calls[i], walk(call, "function.arguments"));
            vug_buf_puts(&h.calls[i], call->next ? ");" : ")");
        }
        add_logprobs(&h.logprobs[i], c);
        take_reason(&h, i, vug_jv_get(c, "finish_reason"));
    }
    take_usage(&h, response_at(&a, "usage"));
    response_release(&a);
    return h;
}

void chat_stream_release(chat_stream *h)
{
    for (size_t i = 0; i < STREAM_CHOICES; i++) {
        vug_buf_release(&h->content[i]);
        vug_buf_release(&h->thinking[i]);
        vug_buf_release(&h->calls[i]);
        vug_buf_release(&h->logprobs[i]);
    }
}
