#include "text/chat/chat.h"

#include "core/os.h"
#include "text/chat/messages.h"
#include "text/template/template.h"

/* One template, and what it refuses. */
typedef struct {
    vug_template *tmpl; /* NULL: there is no second one */
    vug_refusals refusals;
    bool prints_tools;
} voice;

struct vug_chat {
    char *name;
    voice plain, with_tools;
    vug_syntax syntax;
    vug_arena arena; /* of token */
    vug_template_var token[VUG_CHAT_MAX_TOKENS];
    size_t n_tokens;
};

/* ---- variables -------------------------------------------------------------------------- */

enum { OWN_VARIABLES = 4, MAX_VARIABLES = 256 };

/* What a template is given: messages, tools, documents and add_generation_prompt always, as
 * in transformers (utils/chat_template_utils.py, render_jinja_template). */
typedef struct {
    const vug_jv *messages;
    const vug_jv *tools; /* NULL: none */
    const vug_jv *given; /* the caller's object; NULL: none */
    bool no_reply;
} scene;

typedef struct {
    vug_template_var var[OWN_VARIABLES + VUG_CHAT_MAX_TOKENS + MAX_VARIABLES];
    size_t n;
    vug_jv none, open;
} variables;

static void add(variables *v, const char *name, const vug_jv *value, bool foreign)
{
    v->var[v->n++] = (vug_template_var){ name, value, foreign };
}

/* The caller's, in place of tokens of the same name; such a one is still a token. */
static vug_status add_given(variables *v, const vug_jv *given, vug_arena *arena, vug_err *err)
{
    static const char *const taken[] = { "messages", "tools", "add_generation_prompt" };
    if (given && given->n > MAX_VARIABLES)
        return VUG_FAIL(err, VUG_LIMIT, "variables: %zu of them, at most %d are taken", given->n,
                        (int)MAX_VARIABLES);
    for (const vug_jv *m = given ? given->child : NULL; m; m = m->next) {
        const vug_str name = vug_arena_copy(arena, m->key);
        if (!name.ptr)
            return VUG_FAIL_NOMEM(err, "variables", m->key.len);
        for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
            if (vug_str_is(name, taken[i]))
                return VUG_FAIL(err, VUG_ARGUMENT,
                                "variables: '%s' follows from the conversation, it cannot be given",
                                taken[i]);
        }
        add(v, name.ptr, m, !vug_str_ends(name, "_token"));
    }
    return VUG_OK;
}

static vug_status render(const vug_chat *chat, const voice *v, const scene *at, vug_prompt *out,
                         vug_err *err)
{
    variables vars = { .none = { .type = VUG_JSON_NULL },
                       .open = { .type = VUG_JSON_BOOL, .boolean = !at->no_reply } };
    vug_arena arena = { 0 };
    add(&vars, "messages", at->messages, true);
    add(&vars, "tools", at->tools ? at->tools : &vars.none, true);
    add(&vars, "add_generation_prompt", &vars.open, false);
    if (!vug_jv_get(at->given, "documents"))
        add(&vars, "documents", &vars.none, false);
    for (size_t i = 0; i < chat->n_tokens; i++) {
        if (!vug_jv_get(at->given, chat->token[i].name))
            add(&vars, chat->token[i].name, chat->token[i].value, false);
    }
    vug_status st = add_given(&vars, at->given, &arena, err);
    if (st == VUG_OK)
        st = vug_template_render(v->tmpl, vars.var, vars.n, vug_local_time(), out, err);
    vug_arena_release(&arena);
    return st;
}

/* ---- what a template refuses --------------------------------------------------------------- */

/* Small conversations that are tried when a template is opened. It refuses what it raises
 * an error for, and what it leaves out: `wanted` and `also` must be in the text. */
typedef struct {
    const char *messages;
    const char *wanted, *also;
    const char *unwanted; /* the template did not know what it printed */
} trial;

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

static const trial trials[VUG_REFUSAL_COUNT][2] = {
    [VUG_REFUSES_STRING] = { { "[" USER("vug-1") "]", "vug-1", NULL, NULL } },
    [VUG_REFUSES_PARTS] = { { PARTS, "vug-1", NULL, "'type'" },
                            { PARTS, "vug-1", NULL, "\"type\"" } },
    [VUG_REFUSES_DEVELOPER] = { { "[" DEVELOPER("vug-1") "," USER("vug-2") "]", "vug-1", NULL,
                                  NULL } },
    [VUG_REFUSES_SYSTEM] = { { "[" SYSTEM("vug-1") "," USER("vug-2") "]", "vug-1", "vug-2",
                               NULL } },
    [VUG_REFUSES_LATE_SYSTEM] = { { "[" USER("vug-2") "," ASSISTANT("vug-3") "," SYSTEM(
                                            "vug-1") "," USER("vug-4") "]",
                                    "vug-1", NULL, NULL } },
    [VUG_REFUSES_LONE_SYSTEM] = { { "[" SYSTEM("vug-1") "]", "vug-1", NULL, NULL } },
    [VUG_REFUSES_CALLS] = { { "[" CALLED("{}") "]", "vug-1", "vug-3", NULL } },
    [VUG_REFUSES_TEXT_ARGUMENTS] = { { "[" CALLED("\"vug-4\"") "]", "vug-4", NULL, NULL } },
    [VUG_REFUSES_STRAY_RESULT] = { { "[" USER("vug-2") ",{\"role\":\"tool\",\"name\":\"f\","
                                                       "\"content\":\"vug-1\"}]",
                                     "vug-1", NULL, NULL } },
    [VUG_REFUSES_NEIGHBOURS] = { { "[" USER("vug-1") "," USER("vug-2") "]", "vug-1", "vug-2",
                                   NULL },
                                 { "[" USER("vug-3") "," ASSISTANT("vug-1") "," ASSISTANT(
                                           "vug-2") "]",
                                   "vug-1", "vug-2", NULL } },
    [VUG_REFUSES_AFTER_RESULT] = { { "[" CALLED("{}") "," USER("vug-4") "]", "vug-3", "vug-4",
                                     NULL } },
    [VUG_REFUSES_GREETING] = { { "[" ASSISTANT("vug-1") "," USER("vug-2") "]", "vug-1", "vug-2",
                                 NULL } },
};

