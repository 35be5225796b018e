#ifndef VUG_TEXT_GRAMMAR_JSON_RULES_H
#define VUG_TEXT_GRAMMAR_JSON_RULES_H

/*
 * How JSON is written where a grammar writes it: one place for spaces, escapes and
 * digits, so that a schema, any JSON and the arguments of a tool call agree.
 *
 *     {"a": [1, 2.5], "b": "x\u00e9"}
 *
 * After '{', '[' and ',' and before '}' and ']' (not inside of an empty {} or []) there
 * is nothing, one space, or a line break with up to VUG_JSON_MAX_INDENT spaces or tabs;
 * after ':' nothing or one space; nowhere else is there any. All is bounded, so that a
 * model cannot walk in circles there.
 */

#include "core/json.h"
#include "text/grammar/rules.h"

#define VUG_JSON_MAX_INDENT   40
#define VUG_JSON_MAX_DIGITS   20 /* before the point, and behind it */
#define VUG_JSON_MAX_EXPONENT 2  /* digits */

typedef struct {
    vug_rules *rules;
    bool escapes;   /* strings have them */
    bool bare;      /* names of letters stand without quotes */
    bool no_tags;   /* strings are without '<' */
    bool xml;       /* members are parameters, as below */
    vug_node quote; /* around a string */
    vug_node gap;   /* the space before a member and before the end */
    vug_node colon; /* with the space after it */
    vug_node comma; /* likewise */
    vug_node digit;
    vug_node high;      /* any character from U+0080 on, as an escape */
    vug_node character; /* any, in each of its spellings */
    vug_node name;      /* of a member */
    vug_node string, number, integer, boolean, null;
    vug_node object, array, value; /* any */
} vug_json_rules;

void vug_json_rules_init(vug_json_rules *json, vug_rules *rules);
/* As Gemma 4 writes the arguments of tool calls: without spaces, names without quotes, and
 * strings without escapes between quotes that are a token of their own. */
void vug_json_rules_init_gemma4(vug_json_rules *json, vug_rules *rules, vug_node quote);
/* JSON inside of a parameter of Qwen3-Coder's calls, whose end is a tag. */
void vug_json_rules_init_inside(vug_json_rules *json, vug_rules *rules);
/* The parameters themselves: the members of one object, as
 *
 *     <parameter=NAME>
 *     VALUE
 *     </parameter>
 *
 * each with a line end, nothing around them, and strings as they are. */
void vug_json_rules_init_parameters(vug_json_rules *json, const vug_json_rules *inside);

/* One character of the ranges, which ascend and are apart, as a string may spell it: as
 * itself; as '\' and a letter; control characters, and those from U+0080 on, also as
 * \uXXXX, in pairs where they need two. */
vug_node vug_json_class(const vug_json_rules *json, const vug_char_range *range, size_t n);
/* The same for a regular expression (vug_regex_use); `json` are the vug_json_rules. */
vug_node vug_json_character(vug_rules *rules, const vug_char_range *range, size_t n, void *json);
/* Any other character. */
vug_node vug_json_class_but(const vug_json_rules *json, const vug_char_range *range, size_t n);
/* A given string with its quotes, in one spelling: with escapes where they must be. */
vug_node vug_json_literal(const vug_json_rules *json, vug_str text);
/* The name of a member, with quotes where they must be. */
vug_node vug_json_name(const vug_json_rules *json, vug_str text);
/* Whether a name may have the character where names stand without quotes. */
bool vug_json_is_bare(uint32_t c);
/* Any other character of a name that stands without quotes, or of a string. */
vug_node vug_json_name_but(const vug_json_rules *json, const vug_char_range *range, size_t n);
/* Any character from U+0080 on, as an escape. */
vug_node vug_json_high(vug_rules *rules);
/* '{' or '[', then `inside` with a gap on both sides, then the bracket's end. */
vug_node vug_json_brackets(const vug_json_rules *json, char open, vug_node inside);
/* The same without anything inside. */
vug_node vug_json_empty(const vug_json_rules *json, char open);

/* An object that satisfies the schema, whose tree must last until then: the arguments of a
 * call. */
VUG_MUST_CHECK vug_status vug_rules_object(const vug_json_rules *json, const vug_jv *schema,
                                           vug_node *root, vug_err *err);
/* The same as parameters. */
VUG_MUST_CHECK vug_status vug_rules_parameters(const vug_json_rules *inside, const vug_jv *schema,
                                               vug_node *root, vug_err *err);

/* ---- short words for the builder ---------------------------------------- */

#define VUG_SEQUENCE(rules, ...)                             \
    vug_rules_sequence((rules), (vug_node[]){ __VA_ARGS__ }, \
                       sizeof((vug_node[]){ __VA_ARGS__ }) / sizeof(vug_node))
#define VUG_CHOICE(rules, ...)                             \
    vug_rules_choice((rules), (vug_node[]){ __VA_ARGS__ }, \
                     sizeof((vug_node[]){ __VA_ARGS__ }) / sizeof(vug_node))

vug_node vug_rules_text(vug_rules *rules, const char *text);
vug_node vug_rules_optional(vug_rules *rules, vug_node what);
vug_node vug_rules_nothing(vug_rules *rules);
/* One of the digits `from` to `to`, 0 to 9. */
vug_node vug_rules_digit(vug_rules *rules, unsigned from, unsigned to);

#endif
