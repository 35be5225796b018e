/* Opening a chat template, probing what it supports, and rendering conversations with it. */

#include "text/chat/chat_template.h"

#include "core/os.h"
#include "text/chat/messages.h"
#include "text/template/template.h"

/* A template and its capabilities. */
typedef struct {
    vug_template *tmpl; /* NULL: there is no template for tools */
    vug_template_capabilities capabilities;
    bool prints_tools;
} chat_template;

struct vug_chat {
    char *name;
    chat_template main, with_tools;
    vug_output_format format;
    vug_arena arena; /* of token */
    vug_template_var token[VUG_CHAT_MAX_TOKENS];
    size_t n_tokens;
};

/* ---- variables -------------------------------------------------------------------------- */

enum { OWN_VARIABLES = 4, MAX_VARIABLES = 256 };

typedef struct {
    vug_template_var var[OWN_VARIABLES + VUG_CHAT_MAX_TOKENS + MAX_VARIABLES];
    size_t n;
    vug_jv none, add_generation_prompt;
} variable_list;

static void add_variable(variable_list *v, const char *name, const vug_jv *value, bool untrusted)
{
    v->var[v->n++] = (vug_template_var){ name, value, untrusted };
}

/* Adds the caller's variables, which replace tokens of the same name. Such a token is trusted
 * like the one that it replaces. */
static vug_status add_given_variables(variable_list *v, const vug_jv *given, vug_arena *arena,
                                      vug_err *err)
{
    static const char *const taken[] = { "messages", "tools", "add_generation_prompt" };
    if (given && given->n > MAX_VARIABLES)
        return VUG_FAIL(err, VUG_LIMIT, "variables: %zu given, at most %d are allowed", given->n,
                        (int)MAX_VARIABLES);
    for (const vug_jv *m = given ? given->child : NULL; m; m = m->next) {
        const vug_str name = vug_arena_copy(arena, m->key);
        if (!name.ptr)
            return VUG_FAIL_NOMEM(err, "variables", m->key.len);
        for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
            if (vug_str_is(name, taken[i]))
                return VUG_FAIL(err, VUG_ARGUMENT,
                                "variables: '%s' follows from the conversation and cannot be given",
                                taken[i]);
        }
        add_variable(v, name.ptr, m, !vug_str_ends(name, "_token"));
    }
    return VUG_OK;
}

static vug_status render(const vug_chat *chat, const chat_template *t, const vug_chat_input *input,
                         vug_prompt *out, vug_err *err)
{
    variable_list vars = { .none = { .type = VUG_JSON_NULL },
                           .add_generation_prompt = { .type = VUG_JSON_BOOL,
                                                      .boolean = !input->no_generation_prompt } };
    vug_arena arena = { 0 };
    add_variable(&vars, "messages", input->messages, true);
    add_variable(&vars, "tools", input->tools ? input->tools : &vars.none, true);
    add_variable(&vars, "add_generation_prompt", &vars.add_generation_prompt, false);
    if (!vug_jv_get(input->given, "documents"))
        add_variable(&vars, "documents", &vars.none, false);
    for (size_t i = 0; i < chat->n_tokens; i++) {
        if (!vug_jv_get(input->given, chat->token[i].name))
            add_variable(&vars, chat->token[i].name, chat->token[i].value, false);
    }
    vug_status st = add_given_variables(&vars, input->given, &arena, err);
    if (st == VUG_OK)
        st = vug_template_render(t->tmpl, vars.var, vars.n, vug_local_time(), out, err);
    vug_arena_release(&arena);
    return st;
}

/* ---- capabilities --------------------------------------------------------------- */

/* A small conversation that is rendered when a template is opened. The template lacks the
 * capability if it fails, or if its output lacks `wanted` or `also`. */
typedef struct {
    const char *messages;
    const char *wanted, *also;
    const char *unwanted; /* shows that the template printed a value as it does not know it */
} capability_probe;

