#include "text/grammar/rules.h"
#include "text/tokenizer/index.h"

#include "core/text.h"

/*
 * GBNF, the grammars of llama.cpp (grammars/README.md there, and llama-grammar.cpp,
 * llama_grammar_parser). What is read here and there means the same, except that a rule
 * that is defined twice is an error here, and that repetitions may be longer. References
 * to tokens (<think>, <[1000]>) are refused: grammars here are over bytes.
 */

enum {
    MAX_BYTES = 1 << 22,
    MAX_DEPTH = 100, /* of parentheses */
    MAX_CLASS = 1 << 16,
};

typedef struct {
    vug_str name;
    vug_node node;
    size_t at; /* where it is first met */
    bool defined;
} rule_name;

typedef struct {
    vug_rules *rules;
    vug_str text;
    size_t at;
    vug_index index; /* of names */
    vug_buf names;   /* rule_name */
    vug_status st;
    vug_err *err;
} parser;

static void fail_at(parser *p, size_t at, vug_status st, const char *what, vug_str name)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < p->text.len; i++) {
        column = p->text.ptr[i] == '\n' ? 1 : column + 1;
        line += p->text.ptr[i] == '\n';
    }
    if (p->st == VUG_OK)
        p->st = VUG_FAIL(p->err, st, "GBNF: line %zu, column %zu: %s%.*s", line, column, what,
                         VUG_STR_ARG(name));
}

static void fail(parser *p, vug_status st, const char *what)
{
    fail_at(p, p->at, st, what, (vug_str){ 0 });
}

/* ---- words ----------------------------------------------------------------------- */

/* NUL at the end, and where something failed. */
static char peek(const parser *p)
{
    if (p->st != VUG_OK || p->at >= p->text.len)
        return '\0';
    return p->text.ptr[p->at];
}

static bool skip(parser *p, const char *text)
{
    const bool is = p->st == VUG_OK && vug_str_starts(vug_str_from(p->text, p->at), text);
    p->at += is ? strlen(text) : 0;
    return is;
}

