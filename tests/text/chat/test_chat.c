#include "test.h"

#include "core/json.h"
#include "core/os.h"
#include "engine_help.h"
#include "tiny_model.h"
#include "vug/chat.h"

/* Conversations as prompts: where a template comes from, how messages are checked, and how they are
 * adapted to a template. */

static vug_str str(const char *text)
{
    return vug_str_of(text);
}

/* ---- built-in templates ------------------------------------------------------ */

static vug_status render(const vug_chat *chat, vug_str messages, const vug_conversation *how,
                         vug_text *out, vug_err *err)
{
    vug_conversation c = how ? *how : (vug_conversation){ 0 };
    vug_prompt prompt = { 0 };
    c.messages = messages.ptr;
    c.messages_len = messages.len;
    const vug_status st = vug_chat_render(chat, &c, &prompt, err);
    *out = prompt.text;
    prompt.text = (vug_text){ 0 };
    for (size_t i = 0; i < prompt.n_untrusted; i++) {
        assert_true(prompt.untrusted[i].from < prompt.untrusted[i].to &&
                    prompt.untrusted[i].to <= out->len);
        assert_true(i == 0 || prompt.untrusted[i - 1].to < prompt.untrusted[i].from);
    }
    vug_prompt_release(&prompt);
    return st;
}

/* The chat of a folder with nothing but a config of that type. */
static vug_chat *open_builtin_chat(const char *model_type)
{
    scratch dir = scratch_make();
    char config[100];
    vug_chat *chat = NULL;
    vug_err err = { 0 };
    (void)snprintf(config, sizeof(config), "{\"model_type\":\"%s\"}", model_type);
    scratch_puts(&dir, "config.json", config);
    help_ok(vug_chat_open(dir.path, NULL, &chat, &err), &err);
    scratch_remove(&dir);
    return chat;
}

static void check_line(const vug_chat *chat, vug_str line)
{
    vug_arena arena = { 0 };
    const vug_jv *root = NULL;
    vug_text text = { 0 };
    vug_err err = { 0 };
    assert_int_equal(vug_json_tree(line, "chat.jsonl", &arena, &root, NULL), VUG_OK);
    const vug_jv *open = vug_jv_get(vug_jv_get(root, "options"), "add_generation_prompt");
    const vug_jv *want = vug_jv_get(root, "text");
    const vug_conversation how = { .no_generation_prompt = open && !open->boolean, .strict = true };
    const vug_status st = render(chat, line, &how, &text, &err);
    if ((st == VUG_OK) != (want != NULL))
        fail_msg("%.*s: %s", (int)line.len, line.ptr, err.msg);
    if (want) {
        assert_int_equal(text.len, want->str.len);
        assert_memory_equal(text.ptr, want->str.ptr, text.len);
    }
    vug_text_release(&text);
    vug_arena_release(&arena);
}

/* The built-in template against the reference output of Gemma 3's own. */
static void test_builtin_gemma3_matches_the_vendor(void **state)
{
    (void)state;
    vug_text file = { 0 };
    int lines = 0;
    vug_chat *chat = open_builtin_chat("gemma3_text");
    assert_string_equal(vug_chat_source(chat), "built in: gemma3");
    assert_int_equal(vug_read_file("tests/golden/text/chat.jsonl", 1 << 20, &file, NULL), VUG_OK);
    for (const char *at = file.ptr, *end; (end = strchr(at, '\n')); at = end + 1) {
        const vug_str line = { at, (size_t)(end - at) };
        if (memmem(line.ptr, line.len, "\"gemma3\"", 8)) {
            check_line(chat, line);
            lines++;
        }
    }
    assert_true(lines >= 13);
    vug_text_release(&file);
    vug_chat_close(chat);
}

typedef struct {
    const char *type, *source; /* of the config, of the chat */
    const char *messages, *tools, *variables;
    const char *want;
} builtin_row;

#define USER   "{\"role\":\"user\",\"content\":\" Hi \"}"
#define SYSTEM "{\"role\":\"system\",\"content\":\"S\"}"
#define CALL                                                                                 \
    "{\"role\":\"assistant\",\"reasoning\":\"so\",\"tool_calls\":[{\"id\":\"1\",\"type\":"   \
    "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"s\\\":\\\"x\\\"}\"}}]}," \
    "{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"20\"}"
