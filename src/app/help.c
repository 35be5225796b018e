#include "app/option_rows.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 88, HELP_COLUMN = 30 };

static const struct {
    const char *operands, *line, *text, *example;
} pages[VUG_COMMAND_COUNT] = {
#define COMMAND(NAME, name, least, most, operands, line, text, example) \
    { operands, line, text, example },
#include "app/commands.def"
#undef COMMAND
};

static const char exit_codes[] =
        "Exit codes:\n"
        "  0    done\n"
        "  1    the check failed: a verification out of tolerance\n"
        "  2    bad input or usage: a file, a prompt, an option\n"
        "  3    out of memory, or another failure of the machine, such as a full disk\n"
        "  130  interrupted by Ctrl-C\n";

void vug_help_all(vug_buf *to)
{
    vug_buf_puts(to,
                 "vug runs language models of the Gemma, Qwen and Llama families.\n\n"
                 "usage: vug COMMAND [operands] [options]\n\n"
                 "To begin: vug run \"What is vug?\". Without a MODEL pebble answers, the small\n"
                 "model that comes with vug.\n\nCommands:\n");
    for (int c = 0; c < VUG_COMMAND_COUNT; c++)
        vug_buf_printf(to, "  %-10s %s\n", vug_command_name((vug_command)c), pages[c].line);
    vug_buf_printf(to,
                   "\n`vug COMMAND --help` says more; `vug --version` prints the version.\n"
                   "Options are written --name VALUE or --name=VALUE and may stand anywhere;\n"
                   "-- ends them.\n\n%s",
                   exit_codes);
}

/* Words of `text` from the help column on; the line is already `at` long. */
static void wrap(vug_buf *to, const char *text, int at)
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
static void describe(vug_buf *to, const vug_option_row *row)
{
    const bool number = row->type == VUG_OPTION_int || row->type == VUG_OPTION_f64;
    vug_buf_puts(to, row->help);
    if (!number && !*row->def)
        return;
    vug_buf_puts(to, " (");
    if (number)
        vug_buf_printf(to, "%.10g to %.10g", row->min, row->max);
    if (number && *row->def)
        vug_buf_puts(to, ", ");
    if (*row->def)
        vug_buf_printf(to, "default%s%s", *row->def == ':' ? ": " : " ",
                       row->def + (*row->def == ':'));
    vug_buf_puts(to, ")");
}

static void option_help(vug_buf *to, const vug_option_row *row)
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
    describe(&text, row);
    wrap(to, text.ptr ? text.ptr : "", n);
    vug_buf_release(&text);
}

void vug_help_command(vug_buf *to, vug_command command)
{
    vug_buf_printf(to, "usage: vug %s %s%s[options]\n\n%s\n\nOptions:\n", vug_command_name(command),
                   pages[command].operands, *pages[command].operands ? " " : "",
                   pages[command].text);
    for (int i = 0; i < VUG_OPTION_COUNT; i++)
        if (vug_option_of(&vug_option_rows[i], command))
            option_help(to, &vug_option_rows[i]);
    vug_buf_printf(to, "\nExample:\n  %s\n\n%s", pages[command].example, exit_codes);
}
