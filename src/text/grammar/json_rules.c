#include "text/grammar/json_rules.h"

/*
 * JSON (RFC 8259) as a grammar: any values. Its strings are in json_strings.c.
 */

/* ---- short words ----------------------------------------------------------- */

vug_node vug_rules_text(vug_rules *rules, const char *text)
{
    return vug_rules_literal(rules, vug_str_of(text));
}

vug_node vug_rules_optional(vug_rules *rules, vug_node what)
{
    return vug_rules_repeat(rules, what, 0, 1);
}

vug_node vug_rules_nothing(vug_rules *rules)
{
    return vug_rules_choice(rules, NULL, 0);
}

vug_node vug_rules_digit(vug_rules *rules, unsigned from, unsigned to)
{
    return vug_rules_class(rules, &(vug_char_range){ '0' + from, '0' + to }, 1, false);
}

/* ---- values -------------------------------------------------------------------- */

vug_node vug_json_brackets(const vug_json_rules *json, char open, vug_node inside)
{
    vug_rules *r = json->rules;
    if (json->xml)
        return inside;
    return VUG_SEQUENCE(r, vug_rules_text(r, open == '{' ? "{" : "["), json->gap, inside, json->gap,
                        vug_rules_text(r, open == '{' ? "}" : "]"));
}

vug_node vug_json_empty(const vug_json_rules *json, char open)
{
    return json->xml ? VUG_NODE_EMPTY : vug_rules_text(json->rules, open == '{' ? "{}" : "[]");
}

/* A rule of its own, so that what uses it in many places holds it once. */
static vug_node shared(vug_rules *r, vug_node as)
{
    const vug_node rule = vug_rules_declare(r);
    vug_rules_define(r, rule, as);
    return rule;
}

static void init_spaces(vug_json_rules *json)
{
    vug_rules *r = json->rules;
    static const vug_char_range blank[] = { { ' ', ' ' }, { '\t', '\t' } };
    const vug_node indent =
            vug_rules_repeat(r, vug_rules_class(r, blank, 2, false), 0, VUG_JSON_MAX_INDENT);
    json->gap = shared(r, VUG_CHOICE(r, VUG_NODE_EMPTY, vug_rules_text(r, " "),
                                     VUG_SEQUENCE(r, vug_rules_text(r, "\n"), indent)));
    json->comma = VUG_SEQUENCE(r, vug_rules_text(r, ","), json->gap);
    json->colon =
            VUG_SEQUENCE(r, vug_rules_text(r, ":"), vug_rules_optional(r, vug_rules_text(r, " ")));
}

static void init_numbers(vug_json_rules *json)
{
    vug_rules *r = json->rules;
    static const vug_char_range e[] = { { 'E', 'E' }, { 'e', 'e' } };
    static const vug_char_range sign[] = { { '+', '+' }, { '-', '-' } };
    json->digit = vug_rules_digit(r, 0, 9);
    const vug_node zero = vug_rules_text(r, "0");
    const vug_node minus = vug_rules_optional(r, vug_rules_text(r, "-"));
    const vug_node positive =
            VUG_SEQUENCE(r, vug_rules_digit(r, 1, 9),
                         vug_rules_repeat(r, json->digit, 0, VUG_JSON_MAX_DIGITS - 1));
    json->integer = shared(r, VUG_CHOICE(r, zero, VUG_SEQUENCE(r, minus, positive)));
    const vug_node fraction = VUG_SEQUENCE(
            r, vug_rules_text(r, "."), vug_rules_repeat(r, json->digit, 1, VUG_JSON_MAX_DIGITS));
    const vug_node exponent =
            VUG_SEQUENCE(r, vug_rules_class(r, e, 2, false),
                         vug_rules_optional(r, vug_rules_class(r, sign, 2, false)),
                         vug_rules_repeat(r, json->digit, 1, VUG_JSON_MAX_EXPONENT));
    json->number = shared(r, VUG_SEQUENCE(r, minus, VUG_CHOICE(r, zero, positive),
                                          vug_rules_optional(r, fraction),
                                          vug_rules_optional(r, exponent)));
}

static void init_strings(vug_json_rules *json)
{
    vug_rules *r = json->rules;
    if (json->escapes)
        json->high = shared(r, vug_json_high(r));
    json->character = shared(r, vug_json_class_but(json, NULL, 0));
    const vug_node text = vug_rules_repeat(r, json->character, 0, VUG_REPEAT_FOREVER);
    json->string = shared(r, VUG_SEQUENCE(r, json->quote, text, json->quote));
    json->name = json->string;
    if (json->bare)
        json->name = vug_rules_repeat(r, vug_json_name_but(json, NULL, 0), 1, VUG_REPEAT_FOREVER);
}

/* `what` any number of times, with commas. */
static vug_node listed(const vug_json_rules *json, char open, vug_node what)
{
    vug_rules *r = json->rules;
    const vug_node more =
            vug_rules_repeat(r, VUG_SEQUENCE(r, json->comma, what), 0, VUG_REPEAT_FOREVER);
    return VUG_CHOICE(r, vug_json_empty(json, open),
                      vug_json_brackets(json, open, VUG_SEQUENCE(r, what, more)));
}

static void init_values(vug_json_rules *json)
{
    vug_rules *r = json->rules;
    json->null = vug_rules_text(r, "null");
    json->boolean = VUG_CHOICE(r, vug_rules_text(r, "true"), vug_rules_text(r, "false"));
    json->value = vug_rules_declare(r);
    json->object =
            shared(r, listed(json, '{', VUG_SEQUENCE(r, json->name, json->colon, json->value)));
    json->array = shared(r, listed(json, '[', json->value));
    vug_rules_define(r, json->value,
                     VUG_CHOICE(r, json->object, json->array, json->string, json->number,
                                json->boolean, json->null));
}

static void init_json(vug_json_rules *json)
{
    json->escapes = true;
    json->quote = vug_rules_text(json->rules, "\"");
    init_spaces(json);
    init_numbers(json);
    init_strings(json);
    init_values(json);
}

void vug_json_rules_init(vug_json_rules *json, vug_rules *rules)
{
    *json = (vug_json_rules){ .rules = rules };
    init_json(json);
}

void vug_json_rules_init_inside(vug_json_rules *json, vug_rules *rules)
{
    *json = (vug_json_rules){ .rules = rules, .no_tags = true };
    init_json(json);
}

void vug_json_rules_init_parameters(vug_json_rules *json, const vug_json_rules *inside)
{
    *json = *inside;
    json->escapes = false;
    json->bare = json->xml = true;
    json->quote = json->gap = json->comma = VUG_NODE_EMPTY;
    json->colon = vug_rules_text(json->rules, "\n");
    init_strings(json);
}

void vug_json_rules_init_gemma4(vug_json_rules *json, vug_rules *rules, vug_node quote)
{
    *json = (vug_json_rules){ .rules = rules,
                              .bare = true,
                              .quote = quote,
                              .gap = VUG_NODE_EMPTY,
                              .comma = vug_rules_text(rules, ","),
                              .colon = vug_rules_text(rules, ":") };
    init_numbers(json);
    init_strings(json);
    init_values(json);
}
