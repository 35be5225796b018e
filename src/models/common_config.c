/* Readers of config keys that several architectures have. */
#include <math.h>

#include "models/common.h"

void vug_config_read_sizes(vug_config_keys *k, const vug_size_defaults *defaults, vug_config *c)
{
    c->n_layers = vug_key_int(k, "num_hidden_layers", defaults->layers, 1, VUG_MAX_LAYERS);
    c->d_model = vug_key_int(k, "hidden_size", defaults->d_model, 1, 1 << 20);
    c->n_heads = vug_key_int(k, "num_attention_heads", defaults->heads, 1, 1 << 12);
    const bool null = vug_jv_is(vug_jv_get(k->object, "num_key_value_heads"), VUG_JSON_NULL);
    const bool mha = defaults->kv_heads == 0 || (null && defaults->kv_null_is_mha);
    c->n_kv_heads = vug_key_int(k, "num_key_value_heads", mha ? c->n_heads : defaults->kv_heads, 1,
                                1 << 12);
    const int64_t head = defaults->d_head ? defaults->d_head : c->d_model / c->n_heads;
    c->d_head = vug_key_int(k, "head_dim", head, 2, VUG_MAX_HEAD);
    c->d_ffn = vug_key_int(k, "intermediate_size", defaults->d_ffn, 1, 1 << 24);
    c->n_vocab = vug_key_int(k, "vocab_size", defaults->vocab, 1, 1 << 24);
    c->context = vug_key_int(k, "max_position_embeddings", defaults->context, 1, 1 << 30);
    c->norm_eps = (float)vug_key_number(k, "rms_norm_eps", defaults->norm_eps, 0, 1);
    c->tied = vug_key_bool(k, "tie_word_embeddings", defaults->tied);

    if (c->n_heads % c->n_kv_heads != 0)
        vug_config_keys_fail(k, VUG_FORMAT,
                             "%lld query heads do not divide among %lld key/value heads",
                             (long long)c->n_heads, (long long)c->n_kv_heads);
    const bool usable = c->d_head % 2 == 0 && c->d_head >= 2 && c->d_head <= VUG_MAX_HEAD;
    if (vug_key_get(k, "head_dim") && !usable)
        vug_config_keys_fail(k, VUG_FORMAT, "key 'head_dim' must be even, it is %lld",
                             (long long)c->d_head);
    else if (!usable)
        vug_config_keys_fail(
                k, VUG_FORMAT,
                "key 'head_dim' is missing, and %lld over %lld heads gives %lld, expected an "
                "even number from 2 to %d",
                (long long)c->d_model, (long long)c->n_heads, (long long)c->d_head, VUG_MAX_HEAD);
}

void vug_config_read_activation(vug_config_keys *k, const char *key, const char *known,
                                const char *name)
{
    const vug_str act = vug_key_string(k, key, known);
    if (!vug_str_is(act, known))
        vug_config_keys_fail(k, VUG_UNSUPPORTED, "%s '%.*s' is not supported for %s (%s)", key,
                             VUG_STR_ARG(act), name, known);
}

float vug_config_read_softcap(vug_config_keys *k, const char *key, double fallback)
{
    if (vug_jv_is(vug_jv_get(k->object, key), VUG_JSON_NULL))
        return 0;
    return (float)vug_key_number(k, key, fallback, 1e-3, 1e9);
}

/* ---- windows --------------------------------------------------------- */

bool vug_config_read_layer_types(vug_config_keys *k, vug_config *c)
{
    const vug_jv *types = vug_key_get(k, "layer_types");
    if (!types)
        return false;
    if (types->type != VUG_JSON_ARRAY || types->n != (size_t)c->n_layers) {
        vug_config_keys_fail(k, VUG_FORMAT, "key 'layer_types' must list %lld layers, it lists %zu",
                             (long long)c->n_layers, types->n);
        return true;
    }
    size_t i = 0;
    for (const vug_jv *type = types->child; type; type = type->next, i++) {
        c->windowed[i] =
                type->type == VUG_JSON_STRING && vug_str_is(type->str, "sliding_attention");
        if (!c->windowed[i] &&
            !(type->type == VUG_JSON_STRING && vug_str_is(type->str, "full_attention")))
            vug_config_keys_fail(
                    k, VUG_UNSUPPORTED,
                    "key 'layer_types': layer %zu is '%.*s', expected 'full_attention' or "
                    "'sliding_attention'",
                    i, VUG_STR_ARG(type->str));
    }
    return true;
}

