/* `vug chat` with `vug serve`, with the output of other servers, and with broken servers. */
#include "test.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture.h"
#include "scratch.h"
#include "serve_help.h"

typedef struct {
    char text[64];
} url;

static url server_url(int port, const char *path)
{
    url u;
    (void)snprintf(u.text, sizeof(u.text), "http://127.0.0.1:%d%s", port, path);
    return u;
}

/* ---- vug serve ---------------------------------------------------------------------------- */

#define GREEDY   "--temperature", "0"
#define QUESTION "What is vug?"

/* The URL may be written in several ways. */
static void test_same_answers_as_run(void **state)
{
    static const char *const paths[] = { "", "/", "/v1", "/v1/" };
    (void)state;
    server_process s = SERVE("--threads", "1");
    captured local = VUG("run", SERVE_MODEL, QUESTION, GREEDY, "-q");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        gives(VUG("chat", "--url", server_url(s.at.port, paths[i]).text, QUESTION, GREEDY, "-q"),
              local.out.ptr, "");
    const url u = server_url(s.at.port, "");
    gives(VUG_IN(QUESTION "\n", "chat", "--url", u.text, GREEDY), local.out.ptr,
          "prompt 13 tokens");
    gives(VUG("chat", "--url", u.text, QUESTION, GREEDY, "-n", "3"), "vug is a\n",
          "answer 3 tokens");
    captured_release(&local);
    refuses(VUG("chat", "--url", u.text, "hi", "--model", "nope"),
            "HTTP status 404: The model 'nope' does not exist");
    refuses(VUG("chat", "--url", server_url(s.at.port, "/v2").text, "hi"), "HTTP status 404");
    refuses(VUG("chat", "--url", u.text, "hi", "--temperature", "3"), "HTTP status 400: ");
    assert_int_equal(serve_end(&s), 0);
}

static void test_prints_json(void **state)
{
    vug_arena arena = { 0 };
    const vug_jv *v;
    vug_err err;
    (void)state;
    server_process s = SERVE("--threads", "1");
    captured c = VUG("chat", "--url", server_url(s.at.port, "").text, QUESTION, "--json", "-n", "3",
                     GREEDY, "--system", "Be brief.");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.err.ptr, "");
    assert_int_equal(vug_json_tree((vug_str){ c.out.ptr, c.out.len }, "out", &arena, &v, &err),
                     VUG_OK);
    assert_true(vug_str_is(vug_jv_get(v, "model")->str, "pebble"));
    assert_true(vug_jv_get(v, "content")->str.len > 0);
    assert_true(vug_str_is(vug_jv_get(v, "finish")->str, "length"));
    assert_int_equal(vug_jv_get(v, "completion_tokens")->i64, 3);
    assert_true(vug_jv_get(v, "prompt_tokens")->i64 > 13);
    vug_arena_release(&arena);
    captured_release(&c);
    assert_int_equal(serve_end(&s), 0);
}

#define WEATHER                                                                                \
    "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"Weather" \
    " of a city\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":"     \
    "\"string\"}},\"required\":[\"city\"]}}}]"