#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define SYSTEM(text)    "{\"role\":\"system\",\"content\":\"" text "\"}"
#define DEVELOPER(text) "{\"role\":\"developer\",\"content\":\"" text "\"}"
#define PARTS           "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"vug-1\"}]}]"
#define CALLED(arguments)                                                                       \
    USER("vug-2")                                                                               \
    ",{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call00001\",\"type\":" \
    "\"function\",\"function\":{\"name\":\"vug-1\",\"arguments\":" arguments "}}]},{\"role\":"  \
    "\"tool\",\"tool_call_id\":\"call00001\",\"name\":\"vug-1\",\"content\":\"vug-3\"}"

static const capability_probe probes[VUG_CAPABILITY_COUNT][2] = {
    [VUG_CAPABILITY_STRING] = { { "[" USER("vug-1") "]", "vug-1", NULL, NULL } },
    [VUG_CAPABILITY_PARTS] = { { PARTS, "vug-1", NULL, "'type'" },
                               { PARTS, "vug-1", NULL, "\"type\"" } },
    [VUG_CAPABILITY_DEVELOPER] = { { "[" DEVELOPER("vug-1") "," USER("vug-2") "]", "vug-1", NULL,
                                     NULL } },
    [VUG_CAPABILITY_SYSTEM] = { { "[" SYSTEM("vug-1") "," USER("vug-2") "]", "vug-1", "vug-2",
                                  NULL } },
    [VUG_CAPABILITY_LATE_SYSTEM] = { { "[" USER("vug-2") "," ASSISTANT("vug-3") "," SYSTEM(
                                               "vug-1") "," USER("vug-4") "]",
                                       "vug-1", NULL, NULL } },
    [VUG_CAPABILITY_LONE_SYSTEM] = { { "[" SYSTEM("vug-1") "]", "vug-1", NULL, NULL } },
    [VUG_CAPABILITY_CALLS] = { { "[" CALLED("{}") "]", "vug-1", "vug-3", NULL } },
    [VUG_CAPABILITY_TEXT_ARGUMENTS] = { { "[" CALLED("\"vug-4\"") "]", "vug-4", NULL, NULL } },
    [VUG_CAPABILITY_STRAY_RESULT] = { { "[" USER("vug-2") ",{\"role\":\"tool\",\"name\":\"f\","
                                                          "\"content\":\"vug-1\"}]",
                                        "vug-1", NULL, NULL } },
    [VUG_CAPABILITY_REPEATED_ROLE] = { { "[" USER("vug-1") "," USER("vug-2") "]", "vug-1", "vug-2",
                                         NULL },
                                       { "[" USER("vug-3") "," ASSISTANT("vug-1") "," ASSISTANT(
                                                 "vug-2") "]",
                                         "vug-1", "vug-2", NULL } },
    [VUG_CAPABILITY_AFTER_RESULT] = { { "[" CALLED("{}") "," USER("vug-4") "]", "vug-3", "vug-4",
                                        NULL } },
    [VUG_CAPABILITY_ASSISTANT_FIRST] = { { "[" ASSISTANT("vug-1") "," USER("vug-2") "]", "vug-1",
                                           "vug-2", NULL } },
};

static vug_status run_probe(const vug_chat *chat, chat_template *tmpl,
                            const capability_probe *probe, bool *lacking, vug_err *err)
{
    vug_arena arena = { 0 };
    vug_prompt prompt = { 0 };
    vug_chat_input input = { .no_generation_prompt = true };
    vug_status st =
            vug_json_tree(vug_str_of(probe->messages), "probe", &arena, &input.messages, err);
    if (st == VUG_OK) /* tokens may only be known later */
        st = vug_json_tree(vug_str_of("{\"bos_token\":\"\",\"eos_token\":\"\"}"), "probe", &arena,
                           &input.given, err);
    if (st == VUG_OK)
        st = render(chat, tmpl, &input, &prompt, err);
    const char *text = prompt.text.ptr;
    if (st == VUG_OK)
        *lacking = *lacking || !strstr(text, probe->wanted) ||
                   (probe->also && !strstr(text, probe->also)) ||
                   (probe->unwanted && strstr(text, probe->unwanted));
    else
        *lacking = true;
    vug_prompt_release(&prompt);
    vug_arena_release(&arena);
    return st == VUG_NOMEM || st == VUG_LIMIT ? st : VUG_OK; /* others say nothing about messages */
}

