/*
 * Qwen 2 and 2.5. Source: Qwen2 technical report (2024), section 2; where it is silent,
 * transformers' models/qwen2/modeling_qwen2.py, class Qwen2Model, and
 * configuration_qwen2.py for the defaults.
 *
 * A pre-norm transformer: RMS norms, grouped queries with biases on queries, keys and
 * values, SwiGLU. YaRN and windows on the upper layers for those who switch them on.
 */
#include <math.h>

#include "models/common.h"

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "V D", false, VUG_NEEDED },
    { "output_norm", "norm.weight", "D", false, VUG_NEEDED },
    { "output", "lm_head.weight", "V D", false, VUG_OPTIONAL },
    { "attn_norm", "layers.%d.input_layernorm.weight", "D", true, VUG_NEEDED },
    { "attn_q", "layers.%d.self_attn.q_proj.weight", "H*E D", true, VUG_NEEDED },
    { "attn_q_bias", "layers.%d.self_attn.q_proj.bias", "H*E", true, VUG_NEEDED },
    { "attn_k", "layers.%d.self_attn.k_proj.weight", "K*E D", true, VUG_NEEDED },
    { "attn_k_bias", "layers.%d.self_attn.k_proj.bias", "K*E", true, VUG_NEEDED },
    { "attn_v", "layers.%d.self_attn.v_proj.weight", "K*E D", true, VUG_NEEDED },
    { "attn_v_bias", "layers.%d.self_attn.v_proj.bias", "K*E", true, VUG_NEEDED },
    { "attn_output", "layers.%d.self_attn.o_proj.weight", "D H*E", true, VUG_NEEDED },
    { "ffn_norm", "layers.%d.post_attention_layernorm.weight", "D", true, VUG_NEEDED },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "F D", true, VUG_NEEDED },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "F D", true, VUG_NEEDED },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "D F", true, VUG_NEEDED },
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
    vug_keys k = { .object = text, .file = file };
    vug_read_sizes(&k, &defaults, c);
    c->attn_scale = (float)(1 / sqrt((double)c->d_head));
    vug_read_rope(&k, c, 1e4);
    vug_read_qwen_windows(&k, c);
    vug_read_activation(&k, "hidden_act", "silu", "Qwen 2");
    if (k.st != VUG_OK && err)
        *err = k.err;
    return k.st;
}

/* ---- flow ---------------------------------------------------------------- */

static vug_val attention(vug_flow *f, const vug_config *c, vug_val h, vug_val table, int64_t window)
{
    const vug_attr_attn attn = { .window = window, .scale = c->attn_scale };
    vug_val q = flow_linear(f, h, "attn_q");
    vug_val k = flow_linear(f, h, "attn_k");
    vug_val v = flow_linear(f, h, "attn_v");
    q = flow_heads(f, flow_bias(f, q, "attn_q_bias"), c->n_heads);
    k = flow_heads(f, flow_bias(f, k, "attn_k_bias"), c->n_kv_heads);
    v = flow_heads(f, flow_bias(f, v, "attn_v_bias"), c->n_kv_heads);
    q = flow_rope(f, q, table);
    k = flow_rope(f, k, table);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_output");
}

static vug_val feed_forward(vug_flow *f, vug_val h)
{
    const vug_val gate = flow_silu(f, flow_linear(f, h, "ffn_gate"));
    const vug_val up = flow_linear(f, h, "ffn_up");
    return flow_linear(f, flow_mul(f, gate, up), "ffn_down");
}

static vug_attr_norm norm_of(const vug_config *c)
{
    return (vug_attr_norm){ .eps = c->norm_eps };
}

static void prepare(vug_flow *f, vug_stages *s)
{
    s->rope_full =
            vug_model_rope(f, "rope", s->positions, &s->config->rope_full, s->config->d_head);
    s->embedding = flow_weight(f, "token_embd");
}

static vug_val embed(vug_flow *f, vug_stages *s)
{
    return flow_embed(f, s->embedding, s->tokens, 1);
}

static vug_val layer(vug_flow *f, vug_stages *s, int i, vug_val x)
{
    const vug_config *c = s->config;
    vug_val h = flow_rms_norm(f, x, "attn_norm", norm_of(c));
    x = flow_add(f, x, attention(f, c, h, s->rope_full, c->windowed[i] ? c->window : 0));
    h = flow_rms_norm(f, x, "ffn_norm", norm_of(c));
    return flow_add(f, x, feed_forward(f, h));
}

static vug_val norm(vug_flow *f, vug_stages *s, vug_val x)
{
    return flow_rms_norm(f, x, "output_norm", norm_of(s->config));
}

static vug_val head(vug_flow *f, vug_stages *s, vug_val x)
{
    const vug_val table = s->binding->tied ? s->embedding : flow_weight(f, "output");
    return flow_project(f, x, table);
}

static const char *const model_types[] = { "qwen2", NULL };

const vug_arch vug_arch_qwen2 = {
    .name = "qwen2",
    .model_types = model_types,
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .norm_weight = 1,
    .read = read_config,
    .prepare = prepare,
    .embed = embed,
    .layer = layer,
    .norm = norm,
    .head = head,
};
