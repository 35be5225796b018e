#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/conversation.h"
#include "cli/input.h"
#include "core/json.h"
#include "core/json_writer.h"

static const size_t max_file = (size_t)64 << 20;

/* ---- one conversation ---------------------------------------------------------------- */

static int print_prompt(vug_ui *ui, const vug_options *opt, const vug_text *text)
{
    if (!opt->json) {
        (void)vug_ui_write_text(ui, text->ptr, text->len);
        return VUG_EXIT_OK;
    }
    vug_json_writer js = { 0 };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_text(&js, "text", text->ptr, text->len);
    vug_json_end(&js, '}');
    return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
}

static int render_file(vug_ui *ui, const vug_options *opt, const vug_chat *chat)
{
    vug_prompt_options prompt_options;
    vug_text json = { 0 };
    vug_prompt prompt = { 0 };
    vug_err err;
    vug_status st = vug_prompt_options_init(&prompt_options, opt, &err);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    st = vug_input_read(opt->messages, max_file, &json, &err);
    if (st == VUG_OK) {
        st = vug_prompt_options_render(&prompt_options, chat, (vug_str){ json.ptr, json.len },
                                       &prompt, &err);
        if (st != VUG_OK)
            (void)vug_fail_within(&err, st, vug_input_name(opt->messages));
    }
    const int code = st == VUG_OK ? print_prompt(ui, opt, &prompt.text) : vug_ui_fail(ui, &err);
    vug_prompt_release(&prompt);
    vug_text_release(&json);
    vug_prompt_options_release(&prompt_options);
    return code;
}

/* ---- many lines ------------------------------------------------------------------------ */

/* The --templates file: {"NAME": {"template": .., "bos_token": ..}} or {"NAME": "template"}. A
 * template is parsed when a line first uses it. */
typedef struct {
    vug_arena arena;
    const vug_jv *root; /* NULL: every line uses the model's template */
    vug_chat **chat;    /* [root->n] */
    vug_text file;
    const vug_chat *model;
    bool strict;
} template_library;

static void library_release(template_library *l)
{
    for (size_t i = 0; l->chat && i < l->root->n; i++)
        vug_chat_close(l->chat[i]);
    vug_arena_release(&l->arena);
    vug_text_release(&l->file);
}

static vug_status library_open(template_library *l, const vug_options *opt, vug_err *err)
{
    if (!opt->templates)
        return VUG_OK;
    VUG_TRY(vug_input_read(opt->templates, max_file, &l->file, err));
    VUG_TRY(vug_json_tree((vug_str){ l->file.ptr, l->file.len }, opt->templates, &l->arena,
                          &l->root, err));
    if (l->root->type != VUG_JSON_OBJECT)
        return VUG_FAIL(err, VUG_FORMAT, "%s: expected an object with a template for each name",
                        opt->templates);
    l->chat = vug_arena_alloc(&l->arena, l->root->n + 1, sizeof(vug_chat *));
    return l->chat ? VUG_OK : VUG_FAIL_NOMEM(err, opt->templates, l->root->n);
}

/* The parts of a line, as JSON. */
typedef struct {
    vug_str name; /* of the template */
    vug_str messages, tools;
    bool strict;
    vug_prompt_options prompt_options;
} render_task;

/* Skips the next value and returns its text. */
static vug_str skip_value(vug_json_reader *j)
{
    (void)vug_json_peek(j);
    const size_t from = j->pos;
    vug_json_skip(j);
    return (vug_str){ j->src.ptr + from, j->pos - from };
}

static void read_options(vug_json_reader *j, render_task *t)
{
    vug_str key;
    vug_json_enter_object(j);
    while (vug_json_key(j, &key)) {
        if (vug_str_is(key, "add_generation_prompt")) {
            t->prompt_options.no_generation_prompt = !vug_json_bool(j);
            continue;
        }
        const vug_str value = skip_value(j);
        if (vug_str_is(key, "tools"))
            t->tools = value;
        else
            vug_prompt_options_add_variable(&t->prompt_options, key, value);
    }
}

/* {"template": NAME, "messages": [..], "options": {..}}; other members are ignored. */
static vug_status read_task(vug_str line, vug_arena *arena, render_task *t, vug_err *err)
{
    vug_json_reader j = vug_json_reader_over(line, "JSON", arena);
    vug_str key;
    vug_json_enter_object(&j);
    while (vug_json_key(&j, &key)) {
        if (vug_str_is(key, "template"))
            t->name = vug_json_string(&j);
        else if (vug_str_is(key, "messages"))
            t->messages = skip_value(&j);
        else if (vug_str_is(key, "options"))
            read_options(&j, t);
        else
            vug_json_skip(&j);
    }
    VUG_TRY(vug_json_finish(&j, err));
    if (!t->messages.ptr)
        return VUG_FAIL(err, VUG_FORMAT, "\"messages\" is missing");
    return VUG_OK;
}

static bool has_variable(const vug_prompt_options *s, vug_str name)
{
    char key[80];
    const int n = snprintf(key, sizeof(key), "\"%.*s\":", VUG_STR_ARG(name));
    return n > 0 && n < (int)sizeof(key) && s->variables.len &&
           strstr(s->variables.ptr, key) != NULL;
}