static vug_status detect_capabilities(const vug_chat *chat, chat_template *tmpl, vug_err *err)
{
    vug_template_capabilities *found = &tmpl->capabilities;
    for (int i = 0; i < VUG_CAPABILITY_COUNT; i++) {
        for (int k = 0; k < 2 && probes[i][k].messages; k++)
            VUG_TRY(run_probe(chat, tmpl, &probes[i][k], &found->lacks[i], err));
    }
    /* A template that drops a plain question cannot be probed: only parts are tried. */
    if (found->lacks[VUG_CAPABILITY_STRING])
        *found = (vug_template_capabilities){
            .lacks = { [VUG_CAPABILITY_STRING] = !found->lacks[VUG_CAPABILITY_PARTS] }
        };
    return VUG_OK;
}

static bool contains(vug_str text, const char *part)
{
    return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static vug_status open_template(const vug_chat *chat, vug_str source, chat_template *out,
                                vug_err *err)
{
    if (source.len > VUG_CHAT_MAX_TEMPLATE)
        return VUG_FAIL(err, VUG_LIMIT, "%s: a template of %zu bytes, at most %zu are read",
                        chat->name, source.len, VUG_CHAT_MAX_TEMPLATE);
    VUG_TRY(vug_template_parse(source, chat->name, &out->tmpl, err));
    out->prints_tools = contains(source, "tools");
    VUG_TRY(detect_capabilities(chat, out, err));
    /* A template that prints any role need not belong to a model that knows this one. */
    if (!contains(source, "developer"))
        out->capabilities.lacks[VUG_CAPABILITY_DEVELOPER] = true;
    return VUG_OK;
}

/* ---- opening ---------------------------------------------------------------------------------- */

static vug_status copy_tokens(vug_chat *chat, const vug_chat_parts *parts, vug_err *err)
{
    for (size_t i = 0; i < parts->n_tokens && i < VUG_CHAT_MAX_TOKENS; i++) {
        const vug_str name = vug_arena_copy(&chat->arena, parts->token[i].name);
        vug_jv *value = vug_arena_alloc(&chat->arena, 1, sizeof(*value));
        if (value)
            value->str = vug_arena_copy(&chat->arena, parts->token[i].spelling);
        if (!name.ptr || !value || !value->str.ptr)
            return VUG_FAIL_NOMEM(err, chat->name, sizeof(*value));
        value->type = VUG_JSON_STRING;
        chat->token[chat->n_tokens++] = (vug_template_var){ name.ptr, value, false };
    }
    return VUG_OK;
}

static vug_status open_templates(vug_chat *chat, const vug_chat_parts *parts, vug_err *err)
{
    VUG_TRY(copy_tokens(chat, parts, err));
    VUG_TRY(open_template(chat, parts->source, &chat->main, err));
    if (parts->with_tools.len)
        VUG_TRY(open_template(chat, parts->with_tools, &chat->with_tools, err));
    chat->format =
            vug_output_format_detect(parts->with_tools.len ? parts->with_tools : parts->source);
    return VUG_OK;
}

vug_status vug_chat_create(const vug_chat_parts *parts, vug_chat **out, vug_err *err)
{
    vug_chat *chat = vug_alloc_zero(1, sizeof(*chat));
    if (!chat || !(chat->name = vug_strdup(parts->name))) {
        vug_free(chat);
        return VUG_FAIL_NOMEM(err, parts->name, sizeof(*chat));
    }
    const vug_status st = open_templates(chat, parts, err);
    if (st != VUG_OK) {
        vug_chat_close(chat);
        return st;
    }
    *out = chat;
    return VUG_OK;
}

vug_status vug_chat_parse(const char *source, size_t len, const char *name, vug_chat **out,
                          vug_err *err)
{
    const vug_chat_parts parts = { .name = name, .source = { source, len } };
    return vug_chat_create(&parts, out, err);
}

void vug_chat_close(vug_chat *chat)
{
    if (!chat)
        return;
    vug_template_destroy(chat->main.tmpl);
    vug_template_destroy(chat->with_tools.tmpl);
    vug_arena_release(&chat->arena);
    vug_free(chat->name);
    vug_free(chat);
}

const char *vug_chat_source(const vug_chat *chat)
{
    return chat->name;
}

const vug_output_format *vug_chat_output_format(const vug_chat *chat)
{
    return &chat->format;
}

bool vug_chat_supports_tools(const vug_chat *chat)
{
    return chat->with_tools.tmpl ? chat->with_tools.prints_tools : chat->main.prints_tools;
}

/* ---- a conversation ----------------------------------------------------------------------------- */

static vug_status read_variables(const vug_conversation *c, vug_arena *arena, const vug_jv **out,
                                 vug_err *err)
{
    *out = NULL;
    if (c->variables_len == 0)
        return VUG_OK;
    if (c->variables_len > VUG_MESSAGES_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT, "variables: %zu bytes, at most %zu are read",
                        c->variables_len, VUG_MESSAGES_MAX_BYTES);
    VUG_TRY(vug_json_tree((vug_str){ c->variables, c->variables_len }, "variables", arena, out,
                          err));
    if ((*out)->type != VUG_JSON_OBJECT)
        return VUG_FAIL(err, VUG_FORMAT, "variables: expected an object");
    return VUG_OK;
}

vug_status vug_chat_read(const vug_conversation *c, vug_arena *arena, vug_chat_input *out,
                         vug_err *err)
{
    *out = (vug_chat_input){ .no_generation_prompt = c->no_generation_prompt, .strict = c->strict };
    VUG_TRY(vug_messages_read((vug_str){ c->messages, c->messages_len }, arena, &out->messages,
                              err));
    VUG_TRY(vug_tools_read((vug_str){ c->tools, c->tools_len }, c->strict, arena, &out->tools,
                           err));
    return read_variables(c, arena, &out->given, err);
}

vug_status vug_chat_render_input(const vug_chat *chat, const vug_chat_input *given,
                                 vug_arena *arena, vug_prompt *out, vug_err *err)
{
    vug_chat_input input = *given;
    const chat_template *tmpl =
            input.tools && chat->with_tools.tmpl ? &chat->with_tools : &chat->main;
    if (!input.strict)
        VUG_TRY(vug_messages_adapt(input.messages, &tmpl->capabilities, arena, &input.messages,
                                   err));
    return render(chat, tmpl, &input, out, err);
}

vug_str vug_prompt_opening(const vug_prompt *prompt)
{
    const size_t from = prompt->n_untrusted ? prompt->untrusted[prompt->n_untrusted - 1].to : 0;
    return (vug_str){ prompt->text.ptr + from, prompt->text.len - from };
}

/* Appends the beginning of the answer, as untrusted text. */
static vug_status append_prefill(const vug_chat *chat, vug_str prefill, vug_prompt *prompt,
                                 vug_err *err)
{
    const size_t n = prompt->n_untrusted;
    vug_range *untrusted = vug_alloc(n + 1, sizeof(*untrusted));
    vug_buf text = { 0 };
    if (!untrusted)
        return VUG_FAIL_NOMEM(err, "a prompt", (n + 1) * sizeof(*untrusted));
    vug_buf_append(&text, prompt->text.ptr, prompt->text.len);
    if (vug_output_format_opens_thinking(&chat->format, vug_prompt_opening(prompt)))
        vug_buf_puts(&text, chat->format.thinking_end);
    for (size_t i = 0; i < n; i++)
        untrusted[i] = prompt->untrusted[i];
    untrusted[n] = (vug_range){ text.len, text.len + prefill.len };
    vug_buf_append(&text, prefill.ptr, prefill.len);
    vug_prompt_release(prompt);
    prompt->untrusted = untrusted;
    prompt->n_untrusted = n + 1;
    return vug_buf_take(&text, &prompt->text, err);
}

vug_status vug_chat_render(const vug_chat *chat, const vug_conversation *conversation,
                           vug_prompt *out, vug_err *err)
{
    vug_arena arena = { 0 };
    vug_chat_input input;
    vug_status st = vug_chat_read(conversation, &arena, &input, err);
    if (st == VUG_OK)
        st = vug_chat_render_input(chat, &input, &arena, out, err);
    vug_arena_release(&arena);
    if (st == VUG_OK && conversation->prefill_len > 0) {
        const vug_str prefill = { conversation->prefill, conversation->prefill_len };
        st = append_prefill(chat, prefill, out, err);
        if (st != VUG_OK)
            vug_prompt_release(out);
    }
    return st;
}
