#include "text/grammar/json_grammar.h"

/* Any JSON value (RFC 8259) as a grammar. */

/* ---- values -------------------------------------------------------------------- */

vug_grammar_expr vug_json_grammar_brackets(const vug_json_grammar *json, char open,
                                           vug_grammar_expr content)
{
    vug_grammar_builder *b = json->builder;
    if (json->as_parameters)
        return content;
    return VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, open == '{' ? "{" : "["), json->gap, content,
                                json->gap, vug_grammar_text(b, open == '{' ? "}" : "]"));
}

vug_grammar_expr vug_json_grammar_empty(const vug_json_grammar *json, char open)
{
    return json->as_parameters ? VUG_EMPTY_EXPR
                               : vug_grammar_text(json->builder, open == '{' ? "{}" : "[]");
}

/* A rule, so that an expression with many uses is not copied. */
static vug_grammar_expr make_rule(vug_grammar_builder *b, vug_grammar_expr as)
{
    const vug_grammar_expr rule = vug_grammar_declare_rule(b);
    vug_grammar_define_rule(b, rule, as);
    return rule;
}

static void init_whitespace(vug_json_grammar *json)
{
    vug_grammar_builder *b = json->builder;
    static const vug_char_range blank[] = { { ' ', ' ' }, { '\t', '\t' } };
    const vug_grammar_expr indent =
            vug_grammar_repeat(b, vug_grammar_class(b, blank, 2, false), 0, VUG_JSON_MAX_INDENT);
    json->gap = make_rule(
            b, VUG_GRAMMAR_CHOICE(b, VUG_EMPTY_EXPR, vug_grammar_text(b, " "),
                                  VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "\n"), indent)));
    json->comma = VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, ","), json->gap);
    json->colon = VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, ":"),
                                       vug_grammar_optional(b, vug_grammar_text(b, " ")));
}

static void init_numbers(vug_json_grammar *json)
{
    vug_grammar_builder *b = json->builder;
    static const vug_char_range exponent_letter[] = { { 'E', 'E' }, { 'e', 'e' } };
    static const vug_char_range sign[] = { { '+', '+' }, { '-', '-' } };
    json->digit = vug_grammar_digit(b, 0, 9);
    const vug_grammar_expr zero = vug_grammar_text(b, "0");
    const vug_grammar_expr minus = vug_grammar_optional(b, vug_grammar_text(b, "-"));
    const vug_grammar_expr positive =
            VUG_GRAMMAR_SEQUENCE(b, vug_grammar_digit(b, 1, 9),
                                 vug_grammar_repeat(b, json->digit, 0, VUG_JSON_MAX_DIGITS - 1));
    json->integer =
            make_rule(b, VUG_GRAMMAR_CHOICE(b, zero, VUG_GRAMMAR_SEQUENCE(b, minus, positive)));
    const vug_grammar_expr fraction =
            VUG_GRAMMAR_SEQUENCE(b, vug_grammar_text(b, "."),
                                 vug_grammar_repeat(b, json->digit, 1, VUG_JSON_MAX_DIGITS));
    const vug_grammar_expr exponent =
            VUG_GRAMMAR_SEQUENCE(b, vug_grammar_class(b, exponent_letter, 2, false),
                                 vug_grammar_optional(b, vug_grammar_class(b, sign, 2, false)),
                                 vug_grammar_repeat(b, json->digit, 1, VUG_JSON_MAX_EXPONENT));
    json->number =
            make_rule(b, VUG_GRAMMAR_SEQUENCE(b, minus, VUG_GRAMMAR_CHOICE(b, zero, positive),
                                              vug_grammar_optional(b, fraction),
                                              vug_grammar_optional(b, exponent)));
}

