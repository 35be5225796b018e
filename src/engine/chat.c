/* Where a checkpoint has its chat template, and the tokens that the template names. */
#include <stdio.h>

#include "core/json.h"
#include "engine/engine.h"
#include "text/text.h"

enum { MAX_TOKENIZER_CONFIG = 16 << 20, MAX_EXTRA_TEMPLATES = 64 };

static const char default_name[] = "default", tool_name[] = "tool_use";

/* What is known so far. Texts live in the arena. */
typedef struct {
    const char *path;
    const vug_tokenizer *tokenizer; /* the caller's, or `own`; NULL: not looked for, or none */
    vug_tokenizer *own;
    vug_arena arena;
    vug_chat_parts parts;
    vug_chat_token token[VUG_CHAT_MAX_TOKENS];
    char name[1200];
} finder;

/* ---- files --------------------------------------------------------------------------- */

/* A file of the folder, in the arena; NULL where there is none. */
static vug_status read_beside(finder *f, const char *name, size_t max, vug_str *out, vug_err *err)
{
    char *path = vug_path_join(f->path, name);
    vug_text text = { 0 };
    if (!path)
        return VUG_FAIL_NOMEM(err, f->path, strlen(f->path));
    *out = (vug_str){ 0 };
    vug_status st = VUG_OK;
    if (vug_file_exists(path))
        st = vug_read_file(path, max, &text, err);
    if (st == VUG_OK && text.ptr) {
        *out = vug_arena_copy(&f->arena, (vug_str){ text.ptr, text.len });
        if (!out->ptr)
            st = VUG_FAIL_NOMEM(err, path, text.len);
    }
    vug_text_release(&text);
    vug_free(path);
    return st;
}

static vug_status read_json_beside(finder *f, const char *name, const vug_jv **out, vug_err *err)
{
    vug_str text;
    *out = NULL;
    VUG_TRY(read_beside(f, name, MAX_TOKENIZER_CONFIG, &text, err));
    return text.ptr ? vug_json_tree(text, name, &f->arena, out, err) : VUG_OK;
}

static void came_from(finder *f, const char *file)
{
    (void)snprintf(f->name, sizeof(f->name), "%s%s%s", f->path, file ? "/" : "", file ? file : "");
}

static bool found(const finder *f)
{
    return f->parts.source.ptr != NULL;
}

static void add_token(finder *f, vug_str name, vug_str spelling)
{
    if (f->parts.n_tokens < VUG_CHAT_MAX_TOKENS)
        f->token[f->parts.n_tokens++] = (vug_chat_token){ name, spelling };
}

static bool has_token(const finder *f, const char *name)
{
    for (size_t i = 0; i < f->parts.n_tokens; i++) {
        if (vug_str_is(f->token[i].name, name))
            return true;
    }
    return false;
}

/* ---- a folder ------------------------------------------------------------------------------ */

/* chat_template.jinja, and others of other names, as transformers saves them
 * (tokenization_utils_base.py, save_chat_templates). */
static vug_status find_jinja(finder *f, vug_err *err)
{
    VUG_TRY(read_beside(f, "chat_template.jinja", VUG_CHAT_MAX_TEMPLATE, &f->parts.source, err));
    if (found(f))
        came_from(f, "chat_template.jinja");
    return read_beside(f, "additional_chat_templates/tool_use.jinja", VUG_CHAT_MAX_TEMPLATE,
                       &f->parts.with_tools, err);
}

/* "chat_template" of a JSON file: a string, or a list of {name, template}. */
static vug_status find_in_json(finder *f, const vug_jv *top, const char *file, vug_err *err)
{
    const vug_jv *v = vug_jv_get(top, "chat_template");
    if (found(f) || !v || v->type == VUG_JSON_NULL)
        return VUG_OK;
    if (v->type == VUG_JSON_STRING)
        f->parts.source = v->str;
    for (const vug_jv *each = v->type == VUG_JSON_ARRAY ? v->child : NULL; each;
         each = each->next) {
        const vug_jv *name = vug_jv_get(each, "name"), *text = vug_jv_get(each, "template");
        if (!vug_jv_is(name, VUG_JSON_STRING) || !vug_jv_is(text, VUG_JSON_STRING))
            continue;
        if (vug_str_is(name->str, default_name))
            f->parts.source = text->str;
        else if (vug_str_is(name->str, tool_name))
            f->parts.with_tools = text->str;
    }
    if (!found(f))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s/%s: key 'chat_template' is neither a template nor a list with one "
                        "named \"default\"",
                        f->path, file);
    came_from(f, file);
    return VUG_OK;
}

