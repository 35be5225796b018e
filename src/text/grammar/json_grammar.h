#ifndef VUG_TEXT_GRAMMAR_JSON_GRAMMAR_H
#define VUG_TEXT_GRAMMAR_JSON_GRAMMAR_H

/*
 * How grammars write JSON. Whitespace, escapes and digits are decided here only, so that a
 * schema, any JSON and the arguments of a tool call agree.
 *
 *     {"a": [1, 2.5], "b": "x\u00e9"}
 *
 * After '{', '[' and ',' and before '}' and ']' (not inside of an empty {} or []) there is
 * nothing, one space, or a line break with up to VUG_JSON_MAX_INDENT spaces or tabs. After ':'
 * there is nothing or one space. There is no whitespace elsewhere. All of it is bounded, so
 * that a model cannot generate whitespace forever.
 */

#include "core/json.h"
#include "text/grammar/grammar_builder.h"

#define VUG_JSON_MAX_INDENT   40
#define VUG_JSON_MAX_DIGITS   20 /* before the decimal point, and after it */
#define VUG_JSON_MAX_EXPONENT 2  /* digits */

typedef struct {
    vug_grammar_builder *builder;
    bool escapes;           /* strings have escapes */
    bool bare_keys;         /* keys made of letters, digits, '_' and '-' have no quotes */
    bool no_angle_brackets; /* strings do not contain '<' */
    bool as_parameters;     /* members are parameters: vug_json_grammar_init_parameters */
    vug_grammar_expr quote; /* around a string */
    vug_grammar_expr gap;   /* the whitespace before a member and before the closing bracket */
    vug_grammar_expr colon; /* with the whitespace after it */
    vug_grammar_expr comma; /* with the whitespace after it */
    vug_grammar_expr digit;
    vug_grammar_expr escaped_non_ascii; /* any character from U+0080 on, escaped */
    vug_grammar_expr any_character;     /* of a string, in every encoding */
    vug_grammar_expr special_character; /* the same without plain ones; only with escapes */
    vug_grammar_expr key;               /* of a member */
    vug_grammar_expr string, number, integer, boolean, null;
    vug_grammar_expr object, array, value; /* any of them */
} vug_json_grammar;

/* ---- json_values.c ---------------------------------------------------------------------- */

void vug_json_grammar_init(vug_json_grammar *json, vug_grammar_builder *builder);
/* The arguments of Gemma 4's tool calls: no whitespace, keys without quotes, and strings
 * without escapes between quotes that are a special token. */
void vug_json_grammar_init_gemma4(vug_json_grammar *json, vug_grammar_builder *builder,
                                  vug_grammar_expr quote);
/* JSON inside of a parameter of Qwen3-Coder's tool calls, which a tag ends. */
void vug_json_grammar_init_in_parameter(vug_json_grammar *json, vug_grammar_builder *builder);
/* The parameters themselves. They are the members of one object, written as
 *
 *     <parameter=NAME>
 *     VALUE
 *     </parameter>
 *
 * with a line break after each, no brackets around them, and strings without quotes and
 * escapes. `in_parameter` is the JSON inside of a parameter. */
void vug_json_grammar_init_parameters(vug_json_grammar *json, const vug_json_grammar *in_parameter);

/* '{' or '[', a gap, the content, a gap, and the closing bracket. */
vug_grammar_expr vug_json_grammar_brackets(const vug_json_grammar *json, char open,
                                           vug_grammar_expr content);
/* An empty object or array. */
vug_grammar_expr vug_json_grammar_empty(const vug_json_grammar *json, char open);

/* ---- json_strings.c --------------------------------------------------------------------- */

/* One character of the ranges, which are sorted and disjoint, in every encoding that a string
 * allows: itself; '\' and a letter; and \uXXXX (a pair of them above U+FFFF) for control
 * characters and from U+0080 on. */
vug_grammar_expr vug_json_grammar_class(const vug_json_grammar *json, const vug_char_range *range,
                                        size_t n);
/* The same as a vug_grammar_class_fn; `json` is a vug_json_grammar. */
vug_grammar_expr vug_json_grammar_class_callback(vug_grammar_builder *builder,
                                                 const vug_char_range *range, size_t n, void *json);
/* One character outside of the ranges. */
vug_grammar_expr vug_json_grammar_class_except(const vug_json_grammar *json,
                                               const vug_char_range *range, size_t n);
#define VUG_JSON_PLAIN_END 0x80 /* plain characters are below */
/* Whether a character of a string can be written only as itself: most of ASCII. */
bool vug_json_grammar_is_plain(uint32_t c);
/* One plain character outside of the ranges. */
vug_grammar_expr vug_json_grammar_plain_except(const vug_json_grammar *json,
                                               const vug_char_range *range, size_t n);
/* A given string with its quotes, in one encoding: only what must be escaped is. */
vug_grammar_expr vug_json_grammar_string(const vug_json_grammar *json, vug_str text);
/* A given key, with quotes unless it can do without. */
vug_grammar_expr vug_json_grammar_key(const vug_json_grammar *json, vug_str text);
/* Whether a key without quotes may contain the character. */
bool vug_json_grammar_is_bare_key_char(uint32_t c);
/* One character of a key outside of the ranges: of a key without quotes if there are such. */
vug_grammar_expr vug_json_grammar_key_char_except(const vug_json_grammar *json,
                                                  const vug_char_range *range, size_t n);
/* Any character from U+0080 on, escaped. */
vug_grammar_expr vug_json_grammar_escaped_non_ascii(vug_grammar_builder *builder);

#endif
