/*
 * Gemma 4, the text model of the dense, the E-series and the mixture checkpoints.
 * Source: transformers' models/gemma4/modeling_gemma4.py, class Gemma4TextModel.
 *
 * Like Gemma 3, with these differences. Norms multiply by w, not 1 + w. Full layers have
 * wider heads, fewer of them for keys and values, and RoPE rotates only the first pairs of
 * each head; in larger models values are computed from the key projection. Values are
 * normalised too, and scores are not scaled. The last layers may read the KV cache of the
 * last layer of their kind that has one. Each layer's output is multiplied by a trained
 * number. In the E-series every layer adds a per-layer embedding of the token. In a mixture
 * of experts the experts run in parallel to the feed-forward.
 */
#include <math.h>

#include "models/common.h"
#include "models/gemma4.h"

#define L(name) "layers.%d." name
static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "token_embd", "V D", VUG_NEEDED },
    { "output_norm", "norm.weight", "output_norm", "D", VUG_NEEDED },
    { "output", "lm_head.weight", "output", "V D", VUG_OPTIONAL },
    { "per_layer_embd", "embed_tokens_per_layer.weight", "per_layer_token_embd", "U L*I",
      VUG_NEEDED },
    { "per_layer_model_proj", "per_layer_model_projection.weight", "per_layer_model_proj", "L*I D",
      VUG_NEEDED },
    { "per_layer_model_norm", "per_layer_projection_norm.weight", "per_layer_proj_norm", "I",
      VUG_NEEDED },
    { "attn_norm", L("input_layernorm.weight"), "attn_norm", "D", VUG_NEEDED },
    { "attn_q", L("self_attn.q_proj.weight"), "attn_q", "H*E D", VUG_NEEDED },
    { "attn_k", L("self_attn.k_proj.weight"), "attn_k", "K*E D", VUG_NEEDED },
    { "attn_v", L("self_attn.v_proj.weight"), "attn_v", "K*E D", VUG_NEEDED },
    { "attn_q_norm", L("self_attn.q_norm.weight"), "attn_q_norm", "E", VUG_NEEDED },
    { "attn_k_norm", L("self_attn.k_norm.weight"), "attn_k_norm", "E", VUG_NEEDED },
    { "attn_output", L("self_attn.o_proj.weight"), "attn_output", "D H*E", VUG_NEEDED },
    { "post_attn_norm", L("post_attention_layernorm.weight"), "post_attention_norm", "D",
      VUG_NEEDED },
    { "ffn_norm", L("pre_feedforward_layernorm.weight"), "ffn_norm", "D", VUG_NEEDED },
    { "ffn_gate", L("mlp.gate_proj.weight"), "ffn_gate", "F D", VUG_NEEDED },
    { "ffn_up", L("mlp.up_proj.weight"), "ffn_up", "F D", VUG_NEEDED },
    { "ffn_down", L("mlp.down_proj.weight"), "ffn_down", "D F", VUG_NEEDED },
    { "post_ffn_norm", L("post_feedforward_layernorm.weight"), "post_ffw_norm", "D", VUG_NEEDED },
    { "post_ffn_norm_1", L("post_feedforward_layernorm_1.weight"), "post_ffw_norm_1", "D",
      VUG_NEEDED },
    { "router_norm", L("router.scale"), "ffn_gate_inp.scale", "D", VUG_NEEDED },
    { "router", L("router.proj.weight"), "ffn_gate_inp", "N D", VUG_NEEDED },
    { "router_scale", L("router.per_expert_scale"), "ffn_down_exps.scale", "N", VUG_NEEDED },
    { "experts_norm", L("pre_feedforward_layernorm_2.weight"), "pre_ffw_norm_2", "D", VUG_NEEDED },
    { "experts_gate", L("experts.%d.gate_proj.weight"), NULL, "X D", VUG_NEEDED },
    { "experts_up", L("experts.%d.up_proj.weight"), NULL, "X D", VUG_NEEDED },
    { "experts_down", L("experts.%d.down_proj.weight"), NULL, "D X", VUG_NEEDED },
    { "post_experts_norm", L("post_feedforward_layernorm_2.weight"), "post_ffw_norm_2", "D",
      VUG_NEEDED },
    { "per_layer_gate", L("per_layer_input_gate.weight"), "inp_gate", "I D", VUG_NEEDED },
    { "per_layer_proj", L("per_layer_projection.weight"), "proj", "D I", VUG_NEEDED },
    { "per_layer_post_norm", L("post_per_layer_input_norm.weight"), "post_norm", "D", VUG_NEEDED },
    { "layer_scale", L("layer_scalar"), "layer_output_scale", "1", VUG_OPTIONAL },
    { "rope_freqs", "rope_freqs.weight", "rope_freqs", "P", VUG_OPTIONAL },
};