static void test_tools_and_schemas(void **state)
{
    scratch dir = scratch_make();
    (void)state;
    scratch_puts(&dir, "tools.json", WEATHER);
    scratch_puts(&dir, "schema.json",
                 "{\"type\":\"object\",\"properties\":{\"a\":{\"const\":7}},"
                 "\"required\":[\"a\"],\"additionalProperties\":false}");
    scratch_puts(&dir, "bad.json", "{\"a\":");
    const scratch_path tools = scratch_at(&dir, "tools.json");
    const scratch_path schema = scratch_at(&dir, "schema.json");
    const scratch_path bad = scratch_at(&dir, "bad.json");
    server_process s = SERVE("--threads", "1");
    const url u = server_url(s.at.port, "");
    gives(VUG("chat", "--url", u.text, "What is the weather in Paris?", "--tools", tools.path,
              GREEDY, "-q"),
          "{\"name\":\"get_weather\",\"arguments\":{\"city\": \"Paris\"}}\n", "");
    captured c = VUG("chat", "--url", u.text, "Hello!", "--tools", tools.path, "--tool-choice",
                     "get_weather", GREEDY, "-q");
    assert_int_equal(c.code, 0);
    assert_int_equal(strncmp(c.out.ptr, "{\"name\":\"get_weather\",", 22), 0);
    captured_release(&c);
    c = VUG("chat", "--url", u.text, "Hello!", "--schema", schema.path, GREEDY, "-q");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.out.ptr, "7"));
    captured_release(&c);
    refuses(VUG("chat", "--url", u.text, "hi", "--tools", bad.path), bad.path);
    refuses(VUG("chat", "--url", u.text, "hi", "--tools", schema.path), "an array of tools");
    refuses(VUG("chat", "--url", u.text, "hi", "--schema", tools.path), "a JSON schema");
    refuses(VUG("chat", "--url", u.text, "hi", "--tool-choice", "auto"),
            "--tool-choice auto requires --tools");
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

static void test_options_work_as_in_run(void **state)
{
    scratch dir = scratch_make();
    (void)state;
    scratch_puts(&dir, "sum.gbnf", "root ::= \"It is \" [0-9]{2}\n");
    scratch_puts(&dir, "schema.json", "{\"enum\":[\"forty-two\",7]}");
    scratch_puts(&dir, "messages.json",
                 "[{\"role\":\"user\",\"content\":\"What is vug?\"},{\"role\":\"assistant\","
                 "\"content\":\"An engine.\"}]");
    const scratch_path gbnf = scratch_at(&dir, "sum.gbnf"),
                       schema = scratch_at(&dir, "schema.json");
    const scratch_path messages = scratch_at(&dir, "messages.json");
#define OPTIONS(...)          \
    {                         \
        (const char *const[]) \
        {                     \
            __VA_ARGS__, NULL \
        }                     \
    }
    const struct {
        const char *const *more;
    } rows[] = {
        OPTIONS(QUESTION, "--seed", "7", "-n", "20", "--temperature", "1.5"),
        OPTIONS(QUESTION, "--seed", "7", "-n", "20", "--top-k", "3", "--top-p", "0.9", "--min-p",
                "0.01", "--repetition-penalty", "1.2", "--presence-penalty", "1",
                "--frequency-penalty", "0.5", "--logit-bias", "442=-100"),
        OPTIONS(QUESTION, "--seed", "3", "-n", "30", "--min-tokens", "25", "--typical-p", "0.9",
                "--top-n-sigma", "2", "--xtc-probability", "0.5", "--xtc-threshold", "0.05",
                "--bad-word", "vug", "--bad-word", "the", "--temperature", "1.5"),
        OPTIONS(QUESTION, "--seed", "3", "-n", "30", "--repetition-penalty", "1.3",
                "--repeat-last-n", "5", "--dry-multiplier", "2", "--dry-base", "3",
                "--dry-allowed-length", "1", "--dry-penalty-last-n", "40", "--dry-sequence-breaker",
                " ", "--dry-sequence-breaker", "a"),
        OPTIONS(QUESTION, GREEDY, "-n", "60", "--ignore-eos"),
        OPTIONS("What is 12 + 30?", GREEDY, "--regex", "<[0-9 +]{7}= [0-9]{1,4}>"),
        OPTIONS("What is 12 + 30?", GREEDY, "--grammar", gbnf.path),
        OPTIONS("What is 12 + 30?", GREEDY, "--schema", schema.path),
        OPTIONS("Once upon", GREEDY, "--raw", "-n", "20"),
        OPTIONS("It is", GREEDY, "--raw", "--regex", " [a-z]{3,9}"),
        OPTIONS("Thanks!", GREEDY, "--messages", messages.path, "--system", "Be brief."),
        OPTIONS(QUESTION, GREEDY, "--thinking", "5"),
        OPTIONS(QUESTION, GREEDY, "--thinking", "off", "--var", "x=1"),
    };
    server_process s = SERVE("--threads", "1");
    const url u = server_url(s.at.port, "");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *run[40] = { capture_program(), "run", SERVE_MODEL, "-q" };
        const char *chat[40] = { capture_program(), "chat", "--url", u.text, "-q" };
        for (size_t k = 0; rows[i].more[k]; k++)
            run[4 + k] = chat[5 + k] = rows[i].more[k];
        captured local = capture(NULL, NULL, run);
        assert_int_equal(local.code, 0);
        assert_true(local.out.len > 1);
        gives(capture(NULL, NULL, chat), local.out.ptr, "");
        captured_release(&local);
    }
    refuses(VUG("chat", "--url", u.text, "hi", "--raw", "--system", "x"), "--raw turns it off");
    refuses(VUG("chat", "--url", u.text, "hi", "--regex", "a", "--grammar", gbnf.path),
            "only one of --schema, --regex");
    refuses(VUG("chat", "--url", u.text, "hi", "--regex", "("), "a group without its )");
    refuses(VUG_IN("", "chat", "--url", u.text, "--messages", messages.path), "add a PROMPT");
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

