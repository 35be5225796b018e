#include "core/number.h"
#include "text/grammar/counted_ending.h"
#include "text/grammar/lookahead.h"
#include "text/grammar/regex_internal.h"

/*
 * Parses the regular subset that ECMA-262 and PCRE share. Everything else is refused by name.
 * Groups only group, and lazy quantifiers are like greedy ones, since all that counts here is
 * which texts match.
 */

/* Where alternatives are. */
typedef enum {
    WHOLE, /* they are the expression */
    FIRST, /* they begin where the expression does, so that ^ may stand before each */
    START, /* so do these, and the text begins there: ^ means nothing */
    INNER,
} regex_place;

static vug_grammar_expr parse_alternatives(vug_regex_parser *p, regex_place place);

/* ---- groups ------------------------------------------------------------------------ */

/* Unsupported prefixes after "(?". */
static const struct {
    const char *text, *why;
} unsupported_groups[] = {
    { "<=", "lookbehind is not supported" },      { "<!", "lookbehind is not supported" },
    { ">", "atomic groups are not supported" },   { "|", "branch resets are not supported" },
    { "#", "comments are not supported" },        { "(", "conditions are not supported" },
    { "P=", "backreferences are not supported" }, { "P>", "recursion is not supported" },
    { "R", "recursion is not supported" },        { "&", "recursion is not supported" },
};

/* Skips the name or ":" after "(?". */
static void skip_group_prefix(vug_regex_parser *p)
{
    const size_t start = p->at - 2;
    if (vug_regex_parser_skip(p, ":"))
        return;
    for (size_t i = 0; i < sizeof(unsupported_groups) / sizeof(*unsupported_groups); i++) {
        if (vug_regex_parser_looking_at(p, unsupported_groups[i].text))
            vug_regex_parser_fail(p, VUG_UNSUPPORTED, start, unsupported_groups[i].why);
    }
    if (!vug_regex_parser_skip(p, "<") && !vug_regex_parser_skip(p, "P<")) {
        vug_regex_parser_fail(p, VUG_UNSUPPORTED, start, "flags of groups are not supported");
        return;
    }
    while (p->at < p->text.len && p->text.ptr[p->at] != '>')
        p->at++;
    if (!vug_regex_parser_skip(p, ">"))
        vug_regex_parser_fail(p, VUG_ARGUMENT, start, "a group name without its >");
}

/* Matches the empty text if the rest of the text matches `rest`, or with `negated` does not. */
static vug_grammar_expr add_lookahead(vug_regex_parser *p, vug_grammar_expr rest, bool negated)
{
    p->has_lookahead = true;
    return p->options->keep_lookahead && p->st == VUG_OK
                   ? vug_grammar_lookahead(p->builder, rest, negated)
                   : VUG_EMPTY_EXPR;
}

/* A lookahead group, after its "(?=" or "(?!": the rest of the text must begin with it, or not. */
static vug_grammar_expr parse_lookahead(vug_regex_parser *p, regex_place place, bool negated)
{
    const vug_grammar_expr begins = parse_alternatives(p, place == START ? START : INNER);
    const vug_grammar_expr parts[2] = {
        begins, vug_grammar_repeat(p->builder, vug_regex_any_character(p), 0, VUG_REPEAT_UNBOUNDED)
    };
    return add_lookahead(p, vug_grammar_sequence(p->builder, parts, 2), negated);
}

