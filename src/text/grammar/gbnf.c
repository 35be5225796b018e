#include "text/grammar/gbnf.h"

#include "core/utf8.h"
#include "text/grammar/gbnf_internal.h"

/*
 * The syntax is that of llama.cpp (its grammars/README.md, and llama_grammar_parser in
 * llama-grammar.cpp), and grammars mean the same. Differences: a second definition of a rule is
 * an error, repetitions may be longer, and references to tokens (<think>, <[1000]>) are
 * refused, since grammars here are over bytes.
 */

enum {
    MAX_BYTES = 1 << 22,
    MAX_DEPTH = 100, /* of parentheses */
    MAX_CLASS = 1 << 16,
};

typedef struct {
    vug_str name;
    vug_grammar_expr expr;
    size_t at; /* its first use or definition, in the text */
    bool defined;
} gbnf_rule;

/* ---- terminals -------------------------------------------------------------------- */

static vug_grammar_expr parse_literal(vug_gbnf_parser *p)
{
    vug_buf text = { 0 };
    while (p->st == VUG_OK && !vug_gbnf_skip(p, "\"")) {
        if (p->at == p->text.len) {
            vug_gbnf_fail(p, VUG_ARGUMENT, "a literal without its end");
            break;
        }
        char utf8[4];
        vug_buf_append(&text, utf8, vug_utf8_encode(vug_gbnf_parse_character(p), utf8));
    }
    if (text.bad)
        vug_gbnf_fail(p, VUG_NOMEM, "out of memory for a literal");
    const vug_grammar_expr expr = vug_grammar_literal(p->builder, (vug_str){ text.ptr, text.len });
    vug_buf_release(&text);
    return expr;
}

static vug_grammar_expr parse_class(vug_gbnf_parser *p)
{
    vug_buf ranges = { .max = MAX_CLASS * sizeof(vug_char_range) };
    const bool negated = vug_gbnf_skip(p, "^");
    if (vug_gbnf_peek(p) == ']')
        vug_gbnf_fail(p, VUG_ARGUMENT, "an empty class");
    while (p->st == VUG_OK && !vug_gbnf_skip(p, "]")) {
        if (p->at == p->text.len) {
            vug_gbnf_fail(p, VUG_ARGUMENT, "a class without its ]");
            break;
        }
        vug_char_range range;
        range.from = range.to = vug_gbnf_parse_character(p);
        if (vug_gbnf_peek(p) == '-' && p->at + 1 < p->text.len && p->text.ptr[p->at + 1] != ']') {
            p->at++;
            range.to = vug_gbnf_parse_character(p);
        }
        if (range.to < range.from)
            vug_gbnf_fail(p, VUG_ARGUMENT, "the ends of a range are not in order");
        vug_buf_append(&ranges, &range, sizeof(range));
    }
    if (ranges.bad)
        vug_gbnf_fail(p, VUG_LIMIT, "a class with too many ranges");
    const vug_grammar_expr expr = vug_grammar_class(p->builder, (const void *)ranges.ptr,
                                                    ranges.len / sizeof(vug_char_range), negated);
    vug_buf_release(&ranges);
    return expr;
}

/* ---- names -------------------------------------------------------------------------- */

static gbnf_rule *get_rule(vug_gbnf_parser *p, uint32_t i)
{
    return (gbnf_rule *)(void *)p->rules.ptr + i;
}

/* Parses a name and finds its rule, which is declared if it is new. NULL after a failure. Valid
 * until the next call. */
static gbnf_rule *parse_rule_name(vug_gbnf_parser *p)
{
    const size_t start = p->at;
    while (vug_gbnf_is_name_char(vug_gbnf_peek(p)))
        p->at++;
    const vug_str name = { p->text.ptr + start, p->at - start };
    if (name.len == 0)
        vug_gbnf_fail(p, VUG_ARGUMENT, "expected a rule name");
    if (p->st != VUG_OK)
        return NULL;
    vug_hash_probe probe = vug_hash_probe_start(&p->index, vug_hash_bytes(name.ptr, name.len));
    while (vug_hash_probe_next(&probe)) {
        if (vug_str_equal(get_rule(p, probe.entry)->name, name))
            return get_rule(p, probe.entry);
    }
    const uint32_t n = (uint32_t)(p->rules.len / sizeof(gbnf_rule));
    const gbnf_rule rule = { name, vug_grammar_declare_rule(p->builder), start, false };
    vug_grammar_name_rule(p->builder, rule.expr, name);
    vug_buf_append(&p->rules, &rule, sizeof(rule));
    if (p->rules.bad || !vug_hash_probe_insert(&p->index, &probe, n))
        vug_gbnf_fail(p, VUG_LIMIT, "too many rules, or their names collide in the hash table");
    return p->st == VUG_OK ? get_rule(p, n) : NULL;
}

