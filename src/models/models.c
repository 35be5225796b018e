/* The registry, and reading a config as far as all architectures share it. */
#include "models/models.h"

#include <math.h>

#include "models/gemma.h"
#include "models/gemma2.h"
#include "models/gemma3.h"
#include "models/gemma4.h"
#include "models/keys.h"
#include "models/llama.h"
#include "models/qwen2.h"
#include "models/qwen3.h"
#include "models/qwen3_moe.h"

static const vug_arch *const registry[] = {
    &vug_arch_gemma, &vug_arch_gemma2, &vug_arch_gemma3, &vug_arch_gemma4,
    &vug_arch_llama, &vug_arch_qwen2,  &vug_arch_qwen3,  &vug_arch_qwen3_moe,
};

size_t vug_arch_count(void)
{
    return sizeof(registry) / sizeof(registry[0]);
}

const vug_arch *vug_arch_at(size_t i)
{
    return registry[i];
}

/* ---- config.json ----------------------------------------------------------- */

enum { CONFIG_BUDGET = 64 << 20 };

static const vug_arch *find_arch(vug_str model_type)
{
    for (size_t i = 0; i < vug_arch_count(); i++) {
        for (const char *const *t = registry[i]->model_types; *t; t++) {
            if (vug_str_is(model_type, *t))
                return registry[i];
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
        for (const char *const *t = registry[i]->model_types; *t; t++) {
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
    if (k.st != VUG_OK && err)
        *err = k.err;
    if (k.st == VUG_OK)
        *out = arch;
    return k.st;
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
    vug_layer_config own = c->layer[i];
    own.d_head = own.d_head ? own.d_head : (int32_t)c->d_head;
    own.n_kv_heads = own.n_kv_heads ? own.n_kv_heads : (int32_t)c->n_kv_heads;
    own.d_ffn = own.d_ffn ? own.d_ffn : (int32_t)c->d_ffn;
    return own;
}

static vug_status read_tree(const vug_jv *top, const char *file, vug_config *c, vug_err *err)
{
    VUG_TRY(read_arch(top, file, &c->arch, err));
    vug_keys k = { .object = top, .file = file };
    const vug_jv *text = vug_key_object(&k, "text_config");
    if (!text)
        text = top;
    if (k.st == VUG_OK)
        VUG_TRY(c->arch->read(text, file, c, err));
    c->dtype = read_dtype(&k);
    /* Null is none; only where the key is nowhere the architecture's default stays. */
    if (vug_jv_get(top, "eos_token_id") || vug_jv_get(text, "eos_token_id"))
        c->n_eos = vug_key_ids(&k, "eos_token_id", c->eos, VUG_MAX_EOS);
    if (text != top) {
        const int n = c->n_eos;
        k.object = text;
        c->n_eos += vug_key_ids(&k, "eos_token_id", c->eos + n, VUG_MAX_EOS - n);
        if (c->dtype == VUG_DTYPE_COUNT)
            c->dtype = read_dtype(&k);
    }
    if (k.st != VUG_OK && err)
        *err = k.err;
    return k.st;
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

/* ---- for architecture files ------------------------------------------------- */

float vug_embedding_scale(const vug_binding *binding)
{
    return vug_model_root(binding, binding->config->d_model);
}

float vug_model_root(const vug_binding *binding, int64_t width)
{
    const bool said = binding->config->dtype < VUG_DTYPE_COUNT;
    const vug_dtype_info *format = vug_dtype_of(said ? binding->config->dtype
                                                     : binding->tensor[VUG_SLOT_EMBEDDING]->dtype);
    const float exact = (float)sqrt((double)width);
    uint8_t bytes[sizeof(float)];
    float rounded = exact;
    if (format->elements == 1) {
        format->encode(&exact, bytes, 1);
        format->decode(bytes, &rounded, 1);
    }
    return rounded;
}

/* ---- flow ---------------------------------------------------------------- */

vug_status vug_model_build(const vug_binding *binding, bool hidden, vug_graph *out, vug_err *err)
{
    vug_graph g = { .name = binding->config->arch->name };
    vug_flow f = vug_flow_over(&g, vug_binding_weight, binding);
    f.hidden = hidden;
    binding->config->arch->build(&f, binding->config, binding);
    vug_status st = vug_flow_finish(&f, err);
    if (st == VUG_OK)
        st = vug_graph_verify(&g, err);
    if (st != VUG_OK) {
        vug_graph_release(&g);
        return st;
    }
    *out = g;
    return VUG_OK;
}
