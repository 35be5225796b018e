#include "app/chat.h"

#include <string.h>

#include "app/results.h"

typedef struct {
    vug_partner *partner;
    vug_ui *ui;
    vug_line *line;
    vug_talk talk;
    bool leave;
} chat;

/* ---- commands ------------------------------------------------------------------ */

static void do_help(chat *c, const char *rest);
static void do_reset(chat *c, const char *rest);
static void do_save(chat *c, const char *rest);
static void do_quit(chat *c, const char *rest);

static const struct {
    const char *name, *operand, *help;
    void (*run)(chat *c, const char *rest);
} commands[] = {
    { "/help", "", "this list", do_help },
    { "/reset", "", "begin a new conversation", do_reset },
    { "/save", "FILE", "write the conversation to FILE as JSON messages", do_save },
    { "/quit", "", "leave, as Ctrl-D does", do_quit },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void say(const chat *c, const char *text)
{
    (void)fprintf(stderr, "%s%s%s\n", c->ui->err.dim, text, c->ui->err.off);
}

static void do_help(chat *c, const char *rest)
{
    vug_buf text = { 0 };
    (void)rest;
    for (size_t i = 0; i < N_COMMANDS; i++)
        vug_buf_printf(&text, "%-7s%-5s %s\n", commands[i].name, commands[i].operand,
                       commands[i].help);
    vug_buf_puts(&text, "Ctrl-C stops an answer. A line that ends in \\ goes on in the next; a "
                        "space before a / makes it text.\n"
                        "NAME(ARGUMENTS) = asks for the result of a call: a text, or /file FILE; "
                        "nothing says that the call was not carried out, Ctrl-C that none was.");
    say(c, text.ptr ? text.ptr : "");
    vug_buf_release(&text);
}

static void do_reset(chat *c, const char *rest)
{
    const char *system = c->partner->opt->system;
    (void)rest;
    c->partner->reset(c->partner->self);
    vug_talk_release(&c->talk);
    if (system)
        vug_talk_add(&c->talk, "system", vug_str_of(system), "");
    say(c, "a new conversation");
}

static void do_save(chat *c, const char *rest)
{
    vug_err err;
    if (!*rest) {
        vug_ui_note(c->ui, "/save needs the name of a file");
    } else if (c->partner->opt->raw) {
        vug_ui_note(c->ui, "/save: with --raw there is no conversation to save");
    } else if (vug_talk_save(&c->talk, rest, &err) != VUG_OK) {
        (void)vug_ui_fail(c->ui, &err);
    } else {
        char text[600];
        (void)snprintf(text, sizeof(text), "%zu messages written to %.500s", c->talk.n, rest);
        say(c, text);
    }
}

static void do_quit(chat *c, const char *rest)
{
    (void)rest;
    c->leave = true;
}

static void run_command(chat *c, const char *text)
{
    const size_t len = strcspn(text, " ");
    const char *rest = text + len + strspn(text + len, " ");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strlen(commands[i].name) == len && memcmp(commands[i].name, text, len) == 0) {
            commands[i].run(c, rest);
            return;
        }
    }
    vug_ui_note(c->ui, "unknown command %.*s; /help lists them", (int)len, text);
}

/* ---- turns --------------------------------------------------------------------- */

/* False when there is nothing of an answer. One that was given up is kept as far as it came. */
static bool respond(chat *c, const vug_str *raw)
{
    vug_partner *p = c->partner;
    vug_err err;
    bool interrupted = false;
    const vug_status st = p->answer(p->self, &c->talk, raw, &interrupted, &err);
    if (st != VUG_OK)
        (void)vug_ui_fail(c->ui, &err);
    else if (!p->opt->quiet)
        p->figures(p->self);
    return st == VUG_OK && !raw && vug_shown_keep(p->shown, &c->talk);
}

/* As long as the model calls tools and a person has results for it. */
static void give_results(chat *c)
{
    while (c->talk.calls.len && vug_results_ask(c->line, c->ui, &c->talk) && respond(c, NULL))
        ;
}

/* Without a word of the answer the question is taken back, so that the turns still alternate. */
static void take_turn(chat *c, vug_str text)
{
    const size_t n = c->talk.n, len = c->talk.json.len;
    if (c->partner->opt->raw) {
        (void)respond(c, &text);
        return;
    }
    vug_talk_add(&c->talk, "user", text, "");
    if (respond(c, NULL)) {
        give_results(c);
    } else {
        c->talk.n = n;
        c->talk.json.len = len;
    }
}

static bool is_blank(const vug_buf *text)
{
    return text->len == 0 || text->ptr[strspn(text->ptr, " \t\r\n")] == '\0';
}

static void serve(chat *c)
{
    bool interrupted = false; /* by the last thing that happened */
    while (!c->leave && !c->ui->out_errno) {
        vug_buf text = { .max = 16 << 20 };
        const vug_line_event event = vug_line_read(c->line, "> ", &text);
        const bool nothing = event == VUG_LINE_INTERRUPTED && !text.len;
        if (event == VUG_LINE_END || (nothing && interrupted)) {
            c->leave = true;
        } else if (nothing) {
            say(c, "Ctrl-C again, or Ctrl-D, leaves");
        } else if (event == VUG_LINE_TEXT && !text.bad && !is_blank(&text)) {
            vug_line_remember(c->line, text.ptr);
            if (text.ptr[0] == '/')
                run_command(c, text.ptr);
            else
                take_turn(c, (vug_str){ text.ptr, text.len });
        }
        interrupted = nothing;
        vug_buf_release(&text);
    }
}

int vug_chat_with(vug_partner *p)
{
    chat c = { .partner = p, .ui = p->shown->ui };
    vug_err err;
    vug_status st = vug_partner_begin(p, &c.talk, &err);
    if (st == VUG_OK)
        st = vug_line_open(c.ui, &c.line, &err);
    if (st == VUG_OK) {
        if (!p->opt->quiet)
            say(&c, "/help lists the commands, Ctrl-D leaves");
        if (c.talk.open)
            (void)respond(&c, NULL);
        give_results(&c);
        serve(&c);
        vug_line_close(c.line);
    }
    vug_talk_release(&c.talk);
    return st == VUG_OK ? VUG_EXIT_OK : vug_ui_fail(c.ui, &err);
}
