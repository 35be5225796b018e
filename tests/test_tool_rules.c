#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "grammar_help.h"
#include "text/grammar/grammar.h"
#include "text/grammar/tool_rules.h"

/*
 * Tool calls as grammars: answers of each form that are calls, and those that are not. T
 * stands for the byte around a token's spelling.
 */

#define T "\xff"

static const char two[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"parameters\":{\"type\":"
        "\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":\"integer\","
        "\"minimum\":1}},\"required\":[\"city\"],\"additionalProperties\":false}}},"
        "{\"type\":\"function\",\"function\":{\"name\":\"now\"}}]";

typedef struct {
    vug_tool_use use;
    const char *whole[8];
    const char *not_whole[16];
} row;

static const vug_tool_mark hermes_begin = { "<tool_call>", true };
static const vug_tool_mark hermes_end = { "</tool_call>", true };

static vug_status compile(const vug_tool_use *use, vug_automaton **out, vug_err *err)
{
    vug_rules *rules = vug_rules_create();
    vug_node root;
    vug_status st = vug_rules_tools(rules, use, &root, err);
    if (st == VUG_OK)
        st = vug_automaton_create(rules, root, out, err);
    vug_rules_destroy(rules);
    return st;
}

static void check(const row *r)
{
    vug_err err = { 0 };
    vug_automaton *a = NULL;
    if (compile(&r->use, &a, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < 8 && r->whole[i]; i++)
        if (automaton_fate(a, vug_str_of(r->whole[i])) != TEXT_WHOLE)
            fail_msg("not accepted: %s", r->whole[i]);
    for (size_t i = 0; i < 16 && r->not_whole[i]; i++)
        if (automaton_fate(a, vug_str_of(r->not_whole[i])) == TEXT_WHOLE)
            fail_msg("accepted: %s", r->not_whole[i]);
    vug_automaton_destroy(a);
}

static vug_tool_use use_of(vug_tool_form form, bool required, bool parallel)
{
    vug_tool_use use = { .tools = { two, sizeof(two) - 1 },
                         .form = form,
                         .required = required,
                         .parallel = parallel,
                         .begin = hermes_begin,
                         .end = hermes_end };
    if (form == VUG_TOOL_GEMMA4) {
        use.begin = (vug_tool_mark){ "<|tool_call>", true };
        use.end = (vug_tool_mark){ "<tool_call|>", true };
        use.quote = (vug_tool_mark){ "<|\"|>", true };
    }
    return use;
}

#define HERMES(text) T "<tool_call>" T "\n" text "\n" T "</tool_call>" T
#define WEATHER      HERMES("{\"name\": \"weather\", \"arguments\": {\"city\": \"R\\u00e9\"}}")
#define NOW          HERMES("{\"name\": \"now\", \"arguments\": {}}")

static void test_hermes(void **state)
{
    (void)state;
    check(&(row){
            .use = use_of(VUG_TOOL_HERMES, true, true),
            .whole = { WEATHER, NOW, "\n\n" NOW, WEATHER "\n" NOW "\n" NOW,
                       HERMES("{\"name\":\"weather\",\"arguments\":{\"city\":\"\",\"days\":2}}") },
            .not_whole = { "", "x", NOW NOW, NOW "\n", "x" NOW, NOW "x",
                           HERMES("{\"name\": \"now\", \"arguments\": {\"a\":1}}"),
                           HERMES("{\"name\": \"weather\", \"arguments\": {}}"),
                           HERMES("{\"name\": \"other\", \"arguments\": {}}"),
                           HERMES("{\"arguments\": {}, \"name\": \"now\"}"),
                           "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>" } });
    check(&(row){ .use = use_of(VUG_TOOL_HERMES, true, false),
                  .whole = { NOW },
                  .not_whole = { NOW "\n" NOW } });
    check(&(row){
            .use = use_of(VUG_TOOL_HERMES, false, true),
            .whole = { "", "text", "text" NOW, NOW, "a <tool_call> in letters", NOW "\n" WEATHER },
            .not_whole = { NOW "text", T "<tool_call>" T, T "</tool_call>" T } });
}

static void test_letters(void **state)
{
    (void)state;
    vug_tool_use use = use_of(VUG_TOOL_HERMES, true, false);
    use.begin.token = use.end.token = false;
    check(&(row){ .use = use,
                  .whole = { "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>" },
                  .not_whole = { NOW } });
}

static void test_named(void **state)
{
    (void)state;
    vug_tool_use use = use_of(VUG_TOOL_HERMES, true, false);
    use.name = vug_str_of("now");
    check(&(row){ .use = use, .whole = { NOW }, .not_whole = { WEATHER } });
}

static void test_llama(void **state)
{
    (void)state;
    check(&(row){ .use = use_of(VUG_TOOL_LLAMA3, true, false),
                  .whole = { "{\"name\": \"now\", \"parameters\": {}}" },
                  .not_whole = { "", "text", "{\"name\": \"now\", \"arguments\": {}}" } });
    check(&(row){ .use = use_of(VUG_TOOL_LLAMA3, false, false),
                  .whole = { "", "text {", "{\"name\": \"now\", \"parameters\": {}}" },
                  .not_whole = { "{", "{}", " {" } });
}

#define GEMMA(text) T "<|tool_call>" T "call:" text T "<tool_call|>" T
#define Q           T "<|\"|>" T

static void test_gemma(void **state)
{
    (void)state;
    check(&(row){ .use = use_of(VUG_TOOL_GEMMA4, true, true),
                  .whole = { GEMMA("now{}"), GEMMA("weather{city:" Q "a \"b\"\\\n" Q "}"),
                             GEMMA("weather{city:" Q Q ",days:3}") GEMMA("now{}") },
                  .not_whole = { GEMMA("weather{}"), GEMMA("weather{city:\"a\"}"),
                                 GEMMA("weather{" Q "city" Q ":" Q "a" Q "}"),
                                 GEMMA("weather{city:" Q "a" Q ", days:3}"),
                                 GEMMA("weather{city:" Q "a" Q ",days:0}"), GEMMA("now") } });
    vug_tool_use any = use_of(VUG_TOOL_GEMMA4, true, false);
    any.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a b\":{\"type\":"
                           "\"integer\"},\"ab\":{\"enum\":[\"x\",null]}}}}]");
    check(&(row){ .use = any,
                  .whole = { GEMMA("f{}"),
                             GEMMA("f{" Q "a b" Q ":1,ab:" Q "x" Q ",abc:[1,{k:true}]}"),
                             GEMMA("f{a:1.5,b_2:{}}") },
                  .not_whole = { GEMMA("f{ab:1}"), GEMMA("f{a b:1}"), GEMMA("f{:1}"),
                                 GEMMA("f{" Q "a b" Q ":" Q "x" Q "}"), GEMMA("f{}{}") } });
}

#define CODER(text)      T "<tool_call>" T "\n<function=" text "</function>\n" T "</tool_call>" T
#define PUT(name, value) "<parameter=" name ">\n" value "\n</parameter>\n"

static void test_qwen3_coder(void **state)
{
    (void)state;
    check(&(row){ .use = use_of(VUG_TOOL_QWEN3_CODER, true, true),
                  .whole = { CODER("now>\n"), CODER("weather>\n" PUT("city", "a \"b\"\n<c>")),
                             CODER("weather>\n" PUT("city", "") PUT("days", "12")),
                             CODER("now>\n") "\n" CODER("now>\n") },
                  .not_whole = { CODER("weather>\n"), CODER("weather>\n" PUT("days", "12")),
                                 CODER("weather>\n" PUT("city", "a") PUT("days", "0")),
                                 CODER("weather>\n" PUT("city", "a") PUT("days", "\"1\"")),
                                 CODER("now>\n" PUT("a", "1")), CODER("now>") } });
    vug_tool_use any = use_of(VUG_TOOL_QWEN3_CODER, true, false);
    any.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"e\":{\"enum\":["
                           "\"x\",\"y z\"]},\"n\":"
                           "{\"type\":[\"string\",\"null\"],\"maxLength\":5},\"l\":{\"type\":"
                           "\"array\",\"items\":{\"type\":"
                           "\"string\"}}}}}]");
    check(&(row){ .use = any,
                  .whole = { CODER("f>\n"), CODER("f>\n" PUT("e", "y z") PUT("n", "null")),
                             CODER("f>\n" PUT("n", "abcde") PUT("l", "[\"a\", \"b\"]")),
                             CODER("f>\n" PUT("other", "text")) },
                  .not_whole = { CODER("f>\n" PUT("e", "\"x\"")), CODER("f>\n" PUT("e", "z")),
                                 CODER("f>\n" PUT("n", "abcdef")), CODER("f>\n" PUT("n", "a<")),
                                 CODER("f>\n" PUT("l", "a")), CODER("f>\n" PUT("l", "[1]")),
                                 CODER("f>\n" PUT("l", "[\"</parameter>\"]")),
                                 CODER("f>\n" PUT("e", "x") PUT("e", "x")) } });
    any.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"type\":\"object\"}}]");
    check(&(row){ .use = any,
                  .whole = { CODER("f>\n"), CODER("f>\n" PUT("a", "text") PUT("b", "1")) },
                  .not_whole = { CODER("f>\n{}"), CODER("f>\n{\"a\": 1}\n") } });
}

