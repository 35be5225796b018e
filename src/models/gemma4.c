/*
 * Gemma 4, the text model of the dense, the E-series and the mixture checkpoints.
 * Source: transformers' models/gemma4/modeling_gemma4.py, class Gemma4TextModel.
 *
 * Like Gemma 3, with these differences. Norms multiply by w, not 1 + w. Full layers
 * have wider heads, fewer of them for keys and values, and turn only the first
 * pairs of each head; in larger models their values are made of the keys. Values are
 * normalised as well, and scores are not scaled. The last layers may read the cache
 * of the last layer of their kind that has one. Each layer's output is multiplied by
 * a trained number. In the E-series each layer adds an embedding of its own. In a
 * mixture experts run beside the feed-forward.
 */
#include <math.h>

#include "models/common.h"
#include "models/gemma4.h"

#define L(name) "layers.%d." name
static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "token_embd", "V D", VUG_NEEDED },
    { "output_norm", "norm.weight", "output_norm", "D", VUG_NEEDED },
    { "output", "lm_head.weight", "output", "V D", VUG_OPTIONAL },
    { "own_embd", "embed_tokens_per_layer.weight", "per_layer_token_embd", "U L*I", VUG_NEEDED },
    { "own_model_proj", "per_layer_model_projection.weight", "per_layer_model_proj", "L*I D",
      VUG_NEEDED },
    { "own_model_norm", "per_layer_projection_norm.weight", "per_layer_proj_norm", "I",
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
    { "own_gate", L("per_layer_input_gate.weight"), "inp_gate", "I D", VUG_NEEDED },
    { "own_proj", L("per_layer_projection.weight"), "proj", "D I", VUG_NEEDED },
    { "own_post_norm", L("post_per_layer_input_norm.weight"), "post_norm", "D", VUG_NEEDED },
    { "layer_scale", L("layer_scalar"), "layer_output_scale", "1", VUG_OPTIONAL },
    { "rope_freqs", "rope_freqs.weight", "rope_freqs", "P", VUG_OPTIONAL },
};

/* As published, and as mlx-lm saves them. */
static const vug_pack_row packs[] = {
    { L("experts.gate_up_proj"), "ffn_gate_up_exps", { "experts_gate", "experts_up" } },
    { L("experts.down_proj"), "ffn_down_exps", { "experts_down" } },
    { L("experts.switch_glu.gate_proj.weight"), "ffn_gate_exps", { "experts_gate" } },
    { L("experts.switch_glu.up_proj.weight"), "ffn_up_exps", { "experts_up" } },
    { L("experts.switch_glu.down_proj.weight"), "ffn_down_exps", { "experts_down" } },
};
#undef L

static bool is_of_mixture(const char *name)
{
    return strncmp(name, "router", 6) == 0 || strncmp(name, "experts_", 8) == 0 ||
           strcmp(name, "post_ffn_norm_1") == 0 || strcmp(name, "post_experts_norm") == 0;
}

/* A layer that reads another one's cache may still carry what it would fill its own
 * with: some files do, and nothing reads it. */
static vug_presence presence(const vug_config *c, const vug_tensor_row *row, int layer)
{
    const vug_layer_config none = { 0 };
    const vug_layer_config *own = layer >= 0 ? &c->layer[layer] : &none;
    const bool v = strcmp(row->name, "attn_v") == 0;
    const bool kv = v || strcmp(row->name, "attn_k") == 0 || strcmp(row->name, "attn_k_norm") == 0;
    if (own->back && kv)
        return VUG_TENSOR_UNREAD;
    if ((own->k_is_v && v) || (!c->d_per_layer && strncmp(row->name, "own_", 4) == 0) ||
        (!c->n_experts && is_of_mixture(row->name)))
        return VUG_TENSOR_NONE;
    return VUG_TENSOR_READ;
}

/* ---- flow ---------------------------------------------------------------- */

/* Values are made of the keys before those are normalised and turned. */
static vug_val attention(vug_flow *f, const vug_stages *s, int i, vug_val h)
{
    const vug_layer_config *own = &s->config->layer[i];
    const vug_val table = s->config->windowed[i] ? s->rope_window : s->rope_full;
    const vug_attr_attn at = { .layer = i - own->back,
                               .window = vug_config_window(s->config, i),
                               .scale = s->config->attn_scale };
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), s->config->n_heads);
    q = flow_rope(f, vug_model_norm(f, s, q, "attn_q_norm"), table);
    if (own->back)
        return flow_linear(f, flow_merge(f, flow_attend(f, q, at)), "attn_output");
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), own->n_kv_heads);
    vug_val v = own->k_is_v ? k : flow_heads(f, flow_linear(f, h, "attn_v"), own->n_kv_heads);
    k = flow_rope(f, vug_model_norm(f, s, k, "attn_k_norm"), table);
    v = flow_unit_norm(f, v, s->config->norm_eps);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, at)), "attn_output");
}