/* The template starts the thinking, and the budget ends it. */
static void test_thinking_budget_works_as_in_run(void **state)
{
    static const char *const budgets[] = { "0", "5", "9" };
    scratch dir = scratch_make();
    (void)state;
    scratch_puts(&dir, "think.jinja",
                 "{{ messages[0].content }}{{ '<think>' if enable_thinking }}\n");
    const scratch_path file = scratch_at(&dir, "think.jinja");
    server_process s = SERVE("--threads", "1", "--chat-template", file.path);
    const url u = server_url(s.at.port, "");
    for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
        captured local = VUG("run", SERVE_MODEL, "Once upon", GREEDY, "-q", "-n", "60",
                             "--chat-template", file.path, "--thinking", budgets[i]);
        captured c = VUG("chat", "--url", u.text, "Once upon", GREEDY, "-q", "-n", "60",
                         "--thinking", budgets[i]);
        assert_int_equal(c.code, 0);
        assert_string_equal(c.out.ptr, local.out.ptr);
        assert_string_equal(c.err.ptr, local.err.ptr);
        assert_int_equal(c.err.len > 0, i > 0);
        captured_release(&local);
        captured_release(&c);
    }
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

/* From both endpoints, as text and as JSON. */
static void test_prints_logprobs(void **state)
{
    static const char *const prompts[][2] = { { QUESTION, "-q" }, { "Once upon", "--raw" } };
    (void)state;
    server_process s = SERVE("--threads", "1");
    const url u = server_url(s.at.port, "");
    gives(VUG("chat", "--url", u.text, QUESTION, GREEDY, "-n", "2", "-q", "--logprobs", "2"),
          "vug is\n", "  -0.0000 \" is\"  |  -0.0000 \" is\" -");
    gives(VUG("chat", "--url", u.text, "Once upon", GREEDY, "-n", "2", "-q", "--logprobs", "1",
              "--raw"),
          " a time\n", "  -0.0000 \" time\"  |  -0.0000 \" time\"\n");
    for (size_t i = 0; i < 2; i++) {
        vug_arena arena = { 0 };
        const vug_jv *v, *first;
        vug_err err;
        captured c = VUG("chat", "--url", u.text, prompts[i][0], prompts[i][1], GREEDY, "-n", "2",
                         "--json", "--logprobs", "3");
        assert_int_equal(c.code, 0);
        assert_int_equal(vug_json_tree((vug_str){ c.out.ptr, c.out.len }, "out", &arena, &v, &err),
                         VUG_OK);
        assert_int_equal(vug_jv_get(v, "logprobs")->n, 2);
        first = vug_jv_get(v, "logprobs")->child;
        assert_true(vug_str_is(vug_jv_get(first, "token")->str, i ? " a" : "vug"));
        assert_int_equal(vug_jv_get(first, "top")->n, 3);
        assert_true(
                vug_str_is(vug_jv_get(v, i ? "text" : "content")->str, i ? " a time" : "vug is"));
        vug_arena_release(&arena);
        captured_release(&c);
    }
    assert_int_equal(serve_end(&s), 0);
}

