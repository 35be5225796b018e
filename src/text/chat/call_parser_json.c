/* Calls that are JSON: {"name": .., "arguments": {..}}, or "parameters". */
#include "core/number.h"
#include "text/chat/call_parser.h"

/* ---- the scanner ----------------------------------------------------------------- */

enum { AT_MINUS, AT_ZERO, AT_INTEGER, AT_POINT, AT_FRACTION, AT_E, AT_SIGN, AT_EXPONENT };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool scan_end_value(vug_json_scan *s)
{
    s->state = s->depth ? VUG_SCAN_AFTER : VUG_SCAN_DONE;
    return true;
}

static bool enter_state(vug_json_scan *s, vug_scan_state state)
{
    s->state = state;
    return true;
}

static bool scan_open(vug_json_scan *s, bool array)
{
    if (s->depth == VUG_JSON_MAX_DEPTH)
        return false;
    const uint64_t bit = (uint64_t)1 << s->depth++;
    s->arrays = array ? s->arrays | bit : s->arrays & ~bit;
    return enter_state(s, array ? VUG_SCAN_FIRST_ELEMENT : VUG_SCAN_FIRST_KEY);
}

static bool scan_in_array(const vug_json_scan *s)
{
    return s->depth && (s->arrays >> (s->depth - 1) & 1) != 0;
}

static bool scan_close(vug_json_scan *s)
{
    s->depth--;
    return scan_end_value(s);
}

static bool begin_string(vug_json_scan *s, bool key)
{
    s->key = key;
    return enter_state(s, VUG_SCAN_STRING);
}

static bool scan_begin_value(vug_json_scan *s, char c)
{
    s->part = 0;
    switch (c) {
    case '"':
        return begin_string(s, false);
    case '{':
    case '[':
        return scan_open(s, c == '[');
    case 't':
    case 'f':
    case 'n':
        s->word = c;
        s->part = 1;
        return enter_state(s, VUG_SCAN_WORD);
    case '-':
        s->part = AT_MINUS;
        return enter_state(s, VUG_SCAN_NUMBER);
    default:
        s->part = c == '0' ? AT_ZERO : AT_INTEGER;
        return is_digit(c) && enter_state(s, VUG_SCAN_NUMBER);
    }
}

static bool string_step(vug_json_scan *s, char c)
{
    if (s->state == VUG_SCAN_HEX) {
        const bool hex = vug_hex_digit(c) >= 0;
        if (hex && ++s->part == 4)
            s->state = VUG_SCAN_STRING;
        return hex;
    }
    if (s->state == VUG_SCAN_ESCAPE) {
        s->part = 0;
        s->state = c == 'u' ? VUG_SCAN_HEX : VUG_SCAN_STRING;
        return c && strchr("\"\\/bfnrtu", c);
    }
    if (c == '\\')
        return enter_state(s, VUG_SCAN_ESCAPE);
    if (c != '"')
        return (unsigned char)c >= 0x20;
    return s->key ? enter_state(s, VUG_SCAN_COLON) : scan_end_value(s);
}

static bool word_step(vug_json_scan *s, char c)
{
    const char *word = s->word == 't' ? "true" : s->word == 'f' ? "false" : "null";
    if (c != word[s->part])
        return false;
    return word[++s->part] ? true : scan_end_value(s);
}

/* The part of a number that follows `part` with the byte `c`; -1: none. */
static int number_part(int part, char c)
{
    const bool digit = is_digit(c), e = c == 'e' || c == 'E';
    switch (part) {
    case AT_MINUS:
        return !digit ? -1 : c == '0' ? AT_ZERO : AT_INTEGER;
    case AT_ZERO:
    case AT_INTEGER:
        return c == '.' ? AT_POINT : e ? AT_E : digit && part == AT_INTEGER ? AT_INTEGER : -1;
    case AT_POINT:
    case AT_FRACTION:
        return digit ? AT_FRACTION : e && part == AT_FRACTION ? AT_E : -1;
    case AT_E:
        return c == '+' || c == '-' ? AT_SIGN : digit ? AT_EXPONENT : -1;
    default:
        return digit ? AT_EXPONENT : -1;
    }
}

static bool number_ends(int part)
{
    return part == AT_ZERO || part == AT_INTEGER || part == AT_FRACTION || part == AT_EXPONENT;
}

static bool after_step(vug_json_scan *s, char c)
{
    const bool array = scan_in_array(s);
    if (c == ',')
        return enter_state(s, array ? VUG_SCAN_VALUE : VUG_SCAN_KEY);
    return c == (array ? ']' : '}') && scan_close(s);
}

bool vug_json_scan_step(vug_json_scan *s, char c)
{
    if (s->state == VUG_SCAN_NUMBER) {
        const int part = number_part(s->part, c);
        if (part < 0 && !number_ends(s->part))
            return false;
        if (part >= 0) {
            s->part = part;
            return true;
        }
        (void)scan_end_value(s);
    }
    if (s->state >= VUG_SCAN_STRING && s->state <= VUG_SCAN_HEX)
        return string_step(s, c);
    if (s->state == VUG_SCAN_WORD)
        return word_step(s, c);
    if (vug_call_is_blank(c))
        return true;
    switch (s->state) {
    case VUG_SCAN_VALUE:
        return scan_begin_value(s, c);
    case VUG_SCAN_FIRST_ELEMENT:
        return c == ']' ? scan_close(s) : scan_begin_value(s, c);
    case VUG_SCAN_FIRST_KEY:
        return c == '}' ? scan_close(s) : c == '"' && begin_string(s, true);
    case VUG_SCAN_KEY:
        return c == '"' && begin_string(s, true);
    case VUG_SCAN_COLON:
        return c == ':' && enter_state(s, VUG_SCAN_VALUE);
    case VUG_SCAN_AFTER:
        return after_step(s, c);
    default:
        return false;
    }
}

