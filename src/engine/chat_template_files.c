/* Finds a checkpoint's chat template and the special tokens that the template uses. */
#include <stdio.h>

#include "core/json.h"
#include "engine/internal.h"
#include "text/text.h"

enum { MAX_TOKENIZER_CONFIG = 16 << 20, MAX_EXTRA_TEMPLATES = 64 };

static const char default_name[] = "default", tool_name[] = "tool_use";

/* What was found so far. Texts live in the arena. */
typedef struct {
    const char *path;
    const vug_tokenizer *tokenizer; /* the caller's, or `own`; NULL: none, or not opened yet */
    vug_tokenizer *own;
    vug_arena arena;
    vug_chat_parts parts;
    vug_chat_token token[VUG_CHAT_MAX_TOKENS];
    char name[1200];
} chat_source;

/* ---- files --------------------------------------------------------------------------- */

/* Reads a file of the folder into the arena; NULL if it does not exist. */
static vug_status read_folder_file(chat_source *s, const char *name, size_t max, vug_str *out,
                                   vug_err *err)
{
    char *path = vug_path_join(s->path, name);
    vug_text text = { 0 };
    if (!path)
        return VUG_FAIL_NOMEM(err, s->path, strlen(s->path));
    *out = (vug_str){ 0 };
    vug_status st = VUG_OK;
    if (vug_file_exists(path))
        st = vug_read_file(path, max, &text, err);
    if (st == VUG_OK && text.ptr) {
        *out = vug_arena_copy(&s->arena, (vug_str){ text.ptr, text.len });
        if (!out->ptr)
            st = VUG_FAIL_NOMEM(err, path, text.len);
    }
    vug_text_release(&text);
    vug_free(path);
    return st;
}

static vug_status read_folder_json(chat_source *s, const char *name, const vug_jv **out,
                                   vug_err *err)
{
    vug_str text;
    *out = NULL;
    VUG_TRY(read_folder_file(s, name, MAX_TOKENIZER_CONFIG, &text, err));
    return text.ptr ? vug_json_tree(text, name, &s->arena, out, err) : VUG_OK;
}

static void set_name(chat_source *s, const char *file)
{
    (void)snprintf(s->name, sizeof(s->name), "%s%s%s", s->path, file ? "/" : "", file ? file : "");
}

static bool has_template(const chat_source *s)
{
    return s->parts.source.ptr != NULL;
}

static void add_token(chat_source *s, vug_str name, vug_str spelling)
{
    if (s->parts.n_tokens < VUG_CHAT_MAX_TOKENS)
        s->token[s->parts.n_tokens++] = (vug_chat_token){ name, spelling };
}

static bool has_bos_token(const chat_source *s)
{
    for (size_t i = 0; i < s->parts.n_tokens; i++) {
        if (vug_str_is(s->token[i].name, "bos_token"))
            return true;
    }
    return false;
}

/* ---- a folder ------------------------------------------------------------------------------ */

/* chat_template.jinja and additional templates, as transformers saves them
 * (tokenization_utils_base.py, save_chat_templates). */
static vug_status find_jinja_files(chat_source *s, vug_err *err)
{
    VUG_TRY(read_folder_file(s, "chat_template.jinja", VUG_CHAT_MAX_TEMPLATE, &s->parts.source,
                             err));
    if (has_template(s))
        set_name(s, "chat_template.jinja");
    return read_folder_file(s, "additional_chat_templates/tool_use.jinja", VUG_CHAT_MAX_TEMPLATE,
                            &s->parts.with_tools, err);
}

/* Reads "chat_template" of a JSON file: a string, or a list of {name, template}. */
static vug_status find_template_in_json(chat_source *s, const vug_jv *top, const char *file,
                                        vug_err *err)
{
    const vug_jv *v = vug_jv_get(top, "chat_template");
    if (has_template(s) || !v || v->type == VUG_JSON_NULL)
        return VUG_OK;
    if (v->type == VUG_JSON_STRING)
        s->parts.source = v->str;
    for (const vug_jv *each = v->type == VUG_JSON_ARRAY ? v->child : NULL; each;
         each = each->next) {
        const vug_jv *name = vug_jv_get(each, "name"), *text = vug_jv_get(each, "template");
        if (!vug_jv_is(name, VUG_JSON_STRING) || !vug_jv_is(text, VUG_JSON_STRING))
            continue;
        if (vug_str_is(name->str, default_name))
            s->parts.source = text->str;
        else if (vug_str_is(name->str, tool_name))
            s->parts.with_tools = text->str;
    }
    if (!has_template(s))
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s/%s: key 'chat_template' must be a template or a list with a template "
                        "named \"default\"",
                        s->path, file);
    set_name(s, file);
    return VUG_OK;
}

