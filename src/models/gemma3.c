/*
 * Gemma 3, the text model. Source: Gemma 3 technical report (2025), section 2;
 * for details, transformers' models/gemma3/modeling_gemma3.py, class Gemma3TextModel; for
 * defaults, configuration_gemma3.py.
 *
 * Five layers with a sliding window, then one with full attention; RMS norms that multiply by
 * (1 + w) before and after both blocks; queries and keys normalised per head; two RoPE bases,
 * one for each kind of layer.
 */
#include "models/common.h"

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "token_embd", "V D", VUG_NEEDED },
    { "output_norm", "norm.weight", "output_norm", "D", VUG_NEEDED },
    { "output", "lm_head.weight", "output", "V D", VUG_OPTIONAL },
    { "attn_norm", "layers.%d.input_layernorm.weight", "attn_norm", "D", VUG_NEEDED },
    { "attn_q", "layers.%d.self_attn.q_proj.weight", "attn_q", "H*E D", VUG_NEEDED },
    { "attn_k", "layers.%d.self_attn.k_proj.weight", "attn_k", "K*E D", VUG_NEEDED },
    { "attn_v", "layers.%d.self_attn.v_proj.weight", "attn_v", "K*E D", VUG_NEEDED },
    { "attn_q_norm", "layers.%d.self_attn.q_norm.weight", "attn_q_norm", "E", VUG_NEEDED },
    { "attn_k_norm", "layers.%d.self_attn.k_norm.weight", "attn_k_norm", "E", VUG_NEEDED },
    { "attn_output", "layers.%d.self_attn.o_proj.weight", "attn_output", "D H*E", VUG_NEEDED },
    { "post_attn_norm", "layers.%d.post_attention_layernorm.weight", "post_attention_norm", "D",
      VUG_NEEDED },
    { "ffn_norm", "layers.%d.pre_feedforward_layernorm.weight", "ffn_norm", "D", VUG_NEEDED },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "ffn_gate", "F D", VUG_NEEDED },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "ffn_up", "F D", VUG_NEEDED },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "ffn_down", "D F", VUG_NEEDED },
    { "post_ffn_norm", "layers.%d.post_feedforward_layernorm.weight", "post_ffw_norm", "D",
      VUG_NEEDED },
};

/* ---- config -------------------------------------------------------------- */

/* transformers 5 has one object of RoPE parameters for each kind of layer. Version 4 has
 * rope_theta and rope_scaling for full layers, and one key for the base of the others, which
 * are never scaled. If both are present, rope_scaling wins
 * (Gemma3TextConfig.convert_rope_params_to_dict). */
static void read_ropes(vug_config_keys *k, vug_config *c)
{
    c->rope_full.theta = vug_key_number(k, "rope_theta", 1e6, 1, 1e12);
    c->rope_window.theta = vug_key_number(k, "rope_local_base_freq", 1e4, 1, 1e12);
    const vug_jv *parameters = vug_key_object(k, "rope_parameters");
    vug_config_keys sub = vug_config_keys_enter(k, parameters);
    const vug_jv *full = vug_key_object(&sub, "full_attention");
    const vug_jv *sliding = vug_key_object(&sub, "sliding_attention");
    vug_config_keys_leave(k, &sub);
    vug_config_read_rope_set(k, full || sliding ? full : parameters, c->context, &c->rope_full);
    vug_config_read_rope_set(k, sliding, c->context, &c->rope_window);
    vug_config_read_rope_set(k, vug_key_object(k, "rope_scaling"), c->context, &c->rope_full);
}

static void read_layer_types(vug_config_keys *k, vug_config *c)
{
    if (vug_config_read_layer_types(k, c))
        return;
    const char *key = vug_key_get(k, "sliding_window_pattern") ? "sliding_window_pattern"
                                                               : "_sliding_window_pattern";
    const int64_t pattern = vug_key_int(k, key, 6, 1, VUG_MAX_LAYERS);
    for (int64_t i = 0; i < c->n_layers; i++)
        c->windowed[i] = (i + 1) % pattern != 0;
}

static const vug_gemma_defaults defaults = { .vocab = 262208, .context = 131072 };

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_config_keys k = { .object = text, .file = file };
    /* Gemma3Attention never applies attn_logit_softcapping, so it is ignored here too. */
    vug_config_read_gemma(&k, &defaults, "Gemma 3", c);
    read_ropes(&k, c);
    read_layer_types(&k, c);
    vug_config_read_window(&k, c, 4096);
    return vug_config_keys_status(&k, err);
}

/* ---- flow ---------------------------------------------------------------- */

static void prepare(vug_flow *f, vug_model_context *s, vug_val x)
{
    const vug_config *c = s->config;
    (void)x;
    s->rope_full = vug_model_rope_table(f, s, "rope_full", &c->rope_full, c->d_head);
    s->rope_window = vug_model_rope_table(f, s, "rope_window", &c->rope_window, c->d_head);
}

static vug_val attention(vug_flow *f, const vug_model_context *s, int i, vug_val h)
{
    const vug_config *c = s->config;
    const vug_attr_attn attn = { .window = vug_config_window(c, i), .scale = c->attn_scale };
    const vug_val table = c->windowed[i] ? s->rope_window : s->rope_full;
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), c->n_heads);
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), c->n_kv_heads);
    vug_val v = flow_heads(f, flow_linear(f, h, "attn_v"), c->n_kv_heads);
    q = flow_rope(f, vug_model_norm(f, s, q, "attn_q_norm"), table);
    k = flow_rope(f, vug_model_norm(f, s, k, "attn_k_norm"), table);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_output");
}

static vug_val layer(vug_flow *f, vug_model_context *s, int i, vug_val x)
{
    const vug_val h = attention(f, s, i, vug_model_norm(f, s, x, "attn_norm"));
    return vug_model_add_gemma_blocks(f, s, x, h);
}

static const char *const model_types[] = { "gemma3_text", "gemma3", NULL };

static const vug_gguf_arch gguf = { .name = "gemma3",
                                    .hf = "Gemma3ForCausalLM",
                                    .period = 6,
                                    .model_scale_layers = 62,
                                    .two_ropes = true,
                                    .bf16 = true };

const vug_arch vug_arch_gemma3 = {
    .name = "gemma3",
    .model_types = model_types,
    .gguf = &gguf,
    .chat_family = "gemma3",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .read_config = read_config,
    .embed = vug_model_scaled_embedding,
    .prepare = prepare,
    .layer = layer,
    .norm = vug_model_output_norm,
    .head = vug_model_logits,
};
