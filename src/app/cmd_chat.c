#include "app/commands.h"
#include "app/interrupt.h"
#include "app/remote/remote.h"

/* Who answers, on stderr, before a conversation. */
static void introduce(const vug_remote *r)
{
    vug_buf line = { 0 };
    vug_buf_printf(&line, "%.*s at %s\n", VUG_STR_ARG(r->model), vug_link_name(r->link));
    if (line.ptr)
        vug_ui_dim(r->shown.ui, line.ptr, line.len);
    vug_buf_release(&line);
}

static int meet(vug_ui *ui, const vug_options *opt, vug_str prompt)
{
    vug_remote r;
    vug_err err;
    int code;
    vug_status st = vug_remote_init(&r, ui, opt, &err);
    vug_interrupt_install();
    if (st == VUG_OK)
        st = vug_remote_greet(&r, &err);
    vug_interrupt_restore();
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else {
        vug_partner partner = vug_remote_partner(&r);
        if (!prompt.ptr && !opt->quiet)
            introduce(&r);
        code = vug_partner_meet(&partner, prompt);
    }
    vug_remote_release(&r);
    return code;
}

int vug_cmd_chat(vug_ui *ui, const vug_options *opt)
{
    return vug_partner_prompt(ui, opt, 0, meet);
}