/* As published, and as mlx-lm saves them. */
static const vug_expert_pack_row packs[] = {
    { L("experts.gate_up_proj"), "ffn_gate_up_exps", { "experts_gate", "experts_up" } },
    { L("experts.down_proj"), "ffn_down_exps", { "experts_down" } },
    { L("experts.switch_glu.gate_proj.weight"), "ffn_gate_exps", { "experts_gate" } },
    { L("experts.switch_glu.up_proj.weight"), "ffn_up_exps", { "experts_up" } },
    { L("experts.switch_glu.down_proj.weight"), "ffn_down_exps", { "experts_down" } },
};
#undef L

static bool is_moe_tensor(const char *name)
{
    return strncmp(name, "router", 6) == 0 || strncmp(name, "experts_", 8) == 0 ||
           strcmp(name, "post_ffn_norm_1") == 0 || strcmp(name, "post_experts_norm") == 0;
}

/* Some files have key and value weights even in layers that read the cache of another. */
static vug_tensor_presence presence(const vug_config *c, const vug_tensor_row *row, int layer)
{
    const vug_layer_config none = { 0 };
    const vug_layer_config *own = layer >= 0 ? &c->layer[layer] : &none;
    const bool v = strcmp(row->name, "attn_v") == 0;
    const bool kv = v || strcmp(row->name, "attn_k") == 0 || strcmp(row->name, "attn_k_norm") == 0;
    if (own->kv_layers_back && kv)
        return VUG_TENSOR_IGNORED;
    if ((own->k_is_v && v) || (!c->d_per_layer && strncmp(row->name, "per_layer_", 10) == 0) ||
        (!c->n_experts && is_moe_tensor(row->name)))
        return VUG_TENSOR_ABSENT;
    return VUG_TENSOR_USED;
}

/* ---- flow ---------------------------------------------------------------- */

/* With k_is_v, values are the key projection before its norm and RoPE. */
static vug_val attention(vug_flow *f, const vug_model_context *s, int i, vug_val h)
{
    const vug_layer_config *own = &s->config->layer[i];
    const vug_val table = s->config->windowed[i] ? s->rope_window : s->rope_full;
    const vug_attr_attn at = { .layer = i - own->kv_layers_back,
                               .window = vug_config_window(s->config, i),
                               .scale = s->config->attn_scale };
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), s->config->n_heads);
    q = flow_rope(f, vug_model_norm(f, s, q, "attn_q_norm"), table);
    if (own->kv_layers_back)
        return flow_linear(f, flow_merge(f, flow_shared_kv_attention(f, q, at)), "attn_output");
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), own->n_kv_heads);
    vug_val v = own->k_is_v ? k : flow_heads(f, flow_linear(f, h, "attn_v"), own->n_kv_heads);
    k = flow_rope(f, vug_model_norm(f, s, k, "attn_k_norm"), table);
    v = flow_unit_norm(f, v, s->config->norm_eps);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, at)), "attn_output");
}

/* The router and the experts each normalise the residual stream `x`. */
static vug_val mixture_of_experts(vug_flow *f, const vug_model_context *s, vug_val x)
{
    const float down = (float)(1 / sqrt((double)s->config->d_model));
    const vug_experts_spec experts = { "experts_gate", "experts_up", "experts_down", VUG_ACT_GELU };
    const vug_val z = flow_scale(f, vug_model_norm(f, s, x, "router_norm"), down);
    const vug_attr_router router = { (int)s->config->n_experts_per_token, s->config->renormalise };
    vug_val route = flow_router(f, flow_linear(f, z, "router"), router);
    route = flow_route_scale(f, route, "router_scale");
    return flow_experts(f, vug_model_norm(f, s, x, "experts_norm"), route, experts);
}

