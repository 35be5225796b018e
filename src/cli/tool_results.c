#include "cli/tool_results.h"

#include <string.h>

#include "cli/input.h"
#include "core/json.h"
#include "core/json_writer.h"
#include "core/utf8.h"

enum { MAX_SHOWN_ARGUMENTS = 60 }; /* bytes */
static const size_t max_result = (size_t)16 << 20;

static const char no_result[] = "The call was not carried out.";

static vug_str text_of(const vug_jv *v)
{
    return v ? v->str : (vug_str){ "", 0 };
}

/* Appends a prompt such as `get_weather({"city": "Paris"}) = `. */
static void append_prompt(vug_buf *to, vug_str name, vug_str arguments)
{
    size_t n = arguments.len;
    if (n > MAX_SHOWN_ARGUMENTS)
        for (n = MAX_SHOWN_ARGUMENTS; n > 0 && vug_utf8_is_continuation(arguments.ptr[n]);)
            n--; /* to the start of a UTF-8 character */
    vug_ui_append_line(name.ptr, name.len, to);
    vug_buf_puts(to, "(");
    vug_ui_append_line(arguments.ptr, n, to);
    vug_buf_puts(to, n < arguments.len ? " ..) = " : ") = ");
}

static void add_result(vug_chat_history *history, vug_str id, vug_str name, vug_str result)
{
    vug_json_writer js = { .more = true };
    vug_json_put_text(&js, "tool_call_id", id.ptr, id.len);
    vug_json_put_text(&js, "name", name.ptr, name.len);
    if (js.buf.bad)
        history->json.bad = true;
    else
        vug_chat_history_add(history, "tool", result, js.buf.ptr);
    vug_buf_release(&js.buf);
}

/* Replaces the line `/file FILE` by the text of the file. Returns false after an error message. */
static bool read_result_file(const vug_ui *ui, vug_buf *text)
{
    static const char command[] = "/file ";
    vug_text file;
    vug_err err;
    if (strncmp(text->ptr, command, strlen(command)) != 0) {
        vug_ui_note(ui,
                    "expected a result or /file FILE; put a space before a / that starts a text");
        return false;
    }
    const char *path = text->ptr + strlen(command);
    if (vug_input_read(path + strspn(path, " "), max_result, &file, &err) != VUG_OK) {
        (void)vug_ui_fail(ui, &err);
        return false;
    }
    text->len = 0;
    vug_buf_append(text, file.ptr, file.len);
    vug_text_release(&file);
    return true;
}

/* Reads the result of one call. Returns false if the user cancelled. */
static bool read_result(vug_line_editor *editor, const vug_ui *ui, const char *prompt,
                        vug_buf *result)
{
    for (;;) {
        result->len = 0;
        if (vug_line_editor_read(editor, prompt, result) != VUG_LINE_TEXT)
            return false;
        if (!result->len || result->bad)
            return true;
        vug_line_editor_add_history(editor, result->ptr);
        if (result->ptr[0] != '/' || read_result_file(ui, result))
            return true;
    }
}

static bool add_results(vug_line_editor *editor, const vug_ui *ui, vug_chat_history *history,
                        const vug_jv *list)
{
    bool go_on = true;
    for (const vug_jv *call = list->child; call; call = call->next) {
        const vug_jv *function = vug_jv_get(call, "function");
        const vug_str name = text_of(vug_jv_get(function, "name"));
        vug_buf prompt = { 0 }, result = { .max = max_result };
        append_prompt(&prompt, name, text_of(vug_jv_get(function, "arguments")));
        go_on = go_on && !prompt.bad && read_result(editor, ui, prompt.ptr, &result);
        add_result(history, text_of(vug_jv_get(call, "id")), name,
                   go_on && result.len && !result.bad ? (vug_str){ result.ptr, result.len }
                                                      : vug_str_of(no_result));
        vug_buf_release(&prompt);
        vug_buf_release(&result);
    }
    return go_on;
}

bool vug_tool_results_prompt(vug_line_editor *editor, const vug_ui *ui, vug_chat_history *history)
{
    vug_arena arena = { 0 };
    vug_buf text = { 0 };
    const vug_jv *list;
    vug_err err;
    vug_buf_puts(&text, "[");
    vug_buf_append(&text, history->calls.ptr, history->calls.len);
    vug_buf_puts(&text, "]");
    vug_status st = vug_buf_ok(&text, &err);
    if (st == VUG_OK)
        st = vug_json_tree((vug_str){ text.ptr, text.len }, "calls", &arena, &list, &err);
    if (st != VUG_OK)
        (void)vug_ui_fail(ui, &err);
    const bool go_on = st == VUG_OK && add_results(editor, ui, history, list);
    vug_arena_release(&arena);
    vug_buf_release(&text);
    return go_on;
}