/* bos_token and its like: a string, or an object with "content". */
static void find_tokens(finder *f, const vug_jv *top)
{
    for (const vug_jv *m = top && top->type == VUG_JSON_OBJECT ? top->child : NULL; m;
         m = m->next) {
        const vug_jv *v = m->type == VUG_JSON_OBJECT ? vug_jv_get(m, "content") : m;
        if (vug_str_ends(m->key, "_token") && vug_jv_is(v, VUG_JSON_STRING))
            add_token(f, m->key, v->str);
    }
}

static vug_status find_in_folder(finder *f, bool given, vug_err *err)
{
    const vug_jv *config, *processor;
    VUG_TRY(read_json_beside(f, "tokenizer_config.json", &config, err));
    find_tokens(f, config);
    if (given)
        return VUG_OK;
    VUG_TRY(find_jinja(f, err));
    VUG_TRY(find_in_json(f, config, "tokenizer_config.json", err));
    if (found(f))
        return VUG_OK;
    VUG_TRY(read_json_beside(f, "chat_template.json", &processor, err));
    return find_in_json(f, processor, "chat_template.json", err);
}

/* ---- a GGUF file ---------------------------------------------------------------------------- */

/* Element `i` of the file's vocabulary. */
static bool spelling_of(const vug_gguf *gguf, uint64_t i, vug_str *out)
{
    const vug_gguf_value *tokens = vug_gguf_find(gguf, vug_str_of("tokenizer.ggml.tokens"));
    if (!tokens)
        return false;
    vug_gguf_strings it = vug_gguf_strings_of(tokens);
    bool more = vug_gguf_next(&it, out);
    for (; more && i > 0; i--)
        more = vug_gguf_next(&it, out);
    return more;
}

static vug_status find_in_gguf(finder *f, const vug_gguf *gguf, bool given)
{
    static const struct {
        const char *key, *name;
    } ids[] = {
        { "tokenizer.ggml.bos_token_id", "bos_token" },
        { "tokenizer.ggml.eos_token_id", "eos_token" },
        { "tokenizer.ggml.unknown_token_id", "unk_token" },
        { "tokenizer.ggml.seperator_token_id", "sep_token" }, /* spelled so */
        { "tokenizer.ggml.padding_token_id", "pad_token" },
    };
    uint64_t id;
    vug_str text;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        const vug_gguf_value *value = vug_gguf_find(gguf, vug_str_of(ids[i].key));
        if (value && vug_gguf_u64(value, 0, &id) && spelling_of(gguf, id, &text))
            add_token(f, vug_str_of(ids[i].name), text);
    }
    if (given)
        return VUG_OK;
    const vug_gguf_value *own = vug_gguf_find(gguf, vug_str_of("tokenizer.chat_template"));
    const vug_gguf_value *tools =
            vug_gguf_find(gguf, vug_str_of("tokenizer.chat_template.tool_use"));
    if (own && vug_gguf_string(own, &text) && text.len)
        f->parts.source = text;
    if (tools && vug_gguf_string(tools, &text))
        f->parts.with_tools = text;
    came_from(f, NULL);
    return VUG_OK;
}

/* ---- what a checkpoint does not say ------------------------------------------------------------ */

/* A tokenizer that cannot be read says nothing. */
static vug_status need_tokenizer(finder *f, bool gguf, vug_err *err)
{
    char *path = vug_path_join(f->path, "tokenizer.json");
    if (!path)
        return VUG_FAIL_NOMEM(err, f->path, strlen(f->path));
    vug_status st = VUG_OK;
    if (!f->tokenizer && (gguf || vug_file_exists(path)))
        st = vug_tokenizer_open(gguf ? f->path : path, &f->own, err);
    vug_free(path);
    if (f->own)
        f->tokenizer = f->own;
    return st == VUG_UNSUPPORTED ? VUG_OK : st;
}

