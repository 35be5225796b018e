/*
 * Gemma 2. Source: Gemma 2 report (2024), section 2; for details, transformers'
 * models/gemma2/modeling_gemma2.py, class Gemma2Model; for defaults, configuration_gemma2.py.
 *
 * Layers with a sliding window and layers with full attention alternate; RMS norms that
 * multiply by (1 + w) before and after both blocks; softcaps on attention scores and logits.
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

static const vug_gemma_defaults defaults = { .vocab = 256000,
                                             .context = 8192,
                                             .final_softcap = 30 };

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_config_keys k = { .object = text, .file = file };
    vug_config_read_gemma(&k, &defaults, "Gemma 2", c);
    c->attn_softcap = vug_config_read_softcap(&k, "attn_logit_softcapping", 50);
    vug_config_read_rope(&k, c, 1e4);
    if (!vug_config_read_layer_types(&k, c)) {
        for (int64_t i = 0; i < c->n_layers; i++)
            c->windowed[i] = i % 2 == 0;
    }
    vug_config_read_window(&k, c, 4096);
    return vug_config_keys_status(&k, err);
}

/* ---- flow ---------------------------------------------------------------- */

static vug_val attention(vug_flow *f, const vug_model_context *s, int i, vug_val h)
{
    const vug_config *c = s->config;
    const vug_attr_attn attn = { .window = vug_config_window(c, i),
                                 .scale = c->attn_scale,
                                 .softcap = c->attn_softcap };
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), c->n_heads);
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), c->n_kv_heads);
    vug_val v = flow_heads(f, flow_linear(f, h, "attn_v"), c->n_kv_heads);
    q = flow_rope(f, q, s->rope_full);
    k = flow_rope(f, k, s->rope_full);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_output");
}

static vug_val layer(vug_flow *f, vug_model_context *s, int i, vug_val x)
{
    const vug_val h = attention(f, s, i, vug_model_norm(f, s, x, "attn_norm"));
    return vug_model_add_gemma_blocks(f, s, x, h);
}

static const char *const model_types[] = { "gemma2", NULL };

static const vug_gguf_arch gguf = { .name = "gemma2",
                                    .hf = "Gemma2ForCausalLM",
                                    .period = 2,
                                    .window = 4096,
                                    .model_scale_layers = 46,
                                    .softcapped = true,
                                    .bf16 = true };

const vug_arch vug_arch_gemma2 = {
    .name = "gemma2",
    .model_types = model_types,
    .gguf = &gguf,
    .chat_family = "gemma2",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .read_config = read_config,
    .embed = vug_model_scaled_embedding,
    .prepare = vug_model_prepare_rope,
    .layer = layer,
    .norm = vug_model_output_norm,
    .head = vug_model_logits,
};
