#include "cli/repl.h"

#include <string.h>

#include "cli/tool_results.h"

typedef struct {
    vug_chat_backend *backend;
    vug_ui *ui;
    vug_line_editor *editor;
    vug_chat_history history;
    bool quit;
} repl;

/* ---- commands ------------------------------------------------------------------ */

static void print_dim(const repl *r, const char *text)
{
    (void)fprintf(stderr, "%s%s%s\n", r->ui->err.dim, text, r->ui->err.off);
}

static void do_reset(repl *r, const char *rest)
{
    const char *system = r->backend->opt->system;
    (void)rest;
    r->backend->reset(r->backend->self);
    vug_chat_history_release(&r->history);
    if (system)
        vug_chat_history_add(&r->history, "system", vug_str_of(system), "");
    print_dim(r, "started a new conversation");
}

static void do_save(repl *r, const char *rest)
{
    vug_err err;
    if (!*rest) {
        vug_ui_note(r->ui, "/save needs a file name");
    } else if (r->backend->opt->raw) {
        vug_ui_note(r->ui, "/save: with --raw there is no conversation");
    } else if (vug_chat_history_save(&r->history, rest, &err) != VUG_OK) {
        (void)vug_ui_fail(r->ui, &err);
    } else {
        char text[600];
        (void)snprintf(text, sizeof(text), "saved %zu messages to %.500s", r->history.n, rest);
        print_dim(r, text);
    }
}

static void do_quit(repl *r, const char *rest)
{
    (void)rest;
    r->quit = true;
}

static void do_help(repl *r, const char *rest);

static const struct {
    const char *name, *operand, *help;
    void (*run)(repl *r, const char *rest);
} commands[] = {
    { "/help", "", "show this list", do_help },
    { "/reset", "", "start a new conversation", do_reset },
    { "/save", "FILE", "save the conversation to FILE as JSON messages", do_save },
    { "/quit", "", "quit, like Ctrl-D", do_quit },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void do_help(repl *r, const char *rest)
{
    vug_buf text = { 0 };
    (void)rest;
    for (size_t i = 0; i < N_COMMANDS; i++)
        vug_buf_printf(&text, "%-7s%-5s %s\n", commands[i].name, commands[i].operand,
                       commands[i].help);
    vug_buf_puts(&text, "Ctrl-C stops an answer. A \\ at the end of a line continues it on the "
                        "next one. A space before a / makes the line a message.\n"
                        "At NAME(ARGUMENTS) = enter the result of a tool call, or /file FILE. An "
                        "empty line means that the call was not carried out; Ctrl-C says so "
                        "of all remaining calls.");
    print_dim(r, text.ptr ? text.ptr : "");
    vug_buf_release(&text);
}

static void run_command(repl *r, const char *text)
{
    const size_t len = strcspn(text, " ");
    const char *rest = text + len + strspn(text + len, " ");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strlen(commands[i].name) == len && memcmp(commands[i].name, text, len) == 0) {
            commands[i].run(r, rest);
            return;
        }
    }
    vug_ui_note(r->ui, "unknown command %.*s; /help lists the commands", (int)len, text);
}

/* ---- turns --------------------------------------------------------------------- */

/* Generates a response and adds it to the history, also one that Ctrl-C ended early. Returns
 * false if there is nothing to add. */
static bool respond(repl *r, const vug_str *raw)
{
    vug_chat_backend *b = r->backend;
    vug_err err;
    bool interrupted = false;
    const vug_status st = b->generate(b->self, &r->history, raw, &interrupted, &err);
    if (st != VUG_OK)
        (void)vug_ui_fail(r->ui, &err);
    else if (!b->opt->quiet)
        b->print_stats(b->self);
    return st == VUG_OK && !raw && vug_response_printer_append_to_history(b->printer, &r->history);
}

/* While the model calls tools and the user has results for it. */
static void answer_tool_calls(repl *r)
{
    while (r->history.calls.len && vug_tool_results_prompt(r->editor, r->ui, &r->history) &&
           respond(r, NULL))
        ;
}

/* Removes the message again if there is no response, so that the roles still alternate. */
static void take_turn(repl *r, vug_str text)
{
    const size_t n = r->history.n, len = r->history.json.len;
    if (r->backend->opt->raw) {
        (void)respond(r, &text);
        return;
    }
    vug_chat_history_add(&r->history, "user", text, "");
    if (respond(r, NULL)) {
        answer_tool_calls(r);
    } else {
        r->history.n = n;
        r->history.json.len = len;
    }
}

static bool is_blank(const vug_buf *text)
{
    return text->len == 0 || text->ptr[strspn(text->ptr, " \t\r\n")] == '\0';
}

static void read_and_respond(repl *r)
{
    bool interrupted = false; /* the last event was Ctrl-C on an empty line */
    while (!r->quit && !r->ui->out_errno) {
        vug_buf text = { .max = 16 << 20 };
        const vug_line_event event = vug_line_editor_read(r->editor, "> ", &text);
        const bool empty_interrupt = event == VUG_LINE_INTERRUPTED && !text.len;
        if (event == VUG_LINE_END || (empty_interrupt && interrupted)) {
            r->quit = true;
        } else if (empty_interrupt) {
            print_dim(r, "press Ctrl-C again or Ctrl-D to quit");
        } else if (event == VUG_LINE_TEXT && !text.bad && !is_blank(&text)) {
            vug_line_editor_add_history(r->editor, text.ptr);
            if (text.ptr[0] == '/')
                run_command(r, text.ptr);
            else
                take_turn(r, (vug_str){ text.ptr, text.len });
        }
        interrupted = empty_interrupt;
        vug_buf_release(&text);
    }
}

int vug_repl_run(vug_chat_backend *b)
{
    repl r = { .backend = b, .ui = b->printer->ui };
    vug_err err;
    vug_status st = vug_chat_history_init(&r.history, b->opt, &err);
    if (st == VUG_OK)
        st = vug_line_editor_open(r.ui, &r.editor, &err);
    if (st == VUG_OK) {
        if (!b->opt->quiet)
            print_dim(&r, "/help lists the commands, Ctrl-D quits");
        if (r.history.needs_response)
            (void)respond(&r, NULL);
        answer_tool_calls(&r);
        read_and_respond(&r);
        vug_line_editor_close(r.editor);
    }
    vug_chat_history_release(&r.history);
    return st == VUG_OK ? VUG_EXIT_OK : vug_ui_fail(r.ui, &err);
}
