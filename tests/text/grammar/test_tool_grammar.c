

#include "test.h"

#include "grammar_help.h"
#include "text/grammar/grammar_compiler.h"
#include "text/grammar/tool_grammar.h"

/*
 * Tool calls as grammars: answers of each format that are accepted or rejected. T is the marker
 * byte around the spelling of a token.
 */

#define T "\xff"

static const char two[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"parameters\":{\"type\":"
        "\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\","
        "\"minimum\":1}},\"required\":[\"city\"],\"additionalProperties\":false}}},"
        "{\"type\":\"function\",\"function\":{\"name\":\"now\"}}]";

typedef struct {
    vug_tool_grammar_options options;
    const char *accepted[8];
    const char *rejected[16];
} tool_row;

static const vug_tool_marker hermes_begin = { "<tool_call>", true };
static const vug_tool_marker hermes_end = { "</tool_call>", true };

static vug_status compile_tools(const vug_tool_grammar_options *options, vug_automaton **out,
                                vug_err *err)
{
    vug_grammar_builder *builder = vug_grammar_builder_create();
    vug_grammar_expr root;
    vug_status st = vug_grammar_tool_calls(builder, options, &root, err);
    if (st == VUG_OK)
        st = vug_automaton_create(builder, root, out, err);
    vug_grammar_builder_destroy(builder);
    return st;
}

static void check_row(const tool_row *r)
{
    vug_err err = { 0 };
    vug_automaton *a = NULL;
    if (compile_tools(&r->options, &a, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < 8 && r->accepted[i]; i++)
        if (automaton_match(a, vug_str_of(r->accepted[i])) != MATCH_WHOLE)
            fail_msg("not accepted: %s", r->accepted[i]);
    for (size_t i = 0; i < 16 && r->rejected[i]; i++)
        if (automaton_match(a, vug_str_of(r->rejected[i])) == MATCH_WHOLE)
            fail_msg("accepted: %s", r->rejected[i]);
    vug_automaton_destroy(a);
}

static vug_tool_grammar_options options_for(vug_tool_call_format format, bool required,
                                            bool parallel)
{
    vug_tool_grammar_options options = { .tools = { two, sizeof(two) - 1 },
                                         .format = format,
                                         .required = required,
                                         .parallel = parallel,
                                         .begin = hermes_begin,
                                         .end = hermes_end };
    if (format == VUG_TOOL_CALL_GEMMA4) {
        options.begin = (vug_tool_marker){ "<|tool_call>", true };
        options.end = (vug_tool_marker){ "<tool_call|>", true };
        options.quote = (vug_tool_marker){ "<|\"|>", true };
    }
    return options;
}

#define HERMES(text) T "<tool_call>" T "\n" text "\n" T "</tool_call>" T
#define WEATHER      HERMES("{\"name\": \"weather\", \"arguments\": {\"city\": \"R\\u00e9\"}}")
#define NOW          HERMES("{\"name\": \"now\", \"arguments\": {}}")

static void test_hermes(void **state)
{
    (void)state;
    check_row(&(tool_row){
            .options = options_for(VUG_TOOL_CALL_HERMES, true, true),
            .accepted = { WEATHER, NOW, "\n\n" NOW, WEATHER "\n" NOW "\n" NOW,
                          HERMES("{\"name\":\"weather\",\"arguments\":{\"city\":\"\",\"days\":2}"
                                 "}") },
            .rejected = { "", "x", NOW NOW, NOW "\n", "x" NOW, NOW "x",
                          HERMES("{\"name\": \"now\", \"arguments\": {\"a\":1}}"),
                          HERMES("{\"name\": \"weather\", \"arguments\": {}}"),
                          HERMES("{\"name\": \"other\", \"arguments\": {}}"),
                          HERMES("{\"arguments\": {}, \"name\": \"now\"}"),
                          "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>" } });
    check_row(&(tool_row){ .options = options_for(VUG_TOOL_CALL_HERMES, true, false),
                           .accepted = { NOW },
                           .rejected = { NOW "\n" NOW } });
    check_row(&(tool_row){ .options = options_for(VUG_TOOL_CALL_HERMES, false, true),
                           .accepted = { "", "text", "text" NOW, NOW, "a <tool_call> in letters",
                                         NOW "\n" WEATHER },
                           .rejected = { NOW "text", T "<tool_call>" T, T "</tool_call>" T } });
}

static void test_markers_as_text(void **state)
{
    (void)state;
    vug_tool_grammar_options options = options_for(VUG_TOOL_CALL_HERMES, true, false);
    options.begin.is_token = options.end.is_token = false;
    check_row(&(tool_row){
            .options = options,
            .accepted = { "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>" },
            .rejected = { NOW } });
}

static void test_required_tool(void **state)
{
    (void)state;
    vug_tool_grammar_options options = options_for(VUG_TOOL_CALL_HERMES, true, false);
    options.name = vug_str_of("now");
    check_row(&(tool_row){ .options = options, .accepted = { NOW }, .rejected = { WEATHER } });
}

static void test_llama3(void **state)
{
    (void)state;
    check_row(&(tool_row){ .options = options_for(VUG_TOOL_CALL_LLAMA3, true, false),
                           .accepted = { "{\"name\": \"now\", \"parameters\": {}}" },
                           .rejected = { "", "text", "{\"name\": \"now\", \"arguments\": {}}" } });
    check_row(&(tool_row){ .options = options_for(VUG_TOOL_CALL_LLAMA3, false, false),
                           .accepted = { "", "text {", "{\"name\": \"now\", \"parameters\": {}}" },
                           .rejected = { "{", "{}", " {" } });
}

#define GEMMA(text) T "<|tool_call>" T "call:" text T "<tool_call|>" T
#define Q           T "<|\"|>" T

static void test_gemma4(void **state)
{
    (void)state;
    check_row(
            &(tool_row){ .options = options_for(VUG_TOOL_CALL_GEMMA4, true, true),
                         .accepted = { GEMMA("now{}"), GEMMA("weather{city:" Q "a \"b\"\\\n" Q "}"),
                                       GEMMA("weather{city:" Q Q ",days:3}") GEMMA("now{}") },
                         .rejected = { GEMMA("weather{}"), GEMMA("weather{city:\"a\"}"),
                                       GEMMA("weather{" Q "city" Q ":" Q "a" Q "}"),
                                       GEMMA("weather{city:" Q "a" Q ", days:3}"),
                                       GEMMA("weather{city:" Q "a" Q ",days:0}"), GEMMA("now") } });
    vug_tool_grammar_options any = options_for(VUG_TOOL_CALL_GEMMA4, true, false);
    any.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a b\":{\"type\":"
                           "\"integer\"},\"ab\":{\"enum\":[\"x\",null]}}}}]");
    check_row(&(tool_row){
            .options = any,
            .accepted = { GEMMA("f{}"), GEMMA("f{" Q "a b" Q ":1,ab:" Q "x" Q ",abc:[1,{k:true}]}"),
                          GEMMA("f{a:1.5,b_2:{}}") },
            .rejected = { GEMMA("f{ab:1}"), GEMMA("f{a b:1}"), GEMMA("f{:1}"),
                          GEMMA("f{" Q "a b" Q ":" Q "x" Q "}"), GEMMA("f{}{}") } });
}

#define CODER(text)      T "<tool_call>" T "\n<function=" text "</function>\n" T "</tool_call>" T
#define PUT(name, value) "<parameter=" name ">\n" value "\n</parameter>\n"

static void test_qwen3_coder(void **state)
{
    (void)state;
    check_row(&(tool_row){ .options = options_for(VUG_TOOL_CALL_QWEN3_CODER, true, true),
                           .accepted = { CODER("now>\n"),
                                         CODER("weather>\n" PUT("city", "a \"b\"\n<c>")),
                                         CODER("weather>\n" PUT("city", "") PUT("days", "12")),
                                         CODER("now>\n") "\n" CODER("now>\n") },
                           .rejected = { CODER("weather>\n"), CODER("weather>\n" PUT("days", "12")),
                                         CODER("weather>\n" PUT("city", "a") PUT("days", "0")),
                                         CODER("weather>\n" PUT("city", "a") PUT("days", "\"1\"")),
                                         CODER("now>\n" PUT("a", "1")), CODER("now>") } });
    vug_tool_grammar_options any = options_for(VUG_TOOL_CALL_QWEN3_CODER, true, false);
    any.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"e\":{\"enum\":["
                           "\"x\",\"y z\"]},\"n\":"
                           "{\"type\":[\"string\",\"null\"],\"maxLength\":5},\"l\":{\"type\":"
                           "\"array\",\"items\":{\"type\":"
                           "\"string\"}}}}}]");
    check_row(&(tool_row){
            .options = any,
            .accepted = { CODER("f>\n"), CODER("f>\n" PUT("e", "y z") PUT("n", "null")),
                          CODER("f>\n" PUT("n", "abcde") PUT("l", "[\"a\", \"b\"]")),
                          CODER("f>\n" PUT("other", "text")) },
            .rejected = { CODER("f>\n" PUT("e", "\"x\"")), CODER("f>\n" PUT("e", "z")),
                          CODER("f>\n" PUT("n", "abcdef")), CODER("f>\n" PUT("n", "a<")),
                          CODER("f>\n" PUT("l", "a")), CODER("f>\n" PUT("l", "[1]")),
                          CODER("f>\n" PUT("l", "[\"</parameter>\"]")),
                          CODER("f>\n" PUT("e", "x") PUT("e", "x")) } });
    any.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}]");
    check_row(&(tool_row){
            .options = any,
            .accepted = { CODER("f>\n"), CODER("f>\n" PUT("a", "text") PUT("b", "1")) },
            .rejected = { CODER("f>\n{}"), CODER("f>\n{\"a\": 1}\n") } });
}

