#include "app/partner.h"

#include <string.h>
#include <unistd.h>

#include "app/chat.h"
#include "app/input.h"
#include "app/interrupt.h"

static const size_t max_prompt = (size_t)64 << 20;

/* Two options of which one turns off what the other is for. */
static vug_status check_options(const vug_options *opt, vug_err *err)
{
    const char *const of_templates[] = { opt->system ? "--system" : NULL,
                                         opt->tools ? "--tools" : NULL,
                                         opt->thinking ? "--thinking" : NULL,
                                         opt->tool_choice ? "--tool-choice" : NULL,
                                         opt->chat_template ? "--chat-template" : NULL,
                                         opt->strict_template ? "--strict-template" : NULL,
                                         opt->var.n ? "--var" : NULL,
                                         opt->messages ? "--messages" : NULL };
    for (size_t i = 0; opt->raw && i < sizeof(of_templates) / sizeof(of_templates[0]); i++)
        if (of_templates[i])
            return VUG_FAIL(err, VUG_ARGUMENT, "%s needs the chat template, which --raw turns off",
                            of_templates[i]);
    if ((opt->schema != NULL) + (opt->regex != NULL) + (opt->grammar != NULL) +
                (opt->tool_choice != NULL) >
        1)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "--schema, --regex, --grammar and --tool-choice: an answer has one form");
    if (opt->tool_choice && !opt->tools)
        return VUG_FAIL(err, VUG_ARGUMENT, "--tool-choice %s: there are no --tools",
                        opt->tool_choice);
    return VUG_OK;
}

static vug_status find_prompt(const vug_options *opt, size_t at, vug_text *piped, vug_str *prompt,
                              vug_err *err)
{
    const char *given = opt->n_operands > at ? opt->operand[at] : NULL;
    VUG_TRY(check_options(opt, err));
    if (!given && opt->messages && (opt->json || isatty(STDIN_FILENO) != 1)) {
        *prompt = vug_str_of("");
        return VUG_OK;
    }
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

int vug_partner_prompt(vug_ui *ui, const vug_options *opt, size_t at,
                       int (*fn)(vug_ui *ui, const vug_options *opt, vug_str prompt))
{
    vug_text piped = { 0 };
    vug_str prompt = { 0 };
    vug_err err;
    const vug_status st = find_prompt(opt, at, &piped, &prompt, &err);
    const int code = st == VUG_OK ? fn(ui, opt, prompt) : vug_ui_fail(ui, &err);
    vug_text_release(&piped);
    return code;
}

vug_status vug_partner_begin(const vug_partner *p, vug_talk *talk, vug_err *err)
{
    if (p->opt->system)
        vug_talk_add(talk, "system", vug_str_of(p->opt->system), "");
    return p->opt->messages ? vug_talk_load(talk, p->opt->messages, err) : VUG_OK;
}

static vug_status answer_prompt(vug_partner *p, vug_str prompt, bool *interrupted, vug_err *err)
{
    vug_talk talk = { 0 };
    vug_status st = vug_partner_begin(p, &talk, err);
    if (prompt.len)
        vug_talk_add(&talk, "user", prompt, "");
    if (st == VUG_OK && !talk.open)
        st = VUG_FAIL(err, VUG_ARGUMENT,
                      "%s: the last message is no user's and no result of a call; a PROMPT is "
                      "needed",
                      vug_input_name(p->opt->messages));
    if (st == VUG_OK)
        st = p->answer(p->self, &talk, p->opt->raw ? &prompt : NULL, interrupted, err);
    vug_talk_release(&talk);
    return st;
}

static int answer_once(vug_partner *p, vug_str prompt)
{
    vug_err err;
    bool interrupted = false;
    if (answer_prompt(p, prompt, &interrupted, &err) != VUG_OK)
        return vug_ui_fail(p->shown->ui, &err);
    int code = interrupted ? VUG_EXIT_INTERRUPTED : VUG_EXIT_OK;
    if (p->opt->json) {
        vug_js js = { 0 };
        p->json(p->self, &js);
        code = vug_js_print(&js, p->shown->ui, code);
    } else if (!p->opt->quiet) {
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
