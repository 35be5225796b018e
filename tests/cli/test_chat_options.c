/*
 * The chat options of `vug template` and `vug run`: templates, messages, tools and thinking. A
 * tiny checkpoint answers AAA; pebble calls tools.
 */
#include "test.h"

#include "capture.h"
#include "core/mem.h"
#include "tiny_model.h"

#define REAL "models/pebble"
/* The bias makes every answer AAA. */
#define ALWAYS_A "-q", "-n", "3", "--temperature", "0", "--logit-bias", "296=1000"

static int make_tiny(void **state)
{
    scratch *tiny = vug_alloc(1, sizeof(*tiny));
    assert_non_null(tiny);
    *tiny = scratch_make();
    tiny_model(tiny, TINY_VOCAB);
    scratch_puts(tiny, "t.jinja",
                 "{{ bos_token }}{{ x }}{% for m in messages %}[{{ m.role }} {{ m.content }}]"
                 "{% endfor %}{{ tools | length if tools }}{{ '>' if add_generation_prompt }}\n");
    scratch_puts(tiny, "think.jinja",
                 "{{ messages[0].content }}{{ '<think>' if enable_thinking }}\n");
    scratch_puts(tiny, "tools.json", "[{\"function\":{\"name\":\"f\"}}]");
    *state = tiny;
    return 0;
}

static int remove_tiny(void **state)
{
    scratch_remove(*state);
    vug_free(*state);
    return 0;
}

#define FILE_AT(name) scratch_at(tiny, name).path
#define HELLO_MESSAGE "{\"role\":\"user\",\"content\":\"hi\"}"
#define HELLO         "[" HELLO_MESSAGE "]"

static void test_template_takes_its_options(void **state)
{
    const scratch *tiny = *state;
    gives(VUG_IN(HELLO, "template", tiny->path, "--template", FILE_AT("t.jinja"), "--messages",
                 "-"),
          "<bos>[user hi]>", "");
    gives(VUG_IN(HELLO, "template", "--template", FILE_AT("t.jinja"), "--messages", "-", "--tools",
                 FILE_AT("tools.json"), "--var", "x=[1, null]", "--var", "bos_token=\"B\"",
                 "--no-generation-prompt"),
          "B[1, None][user hi]1", "");
    /* Gemma's template rejects two messages of one role; without --strict-template they are merged. */
    static const char two[] =
            "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":"
            "\"b\"}]";
    gives(VUG_IN(two, "template", tiny->path, "--messages", "-"),
          "<bos><start_of_turn>user\na\n\nb<end_of_turn>\n<start_of_turn>model\n", "");
    refuses(VUG_IN(two, "template", tiny->path, "--messages", "-", "--strict-template"),
            "must alternate");
    refuses(VUG_IN(HELLO, "template", tiny->path, "--messages", "-", "--var", "x"),
            "--var x: expected NAME=JSON");
    refuses(VUG_IN(HELLO, "template", tiny->path, "--messages", "-", "--var", "x=a"), "--var x: ");
    refuses(VUG_IN("[{\"role\":\"x\"}]", "template", tiny->path, "--messages", "-"),
            "standard input: messages[0]: unknown role \"x\"");
    refuses(VUG("template", tiny->path, "--messages", "a", "--jsonl", "b"),
            "requires either --messages FILE or");
    refuses(VUG("template", "--messages", "a"), "requires a MODEL or --template");
}