/* Reads bos_token, eos_token and so on: strings, or objects with "content". */
static void add_special_tokens(chat_source *s, const vug_jv *top)
{
    for (const vug_jv *m = top && top->type == VUG_JSON_OBJECT ? top->child : NULL; m;
         m = m->next) {
        const vug_jv *v = m->type == VUG_JSON_OBJECT ? vug_jv_get(m, "content") : m;
        if (vug_str_ends(m->key, "_token") && vug_jv_is(v, VUG_JSON_STRING))
            add_token(s, m->key, v->str);
    }
}

static vug_status find_template_in_folder(chat_source *s, bool given, vug_err *err)
{
    const vug_jv *config, *processor;
    VUG_TRY(read_folder_json(s, "tokenizer_config.json", &config, err));
    add_special_tokens(s, config);
    if (given)
        return VUG_OK;
    VUG_TRY(find_jinja_files(s, err));
    VUG_TRY(find_template_in_json(s, config, "tokenizer_config.json", err));
    if (has_template(s))
        return VUG_OK;
    VUG_TRY(read_folder_json(s, "chat_template.json", &processor, err));
    return find_template_in_json(s, processor, "chat_template.json", err);
}

/* ---- a GGUF file ---------------------------------------------------------------------------- */

/* Element `i` of the file's vocabulary. */
static bool find_vocab_entry(const vug_gguf *gguf, uint64_t i, vug_str *out)
{
    const vug_gguf_value *tokens = vug_gguf_find(gguf, vug_str_of("tokenizer.ggml.tokens"));
    if (!tokens)
        return false;
    vug_gguf_strings it = vug_gguf_strings_of(tokens);
    bool more = vug_gguf_next_string(&it, out);
    for (; more && i > 0; i--)
        more = vug_gguf_next_string(&it, out);
    return more;
}

static vug_status find_template_in_gguf(chat_source *s, const vug_gguf *gguf, bool given)
{
    static const struct {
        const char *key, *name;
    } ids[] = {
        { "tokenizer.ggml.bos_token_id", "bos_token" },
        { "tokenizer.ggml.eos_token_id", "eos_token" },
        { "tokenizer.ggml.unknown_token_id", "unk_token" },
        { "tokenizer.ggml.seperator_token_id", "sep_token" }, /* the format's spelling */
        { "tokenizer.ggml.padding_token_id", "pad_token" },
    };
    uint64_t id;
    vug_str text;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        const vug_gguf_value *value = vug_gguf_find(gguf, vug_str_of(ids[i].key));
        if (value && vug_gguf_u64(value, 0, &id) && find_vocab_entry(gguf, id, &text))
            add_token(s, vug_str_of(ids[i].name), text);
    }
    if (given)
        return VUG_OK;
    const vug_gguf_value *own = vug_gguf_find(gguf, vug_str_of("tokenizer.chat_template"));
    const vug_gguf_value *tools =
            vug_gguf_find(gguf, vug_str_of("tokenizer.chat_template.tool_use"));
    if (own && vug_gguf_string(own, &text) && text.len)
        s->parts.source = text;
    if (tools && vug_gguf_string(tools, &text))
        s->parts.with_tools = text;
    set_name(s, NULL);
    return VUG_OK;
}

/* ---- checkpoints without a template ---------------------------------------------------------- */

/* A tokenizer that is not supported is treated as missing. */
static vug_status open_tokenizer_if_needed(chat_source *s, bool gguf, vug_err *err)
{
    char *path = vug_path_join(s->path, "tokenizer.json");
    if (!path)
        return VUG_FAIL_NOMEM(err, s->path, strlen(s->path));
    vug_status st = VUG_OK;
    if (!s->tokenizer && (gguf || vug_file_exists(path)))
        st = vug_tokenizer_open(gguf ? s->path : path, &s->own, err);
    vug_free(path);
    if (s->own)
        s->tokenizer = s->own;
    return st == VUG_UNSUPPORTED ? VUG_OK : st;
}

static bool has_turn_token(const chat_source *s, const vug_builtin_template *format)
{
    return vug_tokenizer_find(s->tokenizer, format->turn) >= 0;
}

static vug_status use_builtin_format(chat_source *s, const vug_builtin_template *format,
                                     vug_err *err)
{
    vug_buf text = { 0 };
    vug_buf_puts(&text, format->macros);
    vug_buf_puts(&text, format->source);
    const bool good = vug_buf_ok(&text, NULL) == VUG_OK;
    if (good)
        s->parts.source = vug_arena_copy(&s->arena, (vug_str){ text.ptr, text.len });
    vug_buf_release(&text);
    (void)snprintf(s->name, sizeof(s->name), "built in: %s", format->family);
    if (!s->tokenizer && !has_bos_token(s))
        add_token(s, vug_str_of("bos_token"), vug_str_of(format->bos));
    return has_template(s) ? VUG_OK : VUG_FAIL_NOMEM(err, s->name, text.len);
}

/* Uses the documented format of the architecture if the vocabulary has its turn token; otherwise
 * the first format whose turn token the vocabulary has. */
