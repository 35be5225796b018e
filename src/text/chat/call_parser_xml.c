/*
 * Calls of Qwen3-Coder and Qwen3.5: <function=NAME>, then for each argument <parameter=KEY>, a
 * line end, the value as it is, a line end and </parameter>, then </function>. The tool's
 * schema gives the type of a value; without a schema it is a string.
 */
#include "core/json_writer.h"
#include "text/chat/call_parser.h"

enum {
    AT_FUNCTION, /* <function= */
    AT_NAME,
    AT_BODY, /* <parameter= or </function> */
    AT_KEY,
    AT_VALUE,
};

static const char function_open[] = "<function=";
static const char function_close[] = "</function>";
static const char parameter_open[] = "<parameter=";
static const char parameter_close[] = "</parameter>";

static bool enter_state(vug_call_parser *c, int state)
{
    c->state = state;
    c->matched = 0;
    c->word.len = 0;
    return true;
}

/* ---- types ------------------------------------------------------------------------ */

enum { STRING = 1, BOOLEAN = 2, NOTHING = 4, OTHER = 8 };

static unsigned type_of(vug_str name)
{
    return vug_str_is(name, "string")    ? STRING
           : vug_str_is(name, "boolean") ? BOOLEAN
           : vug_str_is(name, "null")    ? NOTHING
                                         : OTHER;
}

static unsigned types_of(const vug_jv *schema, int depth);

static unsigned types_in(const vug_jv *list, int depth)
{
    unsigned types = 0;
    for (const vug_jv *v = vug_jv_is(list, VUG_JSON_ARRAY) ? list->child : NULL; v; v = v->next)
        types |= v->type == VUG_JSON_STRING ? type_of(v->str) : types_of(v, depth - 1);
    return types;
}

/* The types that a schema allows; 0: it does not say. */
static unsigned types_of(const vug_jv *schema, int depth)
{
    const vug_jv *type = vug_jv_get(schema, "type");
    if (depth == 0)
        return 0;
    if (vug_jv_is(type, VUG_JSON_STRING))
        return type_of(type->str);
    return types_in(type, depth) | types_in(vug_jv_get(schema, "anyOf"), depth) |
           types_in(vug_jv_get(schema, "oneOf"), depth);
}

/* ---- values ------------------------------------------------------------------------ */

static bool is_word(vug_str s, const char *word)
{
    const size_t n = strlen(word);
    for (size_t i = 0; i < n && i < s.len; i++) {
        if ((s.ptr[i] | 0x20) != word[i])
            return false;
    }
    return s.len == n;
}

static vug_str trimmed(const vug_buf *word)
{
    vug_str s = { word->ptr, word->len };
    while (s.len && vug_call_is_blank(s.ptr[s.len - 1]))
        s.len--;
    while (s.len && vug_call_is_blank(s.ptr[0]))
        s = vug_str_from(s, 1);
    return s;
}

static bool is_json(vug_call_parser *c, vug_str s)
{
    vug_arena arena = { 0 };
    const vug_jv *v = NULL;
    const vug_status st = vug_json_tree(s, "", &arena, &v, NULL);
    c->failed = c->failed || st == VUG_NOMEM;
    vug_arena_release(&arena);
    return st == VUG_OK;
}

/* Writes a complete value that need not be a string: JSON, or a word in Python's spelling. */
static void write_value(vug_call_parser *c)
{
    const vug_str s = trimmed(&c->word);
    const unsigned types = (unsigned)c->field;
    if ((types & BOOLEAN) && (is_word(s, "true") || is_word(s, "false")))
        vug_buf_puts(&c->args, s.len == 4 ? "true" : "false");
    else if ((types & NOTHING) && (is_word(s, "null") || is_word(s, "none")))
        vug_buf_puts(&c->args, "null");
    else if (!(types & STRING) && is_json(c, s))
        vug_call_parser_write(c, s.ptr, s.len);
    else
        vug_json_append_string(&c->args, c->word.ptr ? c->word.ptr : "", c->word.len);
}

