/*
 * Llama 3. Source: The Llama 3 Herd of Models (2024), section 3.2; for details, transformers'
 * models/llama/modeling_llama.py, class LlamaModel; for defaults, configuration_llama.py.
 *
 * A pre-norm transformer: RMS norms, grouped-query attention, SwiGLU, and RoPE with lower
 * frequencies for its long waves, for contexts beyond 8192. The config may ask for biases.
 */
#include <math.h>

#include "models/common.h"

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "token_embd", "V D", VUG_NEEDED },
    { "output_norm", "norm.weight", "output_norm", "D", VUG_NEEDED },
    { "output", "lm_head.weight", "output", "V D", VUG_OPTIONAL },
    { "rope_freqs", "rope_freqs.weight", "rope_freqs", "P", VUG_OPTIONAL },
    { "attn_norm", "layers.%d.input_layernorm.weight", "attn_norm", "D", VUG_NEEDED },
    { "attn_q", "layers.%d.self_attn.q_proj.weight", "attn_q", "H*E D", VUG_NEEDED },
    { "attn_q_bias", "layers.%d.self_attn.q_proj.bias", "attn_q.bias", "H*E", VUG_WITH_ATTN_BIAS },
    { "attn_k", "layers.%d.self_attn.k_proj.weight", "attn_k", "K*E D", VUG_NEEDED },
    { "attn_k_bias", "layers.%d.self_attn.k_proj.bias", "attn_k.bias", "K*E", VUG_WITH_ATTN_BIAS },
    { "attn_v", "layers.%d.self_attn.v_proj.weight", "attn_v", "K*E D", VUG_NEEDED },
    { "attn_v_bias", "layers.%d.self_attn.v_proj.bias", "attn_v.bias", "K*E", VUG_WITH_ATTN_BIAS },
    { "attn_output", "layers.%d.self_attn.o_proj.weight", "attn_output", "D H*E", VUG_NEEDED },
    { "attn_output_bias", "layers.%d.self_attn.o_proj.bias", "attn_output.bias", "D",
      VUG_WITH_ATTN_BIAS },
    { "ffn_norm", "layers.%d.post_attention_layernorm.weight", "ffn_norm", "D", VUG_NEEDED },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "ffn_gate", "F D", VUG_NEEDED },
    { "ffn_gate_bias", "layers.%d.mlp.gate_proj.bias", "ffn_gate.bias", "F", VUG_WITH_MLP_BIAS },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "ffn_up", "F D", VUG_NEEDED },
    { "ffn_up_bias", "layers.%d.mlp.up_proj.bias", "ffn_up.bias", "F", VUG_WITH_MLP_BIAS },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "ffn_down", "D F", VUG_NEEDED },
    { "ffn_down_bias", "layers.%d.mlp.down_proj.bias", "ffn_down.bias", "D", VUG_WITH_MLP_BIAS },
};

/* ---- config -------------------------------------------------------------- */

static const vug_size_defaults defaults = {
    .layers = 32,
    .d_model = 4096,
    .heads = 32,
    .d_ffn = 11008,
    .vocab = 32000,
    .context = 2048,
    .norm_eps = 1e-6,
};

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_config_keys k = { .object = text, .file = file };
    vug_config_read_sizes(&k, &defaults, c);
    c->attn_scale = (float)(1 / sqrt((double)c->d_head));
    c->attn_bias = vug_key_bool(&k, "attention_bias", false);
    c->mlp_bias = vug_key_bool(&k, "mlp_bias", false);
    c->eos[c->n_eos++] = 2;
    vug_config_read_rope(&k, c, 1e4);
    vug_config_read_activation(&k, "hidden_act", "silu", "Llama 3");
    return vug_config_keys_status(&k, err);
}

/* ---- flow ---------------------------------------------------------------- */

static void prepare(vug_flow *f, vug_model_context *s, vug_val x)
{
    (void)x;
    s->rope_full = vug_model_rope_table_with_factors(f, s, "rope", s->config->d_head);
}

static vug_val attention(vug_flow *f, const vug_model_context *s, vug_val h)
{
    const vug_config *c = s->config;
    const vug_attr_attn attn = { .scale = c->attn_scale };
    vug_val q = vug_model_affine(f, h, "attn_q", "attn_q_bias", c->attn_bias);
    vug_val k = vug_model_affine(f, h, "attn_k", "attn_k_bias", c->attn_bias);
    vug_val v = vug_model_affine(f, h, "attn_v", "attn_v_bias", c->attn_bias);
    q = flow_heads(f, q, c->n_heads);
    q = flow_rope(f, vug_model_rope_halves(f, s, q), s->rope_full);
    k = flow_heads(f, k, c->n_kv_heads);
    k = flow_rope(f, vug_model_rope_halves(f, s, k), s->rope_full);
    v = flow_heads(f, v, c->n_kv_heads);
    h = flow_merge(f, flow_attention(f, q, k, v, attn));
    return vug_model_affine(f, h, "attn_output", "attn_output_bias", c->attn_bias);
}

static vug_val feed_forward(vug_flow *f, const vug_model_context *s, vug_val h)
{
    const bool bias = s->config->mlp_bias;
    const vug_val gate = vug_model_affine(f, h, "ffn_gate", "ffn_gate_bias", bias);
    const vug_val up = vug_model_affine(f, h, "ffn_up", "ffn_up_bias", bias);
    h = flow_mul(f, flow_silu(f, gate), up);
    return vug_model_affine(f, h, "ffn_down", "ffn_down_bias", bias);
}

static vug_val layer(vug_flow *f, vug_model_context *s, int i, vug_val x)
{
    (void)i;
    x = flow_add(f, x, attention(f, s, vug_model_norm(f, s, x, "attn_norm")));
    return flow_add(f, x, feed_forward(f, s, vug_model_norm(f, s, x, "ffn_norm")));
}

static const char *const model_types[] = { "llama", NULL };

static const vug_gguf_arch gguf = { .name = "llama",
                                    .hf = "LlamaForCausalLM",
                                    .interleaved_rope = true };

const vug_arch vug_arch_llama = {
    .name = "llama",
    .model_types = model_types,
    .gguf = &gguf,
    .chat_family = "llama3",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .norm_weight = 1,
    .read_config = read_config,
    .embed = vug_model_embedding,
    .prepare = prepare,
    .layer = layer,
    .norm = vug_model_output_norm,
    .head = vug_model_logits,
};