#define TOOL                                                                      \
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"D\"," \
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\"}}}}}]"

static void test_builtin_templates(void **state)
{
    static const builtin_row rows[] = {
        { "gemma", "built in: gemma", "[" SYSTEM "," USER "]", NULL, NULL,
          "<bos><start_of_turn>user\nS\n\nHi<end_of_turn>\n<start_of_turn>model\n" },
        { "gemma2", "built in: gemma2", "[" USER "]", NULL, NULL,
          "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n" },
        { "gemma3_text", "built in: gemma3", "[" USER "," CALL "]", NULL, NULL,
          "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n<tool_call>\n"
          "{\"name\": \"f\", \"arguments\": {\"s\": \"x\"}}\n</tool_call><end_of_turn>\n"
          "<start_of_turn>user\n<tool_response>\n20\n</tool_response><end_of_turn>\n"
          "<start_of_turn>model\n" },
        { "gemma4", "built in: gemma4", "[" USER "]", NULL, "{\"enable_thinking\":true}",
          "<bos><|turn>system\n<|think|>\n<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n" },
        { "gemma4", "built in: gemma4", "[" SYSTEM "," USER "," CALL "]", TOOL, NULL,
          "<bos><|turn>system\nS<|tool>declaration:f{description:<|\"|>D<|\"|>,parameters:{"
          "properties:{s:{type:<|\"|>STRING<|\"|>}},type:<|\"|>OBJECT<|\"|>}}<tool|><turn|>\n"
          "<|turn>user\nHi<turn|>\n<|turn>model\n<|channel>thought\nso\n<channel|>"
          "<|tool_call>call:f{s:<|\"|>x<|\"|>}<tool_call|>"
          "<|tool_response>response:f{value:<|\"|>20<|\"|>}<tool_response|>" },
        { "qwen2", "built in: qwen2", "[" USER "]", NULL, NULL,
          "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
          "assistant.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n" },
        { "qwen3", "built in: qwen3", "[" USER "," CALL "]", NULL, NULL,
          "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n<think>\nso\n</think>\n\n"
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"s\": \"x\"}}\n</tool_call><|im_end|>\n"
          "<|im_start|>user\n<tool_response>\n20\n</tool_response><|im_end|>\n"
          "<|im_start|>assistant\n" },
        { "qwen3_moe", "built in: qwen3", "[" SYSTEM "," USER "]", NULL,
          "{\"enable_thinking\":false}",
          "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
          "<|im_start|>assistant\n<think>\n\n</think>\n\n" },
        { "llama", "built in: llama3", "[" SYSTEM "," USER "]", NULL, NULL,
          "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|>"
          "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
          "<|start_header_id|>assistant<|end_header_id|>\n\n" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const builtin_row *r = &rows[i];
        vug_chat *chat = open_builtin_chat(r->type);
        vug_text text = { 0 };
        vug_err err = { 0 };
        const vug_conversation how = { .tools = r->tools,
                                       .tools_len = r->tools ? strlen(r->tools) : 0,
                                       .variables = r->variables,
                                       .variables_len = r->variables ? strlen(r->variables) : 0 };
        assert_string_equal(vug_chat_source(chat), r->source);
        help_ok(render(chat, str(r->messages), &how, &text, &err), &err);
        assert_string_equal(text.ptr, r->want);
        vug_text_release(&text);
        vug_chat_close(chat);
    }
}

/* ---- tool calls in histories --------------------------------------------------------------- */

#define CALLED(id, arguments) \
    "{\"id\":\"" id "\",\"function\":{\"name\":\"f" id "\",\"arguments\":" arguments "}}"
#define CALLS(calls) "{\"role\":\"assistant\",\"tool_calls\":[" calls "]}"
#define THOUGHT(content, reasoning) \
    "{\"role\":\"assistant\",\"content\":\"" content "\",\"reasoning\":\"" reasoning "\"}"
#define RESULT(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"r" id "\"}"

static void check_history(const char *source, const char *messages, const char *want)
{
    vug_chat *chat = NULL;
    vug_text text = { 0 };
    vug_err err = { 0 };
    char list[1024];
    const vug_conversation how = { .no_generation_prompt = true };
    help_ok(vug_chat_parse(source, strlen(source), "plain", &chat, &err), &err);
    (void)snprintf(list, sizeof(list), "[%s]", messages);
    help_ok(render(chat, str(list), &how, &text, &err), &err);
    assert_string_equal(text.ptr, want);
    vug_text_release(&text);
    vug_chat_close(chat);
}

static void test_tool_calls_in_histories(void **state)
{
    /* Each message as role:content, each call as name(arguments). */
    static const char source[] =
            "{%- for m in messages %}{{ m.role }}:{{ m.content if m.content is string else "
            "m.content[0].text }}{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ "
            "c.function.arguments if c.function.arguments is string else c.function.arguments | "
            "tojson }}){% endfor %};{% endfor %}";
    static const struct {
        const char *messages, *want;
    } rows[] = {
        /* Results follow their calls, by id; those without a call stay. */
        { CALLS(CALLED("1", "{}") "," CALLED("2", "{}") "," CALLED("3", "{}")) "," RESULT(
                  "3") "," RESULT("9") "," RESULT("1") "," RESULT("2"),
          "assistant:f1({})f2({})f3({});tool:r1;tool:r2;tool:r3;tool:r9;" },
        { CALLS(CALLED("2", "{}")) "," CALLS(CALLED("1", "{}")) "," RESULT("1") "," RESULT("2"),
          "assistant:f2({});assistant:f1({});tool:r2;tool:r1;" },
        /* Nothing stands between a call and its result, and an id may be used again. */
        { CALLS(CALLED("1", "{}") "," CALLED("2", "{}")) "," RESULT(
                  "2") ",{\"role\":\"system\","
                       "\"content\":\"s\"}"
                       "," RESULT("1") "," CALLS(CALLED("1", "{}")) "," RESULT("1"),
          "assistant:f1({})f2({});tool:r1;tool:r2;system:s;assistant:f1({});tool:r1;" },
        { CALLS(CALLED("", "{}") "," CALLED("", "{}")) ",{\"role\":\"tool\",\"content\":\"b\"},{"
                                                       "\"role\":\"tool\",\"content\":\"a\"}",
          "assistant:f({})f({});tool:b;tool:a;" },
        /* Arguments that are no object stay text. */
        { CALLS(CALLED("1", "\"{\\\"a\\\":\"") "," CALLED("2", "\"[1]\"") "," CALLED(
                  "3", "\"\"") "," CALLED("4", "\"{\\\"a\\\":1}\"")),
          "assistant:f1({\"a\":)f2([1])f3({})f4({\"a\": 1});" },
        /* A refusal is content. */
        { "{\"role\":\"assistant\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}]}",
          "assistant:no;" },
        { "{\"role\":\"assistant\",\"content\":null,\"refusal\":\"no\"}", "assistant:no;" },
        /* The older form of calls and results. */
        { "{\"role\":\"assistant\",\"content\":null,\"function_call\":{\"name\":\"g\","
          "\"arguments\":\"{\\\"a\\\":2}\"}},{\"role\":\"function\",\"name\":\"g\","
          "\"content\":\"5\"}",
          "assistant:g({\"a\": 2});tool:5;" },
        { "{\"role\":\"assistant\",\"function_call\":{\"name\":\"g\",\"arguments\":\"{}\"},"
          "\"tool_calls\":[" CALLED("1", "{}") "]}," RESULT("1"),
          "assistant:f1({});tool:r1;" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_history(source, rows[i].messages, rows[i].want);
    /* A template that iterates over arguments cannot take text. */
    check_history(
            "{%- for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}"
            "{{ c.function.name }}:{% for k, v in c.function.arguments | items %}{{ k }}={{ v }};"
            "{% endfor %}{% endfor %}{% endfor %}",
            CALLS(CALLED("1", "\"{\\\"a\\\":\"") "," CALLED("2", "\"{\\\"a\\\":1}\"")),
            "f1:arguments={\"a\":;f2:a=1;");
    /* Joined messages have the reasoning of all. */
    static const char turns[] =
            "{%- for m in messages %}{% if not loop.first and loop.previtem.role == m.role %}"
            "{{ raise_exception('twice') }}{% endif %}{{ m.role }}:{{ m.content }}<{{ "
            "m.reasoning_content }}>;{% endfor %}";
    check_history(turns,
                  USER "," THOUGHT("one", "a") "," THOUGHT("two", "") "," THOUGHT("three", "b"),
                  "user: Hi <>;assistant:one\n\ntwo\n\nthree<a\n\nb>;");
    check_history(turns, USER "," THOUGHT("one", "") "," THOUGHT("two", "b") "," USER,
                  "user: Hi <>;assistant:one\n\ntwo<b>;user: Hi <>;");
}

/* ---- sources of templates ---------------------------------------------------------- */

static void check_source(const scratch *dir, const char *file, const char *tools, const char *want,
                         const char *from)
{
    vug_chat *chat = NULL;
    vug_text text = { 0 };
    vug_err err = { 0 };
    help_ok(vug_chat_open(dir->path, file, &chat, &err), &err);
    const vug_conversation how = { .tools = tools, .tools_len = tools ? strlen(tools) : 0 };
    help_ok(render(chat, str("[" USER "]"), &how, &text, &err), &err);
    assert_string_equal(text.ptr, want);
    assert_non_null(strstr(vug_chat_source(chat), from));
    vug_text_release(&text);
    vug_chat_close(chat);
}

static void test_sources_of_templates(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    vug_chat *chat = NULL;
    vug_err err = { 0 };
    help_refused(vug_chat_open(dir.path, NULL, &chat, &err), &err, VUG_IO, dir.path,
                 "FOLDER: has neither config.json nor a tokenizer with chat turns");
    tiny_tokenizer(&dir, TINY_VOCAB);
    check_source(&dir, NULL, NULL,
                 "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n",
                 "built in: gemma3");
    scratch_puts(&dir, "chat_template.json", "{\"chat_template\":\"p{{ bos_token }}\"}");
    check_source(&dir, NULL, NULL, "p<bos>", "/chat_template.json");
    scratch_puts(&dir, "tokenizer_config.json",
                 "{\"bos_token\":{\"content\":\"B\"},\"eos_token\":\"E\",\"pad_token\":null,"
                 "\"chat_template\":\"c{{ bos_token }}{{ eos_token }}{{ pad_token }}\"}");
    check_source(&dir, NULL, NULL, "cBE", "/tokenizer_config.json");
    scratch_puts(&dir, "tokenizer_config.json",
                 "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"t{{ tools }}\"},"
                 "{\"name\":\"default\",\"template\":\"d{{ bos_token }}\"}]}");
    check_source(&dir, NULL, NULL, "d<bos>", "/tokenizer_config.json");
    check_source(&dir, NULL, "[]", "d<bos>", "");
    check_source(&dir, NULL, "[{\"function\":{\"name\":\"f\"}}]", "t[{'function': {'name': 'f'}}]",
                 "");
    scratch_puts(&dir, "chat_template.jinja", "j{{ messages[0].content }}");
    check_source(&dir, NULL, NULL, "j Hi ", "/chat_template.jinja");
    scratch_puts(&dir, "mine", "m{{ bos_token }}");
    check_source(&dir, scratch_at(&dir, "mine").path, NULL, "m<bos>", "/mine");
    scratch_puts(&dir, "chat_template.jinja", "{% if %}");
    assert_int_equal(vug_chat_open(dir.path, NULL, &chat, &err), VUG_FORMAT);
    assert_non_null(strstr(err.msg, "chat_template.jinja: line 1"));
    assert_int_equal(remove(scratch_at(&dir, "chat_template.jinja").path), 0);
    scratch_puts(&dir, "tokenizer_config.json", "{\"chat_template\":[]}");
    assert_int_equal(vug_chat_open(dir.path, NULL, &chat, &err), VUG_FORMAT);
    assert_non_null(strstr(err.msg, "\"default\""));
    scratch_remove(&dir);
    help_refused(vug_chat_open(dir.path, NULL, &chat, &err), &err, VUG_IO, dir.path,
                 "FOLDER: no such file or folder");
    assert_null(chat);
}

/* ---- errors ------------------------------------------------------------------------ */

static void test_bad_input_is_refused(void **state)
{
    static const struct {
        const char *messages, *tools, *variables, *message;
    } rows[] = {
        { "[]", NULL, NULL, "a conversation needs at least one message" },
        { "7", NULL, NULL, "messages: expected an array" },
        { "[7]", NULL, NULL, "messages[0]: expected an object" },
        { "[{}]", NULL, NULL, "messages[0]: \"role\" is missing" },
        { "[{\"role\":\"user\"}]", NULL, NULL, "messages[0]: \"content\" is missing" },
        { "[{\"role\":\"oracle\",\"content\":\"\"}]", NULL, NULL,
          "messages[0]: unknown role \"oracle\"; expected system, developer, user, assistant or "
          "tool" },
        { "[" USER ",{\"role\":\"user\",\"content\":{}}]", NULL, NULL,
          "messages[1]: \"content\" is neither" },
        { "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":"
          "\"image_url\"}]}]",
          NULL, NULL, "messages[0]: content[1]: type \"image_url\"" },
        { "[{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]}]", NULL, NULL,
          "messages[0]: content[0]: \"text\" is missing" },
        { "[{\"role\":\"assistant\",\"tool_calls\":[{}]}]", NULL, NULL,
          "messages[0]: tool_calls[0]: expected an object with a \"function\"" },
        { "[{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":"
          "[]}}]}]",
          NULL, NULL, "messages[0]: tool_calls[0]: \"arguments\" are neither" },
        { "[{\"role\":\"user\",\"content\":\"\",\"tool_calls\":[{}]}]", NULL, NULL,
          "messages[0]: \"tool_calls\" in a message of role \"user\"" },
        { "[{\"role\":\"user\",\"content\":\"\",\"function_call\":{\"name\":\"f\"}}]", NULL, NULL,
          "messages[0]: \"function_call\" in a message of role \"user\"" },
        { "[" USER "]", "{}", NULL, "tools: expected an array" },
        { "[" USER "]", "[{\"name\":\"f\"}]", NULL, "tools[0]: expected {\"type\"" },
        { "[" USER "]", "[{\"function\":{}}]", NULL, "tools[0]: its function has no \"name\"" },
        { "[" USER "]", NULL, "[]", "variables: expected an object" },
        { "[" USER "]", NULL, "{\"messages\":1}", "'messages' follows from the conversation" },
        { "[" USER "]", NULL, "{", "variables: line 1" },
    };
    (void)state;
    vug_chat *chat = open_builtin_chat("qwen3");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_text text = { 0 };
        vug_err err = { 0 };
        const vug_conversation how = {
            .tools = rows[i].tools,
            .tools_len = rows[i].tools ? strlen(rows[i].tools) : 0,
            .variables = rows[i].variables,
            .variables_len = rows[i].variables ? strlen(rows[i].variables) : 0,
        };
        assert_int_not_equal(render(chat, str(rows[i].messages), &how, &text, &err), VUG_OK);
        if (!strstr(err.msg, rows[i].message))
            fail_msg("'%s', expected '%s'", err.msg, rows[i].message);
    }
    vug_chat_close(chat);
}

/* ---- adaptation ------------------------------------------------------------------------------ */

#define EACH        "{% for m in messages %}"
#define SHOW        "{{ m.role }}:{{ m.content }};"
#define END         "{% endfor %}"
#define ONLY(roles) "{% if m.role not in " roles " %}{{ raise_exception('no') }}{% endif %}"

static void test_messages_are_adapted(void **state)
{
    static const struct {
        const char *source, *messages, *want;
    } rows[] = {
        /* everything is supported, nothing changes */
        { EACH SHOW END, "[" SYSTEM "," USER "," USER "," SYSTEM "]",
          "system:S;user: Hi ;user: Hi ;system:S;" },
        /* no system messages, no neighbours of one role */
        { EACH ONLY("['user','assistant']") "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
                                            "{{ raise_exception('order') }}{% endif %}" SHOW END,
          "[" SYSTEM "," USER "," USER ",{\"role\":\"assistant\",\"content\":\"A\"},{\"role\":"
          "\"developer\",\"content\":\"D\"}," USER "]",
          "user:S\n\n Hi \n\n Hi ;assistant:A;user:D\n\n Hi ;" },
        /* a user's message right behind a result, an assistant that speaks first */
        { EACH "{% set user = m.role in ['user','tool'] %}{% if user != (loop.index0 % 2 == 0) %}"
               "{{ raise_exception('order') }}{% endif %}{% for c in m.tool_calls or [] %}"
               "{{ c.function.name }}{% endfor %}" SHOW END,
          "[" USER "," CALL "," USER "]",
          "user: Hi ;fassistant:;user:<tool_response>\n20\n</tool_response>\n\n Hi ;" },
        { EACH "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('order') }}"
               "{% endif %}" SHOW END,
          "[{\"role\":\"assistant\",\"content\":\"A\"}," USER "]", "user:;assistant:A;user: Hi ;" },
        /* no late system messages */
        { EACH "{% if m.role == 'system' and not loop.first %}{{ raise_exception('late') }}"
               "{% endif %}" SHOW END,
          "[" SYSTEM "," USER "," SYSTEM "]", "system:S;user: Hi ;user:S;" },
        /* no system messages alone */
        { "{% set told = messages[0].role == 'system' %}"
          "{% for m in (messages[1:] if told else messages) %}"
          "{{ m.role }}:{{ messages[0].content if told and loop.first }}{{ m.content }};" END,
          "[" SYSTEM "]", "user:S;" },
        { EACH SHOW END
          "{% if messages | selectattr('role', 'equalto', 'user') | list | length == 0 %}"
          "{{ raise_exception('No user') }}{% endif %}",
          "[" SYSTEM ",{\"role\":\"developer\",\"content\":\"D\"}]", "system:S;user:D;" },
        { EACH SHOW END, "[" SYSTEM "]", "system:S;" },
        /* a result without a call, and one with a call */
        { EACH "{% if m.role != 'tool' %}" SHOW "{% endif %}{% for c in m.tool_calls or [] %}"
               "{{ c.function.name }}{% for r in messages if r.role == 'tool' %}={{ r.content }};"
               "{% endfor %}{% endfor %}" END,
          "[{\"role\":\"function\",\"name\":\"g\",\"content\":\"1\"}," USER "," CALL "]",
          "user:<tool_response>\n1\n</tool_response>;user: Hi ;assistant:;f=20;" },
        /* a role that the template leaves out */
        { EACH "{% if m.role != 'developer' %}" SHOW "{% endif %}" END,
          "[{\"role\":\"developer\",\"content\":\"D\"}," USER "]", "system:D;user: Hi ;" },
        { EACH "{% if m.role == 'developer' %}dev{% endif %}" SHOW END,
          "[{\"role\":\"developer\",\"content\":\"D\"}]", "devdeveloper:D;" },
        /* parts become strings, and strings parts */
        { EACH "{{ m.content + ';' }}" END,
          "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","
          "\"text\":\"b\"}]}]",
          "a\nb;" },
        { EACH SHOW END, "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]",
          "user:a;" },
        { EACH "{% for p in m.content %}{{ p.text }};{% endfor %}" END, "[" USER "]", " Hi ;" },
        /* null counts as absent, and other members are kept */
        { EACH "{{ m.content }}{{ m.name }};" END,
          "[{\"role\":\"assistant\",\"content\":null,\"name\":\"n\"}]", "n;" },
        /* arguments become objects */
        { EACH "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments.s }}"
               "{% endfor %}{{ m.content }};" END,
          "[" CALL "]", "fx;20;" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_chat *chat = NULL;
        vug_text text = { 0 };
        vug_err err = { 0 };
        help_ok(vug_chat_parse(rows[i].source, strlen(rows[i].source), "t", &chat, &err), &err);
        help_ok(render(chat, str(rows[i].messages), NULL, &text, &err), &err);
        if (strcmp(text.ptr, rows[i].want) != 0)
            fail_msg("row %zu: '%s', expected '%s'", i, text.ptr, rows[i].want);
        vug_text_release(&text);
        vug_chat_close(chat);
    }
}

static void test_strict_changes_nothing(void **state)
{
    (void)state;
    static const char source[] = EACH "{{ m.role }}:{{ m.content }}{{ m.tool_calls }};" END;
    static const char messages[] =
            "[{\"role\":\"oracle\",\"content\":[1],\"tool_calls\":[{\"function\":{\"arguments\":"
            "\"{}\"}}]},{\"role\":\"oracle\"}]";
    const vug_conversation how = { .strict = true };
    vug_chat *chat = NULL;
    vug_text text = { 0 };
    vug_err err = { 0 };
    help_ok(vug_chat_parse(source, sizeof(source) - 1, "t", &chat, &err), &err);
    help_ok(render(chat, str(messages), &how, &text, &err), &err);
    assert_string_equal(text.ptr, "oracle:[1][{'function': {'arguments': '{}'}}];oracle:;");
    vug_text_release(&text);
    vug_chat_close(chat);
}

/* Text of messages is untrusted wherever it ends up; the template's own is not. */
static void test_untrusted_ranges(void **state)
{
    (void)state;
    static const char source[] = "<a>" EACH "<{{ m.role }}>{{ m.content | trim }}</s>" END;
    static const char messages[] = "[" SYSTEM ",{\"role\":\"user\",\"content\":\" </s> \"}]";
    const vug_conversation c = { .messages = messages, .messages_len = sizeof(messages) - 1 };
    vug_chat *chat = NULL;
    vug_prompt p = { 0 };
    vug_err err = { 0 };
    help_ok(vug_chat_parse(source, sizeof(source) - 1, "t", &chat, &err), &err);
    help_ok(vug_chat_render(chat, &c, &p, &err), &err);
    assert_string_equal(p.text.ptr, "<a><system>S</s><user></s></s>");
    bool plain[40] = { false };
    for (size_t i = 0; i < p.n_untrusted; i++) {
        for (size_t at = p.untrusted[i].from; at < p.untrusted[i].to; at++)
            plain[at] = true;
    }
    const char *own = strstr(p.text.ptr, "</s></s>");
    for (size_t i = 0; i < 4; i++) {
        assert_true(plain[(size_t)(own - p.text.ptr) + i]);
        assert_false(plain[(size_t)(own - p.text.ptr) + 4 + i]);
        assert_false(i < 3 && plain[i]);
    }
    vug_prompt_release(&p);
    vug_chat_close(chat);
}

/* ---- damaged conversations ----------------------------------------- */

static void test_damaged_conversations(void **state)
{
    (void)state;
    static const char messages[] =
            "{\"messages\":[" SYSTEM "," USER "," CALL ",{\"role\":\"user\",\"content\":[{\"type\":"
            "\"text\",\"text\":\"a\"}]}]}";
    vug_chat *chats[] = { open_builtin_chat("gemma3_text"), open_builtin_chat("qwen3") };
    for (size_t k = 0; k < 2; k++) {
        char copy[sizeof(messages)];
        for (size_t at = 0; at < sizeof(messages) - 1; at++) {
            vug_text text = { 0 };
            (void)render(chats[k], (vug_str){ messages, at }, NULL, &text, NULL);
            vug_text_release(&text);
            for (int bit = 0; bit < 8; bit++) {
                memcpy(copy, messages, sizeof(messages));
                copy[at] = (char)(copy[at] ^ (1 << bit));
                (void)render(chats[k], (vug_str){ copy, sizeof(messages) - 1 }, NULL, &text, NULL);
                vug_text_release(&text);
            }
        }
        vug_chat_close(chats[k]);
    }
}

/* ---- tools ------------------------------------------------------------------------------------ */

/* Whether the grammar allows the whole text. */
static bool is_allowed(const vug_grammar *grammar, const vug_tokenizer *tokenizer, const char *text)
{
    vug_grammar_state *s;
    vug_tokens id;
    help_ok(vug_grammar_state_create(grammar, &s, NULL), NULL);
    help_ok(vug_tokenizer_encode(tokenizer, text, strlen(text), VUG_ENCODE_PARSE_SPECIAL, &id,
                                 NULL),
            NULL);
    bool allowed = true;
    for (size_t i = 0; i < id.n && allowed; i++)
        allowed = vug_grammar_accept(s, id.id[i], NULL) == VUG_OK;
    allowed = allowed && vug_grammar_may_end(s);
    vug_tokens_release(&id);
    vug_grammar_state_destroy(s);
    return allowed;
}

static void test_grammar_of_tool_calls(void **state)
{
    (void)state;
    static const char tools[] =
            "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":"
            "\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"],"
            "\"additionalProperties\":false}}}]";
    static const char call[] =
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 7}}\n</tool_call>";
    static const char wrong[] =
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"\"}}\n</tool_call>";
    vug_tool_choice choice = { .tools = tools, .tools_len = sizeof(tools) - 1 };
    vug_tokenizer *tokenizer;
    vug_grammar *grammar;
    vug_err err = { 0 };
    help_ok(vug_tokenizer_open("models/pebble", &tokenizer, &err), &err);
    vug_chat *qwen = open_builtin_chat("qwen3"), *gemma = open_builtin_chat("gemma2");
    assert_true(vug_chat_supports_tools(qwen));
    assert_false(vug_chat_supports_tools(gemma));
    for (int required = 0; required < 2; required++) {
        choice.required = required;
        help_ok(vug_chat_grammar(qwen, tokenizer, &choice, &grammar, &err), &err);
        assert_true(is_allowed(grammar, tokenizer, call));
        assert_false(is_allowed(grammar, tokenizer, wrong));
        assert_int_equal(is_allowed(grammar, tokenizer, "Seven."), !required);
        vug_grammar_destroy(grammar);
    }
    assert_int_equal(vug_chat_grammar(gemma, tokenizer, &choice, &grammar, &err), VUG_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "the tool call format of this chat template is not known"));
    vug_chat_close(gemma);
    vug_chat_close(qwen);
    vug_tokenizer_close(tokenizer);
}

