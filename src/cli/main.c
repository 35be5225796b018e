/* Entry point: finds the command, parses its options, runs it, returns its exit code. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/default_model.h"
#include "cli/help.h"

typedef int command_fn(vug_ui *ui, const vug_options *opt);

static command_fn *const functions[VUG_COMMAND_COUNT] = {
#define COMMAND(NAME, name, ...) vug_cmd_##name,
#include "cli/commands.def"
#undef COMMAND
};

static int fail_unknown_command(const vug_ui *ui, const char *name)
{
    const char *suggestion = vug_command_suggest(name);
    if (suggestion)
        vug_ui_note(ui, "unknown command '%s'; did you mean %s?", name, suggestion);
    else
        vug_ui_note(ui, "unknown command '%s'; `vug help` lists the commands", name);
    return VUG_EXIT_USAGE;
}

int vug_cmd_help(vug_ui *ui, const vug_options *opt)
{
    vug_buf text = { 0 };
    if (opt->n_operands == 0) {
        vug_help_all(&text);
    } else {
        const vug_command command = vug_command_find(opt->operand[0]);
        if (command == VUG_COMMAND_COUNT)
            return fail_unknown_command(ui, opt->operand[0]);
        vug_help_command(&text, command);
    }
    return vug_ui_print(ui, &text);
}

static int run_command(vug_ui *ui, vug_command command, int argc, const char *const *argv)
{
    vug_options opt;
    vug_err err;
    int code;
    if (vug_options_parse(&opt, command, argc, argv, &err) != VUG_OK ||
        (!opt.help && vug_default_model_resolve(&opt, command, &err) != VUG_OK)) {
        code = vug_ui_fail(ui, &err);
    } else if (opt.help) {
        vug_buf text = { 0 };
        vug_help_command(&text, command);
        code = vug_ui_print(ui, &text);
    } else {
        code = functions[command](ui, &opt);
    }
    vug_options_release(&opt);
    return code;
}

static int dispatch(vug_ui *ui, int argc, const char *const *argv)
{
    vug_buf text = { 0 };
    if (argc < 2) {
        vug_help_all(&text);
        (void)fputs(text.ptr ? text.ptr : "", stderr);
        vug_buf_release(&text);
        return VUG_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        vug_buf_printf(&text, "vug %s\n", vug_version());
        return vug_ui_print(ui, &text);
    }
    const bool help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    const vug_command command = help ? VUG_COMMAND_HELP : vug_command_find(argv[1]);
    if (command == VUG_COMMAND_COUNT)
        return fail_unknown_command(ui, argv[1]);
    return run_command(ui, command, argc - 2, argv + 2);
}

/* If a standard stream is closed, the next file or socket gets its number, and our output would
 * go there. Opened this way, the streams fail as closed ones do. */
static void reopen_closed_streams(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd ? O_RDONLY : O_WRONLY);
    }
}

int main(int argc, char **argv)
{
    reopen_closed_streams();
    /* If the reader of our output exits, a write fails with EPIPE instead. */
    (void)signal(SIGPIPE, SIG_IGN);
    vug_ui ui = vug_ui_init();
    const int code = dispatch(&ui, argc, (const char *const *)argv);
    return vug_ui_finish(&ui, code);
}
