#include "test.h"

#include <pthread.h>

#include "core/cancel.h"
#include "core/mem.h"
#include "grammar_help.h"
#include "text/grammar/schema.h"
#include "text/text.h"
#include "tokenizer_help.h"
#include "vug/grammar.h"

/*
 * Token masks, compared with trying every token byte by byte, on a small vocabulary and on the
 * real one if it is present; forced tokens; errors; hostile grammars.
 */

enum { MASK_WORDS = 8256, MAX_STEPS = 24 };

/* The small tokenizer with more tokens of the same letters. */
static vug_tokenizer *small_tokenizer(void)
{
    return tokenizer_of((tokenizer_parts){
            .vocab =
                    "\"<pad>\":0,\"<eos>\":1,\"<bos>\":2,\"<unk>\":3,\"<0xC3>\":4,\"<0xA9>\":5,"
                    "\"<0xE2>\":6,\"<0x82>\":7,\"<0xAC>\":8,\"\\u2581\":9,\"a\":10,\"b\":11,"
                    "\"c\":12,\"\\n\":13,\"ab\":14,\"abc\":15,\"\\u2581a\":16,\"\\u2581ab\":17,"
                    "\"bc\":18,\"\\u2581\\u2581\":19,\"ba\":23,\"bb\":24,\"aaa\":25,\"cab\":26,"
                    "\"bab\":27,\"cc\":28,\"ccb\":29,\"aaaaaaaa\":30,\"\xc3\xa9\":31,\"<0x61>\":32,"
                    "\"bcb\":33,\"\\\"\":34,\"b\\\"\":35,\"\\\"ab\":36,\"cba\\\"\":37" });
}

static vug_grammar *grammar_of(vug_grammar_kind kind, const char *text, const vug_tokenizer *t)
{
    vug_grammar *g = NULL;
    vug_err err = { 0 };
    if (vug_grammar_create(kind, text, strlen(text), t, &g, &err) != VUG_OK)
        fail_msg("%s: %s", text, err.msg);
    return g;
}

static vug_grammar_state *start_of(const vug_grammar *g)
{
    vug_grammar_state *s = NULL;
    assert_int_equal(vug_grammar_state_create(g, &s, NULL), VUG_OK);
    return s;
}

