/* A checkpoint: its config, its tensors bound to the architecture, its tokenizer, and
 * what its generation_config.json says; a folder of files, or one GGUF file that has
 * everything in it. */
#include <stdlib.h>

#include "engine/engine.h"
#include "text/text.h"

/* Tokens with which a model ends its turn, whatever the configs list. */
static const char *const turn_ends[] = { "<end_of_turn>", "<eos>",      "<turn|>",
                                         "<|im_end|>",    "<|eot_id|>", "<|eom_id|>" };

/* ---- config files ------------------------------------------------------------ */

/* The text of the folder's config.json, and its path; both the caller's, also on failure. */
static vug_status read_config_text(const char *folder, char **path, vug_text *text, vug_err *err)
{
    *path = vug_path_join(folder, "config.json");
    if (!*path)
        return VUG_FAIL_NOMEM(err, folder, strlen(folder));
    if (!vug_file_exists(folder))
        return VUG_FAIL(err, VUG_IO, "%s: no such folder", folder);
    if (!vug_is_folder(folder))
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "%s: is a file; expected a GGUF file, or a checkpoint folder with "
                        "config.json and *.safetensors",
                        folder);
    VUG_TRY(vug_read_file(*path, VUG_MAX_CONFIG, text, err));
    return vug_refuse_stand_in((vug_bytes){ (const uint8_t *)text->ptr, text->len }, *path, err);
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

/* The config, and the weights that it describes. */
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
        st = vug_checkpoint_fold(json, path, c->weights, err);
    vug_text_release(&text);
    vug_free(path);
    return st;
}

void vug_checkpoint_add_stop(vug_checkpoint *c, int32_t id)
{
    size_t at = 0;
    while (at < c->n_stop && c->stop[at] < id)
        at++;
    if ((at < c->n_stop && c->stop[at] == id) || c->n_stop == VUG_MAX_STOP)
        return;
    memmove(c->stop + at + 1, c->stop + at, (c->n_stop - at) * sizeof(*c->stop));
    c->stop[at] = id;
    c->n_stop++;
}

/* ---- tensors ------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    const vug_tensor *const *x = a, *const *y = b;
    const size_t n = (*x)->name.len < (*y)->name.len ? (*x)->name.len : (*y)->name.len;
    const int order = memcmp((*x)->name.ptr, (*y)->name.ptr, n);
    if (order)
        return order;
    return (*x)->name.len < (*y)->name.len ? -1 : (*x)->name.len > (*y)->name.len;
}

bool vug_checkpoint_reads(const vug_checkpoint *c, const vug_tensor *tensor)
{
    const vug_tensor **at = bsearch(&tensor, c->sorted, c->n, sizeof(const vug_tensor *), by_name);
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
        qsort(c->sorted, c->n, sizeof(const vug_tensor *), by_name);
    return VUG_OK;
}

static vug_tensor_list list_of(const vug_checkpoint *c, const char *source)
{
    const vug_names names = vug_weights_gguf(c->weights) ? VUG_NAMES_GGUF : VUG_NAMES_HF;
    return (vug_tensor_list){ c->sorted, c->n, source, names };
}

static vug_status bind_tensors(vug_checkpoint *c, const char *source, vug_err *err)
{
    VUG_TRY(sort_tensors(c, source, err));
    const vug_tensor_list list = list_of(c, source);
    return vug_bind(&c->config, &list, &c->binding, err);
}

/* ---- the whole ------------------------------------------------------------------ */

/* What came of opening the tokenizer `source`. */
static vug_status use_tokenizer(vug_checkpoint *c, vug_status st, const char *source, vug_err *err)
{
    /* What is known of numbers alone, logits and speed, needs no text. */
    if (st == VUG_UNSUPPORTED)
        return VUG_OK;
    if (st != VUG_OK) {
        if (err)
            *err = c->no_tokenizer;
        return st;
    }
    const int32_t size = vug_tokenizer_size(c->tokenizer);
    /* Multimodal checkpoints leave tokens such as the image's to another part, so a
     * tokenizer may be a little larger than the table, never by much. */
    enum { SPARE = 1024 };
    if (size > c->config.n_vocab + SPARE)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: the tokenizer has %d ids, the embedding %lld rows: they do not belong "
                        "together",
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
                      "%s: missing, so there is no text in or out", path);
    st = use_tokenizer(c, st, path, err);
    vug_free(path);
    return st;
}

static void set_defaults(vug_checkpoint *c)
{
    for (int i = 0; i < c->config.n_eos; i++)
        vug_checkpoint_add_stop(c, c->config.eos[i]);
    c->sampling = (vug_sampling_defaults){ .n = 1 };
    c->sampling.stage[0] = (vug_sampler_stage){ .kind = VUG_SAMPLER_TEMPERATURE, .value = 1 };
}

static vug_status open_folder(const char *folder, vug_checkpoint *c, vug_err *err)
{
    VUG_TRY(open_weights(folder, c, err));
    VUG_TRY(bind_tensors(c, folder, err));
    set_defaults(c);
    VUG_TRY(vug_generation_open(folder, c, err));
    return open_tokenizer(folder, c, err);
}

/* The tensors and the config that they and the metadata say. */
static vug_status open_gguf_tensors(const char *path, vug_checkpoint *c, vug_err *err)
{
    VUG_TRY(vug_weights_open_gguf(path, &c->weights, err));
    VUG_TRY(sort_tensors(c, path, err));
    const vug_tensor_list list = list_of(c, path);
    return vug_config_read_gguf(vug_weights_gguf(c->weights), &list, &c->config, err);
}

static vug_status open_gguf(const char *path, vug_checkpoint *c, vug_err *err)
{
    VUG_TRY(open_gguf_tensors(path, c, err));
    const vug_tensor_list list = list_of(c, path);
    VUG_TRY(vug_bind(&c->config, &list, &c->binding, err));
    set_defaults(c);
    VUG_TRY(vug_generation_read_gguf(vug_weights_gguf(c->weights), c, err));
    const vug_status st =
            vug_tokenizer_gguf(vug_weights_gguf(c->weights), &c->tokenizer, &c->no_tokenizer);
    return use_tokenizer(c, st, path, err);
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

vug_status vug_checkpoint_config(const char *path, vug_config *out, vug_err *err)
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

vug_status vug_checkpoint_over(const vug_config *config, vug_weights *weights, const char *name,
                               vug_checkpoint *out, vug_err *err)
{
    vug_checkpoint c = { .config = *config, .weights = weights };
    (void)VUG_FAIL(&c.no_tokenizer, VUG_UNSUPPORTED,
                   "%s: made in memory, so there is no text in or out", name);
    const vug_status st = bind_tensors(&c, name, err);
    if (st != VUG_OK) {
        vug_checkpoint_release(&c);
        return st;
    }
    set_defaults(&c);
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