/* ---- beginnings of answers --------------------------------------------------------- */

/* A prefill follows what opens the answer. Thinking that is open there is closed first. */
static void test_prefill_continues_the_answer(void **state)
{
    static const struct {
        const char *source, *prompt;
    } rows[] = {
        { "{{ messages[0].content }}<a>", "Hi<a>So: <a>" },
        { "{{ messages[0].content }}<a><think>\n\n", "Hi<a><think>\n\n</think>\n\nSo: <a>" },
    };
    static const char hi[] = "[{\"role\":\"user\",\"content\":\"Hi\"}]";
    const vug_conversation how = {
        .messages = hi, .messages_len = strlen(hi), .prefill = "So: <a>", .prefill_len = 7
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_chat *chat = NULL;
        vug_prompt prompt = { 0 };
        vug_err err = { 0 };
        help_ok(vug_chat_parse(rows[i].source, strlen(rows[i].source), "t", &chat, &err), &err);
        help_ok(vug_chat_render(chat, &how, &prompt, &err), &err);
        assert_string_equal(prompt.text.ptr, rows[i].prompt);
        assert_int_equal(prompt.n_untrusted, 2);
        assert_int_equal(prompt.untrusted[1].from, prompt.text.len - 7);
        assert_int_equal(prompt.untrusted[1].to, prompt.text.len);
        vug_prompt_release(&prompt);
        vug_chat_close(chat);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builtin_gemma3_matches_the_vendor),
        cmocka_unit_test(test_builtin_templates),
        cmocka_unit_test(test_tool_calls_in_histories),
        cmocka_unit_test(test_sources_of_templates),
        cmocka_unit_test(test_bad_input_is_refused),
        cmocka_unit_test(test_messages_are_adapted),
        cmocka_unit_test(test_strict_changes_nothing),
        cmocka_unit_test(test_untrusted_ranges),
        cmocka_unit_test(test_damaged_conversations),
        cmocka_unit_test(test_grammar_of_tool_calls),
        cmocka_unit_test(test_prefill_continues_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