/* ---- sequences ----------------------------------------------------------------------- */

static vug_grammar_expr parse_alternatives(vug_gbnf_parser *p, int depth);

static uint32_t parse_number(vug_gbnf_parser *p)
{
    uint32_t value = 0;
    if (!vug_is_digit(vug_gbnf_peek(p)))
        vug_gbnf_fail(p, VUG_ARGUMENT, "expected a number");
    for (; vug_is_digit(vug_gbnf_peek(p)); p->at++) {
        if (value <= VUG_GRAMMAR_MAX_REPEAT)
            value = value * 10 + (uint32_t)(vug_gbnf_peek(p) - '0');
    }
    return value;
}

/* After the opening brace. */
static void parse_bounds(vug_gbnf_parser *p, bool cross_lines, uint32_t *min, uint32_t *max)
{
    vug_gbnf_skip_space(p, cross_lines);
    *max = *min = parse_number(p);
    vug_gbnf_skip_space(p, cross_lines);
    if (vug_gbnf_skip(p, ",")) {
        vug_gbnf_skip_space(p, cross_lines);
        *max = vug_is_digit(vug_gbnf_peek(p)) ? parse_number(p) : VUG_REPEAT_UNBOUNDED;
        vug_gbnf_skip_space(p, cross_lines);
    }
    if (!vug_gbnf_skip(p, "}"))
        vug_gbnf_fail(p, VUG_ARGUMENT, "expected }");
}

static bool parse_quantifier(vug_gbnf_parser *p, bool cross_lines, uint32_t *min, uint32_t *max)
{
    *min = 0;
    *max = VUG_REPEAT_UNBOUNDED;
    if (vug_gbnf_skip(p, "*"))
        return true;
    if (vug_gbnf_skip(p, "?")) {
        *max = 1;
        return true;
    }
    if (vug_gbnf_skip(p, "+")) {
        *min = 1;
        return true;
    }
    if (!vug_gbnf_skip(p, "{"))
        return false;
    parse_bounds(p, cross_lines, min, max);
    return true;
}

/* False at the end of the sequence. */
static bool parse_symbol(vug_gbnf_parser *p, int depth, vug_grammar_expr *expr)
{
    if (vug_gbnf_skip(p, "\"")) {
        *expr = parse_literal(p);
    } else if (vug_gbnf_skip(p, "[")) {
        *expr = parse_class(p);
    } else if (vug_gbnf_skip(p, ".")) {
        *expr = vug_grammar_class(p->builder, NULL, 0, true);
    } else if (vug_gbnf_skip(p, "(")) {
        if (depth >= MAX_DEPTH)
            vug_gbnf_fail(p, VUG_LIMIT, "more than 100 nested parentheses");
        vug_gbnf_skip_space(p, true);
        *expr = p->st == VUG_OK ? parse_alternatives(p, depth + 1) : VUG_EMPTY_EXPR;
        if (!vug_gbnf_skip(p, ")"))
            vug_gbnf_fail(p, VUG_ARGUMENT, "expected )");
    } else if (vug_gbnf_is_name_char(vug_gbnf_peek(p))) {
        const gbnf_rule *rule = parse_rule_name(p);
        *expr = rule ? rule->expr : VUG_EMPTY_EXPR;
    } else {
        if (vug_gbnf_peek(p) == '<' || vug_gbnf_peek(p) == '!')
            vug_gbnf_fail(p, VUG_UNSUPPORTED, "references to tokens are not supported");
        return false;
    }
    return p->st == VUG_OK;
}

