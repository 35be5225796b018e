/*
 * What a config says of Gemma 4, in the spelling of published files (global_head_dim,
 * num_global_key_value_heads) and in that of transformers 5 (per_layer_config).
 * Defaults: configuration_gemma4.py, class Gemma4TextConfig, where the other
 * implementations agree with it. Where they do not, a key has to be there.
 */
#include "models/common.h"
#include "models/gemma4.h"

/* Without rope_parameters both kinds have the defaults of the class, which `rope`
 * holds; inside them a type that is not said is 'default'. */
static void read_rope(vug_keys *k, const char *kind, vug_rope *rope)
{
    const vug_jv *parameters = vug_key_object(k, "rope_parameters");
    if (!parameters)
        return;
    vug_keys all = vug_keys_inside(k, parameters);
    vug_keys own = vug_keys_inside(&all, vug_key_object(&all, kind));
    vug_keys_leave(&own, &all);
    if (!own.object)
        vug_keys_fail(&own, VUG_FORMAT, "key 'rope_parameters' has no object '%s'", kind);
    const vug_str type =
            vug_key_string(&own, vug_key(&own, "rope_type") ? "rope_type" : "type", "default");
    rope->theta = vug_key_number(&own, "rope_theta", rope->theta, 1, 1e12);
    rope->rotated = vug_key_number(&own, "partial_rotary_factor", 1, 0, 1);
    rope->factor = vug_key_number(&own, "factor", 0, 1e-3, 1e6);
    if (vug_str_is(type, "proportional"))
        rope->type = VUG_ROPE_PROPORTIONAL;
    else if (vug_str_is(type, "linear"))
        rope->type = VUG_ROPE_LINEAR;
    else if (vug_str_is(type, "default"))
        rope->type = VUG_ROPE_DEFAULT;
    else
        vug_keys_fail(&own, VUG_UNSUPPORTED,
                      "RoPE type '%.*s' is not known for Gemma 4 (default, linear, proportional)",
                      VUG_STR_ARG(type));
    if (rope->type == VUG_ROPE_LINEAR && rope->factor == 0)
        vug_keys_fail(&own, VUG_FORMAT, "RoPE type 'linear' needs a key 'factor' beside it");
    if (rope->type != VUG_ROPE_PROPORTIONAL && rope->rotated != 1)
        vug_keys_fail(&own, VUG_UNSUPPORTED,
                      "partial_rotary_factor is known for RoPE type 'proportional' alone");
    vug_keys_leave(k, &own);
}

/* Which pattern is the default depends on who is asked, so the list has to be there.
 * The last layer is full, whatever the list says (Gemma4TextConfig). */
static void read_layer_types(vug_keys *k, vug_config *c)
{
    if (!vug_read_layer_types(k, c))
        vug_keys_fail(k, VUG_FORMAT, "key 'layer_types' is missing and has no default");
    if (k->st == VUG_OK)
        c->windowed[c->n_layers - 1] = false;
}

/* {"5": {"head_dim": 512}}: what transformers 5 writes instead of the global_ keys. */
static void read_per_layer(vug_keys *k, vug_config *c)
{
    const vug_jv *layers = vug_key_object(k, "per_layer_config");
    for (const vug_jv *l = layers ? layers->child : NULL; l && k->st == VUG_OK; l = l->next) {
        int64_t i = 0;
        for (size_t n = 0; n < l->key.len && i < c->n_layers; n++)
            i = l->key.ptr[n] >= '0' && l->key.ptr[n] <= '9' ? i * 10 + l->key.ptr[n] - '0'
                                                             : c->n_layers;
        if (l->key.len == 0 || i >= c->n_layers || l->type != VUG_JSON_OBJECT) {
            vug_keys_fail(k, VUG_FORMAT,
                          "key 'per_layer_config': '%.*s' is no layer, or has no object",
                          VUG_STR_ARG(l->key));
            return;
        }
        vug_keys own = vug_keys_inside(k, l);
        vug_layer_config *layer = &c->layer[i];
        for (const vug_jv *v = l->child; v; v = v->next) {
            if (!vug_str_is(v->key, "head_dim") && !vug_str_is(v->key, "num_key_value_heads"))
                vug_keys_fail(&own, VUG_UNSUPPORTED,
                              "key 'per_layer_config': '%.*s' is not known for a layer",
                              VUG_STR_ARG(v->key));
        }
        layer->d_head = (int32_t)vug_key_int(&own, "head_dim", layer->d_head, 2, VUG_MAX_HEAD);
        layer->n_kv_heads =
                (int32_t)vug_key_int(&own, "num_key_value_heads", layer->n_kv_heads, 1, 1 << 12);
        vug_keys_leave(k, &own);
    }
}

/* Layers from `first` on read the cache of the last layer before it of their kind. */
static void share_caches(vug_keys *k, vug_config *c, int64_t first)
{
    for (int64_t i = first; i < c->n_layers; i++) {
        int64_t source = first - 1;
        while (source >= 0 && c->windowed[source] != c->windowed[i])
            source--;
        const vug_layer_config *own = &c->layer[i];
        if (source < 0)
            vug_keys_fail(k, VUG_FORMAT,
                          "key 'num_kv_shared_layers': no layer before %lld is of the kind of "
                          "layer %lld",
                          (long long)first, (long long)i);
        else if (own->d_head != c->layer[source].d_head ||
                 own->n_kv_heads != c->layer[source].n_kv_heads)
            vug_keys_fail(k, VUG_FORMAT,
                          "layer %lld has %d key/value heads of %d and shares those of layer %lld, "
                          "%d of %d",
                          (long long)i, own->n_kv_heads, own->d_head, (long long)source,
                          c->layer[source].n_kv_heads, c->layer[source].d_head);
        c->layer[i].back = (int32_t)(i - source);
    }
}

