#include "app/results.h"

#include <string.h>

#include "app/input.h"
#include "core/json.h"

enum { SHOWN_ARGUMENTS = 60 }; /* bytes of them in the question */
static const size_t max_result = (size_t)16 << 20;

static const char no_result[] = "The call was not carried out.";

static vug_str text_of(const vug_jv *v)
{
    return v ? v->str : (vug_str){ "", 0 };
}

/* get_weather({"city": "Paris"}) = */
static void put_question(vug_buf *to, vug_str name, vug_str arguments)
{
    size_t n = arguments.len;
    if (n > SHOWN_ARGUMENTS)
        for (n = SHOWN_ARGUMENTS; n > 0 && (arguments.ptr[n] & 0xc0) == 0x80;)
            n--; /* not within a character */
    vug_ui_line(name.ptr, name.len, to);
    vug_buf_puts(to, "(");
    vug_ui_line(arguments.ptr, n, to);
    vug_buf_puts(to, n < arguments.len ? " ..) = " : ") = ");
}

static void add_result(vug_talk *talk, vug_str id, vug_str name, vug_str result)
{
    vug_buf more = { 0 };
    vug_buf_puts(&more, ",\"tool_call_id\":");
    vug_json_write_string(&more, id.ptr, id.len);
    vug_buf_puts(&more, ",\"name\":");
    vug_json_write_string(&more, name.ptr, name.len);
    if (more.bad)
        talk->json.bad = true;
    else
        vug_talk_add(talk, "tool", result, more.ptr);
    vug_buf_release(&more);
}

/* /file FILE puts its text in the place of the line. False, with a note, where it cannot. */
static bool read_file(const vug_ui *ui, vug_buf *text)
{
    static const char command[] = "/file ";
    vug_text file;
    vug_err err;
    if (strncmp(text->ptr, command, strlen(command)) != 0) {
        vug_ui_note(ui, "expected a result, or /file FILE; a space before a / makes it text");
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

/* What the person has for it; false when they gave up. */
static bool ask_one(vug_line *line, const vug_ui *ui, const char *question, vug_buf *result)
{
    for (;;) {
        result->len = 0;
        if (vug_line_read(line, question, result) != VUG_LINE_TEXT)
            return false;
        if (!result->len || result->bad)
            return true;
        vug_line_remember(line, result->ptr);
        if (result->ptr[0] != '/' || read_file(ui, result))
            return true;
    }
}

static bool ask_all(vug_line *line, const vug_ui *ui, vug_talk *talk, const vug_jv *list)
{
    bool go_on = true;
    for (const vug_jv *call = list->child; call; call = call->next) {
        const vug_jv *function = vug_jv_get(call, "function");
        const vug_str name = text_of(vug_jv_get(function, "name"));
        vug_buf question = { 0 }, result = { .max = max_result };
        put_question(&question, name, text_of(vug_jv_get(function, "arguments")));
        go_on = go_on && !question.bad && ask_one(line, ui, question.ptr, &result);
        add_result(talk, text_of(vug_jv_get(call, "id")), name,
                   go_on && result.len && !result.bad ? (vug_str){ result.ptr, result.len }
                                                      : vug_str_of(no_result));
        vug_buf_release(&question);
        vug_buf_release(&result);
    }
    return go_on;
}

bool vug_results_ask(vug_line *line, const vug_ui *ui, vug_talk *talk)
{
    vug_arena arena = { 0 };
    vug_buf text = { 0 };
    const vug_jv *list;
    vug_err err;
    vug_buf_puts(&text, "[");
    vug_buf_append(&text, talk->calls.ptr, talk->calls.len);
    vug_buf_puts(&text, "]");
    vug_status st = vug_buf_ok(&text, &err);
    if (st == VUG_OK)
        st = vug_json_tree((vug_str){ text.ptr, text.len }, "calls", &arena, &list, &err);
    if (st != VUG_OK)
        (void)vug_ui_fail(ui, &err);
    const bool go_on = st == VUG_OK && ask_all(line, ui, talk, list);
    vug_arena_release(&arena);
    vug_buf_release(&text);
    return go_on;
}
