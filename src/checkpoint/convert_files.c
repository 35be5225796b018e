/* Writes what a checkpoint has beside its weights: GGUF metadata, or the other files of a
 * folder. */
#include <stdio.h>

#include "checkpoint/convert.h"
#include "core/json_writer.h"
#include "text/text.h"

/* ---- general.* of GGUF -------------------------------------------------------------------- */

/* llama.cpp's numbers for formats of whole files (include/llama.h, llama_ftype). They are
 * informative only. */
static uint32_t file_type(vug_dtype dtype)
{
    switch (dtype) {
    case VUG_DTYPE_F16:
        return 1;
    case VUG_DTYPE_Q4_0:
        return 2;
    case VUG_DTYPE_Q4_1:
        return 3;
    case VUG_DTYPE_Q8_0:
        return 7;
    case VUG_DTYPE_Q5_0:
        return 8;
    case VUG_DTYPE_Q5_1:
        return 9;
    case VUG_DTYPE_Q2_K:
        return 10;
    case VUG_DTYPE_Q3_K:
        return 11;
    case VUG_DTYPE_Q4_K:
        return 14;
    case VUG_DTYPE_Q5_K:
        return 16;
    case VUG_DTYPE_Q6_K:
        return 18;
    case VUG_DTYPE_IQ4_NL:
        return 25;
    case VUG_DTYPE_IQ4_XS:
        return 30;
    case VUG_DTYPE_BF16:
        return 32;
    case VUG_DTYPE_MXFP4:
        return 38;
    default:
        return 0;
    }
}

static void put_file_type(const vug_checkpoint *c, const vug_convert_types *types,
                          vug_gguf_builder *to)
{
    vug_dtype dtype = types->all.dtype;
    if (dtype == VUG_DTYPE_COUNT)
        dtype = c->binding.tensor[VUG_EMBEDDING_SLOT]->dtype;
    vug_gguf_put_u32(to, "general.file_type", file_type(dtype));
    vug_gguf_put_u32(to, "general.quantization_version", 2);
}

/* Copies the metadata of a GGUF file, except what describes its formats and parts. */
static void copy_metadata(const vug_gguf *gguf, vug_gguf_builder *to)
{
    for (size_t i = 0; i < gguf->n; i++) {
        const vug_str key = gguf->value[i].key;
        if (!vug_str_is(key, "general.file_type") && !vug_str_starts(key, "split.") &&
            !vug_str_is(key, "general.quantization_version") &&
            !vug_str_is(key, "general.alignment"))
            vug_gguf_put_value(to, &gguf->value[i]);
    }
}

/* ---- files of the source -------------------------------------------------------------------- */

enum { MAX_TEMPLATE = 16 << 20 };

/* Reads a file of the folder; NULL text if it does not exist. */
static vug_status read_source_file(const char *folder, const char *name, size_t max, vug_text *out,
                                   vug_err *err)
{
    char *path = vug_path_join(folder, name);
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    *out = (vug_text){ 0 };
    const vug_status st = vug_file_exists(path) ? vug_read_file(path, max, out, err) : VUG_OK;
    vug_free(path);
    return st;
}

/* ---- tokenizers ------------------------------------------------------------------------------ */

static void send_note(const vug_convert_request *r, const char *message)
{
    if (r->options->note)
        r->options->note(message, r->options->user);
}

/* Writes the tokenizer as an equivalent tokenizer.json. If there is none: NULL text and a note. */
static vug_status write_tokenizer(const vug_convert_request *r, const char *source, vug_text *out,
                                  vug_err *err)
{
    const vug_checkpoint *c = r->checkpoint;
    vug_err why = c->no_tokenizer;
    *out = (vug_text){ 0 };
    const vug_status st = c->tokenizer ? vug_tokenizer_write_json(c->tokenizer, source, out, &why)
                                       : VUG_UNSUPPORTED;
    if (st == VUG_UNSUPPORTED) {
        char message[sizeof(why.msg) + 64];
        (void)snprintf(message, sizeof(message), "the new checkpoint has no tokenizer: %s",
                       why.msg);
        send_note(r, message);
        return VUG_OK;
    }
    if (st != VUG_OK && err)
        *err = why;
    return st;
}