static void test_sends_api_keys(void **state)
{
    static const char *const env[] = { "OPENAI_API_KEY=right", NULL };
    scratch dir = scratch_make();
    (void)state;
    scratch_puts(&dir, "key", "# ours\n\nright\nother\n");
    scratch_puts(&dir, "none", "# ours\n\n");
    const scratch_path file = scratch_at(&dir, "key"), none = scratch_at(&dir, "none");
    server_process s = SERVE("--threads", "1", "--api-key", "right");
    const url u = server_url(s.at.port, "");
    refuses(VUG("chat", "--url", u.text, "hi", "--api-key", "wrong"), "HTTP status 401: ");
    gives(VUG("chat", "--url", u.text, QUESTION, GREEDY, "-n", "1", "-q", "--api-key", "right"),
          "vug\n", "");
    gives(VUG("chat", "--url", u.text, QUESTION, GREEDY, "-n", "1", "-q", "--api-key-file",
              file.path),
          "vug\n", "");
    gives(capture(NULL, env, VUG_ARGV("chat", "--url", u.text, QUESTION, GREEDY, "-n", "1", "-q")),
          "vug\n", "");
    refuses(VUG("chat", "--url", u.text, "hi", "--api-key-file", none.path), "contains no key");
    refuses(VUG("chat", "--url", u.text, "hi", "--api-key", "a\r\nX: y"), "control characters");
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

static void test_connects_to_unix_sockets(void **state)
{
    scratch dir = scratch_make();
    const scratch_path at = scratch_at(&dir, "s");
    char name[600];
    (void)state;
    (void)snprintf(name, sizeof(name), "unix:%s", at.path);
    refuses(VUG("chat", "--url", name, "hi"), "cannot connect: No such file");
    server_process s = SERVE("--threads", "1", "--unix", at.path);
    gives(VUG("chat", "--url", name, QUESTION, GREEDY, "-n", "3", "-q"), "vug is a\n", "");
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

/* A certificate must be signed by a trusted one, and is valid for its own name only. */
static void test_verifies_certificates(void **state)
{
    scratch dir = scratch_make();
    const scratch_path cert = scratch_at(&dir, "cert.pem"), key = scratch_at(&dir, "key.pem");
    const scratch_path none = scratch_at(&dir, "none.pem"), third = scratch_at(&dir, "third.pem");
    char name[64], other[64];
    (void)state;
    http_write_certificate(third.path, key.path);
    http_write_certificate(cert.path, key.path);
    server_process s = SERVE("--threads", "1", "--tls-cert", cert.path, "--tls-key", key.path);
    (void)snprintf(name, sizeof(name), "https://localhost:%d", s.at.port);
    (void)snprintf(other, sizeof(other), "https://127.0.0.1:%d", s.at.port);
    gives(VUG("chat", "--url", name, "--tls-ca", cert.path, QUESTION, GREEDY, "-n", "3", "-q"),
          "vug is a\n", "");
    refuses(VUG("chat", "--url", name, "--tls-ca", third.path, "hi"), "SSL certificate problem");
    refuses(VUG("chat", "--url", name, "hi"), "certificate"); /* not in the system's list */
    refuses(VUG("chat", "--url", other, "--tls-ca", cert.path, "hi"), "127.0.0.1");
    refuses(VUG("chat", "--url", name, "--tls-ca", none.path, "hi"), none.path);
    assert_int_equal(serve_end(&s), 0);
    scratch_remove(&dir);
}

/* ---- other servers ------------------------------------------------------------------------ */

typedef struct {
    pid_t process;
    url at;
} canned_server;

/* In the child: serves one connection. Returns true if the client closed it first. */
static bool serve_one(int listener, const char *text, bool hold)
{
    char block[4096];
    const int fd = accept(listener, NULL, NULL);
    size_t n = 0;
    ssize_t got = 1;
    while (got > 0 && !(n >= 4 && memmem(block, n, "\r\n\r\n", 4))) {
        got = read(fd, block + n, sizeof(block) - n);
        n += got > 0 ? (size_t)got : 0;
    }
    if (write(fd, text, strlen(text)) < 0)
        return false;
    if (!hold)
        (void)shutdown(fd, SHUT_WR);
    while (got > 0)
        got = read(fd, block, sizeof(block));
    return true;
}

static canned_server start_canned_server(const char *text, bool hold)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    canned_server c = { .process = fork(), .at = server_url(ntohs(at.sin_port), "") };
    assert_true(c.process >= 0);
    if (c.process == 0)
        _exit(serve_one(fd, text, hold) ? 0 : 1);
    (void)close(fd);
    return c;
}

static void assert_client_closed(const canned_server *c)
{
    int status = -1;
    assert_int_equal(waitpid(c->process, &status, 0), c->process);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define HEAD(status, type) "HTTP/1.1 " status "\r\nContent-Type: " type "\r\n\r\n"
#define STREAM             HEAD("200 OK", "text/event-stream")
#define CONTENT(text)      "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define FINISH(reason)     "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"

static const struct {
    const char *bytes;
    bool hold; /* the connection stays open */
    int code;
    const char *out, *err;
} responses[] = {
    { STREAM CONTENT("Hi") FINISH("stop"), false, 0, "Hi\n", "" },
    { STREAM CONTENT("Hi") "data: [DONE]\n\n", true, 0, "Hi\n", "" },
    { STREAM CONTENT("Hi"), false, 2, "Hi\n", ": the response ended early" },
    { "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
      "ff\r\n" CONTENT("Hi"),
      false, 2, "Hi\n", ": the response ended early" },
    { STREAM CONTENT("Hi") "data: {\"error\":{\"message\":\"out of \\u001b[31mmemory\"}}\n\n", true,
      2, "Hi\n", "server error: out of \xef\xbf\xbd[31mmemory" },
    { STREAM "data: nonsense\n\n", true, 2, "", "line 1" },
    /* An incomplete call is printed as it is. */
    { STREAM
      "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{"
      "\"name\":\"f\",\"arguments\":\"{\\\"a\"}}]}}]}\n\n" FINISH("length"),
      false, 0, "{\"name\":\"f\",\"arguments\":\"{\\\"a\"}\n", "" },
    /* LM Studio, ollama, vLLM: errors with status 200, and all kinds of additional fields. */
    { STREAM "event: error\r\ndata: {\"error\":\"no model\"}\r\n\r\n", true, 2, "",
      "server error: no model" },
    { HEAD("200 OK", "application/json") "{\"error\":\"Unexpected endpoint\"}", false, 2, "",
      "server error: Unexpected endpoint" },
    { STREAM
      ": ping\n\ndata:{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
      "\"content\":\"\",\"tool_calls\":[]},\"logprobs\":null}],\"usage\":null}\n\n" CONTENT("Hi")
              CONTENT("\xc3\xa9") FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_"
                                                 "tokens\":1}}\n\ndata: [DONE]\n\n",
      true, 0, "Hi\xc3\xa9\n", "" },
    { STREAM "data: {\"choices\":[{\"logprobs\":{\"content\":[3,{\"token\":1}],\"tokens\":{}},"
             "\"delta\":{\"content\":\"Hi\"}}]}\n\n" FINISH("stop"),
      false, 0, "Hi\n", "" },
    { HEAD("200 OK", "application/json") "{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_"
                                         "reason\":\"stop\"}]}",
      false, 0, "Hi\n", "" },
    { HEAD("200 OK", "text/html") "<html>", false, 2, "", "line 1" },
    { HEAD("404 Not Found", "text/html") "<html>", false, 2, "",
      "HTTP status 404 for http://127.0.0.1" },
    { HEAD("503 Busy", "application/json") "{\"error\":{\"message\":\"later\"}}", false, 2, "",
      "HTTP status 503: later" },
    { "HTTP/1.1 307 Elsewhere\r\nLocation: http://example.com/x\r\nContent-Length: 0\r\n\r\n", true,
      2, "", "which redirects to http://example.com/x" },
    { "nonsense\r\n\r\n", true, 2, "", "vug: http://127.0.0.1" },
    { "", false, 2, "", "vug: http://127.0.0.1" },
};

static void test_accepts_other_servers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
        const canned_server s = start_canned_server(responses[i].bytes, responses[i].hold);
        captured c = VUG("chat", "--url", s.at.text, "--model", "m", "hi", "-q");
        if (c.code != responses[i].code || strcmp(c.out.ptr, responses[i].out) != 0 ||
            !strstr(c.err.ptr, responses[i].err))
            fail_msg("%zu: exit code %d, '%s', '%s'", i, c.code, c.out.ptr, c.err.ptr);
        captured_release(&c);
        assert_client_closed(&s);
    }
}

