#include "text/chat/call_parser.h"

vug_call_parser vug_call_parser_begin(vug_tool_call_format format, bool quote_by_id,
                                      const vug_jv *tools)
{
    return (vug_call_parser){ .format = format, .quote_by_id = quote_by_id, .tools = tools };
}

void vug_call_parser_release(vug_call_parser *c)
{
    vug_buf_release(&c->name);
    vug_buf_release(&c->args);
    vug_buf_release(&c->word);
    *c = (vug_call_parser){ 0 };
}

/* Checks the arguments as a whole with the reader that clients use: it rejects what the byte
 * scanner lets pass, such as a key that comes twice. */
static bool is_object(vug_call_parser *c)
{
    vug_arena arena = { 0 };
    const vug_jv *top = NULL;
    const vug_str text = { c->args.ptr, c->args.len };
    const vug_status st = vug_json_tree(text, "", &arena, &top, NULL);
    const bool good = st == VUG_OK && top->type == VUG_JSON_OBJECT;
    c->failed = c->failed || st == VUG_NOMEM;
    vug_arena_release(&arena);
    return good;
}

bool vug_call_parser_step(vug_call_parser *c, int symbol)
{
    bool good;
    if (c->format == VUG_TOOL_CALL_GEMMA4) {
        good = vug_call_parser_gemma_step(c, symbol);
    } else if (symbol == VUG_CALL_QUOTE) {
        good = false;
    } else {
        /* Qwen models write both of their formats; the first byte tells which one it is. */
        const bool qwen =
                c->format == VUG_TOOL_CALL_HERMES || c->format == VUG_TOOL_CALL_QWEN3_CODER;
        c->xml = c->xml || (symbol == '<' && qwen && !c->scan.depth);
        good = c->xml ? vug_call_parser_xml_step(c, (char)symbol)
                      : vug_call_parser_json_step(c, (char)symbol);
    }
    c->failed = c->failed || c->name.bad || c->args.bad || c->word.bad;
    return good && !c->failed && (!c->complete || is_object(c));
}

bool vug_call_parser_in_text(const vug_call_parser *c)
{
    if (c->complete)
        return false;
    if (c->format == VUG_TOOL_CALL_GEMMA4)
        return vug_call_parser_gemma_in_text(c);
    return c->xml ? vug_call_parser_xml_in_text(c) : vug_call_parser_json_in_text(c);
}