/* The first layer of the same kind: they turn with one table. */
static const vug_layer_config *first_like(const vug_config *c, int64_t i)
{
    int64_t at = 0;
    while (c->windowed[at] != c->windowed[i])
        at++;
    return &c->layer[at];
}

/* Of full layers that per_layer_config does not speak of. A null is the width of all,
 * and so is absence where that newer spelling is used. */
static int64_t read_global_head(vug_keys *k, const vug_config *c)
{
    const bool null = vug_jv_is(vug_jv_get(k->object, "global_head_dim"), VUG_JSON_NULL);
    const int64_t otherwise = null || vug_key(k, "per_layer_config") ? c->d_head : 512;
    return vug_key_int(k, "global_head_dim", otherwise, 2, VUG_MAX_HEAD);
}

static void read_layers(vug_keys *k, vug_config *c, int64_t shared)
{
    const bool k_is_v = vug_key_bool(k, "attention_k_eq_v", false);
    const bool wide = vug_key_bool(k, "use_double_wide_mlp", false);
    const int64_t head = read_global_head(k, c);
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
        const vug_layer_config *like = first_like(c, i);
        if (l->d_head != like->d_head)
            vug_keys_fail(k, VUG_UNSUPPORTED,
                          "layer %lld has heads of %d, an earlier one of its kind has %d",
                          (long long)i, l->d_head, like->d_head);
        if (c->n_heads % l->n_kv_heads != 0 || l->d_head % 2 != 0)
            vug_keys_fail(k, VUG_FORMAT,
                          "layer %lld: %lld query heads and %d key/value heads of %d, expected a "
                          "multiple and an even width",
                          (long long)i, (long long)c->n_heads, l->n_kv_heads, l->d_head);
    }
    if (k->st == VUG_OK)
        share_caches(k, c, first);
}

/* Every layer has experts, or none. The weights of the chosen ones are always made to
 * sum to 1 (modeling_gemma4.py, Gemma4TextRouter). */
static void read_mixture(vug_keys *k, vug_config *c)
{
    static const vug_expert_defaults required = { VUG_REQUIRED, VUG_REQUIRED, VUG_REQUIRED };
    if (!vug_key_bool(k, "enable_moe_block", false))
        return;
    vug_read_experts(k, &required, "top_k_experts", c);
    c->renormalise = true;
    for (int64_t i = 0; i < c->n_layers; i++)
        c->sparse[i] = true;
}

static void refuse_options(vug_keys *k)
{
    if (vug_key_bool(k, "attention_bias", false))
        vug_keys_fail(k, VUG_UNSUPPORTED, "attention_bias is not supported for Gemma 4");
    /* "vision": inside an image alone. */
    const vug_jv *both = vug_key(k, "use_bidirectional_attention");
    if (both && !(both->type == VUG_JSON_STRING && vug_str_is(both->str, "vision")) &&
        !(both->type == VUG_JSON_BOOL && !both->boolean))
        vug_keys_fail(k, VUG_UNSUPPORTED,
                      "use_bidirectional_attention is set: embedding models are not supported");
}

/* Of keys whose default differs between implementations: null is none. The class of
 * the unified model has neither caches to share nor embeddings of layers. */
static int64_t stated(vug_keys *k, const char *key, bool unified, int64_t max)
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

vug_status vug_gemma4_read(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_keys k = { .object = text, .file = file };
    const bool unified = vug_str_is(vug_key_string(&k, "model_type", ""), "gemma4_unified_text");
    vug_read_sizes(&k, &defaults, c);
    c->attn_scale = 1;
    c->final_softcap = (float)vug_key_number(&k, "final_logit_softcapping", 0, 1e-3, 1e9);
    if (!vug_jv_get(text, "final_logit_softcapping"))
        vug_keys_fail(&k, VUG_FORMAT,
                      "key 'final_logit_softcapping' is missing and has no default");
    c->d_per_layer = stated(&k, "hidden_size_per_layer_input", unified, 1 << 14);
    c->n_vocab_per_layer = vug_key_int(&k, "vocab_size_per_layer_input", c->n_vocab, 1, 1 << 24);
    if (c->d_per_layer && c->n_vocab_per_layer < c->n_vocab)
        vug_keys_fail(&k, VUG_FORMAT, "key 'vocab_size_per_layer_input' is below 'vocab_size'");
    c->eos[c->n_eos++] = 1;
    c->rope_full = (vug_rope){
        .type = VUG_ROPE_PROPORTIONAL, .theta = 1e6, .rotated = 0.25, .attention = 1
    };
    c->rope_window = (vug_rope){ .theta = 1e4, .attention = 1 };
    read_rope(&k, "full_attention", &c->rope_full);
    read_rope(&k, "sliding_attention", &c->rope_window);
    if (k.st == VUG_OK) {
        const int64_t shared = stated(&k, "num_kv_shared_layers", unified, c->n_layers - 1);
        read_layers(&k, c, k.st == VUG_OK ? shared : 0);
        vug_read_window(&k, c, 512);
    }
    read_mixture(&k, c);
    vug_read_activation(&k, "hidden_activation", "gelu_pytorch_tanh", "Gemma 4");
    refuse_options(&k);
    return vug_keys_end(&k, err);
}