/* The partial answer is printed, and the server sees the closed connection at once. */
static void test_ctrl_c_cancels_the_request(void **state)
{
    static const char *const texts[] = { STREAM CONTENT("Hi\\n"), "" };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const canned_server s = start_canned_server(texts[i], true);
        int out[2], status = -1;
        char block[16] = "";
        assert_int_equal(pipe(out), 0);
        const char *const *argv = VUG_ARGV("chat", "--url", s.at.text, "--model", "m", "hi", "-q");
        const pid_t process = fork();
        assert_true(process >= 0);
        if (process == 0) {
            (void)dup2(out[1], STDOUT_FILENO);
            (void)execv(argv[0], (char *const *)argv);
            _exit(127);
        }
        (void)close(out[1]);
        if (*texts[i]) {
            assert_int_equal(read(out[0], block, sizeof(block)), 3);
            assert_string_equal(block, "Hi\n");
        }
        assert_int_equal(kill(process, SIGINT), 0);
        assert_int_equal(waitpid(process, &status, 0), process);
        if (*texts[i]) {
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 130);
            assert_client_closed(&s);
        } else { /* the signal may precede the handler */
            assert_true(WIFEXITED(status) ? WEXITSTATUS(status) == 130
                                          : WTERMSIG(status) == SIGINT);
            (void)kill(s.process, SIGKILL);
            (void)waitpid(s.process, NULL, 0);
        }
        (void)close(out[0]);
    }
}