static void refused(vug_tool_use use, vug_status st, const char *sentence)
{
    vug_err err = { 0 };
    vug_automaton *a = NULL;
    assert_int_equal(compile(&use, &a, &err), st);
    if (!strstr(err.msg, sentence))
        fail_msg("%s; expected %s", err.msg, sentence);
}

static void test_refused(void **state)
{
    (void)state;
    vug_tool_use use = use_of(VUG_TOOL_HERMES, true, false);
    use.name = vug_str_of("later");
    refused(use, VUG_ARGUMENT, "tools: there is none of the name later");
    use.name = (vug_str){ 0 };
    use.tools = vug_str_of("{}");
    refused(use, VUG_FORMAT, "tools: expected a list");
    use.tools = vug_str_of("[]");
    refused(use, VUG_ARGUMENT, "tools: there is none");
    use.tools = vug_str_of("[{}]");
    refused(use, VUG_FORMAT, "tools: one has no name");
    use.tools =
            vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"if\":{}}}}}]");
    refused(use, VUG_UNSUPPORTED,
            "tool 'f': schema: #/properties/a: the keyword 'if' is not supported");
    use.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":3}]");
    refused(use, VUG_FORMAT, "tool 'f': schema: #: expected a schema");
    use = use_of(VUG_TOOL_HERMES, false, false);
    use.begin.token = false;
    refused(use, VUG_UNSUPPORTED, "'<tool_call>' is no token of the vocabulary");
    use = use_of(VUG_TOOL_GEMMA4, false, false);
    use.quote.token = false;
    refused(use, VUG_UNSUPPORTED, "no quote mark");
    use = use_of(VUG_TOOL_GEMMA4, true, false);
    use.tools = vug_str_of("[{\"name\":\"f{\"}]");
    refused(use, VUG_UNSUPPORTED, "tool 'f{': a name of other than");
    use.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"\":{}}}}]");
    refused(use, VUG_UNSUPPORTED, "tool 'f': an empty name");
    use = use_of(VUG_TOOL_QWEN3_CODER, true, false);
    use.tools =
            vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"enum\":[1]}}}}]");
    refused(use, VUG_UNSUPPORTED, "tool 'f': schema: #/properties/a: as a parameter it needs");
    use.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a b\":{}}}}]");
    refused(use, VUG_UNSUPPORTED, "the name 'a b' is not supported for a parameter");
    use.tools = vug_str_of("[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"const\":\"</"
                           "parameter>\"}}}}]");
    refused(use, VUG_UNSUPPORTED, "a value with '</' in it");
}