static void check_refused(vug_tool_grammar_options options, vug_status st, const char *message)
{
    vug_err err = { 0 };
    vug_automaton *a = NULL;
    assert_int_equal(compile_tools(&options, &a, &err), st);
    if (!strstr(err.msg, message))
        fail_msg("%s; expected %s", err.msg, message);
}

static void test_errors(void **state)
{
    (void)state;
    vug_tool_grammar_options options = options_for(VUG_TOOL_CALL_HERMES, true, false);
    options.name = vug_str_of("later");
    check_refused(options, VUG_ARGUMENT, "tools: there is no tool named later");
    options.name = (vug_str){ 0 };
    options.tools = vug_str_of("{}");
    check_refused(options, VUG_FORMAT, "tools: expected a list");
    options.tools = vug_str_of("[]");
    check_refused(options, VUG_ARGUMENT, "tools: there is no tool");
    options.tools = vug_str_of("[{}]");
    check_refused(options, VUG_FORMAT, "tools: a tool has no name");
    options.tools = vug_str_of(
            "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"extends\":{}}}}}]");
    check_refused(options, VUG_UNSUPPORTED,
                  "tool 'f': schema: #/properties/a: the keyword 'extends' is not supported");
    options.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":3}]");
    check_refused(options, VUG_FORMAT, "tool 'f': schema: #: expected a schema");
    options = options_for(VUG_TOOL_CALL_HERMES, false, false);
    options.begin.is_token = false;
    check_refused(options, VUG_UNSUPPORTED, "'<tool_call>' is not a token of the vocabulary");
    options = options_for(VUG_TOOL_CALL_GEMMA4, false, false);
    options.quote.is_token = false;
    check_refused(options, VUG_UNSUPPORTED, "no quote token");
    options = options_for(VUG_TOOL_CALL_GEMMA4, true, false);
    options.tools = vug_str_of("[{\"name\":\"f{\"}]");
    check_refused(options, VUG_UNSUPPORTED, "tool 'f{': the name may have only letters");
    options.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"\":{}}}}]");
    check_refused(options, VUG_UNSUPPORTED, "tool 'f': an empty name");
    options.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":"
                               "\"array\",\"uniqueItems\":true}}}}]");
    check_refused(options, VUG_UNSUPPORTED, "uniqueItems is supported in this format only");
    options = options_for(VUG_TOOL_CALL_QWEN3_CODER, true, false);
    options.tools =
            vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"enum\":[1]}}}}]");
    check_refused(options, VUG_UNSUPPORTED,
                  "tool 'f': schema: #/properties/a: as a parameter it needs");
    options.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a b\":{}}}}]");
    check_refused(options, VUG_UNSUPPORTED, "the name 'a b' is not supported for a parameter");
    options.tools =
            vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"const\":\"</"
                       "parameter>\"}}}}]");
    check_refused(options, VUG_UNSUPPORTED, "a value that contains '</'");
}