/* After the opening parenthesis. */
static vug_grammar_expr parse_group(vug_regex_parser *p, regex_place place)
{
    const size_t start = p->at - 1;
    vug_grammar_expr expr;
    if (++p->depth > VUG_REGEX_MAX_GROUPS)
        vug_regex_parser_fail(p, VUG_LIMIT, start, "more than 100 nested groups");
    if (vug_regex_parser_looking_at(p, "*"))
        vug_regex_parser_fail(p, VUG_UNSUPPORTED, start, "verbs are not supported");
    const bool positive = vug_regex_parser_skip(p, "?=");
    if (positive || vug_regex_parser_skip(p, "?!")) {
        expr = parse_lookahead(p, place, !positive);
    } else {
        if (vug_regex_parser_skip(p, "?"))
            skip_group_prefix(p);
        expr = parse_alternatives(p, place);
    }
    if (p->st == VUG_OK && !vug_regex_parser_skip(p, ")"))
        vug_regex_parser_fail(p, VUG_ARGUMENT, start, "a group without its )");
    p->depth--;
    return expr;
}

/* ---- quantifiers -------------------------------------------------------------------- */

/* False if there are no digits. Numbers that are too large stay above every limit. */
static bool parse_number(vug_regex_parser *p, uint32_t *value)
{
    const size_t start = p->at;
    *value = 0;
    while (p->at < p->text.len && vug_is_digit(p->text.ptr[p->at])) {
        if (*value <= VUG_GRAMMAR_MAX_REPEAT)
            *value = *value * 10 + (uint32_t)(p->text.ptr[p->at] - '0');
        p->at++;
    }
    return p->at > start;
}

/* {n}, {n,} or {n,m}. Any other brace is an ordinary character. */
static bool parse_braces(vug_regex_parser *p, uint32_t *min, uint32_t *max)
{
    const size_t start = p->at;
    if (!vug_regex_parser_skip(p, "{"))
        return false;
    if (parse_number(p, min)) {
        *max = *min;
        if (vug_regex_parser_skip(p, ",") && !parse_number(p, max))
            *max = VUG_REPEAT_UNBOUNDED;
        if (vug_regex_parser_skip(p, "}"))
            return true;
    } else if (vug_regex_parser_skip(p, ",") && parse_number(p, max) &&
               vug_regex_parser_looking_at(p, "}")) {
        vug_regex_parser_fail(p, VUG_UNSUPPORTED, start, "{,n} is not supported; expected {0,n}");
    }
    p->at = start;
    return false;
}

static bool parse_quantifier(vug_regex_parser *p, uint32_t *min, uint32_t *max)
{
    *min = 0;
    *max = VUG_REPEAT_UNBOUNDED;
    if (vug_regex_parser_skip(p, "*"))
        return true;
    if (vug_regex_parser_skip(p, "+")) {
        *min = 1;
        return true;
    }
    if (vug_regex_parser_skip(p, "?")) {
        *max = 1;
        return true;
    }
    return parse_braces(p, min, max);
}

static vug_grammar_expr apply_quantifier(vug_regex_parser *p, vug_grammar_expr expr)
{
    const size_t start = p->at;
    uint32_t min, max, excess;
    if (p->st != VUG_OK || !parse_quantifier(p, &min, &max))
        return expr;
    if (vug_regex_parser_looking_at(p, "+"))
        vug_regex_parser_fail(p, VUG_UNSUPPORTED, start,
                              "possessive quantifiers are not supported");
    (void)vug_regex_parser_skip(p, "?");
    if (max < min)
        vug_regex_parser_fail(p, VUG_ARGUMENT, start,
                              "the bounds of a repetition are not in order");
    else if (min > VUG_GRAMMAR_MAX_REPEAT ||
             (max != VUG_REPEAT_UNBOUNDED && max > VUG_GRAMMAR_MAX_REPEAT))
        vug_regex_parser_fail(p, VUG_LIMIT, start, "a repetition of more than 1000000 times");
    if (parse_quantifier(p, &excess, &excess))
        vug_regex_parser_fail(p, VUG_ARGUMENT, start, "a quantifier after a quantifier");
    return p->st == VUG_OK ? vug_grammar_repeat(p->builder, expr, min, max) : VUG_EMPTY_EXPR;
}

/* ---- sequences ----------------------------------------------------------------------- */