static bool has_turns(const finder *f, const vug_chat_format *format)
{
    return vug_tokenizer_find(f->tokenizer, format->turn) >= 0;
}

static vug_status use_format(finder *f, const vug_chat_format *format, vug_err *err)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, format->macros);
    vug_buf_puts(&text, format->source);
    const bool good = vug_buf_ok(&text, NULL) == VUG_OK;
    if (good)
        f->parts.source = vug_arena_copy(&f->arena, (vug_str){ text.ptr, text.len });
    vug_buf_release(&text);
    (void)snprintf(f->name, sizeof(f->name), "built in: %s", format->family);
    if (!f->tokenizer && !has_token(f, "bos_token"))
        add_token(f, vug_str_of("bos_token"), vug_str_of(format->bos));
    return found(f) ? VUG_OK : VUG_FAIL_NOMEM(err, f->name, text.len);
}

/* The format that is documented for the architecture, unless the vocabulary is of another;
 * where there is no config, by the vocabulary alone. */
static vug_status find_format(finder *f, const vug_arch *arch, vug_err *err)
{
    const vug_chat_format *format = arch && arch->chat ? vug_chat_format_of(arch->chat) : NULL;
    if (format && (!f->tokenizer || has_turns(f, format)))
        return use_format(f, format, err);
    for (size_t i = 0; f->tokenizer && (format = vug_chat_format_at(i)); i++) {
        if (has_turns(f, format))
            return use_format(f, format, err);
    }
    if (!arch && !f->tokenizer)
        return VUG_FAIL(err, VUG_IO, "%s: has neither config.json nor a tokenizer with chat turns",
                        f->path);
    return VUG_FAIL(err, VUG_UNSUPPORTED,
                    "%s: has no chat template, and no format is known for it: a template can be "
                    "given (--chat-template), or prompts whole, with the tokens of their turns "
                    "(--raw)",
                    f->path);
}

static vug_status arch_of_folder(const char *folder, const vug_arch **arch, vug_err *err)
{
    char *path = vug_path_join(folder, "config.json");
    vug_text text = { 0 };
    *arch = NULL;
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    vug_status st = VUG_OK;
    if (vug_file_exists(path)) {
        st = vug_read_file(path, VUG_MAX_CONFIG, &text, err);
        if (st == VUG_OK)
            st = vug_config_arch((vug_str){ text.ptr, text.len }, path, arch, err);
    }
    vug_text_release(&text);
    vug_free(path);
    return st;
}

/* The first token that the tokenizer puts before a text, for a template that asks. */
static void find_bos(finder *f)
{
    size_t n = 0, len = 0;
    const int32_t *prefix = f->tokenizer ? vug_tokenizer_prefix(f->tokenizer, &n) : NULL;
    const char *spelling = n ? vug_tokenizer_token(f->tokenizer, prefix[0], &len) : NULL;
    if (spelling && !has_token(f, "bos_token"))
        add_token(f, vug_str_of("bos_token"), (vug_str){ spelling, len });
}

/* ---- together ------------------------------------------------------------------------------------- */

static vug_status use_file(finder *f, const char *file, vug_err *err)
{
    vug_text text;
    VUG_TRY(vug_read_file(file, VUG_CHAT_MAX_TEMPLATE, &text, err));
    f->parts.source = vug_arena_copy(&f->arena, (vug_str){ text.ptr, text.len });
    vug_text_release(&text);
    (void)snprintf(f->name, sizeof(f->name), "%s", file);
    return found(f) ? VUG_OK : VUG_FAIL_NOMEM(err, file, text.len);
}