static vug_status find_builtin_format(chat_source *s, const vug_arch *arch, vug_err *err)
{
    const vug_builtin_template *format =
            arch && arch->chat_family ? vug_builtin_template_find(arch->chat_family) : NULL;
    if (format && (!s->tokenizer || has_turn_token(s, format)))
        return use_builtin_format(s, format, err);
    for (size_t i = 0; s->tokenizer && (format = vug_builtin_template_at(i)); i++) {
        if (has_turn_token(s, format))
            return use_builtin_format(s, format, err);
    }
    if (!arch && !s->tokenizer)
        return VUG_FAIL(err, VUG_IO, "%s: has neither config.json nor a tokenizer with chat turns",
                        s->path);
    return VUG_FAIL(
            err, VUG_UNSUPPORTED,
            "%s: has no chat template, and vug knows no chat format for it: give a template "
            "(--chat-template), or whole prompts with the tokens of their turns (--raw)",
            s->path);
}

static vug_status read_folder_arch(const char *folder, const vug_arch **arch, vug_err *err)
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
            st = vug_config_read_arch((vug_str){ text.ptr, text.len }, path, arch, err);
    }
    vug_text_release(&text);
    vug_free(path);
    return st;
}

/* bos_token is the first token that the tokenizer puts in front of a text. */
static void add_bos_token(chat_source *s)
{
    size_t n = 0, len = 0;
    const int32_t *prefix = s->tokenizer ? vug_tokenizer_prefix(s->tokenizer, &n) : NULL;
    const char *spelling = n ? vug_tokenizer_token(s->tokenizer, prefix[0], &len) : NULL;
    if (spelling && !has_bos_token(s))
        add_token(s, vug_str_of("bos_token"), (vug_str){ spelling, len });
}

/* ---- opening --------------------------------------------------------------------------------- */

static vug_status use_template_file(chat_source *s, const char *file, vug_err *err)
{
    vug_text text;
    VUG_TRY(vug_read_file(file, VUG_CHAT_MAX_TEMPLATE, &text, err));
    s->parts.source = vug_arena_copy(&s->arena, (vug_str){ text.ptr, text.len });
    vug_text_release(&text);
    (void)snprintf(s->name, sizeof(s->name), "%s", file);
    return has_template(s) ? VUG_OK : VUG_FAIL_NOMEM(err, file, text.len);
}

/* `gguf` is NULL for a folder. */
static vug_status find_template(chat_source *s, const char *template_file, const vug_gguf *gguf,
                                vug_err *err)
{
    const vug_arch *arch = NULL;
    if (template_file)
        VUG_TRY(use_template_file(s, template_file, err));
    if (gguf)
        VUG_TRY(find_template_in_gguf(s, gguf, template_file != NULL));
    else
        VUG_TRY(find_template_in_folder(s, template_file != NULL, err));
    if (has_template(s) && has_bos_token(s))
        return VUG_OK;
    /* A template without bos_token, such as Qwen's, needs no tokenizer. */
    if (!has_template(s) || memmem(s->parts.source.ptr, s->parts.source.len, "bos_token", 9))
        VUG_TRY(open_tokenizer_if_needed(s, gguf != NULL, err));
    add_bos_token(s);
    if (has_template(s))
        return VUG_OK;
    if (gguf)
        VUG_TRY(vug_config_read_arch_gguf(gguf, s->path, &arch, err));
    else
        VUG_TRY(read_folder_arch(s->path, &arch, err));
    return find_builtin_format(s, arch, err);
}

static vug_status open_chat(const char *path, const char *template_file, const vug_gguf *gguf,
                            const vug_tokenizer *tokenizer, vug_chat **out, vug_err *err)
{
    chat_source s = { .path = path, .tokenizer = tokenizer };
    s.parts.token = s.token;
    vug_status st = find_template(&s, template_file, gguf, err);
    s.parts.name = s.name;
    if (st == VUG_OK)
        st = vug_chat_create(&s.parts, out, err);
    vug_tokenizer_close(s.own);
    vug_arena_release(&s.arena);
    return st;
}

vug_status vug_chat_open(const char *path, const char *template_file, vug_chat **out, vug_err *err)
{
    if (!path) {
        chat_source s = { .path = "" };
        vug_status st = use_template_file(&s, template_file, err);
        s.parts.name = s.name;
        if (st == VUG_OK)
            st = vug_chat_create(&s.parts, out, err);
        vug_arena_release(&s.arena);
        return st;
    }
    if (!vug_is_gguf(path)) {
        if (!vug_is_folder(path))
            return VUG_FAIL(err, VUG_IO, "%s: no such file or folder", path);
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

vug_status vug_model_load_chat(vug_model *model, const char *path, vug_err *err)
{
    const vug_gguf *gguf = vug_weights_gguf(model->checkpoint.weights);
    const vug_status st =
            open_chat(path, NULL, gguf, model->checkpoint.tokenizer, &model->chat, &model->no_chat);
    if (st != VUG_NOMEM)
        return VUG_OK; /* logits and raw prompts need no template */
    if (err)
        *err = model->no_chat;
    return st;
}