static vug_status put_tokenizer(const char *folder, const vug_convert_request *r,
                                vug_gguf_builder *to, vug_err *err)
{
    const vug_checkpoint *c = r->checkpoint;
    vug_text text;
    VUG_TRY(read_source_file(folder, "tokenizer.json", VUG_TOKENIZER_MAX_BYTES, &text, err));
    if (!text.ptr)
        VUG_TRY(write_tokenizer(r, folder, &text, err));
    const vug_tokenizer_json_source file = { { text.ptr, text.len },
                                             "tokenizer.json",
                                             c->tokenizer };
    const vug_status st =
            text.ptr ? vug_tokenizer_write_gguf(&file, c->config.n_vocab, to, err) : VUG_OK;
    vug_text_release(&text);
    return st;
}

/* ---- templates ------------------------------------------------------------------------------- */

/* The value is a string, or a list of named templates, which contains one named default. */
static vug_str find_template(const vug_jv *v)
{
    if (vug_jv_is(v, VUG_JSON_STRING))
        return v->str;
    for (const vug_jv *each = vug_jv_is(v, VUG_JSON_ARRAY) ? v->child : NULL; each;
         each = each->next) {
        const vug_jv *name = vug_jv_get(each, "name"), *text = vug_jv_get(each, "template");
        if (vug_jv_is(name, VUG_JSON_STRING) && vug_str_is(name->str, "default") &&
            vug_jv_is(text, VUG_JSON_STRING))
            return text->str;
    }
    return (vug_str){ 0 };
}

static vug_status put_template(const char *folder, vug_gguf_builder *to, vug_err *err)
{
    vug_text text;
    VUG_TRY(read_source_file(folder, "chat_template.jinja", MAX_TEMPLATE, &text, err));
    if (text.ptr) {
        vug_gguf_put_string(to, "tokenizer.chat_template", (vug_str){ text.ptr, text.len });
        vug_text_release(&text);
        return VUG_OK;
    }
    VUG_TRY(read_source_file(folder, "tokenizer_config.json", MAX_TEMPLATE, &text, err));
    if (!text.ptr)
        return VUG_OK;
    vug_arena arena = { .budget = 4 * (size_t)MAX_TEMPLATE };
    const vug_jv *top;
    const vug_status st = vug_json_tree((vug_str){ text.ptr, text.len }, "tokenizer_config.json",
                                        &arena, &top, err);
    const vug_str found =
            st == VUG_OK ? find_template(vug_jv_get(top, "chat_template")) : (vug_str){ 0 };
    if (found.len)
        vug_gguf_put_string(to, "tokenizer.chat_template", found);
    vug_arena_release(&arena);
    vug_text_release(&text);
    return st;
}

vug_status vug_convert_put_metadata(const char *model, const vug_convert_request *r,
                                    vug_gguf_builder *to, vug_err *err)
{
    const vug_checkpoint *c = r->checkpoint;
    const vug_gguf *gguf = vug_weights_gguf(c->weights);
    if (gguf) {
        copy_metadata(gguf, to);
        put_file_type(c, r->types, to);
        return VUG_OK;
    }
    vug_config config = c->config;
    vug_generation_config_add_eos(c, &config);
    VUG_TRY(vug_config_write_gguf(&config, to, err));
    vug_gguf_put_string(to, "general.type", vug_str_of("model"));
    vug_gguf_put_string(to, "general.name", vug_str_of(vug_path_base(model)));
    vug_generation_config_write_gguf(c, to);
    put_file_type(c, r->types, to);
    VUG_TRY(put_tokenizer(model, r, to, err));
    return put_template(model, to, err);
}

/* ---- a folder -------------------------------------------------------------------------------- */