/* ---- with a vocabulary ------------------------------------------------------------ */

typedef struct {
    vug_tokenizer *tokenizer;
    vug_grammar *grammar;
    vug_grammar_state *at;
    uint32_t *mask;
    size_t n_words;
} answer;

static answer open_answer(const vug_tool_use *use)
{
    answer a = { 0 };
    vug_node root;
    vug_rules *rules = vug_rules_create();
    assert_int_equal(vug_tokenizer_open("models/pebble", &a.tokenizer, NULL), VUG_OK);
    assert_int_equal(vug_rules_tools(rules, use, &root, NULL), VUG_OK);
    assert_int_equal(vug_grammar_over(rules, root, a.tokenizer, &a.grammar, NULL), VUG_OK);
    assert_int_equal(vug_grammar_start(a.grammar, &a.at, NULL), VUG_OK);
    a.n_words = ((size_t)vug_tokenizer_size(a.tokenizer) + 31) / 32;
    a.mask = vug_alloc_zero(a.n_words, sizeof(*a.mask));
    assert_non_null(a.mask);
    vug_rules_destroy(rules);
    return a;
}

static void close_answer(answer *a)
{
    vug_free(a->mask);
    vug_grammar_state_destroy(a->at);
    vug_grammar_destroy(a->grammar);
    vug_tokenizer_close(a->tokenizer);
}

