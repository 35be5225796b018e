/* The interactive chat of `vug run` and `vug chat`, on a pseudo terminal. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "capture.h"
#include "core/json.h"
#include "core/os.h"
#include "serve_help.h"
#include "tiny_model.h"

/* Long enough for a busy machine and a sanitizer. Only a failing test waits so long. */
enum { TIMEOUT_MS = 60000 };

static const char prompt[] = "> ";

typedef struct {
    scratch folder;
    int fd; /* our end */
    pid_t pid;
    vug_buf seen; /* all output of the program */
    size_t read;  /* bytes of it that expect() has passed */
    bool colours; /* NO_COLOR is not set */
} terminal;

/* ---- the terminal -------------------------------------------------------------- */

/* In the child; never returns. */
static void run_on_terminal(const terminal *t, const char *name, const char *const *argv)
{
    (void)setsid();
    capture_reset_signals();
    const int fd = open(name, O_RDWR);
    (void)ioctl(fd, TIOCSCTTY, 0);
    if (dup2(fd, 0) == 0 && dup2(fd, 1) == 1 && dup2(fd, 2) == 2) {
        (void)setenv("XDG_STATE_HOME", t->folder.path, 1);
        (void)setenv("TERM", "xterm", 1);
        (void)(t->colours ? unsetenv("NO_COLOR") : setenv("NO_COLOR", "1", 1));
        (void)unsetenv("HOME");
        (void)execv(argv[0], (char *const *)argv);
    }
    _exit(127);
}

static void start(terminal *t, const char *const *argv)
{
    const struct winsize size = { .ws_row = 40, .ws_col = 200 };
    t->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(t->fd >= 0);
    assert_int_equal(grantpt(t->fd) | unlockpt(t->fd), 0);
    assert_int_equal(ioctl(t->fd, TIOCSWINSZ, &size), 0);
    const char *name = ptsname(t->fd);
    assert_non_null(name);
    t->pid = fork();
    assert_true(t->pid >= 0);
    if (t->pid == 0)
        run_on_terminal(t, name, argv);
}

static void type(const terminal *t, const char *keys)
{
    assert_int_equal(write(t->fd, keys, strlen(keys)), strlen(keys));
}

/* Returns false at the end of the output. */
static bool read_some(terminal *t)
{
    struct pollfd wait = { .fd = t->fd, .events = POLLIN };
    char block[4096];
    if (poll(&wait, 1, TIMEOUT_MS) <= 0)
        fail_msg("no more output after '%s'", t->seen.ptr ? t->seen.ptr : "");
    const ssize_t n = read(t->fd, block, sizeof(block));
    if (n <= 0)
        return false; /* EIO: the program has exited */
    vug_buf_append(&t->seen, block, (size_t)n);
    return true;
}

/* Waits for `text` after the last expected text. */
static void expect(terminal *t, const char *text)
{
    const char *found = NULL;
    while (!t->seen.ptr || !(found = strstr(t->seen.ptr + t->read, text))) {
        if (!read_some(t))
            fail_msg("the program ended without '%s' after '%s'", text,
                     t->seen.ptr ? t->seen.ptr + t->read : "");
    }
    t->read = (size_t)(found - t->seen.ptr) + strlen(text);
}

