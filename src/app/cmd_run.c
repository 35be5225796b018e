#include <string.h>
#include <unistd.h>

#include "app/answer.h"
#include "app/chat.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/interrupt.h"
#include "core/os.h"

static const size_t max_prompt = (size_t)64 << 20;

/* *piped is the caller's; *prompt is NULL for a chat. */
static vug_status find_prompt(const vug_options *opt, vug_text *piped, vug_str *prompt,
                              vug_err *err)
{
    const char *given = opt->n_operands > 1 ? opt->operand[1] : NULL;
    *piped = (vug_text){ 0 };
    *prompt = (vug_str){ 0 };
    if (!given && isatty(STDIN_FILENO) == 1)
        return VUG_OK;
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

static int answer_once(vug_answerer *a, vug_str prompt, double load_s)
{
    const vug_options *opt = a->opt;
    vug_talk talk = { 0 };
    vug_generation g = { 0 };
    vug_err err;
    if (opt->system)
        vug_talk_add(&talk, "system", vug_str_of(opt->system), "");
    vug_talk_add(&talk, "user", prompt, "");
    const vug_status st = vug_answer(a, &talk, opt->raw ? &prompt : NULL, &g, &err);
    vug_talk_release(&talk);
    if (st != VUG_OK)
        return vug_ui_fail(a->ui, &err);
    int code = g.finish == VUG_FINISH_CANCELLED ? VUG_EXIT_INTERRUPTED : VUG_EXIT_OK;
    if (opt->json) {
        vug_js js = { 0 };
        vug_answer_json(a, &g, load_s, &js);
        code = vug_js_print(&js, a->ui, code);
    }
    vug_answer_speed(a, &g);
    vug_generation_release(&g);
    return code;
}

static int with_model(vug_ui *ui, const vug_options *opt, vug_model *model, vug_str prompt,
                      double load_s)
{
    vug_answerer a;
    vug_err err;
    int code;
    if (!vug_model_tokenizer(model, &err))
        return vug_ui_fail(ui, &err);
    vug_status st = vug_answerer_init(&a, ui, opt, model, &err);
    if (st == VUG_OK)
        st = vug_session_create(model, &a.session, &err);
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else {
        vug_interrupt_install();
        code = prompt.ptr ? answer_once(&a, prompt, load_s) : vug_chat_with(&a);
        vug_interrupt_restore();
        vug_session_destroy(a.session);
    }
    vug_answerer_release(&a);
    return code;
}

static int open_and_run(vug_ui *ui, const vug_options *opt, vug_str prompt)
{
    vug_model_options how = vug_options_model(opt);
    vug_model *model;
    vug_err err;
    vug_bar bar = vug_bar_start(ui, "loading", opt->quiet);
    how.progress = vug_bar_step;
    how.user = &bar;
    const double start = vug_now();
    const vug_status st = vug_model_open(opt->operand[0], &how, &model, &err);
    vug_bar_end(&bar);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    const int code = with_model(ui, opt, model, prompt, vug_now() - start);
    vug_model_close(model);
    return code;
}

int vug_cmd_run(vug_ui *ui, const vug_options *opt)
{
    vug_text piped;
    vug_str prompt;
    vug_err err;
    const char *const needs_template[] = { opt->system ? "--system" : NULL,
                                           opt->tools ? "--tools" : NULL,
                                           opt->thinking ? "--thinking" : NULL,
                                           opt->tool_choice ? "--tool-choice" : NULL,
                                           opt->chat_template ? "--chat-template" : NULL };
    for (size_t i = 0; opt->raw && i < sizeof(needs_template) / sizeof(needs_template[0]); i++) {
        if (!needs_template[i])
            continue;
        vug_ui_note(ui, "%s needs the chat template, which --raw turns off", needs_template[i]);
        return VUG_EXIT_USAGE;
    }
    int code;
    if (find_prompt(opt, &piped, &prompt, &err) != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else if (!prompt.ptr && opt->json) {
        vug_ui_note(ui, "--json needs a PROMPT; a chat is for a person");
        code = VUG_EXIT_USAGE;
    } else {
        code = open_and_run(ui, opt, prompt);
    }
    vug_text_release(&piped);
    return code;
}