static bool may_come(answer *a, int32_t id)
{
    assert_int_equal(vug_grammar_mask(a->at, a->mask, a->n_words, NULL), VUG_OK);
    return id >= 0 && (a->mask[id / 32] >> (id % 32) & 1) != 0;
}

static void say(answer *a, const char *text)
{
    vug_tokens tokens = { 0 };
    assert_int_equal(
            vug_tokenizer_encode(a->tokenizer, text, strlen(text), VUG_ENCODE_PLAIN, &tokens, NULL),
            VUG_OK);
    for (size_t i = 0; i < tokens.n; i++) {
        if (!may_come(a, tokens.id[i]))
            fail_msg("'%s': token %zu may not come", text, i);
        assert_int_equal(vug_grammar_accept(a->at, tokens.id[i], NULL), VUG_OK);
    }
    vug_tokens_release(&tokens);
}

/* The marks are tokens of pebble's, and their letters are text. */
static void test_tokens(void **state)
{
    (void)state;
    const vug_tool_use use = use_of(VUG_TOOL_HERMES, true, false);
    answer a = open_answer(&use);
    const int32_t begin = vug_tokenizer_find(a.tokenizer, "<tool_call>");
    const int32_t end = vug_tokenizer_find(a.tokenizer, "</tool_call>");
    assert_true(begin >= 0 && end >= 0);
    assert_true(may_come(&a, begin));
    assert_false(may_come(&a, end));
    assert_false(may_come(&a, vug_tokenizer_find(a.tokenizer, "<")));
    assert_int_equal(vug_grammar_accept(a.at, end, NULL), VUG_ARGUMENT);
    assert_int_equal(vug_grammar_accept(a.at, begin, NULL), VUG_OK);
    say(&a, "\n{\"name\": \"weather\", \"arguments\": {\"city\": \"</tool");
    assert_true(may_come(&a, end)); /* inside a string it is text */
    assert_int_equal(vug_grammar_accept(a.at, end, NULL), VUG_OK);
    say(&a, "\"}}\n");
    assert_false(vug_grammar_may_end(a.at));
    assert_false(may_come(&a, begin));
    assert_true(may_come(&a, end));
    assert_int_equal(vug_grammar_accept(a.at, end, NULL), VUG_OK);
    assert_true(vug_grammar_may_end(a.at));
    close_answer(&a);
}

/* Where calls are not required, the token begins one, and nothing else does. */
static void test_tokens_of_free_text(void **state)
{
    (void)state;
    const vug_tool_use use = use_of(VUG_TOOL_HERMES, false, false);
    answer a = open_answer(&use);
    const int32_t begin = vug_tokenizer_find(a.tokenizer, "<tool_call>");
    const int32_t bos = vug_tokenizer_find(a.tokenizer, "<bos>");
    say(&a, "Let me see");
    assert_true(vug_grammar_may_end(a.at));
    assert_false(may_come(&a, bos));
    assert_int_equal(vug_grammar_accept(a.at, begin, NULL), VUG_OK);
    assert_false(vug_grammar_may_end(a.at));
    say(&a, "\n{\"name\"");
    close_answer(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hermes),
        cmocka_unit_test(test_letters),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_llama),
        cmocka_unit_test(test_gemma),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_qwen3_coder),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_tokens_of_free_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
