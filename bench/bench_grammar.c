/*
 * The cost of grammars with a real vocabulary: compiling them, and one step along a text that a
 * model could have written. A step computes the mask and accepts a token. The first run includes
 * computing all masks that later runs find in the cache.
 *
 *     bench_grammar TOKENIZER [GRAMMAR.gbnf|GRAMMAR.json TEXT]
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/os.h"
#include "vug/grammar.h"

static const char json_gbnf[] =
        "root ::= object\n"
        "value ::= object | array | string | number | \"true\" | \"false\" | \"null\"\n"
        "object ::= \"{\" ws ( string \":\" ws value ws (\",\" ws string \":\" ws value ws)* )? "
        "\"}\"\n"
        "array ::= \"[\" ws ( value ws (\",\" ws value ws)* )? \"]\"\n"
        "string ::= \"\\\"\" ( [^\"\\\\\\x00-\\x1f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" "
        "[0-9a-fA-F]{4}) )* "
        "\"\\\"\"\n"
        "number ::= \"-\"? (\"0\" | [1-9] [0-9]*) (\".\" [0-9]+)? ([eE] [+-]? [0-9]+)?\n"
        "ws ::= [ \\n\\t]*\n";

typedef struct {
    double *step; /* seconds */
    size_t n;
} times;

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, times *t)
{
    double sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += t->step[i];
    qsort(t->step, t->n, sizeof(*t->step), ascending);
    if (t->n > 0)
        (void)printf("  %-10s %5zu steps: mean %7.1f us, median %7.1f, 99%% %8.1f, most %8.1f\n",
                     name, t->n, sum / (double)t->n * 1e6, t->step[t->n / 2] * 1e6,
                     t->step[t->n * 99 / 100] * 1e6, t->step[t->n - 1] * 1e6);
}

static int fail(const vug_err *err)
{
    (void)fprintf(stderr, "%s\n", err->msg);
    return 1;
}

/* One text from beginning to end. */
static bool run(vug_grammar_state *state, const vug_tokens *text, uint32_t *word, size_t n_words,
                times *t, vug_err *err)
{
    vug_grammar_state_reset(state);
    for (size_t i = 0; i < text->n; i++) {
        const double start = vug_now();
        if (vug_grammar_mask(state, word, n_words, err) != VUG_OK ||
            vug_grammar_accept(state, text->id[i], err) != VUG_OK)
            return false;
        t->step[t->n++] = vug_now() - start;
    }
    return true;
}

static int bench(const vug_tokenizer *tokenizer, vug_grammar_kind kind, vug_text grammar,
                 vug_text text)
{
    vug_err err = { 0 };
    vug_grammar *g = NULL;
    vug_grammar_state *state = NULL;
    vug_tokens tokens = { 0 };
    const size_t n_words = ((size_t)vug_tokenizer_size(tokenizer) + 31) / 32;
    for (int i = 0; i < 2; i++) {
        vug_grammar_destroy(g);
        const double start = vug_now();
        if (vug_grammar_create(kind, grammar.ptr, grammar.len, tokenizer, &g, &err) != VUG_OK)
            return fail(&err);
        (void)printf("  compiled in %.2f ms%s\n", (vug_now() - start) * 1e3,
                     i ? "" : ", with the token trie");
    }
    if (vug_grammar_state_create(g, &state, &err) != VUG_OK ||
        vug_tokenizer_encode(tokenizer, text.ptr, text.len, VUG_ENCODE_PLAIN, &tokens, &err) !=
                VUG_OK)
        return fail(&err);
    uint32_t *word = vug_alloc(n_words, sizeof(*word));
    times t = { vug_alloc(tokens.n + 1, sizeof(double)), 0 };
    static const char *const names[] = { "first run", "second", "third" };
    int rc = 0;
    for (size_t i = 0; i < 3 && rc == 0 && word && t.step; i++) {
        t.n = 0;
        if (!run(state, &tokens, word, n_words, &t, &err))
            rc = fail(&err);
        report(names[i], &t);
    }
    vug_free(word);
    vug_free(t.step);
    vug_tokens_release(&tokens);
    vug_grammar_state_destroy(state);
    vug_grammar_destroy(g);
    return rc;
}

