#include "app/commands.h"
#include "app/conversation.h"
#include "app/input.h"
#include "app/js.h"

static const size_t max_file = (size_t)256 << 20;

static vug_status read_messages(const vug_ui *ui, const char *path, vug_conversation *c,
                                vug_err *err)
{
    vug_text json;
    VUG_TRY(vug_input_read(path, max_file, &json, err));
    const vug_status st =
            vug_conversation_parse(c, (vug_str){ json.ptr, json.len }, vug_input_name(path), err);
    vug_text_release(&json);
    if (st == VUG_OK && c->dropped_parts)
        vug_ui_note(ui, "%s: the template takes the first part of the system message alone",
                    vug_input_name(path));
    return st;
}

int vug_cmd_template(vug_ui *ui, const vug_options *opt)
{
    vug_conversation c = { 0 };
    vug_text text = { 0 };
    vug_err err;
    if (!opt->messages) {
        vug_ui_note(ui, "--messages FILE is missing; usage: vug template MODEL --messages FILE");
        return VUG_EXIT_USAGE;
    }
    vug_status st = read_messages(ui, opt->messages, &c, &err);
    if (st == VUG_OK)
        st = vug_render_at(opt->operand[0], c.message, c.n, !opt->no_generation_prompt, &text,
                             &err);
    vug_conversation_release(&c);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    int code = VUG_EXIT_OK;
    if (opt->json) {
        vug_js js = { 0 };
        vug_js_open(&js, NULL, '{');
        vug_js_text(&js, "text", text.ptr, text.len);
        vug_js_close(&js, '}');
        code = vug_js_print(&js, ui, code);
    } else {
        (void)vug_ui_text(ui, text.ptr, text.len);
    }
    vug_text_release(&text);
    return code;
}
