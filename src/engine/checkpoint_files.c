/* Opens checkpoints: the config, the tensors bound to the architecture, the tokenizer and the
 * generation config, from the files of a folder or from one GGUF file. */
#include <stdlib.h>

#include "engine/internal.h"
#include "text/text.h"

/* Tokens that end a turn, even if the configs do not list them. */
static const char *const turn_ends[] = { "<end_of_turn>", "<eos>",      "<turn|>",
                                         "<|im_end|>",    "<|eot_id|>", "<|eom_id|>" };

/* ---- config files ------------------------------------------------------------ */

/* Reads the folder's config.json. The caller owns `path` and `text`, even on failure. */
static vug_status read_config_text(const char *folder, char **path, vug_text *text, vug_err *err)
{
    *path = vug_path_join(folder, "config.json");
    if (!*path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    if (!vug_file_exists(folder))
        return VUG_FAIL(err, VUG_IO, "%s: no such file or folder", folder);
    if (!vug_is_folder(folder))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s: is not a GGUF file; expected a GGUF file, or a checkpoint folder "
                        "with config.json and *.safetensors",
                        folder);
    if (!vug_file_exists(*path))
        return VUG_FAIL(err, VUG_IO,
                        "%s: has no config.json; expected a checkpoint folder with config.json and "
                        "*.safetensors, or a GGUF file",
                        folder);
    VUG_TRY(vug_read_file(*path, VUG_MAX_CONFIG, text, err));
    return vug_reject_placeholder((vug_bytes){ (const uint8_t *)text->ptr, text->len }, *path, err);
}

static vug_status read_folder_config(const char *folder, vug_config *out, vug_err *err)
{
    char *path;
    vug_text text = { 0 };
    vug_status st = read_config_text(folder, &path, &text, err);
    if (st == VUG_OK)
        st = vug_config_read((vug_str){ text.ptr, text.len }, path, out, err);
    vug_text_release(&text);
    vug_free(path);
    return st;
}

/* Reads the config and opens the weights. */
static vug_status open_weights(const char *folder, vug_checkpoint *c, vug_err *err)
{
    char *path;
    vug_text text = { 0 };
    vug_status st = read_config_text(folder, &path, &text, err);
    const vug_str json = { text.ptr, text.len };
    if (st == VUG_OK)
        st = vug_config_read(json, path, &c->config, err);
    if (st == VUG_OK)
        st = vug_weights_open(folder, &c->weights, err);
    if (st == VUG_OK)
        st = vug_quantization_config_apply(json, path, c->weights, err);
    vug_text_release(&text);
    vug_free(path);
    return st;
}

/* ---- tensors ------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
    const vug_tensor *const *x = a, *const *y = b;
    const size_t n = (*x)->name.len < (*y)->name.len ? (*x)->name.len : (*y)->name.len;
    const int order = memcmp((*x)->name.ptr, (*y)->name.ptr, n);
    if (order)
        return order;
    return (*x)->name.len < (*y)->name.len ? -1 : (*x)->name.len > (*y)->name.len;
}

bool vug_checkpoint_uses(const vug_checkpoint *c, const vug_tensor *tensor)
{
    const vug_tensor **at =
            bsearch(&tensor, c->sorted, c->n, sizeof(const vug_tensor *), compare_names);
    return at && c->binding.bound[at - c->sorted];
}

static vug_status sort_tensors(vug_checkpoint *c, const char *source, vug_err *err)
{
    c->n = vug_weights_count(c->weights);
    c->sorted = vug_alloc(c->n, sizeof(const vug_tensor *));
    if (!c->sorted)
        return VUG_FAIL_NOMEM(err, source, c->n * sizeof(void *));
    for (size_t i = 0; i < c->n; i++)
        c->sorted[i] = vug_weights_at(c->weights, i);
    if (c->n)
        qsort(c->sorted, c->n, sizeof(const vug_tensor *), compare_names);
    return VUG_OK;
}

static vug_tensor_list tensor_list(const vug_checkpoint *c, const char *source)
{
    const vug_tensor_naming names = vug_weights_gguf(c->weights) ? VUG_NAMES_GGUF : VUG_NAMES_HF;
    return (vug_tensor_list){ c->sorted, c->n, source, names };
}

static vug_status bind_tensors(vug_checkpoint *c, const char *source, vug_err *err)
{
    VUG_TRY(sort_tensors(c, source, err));
    const vug_tensor_list list = tensor_list(c, source);
    return vug_binding_init(&c->config, &list, &c->binding, err);
}

/* ---- opening ----------------------------------------------------------------- */

/* Handles the result of opening the tokenizer `source`. */
static vug_status accept_tokenizer(vug_checkpoint *c, vug_status st, const char *source,
                                   vug_err *err)
{
    /* Without a tokenizer the model still computes logits. */
    if (st == VUG_UNSUPPORTED)
        return VUG_OK;
    if (st != VUG_OK) {
        if (err)
            *err = c->no_tokenizer;
        return st;
    }
    const int32_t size = vug_tokenizer_size(c->tokenizer);
    /* In multimodal checkpoints a tokenizer may have a few more ids than the embedding: other
     * parts of the model handle tokens such as the image's. */
    enum { SPARE = 1024 };
    if (size > c->config.n_vocab + SPARE)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: the tokenizer has %d ids, the embedding %lld rows: they do not match",
                        source, size, (long long)c->config.n_vocab);
    for (size_t i = 0; i < sizeof(turn_ends) / sizeof(turn_ends[0]); i++) {
        const int32_t id = vug_tokenizer_find(c->tokenizer, turn_ends[i]);
        if (id >= 0)
            vug_checkpoint_add_stop(c, id);
    }
    return VUG_OK;
}

