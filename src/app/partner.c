#include "app/partner.h"

#include <string.h>
#include <unistd.h>

#include "app/chat.h"
#include "app/input.h"
#include "app/interrupt.h"

static const size_t max_prompt = (size_t)64 << 20;

vug_status vug_partner_prompt(const vug_options *opt, size_t at, vug_text *piped, vug_str *prompt,
                              vug_err *err)
{
    const char *given = opt->n_operands > at ? opt->operand[at] : NULL;
    *piped = (vug_text){ 0 };
    *prompt = (vug_str){ 0 };
    if (!given && isatty(STDIN_FILENO) == 1) {
        if (opt->json)
            return VUG_FAIL(err, VUG_ARGUMENT, "--json needs a PROMPT; a chat is for a person");
        return VUG_OK;
    }
    if (given && strcmp(given, "-") != 0) {
        *prompt = vug_str_of(given);
    } else {
        VUG_TRY(vug_input_read("-", max_prompt, piped, err));
        /* The line end that `echo` adds is no part of a text to be continued. */
        const bool newline = piped->len > 0 && piped->ptr[piped->len - 1] == '\n';
        *prompt = (vug_str){ piped->ptr, piped->len - newline };
    }
    size_t blank = 0;
    while (blank < prompt->len && strchr(" \t\r\n", prompt->ptr[blank]))
        blank++;
    if (prompt->len == 0 || (blank == prompt->len && !opt->raw))
        return VUG_FAIL(err, VUG_ARGUMENT, "the prompt is empty");
    return VUG_OK;
}

static int answer_once(vug_partner *p, vug_str prompt)
{
    const vug_options *opt = p->opt;
    vug_talk talk = { 0 };
    vug_err err;
    bool interrupted = false;
    if (opt->system)
        vug_talk_add(&talk, "system", vug_str_of(opt->system), "");
    vug_talk_add(&talk, "user", prompt, "");
    const vug_status st = p->answer(p->self, &talk, opt->raw ? &prompt : NULL, &interrupted, &err);
    vug_talk_release(&talk);
    if (st != VUG_OK)
        return vug_ui_fail(p->shown->ui, &err);
    int code = interrupted ? VUG_EXIT_INTERRUPTED : VUG_EXIT_OK;
    if (opt->json) {
        vug_js js = { 0 };
        p->json(p->self, &js);
        code = vug_js_print(&js, p->shown->ui, code);
    } else if (!opt->quiet) {
        p->figures(p->self);
    }
    return code;
}

int vug_partner_meet(vug_partner *p, vug_str prompt)
{
    vug_interrupt_install();
    const int code = prompt.ptr ? answer_once(p, prompt) : vug_chat_with(p);
    vug_interrupt_restore();
    return code;
}
