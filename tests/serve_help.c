#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "serve_help.h"

/* ---- the program --------------------------------------------------------------------- */

enum { MOST_ARGUMENTS = 24 };

serving serve_begin(const char *const *more)
{
    const char *argv[MOST_ARGUMENTS] = { "vug", "serve", SERVE_MODEL, "--port", "0" };
    int out[2];
    for (size_t n = 5; *more && n + 1 < MOST_ARGUMENTS; n++)
        argv[n] = *more++;
    assert_int_equal(pipe(out), 0);
    serving s = { .process = fork(), .out = out[0] };
    assert_true(s.process >= 0);
    if (s.process == 0) {
#if defined(__linux__)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not stop it */
#endif
        capture_signals();
        (void)dup2(out[1], STDOUT_FILENO);
        (void)close(out[0]);
        (void)execv(capture_program(), (char *const *)argv);
        _exit(127);
    }
    assert_int_equal(close(out[1]), 0);
    serve_await(&s, "\n");
    const char *port = strstr(s.text, "://127.0.0.1:");
    assert_non_null(port);
    s.at.port = (int)strtol(strrchr(port, ':') + 1, NULL, 10);
    return s;
}

void serve_await(serving *s, const char *text)
{
    while (!strstr(s->text, text)) {
        const ssize_t got = read(s->out, s->text + s->n, sizeof(s->text) - 1 - s->n);
        if (got <= 0)
            fail_msg("no '%s' in: %s", text, s->text);
        s->n += (size_t)got;
    }
}

serving serve_ready(const char *const *more)
{
    serving s = serve_begin(more);
    serve_await(&s, "ready: ");
    return s;
}

