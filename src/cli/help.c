#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/options.h"

enum { WIDTH = 88, HELP_COLUMN = 30 };

static const char exit_codes[] =
        "Exit codes:\n"
        "  0    success\n"
        "  1    vug verify: the model is out of tolerance; vug batch: a request failed\n"
        "  2    usage error or bad input, such as an option, a file or a prompt\n"
        "  3    out of memory, full disk or another system error\n"
        "  130  interrupted by Ctrl-C or SIGTERM\n";

void vug_help_all(vug_buf *to)
{
    vug_buf_puts(to,
                 "vug runs language models of the Gemma, Qwen and Llama families.\n\n"
                 "usage: vug COMMAND [operands] [options]\n\n"
                 "Try: vug run \"What is vug?\". Without a MODEL it uses pebble, the small model\n"
                 "that comes with vug.\n\nCommands:\n");
    for (int c = 0; c < VUG_COMMAND_COUNT; c++)
        vug_buf_printf(to, "  %-10s %s\n", vug_command_rows[c].name, vug_command_rows[c].summary);
    vug_buf_printf(
            to,
            "\n`vug COMMAND --help` describes a command; `vug --version` prints the version.\n"
            "Write options as --name VALUE or --name=VALUE, anywhere after the command;\n"
            "-- ends the options.\n\n%s",
            exit_codes);
}

/* Wraps `text` into the help column, on a line that already has `at` bytes. */
static void append_wrapped(vug_buf *to, const char *text, int at)
{
    while (*text) {
        const int n = (int)strcspn(text, " ");
        if (at > HELP_COLUMN && at + 1 + n > WIDTH) {
            vug_buf_puts(to, "\n");
            at = 0;
        }
        if (at < HELP_COLUMN)
            vug_buf_printf(to, "%*s", HELP_COLUMN - at, "");
        else
            vug_buf_puts(to, " ");
        at = (at < HELP_COLUMN ? HELP_COLUMN : at + 1) + n;
        vug_buf_append(to, text, (size_t)n);
        text += n;
        text += *text == ' ';
    }
    vug_buf_puts(to, "\n");
}

/* "help (0 to 1, default 0.5)" */
static void append_description(vug_buf *to, const vug_option_row *row)
{
    const bool number = row->type == VUG_OPTION_int || row->type == VUG_OPTION_f64;
    vug_buf_puts(to, row->help);
    if (!number && !*row->default_text)
        return;
    vug_buf_puts(to, " (");
    if (number)
        vug_buf_printf(to, "%.10g to %.10g", row->min, row->max);
    if (number && *row->default_text)
        vug_buf_puts(to, ", ");
    if (*row->default_text)
        vug_buf_printf(to, "default%s%s", *row->default_text == ':' ? ": " : " ",
                       row->default_text + (*row->default_text == ':'));
    vug_buf_puts(to, ")");
}

static void append_option(vug_buf *to, const vug_option_row *row)
{
    vug_buf text = { 0 };
    char head[80];
    const char *gap = *row->value ? " " : "";
    int n = row->letter ? snprintf(head, sizeof(head), "  -%c, ", row->letter)
                        : snprintf(head, sizeof(head), "      ");
    n += snprintf(head + n, sizeof(head) - (size_t)n, "--%s%s%s", row->flag, gap, row->value);
    vug_buf_puts(to, head);
    if (n >= HELP_COLUMN - 1) {
        vug_buf_puts(to, "\n");
        n = 0;
    }
    append_description(&text, row);
    append_wrapped(to, text.ptr ? text.ptr : "", n);
    vug_buf_release(&text);
}

void vug_help_command(vug_buf *to, vug_command command)
{
    const vug_command_row *c = &vug_command_rows[command];
    vug_buf_printf(to, "usage: vug %s %s%s[options]\n\n%s\n\nOptions:\n", c->name, c->operands,
                   *c->operands ? " " : "", c->description);
    for (int i = 0; i < VUG_OPTION_COUNT; i++)
        if (vug_option_applies(&vug_option_rows[i], command))
            append_option(to, &vug_option_rows[i]);
    vug_buf_printf(to, "\nExample:\n  %s\n\n%s", c->example, exit_codes);
}