static vug_status try_one(const vug_chat *chat, voice *v, const trial *t, bool *refused,
                          vug_err *err)
{
    vug_arena arena = { 0 };
    vug_prompt prompt = { 0 };
    scene at = { .no_reply = true };
    vug_status st = vug_json_tree(vug_str_of(t->messages), "trial", &arena, &at.messages, err);
    if (st == VUG_OK) /* the tokens may be given later */
        st = vug_json_tree(vug_str_of("{\"bos_token\":\"\",\"eos_token\":\"\"}"), "trial", &arena,
                           &at.given, err);
    if (st == VUG_OK)
        st = render(chat, v, &at, &prompt, err);
    const char *text = prompt.text.ptr;
    if (st == VUG_OK)
        *refused = *refused || !strstr(text, t->wanted) || (t->also && !strstr(text, t->also)) ||
                   (t->unwanted && strstr(text, t->unwanted));
    else
        *refused = true;
    vug_prompt_release(&prompt);
    vug_arena_release(&arena);
    return st == VUG_NOMEM || st == VUG_LIMIT ? st : VUG_OK; /* no matter of messages */
}

static vug_status try_all(const vug_chat *chat, voice *v, vug_err *err)
{
    vug_refusals *r = &v->refusals;
    for (int i = 0; i < VUG_REFUSAL_COUNT; i++) {
        for (int k = 0; k < 2 && trials[i][k].messages; k++)
            VUG_TRY(try_one(chat, v, &trials[i][k], &r->refuses[i], err));
    }
    /* One that says nothing to a plain question is not to be helped. */
    if (r->refuses[VUG_REFUSES_STRING])
        *r = (vug_refusals){ .refuses = { [VUG_REFUSES_STRING] = !r->refuses[VUG_REFUSES_PARTS] } };
    return VUG_OK;
}

static bool holds(vug_str text, const char *part)
{
    return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static vug_status open_voice(const vug_chat *chat, vug_str source, voice *out, vug_err *err)
{
    if (source.len > VUG_CHAT_MAX_TEMPLATE)
        return VUG_FAIL(err, VUG_LIMIT, "%s: a template of %zu bytes, at most %zu are read",
                        chat->name, source.len, VUG_CHAT_MAX_TEMPLATE);
    VUG_TRY(vug_template_parse(source, chat->name, &out->tmpl, err));
    out->prints_tools = holds(source, "tools");
    VUG_TRY(try_all(chat, out, err));
    /* One that prints every role as it is called need not be of a model that knows it. */
    if (!holds(source, "developer"))
        out->refusals.refuses[VUG_REFUSES_DEVELOPER] = true;
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

static vug_status open_all(vug_chat *chat, const vug_chat_parts *parts, vug_err *err)
{
    VUG_TRY(copy_tokens(chat, parts, err));
    VUG_TRY(open_voice(chat, parts->source, &chat->plain, err));
    if (parts->with_tools.len)
        VUG_TRY(open_voice(chat, parts->with_tools, &chat->with_tools, err));
    chat->syntax = vug_syntax_of(parts->with_tools.len ? parts->with_tools : parts->source);
    return VUG_OK;
}

vug_status vug_chat_create(const vug_chat_parts *parts, vug_chat **out, vug_err *err)
{
    vug_chat *chat = vug_alloc_zero(1, sizeof(*chat));
    if (!chat || !(chat->name = vug_strdup(parts->name))) {
        vug_free(chat);
        return VUG_FAIL_NOMEM(err, parts->name, sizeof(*chat));
    }
    const vug_status st = open_all(chat, parts, err);
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
    vug_template_destroy(chat->plain.tmpl);
    vug_template_destroy(chat->with_tools.tmpl);
    vug_arena_release(&chat->arena);
    vug_free(chat->name);
    vug_free(chat);
}

const char *vug_chat_source(const vug_chat *chat)
{
    return chat->name;
}

const vug_syntax *vug_chat_syntax(const vug_chat *chat)
{
    return &chat->syntax;
}

bool vug_chat_prints_tools(const vug_chat *chat)
{
    return chat->with_tools.tmpl ? chat->with_tools.prints_tools : chat->plain.prints_tools;
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

static vug_status render_in(const vug_chat *chat, const vug_conversation *c, vug_arena *arena,
                            vug_prompt *out, vug_err *err)
{
    scene at = { .no_reply = c->no_reply };
    VUG_TRY(vug_messages_read((vug_str){ c->messages, c->messages_len }, arena, &at.messages, err));
    VUG_TRY(vug_tools_read((vug_str){ c->tools, c->tools_len }, c->strict, arena, &at.tools, err));
    VUG_TRY(read_variables(c, arena, &at.given, err));
    const voice *v = at.tools && chat->with_tools.tmpl ? &chat->with_tools : &chat->plain;
    if (!c->strict)
        VUG_TRY(vug_messages_fit(at.messages, &v->refusals, arena, &at.messages, err));
    return render(chat, v, &at, out, err);
}

vug_status vug_chat_render(const vug_chat *chat, const vug_conversation *conversation,
                           vug_prompt *out, vug_err *err)
{
    vug_arena arena = { 0 };
    const vug_status st = render_in(chat, conversation, &arena, out, err);
    vug_arena_release(&arena);
    return st;
}
