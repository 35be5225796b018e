/*
 * The config of Gemma 4, with the keys of published files (global_head_dim,
 * num_global_key_value_heads) or those of transformers 5 (per_layer_config). Defaults:
 * configuration_gemma4.py, class Gemma4TextConfig. A key is required where other
 * implementations have another default.
 */
#include "models/common.h"
#include "models/gemma4.h"

/* `rope` holds the defaults for a config without rope_parameters. Inside rope_parameters the
 * default type is 'default'. */
static void read_rope(vug_config_keys *k, const char *kind, vug_rope *rope)
{
    const vug_jv *parameters = vug_key_object(k, "rope_parameters");
    if (!parameters)
        return;
    vug_config_keys all = vug_config_keys_enter(k, parameters);
    vug_config_keys own = vug_config_keys_enter(&all, vug_key_object(&all, kind));
    vug_config_keys_leave(&own, &all);
    if (!own.object)
        vug_config_keys_fail(&own, VUG_FORMAT, "key 'rope_parameters' has no object '%s'", kind);
    const vug_str type =
            vug_key_string(&own, vug_key_get(&own, "rope_type") ? "rope_type" : "type", "default");
    rope->theta = vug_key_number(&own, "rope_theta", rope->theta, 1, 1e12);
    rope->rotary_fraction = vug_key_number(&own, "partial_rotary_factor", 1, 0, 1);
    rope->factor = vug_key_number(&own, "factor", 0, 1e-3, 1e6);
    if (vug_str_is(type, "proportional"))
        rope->type = VUG_ROPE_PROPORTIONAL;
    else if (vug_str_is(type, "linear"))
        rope->type = VUG_ROPE_LINEAR;
    else if (vug_str_is(type, "default"))
        rope->type = VUG_ROPE_DEFAULT;
    else
        vug_config_keys_fail(
                &own, VUG_UNSUPPORTED,
                "RoPE type '%.*s' is not supported for Gemma 4 (default, linear, proportional)",
                VUG_STR_ARG(type));
    if (rope->type == VUG_ROPE_LINEAR && rope->factor == 0)
        vug_config_keys_fail(&own, VUG_FORMAT, "RoPE type 'linear' needs the key 'factor'");
    if (rope->type != VUG_ROPE_PROPORTIONAL && rope->rotary_fraction != 1)
        vug_config_keys_fail(
                &own, VUG_UNSUPPORTED,
                "partial_rotary_factor is supported only for RoPE type 'proportional'");
    vug_config_keys_leave(k, &own);
}

/* Implementations differ in the default pattern, so the list is required. The last layer is
 * full, whatever the list says (Gemma4TextConfig). */
static void read_layer_types(vug_config_keys *k, vug_config *c)
{
    if (!vug_config_read_layer_types(k, c))
        vug_config_keys_fail(k, VUG_FORMAT, "key 'layer_types' is missing and has no default");
    if (k->st == VUG_OK)
        c->windowed[c->n_layers - 1] = false;
}

/* {"5": {"head_dim": 512}}: transformers 5 writes this instead of the global_ keys. */
static void read_per_layer(vug_config_keys *k, vug_config *c)
{
    const vug_jv *layers = vug_key_object(k, "per_layer_config");
    for (const vug_jv *l = layers ? layers->child : NULL; l && k->st == VUG_OK; l = l->next) {
        int64_t i = 0;
        for (size_t n = 0; n < l->key.len && i < c->n_layers; n++)
            i = l->key.ptr[n] >= '0' && l->key.ptr[n] <= '9' ? i * 10 + l->key.ptr[n] - '0'
                                                             : c->n_layers;
        if (l->key.len == 0 || i >= c->n_layers || l->type != VUG_JSON_OBJECT) {
            vug_config_keys_fail(
                    k, VUG_FORMAT,
                    "key 'per_layer_config': '%.*s' is not a layer, or its value is not an object",
                    VUG_STR_ARG(l->key));
            return;
        }
        vug_config_keys own = vug_config_keys_enter(k, l);
        vug_layer_config *layer = &c->layer[i];
        for (const vug_jv *v = l->child; v; v = v->next) {
            if (!vug_str_is(v->key, "head_dim") && !vug_str_is(v->key, "num_key_value_heads"))
                vug_config_keys_fail(&own, VUG_UNSUPPORTED,
                                     "key 'per_layer_config': '%.*s' is not supported for a layer",
                                     VUG_STR_ARG(v->key));
        }
        layer->d_head = (int32_t)vug_key_int(&own, "head_dim", layer->d_head, 2, VUG_MAX_HEAD);
        layer->n_kv_heads =
                (int32_t)vug_key_int(&own, "num_key_value_heads", layer->n_kv_heads, 1, 1 << 12);
        vug_config_keys_leave(k, &own);
    }
}

