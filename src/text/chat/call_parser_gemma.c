/*
 * Calls of Gemma 4: call:NAME{key:value,..}. A string stands between quote markers, which are
 * a token of their own, and may hold anything else. Keys are bare, or quoted like strings.
 * Sources: the vendor's page on prompt formatting, and the rules gemma4-* in llama.cpp's
 * common/chat.cpp.
 */
#include "core/json_writer.h"
#include "text/chat/call_parser.h"

enum {
    AT_CALL, /* "call:" */
    AT_NAME,
    AT_FIRST_KEY,
    AT_KEY,
    AT_BARE_KEY,
    AT_QUOTED_KEY,
    AT_COLON,
    AT_VALUE,
    AT_FIRST_ELEMENT,
    AT_BARE, /* a number, true, false, null */
    AT_STRING,
    AT_AFTER,
};

static const char call_word[] = "call:";
static const char quote[] = "<|\"|>";

/* The first bytes of numbers, true, false and null. */
static bool is_bare(int c)
{
    return (c >= '0' && c <= '9') || c == '-' || (c && strchr("tfnN", c));
}

static bool enter_state(vug_call_parser *c, int state)
{
    c->state = state;
    c->matched = 0;
    return true;
}

static vug_str trimmed_word(const vug_call_parser *c)
{
    vug_str s = { c->word.ptr, c->word.len };
    while (s.len && vug_call_is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static bool in_array(const vug_call_parser *c)
{
    return (c->nesting.arrays >> (c->nesting.depth - 1) & 1) != 0;
}

static bool open_container(vug_call_parser *c, bool array)
{
    if (c->nesting.depth == VUG_JSON_MAX_DEPTH)
        return false;
    const uint64_t bit = (uint64_t)1 << c->nesting.depth++;
    c->nesting.arrays = array ? c->nesting.arrays | bit : c->nesting.arrays & ~bit;
    c->nesting.has_member = false;
    vug_call_parser_write(c, array ? "[" : "{", 1);
    return enter_state(c, array ? AT_FIRST_ELEMENT : AT_FIRST_KEY);
}

static bool close_container(vug_call_parser *c)
{
    vug_call_parser_write(c, in_array(c) ? "]" : "}", 1);
    c->nesting.depth--;
    c->nesting.has_member = true;
    c->complete = c->nesting.depth == 0;
    return enter_state(c, AT_AFTER);
}

static void write_separator(vug_call_parser *c)
{
    if (c->nesting.has_member)
        vug_call_parser_write(c, ", ", 2);
    c->nesting.has_member = true;
}

static bool end_key(vug_call_parser *c)
{
    const vug_str key =
            c->state == AT_BARE_KEY ? trimmed_word(c) : (vug_str){ c->word.ptr, c->word.len };
    if (key.len == 0)
        return false;
    write_separator(c);
    vug_json_append_string(&c->args, key.ptr, key.len);
    vug_call_parser_write(c, ": ", 2);
    return true;
}

static bool end_bare(vug_call_parser *c)
{
    const vug_str word = trimmed_word(c);
    vug_json_scan scan = { 0 };
    if (vug_str_is(word, "None")) {
        vug_call_parser_write(c, "null", 4);
        return true;
    }
    for (size_t i = 0; i < word.len; i++) {
        if (!vug_json_scan_step(&scan, word.ptr[i]) || scan.depth)
            return false;
    }
    if (!vug_json_scan_step(&scan, ' ') || scan.state != VUG_SCAN_DONE)
        return false;
    vug_call_parser_write(c, word.ptr, word.len);
    return true;
}

static bool after_step(vug_call_parser *c, int b)
{
    const bool array = in_array(c);
    if (vug_call_is_blank(b))
        return true;
    if (b == ',')
        return enter_state(c, array ? AT_VALUE : AT_KEY);
    return b == (array ? ']' : '}') && close_container(c);
}

static bool key_step(vug_call_parser *c, int b)
{
    if (vug_call_is_blank(b))
        return true;
    c->word.len = 0;
    if (b == VUG_CALL_QUOTE)
        return enter_state(c, AT_QUOTED_KEY);
    if (b == '}')
        return c->state == AT_FIRST_KEY && close_container(c);
    if (strchr("{[]:,<", b))
        return false;
    vug_buf_append(&c->word, &(char){ (char)b }, 1);
    return enter_state(c, AT_BARE_KEY);
}

static bool value_step(vug_call_parser *c, int b)
{
    if (vug_call_is_blank(b))
        return true;
    if (c->state == AT_FIRST_ELEMENT && b == ']')
        return close_container(c);
    if (in_array(c))
        write_separator(c);
    if (b == VUG_CALL_QUOTE) {
        vug_call_parser_write(c, "\"", 1);
        return enter_state(c, AT_STRING);
    }
    if (b == '{' || b == '[')
        return open_container(c, b == '[');
    c->word.len = 0;
    vug_buf_append(&c->word, &(char){ (char)b }, 1);
    return is_bare(b) && enter_state(c, AT_BARE);
}

/* A byte of a name, a bare key or a bare value, or the byte that ends it. */
static bool word_step(vug_call_parser *c, int b)
{
    const bool name = c->state == AT_NAME, key = c->state == AT_BARE_KEY;
    if (name && b == '{')
        return vug_call_parser_set_name(c, trimmed_word(c)) && open_container(c, false);
    if (key && b == ':')
        return end_key(c) && enter_state(c, AT_VALUE);
    if (c->state == AT_BARE && strchr(",}]", b))
        return end_bare(c) && enter_state(c, AT_AFTER) && after_step(c, b);
    vug_buf_append(&c->word, &(char){ (char)b }, 1);
    /* Brackets and the like show that quotes are missing. */
    return c->word.len <= VUG_CALL_MAX_NAME && !strchr(name ? "}\n" : "{}[,\n", b);
}

static bool string_step(vug_call_parser *c, int b)
{
    const bool key = c->state == AT_QUOTED_KEY;
    if (b != VUG_CALL_QUOTE) {
        if (key)
            vug_buf_append(&c->word, &(char){ (char)b }, 1);
        else
            vug_call_parser_write_escaped(c, (char)b);
        return true;
    }
    if (key)
        return end_key(c) && enter_state(c, AT_COLON);
    vug_call_parser_write(c, "\"", 1);
    return enter_state(c, AT_AFTER);
}

static bool read_symbol(vug_call_parser *c, int b)
{
    switch (c->state) {
    case AT_CALL:
        if (b != call_word[c->matched])
            return false;
        return call_word[++c->matched] ? true : enter_state(c, AT_NAME);
    case AT_FIRST_KEY:
    case AT_KEY:
        return key_step(c, b);
    case AT_NAME:
    case AT_BARE_KEY:
    case AT_BARE:
        return b != VUG_CALL_QUOTE && b && word_step(c, b);
    case AT_COLON:
        return vug_call_is_blank(b) || (b == ':' && enter_state(c, AT_VALUE));
    case AT_VALUE:
    case AT_FIRST_ELEMENT:
        return value_step(c, b);
    case AT_QUOTED_KEY:
    case AT_STRING:
        return string_step(c, b);
    default:
        return after_step(c, b);
    }
}

/* Where no token is the quote marker, its letters are: `matched` of them are held back. */
bool vug_call_parser_gemma_step(vug_call_parser *c, int b)
{
    if (c->quote_by_id || b == VUG_CALL_QUOTE || c->state == AT_CALL)
        return read_symbol(c, b);
    if (b == quote[c->matched]) {
        if (quote[++c->matched])
            return true;
        c->matched = 0;
        return read_symbol(c, VUG_CALL_QUOTE);
    }
    const size_t held = c->matched;
    c->matched = 0;
    for (size_t i = 0; i < held; i++) {
        if (!read_symbol(c, quote[i]))
            return false;
    }
    if (b != quote[0])
        return read_symbol(c, b);
    c->matched = 1;
    return true;
}

bool vug_call_parser_gemma_in_text(const vug_call_parser *c)
{
    return c->state == AT_STRING || c->state == AT_QUOTED_KEY;
}