static vug_status open_tokenizer(const char *folder, vug_checkpoint *c, vug_err *err)
{
    char *path = vug_tokenizer_path(folder);
    if (!path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    vug_status st;
    if (vug_file_exists(path))
        st = vug_tokenizer_open(path, &c->tokenizer, &c->no_tokenizer);
    else
        st = VUG_FAIL(&c->no_tokenizer, VUG_UNSUPPORTED,
                      "%s: missing, so the model cannot read or write text", path);
    st = accept_tokenizer(c, st, path, err);
    vug_free(path);
    return st;
}

static void set_generation_defaults(vug_checkpoint *c)
{
    for (int i = 0; i < c->config.n_eos; i++)
        vug_checkpoint_add_stop(c, c->config.eos[i]);
    c->sampling = (vug_sampling_defaults){ .n = 1 };
    c->sampling.sampler[0] = (vug_sampler_config){ .kind = VUG_SAMPLER_TEMPERATURE, .value = 1 };
}

static vug_status open_folder(const char *folder, vug_checkpoint *c, vug_err *err)
{
    VUG_TRY(open_weights(folder, c, err));
    VUG_TRY(bind_tensors(c, folder, err));
    set_generation_defaults(c);
    VUG_TRY(vug_generation_config_read(folder, c, err));
    return open_tokenizer(folder, c, err);
}

/* Opens the tensors and derives the config from them and the metadata. */
static vug_status open_gguf_tensors(const char *path, vug_checkpoint *c, vug_err *err)
{
    VUG_TRY(vug_weights_open_gguf(path, &c->weights, err));
    VUG_TRY(sort_tensors(c, path, err));
    const vug_tensor_list list = tensor_list(c, path);
    return vug_config_read_gguf(vug_weights_gguf(c->weights), &list, &c->config, err);
}

static vug_status open_gguf(const char *path, vug_checkpoint *c, vug_err *err)
{
    VUG_TRY(open_gguf_tensors(path, c, err));
    const vug_tensor_list list = tensor_list(c, path);
    VUG_TRY(vug_binding_init(&c->config, &list, &c->binding, err));
    set_generation_defaults(c);
    VUG_TRY(vug_generation_config_read_gguf(vug_weights_gguf(c->weights), c, err));
    const vug_status st =
            vug_tokenizer_from_gguf(vug_weights_gguf(c->weights), &c->tokenizer, &c->no_tokenizer);
    return accept_tokenizer(c, st, path, err);
}

bool vug_is_gguf(const char *path)
{
    vug_mapping file = { 0 };
    if (vug_is_folder(path))
        return false;
    if (vug_str_ends(vug_str_of(path), ".gguf"))
        return true;
    if (vug_map_file(path, &file, NULL) != VUG_OK)
        return false;
    const bool magic = file.bytes.len >= 4 && memcmp(file.bytes.ptr, "GGUF", 4) == 0;
    vug_unmap(&file);
    return magic;
}

vug_status vug_checkpoint_read_config(const char *path, vug_config *out, vug_err *err)
{
    if (!vug_is_gguf(path))
        return read_folder_config(path, out, err);
    vug_checkpoint c = { 0 };
    const vug_status st = open_gguf_tensors(path, &c, err);
    if (st == VUG_OK)
        *out = c.config;
    vug_checkpoint_release(&c);
    return st;
}

vug_status vug_checkpoint_open(const char *path, vug_checkpoint *out, vug_err *err)
{
    vug_checkpoint c = { 0 };
    const vug_status st = vug_is_gguf(path) ? open_gguf(path, &c, err) : open_folder(path, &c, err);
    if (st != VUG_OK) {
        vug_checkpoint_release(&c);
        return st;
    }
    *out = c;
    out->binding.config = &out->config;
    return VUG_OK;
}

vug_status vug_checkpoint_from_weights(const vug_config *config, vug_weights *weights,
                                       const char *name, vug_checkpoint *out, vug_err *err)
{
    vug_checkpoint c = { .config = *config, .weights = weights };
    (void)VUG_FAIL(&c.no_tokenizer, VUG_UNSUPPORTED,
                   "%s: has no tokenizer, because its weights were made in memory", name);
    const vug_status st = bind_tensors(&c, name, err);
    if (st != VUG_OK) {
        vug_checkpoint_release(&c);
        return st;
    }
    set_generation_defaults(&c);
    *out = c;
    out->binding.config = &out->config;
    return VUG_OK;
}

void vug_checkpoint_release(vug_checkpoint *c)
{
    vug_binding_release(&c->binding);
    vug_free(c->sorted);
    vug_weights_close(c->weights);
    vug_tokenizer_close(c->tokenizer);
    *c = (vug_checkpoint){ 0 };
}