static vug_status write_file(const char *folder, const char *name, vug_str text, vug_err *err)
{
    char *path = vug_path_join(folder, name);
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    vug_out out;
    vug_out_open(&out, path);
    vug_out_write(&out, text.ptr, text.len);
    vug_free(path);
    return vug_out_commit(&out, err);
}

static void append_type(vug_weight_type type, vug_buf *to)
{
    const vug_dtype_info *info = vug_dtype_of(type.dtype);
    vug_buf_printf(to, "\"group_size\":%d,\"bits\":%d%s", type.group,
                   info->bytes * 8 / info->elements,
                   type.dtype == VUG_DTYPE_MLX_FP4 ? ",\"mode\":\"mxfp4\"" : "");
}

/* Appends the default of all modules and the modules that differ, twice, as mlx-lm does (its
 * utils.py, save_config). */
static void append_quantization(const vug_convert_target_list *list, vug_buf *to)
{
    static const char *const names[] = { "quantization", "quantization_config" };
    vug_weight_type all = { 0 };
    for (size_t i = list->n; i-- > 0;) {
        /* The tensors of layers, which set the default, are always listed last. */
        if (list->target[i].type.group && !all.group)
            all = list->target[i].type;
    }
    for (int k = 0; all.group && k < 2; k++) {
        vug_buf_printf(to, ",\n\"%s\":{", names[k]);
        append_type(all, to);
        for (size_t i = 0; i < list->n; i++) {
            const vug_weight_type type = list->target[i].type;
            if (!type.group || (type.dtype == all.dtype && type.group == all.group))
                continue;
            const vug_str name = list->spec[i].name;
            vug_buf_puts(to, ",");
            vug_json_append_string(to, name.ptr, name.len - strlen(".weight"));
            vug_buf_puts(to, ":{");
            append_type(type, to);
            vug_buf_puts(to, "}");
        }
        vug_buf_puts(to, "}");
    }
}

/* Writes the config with its quantization replaced. */
static vug_status write_config(vug_str json, const vug_convert_target_list *list,
                               const char *folder, vug_err *err)
{
    vug_arena arena = { .budget = VUG_MAX_CONFIG };
    vug_json_reader j = vug_json_reader_over(json, "config.json", &arena);
    vug_buf text = { 0 };
    vug_str key;
    vug_buf_puts(&text, "{");
    vug_json_enter_object(&j);
    for (bool first = true; vug_json_key(&j, &key);) {
        (void)vug_json_peek(&j); /* skips white space */
        const size_t from = j.pos;
        vug_json_skip(&j);
        if (vug_str_is(key, "quantization") || vug_str_is(key, "quantization_config"))
            continue;
        vug_buf_puts(&text, first ? "\n" : ",\n");
        vug_json_append_string(&text, key.ptr, key.len);
        vug_buf_puts(&text, ":");
        vug_buf_append(&text, json.ptr + from, j.pos - from);
        first = false;
    }
    append_quantization(list, &text);
    vug_buf_puts(&text, "\n}\n");
    vug_status st = vug_json_finish(&j, err);
    if (st == VUG_OK)
        st = vug_buf_ok(&text, err);
    if (st == VUG_OK)
        st = write_file(folder, "config.json", (vug_str){ text.ptr, text.len }, err);
    vug_buf_release(&text);
    vug_arena_release(&arena);
    return st;
}

static vug_status copy_file(const char *from, const char *to, vug_str name, vug_err *err)
{
    char *path = vug_path_join(from, name.ptr);
    vug_mapping file = { 0 };
    if (!path)
        return VUG_FAIL_NOMEM(err, from, strlen(from));
    vug_status st = VUG_OK;
    if (!vug_is_folder(path))
        st = vug_map_file(path, &file, err);
    if (st == VUG_OK && !vug_is_folder(path)) {
        const vug_str bytes = { (const char *)file.bytes.ptr, file.bytes.len };
        st = write_file(to, name.ptr, bytes, err);
    }
    vug_unmap(&file);
    vug_free(path);
    return st;
}

