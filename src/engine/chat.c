/* Conversations as prompts: which format a checkpoint wants, and its rendering. */
#include "engine/engine.h"
#include "text/text.h"

/* The built-in format of an architecture. */
static vug_status chat_of(const vug_arch *arch, const char **family, vug_err *err)
{
    *family = arch->chat;
    if (*family)
        return VUG_OK;
    return VUG_FAIL(err, VUG_UNSUPPORTED,
                    "no chat format is built in for %s models: their prompts have to be given "
                    "whole, with the tokens of the turns (--raw)",
                    arch->name);
}

/* By config.json where there is one; a folder with a tokenizer alone is known by
 * the tokens of its turns. */
static vug_status family_of(const char *folder, const vug_tokenizer *tokenizer, const char **family,
                            vug_err *err)
{
    char *path = vug_path_join(folder, "config.json");
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    vug_text text = { 0 };
    vug_status st = VUG_OK;
    *family = NULL;
    if (vug_file_exists(path)) {
        const vug_arch *arch;
        st = vug_read_file(path, VUG_MAX_CONFIG, &text, err);
        if (st == VUG_OK)
            st = vug_config_arch((vug_str){ text.ptr, text.len }, path, &arch, err);
        if (st == VUG_OK)
            st = chat_of(arch, family, err);
    } else if (tokenizer && vug_tokenizer_find(tokenizer, "<start_of_turn>") >= 0) {
        *family = "gemma3";
    } else {
        st = VUG_FAIL(err, VUG_IO, "%s: has neither config.json nor a tokenizer with chat turns",
                      folder);
    }
    vug_text_release(&text);
    vug_free(path);
    return st;
}

static vug_status family_of_gguf(const char *path, const char **family, vug_err *err)
{
    vug_weights *weights;
    const vug_arch *arch;
    VUG_TRY(vug_weights_open_gguf(path, &weights, err));
    vug_status st = vug_config_arch_gguf(vug_weights_gguf(weights), path, &arch, err);
    if (st == VUG_OK)
        st = chat_of(arch, family, err);
    vug_weights_close(weights);
    return st;
}

static vug_status render(const char *family, const vug_tokenizer *tokenizer,
                         const vug_message *message, size_t n, bool open_reply, vug_text *out,
                         vug_err *err)
{
    const char *bos = "<bos>";
    if (tokenizer) {
        size_t n_prefix;
        const int32_t *prefix = vug_tokenizer_prefix(tokenizer, &n_prefix);
        const char *spelling = n_prefix ? vug_tokenizer_token(tokenizer, prefix[0], NULL) : NULL;
        bos = spelling ? spelling : "";
    }
    return vug_chat_turns(family, bos, message, n, open_reply, out, err);
}

static vug_status render_gguf(const char *path, const vug_message *message, size_t n,
                              bool open_reply, vug_text *out, vug_err *err)
{
    vug_tokenizer *tokenizer = NULL;
    const char *family;
    vug_status st = vug_tokenizer_open(path, &tokenizer, err);
    if (st == VUG_OK || st == VUG_UNSUPPORTED)
        st = family_of_gguf(path, &family, err);
    if (st == VUG_OK)
        st = render(family, tokenizer, message, n, open_reply, out, err);
    vug_tokenizer_close(tokenizer);
    return st;
}

vug_status vug_render_at(const char *path, const vug_message *message, size_t n, bool open_reply,
                           vug_text *out, vug_err *err)
{
    if (vug_is_gguf(path))
        return render_gguf(path, message, n, open_reply, out, err);
    if (!vug_is_folder(path))
        return VUG_FAIL(err, VUG_IO, "%s: no such folder", path);
    char *file = vug_path_join(path, "tokenizer.json");
    if (!file)
        return VUG_FAIL_NOMEM(err, path, strlen(path));
    vug_tokenizer *tokenizer = NULL;
    const char *family;
    vug_status st = VUG_OK;
    if (vug_file_exists(file))
        st = vug_tokenizer_open(file, &tokenizer, err);
    if (st == VUG_OK)
        st = family_of(path, tokenizer, &family, err);
    if (st == VUG_OK)
        st = render(family, tokenizer, message, n, open_reply, out, err);
    vug_tokenizer_close(tokenizer);
    vug_free(file);
    return st;
}

vug_status vug_model_render(const vug_model *model, const vug_message *message, size_t n,
                            bool open_reply, vug_text *out, vug_err *err)
{
    const char *family;
    VUG_TRY(chat_of(model->checkpoint.config.arch, &family, err));
    return render(family, model->checkpoint.tokenizer, message, n, open_reply, out, err);
}