static bool has_bit(const uint32_t *word, int32_t id)
{
    return word[id / 32] >> (id % 32) & 1;
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* ---- every token, byte by byte ---------------------------------------------------- */

typedef struct {
    const vug_tokenizer *tokenizer;
    const char *text; /* of the grammar */
    vug_grammar_matcher matcher;
    vug_stack_set at;
} slow_matcher;

/* The stacks after a token; VUG_STACK_SET_DEAD if it is not allowed. */
static vug_stack_set slow_accept(slow_matcher *s, int32_t id)
{
    vug_buf bytes = { 0 };
    vug_stack_set at = VUG_STACK_SET_DEAD;
    if (!vug_tokenizer_is_special(s->tokenizer, id) &&
        vug_tokenizer_append_bytes(s->tokenizer, id, &bytes) && bytes.len > 0)
        at = s->at;
    for (size_t i = 0; i < bytes.len && at != VUG_STACK_SET_DEAD; i++) {
        at = vug_grammar_matcher_step(&s->matcher, at, (uint8_t)bytes.ptr[i]);
        assert_int_not_equal(at, VUG_STACK_SET_FAILED);
    }
    vug_buf_release(&bytes);
    return at;
}

/* Returns how many tokens are allowed. */
static size_t compare_masks(slow_matcher *s, vug_grammar_state *state, uint32_t *word)
{
    const int32_t size = vug_tokenizer_size(s->tokenizer);
    vug_err err = { 0 };
    size_t n = 0;
    if (vug_grammar_mask(state, word, MASK_WORDS, &err) != VUG_OK)
        fail_msg("%s: %s", s->text, err.msg);
    for (int32_t id = 0; id < MASK_WORDS * 32; id++) {
        const bool expected = id < size && slow_accept(s, id) != VUG_STACK_SET_DEAD;
        if (has_bit(word, id) != expected)
            fail_msg("%s: token %d: %d", s->text, (int)id, (int)expected);
        n += expected;
    }
    assert_int_equal(vug_grammar_may_end(state), vug_stack_set_accepts(&s->matcher, s->at));
    return n;
}

/* A random token that the mask allows, or one that it does not. */
static int32_t draw_token(const uint32_t *word, bool allowed, int32_t size, uint64_t *seed)
{
    int32_t id = (int32_t)(next_random(seed) % (uint32_t)size);
    for (int32_t i = 0; i < size; i++, id = (id + 1) % size) {
        if (has_bit(word, id) == allowed)
            return id;
    }
    return -1;
}

/* Compares the masks along a random text of the grammar. */
static void follow_random_text(slow_matcher *s, const vug_grammar *g, uint64_t *seed, size_t steps)
{
    const int32_t size = vug_tokenizer_size(s->tokenizer);
    vug_grammar_state *state = start_of(g);
    uint32_t *word = vug_alloc(MASK_WORDS, sizeof(*word));
    assert_non_null(word);
    for (size_t i = 0; i < steps && compare_masks(s, state, word) > 0; i++) {
        const int32_t wrong = draw_token(word, false, size, seed);
        if (wrong >= 0)
            assert_int_equal(vug_grammar_accept(state, wrong, NULL), VUG_ARGUMENT);
        const int32_t id = draw_token(word, true, size, seed);
        assert_int_equal(vug_grammar_accept(state, id, NULL), VUG_OK);
        s->at = slow_accept(s, id);
    }
    vug_grammar_state_reset(state);
    s->at = vug_grammar_matcher_start(&s->matcher);
    (void)compare_masks(s, state, word);
    vug_free(word);
    vug_grammar_state_destroy(state);
}

/* `text` is a schema if it begins as one, else GBNF. */
static void check_masks(const vug_tokenizer *t, const char *text, uint64_t seed, size_t texts,
                        size_t steps)
{
    const bool is_schema = text[0] == '{';
    vug_automaton *a =
            automaton_of(is_schema ? vug_grammar_parse_schema : vug_grammar_parse_gbnf, text);
    vug_grammar *g = grammar_of(is_schema ? VUG_GRAMMAR_SCHEMA : VUG_GRAMMAR_GBNF, text, t);
    slow_matcher s = { .tokenizer = t, .text = text };
    assert_int_equal(vug_grammar_matcher_init(&s.matcher, a, NULL), VUG_OK);
    s.at = vug_grammar_matcher_start(&s.matcher);
    for (size_t i = 0; i < texts; i++)
        follow_random_text(&s, g, &seed, steps);
    vug_grammar_matcher_release(&s.matcher);
    vug_grammar_destroy(g);
    vug_automaton_destroy(a);
}

/* Letters, calls and tail calls, counted loops whose count is certain or depends on how a text is
 * parsed, and patterns of strings with a maximum length. */
static const char *const grammars[] = {
    "root ::= [a-c]*",
    "root ::= \"abc\" [^a] .*",
    "root ::= \"a\" root \"b\" | \"c\"",
    "root ::= (\"a\" root)? (\"b\" root)?",
    "root ::= x{3,70} [b\\n]\nx ::= [a-c] | \"\xc3\xa9\" | \"\xe2\x82\xac\"",
    "root ::= x{2,6}\nx ::= [a-c] | \"zzzzzzzzzzzzzzzzzzzzzzzzzzz\"",
    "root ::= x{3,70} \"b\" [a-c]*\nx ::= [ac] | \"zzzzzzzzzzzzzzzzzzzzzzzzzzz\"",
    "root ::= x{9} x{5,} \" \"\nx ::= [a-c] | \"zzzzzzzzzzzzzzzzzzzzzzzzzzz\"",
    "root ::= x{3,5} \"c\"\nx ::= [a-b]+ | \"zzzzzzzzzzzzzzzzzzzzzzzzzzz\"",
    "root ::= x{3,5} \"c\"\nx ::= [a-b]* | \"zzzzzzzzzzzzzzzzzzzzzzzzzzz\"",
    "root ::= (x{2,4} \" \"){3,90}\nx ::= \"ab\" | \"c\" x | \"(\" root \")\" | [z]{40}",
    "root ::= item*\nitem ::= (\"ab\" | \"c\" ws) item?\nws ::= \" \"*",
    "root ::= [^b]* \"b\" [a-c]{4}",
    "root ::= .{1,3} | \"aaaaaaaaaaaa\"",
    "{\"type\":\"string\",\"pattern\":\"^(ab|c)*$\",\"maxLength\":19}",
    "{\"type\":\"string\",\"pattern\":\"abc.{3}$\",\"minLength\":2,\"maxLength\":8}",
    "{\"type\":\"string\",\"pattern\":\"^[ac]*(b[ac]{4})*$\",\"maxLength\":7}",
    "{\"type\":\"string\",\"pattern\":\"[^\\\\u0000-\\\\u00ff]\\u00e9*$\",\"maxLength\":5}",
};

static void test_masks(void **state)
{
    (void)state;
    vug_tokenizer *t = small_tokenizer();
    for (size_t i = 0; i < sizeof(grammars) / sizeof(*grammars); i++)
        check_masks(t, grammars[i], i, 8, MAX_STEPS);
    vug_tokenizer_close(t);
}

static const char json_gbnf[] =
        "root ::= object\n"
        "value ::= object | array | string | number | \"true\" | \"false\" | \"null\"\n"
        "object ::= \"{\" ws (string \":\" ws value ws (\",\" ws string \":\" ws value ws)*)? "
        "\"}\"\n"
        "array ::= \"[\" ws (value ws (\",\" ws value ws)*)? \"]\"\n"
        "string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" "
        "[0-9a-fA-F]{4})){0,40} \"\\\"\"\n"
        "number ::= \"-\"? (\"0\" | [1-9] [0-9]*) (\".\" [0-9]+)? ([eE] [+-]? [0-9]+)?\n"
        "ws ::= [ \\n\\t]*\n";

/* Groups of characters that stay together and that do not. */
static const char *const patterns_of_characters[] = {
    "{\"type\":\"string\",\"pattern\":\"^(?:\\\\S+\\\\s+){0,9}\\\\S+$\"}",
    "{\"type\":\"string\",\"pattern\":\"^.+e.+$\",\"maxLength\":20}",
    "{\"type\":\"string\",\"pattern\":\"[\u00e0-\u00ef\u4e00-\u9fff]|[p-u]{3}\"}",
    "{\"properties\":{\"\u00e9a\":true,\"\u00e9\u4e2d\":true,\"ab\":true,\"abc\":true}}",
    "{\"type\":\"string\",\"pattern\":\"normal|bold\"}",
    "root ::= ([^\u00e9a-f\u2028] | \"d\" [^x]){2,40} \"\xf0\x9f\x98\x80\"",
};

/* All 262,144 tokens at every step. */
static void test_masks_of_gemma3(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_gemma3();
    check_masks(t, json_gbnf, 7, 2, 12);
    check_masks(t, "root ::= [A-Z] [a-z ]{3,20} [.!] root?", 8, 1, 10);
    check_masks(t, patterns_of_characters[0], 9, 1, 6);
    check_masks(t, "{\"type\":\"string\",\"pattern\":\"[0-9a-f]+\"}", 10, 1, 6);
    vug_tokenizer_close(t);
}

/* This vocabulary has tokens that are parts of characters. */
static void test_masks_of_qwen3(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_real("qwen3");
    for (size_t i = 0; i < sizeof(patterns_of_characters) / sizeof(char *); i++)
        check_masks(t, patterns_of_characters[i], i, 1, 8);
    vug_tokenizer_close(t);
}

/* ---- forced tokens ------------------------------------------------------------------ */

typedef struct {
    vug_grammar_kind kind;
    const char *grammar;
    int32_t id[8]; /* ends at -1 */
} forced_row;

static void check_forced(const vug_tokenizer *t, const forced_row *row)
{
    vug_grammar *g = grammar_of(row->kind, row->grammar, t);
    vug_grammar_state *s = start_of(g);
    int32_t id[8];
    size_t n = 0, expected = 0;
    while (row->id[expected] >= 0)
        expected++;
    assert_int_equal(vug_grammar_forced(s, id, 8, &n, NULL), VUG_OK);
    if (n != expected || (n && memcmp(id, row->id, n * sizeof(*id)) != 0))
        fail_msg("%s: %zu tokens are forced, the first is %d", row->grammar, n,
                 n ? (int)id[0] : -1);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(vug_grammar_accept(s, id[i], NULL), VUG_OK);
    vug_grammar_state_destroy(s);
    vug_grammar_destroy(g);
}

static void test_forced_tokens(void **state)
{
    (void)state;
    static const forced_row rows[] = {
        { VUG_GRAMMAR_REGEX, "abc", { 15, -1 } },
        { VUG_GRAMMAR_REGEX, "cab c", { 12, 14, 9, 12, -1 } },
        /* "ab" could become "abc", and "c" alone is the last. */
        { VUG_GRAMMAR_REGEX, "cab[bc]", { 12, -1 } },
        { VUG_GRAMMAR_REGEX, "cabb?", { 12, -1 } },
        /* What follows is not part of a longer token, but the last token is never certain. */
        { VUG_GRAMMAR_REGEX, "cab[ \n]", { 12, -1 } },
        { VUG_GRAMMAR_REGEX, "c\n[ab]", { 12, -1 } },
        { VUG_GRAMMAR_REGEX, "[ab]c", { -1 } },
        { VUG_GRAMMAR_REGEX, "a?", { -1 } },
        { VUG_GRAMMAR_REGEX, "", { -1 } },
        /* Bytes of an incomplete character, and a text without a token. */
        { VUG_GRAMMAR_REGEX, "[\\u00e8\\u00e9]", { -1 } },
        { VUG_GRAMMAR_REGEX, "cx", { -1 } },
        { VUG_GRAMMAR_GBNF,
          "root ::= x \"c\"\nx ::= \"cab\" y \"c\"\ny ::= \" \"",
          { 12, 14, 9, 12, 12, -1 } },
    };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_forced(t, &rows[i]);
    vug_tokenizer_close(t);
}

/* What follows the forced text may change more than its last token: a, b, c and then d become a
 * and bcd. */
static void test_forced_tokens_change_backwards(void **state)
{
    (void)state;
    static const forced_row rows[] = {
        { VUG_GRAMMAR_REGEX, "abc[ad]", { 0, -1 } },
        { VUG_GRAMMAR_REGEX, "abc[ab]", { 0, 1, -1 } },
        { VUG_GRAMMAR_REGEX, "abcd", { 0, 5, -1 } },
    };
    vug_tokenizer *t = tokenizer_of(
            (tokenizer_parts){ .added = "",
                               .post = "null",
                               .model = "\"type\":\"BPE\"",
                               .vocab = "\"a\":0,\"b\":1,\"c\":2,\"d\":3,\"cd\":4,\"bcd\":5",
                               .merges = "[\"c\",\"d\"],[\"b\",\"cd\"]" });
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_forced(t, &rows[i]);
    vug_tokenizer_close(t);
}

/* Whatever comes where there is a choice, the forced tokens are those that the tokenizer gives
 * for the whole text. */
static void test_forced_tokens_of_gemma3(void **state)
{
    (void)state;
    static const char grammar[] =
            "root ::= \"{\\\"name\\\": \\\"\" [a-z]+ \"\\\", \\\"description\\\": \" (\"null\" | "
            "\"12\") \", \\\"tags\\\": [\" [0-9]* \"]}\"";
    static const char *const text[] = {
        "{\"name\": \"bob\", \"description\": null, \"tags\": []}",
        "{\"name\": \"nametag\", \"description\": 12, \"tags\": [1]}",
        "{\"name\": \"q\", \"description\": 12, \"tags\": [555]}",
    };
    vug_tokenizer *t = tokenizer_gemma3();
    vug_grammar *g = grammar_of(VUG_GRAMMAR_GBNF, grammar, t);
    vug_grammar_state *s = start_of(g);
    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
        vug_tokens whole = { 0 };
        size_t n_forced = 0;
        assert_int_equal(vug_tokenizer_encode(t, text[i], strlen(text[i]), 0, &whole, NULL),
                         VUG_OK);
        vug_grammar_state_reset(s);
        for (size_t at = 0; at < whole.n; at++) {
            int32_t id[64];
            size_t n = 0;
            assert_int_equal(vug_grammar_forced(s, id, 64, &n, NULL), VUG_OK);
            assert_true(at + n <= whole.n);
            for (size_t k = 0; k < n; k++)
                assert_int_equal(id[k], whole.id[at + k]);
            n_forced += n > 0;
            assert_int_equal(vug_grammar_accept(s, whole.id[at], NULL), VUG_OK);
        }
        assert_true(vug_grammar_may_end(s));
        assert_in_range(n_forced, 8, whole.n);
        vug_tokens_release(&whole);
    }
    vug_grammar_state_destroy(s);
    vug_grammar_destroy(g);
    vug_tokenizer_close(t);
}