/* With experts, both branches are normalised before they are added. */
static vug_val feed_forward(vug_flow *f, const vug_model_context *s, vug_val x)
{
    const vug_val out = vug_model_glu(f, vug_model_norm(f, s, x, "ffn_norm"), VUG_ACT_GELU);
    if (!s->config->n_experts)
        return out;
    const vug_val sum = vug_model_norm(f, s, mixture_of_experts(f, s, x), "post_experts_norm");
    return flow_add(f, vug_model_norm(f, s, out, "post_ffn_norm_1"), sum);
}

static vug_val add_per_layer_embedding(vug_flow *f, const vug_model_context *s, int i, vug_val x)
{
    const vug_val gate = flow_gelu(f, flow_linear(f, x, "per_layer_gate"));
    const vug_val h = flow_mul(f, gate, flow_head(f, s->per_layer, i));
    return flow_add(
            f, x, vug_model_norm(f, s, flow_linear(f, h, "per_layer_proj"), "per_layer_post_norm"));
}

/* (scaled embedding of the token + normalised projection of x) / sqrt(2) */
static vug_val per_layer_embeddings(vug_flow *f, const vug_model_context *s, vug_val x)
{
    const float scale = vug_model_rounded_sqrt(s->binding, s->config->d_per_layer);
    const float down = (float)(1 / sqrt((double)s->config->d_model));
    const vug_val token = flow_embed(f, flow_weight(f, "per_layer_embd"), s->tokens, scale);
    vug_val projected = flow_scale(f, flow_linear(f, x, "per_layer_model_proj"), down);
    projected = vug_model_norm(f, s, flow_heads(f, projected, s->config->n_layers),
                               "per_layer_model_norm");
    const vug_val sum = flow_add(f, flow_heads(f, token, s->config->n_layers), projected);
    return flow_scale(f, sum, (float)sqrt(0.5));
}

static void prepare(vug_flow *f, vug_model_context *s, vug_val x)
{
    const vug_config *c = s->config;
    s->rope_full =
            vug_model_rope_table_with_factors(f, s, "rope_full", vug_config_d_head(c, false));
    s->rope_window =
            vug_model_rope_table(f, s, "rope_window", &c->rope_window, vug_config_d_head(c, true));
    if (c->d_per_layer)
        s->per_layer = per_layer_embeddings(f, s, x);
}

static vug_val layer(vug_flow *f, vug_model_context *s, int i, vug_val x)
{
    const vug_val h = attention(f, s, i, vug_model_norm(f, s, x, "attn_norm"));
    x = flow_add(f, x, vug_model_norm(f, s, h, "post_attn_norm"));
    x = flow_add(f, x, vug_model_norm(f, s, feed_forward(f, s, x), "post_ffn_norm"));
    if (s->config->d_per_layer)
        x = add_per_layer_embedding(f, s, i, x);
    return vug_binding_has_weight(s->binding, "layer_scale", i) ? flow_scale_by(f, x, "layer_scale")
                                                                : x;
}

/* Layers without a KV cache of their own only need the rows whose logits are wanted, which
 * saves most of their work for a long prompt. */
static void select_rows(vug_flow *f, vug_model_context *s, vug_val wanted)
{
    s->rope_full = flow_gather(f, s->rope_full, wanted);
    s->rope_window = flow_gather(f, s->rope_window, wanted);
    if (s->config->d_per_layer) {
        const vug_val flat = flow_gather(f, flow_merge(f, s->per_layer), wanted);
        s->per_layer = flow_heads(f, flat, s->config->n_layers);
    }
}

static const char *const model_types[] = { "gemma4_text", "gemma4", "gemma4_unified_text",
                                           "gemma4_unified", NULL };

static const vug_gguf_arch gguf = {
    .name = "gemma4", .hf = "Gemma4ForCausalLM", .two_ropes = true, .two_widths = true, .bf16 = true
};

/* The tolerance is larger than elsewhere because unscaled scores are large, and exp()
 * amplifies their rounding: the reference differs from itself in double by up to 2e-4. */
const vug_arch vug_arch_gemma4 = {
    .name = "gemma4",
    .model_types = model_types,
    .gguf = &gguf,
    .chat_family = "gemma4",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .pack = packs,
    .n_packs = sizeof(packs) / sizeof(packs[0]),
    .packed = true,
    .presence = presence,
    .tolerance = 1e-3,
    .norm_weight = 1,
    .read_config = vug_gemma4_read_config,
    .embed = vug_model_scaled_embedding,
    .prepare = prepare,
    .layer = layer,
    .select_rows = select_rows,
    .norm = vug_model_output_norm,
    .head = vug_model_logits,
};
