/*
 * Gemma 3, the text model. Source: Gemma 3 technical report (2025), section 2;
 * where it is silent, transformers' models/gemma3/modeling_gemma3.py, class
 * Gemma3TextModel, and configuration_gemma3.py for the defaults.
 *
 * Five layers with a sliding window, then one that sees everything; RMS norms
 * with (1 + w) before and after both blocks; queries and keys normalised per
 * head; two RoPE bases, one for each kind of layer.
 */
#include <math.h>

#include "models/keys.h"
#include "models/models.h"

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "V D", false, false },
    { "output_norm", "norm.weight", "D", false, false },
    { "output", "lm_head.weight", "V D", false, true },
    { "attn_norm", "layers.%d.input_layernorm.weight", "D", true, false },
    { "attn_q", "layers.%d.self_attn.q_proj.weight", "H*E D", true, false },
    { "attn_k", "layers.%d.self_attn.k_proj.weight", "K*E D", true, false },
    { "attn_v", "layers.%d.self_attn.v_proj.weight", "K*E D", true, false },
    { "attn_q_norm", "layers.%d.self_attn.q_norm.weight", "E", true, false },
    { "attn_k_norm", "layers.%d.self_attn.k_norm.weight", "E", true, false },
    { "attn_output", "layers.%d.self_attn.o_proj.weight", "D H*E", true, false },
    { "post_attn_norm", "layers.%d.post_attention_layernorm.weight", "D", true, false },
    { "ffn_norm", "layers.%d.pre_feedforward_layernorm.weight", "D", true, false },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "F D", true, false },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "F D", true, false },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "D F", true, false },
    { "post_ffn_norm", "layers.%d.post_feedforward_layernorm.weight", "D", true, false },
};

/* ---- config -------------------------------------------------------------- */

/* What `object` says over what `rope` holds already; NULL says nothing. */
static void read_rope(vug_keys *k, const vug_jv *object, vug_rope *rope)
{
    vug_keys sub = { .object = object, .file = k->file, .st = k->st, .err = k->err };
    rope->theta = vug_key_number(&sub, "rope_theta", rope->theta, 1, 1e12);
    rope->factor = vug_key_number(&sub, "factor", rope->factor, 1e-3, 1e6);
    const vug_str type =
            vug_key_string(&sub, vug_key(&sub, "rope_type") ? "rope_type" : "type", NULL);
    if (vug_str_is(type, "linear"))
        rope->type = VUG_ROPE_LINEAR;
    else if (vug_str_is(type, "default"))
        rope->type = VUG_ROPE_DEFAULT;
    else if (type.ptr)
        vug_keys_fail(&sub, VUG_UNSUPPORTED,
                      "RoPE type '%.*s' is not known for Gemma 3 (default, linear)",
                      VUG_STR_ARG(type));
    if (rope->type == VUG_ROPE_LINEAR && rope->factor == 0)
        vug_keys_fail(&sub, VUG_FORMAT, "RoPE type 'linear' needs a key 'factor' beside it");
    k->st = sub.st;
    k->err = sub.err;
}

/* transformers 5 keeps one set of RoPE parameters for each kind of layer; version
 * 4 had rope_theta and rope_scaling for the full layers and one key for the
 * others, which are never scaled. Where both are there rope_scaling wins, as in
 * Gemma3TextConfig.convert_rope_params_to_dict. */
static void read_ropes(vug_keys *k, vug_config *c)
{
    c->rope_full.theta = vug_key_number(k, "rope_theta", 1e6, 1, 1e12);
    c->rope_window.theta = vug_key_number(k, "rope_local_base_freq", 1e4, 1, 1e12);
    const vug_jv *parameters = vug_key_object(k, "rope_parameters");
    vug_keys sub = { .object = parameters, .file = k->file, .st = k->st, .err = k->err };
    const vug_jv *full = vug_key_object(&sub, "full_attention");
    const vug_jv *sliding = vug_key_object(&sub, "sliding_attention");
    k->st = sub.st;
    k->err = sub.err;
    read_rope(k, full || sliding ? full : parameters, &c->rope_full);
    read_rope(k, sliding, &c->rope_window);
    read_rope(k, vug_key_object(k, "rope_scaling"), &c->rope_full);
}