static void test_template_renders_lines(void **state)
{
    const scratch *tiny = *state;
    scratch_puts(tiny, "all.json",
                 "{\"a\":{\"template\":\"{{ bos_token }}{{ messages[0].content }}{{ x }}{{ tools }}"
                 "{{ add_generation_prompt }}\",\"bos_token\":\"B\",\"eos_token\":\"E\"},"
                 "\"b\":\"{{ raise_exception('no') }}\",\"c\":\"{% if\",\"d\":{}}");
    gives(VUG_IN("{\"template\":\"a\",\"messages\":" HELLO "}\n"
                 "{\"template\":\"a\",\"messages\":" HELLO ",\"text\":7,\"options\":{\"x\":[1],"
                 "\"add_generation_prompt\":false,\"tools\":[{\"function\":{\"name\":\"f\"}}],"
                 "\"bos_token\":\"C\"}}\n"
                 "{\"messages\":" HELLO ",\"template\":\"b\"}\n"
                 "{\"messages\":" HELLO ",\"template\":\"c\"}\n"
                 "{\"messages\":" HELLO ",\"template\":\"d\"}\n"
                 "{\"messages\":" HELLO ",\"template\":\"e\"}\n"
                 "{\"messages\":[],\"template\":\"a\"}\n",
                 "template", "--templates", FILE_AT("all.json"), "--jsonl", "-"),
          "{\"text\":\"BhiNoneTrue\"}\n"
          "{\"text\":\"Chi[1][{'function': {'name': 'f'}}]False\"}\n"
          "{\"error\":\"b: line 1: no\"}\n"
          "{\"error\":\"c: line 1, column 6: unexpected end inside a tag\"}\n"
          "{\"error\":\"no template is named \\\"d\\\"\"}\n"
          "{\"error\":\"no template is named \\\"e\\\"\"}\n"
          "{\"error\":\"a conversation needs at least one message\"}\n",
          "");
    gives(VUG_IN("{\"messages\":" HELLO "}\n", "template", tiny->path, "--jsonl", "-"),
          "{\"text\":\"<bos><start_of_turn>user\\nhi<end_of_turn>\\n<start_of_turn>model\\n\"}\n",
          "");
    captured c = VUG_IN("{\"messages\":" HELLO "}\n{}\n", "template", tiny->path, "--jsonl", "-");
    assert_int_equal(c.code, 2);
    assert_non_null(strstr(c.err.ptr, "standard input:2: \"messages\" is missing"));
    captured_release(&c);
}

/* ---- vug run ------------------------------------------------------------------------------- */

static void test_run_checks_the_template(void **state)
{
    const scratch *tiny = *state;
    gives(VUG("run", tiny->path, "hi", ALWAYS_A, "--chat-template", FILE_AT("t.jinja")), "AAA\n",
          "");
    refuses(VUG("run", tiny->path, "hi", "-q", "--chat-template", "no/such/file"), "no/such/file");
    refuses(VUG("run", tiny->path, "hi", "-q", "--tools", FILE_AT("tools.json")),
            "built in: gemma3: this chat template does not support tools");
    refuses(VUG("run", tiny->path, "hi", "-q", "--raw", "--tools", "x"), "--tools needs the chat");
    refuses(VUG("run", tiny->path, "hi", "-q", "--tools", FILE_AT("t.jinja")),
            "t.jinja: line 1, column 2: expected a ");
    const scratch_path bad = scratch_at(tiny, "bad.json");
    scratch_puts(tiny, "bad.json", "{\"type\":\"objekt\"}");
    refuses(VUG("run", tiny->path, "hi", "-q", "--schema", bad.path),
            "/bad.json: schema: #/type: there is no type 'objekt'");
    refuses(VUG("run", tiny->path, "hi", "-q", "--grammar", bad.path), "/bad.json: GBNF: line 1");
    refuses(VUG("run", tiny->path, "hi", "-q", "--strict-schema"),
            "--strict-schema requires --schema");
    refuses(VUG("run", tiny->path, "hi", "-q", "--thinking", "some"),
            "--thinking some: expected on, off, or a number of tokens");
}

static void test_run_continues_saved_messages(void **state)
{
    const scratch *tiny = *state;
    static const char tool[] =
            "{\"messages\":[{\"role\":\"user\",\"content\":\"Weather in Oslo?\"},"
            "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"x\",\"type\":"
            "\"function\",\"function\":{\"name\":\"get_weather\",\"arguments\":\"{}\"}}]},"
            "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"{\\\"temperature\\\": -3, "
            "\\\"sky\\\": \\\"snow\\\"}\"}]}";
    scratch_puts(tiny, "messages.json", "[" HELLO_MESSAGE "]");
    gives(VUG("run", tiny->path, "--messages", FILE_AT("messages.json"), ALWAYS_A), "AAA\n", "");
    captured c = VUG_IN(tool, "run", REAL, "--messages", "-", "-q", "--temperature", "0");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(c.out.ptr, "-3 degrees and snow"));
    captured_release(&c);
    c = VUG_IN(tool, "run", REAL, "Thanks!", "--messages", "-", "-q", "--temperature", "0");
    assert_int_equal(c.code, 0);
    captured_release(&c);
    refuses(VUG_IN("[{\"role\":\"assistant\",\"content\":\"x\"}]", "run", tiny->path, "--messages",
                   "-"),
            "standard input: the last message is neither a user message");
    refuses(VUG_IN("[]", "run", tiny->path, "--messages", "-"), "expected an array of messages");
    refuses(VUG_IN("[{\"content\":1}]", "run", tiny->path, "--messages", "-"),
            "standard input: message 1 has no role");
    refuses(VUG_IN("[", "run", tiny->path, "--messages", "-"), "standard input: line 1");
    refuses(VUG("run", tiny->path, "hi", "--messages", "/no/such/file"), "/no/such/file");
    refuses(VUG("run", tiny->path, "hi", "--messages", "x", "--raw"), "--raw turns it off");
}