/* ---- warnings -------------------------------------------------------------------- */

static void test_schema_warnings(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    static const char misspelled[] =
            "{\"additonalProperties\":false,\"items\":{\"minimun\":1,\"title\":\"\",\"links\":[]}}";
    vug_grammar *g = grammar_of(VUG_GRAMMAR_SCHEMA, misspelled, t);
    assert_string_equal(vug_grammar_warnings(g),
                        "schema: #: the keyword 'additonalProperties' is unknown and ignored; did "
                        "you mean 'additionalProperties'?\n"
                        "schema: #/items: the keyword 'minimun' is unknown and ignored; did you "
                        "mean 'minimum'?\n");
    vug_grammar_destroy(g);
    g = grammar_of(VUG_GRAMMAR_SCHEMA, "{\"readonly\":true,\"format\":\"color\",\"comment\":1}", t);
    assert_string_equal(vug_grammar_warnings(g), "");
    vug_grammar_destroy(g);
    static const char *const strict[] = { "{\"readonly\":true}", "{\"format\":\"color\"}" };
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(vug_grammar_create(VUG_GRAMMAR_STRICT_SCHEMA, strict[i], strlen(strict[i]),
                                            t, &g, NULL),
                         VUG_UNSUPPORTED);
    vug_tokenizer_close(t);
}