/* `gguf` is NULL of a folder. */
static vug_status find(finder *f, const char *template_file, const vug_gguf *gguf, vug_err *err)
{
    const vug_arch *arch = NULL;
    if (template_file)
        VUG_TRY(use_file(f, template_file, err));
    if (gguf)
        VUG_TRY(find_in_gguf(f, gguf, template_file != NULL));
    else
        VUG_TRY(find_in_folder(f, template_file != NULL, err));
    if (found(f) && has_token(f, "bos_token"))
        return VUG_OK;
    /* Qwen has no <bos>, and a file that says so. */
    if (!found(f) || memmem(f->parts.source.ptr, f->parts.source.len, "bos_token", 9))
        VUG_TRY(need_tokenizer(f, gguf != NULL, err));
    find_bos(f);
    if (found(f))
        return VUG_OK;
    if (gguf)
        VUG_TRY(vug_config_arch_gguf(gguf, f->path, &arch, err));
    else
        VUG_TRY(arch_of_folder(f->path, &arch, err));
    return find_format(f, arch, err);
}

static vug_status open_chat(const char *path, const char *template_file, const vug_gguf *gguf,
                            const vug_tokenizer *tokenizer, vug_chat **out, vug_err *err)
{
    finder f = { .path = path, .tokenizer = tokenizer };
    f.parts.token = f.token;
    vug_status st = find(&f, template_file, gguf, err);
    f.parts.name = f.name;
    if (st == VUG_OK)
        st = vug_chat_create(&f.parts, out, err);
    vug_tokenizer_close(f.own);
    vug_arena_release(&f.arena);
    return st;
}

vug_status vug_chat_open(const char *path, const char *template_file, vug_chat **out, vug_err *err)
{
    if (!path) {
        finder f = { .path = "" };
        vug_status st = use_file(&f, template_file, err);
        f.parts.name = f.name;
        if (st == VUG_OK)
            st = vug_chat_create(&f.parts, out, err);
        vug_arena_release(&f.arena);
        return st;
    }
    if (!vug_is_gguf(path)) {
        if (!vug_is_folder(path))
            return VUG_FAIL(err, VUG_IO, "%s: no such folder", path);
        return open_chat(path, template_file, NULL, NULL, out, err);
    }
    vug_weights *weights;
    VUG_TRY(vug_weights_open_gguf(path, &weights, err));
    const vug_status st = open_chat(path, template_file, vug_weights_gguf(weights), NULL, out, err);
    vug_weights_close(weights);
    return st;
}

const vug_chat *vug_model_chat(const vug_model *model, vug_err *why)
{
    if (!model->chat && why)
        *why = model->no_chat;
    return model->chat;
}

vug_status vug_model_find_chat(vug_model *model, const char *path, vug_err *err)
{
    const vug_gguf *gguf = vug_weights_gguf(model->checkpoint.weights);
    const vug_status st =
            open_chat(path, NULL, gguf, model->checkpoint.tokenizer, &model->chat, &model->no_chat);
    if (st != VUG_NOMEM)
        return VUG_OK; /* numbers and raw prompts need none */
    if (err)
        *err = model->no_chat;
    return st;
}

vug_status vug_model_prompt(const vug_model *model, const vug_message *message, size_t n,
                            vug_tokens *out, vug_err *err)
{
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, err);
    const vug_chat *chat = tokenizer ? vug_model_chat(model, err) : NULL;
    vug_buf json = { 0 };
    vug_prompt prompt = { 0 };
    if (!chat)
        return VUG_UNSUPPORTED;
    for (size_t i = 0; i < n; i++) {
        if (!message[i].role || !message[i].content)
            return VUG_FAIL(err, VUG_ARGUMENT, "message[%zu] lacks its role or its content", i);
    }
    vug_messages_write(message, n, &json);
    vug_status st = vug_buf_ok(&json, err);
    if (st == VUG_OK) {
        const vug_conversation c = { .messages = json.ptr, .messages_len = json.len };
        st = vug_chat_render(chat, &c, &prompt, err);
    }
    if (st == VUG_OK)
        st = vug_prompt_encode(tokenizer, &prompt, out, err);
    vug_prompt_release(&prompt);
    vug_buf_release(&json);
    return st;
}