/* ---- with a vocabulary ------------------------------------------------------------ */

typedef struct {
    vug_tokenizer *tokenizer;
    vug_grammar *grammar;
    vug_grammar_state *at;
    uint32_t *mask;
    size_t n_words;
} constrained_answer;

static constrained_answer open_answer(const vug_tool_grammar_options *options)
{
    constrained_answer a = { 0 };
    vug_grammar_expr root;
    vug_grammar_builder *builder = vug_grammar_builder_create();
    assert_int_equal(vug_tokenizer_open("models/pebble", &a.tokenizer, NULL), VUG_OK);
    assert_int_equal(vug_grammar_tool_calls(builder, options, &root, NULL), VUG_OK);
    assert_int_equal(vug_grammar_compile(builder, root, a.tokenizer, &a.grammar, NULL), VUG_OK);
    assert_int_equal(vug_grammar_state_create(a.grammar, &a.at, NULL), VUG_OK);
    a.n_words = ((size_t)vug_tokenizer_size(a.tokenizer) + 31) / 32;
    a.mask = vug_alloc_zero(a.n_words, sizeof(*a.mask));
    assert_non_null(a.mask);
    vug_grammar_builder_destroy(builder);
    return a;
}

static void close_answer(constrained_answer *a)
{
    vug_free(a->mask);
    vug_grammar_state_destroy(a->at);
    vug_grammar_destroy(a->grammar);
    vug_tokenizer_close(a->tokenizer);
}