static vug_grammar_expr parse_term(vug_regex_parser *p, regex_place place)
{
    const size_t start = p->at;
    uint32_t min, max;
    if (parse_quantifier(p, &min, &max)) {
        vug_regex_parser_fail(p, VUG_ARGUMENT, start, "a quantifier with nothing before it");
        return VUG_EMPTY_EXPR;
    }
    if (vug_regex_parser_looking_at(p, "^")) {
        vug_regex_parser_fail(
                p, VUG_UNSUPPORTED, start,
                "the anchor ^ is supported only at the beginning of the expression, of its "
                "alternatives and of a group or a lookahead there");
        return VUG_EMPTY_EXPR;
    }
    if (vug_regex_parser_skip(p, "$"))
        return apply_quantifier(p, add_lookahead(p, VUG_EMPTY_EXPR, false));
    return apply_quantifier(p, vug_regex_parser_skip(p, "(") ? parse_group(p, place)
                                                             : vug_regex_parse_character(p));
}

static void push_expr(vug_regex_parser *p, vug_buf *exprs, vug_grammar_expr expr)
{
    vug_buf_append(exprs, &expr, sizeof(expr));
    if (exprs->bad)
        vug_regex_parser_fail(p, VUG_NOMEM, p->at, "out of memory");
    if (p->st == VUG_OK)
        p->st = vug_grammar_builder_ok(p->builder, p->err);
}

static bool at_sequence_end(const vug_regex_parser *p)
{
    return p->st != VUG_OK || p->at == p->text.len || p->text.ptr[p->at] == '|' ||
           p->text.ptr[p->at] == ')';
}

/* Skips a dollar at the end of the expression or of an alternative. */
static bool skip_end_anchor(vug_regex_parser *p)
{
    const bool found = vug_regex_parser_looking_at(p, "$") &&
                       (p->at + 1 == p->text.len || p->text.ptr[p->at + 1] == '|');
    p->at += found;
    return found;
}

/* Appends the next part of a sequence, together with the one before it if they are one. */
static void push_term(vug_regex_parser *p, vug_buf *exprs, vug_grammar_expr term)
{
    vug_grammar_expr joined = VUG_EMPTY_EXPR;
    if (exprs->len > 0 && p->st == VUG_OK && !p->options->keep_lookahead) {
        const vug_grammar_expr *end = (const void *)(exprs->ptr + exprs->len);
        joined = vug_grammar_counted_ending(p->builder, end[-1], term);
    }
    if (joined != VUG_EMPTY_EXPR)
        exprs->len -= sizeof(term);
    push_expr(p, exprs, joined != VUG_EMPTY_EXPR ? joined : term);
}

static void push_anything(vug_regex_parser *p, vug_buf *exprs)
{
    push_expr(p, exprs,
              vug_grammar_repeat(p->builder, vug_regex_any_character(p), 0, VUG_REPEAT_UNBOUNDED));
}

static bool looking_at_lookahead(const vug_regex_parser *p)
{
    return vug_regex_parser_looking_at(p, "(?=") || vug_regex_parser_looking_at(p, "(?!");
}

/* Whether a group with a ^ begins here that no quantifier repeats. */
static bool looking_at_anchored_group(const vug_regex_parser *p)
{
    const vug_str text = p->text;
    bool in_class = false, anchored = false;
    size_t depth = 0, i = p->at;
    if (!vug_regex_parser_looking_at(p, "(") || looking_at_lookahead(p))
        return false;
    do {
        const char c = text.ptr[i];
        if (c == '\\')
            i++;
        else if (in_class)
            in_class = c != ']';
        else if (c == '[')
            in_class = true;
        else if (c == '^')
            anchored = true;
        else if (c == '(')
            depth++;
        else if (c == ')')
            depth--;
        i++;
    } while (i < text.len && depth > 0);
    return anchored && depth == 0 && (i >= text.len || !strchr("*+?{", text.ptr[i]));
}

