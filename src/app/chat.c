#include "app/chat.h"

#include <string.h>

#include "app/line.h"

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
                        "space before a / makes it text.");
    say(c, text.ptr ? text.ptr : "");
    vug_buf_release(&text);
}

static void begin(chat *c)
{
    const vug_options *opt = c->partner->opt;
    vug_talk_release(&c->talk);
    if (opt->system)
        vug_talk_add(&c->talk, "system", vug_str_of(opt->system), "");
}

static void do_reset(chat *c, const char *rest)
{
    (void)rest;
    c->partner->reset(c->partner->self);
    begin(c);
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

/* An answer that was given up is kept as far as it came; without a word of it
 * the question is taken back, so that the turns still alternate. */
static void take_turn(chat *c, vug_str text)
{
    vug_partner *p = c->partner;
    vug_err err;
    bool interrupted = false;
    const bool raw = p->opt->raw;
    const size_t n = c->talk.n, len = c->talk.json.len;
    if (!raw)
        vug_talk_add(&c->talk, "user", text, "");
    const vug_status st = p->answer(p->self, &c->talk, raw ? &text : NULL, &interrupted, &err);
    if (st != VUG_OK)
        (void)vug_ui_fail(c->ui, &err);
    else if (!p->opt->quiet)
        p->figures(p->self);
    if (st != VUG_OK || raw || !vug_shown_keep(p->shown, &c->talk)) {
        c->talk.n = n;
        c->talk.json.len = len;
    }
}

typedef enum {
    GOT_TEXT,
    GOT_GIVEN_UP, /* Ctrl-C in a text */
    GOT_NOTHING,  /* Ctrl-C at an empty prompt */
    GOT_END,
} got;

/* One message: a line, and those that follow a backslash at a line's end. */
static got read_message(chat *c, vug_buf *to)
{
    const char *prompt = "> ";
    for (;;) {
        vug_str text;
        const vug_line_event event = vug_line_read(c->line, prompt, &text);
        if (event == VUG_LINE_END)
            return GOT_END;
        if (event == VUG_LINE_INTERRUPTED)
            return text.len || to->len ? GOT_GIVEN_UP : GOT_NOTHING;
        const bool more = vug_str_ends(text, "\\");
        vug_buf_append(to, text.ptr, text.len - more);
        if (!more)
            return GOT_TEXT;
        vug_buf_puts(to, "\n");
        prompt = ". ";
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
        const got what = read_message(c, &text);
        if (what == GOT_END || (what == GOT_NOTHING && interrupted)) {
            c->leave = true;
        } else if (what == GOT_NOTHING) {
            say(c, "Ctrl-C again, or Ctrl-D, leaves");
        } else if (what == GOT_TEXT && !text.bad && !is_blank(&text)) {
            vug_line_remember(c->line, text.ptr);
            if (text.ptr[0] == '/')
                run_command(c, text.ptr);
            else
                take_turn(c, (vug_str){ text.ptr, text.len });
        }
        interrupted = what == GOT_NOTHING;
        vug_buf_release(&text);
    }
}

int vug_chat_with(vug_partner *p)
{
    chat c = { .partner = p, .ui = p->shown->ui };
    vug_err err;
    begin(&c);
    const vug_status st = vug_line_open(c.ui, &c.line, &err);
    if (st == VUG_OK) {
        if (!p->opt->quiet)
            say(&c, "/help lists the commands, Ctrl-D leaves");
        serve(&c);
        vug_line_close(c.line);
    }
    vug_talk_release(&c.talk);
    return st == VUG_OK ? VUG_EXIT_OK : vug_ui_fail(c.ui, &err);
}