static vug_grammar_expr parse_sequence(vug_gbnf_parser *p, int depth)
{
    vug_buf exprs = { 0 };
    vug_grammar_expr expr;
    uint32_t min, max;
    while (parse_symbol(p, depth, &expr)) {
        vug_gbnf_skip_space(p, depth > 0);
        while (parse_quantifier(p, depth > 0, &min, &max)) {
            expr = p->st == VUG_OK ? vug_grammar_repeat(p->builder, expr, min, max)
                                   : VUG_EMPTY_EXPR;
            vug_gbnf_skip_space(p, depth > 0);
        }
        vug_buf_append(&exprs, &expr, sizeof(expr));
        if (p->st == VUG_OK)
            p->st = vug_grammar_builder_ok(p->builder, p->err);
    }
    if (strchr("*+?{", vug_gbnf_peek(p)) && vug_gbnf_peek(p))
        vug_gbnf_fail(p, VUG_ARGUMENT, "a quantifier with nothing before it");
    if (exprs.bad)
        vug_gbnf_fail(p, VUG_NOMEM, "out of memory for a sequence");
    expr = vug_grammar_sequence(p->builder, (const void *)exprs.ptr, exprs.len / sizeof(expr));
    vug_buf_release(&exprs);
    return expr;
}

static vug_grammar_expr parse_alternatives(vug_gbnf_parser *p, int depth)
{
    vug_buf exprs = { 0 };
    for (;;) {
        const vug_grammar_expr expr = parse_sequence(p, depth);
        vug_buf_append(&exprs, &expr, sizeof(expr));
        if (!vug_gbnf_skip(p, "|"))
            break;
        vug_gbnf_skip_space(p, true);
    }
    if (exprs.bad)
        vug_gbnf_fail(p, VUG_NOMEM, "out of memory for alternatives");
    const vug_grammar_expr expr =
            vug_grammar_choice(p->builder, (const void *)exprs.ptr, exprs.len / sizeof(expr));
    vug_buf_release(&exprs);
    return expr;
}

/* ---- rules ------------------------------------------------------------------------------ */

static void parse_definition(vug_gbnf_parser *p)
{
    const size_t start = p->at;
    gbnf_rule *rule = parse_rule_name(p);
    vug_gbnf_skip_space(p, false);
    if (!vug_gbnf_skip(p, "::="))
        vug_gbnf_fail(p, VUG_ARGUMENT, "expected ::=");
    if (rule && rule->defined)
        vug_gbnf_fail_at(p, start, VUG_ARGUMENT, "a second definition of ", rule->name);
    if (p->st != VUG_OK || !rule)
        return;
    rule->defined = true;
    const vug_grammar_expr expr = rule->expr;
    vug_gbnf_skip_space(p, true);
    const vug_grammar_expr as = parse_alternatives(p, 0);
    if (p->at < p->text.len && vug_gbnf_peek(p) != '\n' && vug_gbnf_peek(p) != '\r')
        vug_gbnf_fail(p, VUG_ARGUMENT, "expected a symbol, a quantifier, | or the end of the line");
    vug_grammar_define_rule(p->builder, expr, as);
    vug_gbnf_skip_space(p, true);
}

static void parse_grammar(vug_gbnf_parser *p, vug_grammar_expr *root)
{
    bool found = false;
    vug_gbnf_skip_space(p, true);
    while (p->st == VUG_OK && p->at < p->text.len)
        parse_definition(p);
    for (uint32_t i = 0; p->st == VUG_OK && i < p->rules.len / sizeof(gbnf_rule); i++) {
        const gbnf_rule *rule = get_rule(p, i);
        if (!rule->defined)
            vug_gbnf_fail_at(p, rule->at, VUG_ARGUMENT, "no definition of ", rule->name);
        if (vug_str_is(rule->name, "root")) {
            found = true;
            *root = rule->expr;
        }
    }
    if (p->st == VUG_OK && !found)
        vug_gbnf_fail(p, VUG_ARGUMENT, "there is no rule root, where a grammar begins");
}

vug_status vug_grammar_parse_gbnf(vug_grammar_builder *builder, vug_str text,
                                  vug_grammar_expr *root, vug_err *err)
{
    vug_gbnf_parser p = { .builder = builder, .text = text, .err = err };
    if (text.len > MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "GBNF of %zu bytes, at most %d are supported", text.len,
                        MAX_BYTES);
    if (!vug_hash_index_init(&p.index, text.len / 2 + 1))
        return VUG_FAIL_NOMEM(err, "the names of a grammar", text.len);
    parse_grammar(&p, root);
    vug_hash_index_release(&p.index);
    vug_buf_release(&p.rules);
    VUG_TRY(p.st);
    return vug_grammar_builder_ok(builder, err);
}