/* Files of weights in any container, and their indexes; these are not copied. */
static bool is_weight_file(vug_str name)
{
    static const char *const tails[] = {
        ".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json", ".gguf", ".pt", ".pth"
    };
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        if (vug_str_ends(name, tails[i]))
            return true;
    }
    return vug_str_is(name, "config.json") || vug_str_starts(name, ".");
}

static vug_status copy_other_files(const char *from, const char *to, vug_err *err)
{
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n = 0;
    vug_status st = vug_list_folder(from, &arena, &name, &n, err);
    for (size_t i = 0; st == VUG_OK && i < n; i++) {
        if (!is_weight_file(name[i]))
            st = copy_file(from, to, name[i], err);
    }
    vug_arena_release(&arena);
    return st;
}

/* Writes a string of the metadata to a file. */
static vug_status write_gguf_string(const vug_gguf *gguf, const char *key, const char *folder,
                                    const char *name, vug_err *err)
{
    const vug_gguf_value *value = vug_gguf_find(gguf, vug_str_of(key));
    vug_str text;
    if (!value || !vug_gguf_string(value, &text))
        return VUG_OK;
    return write_file(folder, name, text, err);
}

static vug_status write_generation_config(const vug_checkpoint *c, const char *folder, vug_err *err)
{
    vug_buf json = { 0 };
    vug_status st = vug_generation_config_gguf_to_json(vug_weights_gguf(c->weights), &c->config,
                                                       &json, err);
    if (st == VUG_OK && json.len > 0)
        st = write_file(folder, "generation_config.json", (vug_str){ json.ptr, json.len }, err);
    vug_buf_release(&json);
    return st;
}

/* Writes the tokenizer.json in the metadata, or one made from the metadata's arrays. */
static vug_status write_tokenizer_file(const vug_convert_request *r, const char *folder,
                                       vug_err *err)
{
    static const char key[] = "tokenizer.huggingface.json";
    const vug_gguf *gguf = vug_weights_gguf(r->checkpoint->weights);
    if (vug_gguf_find(gguf, vug_str_of(key)))
        return write_gguf_string(gguf, key, folder, "tokenizer.json", err);
    vug_text text;
    vug_status st = write_tokenizer(r, gguf->file, &text, err);
    if (st == VUG_OK && text.ptr)
        st = write_file(folder, "tokenizer.json", (vug_str){ text.ptr, text.len }, err);
    vug_text_release(&text);
    return st;
}

static vug_status write_from_metadata(const vug_convert_request *r,
                                      const vug_convert_target_list *targets, const char *folder,
                                      vug_err *err)
{
    const vug_checkpoint *c = r->checkpoint;
    const vug_gguf *gguf = vug_weights_gguf(c->weights);
    const vug_tensor_list list = { c->sorted, c->n, gguf->file, VUG_NAMES_GGUF };
    const vug_arch *arch;
    vug_buf json = { 0 };
    VUG_TRY(vug_config_gguf_to_json(gguf, &list, &json, &arch, err));
    vug_status st = write_config((vug_str){ json.ptr, json.len }, targets, folder, err);
    vug_buf_release(&json);
    VUG_TRY(st);
    VUG_TRY(write_generation_config(c, folder, err));
    VUG_TRY(write_tokenizer_file(r, folder, err));
    return write_gguf_string(gguf, "tokenizer.chat_template", folder, "chat_template.jinja", err);
}

vug_status vug_convert_write_other_files(const char *model, const vug_convert_request *r,
                                         const vug_convert_target_list *list, const char *folder,
                                         vug_err *err)
{
    if (vug_weights_gguf(r->checkpoint->weights))
        return write_from_metadata(r, list, folder, err);
    vug_text text;
    VUG_TRY(copy_other_files(model, folder, err));
    VUG_TRY(read_source_file(model, "config.json", VUG_MAX_CONFIG, &text, err));
    const vug_status st = write_config((vug_str){ text.ptr, text.len }, list, folder, err);
    vug_text_release(&text);
    return st;
}
