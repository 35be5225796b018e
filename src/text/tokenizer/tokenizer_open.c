#include "text/tokenizer/internal.h"

enum { MAX_CONFIG = 16 << 20 }; /* bytes of a tokenizer_config.json */

/* Opens the tokenizer of a folder or a file, whatever its format. */

char *vug_tokenizer_path(const char *folder)
{
    char *json = vug_path_join(folder, "tokenizer.json");
    char *model = json && !vug_file_exists(json) ? vug_path_join(folder, "tokenizer.model") : NULL;
    if (model && vug_file_exists(model)) {
        vug_free(json);
        return model;
    }
    vug_free(model);
    return json;
}

/* A tokenizer.model with the tokenizer_config.json beside it, if there is one. */
static vug_status open_sentencepiece(vug_bytes model, const char *path, vug_tokenizer **out,
                                     vug_err *err)
{
    static const char name[] = "tokenizer_config.json";
    const size_t folder = (size_t)(vug_path_base(path) - path);
    char *config = vug_alloc(folder + sizeof(name), 1);
    vug_text text = { 0 };
    if (!config)
        return VUG_FAIL_NOMEM(err, path, folder + sizeof(name));
    memcpy(config, path, folder);
    memcpy(config + folder, name, sizeof(name));
    vug_status st = VUG_OK;
    if (vug_file_exists(config))
        st = vug_read_file(config, MAX_CONFIG, &text, err);
    if (st == VUG_OK)
        st = vug_tokenizer_from_sentencepiece(model, (vug_str){ text.ptr, text.len }, path, out,
                                              err);
    vug_text_release(&text);
    vug_free(config);
    return st;
}

static vug_status open_file(const vug_mapping *file, const char *path, vug_tokenizer **out,
                            vug_err *err)
{
    const vug_bytes bytes = file->bytes;
    VUG_TRY(vug_reject_placeholder(bytes, path, err));
    if (bytes.len >= 4 && memcmp(bytes.ptr, "GGUF", 4) == 0)
        return vug_tokenizer_from_gguf_file(bytes, path, out, err);
    if (bytes.len > VUG_TOKENIZER_MAX_BYTES)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%.200s: %zu bytes, at most %zu are allowed in a tokenizer.json", path,
                        bytes.len, VUG_TOKENIZER_MAX_BYTES);
    if (vug_str_ends(vug_str_of(path), ".model"))
        return open_sentencepiece(bytes, path, out, err);
    return vug_tokenizer_open_json((vug_str){ (const char *)bytes.ptr, bytes.len }, path, file, out,
                                   err);
}

vug_status vug_tokenizer_open(const char *path, vug_tokenizer **out, vug_err *err)
{
    char *found = vug_is_folder(path) ? vug_tokenizer_path(path) : vug_strdup(path);
    if (!found)
        return VUG_FAIL_NOMEM(err, path, strlen(path));
    vug_mapping file = { 0 };
    vug_status st = vug_map_file(found, &file, err);
    if (st == VUG_OK)
        st = open_file(&file, found, out, err);
    vug_unmap(&file);
    vug_free(found);
    return st;
}
