/* Reading config.json as far as all architectures share it. */
#include "models/models.h"

#include "models/keys.h"

/* Lives beside the directory of tensors; the same as what is read of quantization may take
 * (docs/limits.md). */
enum { CONFIG_BUDGET = 20 << 20 };

static const vug_arch *find_arch(vug_str model_type)
{
    for (size_t i = 0; i < vug_arch_count(); i++) {
        for (const char *const *t = vug_arch_at(i)->model_types; *t; t++) {
            if (vug_str_is(model_type, *t))
                return vug_arch_at(i);
        }
    }
    return NULL;
}

/* Every model_type that is known, for the sentence about one that is not. */
static void list_types(char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < vug_arch_count(); i++) {
        for (const char *const *t = vug_arch_at(i)->model_types; *t; t++) {
            const size_t n = strlen(*t);
            if (at + n + 3 > size)
                return;
            if (at) {
                memcpy(out + at, ", ", 2);
                at += 2;
            }
            memcpy(out + at, *t, n + 1);
            at += n;
        }
    }
}

static vug_status read_arch(const vug_jv *top, const char *file, const vug_arch **out, vug_err *err)
{
    vug_keys k = { .object = top, .file = file };
    if (top->type != VUG_JSON_OBJECT)
        return VUG_FAIL(err, VUG_FORMAT, "%s: expected an object of config keys", file);
    vug_str type = vug_key_string(&k, "model_type", NULL);
    if (!type.ptr && k.st == VUG_OK) {
        vug_keys text = { .object = vug_key(&k, "text_config"), .file = file };
        type = vug_key_string(&text, "model_type", NULL);
    }
    if (k.st == VUG_OK && !type.ptr)
        vug_keys_fail(&k, VUG_FORMAT, "key 'model_type' is missing");
    const vug_arch *arch = k.st == VUG_OK && type.ptr ? find_arch(type) : NULL;
    if (k.st == VUG_OK && !arch) {
        char known[256];
        list_types(known, sizeof(known));
        vug_keys_fail(&k, VUG_UNSUPPORTED, "architecture '%.*s' is not known; vug knows %s",
                      VUG_STR_ARG(type), known);
    }
    if (k.st == VUG_OK)
        *out = arch;
    return vug_keys_end(&k, err);
}

/* "bfloat16"; transformers 4 wrote it under another key. */
static vug_dtype read_dtype(vug_keys *k)
{
    static const struct {
        const char *name;
        vug_dtype dtype;
    } names[] = {
        { "bfloat16", VUG_DTYPE_BF16 },
        { "float16", VUG_DTYPE_F16 },
        { "float32", VUG_DTYPE_F32 },
    };
    const vug_str name = vug_key_string(k, vug_key(k, "dtype") ? "dtype" : "torch_dtype", "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (vug_str_is(name, names[i].name))
            return names[i].dtype;
    }
    return VUG_DTYPE_COUNT;
}

vug_layer_config vug_config_layer(const vug_config *c, int64_t i)
{
    vug_layer_config own = i >= 0 ? c->layer[i] : (vug_layer_config){ 0 };
    own.d_head = own.d_head ? own.d_head : (int32_t)c->d_head;
    own.n_kv_heads = own.n_kv_heads ? own.n_kv_heads : (int32_t)c->n_kv_heads;
    own.d_ffn = own.d_ffn ? own.d_ffn : (int32_t)c->d_ffn;
    return own;
}

int64_t vug_config_head(const vug_config *c, bool windowed)
{
    for (int64_t i = 0; i < c->n_layers; i++) {
        if (c->windowed[i] == windowed)
            return vug_config_layer(c, i).d_head;
    }
    return c->d_head;
}

int64_t vug_config_window(const vug_config *c, int64_t i)
{
    return c->windowed[i] ? c->window : 0;
}

static vug_status read_tree(const vug_jv *top, const char *file, vug_config *c, vug_err *err)
{
    VUG_TRY(read_arch(top, file, &c->arch, err));
    vug_keys k = { .object = top, .file = file };
    const vug_jv *text = vug_key_object(&k, "text_config");
    if (!text)
        text = top;
    c->tied = true;
    if (k.st == VUG_OK)
        VUG_TRY(c->arch->read(text, file, c, err));
    c->tied = vug_key_bool(&k, "tie_word_embeddings", c->tied);
    c->dtype = read_dtype(&k);
    /* Null is none; only where the key is nowhere the architecture's default stays. */
    if (vug_jv_get(top, "eos_token_id") || vug_jv_get(text, "eos_token_id"))
        c->n_eos = vug_key_ids(&k, "eos_token_id", c->eos, VUG_MAX_EOS);
    if (text != top) {
        const int n = c->n_eos;
        k.object = text;
        c->tied = vug_key_bool(&k, "tie_word_embeddings", c->tied);
        c->n_eos += vug_key_ids(&k, "eos_token_id", c->eos + n, VUG_MAX_EOS - n);
        if (c->dtype == VUG_DTYPE_COUNT)
            c->dtype = read_dtype(&k);
    }
    return vug_keys_end(&k, err);
}

vug_status vug_config_read(vug_str json, const char *file, vug_config *out, vug_err *err)
{
    vug_arena arena = { .budget = CONFIG_BUDGET };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, file, &arena, &top, err);
    if (st == VUG_OK) {
        *out = (vug_config){ 0 };
        st = read_tree(top, file, out, err);
    }
    vug_arena_release(&arena);
    return st;
}

vug_status vug_config_arch(vug_str json, const char *file, const vug_arch **out, vug_err *err)
{
    vug_arena arena = { .budget = CONFIG_BUDGET };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, file, &arena, &top, err);
    if (st == VUG_OK)
        st = read_arch(top, file, out, err);
    vug_arena_release(&arena);
    return st;
}