/* Layers from `first` on read the KV cache of the last layer of their kind before `first`. */
static void share_caches(vug_config_keys *k, vug_config *c, int64_t first)
{
    for (int64_t i = first; i < c->n_layers; i++) {
        int64_t source = first - 1;
        while (source >= 0 && c->windowed[source] != c->windowed[i])
            source--;
        const vug_layer_config *own = &c->layer[i];
        if (source < 0)
            vug_config_keys_fail(
                    k, VUG_FORMAT,
                    "key 'num_kv_shared_layers': no layer before %lld is of the same kind as "
                    "layer %lld",
                    (long long)first, (long long)i);
        else if (own->d_head != c->layer[source].d_head ||
                 own->n_kv_heads != c->layer[source].n_kv_heads)
            vug_config_keys_fail(
                    k, VUG_FORMAT,
                    "layer %lld has %d key/value heads of %d and shares those of layer %lld, "
                    "%d of %d",
                    (long long)i, own->n_kv_heads, own->d_head, (long long)source,
                    c->layer[source].n_kv_heads, c->layer[source].d_head);
        c->layer[i].kv_layers_back = (int32_t)(i - source);
    }
}

/* The first layer of the same kind; they share one RoPE table. */
static const vug_layer_config *first_of_kind(const vug_config *c, int64_t i)
{
    int64_t at = 0;
    while (c->windowed[at] != c->windowed[i])
        at++;
    return &c->layer[at];
}

/* The head width of full layers that are not in per_layer_config. The default is the width of
 * all layers if the key is null, or if per_layer_config is used. */
static int64_t read_global_d_head(vug_config_keys *k, const vug_config *c)
{
    const bool null = vug_jv_is(vug_jv_get(k->object, "global_head_dim"), VUG_JSON_NULL);
    const int64_t fallback = null || vug_key_get(k, "per_layer_config") ? c->d_head : 512;
    return vug_key_int(k, "global_head_dim", fallback, 2, VUG_MAX_HEAD);
}

static void read_layers(vug_config_keys *k, vug_config *c, int64_t shared)
{
    const bool k_is_v = vug_key_bool(k, "attention_k_eq_v", false);
    const bool wide = vug_key_bool(k, "use_double_wide_mlp", false);
    const int64_t head = read_global_d_head(k, c);
    const int64_t kv = vug_key_int(k, "num_global_key_value_heads", c->n_kv_heads, 1, 1 << 12);
    read_layer_types(k, c);
    const int64_t first = c->n_layers - shared;
    for (int64_t i = 0; i < c->n_layers && k->st == VUG_OK; i++) {
        const bool full = !c->windowed[i];
        c->layer[i] = (vug_layer_config){
            .d_head = (int32_t)(full ? head : c->d_head),
            .n_kv_heads = (int32_t)(full && k_is_v ? kv : c->n_kv_heads),
            .d_ffn = (int32_t)(wide && i >= first ? 2 * c->d_ffn : c->d_ffn),
            .k_is_v = full && k_is_v,
        };
    }
    read_per_layer(k, c);
    for (int64_t i = 0; i < c->n_layers && k->st == VUG_OK; i++) {
        const vug_layer_config *l = &c->layer[i];
        const vug_layer_config *like = first_of_kind(c, i);
        if (l->d_head != like->d_head)
            vug_config_keys_fail(k, VUG_UNSUPPORTED,
                                 "layer %lld has heads of %d, an earlier one of its kind has %d",
                                 (long long)i, l->d_head, like->d_head);
        if (c->n_heads % l->n_kv_heads != 0 || l->d_head % 2 != 0)
            vug_config_keys_fail(
                    k, VUG_FORMAT,
                    "layer %lld: %lld query heads and %d key/value heads of %d, expected a "
                    "multiple and an even width",
                    (long long)i, (long long)c->n_heads, l->n_kv_heads, l->d_head);
    }
    if (k->st == VUG_OK)
        share_caches(k, c, first);
}