/* Adds members such as "bos_token" as variables, unless the line sets them itself. */
static vug_status add_special_tokens(const vug_jv *entry, vug_prompt_options *to, vug_err *err)
{
    for (const vug_jv *m = vug_jv_is(entry, VUG_JSON_OBJECT) ? entry->child : NULL; m;
         m = m->next) {
        vug_buf value = { 0 };
        if (!vug_str_ends(m->key, "_token") || m->type != VUG_JSON_STRING ||
            has_variable(to, m->key))
            continue;
        vug_json_append_string(&value, m->str.ptr, m->str.len);
        vug_prompt_options_add_variable(to, m->key,
                                        (vug_str){ value.ptr ? value.ptr : "null", value.len });
        vug_buf_release(&value);
    }
    return vug_buf_ok(&to->variables, err);
}

static vug_status find_chat(template_library *l, vug_str name, vug_prompt_options *to,
                            const vug_chat **out, vug_err *err)
{
    size_t i = 0;
    char label[128];
    *out = l->model;
    if (!l->root)
        return VUG_OK;
    for (const vug_jv *entry = l->root->child; entry; entry = entry->next, i++) {
        if (!vug_str_equal(entry->key, name))
            continue;
        const vug_jv *source =
                entry->type == VUG_JSON_STRING ? entry : vug_jv_get(entry, "template");
        if (!vug_jv_is(source, VUG_JSON_STRING))
            break;
        (void)snprintf(label, sizeof(label), "%.*s", (int)(name.len < 100 ? name.len : 100),
                       name.ptr);
        if (!l->chat[i])
            VUG_TRY(vug_chat_parse(source->str.ptr, source->str.len, label, &l->chat[i], err));
        *out = l->chat[i];
        return add_special_tokens(entry, to, err);
    }
    return VUG_FAIL(err, VUG_ARGUMENT, "no template is named \"%.*s\"", VUG_STR_ARG(name));
}

static vug_status render_one(template_library *l, render_task *t, vug_prompt *out, vug_err *err)
{
    const vug_chat *chat;
    VUG_TRY(find_chat(l, t->name, &t->prompt_options, &chat, err));
    const vug_conversation c = {
        .messages = t->messages.ptr,
        .messages_len = t->messages.len,
        .tools = t->tools.ptr,
        .tools_len = t->tools.len,
        .variables = t->prompt_options.variables.ptr,
        .variables_len = t->prompt_options.variables.len,
        .no_generation_prompt = t->prompt_options.no_generation_prompt,
        .strict = t->strict,
    };
    return vug_chat_render(chat, &c, out, err);
}

/* Fails only if the line is malformed; an error in rendering is a result. */
static vug_status render_line(vug_str line, vug_buf *to, void *user, vug_err *err)
{
    template_library *l = user;
    vug_arena arena = { 0 };
    vug_prompt prompt = { 0 };
    render_task t = { .strict = l->strict };
    vug_err render_err;
    vug_status st = read_task(line, &arena, &t, err);
    if (st == VUG_OK) {
        const vug_status rendered = render_one(l, &t, &prompt, &render_err);
        vug_json_writer js = { .to = to };
        vug_json_begin(&js, NULL, '{');
        if (rendered == VUG_OK)
            vug_json_put_text(&js, "text", prompt.text.ptr, prompt.text.len);
        else
            vug_json_put_string(&js, "error", render_err.msg);
        vug_json_end(&js, '}');
        vug_buf_puts(to, "\n");
    }
    vug_prompt_release(&prompt);
    vug_prompt_options_release(&t.prompt_options);
    vug_arena_release(&arena);
    return st;
}

static int render_lines(vug_ui *ui, const vug_options *opt, const vug_chat *chat)
{
    template_library l = { .model = chat, .strict = opt->strict_template };
    vug_err err;
    const int code = library_open(&l, opt, &err) == VUG_OK
                             ? vug_for_each_line(ui, opt->jsonl, render_line, &l)
                             : vug_ui_fail(ui, &err);
    library_release(&l);
    return code;
}

/* ---- the command -------------------------------------------------------------------------- */

int vug_cmd_template(vug_ui *ui, const vug_options *opt)
{
    const char *model = opt->n_operands ? opt->operand[0] : NULL;
    vug_chat *chat = NULL;
    vug_err err;
    if (!opt->messages == !opt->jsonl) {
        vug_ui_note(ui, "template requires either --messages FILE or --jsonl FILE");
        return VUG_EXIT_USAGE;
    }
    if (!model && !opt->template_file && (!opt->templates || opt->messages)) {
        vug_ui_note(ui,
                    "template requires a MODEL or --template FILE, or --templates with --jsonl");
        return VUG_EXIT_USAGE;
    }
    if ((model || opt->template_file) && !(opt->templates && opt->jsonl) &&
        vug_chat_open(model, opt->template_file, &chat, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    const int code = opt->jsonl ? render_lines(ui, opt, chat) : render_file(ui, opt, chat);
    vug_chat_close(chat);
    return code;
}