static void test_rejects_bad_urls(void **state)
{
    static const char *const bad[] = { "",           "x",          "ftp://x",     "http://",
                                       "http:///x",  "http://:80", "unix:",       "http://a b",
                                       "http://a?b", "http://a#b", "file:///etc", "http://a\\b" };
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refuses(VUG("chat", "--url", bad[i], "hi"), "expected http://HOST:PORT");
    refuses(VUG("chat", "--url", "http://127.0.0.1:1", "hi"), "cannot connect: Connection refused");
    refuses(VUG("chat", "--thinking", "some", "hi"), "on, off, or a number of tokens");
    refuses(VUG_IN(" \n", "chat"), "the prompt is empty");
}

int main(void)
{
    capture_reset_signals();
    (void)signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_answers_as_run),
        cmocka_unit_test(test_prints_json),
        cmocka_unit_test(test_tools_and_schemas),
        cmocka_unit_test(test_options_work_as_in_run),
        cmocka_unit_test(test_thinking_budget_works_as_in_run),
        cmocka_unit_test(test_prints_logprobs),
        cmocka_unit_test(test_sends_api_keys),
        cmocka_unit_test(test_connects_to_unix_sockets),
        cmocka_unit_test(test_verifies_certificates),
        cmocka_unit_test(test_accepts_other_servers),
        cmocka_unit_test(test_ctrl_c_cancels_the_request),
        cmocka_unit_test(test_rejects_bad_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
