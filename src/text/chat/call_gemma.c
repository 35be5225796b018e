/*
 * Calls as Gemma 4 writes them: call:NAME{key:value,..}. Strings stand between quote
 * marks, which are a token of their own, and hold anything but it; keys are bare, or
 * quoted as strings are. The facts: the vendor's prompt formatting page, and the rules
 * gemma4-* in llama.cpp's common/chat.cpp.
 */
#include "text/chat/call.h"

enum {
    AT_CALL, /* the word in front */
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

static bool is_blank(int c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* What a number, true, false or null may begin with. */
static bool is_bare(int c)
{
    return (c >= '0' && c <= '9') || c == '-' || (c && strchr("tfnN", c));
}

static bool go(vug_call *c, int state)
{
    c->state = state;
    c->matched = 0;
    return true;
}

static vug_str word_of(const vug_call *c)
{
    vug_str s = { c->word.ptr, c->word.len };
    while (s.len && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

static bool in_array(const vug_call *c)
{
    return (c->nest.arrays >> (c->nest.depth - 1) & 1) != 0;
}

static bool open_container(vug_call *c, bool array)
{
    if (c->nest.depth == VUG_JSON_MAX_DEPTH)
        return false;
    const uint64_t bit = (uint64_t)1 << c->nest.depth++;
    c->nest.arrays = array ? c->nest.arrays | bit : c->nest.arrays & ~bit;
    c->nest.more = false;
    vug_call_put(c, array ? "[" : "{", 1);
    return go(c, array ? AT_FIRST_ELEMENT : AT_FIRST_KEY);
}

static bool close_container(vug_call *c)
{
    vug_call_put(c, in_array(c) ? "]" : "}", 1);
    c->nest.depth--;
    c->nest.more = true;
    c->complete = c->nest.depth == 0;
    return go(c, AT_AFTER);
}

static void separate(vug_call *c)
{
    if (c->nest.more)
        vug_call_put(c, ", ", 2);
    c->nest.more = true;
}

static bool end_key(vug_call *c)
{
    const vug_str key =
            c->state == AT_BARE_KEY ? word_of(c) : (vug_str){ c->word.ptr, c->word.len };
    if (key.len == 0)
        return false;
    separate(c);
    vug_json_write_string(&c->args, key.ptr, key.len);
    vug_call_put(c, ": ", 2);
    return true;
}

static bool end_bare(vug_call *c)
{
    const vug_str word = word_of(c);
    vug_json_scan scan = { 0 };
    if (vug_str_is(word, "None")) {
        vug_call_put(c, "null", 4);
        return true;
    }
    for (size_t i = 0; i < word.len; i++) {
        if (!vug_json_scan_step(&scan, word.ptr[i]) || scan.depth)
            return false;
    }
    if (!vug_json_scan_step(&scan, ' ') || scan.state != VUG_SCAN_DONE)
        return false;
    vug_call_put(c, word.ptr, word.len);
    return true;
}

static bool after_step(vug_call *c, int b)
{
    const bool array = in_array(c);
    if (is_blank(b))
        return true;
    if (b == ',')
        return go(c, array ? AT_VALUE : AT_KEY);
    return b == (array ? ']' : '}') && close_container(c);
}

static bool key_step(vug_call *c, int b)
{
    if (is_blank(b))
        return true;
    c->word.len = 0;
    if (b == VUG_CALL_QUOTE)
        return go(c, AT_QUOTED_KEY);
    if (b == '}')
        return c->state == AT_FIRST_KEY && close_container(c);
    if (strchr("{[]:,<", b))
        return false;
    vug_buf_append(&c->word, &(char){ (char)b }, 1);
    return go(c, AT_BARE_KEY);
}

static bool value_step(vug_call *c, int b)
{
    if (is_blank(b))
        return true;
    if (c->state == AT_FIRST_ELEMENT && b == ']')
        return close_container(c);
    if (in_array(c))
        separate(c);
    if (b == VUG_CALL_QUOTE) {
        vug_call_put(c, "\"", 1);
        return go(c, AT_STRING);
    }
    if (b == '{' || b == '[')
        return open_container(c, b == '[');
    c->word.len = 0;
    vug_buf_append(&c->word, &(char){ (char)b }, 1);
    return is_bare(b) && go(c, AT_BARE);
}

/* What is gathered until a byte that ends it. */
static bool word_step(vug_call *c, int b)
{
    const bool name = c->state == AT_NAME, key = c->state == AT_BARE_KEY;
    if (name && b == '{')
        return vug_call_name(c, word_of(c)) && open_container(c, false);
    if (key && b == ':')
        return end_key(c) && go(c, AT_VALUE);
    if (c->state == AT_BARE && strchr(",}]", b))
        return end_bare(c) && go(c, AT_AFTER) && after_step(c, b);
    vug_buf_append(&c->word, &(char){ (char)b }, 1);
    /* `{` and the others belong to what has been forgotten to be quoted. */
    return c->word.len <= VUG_CALL_MAX_NAME && !strchr(name ? "}\n" : "{}[,\n", b);
}

static bool string_step(vug_call *c, int b)
{
    const bool key = c->state == AT_QUOTED_KEY;
    if (b != VUG_CALL_QUOTE) {
        if (key)
            vug_buf_append(&c->word, &(char){ (char)b }, 1);
        else
            vug_call_put_escaped(c, (char)b);
        return true;
    }
    if (key)
        return end_key(c) && go(c, AT_COLON);
    vug_call_put(c, "\"", 1);
    return go(c, AT_AFTER);
}

static bool step(vug_call *c, int b)
{
    switch (c->state) {
    case AT_CALL:
        if (b != call_word[c->matched])
            return false;
        return call_word[++c->matched] ? true : go(c, AT_NAME);
    case AT_FIRST_KEY:
    case AT_KEY:
        return key_step(c, b);
    case AT_NAME:
    case AT_BARE_KEY:
    case AT_BARE:
        return b != VUG_CALL_QUOTE && b && word_step(c, b);
    case AT_COLON:
        return is_blank(b) || (b == ':' && go(c, AT_VALUE));
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

/* Where no token is the quote mark, its letters are: `matched` of them were held back. */
bool vug_call_gemma_step(vug_call *c, int b)
{
    if (c->quote_by_id || b == VUG_CALL_QUOTE || c->state == AT_CALL)
        return step(c, b);
    if (b == quote[c->matched]) {
        if (quote[++c->matched])
            return true;
        c->matched = 0;
        return step(c, VUG_CALL_QUOTE);
    }
    const size_t held = c->matched;
    c->matched = 0;
    for (size_t i = 0; i < held; i++) {
        if (!step(c, quote[i]))
            return false;
    }
    if (b != quote[0])
        return step(c, b);
    c->matched = 1;
    return true;
}

bool vug_call_gemma_in_text(const vug_call *c)
{
    return c->state == AT_STRING || c->state == AT_QUOTED_KEY;
}
