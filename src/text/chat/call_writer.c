/* What the parsers of all formats share: writing a call as JSON, and finding its tool. */

#include "text/chat/call_parser.h"

bool vug_call_parser_set_name(vug_call_parser *c, vug_str name)
{
    if (name.len == 0 || name.len > VUG_CALL_MAX_NAME)
        return false;
    vug_buf_append(&c->name, name.ptr, name.len);
    c->named = true;
    return true;
}

void vug_call_parser_write(vug_call_parser *c, const char *bytes, size_t n)
{
    vug_buf_append(&c->args, bytes, n);
}

void vug_call_parser_write_escaped(vug_call_parser *c, char byte)
{
    static const char letters[] = "\bb\tt\nn\ff\rr\"\"\\\\";
    for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
        if (letters[i] == byte) {
            vug_call_parser_write(c, (const char[]){ '\\', letters[i + 1] }, 2);
            return;
        }
    }
    if ((unsigned char)byte < 0x20)
        vug_buf_printf(&c->args, "\\u%04x", (unsigned)(unsigned char)byte);
    else
        vug_call_parser_write(c, &byte, 1);
}

const vug_jv *vug_find_tool(const vug_jv *tools, vug_str name)
{
    for (const vug_jv *tool = tools ? tools->child : NULL; tool; tool = tool->next) {
        const vug_jv *function = vug_jv_get(tool, "function");
        const vug_jv *known = vug_jv_get(function ? function : tool, "name");
        if (vug_jv_is(known, VUG_JSON_STRING) && vug_str_equal(known->str, name))
            return function ? function : tool;
    }
    return NULL;
}