static void value_byte(vug_call_parser *c, char b)
{
    if (c->is_string)
        vug_call_parser_write_escaped(c, b);
    else
        vug_buf_append(&c->word, &b, 1);
}

static bool begin_parameter(vug_call_parser *c)
{
    char name[VUG_CALL_MAX_NAME + 1];
    const size_t n = c->word.len;
    if (n == 0 || n > VUG_CALL_MAX_NAME)
        return false;
    memcpy(name, c->word.ptr, n);
    name[n] = '\0';
    const vug_jv *schema = strlen(name) == n ? vug_jv_get(c->properties, name) : NULL;
    const unsigned types = types_of(schema, 4);
    c->field = (int)types;
    c->is_string = types == 0 || types == STRING;
    c->first = true;
    c->newline = false;
    vug_call_parser_write(c, ", ", c->nesting.has_member ? 2 : 0);
    c->nesting.has_member = true;
    vug_json_append_string(&c->args, name, n);
    vug_call_parser_write(c, ": \"", c->is_string ? 3 : 2);
    return enter_state(c, AT_VALUE);
}

/* The line ends next to the tags do not belong to the value. */
static bool parameter_step(vug_call_parser *c, char b)
{
    if (b == parameter_close[c->matched]) {
        if (parameter_close[++c->matched])
            return true;
        if (c->is_string)
            vug_call_parser_write(c, "\"", 1);
        else
            write_value(c);
        return enter_state(c, AT_BODY);
    }
    if (c->matched) {
        if (c->newline)
            value_byte(c, '\n');
        for (size_t i = 0; i < c->matched; i++)
            value_byte(c, parameter_close[i]);
        c->newline = c->first = false;
        c->matched = 0;
        return parameter_step(c, b);
    }
    if (c->newline)
        value_byte(c, '\n');
    c->newline = b == '\n' && !c->first;
    if (b != '\n')
        value_byte(c, b);
    c->first = false;
    return true;
}

/* ---- tags ---------------------------------------------------------------------------- */

static bool name_step(vug_call_parser *c, char b)
{
    const bool key = c->state == AT_KEY;
    if (b != '>') {
        vug_buf_append(&c->word, &b, 1);
        return b != '\n' && b != '<' && c->word.len <= VUG_CALL_MAX_NAME;
    }
    const vug_str name = { c->word.ptr, c->word.len };
    if (key)
        return begin_parameter(c);
    if (!vug_call_parser_set_name(c, name))
        return false;
    c->properties =
            vug_jv_get(vug_jv_get(vug_find_tool(c->tools, name), "parameters"), "properties");
    vug_call_parser_write(c, "{", 1);
    return enter_state(c, AT_BODY);
}

static bool body_step(vug_call_parser *c, char b)
{
    if (c->matched == 0 && vug_call_is_blank(b))
        return true;
    /* The two tags differ in their second byte, which `field` keeps. */
    if (c->matched == 1)
        c->field = (unsigned char)b;
    const bool parameter = c->matched && c->field == parameter_open[1];
    const char *tag = parameter ? parameter_open : function_close;
    if (b != tag[c->matched])
        return false;
    if (tag[++c->matched])
        return true;
    if (parameter)
        return enter_state(c, AT_KEY);
    vug_call_parser_write(c, "}", 1);
    c->complete = true;
    return true;
}

bool vug_call_parser_xml_step(vug_call_parser *c, char b)
{
    switch (c->state) {
    case AT_FUNCTION:
        if (b != function_open[c->matched])
            return false;
        return function_open[++c->matched] ? true : enter_state(c, AT_NAME);
    case AT_NAME:
    case AT_KEY:
        return name_step(c, b);
    case AT_BODY:
        return body_step(c, b);
    default:
        return parameter_step(c, b);
    }
}

bool vug_call_parser_xml_in_text(const vug_call_parser *c)
{
    return c->state == AT_VALUE;
}