/* ---- errors -------------------------------------------------------------------- */

static void test_errors(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    vug_grammar *g = NULL;
    vug_err err = { 0 };
    uint32_t word = 0;
    assert_int_equal(vug_grammar_create(VUG_GRAMMAR_REGEX, "(", 1, t, &g, &err), VUG_ARGUMENT);
    assert_int_equal(vug_grammar_create((vug_grammar_kind)9, "", 0, t, &g, &err), VUG_ARGUMENT);
    static const char none[] = "{\"type\":\"array\",\"items\":false,\"minItems\":1}";
    assert_int_equal(vug_grammar_create(VUG_GRAMMAR_SCHEMA, none, strlen(none), t, &g, &err),
                     VUG_ARGUMENT);
    assert_string_equal(err.msg, "schema: a grammar that no text matches");
    assert_null(g);
    g = grammar_of(VUG_GRAMMAR_REGEX, "ab?", t);
    vug_grammar_state *s = start_of(g);
    assert_int_equal(vug_grammar_mask(s, &word, 0, &err), VUG_ARGUMENT);
    const int32_t wrong[] = { -1, 0, 1, 2, 11, 22, 23, INT32_MAX };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_int_equal(vug_grammar_accept(s, wrong[i], &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "is not text"));
    assert_int_equal(vug_grammar_accept(s, 11, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "the grammar does not allow token 11, 'b', here");
    assert_false(vug_grammar_may_end(s));
    assert_int_equal(vug_grammar_accept(s, 14, &err), VUG_OK);
    assert_true(vug_grammar_may_end(s));
    assert_int_equal(vug_grammar_mask(s, &word, 1, &err), VUG_OK);
    assert_int_equal(word, 0);
    vug_grammar_state_reset(s);
    assert_false(vug_grammar_may_end(s));
    vug_grammar_state_destroy(s);
    vug_grammar_state_destroy(NULL);
    vug_grammar_destroy(g);
    vug_grammar_destroy(NULL);
    vug_tokenizer_close(t);
}

/* Cancellation ends a call, which can be repeated. */
static void test_cancelled_calls(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    vug_grammar *g = grammar_of(VUG_GRAMMAR_REGEX, "ab?", t);
    vug_grammar_state *s = start_of(g);
    vug_err err = { 0 };
    uint32_t word = 0;
    vug_cancel_token cancel = { true };
    vug_grammar_state_set_cancel(s, &cancel);
    assert_int_equal(vug_grammar_mask(s, &word, 1, &err), VUG_CANCELLED);
    assert_int_equal(vug_grammar_accept(s, 10, &err), VUG_CANCELLED);
    vug_cancel_token_reset(&cancel);
    assert_int_equal(vug_grammar_mask(s, &word, 1, &err), VUG_OK);
    assert_true(has_bit(&word, 10));
    assert_int_equal(vug_grammar_accept(s, 10, &err), VUG_OK);
    vug_grammar_state_destroy(s);
    vug_grammar_destroy(g);
    vug_tokenizer_close(t);
}

/* All work is charged to one budget, which each call resets. */
static void test_work_budget(void **state)
{
    (void)state;
    vug_automaton *a = automaton_of(vug_grammar_parse_regex, "(.{1,9}[a-z]{1,9}){1,9}");
    vug_grammar_matcher matcher;
    vug_err err = { 0 };
    bool forgotten;
    assert_int_equal(vug_grammar_matcher_init(&matcher, a, NULL), VUG_OK);
    vug_stack_set at = vug_grammar_matcher_start(&matcher);
    const uint64_t before = matcher.work;
    for (int i = 0; i < 8; i++)
        at = vug_grammar_matcher_step(&matcher, at, 'a');
    size_t n;
    (void)vug_stack_set_frames(&matcher, at, &n);
    assert_true(matcher.work - before >= n * VUG_MATCHER_FRAME_WORK);
    assert_false(vug_grammar_matcher_charge(&matcher, VUG_MATCHER_MAX_WORK - matcher.work));
    assert_int_equal(vug_grammar_matcher_step(&matcher, at, 'a'), VUG_STACK_SET_FAILED);
    assert_int_equal(vug_grammar_matcher_error(&matcher, &err), VUG_LIMIT);
    assert_non_null(strstr(err.msg, "134217728 steps for the next token"));
    assert_int_equal(vug_grammar_matcher_begin_call(&matcher, &at, &forgotten, &err), VUG_OK);
    assert_int_not_equal(vug_grammar_matcher_step(&matcher, at, 'a'), VUG_STACK_SET_FAILED);
    vug_grammar_matcher_release(&matcher);
    vug_automaton_destroy(a);
}

/* Compiling and using an expensive grammar must end in a status. `n` copies of `part`. */
static void check_hostile(const vug_tokenizer *t, vug_grammar_kind kind, const char *before,
                          const char *part, size_t n, const char *after)
{
    vug_buf text = { 0 };
    vug_grammar *g = NULL;
    vug_err err = { 0 };
    vug_buf_puts(&text, before);
    for (size_t i = 0; i < n; i++)
        vug_buf_puts(&text, part);
    vug_buf_puts(&text, after);
    assert_int_equal(vug_buf_ok(&text, NULL), VUG_OK);
    if (vug_grammar_create(kind, text.ptr, text.len, t, &g, &err) == VUG_OK) {
        vug_grammar_state *s = NULL;
        uint32_t word[2];
        vug_status st = vug_grammar_state_create(g, &s, &err);
        for (size_t i = 0; st == VUG_OK && i < 20; i++) {
            st = vug_grammar_mask(s, word, 2, &err);
            if (st == VUG_OK && vug_grammar_accept(s, 10, &err) != VUG_OK)
                break;
        }
        assert_true(st == VUG_OK || st == VUG_LIMIT);
        vug_grammar_state_destroy(s);
        vug_grammar_destroy(g);
    } else {
        assert_true(err.msg[0] != '\0');
    }
    vug_buf_release(&text);
}

/* After the first byte, each of these rules may be the one. */
static void test_ambiguous_beginning(void **state)
{
    (void)state;
    enum { TOO_MANY = 5000 };
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    vug_buf text = { 0 };
    vug_buf_puts(&text, "root ::= \"x\"");
    for (int i = 0; i < TOO_MANY; i++)
        vug_buf_printf(&text, " | r%d", i);
    for (int i = 0; i < TOO_MANY; i++)
        vug_buf_printf(&text, "\nr%d ::= \"a\" r%d? \"b%d\"", i, i, i);
    vug_grammar *g = NULL;
    vug_err err = { 0 };
    assert_int_equal(vug_grammar_create(VUG_GRAMMAR_GBNF, text.ptr, text.len, t, &g, &err),
                     VUG_LIMIT);
    assert_non_null(strstr(err.msg, "too ambiguous"));
    assert_null(g);
    vug_buf_release(&text);
    vug_tokenizer_close(t);
}

static void test_hostile_grammars(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    const vug_grammar_kind regex = VUG_GRAMMAR_REGEX, gbnf = VUG_GRAMMAR_GBNF;
    check_hostile(t, regex, "((a{1000}){1000}){1000}", "", 0, "");
    check_hostile(t, regex, "((a{0,1000}){0,1000}){0,1000}", "", 0, "");
    check_hostile(t, regex, "((a?){1000}){100000}", "", 0, "b");
    check_hostile(t, regex, "(a|b)*a", "(a|b)", 30, "");
    check_hostile(t, regex, "(a*)*", "(a*)*", 2000, "");
    check_hostile(t, regex, "", "(", 100000, "");
    check_hostile(t, regex, "", "a?", 3000, "");
    check_hostile(t, regex, "a", "|a", 100000, "");
    check_hostile(t, regex, ".*a.{0,100}a.{0,100}a.{0,100}a.{0,100}", "", 0, "");
    check_hostile(t, regex, "(a.*){500}", "", 0, "");
    check_hostile(t, gbnf, "root ::= ", "(", 100000, "");
    check_hostile(t, gbnf, "root ::= \"a\"", " | \"a\" root", 10000, "");
    check_hostile(t, gbnf, "root ::= \"a\"? ", "root? ", 1000, "");
    check_hostile(t, gbnf, "root ::= r r r r\nr ::= s s s s\ns ::= (\"a\" r)? (\"aa\" r)?", "", 0,
                  "");
    check_hostile(t, gbnf, "root ::= \"a\" root root | \"a\"", "", 0, "");
    check_hostile(t, gbnf, "root ::= x*{1,1000}\nx ::= \"a\" x | ", "", 0, "");
    check_hostile(t, gbnf, "root ::= ", "\"aaaaaaaa\"{90000} ", 1000, "");
    vug_tokenizer_close(t);
}

/* ---- threads ---------------------------------------------------------------------------- */

typedef struct {
    const vug_grammar *grammar;
    uint32_t sum;
} thread_job;

static void *sum_masks(void *arg)
{
    thread_job *job = arg;
    vug_grammar_state *s = NULL;
    uint32_t word[2];
    static const int32_t id[] = { 10, 14, 12, 9, 15, 11 };
    if (vug_grammar_state_create(job->grammar, &s, NULL) != VUG_OK)
        return NULL;
    for (size_t i = 0; i < 300; i++) {
        if (vug_grammar_mask(s, word, 2, NULL) != VUG_OK)
            break;
        job->sum = job->sum * 31 + word[0] + word[1];
        if (vug_grammar_accept(s, id[i % 6], NULL) != VUG_OK)
            vug_grammar_state_reset(s);
    }
    vug_grammar_state_destroy(s);
    return NULL;
}

static void test_shared_by_threads(void **state)
{
    (void)state;
    vug_tokenizer *t = tokenizer_of((tokenizer_parts){ 0 });
    vug_grammar *g = grammar_of(VUG_GRAMMAR_GBNF,
                                "root ::= (x{3,90} [ \\n])*\nx ::= [a-c] | \"(\" root \")\"", t);
    pthread_t thread[3];
    thread_job job[4] = { { g, 0 }, { g, 0 }, { g, 0 }, { g, 0 } };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, sum_masks, &job[i]), 0);
    (void)sum_masks(&job[3]);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(job[i].sum, job[3].sum);
    }
    assert_int_not_equal(job[3].sum, 0);
    vug_grammar_destroy(g);
    vug_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_masks_of_gemma3),
        cmocka_unit_test(test_masks_of_qwen3),
        cmocka_unit_test(test_forced_tokens),
        cmocka_unit_test(test_forced_tokens_change_backwards),
        cmocka_unit_test(test_forced_tokens_of_gemma3),
        cmocka_unit_test(test_schema_warnings),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_cancelled_calls),
        cmocka_unit_test(test_work_budget),
        cmocka_unit_test(test_ambiguous_beginning),
        cmocka_unit_test(test_hostile_grammars),
        cmocka_unit_test(test_shared_by_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