static void init_strings(vug_json_grammar *json)
{
    vug_grammar_builder *b = json->builder;
    static const vug_char_range plain[] = {
        { ' ', '!' }, { '#', '.' }, { '0', '[' }, { ']', 0x7f }
    };
    if (json->escapes) {
        json->escaped_non_ascii = make_rule(b, vug_json_grammar_escaped_non_ascii(b));
        json->special_character = vug_json_grammar_class_except(json, plain, 4);
    }
    json->any_character = make_rule(b, vug_json_grammar_class_except(json, NULL, 0));
    const vug_grammar_expr text =
            vug_grammar_repeat(b, json->any_character, 0, VUG_REPEAT_UNBOUNDED);
    json->string = make_rule(b, VUG_GRAMMAR_SEQUENCE(b, json->quote, text, json->quote));
    json->key = json->string;
    if (json->bare_keys)
        json->key = vug_grammar_repeat(b, vug_json_grammar_key_char_except(json, NULL, 0), 1,
                                       VUG_REPEAT_UNBOUNDED);
}

/* Any number of `expr`, separated by commas, in brackets. */
static vug_grammar_expr comma_separated(const vug_json_grammar *json, char open,
                                        vug_grammar_expr expr)
{
    vug_grammar_builder *b = json->builder;
    const vug_grammar_expr rest = vug_grammar_repeat(b, VUG_GRAMMAR_SEQUENCE(b, json->comma, expr),
                                                     0, VUG_REPEAT_UNBOUNDED);
    return VUG_GRAMMAR_CHOICE(
            b, vug_json_grammar_empty(json, open),
            vug_json_grammar_brackets(json, open, VUG_GRAMMAR_SEQUENCE(b, expr, rest)));
}

static void init_values(vug_json_grammar *json)
{
    vug_grammar_builder *b = json->builder;
    json->null = vug_grammar_text(b, "null");
    json->boolean =
            VUG_GRAMMAR_CHOICE(b, vug_grammar_text(b, "true"), vug_grammar_text(b, "false"));
    json->value = vug_grammar_declare_rule(b);
    json->object = make_rule(
            b, comma_separated(json, '{',
                               VUG_GRAMMAR_SEQUENCE(b, json->key, json->colon, json->value)));
    json->array = make_rule(b, comma_separated(json, '[', json->value));
    vug_grammar_define_rule(b, json->value,
                            VUG_GRAMMAR_CHOICE(b, json->object, json->array, json->string,
                                               json->number, json->boolean, json->null));
}

static void init_standard(vug_json_grammar *json)
{
    json->escapes = true;
    json->quote = vug_grammar_text(json->builder, "\"");
    init_whitespace(json);
    init_numbers(json);
    init_strings(json);
    init_values(json);
}

void vug_json_grammar_init(vug_json_grammar *json, vug_grammar_builder *builder)
{
    *json = (vug_json_grammar){ .builder = builder };
    init_standard(json);
}

void vug_json_grammar_init_in_parameter(vug_json_grammar *json, vug_grammar_builder *builder)
{
    *json = (vug_json_grammar){ .builder = builder, .no_angle_brackets = true };
    init_standard(json);
}

void vug_json_grammar_init_parameters(vug_json_grammar *json, const vug_json_grammar *in_parameter)
{
    *json = *in_parameter;
    json->escapes = false;
    json->bare_keys = json->as_parameters = true;
    json->quote = json->gap = json->comma = VUG_EMPTY_EXPR;
    json->colon = vug_grammar_text(json->builder, "\n");
    init_strings(json);
}

void vug_json_grammar_init_gemma4(vug_json_grammar *json, vug_grammar_builder *builder,
                                  vug_grammar_expr quote)
{
    *json = (vug_json_grammar){ .builder = builder,
                                .bare_keys = true,
                                .quote = quote,
                                .gap = VUG_EMPTY_EXPR,
                                .comma = vug_grammar_text(builder, ","),
                                .colon = vug_grammar_text(builder, ":") };
    init_numbers(json);
    init_strings(json);
    init_values(json);
}