static void read_layer_kinds(vug_keys *k, vug_config *c)
{
    const vug_jv *types = vug_key(k, "layer_types");
    if (!types) {
        const char *key = vug_key(k, "sliding_window_pattern") ? "sliding_window_pattern"
                                                               : "_sliding_window_pattern";
        const int64_t pattern = vug_key_int(k, key, 6, 1, VUG_MAX_LAYERS);
        for (int64_t i = 0; i < c->n_layers; i++)
            c->windowed[i] = (i + 1) % pattern != 0;
        return;
    }
    if (types->type != VUG_JSON_ARRAY || types->n != (size_t)c->n_layers) {
        vug_keys_fail(k, VUG_FORMAT, "key 'layer_types' must list %lld layers, it lists %zu",
                      (long long)c->n_layers, types->n);
        return;
    }
    size_t i = 0;
    for (const vug_jv *type = types->child; type; type = type->next, i++) {
        c->windowed[i] =
                type->type == VUG_JSON_STRING && vug_str_is(type->str, "sliding_attention");
        if (!c->windowed[i] &&
            !(type->type == VUG_JSON_STRING && vug_str_is(type->str, "full_attention")))
            vug_keys_fail(k, VUG_UNSUPPORTED,
                          "key 'layer_types': layer %zu is '%.*s', expected 'full_attention' or "
                          "'sliding_attention'",
                          i, VUG_STR_ARG(type->str));
    }
}

/* To transformers an explicit null is no window, with which a sliding layer cannot
 * run; only an absent key takes the default. */
static void check_window(vug_keys *k, const vug_config *c)
{
    const bool none = vug_jv_is(vug_jv_get(k->object, "sliding_window"), VUG_JSON_NULL);
    for (int64_t i = 0; none && i < c->n_layers; i++) {
        if (c->windowed[i])
            vug_keys_fail(k, VUG_FORMAT, "key 'sliding_window' is null, but layer %lld is sliding",
                          (long long)i);
    }
}

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_keys k = { .object = text, .file = file };
    c->n_layers = vug_key_int(&k, "num_hidden_layers", 26, 1, VUG_MAX_LAYERS);
    c->d_model = vug_key_int(&k, "hidden_size", 2304, 1, 1 << 20);
    c->n_heads = vug_key_int(&k, "num_attention_heads", 8, 1, 1 << 12);
    c->n_kv_heads = vug_key_int(&k, "num_key_value_heads", 4, 1, 1 << 12);
    c->d_head = vug_key_int(&k, "head_dim", 256, 2, 1 << 12);
    c->d_ffn = vug_key_int(&k, "intermediate_size", 9216, 1, 1 << 24);
    c->n_vocab = vug_key_int(&k, "vocab_size", 262208, 1, 1 << 24);
    c->context = vug_key_int(&k, "max_position_embeddings", 131072, 1, 1 << 30);
    c->window = vug_key_int(&k, "sliding_window", 4096, 1, 1 << 30);
    c->norm_eps = (float)vug_key_number(&k, "rms_norm_eps", 1e-6, 0, 1);
    c->attn_scale = (float)(1 / sqrt(vug_key_number(&k, "query_pre_attn_scalar", 256, 1e-6, 1e12)));
    /* attn_logit_softcapping is a key of the config's class that Gemma3Attention
     * never applies: like the reference, it is passed over. */
    c->final_softcap = (float)vug_key_number(&k, "final_logit_softcapping", 0, 1e-3, 1e9);
    c->eos[c->n_eos++] = 1;
    read_ropes(&k, c);
    read_layer_kinds(&k, c);
    check_window(&k, c);

    if (c->n_heads % c->n_kv_heads != 0)
        vug_keys_fail(&k, VUG_FORMAT, "%lld query heads do not divide among %lld key/value heads",
                      (long long)c->n_heads, (long long)c->n_kv_heads);
    if (c->d_head % 2 != 0)
        vug_keys_fail(&k, VUG_FORMAT, "key 'head_dim' must be even, it is %lld",
                      (long long)c->d_head);
    if (vug_key_bool(&k, "attention_bias", false))
        vug_keys_fail(&k, VUG_UNSUPPORTED, "attention_bias is not supported for Gemma 3");
    if (vug_key_bool(&k, "use_bidirectional_attention", false))
        vug_keys_fail(&k, VUG_UNSUPPORTED,
                      "use_bidirectional_attention is set: embedding models are not supported");
    const vug_str act = vug_key_string(&k, "hidden_activation", "gelu_pytorch_tanh");
    if (!vug_str_is(act, "gelu_pytorch_tanh"))
        vug_keys_fail(&k, VUG_UNSUPPORTED,
                      "hidden_activation '%.*s' is not known for Gemma 3 (gelu_pytorch_tanh)",
                      VUG_STR_ARG(act));
    if (k.st != VUG_OK && err)
        *err = k.err;
    return k.st;
}