/* Every layer has experts, or none has. The weights of the chosen experts always sum to 1
 * (modeling_gemma4.py, Gemma4TextRouter). */
static void read_mixture(vug_config_keys *k, vug_config *c)
{
    static const vug_expert_defaults required = { VUG_REQUIRED, VUG_REQUIRED, VUG_REQUIRED };
    if (!vug_key_bool(k, "enable_moe_block", false))
        return;
    vug_config_read_experts(k, &required, "top_k_experts", c);
    c->renormalise = true;
    for (int64_t i = 0; i < c->n_layers; i++)
        c->sparse[i] = true;
}

static void refuse_options(vug_config_keys *k)
{
    if (vug_key_bool(k, "attention_bias", false))
        vug_config_keys_fail(k, VUG_UNSUPPORTED, "attention_bias is not supported for Gemma 4");
    /* "vision": bidirectional only inside images. */
    const vug_jv *mode = vug_key_get(k, "use_bidirectional_attention");
    if (mode && !(mode->type == VUG_JSON_STRING && vug_str_is(mode->str, "vision")) &&
        !(mode->type == VUG_JSON_BOOL && !mode->boolean))
        vug_config_keys_fail(
                k, VUG_UNSUPPORTED,
                "use_bidirectional_attention is set: embedding models are not supported");
}

/* Reads a key whose default differs between implementations; null means 0. The unified model
 * has no shared caches and no per-layer embeddings, so there the default is 0. */
static int64_t read_explicit_int(vug_config_keys *k, const char *key, bool unified, int64_t max)
{
    if (vug_jv_is(vug_jv_get(k->object, key), VUG_JSON_NULL))
        return 0;
    return vug_key_int(k, key, unified ? 0 : VUG_REQUIRED, 0, max);
}

static const vug_size_defaults defaults = {
    .layers = VUG_REQUIRED,
    .d_model = VUG_REQUIRED,
    .heads = VUG_REQUIRED,
    .kv_heads = VUG_REQUIRED,
    .d_head = 256,
    .d_ffn = VUG_REQUIRED,
    .vocab = VUG_REQUIRED,
    .context = 131072,
    .norm_eps = 1e-6,
    .tied = true,
};

vug_status vug_gemma4_read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_config_keys k = { .object = text, .file = file };
    const bool unified = vug_str_is(vug_key_string(&k, "model_type", ""), "gemma4_unified_text");
    vug_config_read_sizes(&k, &defaults, c);
    c->attn_scale = 1;
    c->final_softcap = (float)vug_key_number(&k, "final_logit_softcapping", 0, 1e-3, 1e9);
    if (!vug_jv_get(text, "final_logit_softcapping"))
        vug_config_keys_fail(&k, VUG_FORMAT,
                             "key 'final_logit_softcapping' is missing and has no default");
    c->d_per_layer = read_explicit_int(&k, "hidden_size_per_layer_input", unified, 1 << 14);
    c->n_vocab_per_layer = vug_key_int(&k, "vocab_size_per_layer_input", c->n_vocab, 1, 1 << 24);
    if (c->d_per_layer && c->n_vocab_per_layer < c->n_vocab)
        vug_config_keys_fail(&k, VUG_FORMAT,
                             "key 'vocab_size_per_layer_input' is below 'vocab_size'");
    c->eos[c->n_eos++] = 1;
    c->rope_full = (vug_rope){
        .type = VUG_ROPE_PROPORTIONAL, .theta = 1e6, .rotary_fraction = 0.25, .attention_factor = 1
    };
    c->rope_window = (vug_rope){ .theta = 1e4, .attention_factor = 1 };
    read_rope(&k, "full_attention", &c->rope_full);
    read_rope(&k, "sliding_attention", &c->rope_window);
    if (k.st == VUG_OK) {
        const int64_t shared =
                read_explicit_int(&k, "num_kv_shared_layers", unified, c->n_layers - 1);
        read_layers(&k, c, k.st == VUG_OK ? shared : 0);
        vug_config_read_window(&k, c, 512);
    }
    read_mixture(&k, c);
    vug_config_read_activation(&k, "hidden_activation", "gelu_pytorch_tanh", "Gemma 4");
    refuse_options(&k);
    return vug_config_keys_status(&k, err);
}
