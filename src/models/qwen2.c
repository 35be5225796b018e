/*
 * Qwen 2 and 2.5. Source: Qwen2 technical report (2024), section 2; for details, transformers'
 * models/qwen2/modeling_qwen2.py, class Qwen2Model; for defaults, configuration_qwen2.py.
 *
 * A pre-norm transformer: RMS norms, grouped-query attention with biases on queries, keys
 * and values, SwiGLU. The config may enable YaRN, and windows on the upper layers.
 */
#include <math.h>

#include "models/common.h"

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "token_embd", "V D", VUG_NEEDED },
    { "output_norm", "norm.weight", "output_norm", "D", VUG_NEEDED },
    { "output", "lm_head.weight", "output", "V D", VUG_OPTIONAL },
    { "attn_norm", "layers.%d.input_layernorm.weight", "attn_norm", "D", VUG_NEEDED },
    { "attn_q", "layers.%d.self_attn.q_proj.weight", "attn_q", "H*E D", VUG_NEEDED },
    { "attn_q_bias", "layers.%d.self_attn.q_proj.bias", "attn_q.bias", "H*E", VUG_NEEDED },
    { "attn_k", "layers.%d.self_attn.k_proj.weight", "attn_k", "K*E D", VUG_NEEDED },
    { "attn_k_bias", "layers.%d.self_attn.k_proj.bias", "attn_k.bias", "K*E", VUG_NEEDED },
    { "attn_v", "layers.%d.self_attn.v_proj.weight", "attn_v", "K*E D", VUG_NEEDED },
    { "attn_v_bias", "layers.%d.self_attn.v_proj.bias", "attn_v.bias", "K*E", VUG_NEEDED },
    { "attn_output", "layers.%d.self_attn.o_proj.weight", "attn_output", "D H*E", VUG_NEEDED },
    { "ffn_norm", "layers.%d.post_attention_layernorm.weight", "ffn_norm", "D", VUG_NEEDED },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "ffn_gate", "F D", VUG_NEEDED },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "ffn_up", "F D", VUG_NEEDED },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "ffn_down", "D F", VUG_NEEDED },
};

/* ---- config -------------------------------------------------------------- */

static const vug_size_defaults defaults = {
    .layers = 32,
    .d_model = 4096,
    .heads = 32,
    .kv_heads = 32,
    .kv_null_is_mha = true,
    .d_ffn = 22016,
    .vocab = 151936,
    .context = 32768,
    .norm_eps = 1e-6,
};

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_config_keys k = { .object = text, .file = file };
    vug_config_read_sizes(&k, &defaults, c);
    c->attn_scale = (float)(1 / sqrt((double)c->d_head));
    vug_config_read_rope(&k, c, 1e4);
    vug_config_read_qwen_windows(&k, c);
    vug_config_read_activation(&k, "hidden_act", "silu", "Qwen 2");
    return vug_config_keys_status(&k, err);
}

/* ---- flow ---------------------------------------------------------------- */

static vug_val attention(vug_flow *f, const vug_model_context *s, int i, vug_val h)
{
    const vug_config *c = s->config;
    const vug_attr_attn attn = { .window = vug_config_window(c, i), .scale = c->attn_scale };
    vug_val q = flow_bias(f, flow_linear(f, h, "attn_q"), "attn_q_bias");
    vug_val k = flow_bias(f, flow_linear(f, h, "attn_k"), "attn_k_bias");
    vug_val v = flow_bias(f, flow_linear(f, h, "attn_v"), "attn_v_bias");
    q = flow_rope(f, flow_heads(f, q, c->n_heads), s->rope_full);
    k = flow_rope(f, flow_heads(f, k, c->n_kv_heads), s->rope_full);
    v = flow_heads(f, v, c->n_kv_heads);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_output");
}

static vug_val layer(vug_flow *f, vug_model_context *s, int i, vug_val x)
{
    x = flow_add(f, x, attention(f, s, i, vug_model_norm(f, s, x, "attn_norm")));
    return flow_add(f, x, vug_model_glu(f, vug_model_norm(f, s, x, "ffn_norm"), VUG_ACT_SILU));
}

static const char *const model_types[] = { "qwen2", NULL };

static const vug_gguf_arch gguf = { .name = "qwen2", .hf = "Qwen2ForCausalLM" };

const vug_arch vug_arch_qwen2 = {
    .name = "qwen2",
    .model_types = model_types,
    .gguf = &gguf,
    .chat_family = "qwen2",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .norm_weight = 1,
    .read_config = read_config,
    .embed = vug_model_embedding,
    .prepare = vug_model_prepare_rope,
    .layer = layer,
    .norm = vug_model_output_norm,
    .head = vug_model_logits,
};