/* ---- flow ---------------------------------------------------------------- */

static vug_attr_norm norm_of(const vug_config *c)
{
    return (vug_attr_norm){ .eps = c->norm_eps, .bias = 1 };
}

static vug_val attention(vug_flow *f, const vug_config *c, vug_val h, vug_val table, int64_t window)
{
    const vug_attr_attn attn = { .window = window, .scale = c->attn_scale };
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), c->n_heads);
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), c->n_kv_heads);
    vug_val v = flow_heads(f, flow_linear(f, h, "attn_v"), c->n_kv_heads);
    q = flow_rope(f, flow_rms_norm(f, q, "attn_q_norm", norm_of(c)), table);
    k = flow_rope(f, flow_rms_norm(f, k, "attn_k_norm", norm_of(c)), table);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_output");
}

static vug_val feed_forward(vug_flow *f, vug_val h)
{
    const vug_val gate = flow_gelu(f, flow_linear(f, h, "ffn_gate"));
    const vug_val up = flow_linear(f, h, "ffn_up");
    return flow_linear(f, flow_mul(f, gate, up), "ffn_down");
}

static void prepare(vug_flow *f, vug_stages *s)
{
    const vug_config *c = s->config;
    s->rope_full = vug_model_rope(f, "rope_full", s->positions, &c->rope_full, c->d_head);
    s->rope_window = vug_model_rope(f, "rope_window", s->positions, &c->rope_window, c->d_head);
    s->embedding = flow_weight(f, "token_embd");
}

static vug_val embed(vug_flow *f, vug_stages *s)
{
    return flow_embed(f, s->embedding, s->tokens, vug_embedding_scale(s->binding));
}

static vug_val layer(vug_flow *f, vug_stages *s, int i, vug_val x)
{
    const vug_config *c = s->config;
    const bool windowed = c->windowed[i];
    vug_val h = flow_rms_norm(f, x, "attn_norm", norm_of(c));
    h = attention(f, c, h, windowed ? s->rope_window : s->rope_full, windowed ? c->window : 0);
    x = flow_add(f, x, flow_rms_norm(f, h, "post_attn_norm", norm_of(c)));
    h = feed_forward(f, flow_rms_norm(f, x, "ffn_norm", norm_of(c)));
    return flow_add(f, x, flow_rms_norm(f, h, "post_ffn_norm", norm_of(c)));
}

static vug_val norm(vug_flow *f, vug_stages *s, vug_val x)
{
    return flow_rms_norm(f, x, "output_norm", norm_of(s->config));
}

static vug_val head(vug_flow *f, vug_stages *s, vug_val x)
{
    const vug_val table = s->binding->tied ? s->embedding : flow_weight(f, "output");
    return flow_softcap(f, flow_project(f, x, table), s->config->final_softcap);
}

static const char *const model_types[] = { "gemma3_text", "gemma3", NULL };

const vug_arch vug_arch_gemma3 = {
    .name = "gemma3",
    .model_types = model_types,
    .chat = "gemma3",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .read = read_config,
    .prepare = prepare,
    .embed = embed,
    .layer = layer,
    .norm = norm,
    .head = head,
};
