/* Reads config.json: finds the architecture, and reads the keys that all of them share. */
#include "models/config_keys.h"
#include "models/models.h"

/* Bytes for the values of the file; as much as for quantization_config (docs/limits.md). */
enum { CONFIG_BUDGET = 20 << 20 };

static const vug_arch *find_arch_of_type(vug_str model_type)
{
    for (size_t i = 0; i < vug_arch_count(); i++) {
        for (const char *const *t = vug_arch_at(i)->model_types; *t; t++) {
            if (vug_str_is(model_type, *t))
                return vug_arch_at(i);
        }
    }
    return NULL;
}

/* The known model types, for an error message. */
static void list_model_types(char *out, size_t size)
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
    vug_config_keys k = { .object = top, .file = file };
    if (top->type != VUG_JSON_OBJECT)
        return VUG_FAIL(err, VUG_FORMAT, "%s: expected an object of config keys", file);
    vug_str type = vug_key_string(&k, "model_type", NULL);
    if (!type.ptr && k.st == VUG_OK) {
        vug_config_keys text = { .object = vug_key_get(&k, "text_config"), .file = file };
        type = vug_key_string(&text, "model_type", NULL);
    }
    if (k.st == VUG_OK && !type.ptr)
        vug_config_keys_fail(&k, VUG_FORMAT, "key 'model_type' is missing");
    const vug_arch *arch = k.st == VUG_OK && type.ptr ? find_arch_of_type(type) : NULL;
    if (k.st == VUG_OK && !arch) {
        char known[256];
        list_model_types(known, sizeof(known));
        vug_config_keys_fail(&k, VUG_UNSUPPORTED,
                             "architecture '%.*s' is not supported; vug supports %s",
                             VUG_STR_ARG(type), known);
    }
    if (k.st == VUG_OK)
        *out = arch;
    return vug_config_keys_status(&k, err);
}

/* transformers 4 used the key "torch_dtype". */
static vug_dtype read_dtype(vug_config_keys *k)
{
    static const struct {
        const char *name;
        vug_dtype dtype;
    } names[] = {
        { "bfloat16", VUG_DTYPE_BF16 },
        { "float16", VUG_DTYPE_F16 },
        { "float32", VUG_DTYPE_F32 },
    };
    const vug_str name = vug_key_string(k, vug_key_get(k, "dtype") ? "dtype" : "torch_dtype", "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (vug_str_is(name, names[i].name))
            return names[i].dtype;
    }
    return VUG_DTYPE_COUNT;
}

static vug_status read_tree(const vug_jv *top, const char *file, vug_config *c, vug_err *err)
{
    VUG_TRY(read_arch(top, file, &c->arch, err));
    vug_config_keys k = { .object = top, .file = file };
    const vug_jv *text = vug_key_object(&k, "text_config");
    if (!text)
        text = top;
    c->tied = true;
    if (k.st == VUG_OK)
        VUG_TRY(c->arch->read_config(text, file, c, err));
    c->tied = vug_key_bool(&k, "tie_word_embeddings", c->tied);
    c->dtype = read_dtype(&k);
    /* Null means none; the architecture's default stays only if the key is absent. */
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
    return vug_config_keys_status(&k, err);
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

vug_status vug_config_read_arch(vug_str json, const char *file, const vug_arch **out, vug_err *err)
{
    vug_arena arena = { .budget = CONFIG_BUDGET };
    const vug_jv *top;
    vug_status st = vug_json_tree(json, file, &arena, &top, err);
    if (st == VUG_OK)
        st = read_arch(top, file, out, err);
    vug_arena_release(&arena);
    return st;
}