int serve_end(serving *s)
{
    int status = -1;
    assert_int_equal(kill(s->process, SIGTERM), 0);
    assert_int_equal(waitpid(s->process, &status, 0), s->process);
    assert_int_equal(close(s->out), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- inside of the test -------------------------------------------------------------- */

static const vug_http_route routes[] = {
    { "GET", "/health", VUG_HTTP_OPEN, vug_serve_health },
    { "GET", "/v1/models", 0, vug_serve_models },
    { "GET", "/v1/models/", VUG_HTTP_PREFIX, vug_serve_model },
    { "GET", "/props", 0, vug_serve_props },
    { "GET", "/metrics", 0, vug_serve_metrics },
    { "POST", "/v1/chat/completions", VUG_HTTP_QUEUED, vug_serve_chat },
    { "POST", "/v1/completions", VUG_HTTP_QUEUED, vug_serve_text },
    { "POST", "/tokenize", VUG_HTTP_QUEUED, vug_serve_tokenize },
    { "POST", "/detokenize", VUG_HTTP_QUEUED, vug_serve_detokenize },
    { "POST", "/apply-template", VUG_HTTP_QUEUED, vug_serve_template },
};

static void on_loaded(vug_str name, const vug_model *model, int sessions, const vug_err *err,
                      void *user)
{
    (void)name, (void)model, (void)sessions;
    assert_null(err);
    http_count(&((served *)user)->loaded);
}

static void *run_http(void *http)
{
    vug_err err;
    assert_int_equal(vug_http_run(http, &err), VUG_OK);
    return NULL;
}

void serve_inside(served *s, const char *model, const vug_http_options *how)
{
    vug_err err;
    *s = (served){ .route = routes, .n_routes = sizeof(routes) / sizeof(routes[0]) };
    assert_int_equal(vug_metrics_create(&s->metrics, &err), VUG_OK);
    vug_http_options http = *how;
    http.metrics = s->metrics;
    const vug_service_options what = {
        .path = model, .max_waiting = 4, .metrics = s->metrics, .loaded = on_loaded, .user = s
    };
    assert_int_equal(vug_service_create(&what, &s->service, &err), VUG_OK);
    assert_int_equal(vug_http_open(&http, routes, s->n_routes, s->service, &s->http, &err), VUG_OK);
    vug_service_serve(s->service, s->http);
    s->at.at.port = (int)strtol(strrchr(vug_http_address(s->http, 0), ':') + 1, NULL, 10);
    assert_int_equal(pthread_create(&s->thread, NULL, run_http, s->http), 0);
}

void serve_inside_end(served *s)
{
    vug_http_drain(s->http);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    vug_service_destroy(s->service);
    vug_http_close(s->http);
    vug_metrics_destroy(s->metrics);
}

/* ---- answers ------------------------------------------------------------------------- */

said serve_read(http_client *c)
{
    http_answer a = http_read_answer(c, true);
    said out = { .status = a.status, .head = a.head, .text = a.body };
    vug_err err;
    if (a.body.len && a.body.ptr[0] == '{' &&
        vug_json_tree((vug_str){ a.body.ptr, a.body.len }, "answer", &out.arena, &out.json, &err) !=
                VUG_OK)
        fail_msg("%s: %s", err.msg, a.body.ptr);
    return out;
}

said serve_ask(const serving *s, const char *path, const char *body)
{
    http_client c = http_connect(&s->at);
    http_ask(&c, path, body);
    said out = serve_read(&c);
    http_close(&c);
    return out;
}

void said_release(said *a)
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

const vug_jv *said_at(const said *a, const char *path)
{
    return walk(a->json, path);
}

double said_number(const said *a, const char *path)
{
    const vug_jv *v = said_at(a, path);
    if (!vug_jv_is(v, VUG_JSON_NUMBER))
        fail_msg("no number %s in %s", path, a->text.ptr);
    return v->f64;
}

void said_is(const said *a, const char *path, const char *text)
{
    const vug_jv *v = said_at(a, path);
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

static void take_usage(heard *h, const vug_jv *usage)
{
    h->prompt_tokens = (int)walk(usage, "prompt_tokens")->f64;
    h->completion_tokens = (int)walk(usage, "completion_tokens")->f64;
    assert_true(walk(usage, "total_tokens")->f64 ==
                (double)(h->prompt_tokens + h->completion_tokens));
}

static void take_reason(heard *h, size_t i, const vug_jv *reason)
{
    assert_true(reason->str.len < sizeof(h->finish[i]));
    assert_int_equal(h->finish[i][0], '\0');
    memcpy(h->finish[i], reason->str.ptr, reason->str.len);
}

typedef struct {
    heard *h;
    const char *id; /* the beginning of all events, up to the choices */
    size_t id_len;
    int n_calls[HEARD_CHOICES];
    bool has_role[HEARD_CHOICES], usage;
} listening;

static void hear_call(listening *l, size_t i, const vug_jv *calls)
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

static void hear_choice(listening *l, const vug_jv *choice)
{
    const size_t i = (size_t)vug_jv_get(choice, "index")->i64;
    const vug_jv *delta = vug_jv_get(choice, "delta");
    const vug_jv *reason = vug_jv_get(choice, "finish_reason");
    assert_true(i < HEARD_CHOICES);
    assert_true(vug_jv_is(delta, VUG_JSON_OBJECT));
    assert_non_null(reason);
    assert_int_equal(l->h->finish[i][0], '\0'); /* nothing follows the end */
    assert_true((vug_jv_get(delta, "role") != NULL) == !l->has_role[i]);
    l->has_role[i] = true;
    assert_true(delta->n <= 1 || vug_jv_get(delta, "role"));
    add(&l->h->content[i], vug_jv_get(delta, "content"));
    add(&l->h->thinking[i], vug_jv_get(delta, "reasoning_content"));
    if (vug_jv_get(delta, "tool_calls"))
        hear_call(l, i, vug_jv_get(delta, "tool_calls"));
    add_logprobs(&l->h->logprobs[i], choice);
    if (reason->type == VUG_JSON_STRING) {
        assert_int_equal(delta->n, 0);
        take_reason(l->h, i, reason);
        if (l->n_calls[i])
            vug_buf_puts(&l->h->calls[i], ")");
    }
}

static void hear_event(listening *l, vug_str event)
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
    assert_false(l->usage);
    if (vug_jv_is(vug_jv_get(root, "usage"), VUG_JSON_OBJECT)) {
        l->usage = true;
        assert_int_equal(vug_jv_get(root, "choices")->n, 0);
        take_usage(l->h, vug_jv_get(root, "usage"));
    } else {
        assert_int_equal(vug_jv_get(root, "choices")->n, 1);
        hear_choice(l, vug_jv_get(root, "choices")->child);
    }
    vug_arena_release(&arena);
}

heard serve_hear(const serving *s, const char *body)
{
    heard h = { .prompt_tokens = -1, .completion_tokens = -1 };
    listening l = { .h = &h };
    http_client c = http_connect(&s->at);
    http_ask(&c, "/v1/chat/completions", body);
    http_answer a = http_read_answer(&c, true);
    if (a.status != 200)
        fail_msg("%d: %s", a.status, a.body.ptr);
    assert_true(http_header_is(&a, "content-type", "text/event-stream; charset=utf-8"));
    const char *at = a.body.ptr;
    while (strcmp(at, "data: [DONE]\n\n") != 0) {
        const char *end = strstr(at, "\n\n");
        assert_non_null(end);
        if (*at != ':') {
            assert_int_equal(strncmp(at, "data: ", 6), 0);
            hear_event(&l, (vug_str){ at + 6, (size_t)(end - at) - 6 });
        }
        at = end + 2;
    }
    http_answer_release(&a);
    http_close(&c);
    return h;
}

heard serve_hear_whole(const serving *s, const char *body)
{
    heard h = { 0 };
    said a = serve_ask(s, "/v1/chat/completions", body);
    if (a.status != 200)
        fail_msg("%d: %s", a.status, a.text.ptr);
    said_is(&a, "object", "chat.completion");
    size_t i = 0;
    for (const vug_jv *c = said_at(&a, "choices")->child; c; c = c->next, i++) {
        const vug_jv *calls = walk(c, "message.tool_calls");
        assert_true(i < HEARD_CHOICES);
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
    take_usage(&h, said_at(&a, "usage"));
    said_release(&a);
    return h;
}

void heard_release(heard *h)
{
    for (size_t i = 0; i < HEARD_CHOICES; i++) {
        vug_buf_release(&h->content[i]);
        vug_buf_release(&h->thinking[i]);
        vug_buf_release(&h->calls[i]);
        vug_buf_release(&h->logprobs[i]);
    }
}
