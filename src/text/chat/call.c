#include "text/chat/call.h"

vug_call vug_call_begin(vug_call_form form, bool quote_by_id, const vug_jv *tools)
{
    return (vug_call){ .form = form, .quote_by_id = quote_by_id, .tools = tools };
}

void vug_call_release(vug_call *c)
{
    vug_buf_release(&c->name);
    vug_buf_release(&c->args);
    vug_buf_release(&c->word);
    *c = (vug_call){ 0 };
}

bool vug_call_name(vug_call *c, vug_str name)
{
    if (name.len == 0 || name.len > VUG_CALL_MAX_NAME)
        return false;
    vug_buf_append(&c->name, name.ptr, name.len);
    c->named = true;
    return true;
}

void vug_call_put(vug_call *c, const char *bytes, size_t n)
{
    vug_buf_append(&c->args, bytes, n);
}

void vug_call_put_escaped(vug_call *c, char byte)
{
    static const char letters[] = "\bb\tt\nn\ff\rr\"\"\\\\";
    for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
        if (letters[i] == byte) {
            vug_call_put(c, (const char[]){ '\\', letters[i + 1] }, 2);
            return;
        }
    }
    if ((unsigned char)byte < 0x20)
        vug_buf_printf(&c->args, "\\u%04x", (unsigned)(unsigned char)byte);
    else
        vug_call_put(c, &byte, 1);
}

const vug_jv *vug_call_tool(const vug_jv *tools, vug_str name)
{
    for (const vug_jv *tool = tools ? tools->child : NULL; tool; tool = tool->next) {
        const vug_jv *function = vug_jv_get(tool, "function");
        const vug_jv *known = vug_jv_get(function ? function : tool, "name");
        if (vug_jv_is(known, VUG_JSON_STRING) && vug_str_equal(known->str, name))
            return function ? function : tool;
    }
    return NULL;
}

/* A last look at the arguments as a whole, by the reader that would read them again:
 * what a scanner of single bytes lets pass, such as a key twice, is no call either. */
static bool is_object(vug_call *c)
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

bool vug_call_step(vug_call *c, int symbol)
{
    bool good;
    if (c->form == VUG_CALL_GEMMA4) {
        good = vug_call_gemma_step(c, symbol);
    } else if (symbol == VUG_CALL_QUOTE) {
        good = false;
    } else {
        /* The first byte tells which of the two forms that Qwen writes it is. */
        c->xml = c->xml || (symbol == '<' && c->form == VUG_CALL_HERMES && !c->scan.depth);
        good = c->xml ? vug_call_xml_step(c, (char)symbol) : vug_call_json_step(c, (char)symbol);
    }
    c->failed = c->failed || c->name.bad || c->args.bad || c->word.bad;
    return good && !c->failed && (!c->complete || is_object(c));
}

bool vug_call_in_text(const vug_call *c)
{
    if (c->complete)
        return false;
    if (c->form == VUG_CALL_GEMMA4)
        return vug_call_gemma_in_text(c);
    return c->xml ? vug_call_xml_in_text(c) : vug_call_json_in_text(c);
}