static void test_thinking_goes_to_stderr(void **state)
{
    const scratch *tiny = *state;
    const scratch_path path = scratch_at(tiny, "think.jinja");
    const char *file = path.path;
    gives(VUG("run", tiny->path, "hi", ALWAYS_A, "--chat-template", file, "--thinking", "off"),
          "AAA\n", "");
    captured c =
            VUG("run", tiny->path, "hi", ALWAYS_A, "--chat-template", file, "--thinking", "on");
    assert_int_equal(c.code, 0);
    assert_string_equal(c.out.ptr, "");
    assert_string_equal(c.err.ptr, "AAA\n");
    captured_release(&c);
    c = VUG("run", tiny->path, "hi", ALWAYS_A, "--chat-template", file, "--thinking", "on",
            "--json");
    assert_non_null(strstr(c.out.ptr, "\"content\":\"\",\"thinking\":\"AAA\",\"tool_calls\":[]"));
    captured_release(&c);
}

#define WEATHER                                                                                   \
    "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"Current "   \
    "weather in a city\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":" \
    "\"string\",\"description\":\"Name of the city\"}},\"required\":[\"city\"]}}}]"

static void test_pebble_calls_a_tool(void **state)
{
    const scratch *tiny = *state;
    scratch_puts(tiny, "weather.json", WEATHER);
    const scratch_path path = scratch_at(tiny, "weather.json");
    const char *file = path.path;
    gives(VUG("run", REAL, "What is the weather in Paris?", "--tools", file, "--temperature", "0",
              "-q"),
          "{\"name\":\"get_weather\",\"arguments\":{\"city\": \"Paris\"}}\n", "");
    captured c = VUG("run", REAL, "What is the weather in Paris?", "--tools", file, "--temperature",
                     "0", "--json");
    assert_non_null(strstr(c.out.ptr,
                           "\"content\":\"\",\"thinking\":\"\",\"tool_calls\":[{\"id\":\"call_0\","
                           "\"type\":\"function\",\"function\":{\"name\":\"get_weather\","
                           "\"arguments\":\"{\\\"city\\\": \\\"Paris\\\"}\"}}]"));
    captured_release(&c);
}

static void test_gguf_files_keep_the_template(void **state)
{
    const scratch *tiny = *state;
    const scratch_path path = scratch_at(tiny, "pebble.gguf");
    scratch_puts(tiny, "weather.json", WEATHER);
    captured c = VUG("convert", REAL, path.path, "-q");
    assert_int_equal(c.code, 0);
    captured_release(&c);
    c = VUG_IN(HELLO, "template", REAL, "--messages", "-", "--tools", FILE_AT("weather.json"));
    assert_non_null(strstr(c.out.ptr, "You can call these tools:\n"));
    gives(VUG_IN(HELLO, "template", path.path, "--messages", "-", "--tools",
                 FILE_AT("weather.json")),
          c.out.ptr, "");
    captured_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template_takes_its_options),
        cmocka_unit_test(test_template_renders_lines),
        cmocka_unit_test(test_run_checks_the_template),
        cmocka_unit_test(test_thinking_goes_to_stderr),
        cmocka_unit_test(test_run_continues_saved_messages),
        cmocka_unit_test(test_pebble_calls_a_tool),
        cmocka_unit_test(test_gguf_files_keep_the_template),
    };
    return cmocka_run_group_tests(tests, make_tiny, remove_tiny);
}