/* What stands before the terms of a sequence. Returns whether the text begins where they do. */
static bool parse_beginning(vug_regex_parser *p, regex_place place, vug_buf *exprs)
{
    if (place == INNER || place == START || vug_regex_parser_skip(p, "^"))
        return place != INNER;
    if (looking_at_anchored_group(p) && vug_regex_parser_skip(p, "("))
        push_expr(p, exprs, parse_group(p, FIRST));
    else if (p->options->search)
        push_anything(p, exprs);
    return exprs->len == 0;
}

static vug_grammar_expr parse_sequence(vug_regex_parser *p, regex_place place)
{
    vug_buf exprs = { 0 };
    bool end = false, at_start = parse_beginning(p, place, &exprs);
    while (!end && !at_sequence_end(p)) {
        if (at_start && vug_regex_parser_skip(p, "^"))
            continue;
        at_start = at_start && looking_at_lookahead(p);
        end = place == WHOLE && skip_end_anchor(p);
        if (!end)
            push_term(p, &exprs, parse_term(p, at_start ? START : INNER));
    }
    if (place == WHOLE && !end && p->options->search)
        push_anything(p, &exprs);
    const vug_grammar_expr expr = vug_grammar_sequence(p->builder, (const void *)exprs.ptr,
                                                       exprs.len / sizeof(vug_grammar_expr));
    vug_buf_release(&exprs);
    return expr;
}

static vug_grammar_expr parse_alternatives(vug_regex_parser *p, regex_place place)
{
    vug_buf exprs = { 0 };
    do
        push_expr(p, &exprs, parse_sequence(p, place));
    while (vug_regex_parser_skip(p, "|"));
    const vug_grammar_expr expr = vug_grammar_choice(p->builder, (const void *)exprs.ptr,
                                                     exprs.len / sizeof(vug_grammar_expr));
    vug_buf_release(&exprs);
    return expr;
}

/* Parses the expression again, over plain characters, and then resolves its lookahead. */
static vug_status parse_without_lookahead( // NOLINT(misc-no-recursion)
        vug_grammar_builder *builder, vug_str text, const vug_regex_options *options,
        vug_grammar_expr *root, vug_err *err)
{
    const vug_regex_options source_options = { .search = options->search, .keep_lookahead = true };
    vug_grammar_builder *source = vug_grammar_builder_create();
    if (!source)
        return VUG_FAIL_NOMEM(err, "a regular expression", text.len);
    vug_status st = vug_grammar_parse_regex_with(source, text, &source_options, root, err);
    if (st == VUG_OK)
        *root = vug_grammar_resolve_lookahead(builder, source, *root, VUG_REPEAT_UNBOUNDED,
                                              options->make_class, options->user);
    vug_grammar_builder_destroy(source);
    return st == VUG_OK ? vug_grammar_builder_ok(builder, err) : st;
}

vug_status vug_grammar_parse_regex_with( // NOLINT(misc-no-recursion)
        vug_grammar_builder *builder, vug_str text, const vug_regex_options *options,
        vug_grammar_expr *root, vug_err *err)
{
    vug_regex_parser p = { .builder = builder, .options = options, .text = text, .err = err };
    const vug_grammar_expr expr = parse_alternatives(&p, WHOLE);
    if (p.st == VUG_OK && p.at < text.len)
        vug_regex_parser_fail(&p, VUG_ARGUMENT, p.at, "a ) without a group");
    VUG_TRY(p.st);
    VUG_TRY(vug_grammar_builder_ok(builder, err));
    *root = expr;
    return p.has_lookahead && !options->keep_lookahead
                   ? parse_without_lookahead(builder, text, options, root, err)
                   : VUG_OK;
}

vug_status vug_grammar_parse_regex(vug_grammar_builder *builder, vug_str text,
                                   vug_grammar_expr *root, vug_err *err)
{
    return vug_grammar_parse_regex_with(builder, text, &(vug_regex_options){ 0 }, root, err);
}