/* ---- the call -------------------------------------------------------------------- */

enum { FIELD_OTHER, FIELD_NAME, FIELD_ARGUMENTS };

static int field_of(vug_str key)
{
    if (vug_str_is(key, "name"))
        return FIELD_NAME;
    return vug_str_is(key, "arguments") || vug_str_is(key, "parameters") ? FIELD_ARGUMENTS
                                                                         : FIELD_OTHER;
}

/* Decodes the JSON string in `word`. */
static bool decode_word(vug_call_parser *c, vug_arena *arena, vug_str *out)
{
    vug_json_reader j = vug_json_reader_over((vug_str){ c->word.ptr, c->word.len }, "", arena);
    *out = vug_json_string(&j);
    c->failed = c->failed || c->word.bad || j.st == VUG_NOMEM;
    return vug_json_finish(&j, NULL) == VUG_OK;
}

/* Arguments are an object. Some models write its text as a string, or null for no arguments. */
static bool end_arguments(vug_call_parser *c)
{
    vug_arena arena = { 0 };
    vug_str text = { 0 };
    bool good = true;
    if (c->word.len && c->word.ptr[0] == '"') {
        good = decode_word(c, &arena, &text);
        if (good)
            vug_call_parser_write(c, text.ptr, text.len);
    } else if (c->word.len) {
        good = c->word.ptr[0] == 'n';
        vug_call_parser_write(c, "{}", 2);
    }
    vug_arena_release(&arena);
    return good;
}

static bool end_name(vug_call_parser *c)
{
    vug_arena arena = { 0 };
    vug_str name = { 0 };
    const bool good = c->word.len && c->word.ptr[0] == '"' && decode_word(c, &arena, &name) &&
                      vug_call_parser_set_name(c, name);
    vug_arena_release(&arena);
    return good;
}

static bool end_field(vug_call_parser *c)
{
    c->in_value = false;
    if (c->field == FIELD_NAME)
        return end_name(c);
    return c->field != FIELD_ARGUMENTS || end_arguments(c);
}

static bool begin_field(vug_call_parser *c)
{
    c->in_value = true;
    c->word.len = 0;
    if (c->field == FIELD_NAME)
        return !c->named;
    if (c->field != FIELD_ARGUMENTS)
        return true;
    const bool again = c->has_args;
    c->has_args = true;
    return !again;
}

static void keep_byte(vug_call_parser *c, char byte)
{
    /* An object is passed on while it comes; anything else is judged at its end. */
    const bool object = c->field == FIELD_ARGUMENTS && !c->word.len && (c->args.len || byte == '{');
    if (object)
        vug_call_parser_write(c, &byte, 1);
    else if (c->field != FIELD_OTHER)
        vug_buf_append(&c->word, &byte, 1);
}

/* Collects a key in `word`, without its quotes. */
static void collect_key(vug_call_parser *c, vug_scan_state before, char byte)
{
    if (before == VUG_SCAN_FIRST_KEY || before == VUG_SCAN_KEY)
        c->word.len = 0;
    else if (c->scan.state != VUG_SCAN_COLON && c->word.len < 64)
        vug_buf_append(&c->word, &byte, 1);
    else if (c->scan.state == VUG_SCAN_COLON)
        c->field = field_of((vug_str){ c->word.ptr, c->word.len });
}

/* Whether no value of the outer object is open. */
static bool is_outside(const vug_json_scan *s)
{
    return s->depth == 0 ||
           (s->depth == 1 && (s->state == VUG_SCAN_AFTER || s->state == VUG_SCAN_KEY));
}

bool vug_call_parser_json_step(vug_call_parser *c, char byte)
{
    const vug_json_scan before = c->scan;
    if (before.state == VUG_SCAN_VALUE && before.depth == 0 && byte != '{')
        return vug_call_is_blank(byte);
    if (!vug_json_scan_step(&c->scan, byte))
        return false;
    const bool in_key = c->scan.depth == 1 && c->scan.key &&
                        ((c->scan.state >= VUG_SCAN_STRING && c->scan.state <= VUG_SCAN_HEX) ||
                         before.state == VUG_SCAN_STRING);
    if (in_key)
        collect_key(c, before.state, byte);
    if (before.depth == 1 && before.state == VUG_SCAN_VALUE && !vug_call_is_blank(byte) &&
        !begin_field(c))
        return false;
    const bool number_over = before.state == VUG_SCAN_NUMBER && c->scan.state != VUG_SCAN_NUMBER;
    if (c->in_value && !(number_over && before.depth == 1))
        keep_byte(c, byte);
    if (c->in_value && is_outside(&c->scan) && !end_field(c))
        return false;
    if (c->scan.state != VUG_SCAN_DONE)
        return true;
    if (!c->has_args)
        vug_call_parser_write(c, "{}", 2);
    c->complete = true;
    return c->named;
}

bool vug_call_parser_json_in_text(const vug_call_parser *c)
{
    return c->scan.state >= VUG_SCAN_STRING && c->scan.state <= VUG_SCAN_HEX;
}
