#include "app/line.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wchar.h>

#include "core/os.h"

enum { HISTORY_LINES = 1000 };

struct vug_line {
    const vug_ui *ui;
    FILE *to; /* where the prompt is shown */
    EditLine *el;
    History *history;
    char *history_path; /* NULL: none */
    const char *prompt;
    bool interrupted;
};

/* ---- where the history lies -------------------------------------------------- */

/* The folder and those above it that are missing, for their owner alone. */
static bool make_folders(const char *path)
{
    char *copy = vug_strdup(path);
    bool ok = copy != NULL;
    for (char *at = copy; ok && at;) {
        at = strchr(at + 1, '/');
        if (at)
            *at = '\0';
        ok = mkdir(copy, 0700) == 0 || errno == EEXIST;
        if (at)
            *at = '/';
    }
    vug_free(copy);
    return ok;
}

/* XDG base directories: an unset or relative XDG_STATE_HOME counts as none. */
static char *history_path(void)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char *base = NULL, *path = NULL;
    if (state && state[0] == '/')
        base = vug_path_join(state, "vug");
    else if (home && home[0] == '/')
        base = vug_path_join(home, ".local/state/vug");
    if (base && make_folders(base))
        path = vug_path_join(base, "history");
    vug_free(base);
    return path;
}

/* Beside the old file and then in its place, so that a crash loses nothing. */
static void save_history(const vug_line *line)
{
    vug_buf temp = { 0 };
    HistEvent event;
    vug_buf_printf(&temp, "%s.new", line->history_path);
    if (temp.bad)
        return;
    const mode_t mask = umask(077);
    const bool ok = history(line->history, &event, H_SAVE, temp.ptr) >= 0 &&
                    rename(temp.ptr, line->history_path) == 0;
    (void)umask(mask);
    if (!ok)
        vug_ui_note(line->ui, "%s: the history could not be saved: %s", line->history_path,
                    strerror(errno));
    vug_buf_release(&temp);
}

/* ---- libedit ------------------------------------------------------------------ */

static char *show_prompt(EditLine *el)
{
    vug_line *line = NULL;
    (void)el_get(el, EL_CLIENTDATA, &line);
    return (char *)line->prompt; /* libedit only reads it */
}

static unsigned char on_ctrl_c(EditLine *el, wint_t key)
{
    vug_line *line = NULL;
    (void)key;
    (void)el_get(el, EL_CLIENTDATA, &line);
    line->interrupted = true;
    (void)fputs("^C\n", line->to);
    return CC_NEWLINE;
}

static bool start_editor(vug_line *line)
{
    HistEvent event;
    line->el = el_init("vug", stdin, line->to, stderr);
    line->history = history_init();
    if (!line->el || !line->history)
        return false;
    (void)history(line->history, &event, H_SETSIZE, HISTORY_LINES);
    (void)history(line->history, &event, H_SETUNIQUE, 1);
    if (line->history_path && vug_file_exists(line->history_path))
        (void)history(line->history, &event, H_LOAD, line->history_path);
    EditLine *el = line->el;
    (void)el_set(el, EL_CLIENTDATA, line);
    (void)el_set(el, EL_SIGNAL, 1); /* a resized or stopped terminal is set right again */
    (void)el_set(el, EL_EDITOR, "emacs");
    (void)el_set(el, EL_PROMPT, show_prompt);
    (void)el_set(el, EL_HIST, history, line->history);
    (void)el_source(el, NULL); /* ~/.editrc */
    (void)el_set(el, EL_SETTY, "-d", "-isig", NULL);
    /* The wide form: the other one copies the two strings and never frees them. */
    (void)el_wset(el, EL_ADDFN, L"vug-interrupt", L"Give up the line", on_ctrl_c);
    (void)el_set(el, EL_BIND, "^C", "vug-interrupt", NULL);
    return true;
}

vug_status vug_line_open(const vug_ui *ui, vug_line **out, vug_err *err)
{
    /* Characters of several bytes need a locale that knows them. */
    if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    vug_line *line = vug_alloc_zero(1, sizeof(*line));
    if (!line)
        return VUG_FAIL_NOMEM(err, "the line editor", sizeof(*line));
    line->ui = ui;
    line->to = ui->out_terminal ? stdout : stderr;
    line->prompt = "";
    line->history_path = history_path();
    if (!start_editor(line)) {
        vug_line_close(line);
        return VUG_FAIL(err, VUG_NOMEM, "the line editor cannot be started on this terminal");
    }
    *out = line;
    return VUG_OK;
}

/* `text` is without the line end and valid until the next call. */
static vug_line_event read_line(vug_line *line, const char *prompt, vug_str *text)
{
    int n = 0;
    line->prompt = prompt;
    line->interrupted = false;
    /* Before the prompt is seen, not after: what is typed at once counts too. */
    (void)el_set(line->el, EL_PREP_TERM, 1);
    const char *got = el_gets(line->el, &n);
    size_t len = got && n > 0 ? (size_t)n : 0;
    while (len > 0 && (got[len - 1] == '\n' || got[len - 1] == '\r'))
        len--;
    *text = (vug_str){ got, len };
    if (line->interrupted)
        return VUG_LINE_INTERRUPTED;
    if (got && n > 0)
        return VUG_LINE_TEXT;
    (void)fputc('\n', line->to);
    return VUG_LINE_END;
}

vug_line_event vug_line_read(vug_line *line, const char *prompt, vug_buf *to)
{
    for (;;) {
        vug_str text;
        const vug_line_event event = read_line(line, prompt, &text);
        const bool more = event == VUG_LINE_TEXT && vug_str_ends(text, "\\");
        if (event != VUG_LINE_END)
            vug_buf_append(to, text.ptr ? text.ptr : "", text.len - more);
        if (!more)
            return event;
        vug_buf_puts(to, "\n");
        prompt = ". ";
    }
}

void vug_line_remember(vug_line *line, const char *text)
{
    HistEvent event;
    (void)history(line->history, &event, H_ENTER, text);
}

void vug_line_close(vug_line *line)
{
    if (!line)
        return;
    if (line->history_path && line->history && line->el)
        save_history(line);
    if (line->history)
        history_end(line->history);
    if (line->el)
        el_end(line->el);
    vug_free(line->history_path);
    vug_free(line);
}