/* A typical JSON document with n objects. */
static vug_text document(int n)
{
    vug_buf b = { 0 };
    vug_text text = { 0 };
    vug_buf_puts(&b, "{\"results\": [");
    for (int i = 0; i < n; i++)
        vug_buf_printf(
                &b,
                "%s\n  {\"id\": %d, \"name\": \"Item number %d\", \"price\": %d.95, \"tags\": "
                "[\"red\", \"large\"], \"description\": \"A fine thing, \\\"hand-made\\\" in "
                "small numbers; caf\xc3\xa9 and more.\", \"stock\": {\"count\": %d, "
                "\"ordered\": null}, \"active\": %s}",
                i ? "," : "", i, i, i * 7, i * 31 % 50, i % 2 ? "true" : "false");
    vug_buf_puts(&b, "\n]}");
    if (vug_buf_take(&b, &text, NULL) != VUG_OK)
        (void)fputs("out of memory\n", stderr);
    return text;
}

/* An object of n properties in GBNF. properties_document is a document for it. */
static vug_text properties_gbnf(int n)
{
    vug_buf b = { 0 };
    vug_text text = { 0 };
    static const char *const types[] = { "string", "number", "(\"true\" | \"false\")",
                                         "(\"[\" (string (\", \" string)*)? \"]\")" };
    vug_buf_puts(&b, "root ::= \"{\" ");
    for (int i = 0; i < n; i++)
        vug_buf_printf(&b, "\"%s\\\"property_%d\\\": \" %s ", i ? ", " : "", i, types[i % 4]);
    vug_buf_puts(&b, "\"}\"\n");
    vug_buf_puts(&b, strstr(json_gbnf, "value ::="));
    if (vug_buf_take(&b, &text, NULL) != VUG_OK)
        (void)fputs("out of memory\n", stderr);
    return text;
}

static vug_text properties_document(int n)
{
    vug_buf b = { 0 };
    vug_text text = { 0 };
    static const char *const values[] = { "\"Some text, not long: \\u00e9t\xc3\xa9\"", "-12.5e3",
                                          "true", "[\"one\", \"two or more\"]" };
    for (int i = 0; i < n; i++)
        vug_buf_printf(&b, "%s\"property_%d\": %s", i ? ", " : "{", i, values[i % 4]);
    vug_buf_puts(&b, "}");
    if (vug_buf_take(&b, &text, NULL) != VUG_OK)
        (void)fputs("out of memory\n", stderr);
    return text;
}

static int bench_files(const vug_tokenizer *tokenizer, const char *grammar, const char *text)
{
    vug_err err = { 0 };
    vug_text g = { 0 }, t = { 0 };
    if (vug_read_file(grammar, 1 << 24, &g, &err) != VUG_OK ||
        vug_read_file(text, 1 << 24, &t, &err) != VUG_OK)
        return fail(&err);
    const bool schema = vug_str_ends(vug_str_of(grammar), ".json");
    const int rc = bench(tokenizer, schema ? VUG_GRAMMAR_SCHEMA : VUG_GRAMMAR_GBNF, g, t);
    vug_text_release(&g);
    vug_text_release(&t);
    return rc;
}

static int bench_all(const vug_tokenizer *tokenizer)
{
    struct {
        const char *name;
        vug_grammar_kind kind;
        vug_text grammar, text;
    } row[] = {
        { "any JSON, 20 objects", VUG_GRAMMAR_GBNF, { 0 }, document(20) },
        { "100 properties", VUG_GRAMMAR_GBNF, properties_gbnf(100), properties_document(100) },
    };
    row[0].grammar = (vug_text){ vug_strdup(json_gbnf), strlen(json_gbnf) };
    int rc = 0;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        (void)printf("%s\n", row[i].name);
        rc |= bench(tokenizer, row[i].kind, row[i].grammar, row[i].text);
        vug_text_release(&row[i].grammar);
        vug_text_release(&row[i].text);
    }
    return rc;
}

int main(int argc, char **argv)
{
    vug_tokenizer *tokenizer = NULL;
    vug_err err = { 0 };
    if (argc != 2 && argc != 4) {
        (void)fputs("usage: bench_grammar TOKENIZER [GRAMMAR.gbnf|SCHEMA.json TEXT]\n", stderr);
        return argc == 1 ? 0 : 2;
    }
    if (vug_tokenizer_open(argv[1], &tokenizer, &err) != VUG_OK)
        return fail(&err);
    const int rc = argc == 4 ? bench_files(tokenizer, argv[2], argv[3]) : bench_all(tokenizer);
    vug_tokenizer_close(tokenizer);
    return rc;
}