static void skip_space(parser *p, bool lines)
{
    for (;; p->at++) {
        const char c = peek(p);
        if (c == '#') {
            while (p->at < p->text.len && p->text.ptr[p->at] != '\n' && p->text.ptr[p->at] != '\r')
                p->at++;
            p->at--;
        } else if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r'))) {
            return;
        }
    }
}

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static uint32_t hex(parser *p, int digits)
{
    uint32_t value = 0;
    for (int i = 0; i < digits; i++) {
        const char c = peek(p);
        if (is_digit(c))
            value = value << 4 | (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value << 4 | (uint32_t)((c | 32) - 'a' + 10);
        else
            fail(p, VUG_ARGUMENT, "expected a hexadecimal digit");
        p->at++;
    }
    return value;
}

/* A character of a literal or a class. */
static uint32_t character(parser *p)
{
    const size_t start = p->at;
    uint32_t c = 0;
    if (skip(p, "\\x"))
        c = hex(p, 2);
    else if (skip(p, "\\u"))
        c = hex(p, 4);
    else if (skip(p, "\\U"))
        c = hex(p, 8);
    else if (skip(p, "\\t"))
        c = '\t';
    else if (skip(p, "\\r"))
        c = '\r';
    else if (skip(p, "\\n"))
        c = '\n';
    else if (skip(p, "\\\\"))
        c = '\\';
    else if (skip(p, "\\\""))
        c = '"';
    else if (skip(p, "\\["))
        c = '[';
    else if (skip(p, "\\]"))
        c = ']';
    else if (peek(p) == '\\')
        fail(p, VUG_ARGUMENT, "an escape that is none");
    else {
        const size_t n = vug_utf8_next(p->text.ptr + p->at, p->text.len - p->at, &c);
        if (n == 0)
            fail(p, VUG_ARGUMENT, "bytes that are no UTF-8");
        p->at += n;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        fail_at(p, start, VUG_ARGUMENT, "an escape of no character", (vug_str){ 0 });
    return c;
}

/* ---- terminals -------------------------------------------------------------------- */

static vug_node literal(parser *p)
{
    vug_buf text = { 0 };
    while (p->st == VUG_OK && !skip(p, "\"")) {
        if (p->at == p->text.len) {
            fail(p, VUG_ARGUMENT, "a literal without its end");
            break;
        }
        char utf8[4];
        vug_buf_append(&text, utf8, vug_utf8_put(character(p), utf8));
    }
    if (text.bad)
        fail(p, VUG_NOMEM, "out of memory for a literal");
    const vug_node node = vug_rules_literal(p->rules, (vug_str){ text.ptr, text.len });
    vug_buf_release(&text);
    return node;
}

static vug_node class_of(parser *p)
{
    vug_buf ranges = { .max = MAX_CLASS * sizeof(vug_char_range) };
    const bool negated = skip(p, "^");
    if (peek(p) == ']')
        fail(p, VUG_ARGUMENT, "an empty class");
    while (p->st == VUG_OK && !skip(p, "]")) {
        if (p->at == p->text.len) {
            fail(p, VUG_ARGUMENT, "a class without its ]");
            break;
        }
        vug_char_range range;
        range.from = range.to = character(p);
        if (peek(p) == '-' && p->at + 1 < p->text.len && p->text.ptr[p->at + 1] != ']') {
            p->at++;
            range.to = character(p);
        }
        if (range.to < range.from)
            fail(p, VUG_ARGUMENT, "a range whose ends are not in order");
        vug_buf_append(&ranges, &range, sizeof(range));
    }
    if (ranges.bad)
        fail(p, VUG_LIMIT, "a class of too many ranges");
    const vug_node node = vug_rules_class(p->rules, (const void *)ranges.ptr,
                                          ranges.len / sizeof(vug_char_range), negated);
    vug_buf_release(&ranges);
    return node;
}

/* ---- names -------------------------------------------------------------------------- */

static rule_name *name_at(parser *p, uint32_t i)
{
    return (rule_name *)(void *)p->names.ptr + i;
}

/* The rule of a name that stands here; NULL after a failure. Valid until the next one. */
static rule_name *rule_here(parser *p)
{
    const size_t start = p->at;
    while (in_name(peek(p)))
        p->at++;
    const vug_str name = { p->text.ptr + start, p->at - start };
    if (name.len == 0)
        fail(p, VUG_ARGUMENT, "expected the name of a rule");
    if (p->st != VUG_OK)
        return NULL;
    vug_probe probe = vug_probe_start(&p->index, vug_hash_bytes(name.ptr, name.len));
    while (vug_probe_next(&probe)) {
        if (vug_str_equal(name_at(p, probe.entry)->name, name))
            return name_at(p, probe.entry);
    }
    const uint32_t n = (uint32_t)(p->names.len / sizeof(rule_name));
    const rule_name rule = { name, vug_rules_declare(p->rules), start, false };
    vug_rules_name(p->rules, rule.node, name);
    vug_buf_append(&p->names, &rule, sizeof(rule));
    if (p->names.bad || !vug_probe_insert(&p->index, &probe, n))
        fail(p, VUG_LIMIT, "too many rules, or with names that collide");
    return p->st == VUG_OK ? name_at(p, n) : NULL;
}

/* ---- sequences ----------------------------------------------------------------------- */

static vug_node alternatives(parser *p, int depth);

static uint32_t number(parser *p)
{
    uint32_t value = 0;
    if (!is_digit(peek(p)))
        fail(p, VUG_ARGUMENT, "expected a number");
    for (; is_digit(peek(p)); p->at++) {
        if (value <= VUG_RULES_MAX_REPEAT)
            value = value * 10 + (uint32_t)(peek(p) - '0');
    }
    return value;
}

/* After the brace. */
static void bounds(parser *p, bool lines, uint32_t *min, uint32_t *max)
{
    skip_space(p, lines);
    *max = *min = number(p);
    skip_space(p, lines);
    if (skip(p, ",")) {
        skip_space(p, lines);
        *max = is_digit(peek(p)) ? number(p) : VUG_REPEAT_FOREVER;
        skip_space(p, lines);
    }
    if (!skip(p, "}"))
        fail(p, VUG_ARGUMENT, "expected }");
}

static bool quantifier(parser *p, bool lines, uint32_t *min, uint32_t *max)
{
    *min = 0;
    *max = VUG_REPEAT_FOREVER;
    if (skip(p, "*"))
        return true;
    if (skip(p, "?")) {
        *max = 1;
        return true;
    }
    if (skip(p, "+")) {
        *min = 1;
        return true;
    }
    if (!skip(p, "{"))
        return false;
    bounds(p, lines, min, max);
    return true;
}

/* False where the sequence ends. */
static bool symbol(parser *p, int depth, vug_node *node)
{
    if (skip(p, "\"")) {
        *node = literal(p);
    } else if (skip(p, "[")) {
        *node = class_of(p);
    } else if (skip(p, ".")) {
        *node = vug_rules_class(p->rules, NULL, 0, true);
    } else if (skip(p, "(")) {
        if (depth >= MAX_DEPTH)
            fail(p, VUG_LIMIT, "more than 100 parentheses in each other");
        skip_space(p, true);
        *node = p->st == VUG_OK ? alternatives(p, depth + 1) : VUG_NODE_EMPTY;
        if (!skip(p, ")"))
            fail(p, VUG_ARGUMENT, "expected )");
    } else if (in_name(peek(p))) {
        const rule_name *rule = rule_here(p);
        *node = rule ? rule->node : VUG_NODE_EMPTY;
    } else {
        if (peek(p) == '<' || peek(p) == '!')
            fail(p, VUG_UNSUPPORTED, "references to tokens are not supported");
        return false;
    }
    return p->st == VUG_OK;
}

static vug_node sequence(parser *p, int depth)
{
    vug_buf nodes = { 0 };
    vug_node node;
    uint32_t min, max;
    while (symbol(p, depth, &node)) {
        skip_space(p, depth > 0);
        while (quantifier(p, depth > 0, &min, &max)) {
            node = p->st == VUG_OK ? vug_rules_repeat(p->rules, node, min, max) : VUG_NODE_EMPTY;
            skip_space(p, depth > 0);
        }
        vug_buf_append(&nodes, &node, sizeof(node));
        if (p->st == VUG_OK)
            p->st = vug_rules_ok(p->rules, p->err);
    }
    if (strchr("*+?{", peek(p)) && peek(p))
        fail(p, VUG_ARGUMENT, "a quantifier with nothing before it");
    if (nodes.bad)
        fail(p, VUG_NOMEM, "out of memory for a sequence");
    node = vug_rules_sequence(p->rules, (const void *)nodes.ptr, nodes.len / sizeof(node));
    vug_buf_release(&nodes);
    return node;
}

static vug_node alternatives(parser *p, int depth)
{
    vug_buf nodes = { 0 };
    for (;;) {
        const vug_node node = sequence(p, depth);
        vug_buf_append(&nodes, &node, sizeof(node));
        if (!skip(p, "|"))
            break;
        skip_space(p, true);
    }
    if (nodes.bad)
        fail(p, VUG_NOMEM, "out of memory for alternatives");
    const vug_node node =
            vug_rules_choice(p->rules, (const void *)nodes.ptr, nodes.len / sizeof(node));
    vug_buf_release(&nodes);
    return node;
}

/* ---- rules ------------------------------------------------------------------------------ */

static void definition(parser *p)
{
    const size_t start = p->at;
    rule_name *rule = rule_here(p);
    skip_space(p, false);
    if (!skip(p, "::="))
        fail(p, VUG_ARGUMENT, "expected ::=");
    if (rule && rule->defined)
        fail_at(p, start, VUG_ARGUMENT, "a second definition of ", rule->name);
    if (p->st != VUG_OK || !rule)
        return;
    rule->defined = true;
    const vug_node node = rule->node;
    skip_space(p, true);
    const vug_node as = alternatives(p, 0);
    if (p->at < p->text.len && peek(p) != '\n' && peek(p) != '\r')
        fail(p, VUG_ARGUMENT, "expected a symbol, a quantifier, | or the end of the line");
    vug_rules_define(p->rules, node, as);
    skip_space(p, true);
}

static void parse(parser *p, vug_node *root)
{
    bool found = false;
    skip_space(p, true);
    while (p->st == VUG_OK && p->at < p->text.len)
        definition(p);
    for (uint32_t i = 0; p->st == VUG_OK && i < p->names.len / sizeof(rule_name); i++) {
        const rule_name *rule = name_at(p, i);
        if (!rule->defined)
            fail_at(p, rule->at, VUG_ARGUMENT, "no definition of ", rule->name);
        if (vug_str_is(rule->name, "root")) {
            found = true;
            *root = rule->node;
        }
    }
    if (p->st == VUG_OK && !found)
        fail(p, VUG_ARGUMENT, "no rule root, from which the text begins");
}

vug_status vug_rules_gbnf(vug_rules *rules, vug_str text, vug_node *root, vug_err *err)
{
    parser p = { .rules = rules, .text = text, .err = err };
    if (text.len > MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "GBNF of %zu bytes, at most %d are read", text.len,
                        MAX_BYTES);
    if (!vug_index_init(&p.index, text.len / 2 + 1))
        return VUG_FAIL_NOMEM(err, "the names of a grammar", text.len);
    parse(&p, root);
    vug_index_release(&p.index);
    vug_buf_release(&p.names);
    VUG_TRY(p.st);
    return vug_rules_ok(rules, err);
}
