/*
 * Gemma 1. Source: Gemma report (2024), section 2; for details, transformers'
 * models/gemma/modeling_gemma.py, class GemmaModel; for defaults, configuration_gemma.py.
 *
 * A pre-norm transformer: RMS norms that multiply by (1 + w), GeGLU, multi-head or
 * multi-query attention, an embedding scaled by sqrt(D) and tied to the head.
 */
#include <math.h>

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
    { "ffn_norm", "layers.%d.post_attention_layernorm.weight", "ffn_norm", "D", VUG_NEEDED },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "ffn_gate", "F D", VUG_NEEDED },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "ffn_up", "F D", VUG_NEEDED },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "ffn_down", "D F", VUG_NEEDED },
};

/* ---- config -------------------------------------------------------------- */

static const vug_size_defaults defaults = {
    .layers = 28,
    .d_model = 3072,
    .heads = 16,
    .kv_heads = 16,
    .d_head = 256,
    .d_ffn = 24576,
    .vocab = 256000,
    .context = 8192,
    .norm_eps = 1e-6,
    .tied = true,
};

/* Published configs say "gelu" for the tanh form with which the models were trained; the
 * newer key names it correctly (GemmaConfig, and the warning in transformers 4). */
static void read_activation(vug_config_keys *k)
{
    if (!vug_key_get(k, "hidden_activation") &&
        vug_str_is(vug_key_string(k, "hidden_act", ""), "gelu"))
        return;
    vug_config_read_activation(
            k, vug_key_get(k, "hidden_activation") ? "hidden_activation" : "hidden_act",
            "gelu_pytorch_tanh", "Gemma 1");
}

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_config_keys k = { .object = text, .file = file };
    vug_config_read_sizes(&k, &defaults, c);
    c->attn_scale = (float)(1 / sqrt((double)c->d_head));
    c->eos[c->n_eos++] = 1;
    vug_config_read_rope(&k, c, 1e4);
    read_activation(&k);
    vug_config_refuse_gemma_options(&k, "Gemma 1");
    return vug_config_keys_status(&k, err);
}

/* ---- flow ---------------------------------------------------------------- */

static vug_val attention(vug_flow *f, const vug_model_context *s, vug_val h)
{
    const vug_config *c = s->config;
    const vug_attr_attn attn = { .scale = c->attn_scale };
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), c->n_heads);
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), c->n_kv_heads);
    vug_val v = flow_heads(f, flow_linear(f, h, "attn_v"), c->n_kv_heads);
    q = flow_rope(f, q, s->rope_full);
    k = flow_rope(f, k, s->rope_full);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_output");
}

static vug_val layer(vug_flow *f, vug_model_context *s, int i, vug_val x)
{
    (void)i;
    x = flow_add(f, x, attention(f, s, vug_model_norm(f, s, x, "attn_norm")));
    return flow_add(f, x, vug_model_glu(f, vug_model_norm(f, s, x, "ffn_norm"), VUG_ACT_GELU));
}

static const char *const model_types[] = { "gemma", NULL };

static const vug_gguf_arch gguf = { .name = "gemma", .hf = "GemmaForCausalLM", .bf16 = true };

const vug_arch vug_arch_gemma = {
    .name = "gemma",
    .model_types = model_types,
    .gguf = &gguf,
    .chat_family = "gemma",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .read_config = read_config,
    .embed = vug_model_scaled_embedding,
    .prepare = vug_model_prepare_rope,
    .layer = layer,
    .norm = vug_model_output_norm,
    .head = vug_model_logits,
};