static void refuse_sliding_layers(vug_config_keys *k, const vug_config *c, const char *why)
{
    for (int64_t i = 0; i < c->n_layers; i++) {
        if (c->windowed[i])
            vug_config_keys_fail(k, VUG_FORMAT, "%s, but layer %lld is sliding", why, (long long)i);
    }
}

/* In transformers null means no window, so a sliding layer cannot run; only a missing key
 * takes the default. */
void vug_config_read_window(vug_config_keys *k, vug_config *c, int64_t fallback)
{
    c->window = vug_key_int(k, "sliding_window", fallback, 1, 1 << 30);
    if (vug_jv_is(vug_jv_get(k->object, "sliding_window"), VUG_JSON_NULL))
        refuse_sliding_layers(k, c, "key 'sliding_window' is null");
}

void vug_config_read_qwen_windows(vug_config_keys *k, vug_config *c)
{
    const bool used = vug_key_bool(k, "use_sliding_window", false);
    const bool null = vug_jv_is(vug_jv_get(k->object, "sliding_window"), VUG_JSON_NULL);
    const int64_t first = vug_key_int(k, "max_window_layers", 28, 0, 1 << 24);
    if (!vug_config_read_layer_types(k, c)) {
        for (int64_t i = 0; i < c->n_layers; i++)
            c->windowed[i] = used && !null && i >= first;
    }
    c->window = vug_key_int(k, "sliding_window", 4096, used ? 1 : 0, 1 << 30);
    if (!used)
        refuse_sliding_layers(k, c, "key 'use_sliding_window' is not true");
    else if (null)
        refuse_sliding_layers(k, c, "key 'sliding_window' is null");
}

/* ---- experts ----------------------------------------------------------------- */

enum {
    MAX_EXPERTS = 1 << 12,
    /* Ten times as many as any published model has; a table of their weights stays small. */
    MAX_ALL_EXPERTS = 1 << 17,
};

void vug_config_read_experts(vug_config_keys *k, const vug_expert_defaults *defaults,
                             const char *per_token_key, vug_config *c)
{
    const bool local = !vug_key_get(k, "num_experts") && vug_key_get(k, "num_local_experts");
    c->n_experts = vug_key_int(k, local ? "num_local_experts" : "num_experts", defaults->experts, 0,
                               MAX_EXPERTS);
    c->n_experts_per_token = vug_key_int(k, per_token_key, defaults->per_token, 1, MAX_EXPERTS);
    c->d_expert = vug_key_int(k, "moe_intermediate_size", defaults->width, 1, 1 << 24);
    if (k->st != VUG_OK || c->n_experts == 0)
        return;
    if (c->n_experts_per_token > c->n_experts)
        vug_config_keys_fail(k, VUG_FORMAT, "key '%s': %lld of %lld experts", per_token_key,
                             (long long)c->n_experts_per_token, (long long)c->n_experts);
    if (c->n_experts * c->n_layers > MAX_ALL_EXPERTS)
        vug_config_keys_fail(k, VUG_LIMIT, "%lld layers of %lld experts, at most %d in all",
                             (long long)c->n_layers, (long long)c->n_experts, MAX_ALL_EXPERTS);
}

/* ---- Gemma ------------------------------------------------------------------- */

void vug_config_refuse_gemma_options(vug_config_keys *k, const char *name)
{
    if (vug_key_bool(k, "attention_bias", false))
        vug_config_keys_fail(k, VUG_UNSUPPORTED, "attention_bias is not supported for %s", name);
    if (vug_key_bool(k, "use_bidirectional_attention", false))
        vug_config_keys_fail(
                k, VUG_UNSUPPORTED,
                "use_bidirectional_attention is set: embedding models are not supported");
}

void vug_config_read_gemma(vug_config_keys *k, const vug_gemma_defaults *own, const char *name,
                           vug_config *c)
{
    const vug_size_defaults defaults = { .layers = 26,
                                         .d_model = 2304,
                                         .heads = 8,
                                         .kv_heads = 4,
                                         .d_head = 256,
                                         .d_ffn = 9216,
                                         .vocab = own->vocab,
                                         .context = own->context,
                                         .norm_eps = 1e-6,
                                         .tied = true };
    vug_config_read_sizes(k, &defaults, c);
    c->attn_scale = (float)(1 / sqrt(vug_key_number(k, "query_pre_attn_scalar", 256, 1e-6, 1e12)));
    c->final_softcap = vug_config_read_softcap(k, "final_logit_softcapping", own->final_softcap);
    c->eos[c->n_eos++] = 1;
    vug_config_read_activation(k, "hidden_activation", "gelu_pytorch_tanh", name);
    vug_config_refuse_gemma_options(k, name);
}
