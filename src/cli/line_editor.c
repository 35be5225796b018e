#include "cli/line_editor.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wchar.h>

#include "core/os.h"

enum { HISTORY_LINES = 1000 };

struct vug_line_editor {
    const vug_ui *ui;
    FILE *to; /* stream for the prompt */
    EditLine *el;
    History *history;
    char *history_path; /* NULL: none */
    const char *prompt;
    bool interrupted;
};

/* ---- history file ------------------------------------------------------------ */

/* Creates the folder and its missing parents, with permissions for the owner only. */
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

/* The XDG specification ignores a relative XDG_STATE_HOME. */
static char *find_history_path(void)
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

/* Writes a new file and renames it, so that a crash keeps the old history. If the history is a link,
 * what it leads to is replaced, and the link stays. */
static void save_history(const vug_line_editor *editor)
{
    vug_buf temp = { 0 };
    HistEvent event;
    char *real = vug_path_real(editor->history_path); /* NULL: there is no history yet */
    const char *path = real ? real : editor->history_path;
    vug_buf_printf(&temp, "%s.new", path);
    const mode_t mask = umask(077);
    const bool ok = !temp.bad && history(editor->history, &event, H_SAVE, temp.ptr) >= 0 &&
                    rename(temp.ptr, path) == 0;
    (void)umask(mask);
    vug_free(real);
    if (!ok)
        vug_ui_note(editor->ui, "%s: cannot save the history: %s", editor->history_path,
                    strerror(errno));
    vug_buf_release(&temp);
}

/* ---- libedit ------------------------------------------------------------------ */

static char *show_prompt(EditLine *el)
{
    vug_line_editor *editor = NULL;
    (void)el_get(el, EL_CLIENTDATA, &editor);
    return (char *)editor->prompt; /* libedit does not write to it */
}

static unsigned char on_ctrl_c(EditLine *el, wint_t key)
{
    vug_line_editor *editor = NULL;
    (void)key;
    (void)el_get(el, EL_CLIENTDATA, &editor);
    editor->interrupted = true;
    (void)fputs("^C\n", editor->to);
    return CC_NEWLINE;
}

static bool start_editor(vug_line_editor *editor)
{
    HistEvent event;
    editor->el = el_init("vug", stdin, editor->to, stderr);
    editor->history = history_init();
    if (!editor->el || !editor->history)
        return false;
    (void)history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
    (void)history(editor->history, &event, H_SETUNIQUE, 1);
    if (editor->history_path && vug_file_exists(editor->history_path))
        (void)history(editor->history, &event, H_LOAD, editor->history_path);
    EditLine *el = editor->el;
    (void)el_set(el, EL_CLIENTDATA, editor);
    (void)el_set(el, EL_SIGNAL, 1); /* restores the terminal after a resize or stop */
    (void)el_set(el, EL_EDITOR, "emacs");
    (void)el_set(el, EL_PROMPT, show_prompt);
    (void)el_set(el, EL_HIST, history, editor->history);
    (void)el_source(el, NULL); /* ~/.editrc */
    (void)el_set(el, EL_SETTY, "-d", "-isig", NULL);
    /* el_set would copy these strings and leak them. */
    (void)el_wset(el, EL_ADDFN, L"vug-interrupt", L"Discard the line", on_ctrl_c);
    (void)el_set(el, EL_BIND, "^C", "vug-interrupt", NULL);
    return true;
}

vug_status vug_line_editor_open(const vug_ui *ui, vug_line_editor **out, vug_err *err)
{
    /* Multibyte characters need a UTF-8 locale. */
    if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    vug_line_editor *editor = vug_alloc_zero(1, sizeof(*editor));
    if (!editor)
        return VUG_FAIL_NOMEM(err, "the line editor", sizeof(*editor));
    editor->ui = ui;
    editor->to = ui->out_terminal ? stdout : stderr;
    editor->prompt = "";
    editor->history_path = find_history_path();
    if (!start_editor(editor)) {
        vug_line_editor_close(editor);
        return VUG_FAIL(err, VUG_NOMEM, "cannot start the line editor on this terminal");
    }
    *out = editor;
    return VUG_OK;
}

/* `text` excludes the newline and is valid until the next call. */
static vug_line_event read_line(vug_line_editor *editor, const char *prompt, vug_str *text)
{
    int n = 0;
    editor->prompt = prompt;
    editor->interrupted = false;
    /* Switch modes before the prompt appears, so that no early key is lost. */
    (void)el_set(editor->el, EL_PREP_TERM, 1);
    const char *got = el_gets(editor->el, &n);
    size_t len = got && n > 0 ? (size_t)n : 0;
    while (len > 0 && (got[len - 1] == '\n' || got[len - 1] == '\r'))
        len--;
    *text = (vug_str){ got, len };
    if (editor->interrupted)
        return VUG_LINE_INTERRUPTED;
    if (got && n > 0)
        return VUG_LINE_TEXT;
    (void)fputc('\n', editor->to);
    return VUG_LINE_END;
}

vug_line_event vug_line_editor_read(vug_line_editor *editor, const char *prompt, vug_buf *to)
{
    for (;;) {
        vug_str text;
        const vug_line_event event = read_line(editor, prompt, &text);
        const bool more = event == VUG_LINE_TEXT && vug_str_ends(text, "\\");
        if (event != VUG_LINE_END)
            vug_buf_append(to, text.ptr ? text.ptr : "", text.len - more);
        if (!more)
            return event;
        vug_buf_puts(to, "\n");
        prompt = ". ";
    }
}

void vug_line_editor_add_history(vug_line_editor *editor, const char *text)
{
    HistEvent event;
    (void)history(editor->history, &event, H_ENTER, text);
}

void vug_line_editor_close(vug_line_editor *editor)
{
    if (!editor)
        return;
    if (editor->history_path && editor->history && editor->el)
        save_history(editor);
    if (editor->history)
        history_end(editor->history);
    if (editor->el)
        el_end(editor->el);
    vug_free(editor->history_path);
    vug_free(editor);
}
