#include "cli/chat_runner.h"

#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/repl.h"
#include "core/json_writer.h"

static const size_t max_prompt = (size_t)64 << 20;

/* Rejects contradictory options. */
static vug_status check_options(const vug_options *opt, vug_err *err)
{
    static const vug_option template_options[] = {
        VUG_OPTION_system,      VUG_OPTION_tools,         VUG_OPTION_thinking,
        VUG_OPTION_tool_choice, VUG_OPTION_chat_template, VUG_OPTION_strict_template,
        VUG_OPTION_var,         VUG_OPTION_messages,
    };
    for (size_t i = 0; opt->raw && i < sizeof(template_options) / sizeof(template_options[0]); i++)
        if (opt->given[template_options[i]])
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "--%s needs the chat template, but --raw turns it off",
                            vug_option_rows[template_options[i]].flag);
    if ((opt->schema != NULL) + (opt->regex != NULL) + (opt->grammar != NULL) +
                (opt->tool_choice != NULL) >
        1)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "only one of --schema, --regex, --grammar and --tool-choice can be given");
    if (opt->strict_schema && !opt->schema)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "--strict-schema requires --schema, whose keywords it checks");
    if (opt->tool_choice && !opt->tools)
        return VUG_FAIL(err, VUG_ARGUMENT, "--tool-choice %s requires --tools", opt->tool_choice);
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
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "--json needs a PROMPT; it is not for interactive chats");
        return VUG_OK;
    }
    if (given && strcmp(given, "-") != 0) {
        *prompt = vug_str_of(given);
    } else {
        VUG_TRY(vug_input_read("-", max_prompt, piped, err));
        /* The newline that `echo` adds is not part of the prompt. */
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

int vug_chat_runner_with_prompt(vug_ui *ui, const vug_options *opt, size_t at,
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

static vug_status generate_response(vug_chat_backend *b, vug_str prompt, bool *interrupted,
                                    vug_err *err)
{
    vug_chat_history history = { 0 };
    vug_status st = vug_chat_history_init(&history, b->opt, err);
    if (prompt.len)
        vug_chat_history_add(&history, "user", prompt, "");
    if (st == VUG_OK && !history.needs_response)
        st = VUG_FAIL(err, VUG_ARGUMENT,
                      "%s: the last message is neither a user message nor a tool result; add a "
                      "PROMPT",
                      vug_input_name(b->opt->messages));
    if (st == VUG_OK)
        st = b->generate(b->self, &history, b->opt->raw ? &prompt : NULL, interrupted, err);
    vug_chat_history_release(&history);
    return st;
}

static int answer_once(vug_chat_backend *b, vug_str prompt)
{
    vug_err err;
    bool interrupted = false;
    if (generate_response(b, prompt, &interrupted, &err) != VUG_OK)
        return vug_ui_fail(b->printer->ui, &err);
    int code = interrupted ? VUG_EXIT_INTERRUPTED : VUG_EXIT_OK;
    if (b->opt->json) {
        vug_json_writer js = { 0 };
        b->write_json(b->self, &js);
        code = vug_ui_print_json(&js, b->printer->ui, code);
    } else if (!b->opt->quiet) {
        b->print_stats(b->self);
    }
    return code;
}

int vug_chat_runner_run(vug_chat_backend *b, vug_str prompt)
{
    vug_interrupt_install();
    const int code = prompt.ptr ? answer_once(b, prompt) : vug_repl_run(b);
    vug_interrupt_restore();
    return code;
}