/* Reads all output and returns the exit code. */
static int finish(terminal *t)
{
    int status = 0;
    while (read_some(t))
        ;
    assert_int_equal(waitpid(t->pid, &status, 0), t->pid);
    t->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int open_terminal(void **state)
{
    terminal *t = vug_alloc_zero(1, sizeof(*t));
    assert_non_null(t);
    t->folder = scratch_make();
    t->fd = -1;
    tiny_model(&t->folder, TINY_VOCAB);
    *state = t;
    return 0;
}

static int close_terminal(void **state)
{
    terminal *t = *state;
    if (t->pid > 0) {
        (void)kill(t->pid, SIGKILL);
        (void)waitpid(t->pid, NULL, 0);
    }
    if (t->fd >= 0)
        (void)close(t->fd);
    vug_buf_release(&t->seen);
    scratch_remove(&t->folder);
    vug_free(t);
    return 0;
}

/* Responses have no natural end: the bias excludes the tokens that end a turn. */
#define CHAT(t, ...)                                                                              \
    start((t), VUG_ARGV("run", (t)->folder.path, "--temperature", "0", "--logit-bias", "1=-1000", \
                        "--logit-bias", "5=-1000", "--context", "4096", __VA_ARGS__))

/* ---- tests ---------------------------------------------------------------------- */

static void test_help_lists_commands(void **state)
{
    terminal *t = *state;
    CHAT(t, "-n", "4");
    expect(t, prompt);
    type(t, "/help\r");
    expect(t, "/reset");
    expect(t, "/save");
    expect(t, "/quit");
    expect(t, prompt);
    type(t, "/nonsense\r");
    expect(t, "unknown command /nonsense");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
}

static void test_quit_ends_the_program(void **state)
{
    terminal *t = *state;
    CHAT(t, "-n", "4", "-q");
    expect(t, prompt);
    type(t, "/nonsense\r");
    expect(t, "vug: unknown command");
    expect(t, prompt);
    type(t, "/quit\r");
    assert_int_equal(finish(t), 0);
    assert_null(memchr(t->seen.ptr, '\033', t->seen.len)); /* NO_COLOR */
}

static void test_errors_have_colours(void **state)
{
    terminal *t = *state;
    t->colours = true;
    CHAT(t, "-n", "4");
    expect(t, prompt);
    type(t, "/nonsense\r");
    expect(t, "\033[31mvug:\033[0m unknown command");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
}

/* The second prompt contains the first one, which is in the cache. /reset removes both. */
static void test_turns_use_the_cache(void **state)
{
    terminal *t = *state;
    CHAT(t, "-n", "4");
    expect(t, prompt);
    type(t, "hello\r");
    expect(t, "prompt 18 tokens, ");
    expect(t, "answer 4 tokens");
    expect(t, prompt);
    type(t, "hello\r");
    expect(t, " cached)");
    expect(t, "answer 4 tokens");
    expect(t, prompt);
    type(t, "/reset\r");
    expect(t, "a new conversation");
    expect(t, prompt);
    type(t, "hello\r");
    expect(t, "prompt 18 tokens (17 cached), "); /* as in the first conversation */
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
}

static void test_ctrl_c_stops_the_answer(void **state)
{
    terminal *t = *state;
    CHAT(t, "--logit-bias", "296=1000");
    expect(t, prompt);
    type(t, "hello\r");
    expect(t, "AAAA");
    type(t, "\x03");
    expect(t, "; interrupted");
    expect(t, prompt);
    /* The next response is complete. */
    type(t, "again\r");
    expect(t, "AAAA");
    type(t, "\x03");
    expect(t, "; interrupted");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
}

static void test_ctrl_c_at_the_prompt_discards_the_line(void **state)
{
    terminal *t = *state;
    CHAT(t, "-n", "4");
    expect(t, prompt);
    type(t, "given up\x03"); /* discards the line only */
    expect(t, "^C");
    expect(t, prompt);
    type(t, "\x03");
    expect(t, "Ctrl-C again");
    expect(t, prompt);
    type(t, "/help\r"); /* resets the count of Ctrl-C */
    expect(t, "/quit");
    expect(t, prompt);
    type(t, "\x03");
    expect(t, "Ctrl-C again");
    expect(t, prompt);
    type(t, "\x03");
    assert_int_equal(finish(t), 0);
    assert_null(strstr(t->seen.ptr, "answer 4"));
}

static const vug_jv *read_saved(const terminal *t, const char *name, vug_text *text,
                                vug_arena *arena)
{
    const vug_jv *root;
    assert_int_equal(vug_read_file(scratch_at(&t->folder, name).path, 1 << 20, text, NULL), VUG_OK);
    assert_int_equal(vug_json_tree((vug_str){ text->ptr, text->len }, name, arena, &root, NULL),
                     VUG_OK);
    return root;
}

static void test_save_writes_messages(void **state)
{
    terminal *t = *state;
    char command[600];
    vug_text text;
    vug_arena arena = { 0 };
    CHAT(t, "-n", "3", "--logit-bias", "296=1000", "--system", "be \"brief\"");
    expect(t, prompt);
    type(t, "one\\\r");
    expect(t, ". ");
    type(t, "two\r");
    expect(t, "AAA");
    expect(t, prompt);
    (void)snprintf(command, sizeof(command), "/save %s\r",
                   scratch_at(&t->folder, "chat.json").path);
    type(t, command);
    expect(t, "saved 3 messages to ");
    expect(t, prompt);
    type(t, "/save /no/such/folder/chat.json\r");
    expect(t, "/no/such/folder/chat.json: ");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
    const vug_jv *m = read_saved(t, "chat.json", &text, &arena)->child;
    assert_true(vug_str_is(vug_jv_get(m, "role")->str, "system"));
    assert_true(vug_str_is(vug_jv_get(m, "content")->str, "be \"brief\""));
    assert_true(vug_str_is(vug_jv_get(m->next, "role")->str, "user"));
    assert_true(vug_str_is(vug_jv_get(m->next, "content")->str, "one\ntwo"));
    assert_true(vug_str_is(vug_jv_get(m->next->next, "role")->str, "assistant"));
    assert_true(vug_str_is(vug_jv_get(m->next->next, "content")->str, "AAA"));
    assert_null(m->next->next->next);
    vug_arena_release(&arena);
    vug_text_release(&text);
}

/* The arrow key recalls the line in the next chat. Only its owner may read the file. If it is a link,
 * it stays one. */
static void test_history_is_kept(void **state)
{
    terminal *t = *state;
    struct stat info, kept;
    const scratch_path history = scratch_at(&t->folder, "vug/history");
    const scratch_path elsewhere = scratch_at(&t->folder, "kept");
    CHAT(t, "-n", "2");
    expect(t, prompt);
    type(t, "remember me\r");
    expect(t, "answer 2 tokens");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
    assert_int_equal(stat(history.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(rename(history.path, elsewhere.path), 0);
    assert_int_equal(symlink("../kept", history.path), 0);
    (void)close(t->fd);
    t->read = t->seen.len;
    CHAT(t, "-n", "2");
    expect(t, prompt);
    type(t, "\x1b[A");
    expect(t, "remember me");
    type(t, "\x15/quit\r");
    assert_int_equal(finish(t), 0);
    assert_int_equal(lstat(history.path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(elsewhere.path, &kept), 0);
    assert_int_equal(stat(history.path, &info), 0);
    assert_true(info.st_ino == kept.st_ino);
}

static void test_long_message_is_reported(void **state)
{
    terminal *t = *state;
    start(t, VUG_ARGV("run", t->folder.path, "--context", "24", "-n", "2"));
    expect(t, prompt);
    type(t, "this is far too much for a context that small\r");
    expect(t, "24");
    expect(t, prompt);
    type(t, "hi\r");
    expect(t, "answer 2 tokens");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
}

static void test_ctrl_c_ends_a_single_prompt(void **state)
{
    terminal *t = *state;
    CHAT(t, "--logit-bias", "296=1000", "hello");
    expect(t, "AAAA");
    type(t, "\x03");
    expect(t, "; interrupted");
    assert_int_equal(finish(t), 130);
}

static void test_json_requires_a_prompt(void **state)
{
    terminal *t = *state;
    CHAT(t, "--json");
    expect(t, "--json needs a PROMPT");
    assert_int_equal(finish(t), 2);
}

static void test_chat_with_a_server(void **state)
{
    terminal *t = *state;
    char url[64];
    server_process s = SERVE("--threads", "1");
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", s.at.port);
    start(t, VUG_ARGV("chat", "--url", url, "--temperature", "0"));
    expect(t, "pebble at http://127.0.0.1:");
    expect(t, prompt);
    type(t, "What is vug?\r");
    expect(t, "vug is a native inference engine");
    expect(t, "prompt 13 tokens; answer 38 tokens");
    expect(t, prompt);
    type(t, "Thanks!\r");
    expect(t, " cached); answer ");
    expect(t, prompt);
    type(t, "/reset\r");
    expect(t, "a new conversation");
    expect(t, prompt);
    type(t, "What is vug?\r");
    expect(t, "prompt 13 tokens");
    expect(t, prompt);
    assert_int_equal(serve_end(&s), 0);
    type(t, "Thanks!\r");
    expect(t, "cannot connect: Connection refused");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
}

#define WEATHER                                                                                \
    "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"Weather" \
    " of a city\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":"     \
    "\"string\"}},\"required\":[\"city\"]}}}]"

static const char question[] = "get_weather({\"city\": \"Paris\"}) = ";

/* One message of those that /save wrote. */
static const vug_jv *message(const vug_jv *list, size_t i)
{
    const vug_jv *m = list->child;
    while (m && i--)
        m = m->next;
    return m;
}

static void assert_tool_result(const vug_jv *list, size_t i, const char *content)
{
    const vug_jv *call = vug_jv_get(message(list, i - 1), "tool_calls");
    const vug_jv *m = message(list, i);
    assert_non_null(call);
    assert_true(vug_str_is(vug_jv_get(m, "role")->str, "tool"));
    assert_true(vug_str_is(vug_jv_get(m, "name")->str, "get_weather"));
    assert_true(
            vug_str_equal(vug_jv_get(m, "tool_call_id")->str, vug_jv_get(call->child, "id")->str));
    assert_true(vug_str_is(vug_jv_get(m, "content")->str, content));
}

/* Results: typed, from a file, empty, and Ctrl-C, after which the model does not respond. */
static void enter_tool_results(terminal *t)
{
    vug_arena arena = { 0 };
    vug_text text;
    char command[600];
    expect(t, prompt);
    type(t, "What is the weather in Paris?\r");
    expect(t, question);
    type(t, "{\"temperature\": 21, \"sky\": \"clear\"}\r");
    expect(t, "It is 21 degrees and clear in Paris.");
    expect(t, prompt);
    type(t, "What is the weather in Paris?\r");
    expect(t, question);
    type(t, "/nonsense\r");
    expect(t, "/file FILE");
    expect(t, question);
    type(t, "/file /no/such/file\r");
    expect(t, "/no/such/file: cannot open");
    expect(t, question);
    (void)snprintf(command, sizeof(command), "/file %s\r",
                   scratch_at(&t->folder, "result.json").path);
    type(t, command);
    expect(t, "It is -3 degrees and snow in Paris.");
    expect(t, prompt);
    type(t, "What is the weather in Paris?\r");
    expect(t, question);
    type(t, "\r");
    expect(t, "answer ");
    expect(t, prompt);
    type(t, "What is the weather in Paris?\r");
    expect(t, question);
    type(t, "half a \x03");
    expect(t, prompt);
    type(t, "Thanks!\r");
    expect(t, "welcome");
    expect(t, prompt);
    (void)snprintf(command, sizeof(command), "/save %s\r",
                   scratch_at(&t->folder, "chat.json").path);
    type(t, command);
    expect(t, "saved 17 messages to ");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
    const vug_jv *list = read_saved(t, "chat.json", &text, &arena);
    assert_tool_result(list, 2, "{\"temperature\": 21, \"sky\": \"clear\"}");
    assert_tool_result(list, 6, "{\"temperature\": -3, \"sky\": \"snow\"}");
    assert_tool_result(list, 10, "The call was not carried out.");
    assert_tool_result(list, 14, "The call was not carried out.");
    const vug_str id = vug_jv_get(message(list, 2), "tool_call_id")->str;
    assert_false(vug_str_equal(id, vug_jv_get(message(list, 6), "tool_call_id")->str));
    vug_arena_release(&arena);
    vug_text_release(&text);
}

static void test_tool_results_are_requested(void **state)
{
    terminal *t = *state;
    char url[64];
    scratch_puts(&t->folder, "tools.json", WEATHER);
    scratch_puts(&t->folder, "result.json", "{\"temperature\": -3, \"sky\": \"snow\"}");
    const scratch_path tools = scratch_at(&t->folder, "tools.json");
    start(t, VUG_ARGV("run", SERVE_MODEL, "--tools", tools.path, "--temperature", "0"));
    enter_tool_results(t);
    (void)close(t->fd);
    server_process s = SERVE("--threads", "1");
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", s.at.port);
    start(t, VUG_ARGV("chat", "--url", url, "--tools", tools.path, "--temperature", "0"));
    enter_tool_results(t);
    assert_int_equal(serve_end(&s), 0);
}

/* Continues at two calls. The arguments of one are long and have a terminal control character. */
static void test_messages_continue_a_chat(void **state)
{
    terminal *t = *state;
    scratch_puts(&t->folder, "messages.json",
                 "{\"messages\":[{\"role\":\"user\",\"content\":\"Weather?\"},"
                 "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\","
                 "\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1}}},{\"id\":\"b\",\"type\":"
                 "\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{\\n\\\"x\\\":\\\""
                 "\\u009b31m\\u00e9123456789012345678901234567890123456789012345678901234567890"
                 "\\\"}\"}}]}]}");
    scratch_puts(&t->folder, "asked.json", "[{\"role\":\"user\",\"content\":\"What is vug?\"}]");
    const scratch_path messages = scratch_at(&t->folder, "messages.json");
    const scratch_path asked = scratch_at(&t->folder, "asked.json");
    start(t, VUG_ARGV("run", SERVE_MODEL, "--messages", messages.path, "--temperature", "0", "-n",
                      "4"));
    expect(t, "f({\"x\":1}) = ");
    type(t, "one \\\rmore\r");
    expect(t, "g({ \"x\":\"\xef\xbf\xbd"
              "31m\xc3\xa9"
              "1234567890");
    expect(t, " ..) = ");
    type(t, "two\r");
    expect(t, "answer ");
    expect(t, prompt);
    type(t, "/reset\r");
    expect(t, prompt);
    type(t, "What is vug?\r");
    expect(t, "prompt 13 tokens");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
    (void)close(t->fd);
    start(t, VUG_ARGV("run", SERVE_MODEL, "--messages", asked.path, "--temperature", "0"));
    expect(t, "vug is a native");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
}

/* The partial response stays in the conversation, and the chat continues. */
static void test_ctrl_c_stops_a_server_response(void **state)
{
    terminal *t = *state;
    vug_arena arena = { 0 };
    vug_text text;
    char url[64], command[600];
    server_process s = SERVE("--threads", "1");
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", s.at.port);
    start(t, VUG_ARGV("chat", "--url", url, "--temperature", "0", "--ignore-eos"));
    expect(t, prompt);
    type(t, "What is vug?\r");
    expect(t, "vug is a native inference");
    type(t, "\x03");
    expect(t, "; interrupted");
    expect(t, prompt);
    (void)snprintf(command, sizeof(command), "/save %s\r",
                   scratch_at(&t->folder, "chat.json").path);
    type(t, command);
    expect(t, "saved 2 messages to ");
    expect(t, prompt);
    type(t, "Thanks!\r");
    expect(t, "welcome");
    type(t, "\x03");
    expect(t, prompt);
    type(t, "\x04");
    assert_int_equal(finish(t), 0);
    assert_int_equal(serve_end(&s), 0);
    const vug_jv *list = read_saved(t, "chat.json", &text, &arena);
    assert_true(vug_str_starts(vug_jv_get(message(list, 1), "content")->str, "vug is a native"));
    vug_arena_release(&arena);
    vug_text_release(&text);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_terminal, close_terminal)
    const struct CMUnitTest tests[] = {
        CASE(test_help_lists_commands),
        CASE(test_quit_ends_the_program),
        CASE(test_errors_have_colours),
        CASE(test_turns_use_the_cache),
        CASE(test_ctrl_c_stops_the_answer),
        CASE(test_ctrl_c_at_the_prompt_discards_the_line),
        CASE(test_save_writes_messages),
        CASE(test_history_is_kept),
        CASE(test_long_message_is_reported),
        CASE(test_ctrl_c_ends_a_single_prompt),
        CASE(test_json_requires_a_prompt),
        CASE(test_chat_with_a_server),
        CASE(test_tool_results_are_requested),
        CASE(test_messages_continue_a_chat),
        CASE(test_ctrl_c_stops_a_server_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