/* The router reads the residual stream `x` with a norm of its own. */
static vug_val mixture(vug_flow *f, const vug_stages *s, vug_val x)
{
    const float down = (float)(1 / sqrt((double)s->config->d_model));
    const flow_experts_of experts = { "experts_gate", "experts_up", "experts_down", VUG_ACT_GELU };
    const vug_val z = flow_scale(f, vug_model_norm(f, s, x, "router_norm"), down);
    const vug_attr_router router = { (int)s->config->n_chosen, s->config->renormalise };
    vug_val route = flow_router(f, flow_linear(f, z, "router"), router);
    route = flow_route_scale(f, route, "router_scale");
    return flow_experts(f, vug_model_norm(f, s, x, "experts_norm"), route, experts);
}

/* In a mixture either side has a norm behind it before the two are added. */
static vug_val feed_forward(vug_flow *f, const vug_stages *s, vug_val x)
{
    const vug_val out = vug_model_glu(f, vug_model_norm(f, s, x, "ffn_norm"), VUG_ACT_GELU);
    if (!s->config->n_experts)
        return out;
    const vug_val sum = vug_model_norm(f, s, mixture(f, s, x), "post_experts_norm");
    return flow_add(f, vug_model_norm(f, s, out, "post_ffn_norm_1"), sum);
}

static vug_val add_own_embedding(vug_flow *f, const vug_stages *s, int i, vug_val x)
{
    const vug_val gate = flow_gelu(f, flow_linear(f, x, "own_gate"));
    const vug_val h = flow_mul(f, gate, flow_head(f, s->per_layer, i));
    return flow_add(f, x, vug_model_norm(f, s, flow_linear(f, h, "own_proj"), "own_post_norm"));
}

/* From the token, scaled as the main one is, and from the main one. */
static vug_val own_embeddings(vug_flow *f, const vug_stages *s, vug_val x)
{
    const float scale = vug_model_root(s->binding, s->config->d_per_layer);
    const float down = (float)(1 / sqrt((double)s->config->d_model));
    const vug_val rows_of = flow_embed(f, flow_weight(f, "own_embd"), s->tokens, scale);
    vug_val made = flow_scale(f, flow_linear(f, x, "own_model_proj"), down);
    made = vug_model_norm(f, s, flow_heads(f, made, s->config->n_layers), "own_model_norm");
    const vug_val both = flow_add(f, flow_heads(f, rows_of, s->config->n_layers), made);
    return flow_scale(f, both, (float)sqrt(0.5));
}

static void prepare(vug_flow *f, vug_stages *s, vug_val x)
{
    const vug_config *c = s->config;
    s->rope_full = vug_model_rope_divided(f, s, "rope_full", vug_config_head(c, false));
    s->rope_window = vug_model_rope(f, s, "rope_window", &c->rope_window, vug_config_head(c, true));
    if (c->d_per_layer)
        s->per_layer = own_embeddings(f, s, x);
}

static vug_val layer(vug_flow *f, vug_stages *s, int i, vug_val x)
{
    const vug_val h = attention(f, s, i, vug_model_norm(f, s, x, "attn_norm"));
    x = flow_add(f, x, vug_model_norm(f, s, h, "post_attn_norm"));
    x = flow_add(f, x, vug_model_norm(f, s, feed_forward(f, s, x), "post_ffn_norm"));
    if (s->config->d_per_layer)
        x = add_own_embedding(f, s, i, x);
    return vug_binding_has(s->binding, "layer_scale", i) ? flow_gain(f, x, "layer_scale") : x;
}

/* Layers without a cache of their own are needed for the rows of the outputs alone,
 * so that a long prompt hardly meets them. */
static void narrow(vug_flow *f, vug_stages *s, vug_val wanted)
{
    s->rope_full = flow_take(f, s->rope_full, wanted);
    s->rope_window = flow_take(f, s->rope_window, wanted);
    if (s->config->d_per_layer) {
        const vug_val flat = flow_take(f, flow_merge(f, s->per_layer), wanted);
        s->per_layer = flow_heads(f, flat, s->config->n_layers);
    }
}

static const char *const model_types[] = { "gemma4_text", "gemma4", "gemma4_unified_text",
                                           "gemma4_unified", NULL };

static const vug_gguf_arch gguf = {
    .name = "gemma4", .hf = "Gemma4ForCausalLM", .two_ropes = true, .two_widths = true, .bf16 = true
};

/* The reference's own rounding shows more than elsewhere: scores that are not scaled
 * are large, and exp() turns their last bits into whole parts of the logits. Computed
 * in double, the reference is up to 2e-4 away from itself. */
const vug_arch vug_arch_gemma4 = {
    .name = "gemma4",
    .model_types = model_types,
    .gguf = &gguf,
    .chat = "gemma4",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .pack = packs,
    .n_packs = sizeof(packs) / sizeof(packs[0]),
    .packed = true,
    .presence = presence,
    .tolerance = 1e-3,
    .norm_weight = 1,
    .read = vug_gemma4_read,
    .embed = vug_model_scaled_embedding,
    .prepare = prepare,
    .layer = layer,
    .narrow = narrow,
    .norm = vug_model_output_norm,
    .head = vug_model_logits,
};