static bool is_allowed(constrained_answer *a, int32_t id)
{
    assert_int_equal(vug_grammar_mask(a->at, a->mask, a->n_words, NULL), VUG_OK);
    return id >= 0 && (a->mask[id / 32] >> (id % 32) & 1) != 0;
}

static void accept_text(constrained_answer *a, const char *text)
{
    vug_tokens tokens = { 0 };
    assert_int_equal(
            vug_tokenizer_encode(a->tokenizer, text, strlen(text), VUG_ENCODE_PLAIN, &tokens, NULL),
            VUG_OK);
    for (size_t i = 0; i < tokens.n; i++) {
        if (!is_allowed(a, tokens.id[i]))
            fail_msg("'%s': token %zu may not come", text, i);
        assert_int_equal(vug_grammar_accept(a->at, tokens.id[i], NULL), VUG_OK);
    }
    vug_tokens_release(&tokens);
}

/* In pebble the markers are tokens, and text that spells them is text. */
static void test_marker_tokens(void **state)
{
    (void)state;
    const vug_tool_grammar_options options = options_for(VUG_TOOL_CALL_HERMES, true, false);
    constrained_answer a = open_answer(&options);
    const int32_t begin = vug_tokenizer_find(a.tokenizer, "<tool_call>");
    const int32_t end = vug_tokenizer_find(a.tokenizer, "</tool_call>");
    assert_true(begin >= 0 && end >= 0);
    assert_true(is_allowed(&a, begin));
    assert_false(is_allowed(&a, end));
    assert_false(is_allowed(&a, vug_tokenizer_find(a.tokenizer, "<")));
    assert_int_equal(vug_grammar_accept(a.at, end, NULL), VUG_ARGUMENT);
    assert_int_equal(vug_grammar_accept(a.at, begin, NULL), VUG_OK);
    accept_text(&a, "\n{\"name\": \"weather\", \"arguments\": {\"city\": \"</tool");
    assert_true(is_allowed(&a, end)); /* inside of a string it counts as text */
    assert_int_equal(vug_grammar_accept(a.at, end, NULL), VUG_OK);
    accept_text(&a, "\"}}\n");
    assert_false(vug_grammar_may_end(a.at));
    assert_false(is_allowed(&a, begin));
    assert_true(is_allowed(&a, end));
    assert_int_equal(vug_grammar_accept(a.at, end, NULL), VUG_OK);
    assert_true(vug_grammar_may_end(a.at));
    close_answer(&a);
}

/* If calls are optional, only the token begins one. */
static void test_optional_calls(void **state)
{
    (void)state;
    const vug_tool_grammar_options options = options_for(VUG_TOOL_CALL_HERMES, false, false);
    constrained_answer a = open_answer(&options);
    const int32_t begin = vug_tokenizer_find(a.tokenizer, "<tool_call>");
    const int32_t bos = vug_tokenizer_find(a.tokenizer, "<bos>");
    accept_text(&a, "Let me see");
    assert_true(vug_grammar_may_end(a.at));
    assert_false(is_allowed(&a, bos));
    assert_int_equal(vug_grammar_accept(a.at, begin, NULL), VUG_OK);
    assert_false(vug_grammar_may_end(a.at));
    accept_text(&a, "\n{\"name\"");
    close_answer(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hermes),         cmocka_unit_test(test_markers_as_text),
        cmocka_unit_test(test_required_tool),  cmocka_unit_test(test_llama3),
        cmocka_unit_test(test_gemma4),         cmocka_unit_test(test_errors),
        cmocka_unit_test(test_qwen3_coder),    cmocka_unit_test(test_marker_tokens),
        cmocka_unit_test(test_optional_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
