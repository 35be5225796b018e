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

#include "models/gemma4.h"

#define L(name) "layers.%d." name
static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "V D", false, VUG_NEEDED },
    { "output_norm", "norm.weight", "D", false, VUG_NEEDED },
    { "output", "lm_head.weight", "V D", false, VUG_OPTIONAL },
    { "own_embd", "embed_tokens_per_layer.weight", "U L*I", false, VUG_NEEDED },
    { "own_model_proj", "per_layer_model_projection.weight", "L*I D", false, VUG_NEEDED },
    { "own_model_norm", "per_layer_projection_norm.weight", "I", false, VUG_NEEDED },
    { "attn_norm", L("input_layernorm.weight"), "D", true, VUG_NEEDED },
    { "attn_q", L("self_attn.q_proj.weight"), "H*E D", true, VUG_NEEDED },
    { "attn_k", L("self_attn.k_proj.weight"), "K*E D", true, VUG_NEEDED },
    { "attn_v", L("self_attn.v_proj.weight"), "K*E D", true, VUG_NEEDED },
    { "attn_q_norm", L("self_attn.q_norm.weight"), "E", true, VUG_NEEDED },
    { "attn_k_norm", L("self_attn.k_norm.weight"), "E", true, VUG_NEEDED },
    { "attn_output", L("self_attn.o_proj.weight"), "D H*E", true, VUG_NEEDED },
    { "post_attn_norm", L("post_attention_layernorm.weight"), "D", true, VUG_NEEDED },
    { "ffn_norm", L("pre_feedforward_layernorm.weight"), "D", true, VUG_NEEDED },
    { "ffn_gate", L("mlp.gate_proj.weight"), "F D", true, VUG_NEEDED },
    { "ffn_up", L("mlp.up_proj.weight"), "F D", true, VUG_NEEDED },
    { "ffn_down", L("mlp.down_proj.weight"), "D F", true, VUG_NEEDED },
    { "post_ffn_norm", L("post_feedforward_layernorm.weight"), "D", true, VUG_NEEDED },
    { "post_ffn_norm_1", L("post_feedforward_layernorm_1.weight"), "D", true, VUG_NEEDED },
    { "router_norm", L("router.scale"), "D", true, VUG_NEEDED },
    { "router", L("router.proj.weight"), "N D", true, VUG_NEEDED },
    { "router_scale", L("router.per_expert_scale"), "N", true, VUG_NEEDED },
    { "experts_norm", L("pre_feedforward_layernorm_2.weight"), "D", true, VUG_NEEDED },
    { "experts_gate", L("experts.%d.gate_proj.weight"), "X D", true, VUG_NEEDED },
    { "experts_up", L("experts.%d.up_proj.weight"), "X D", true, VUG_NEEDED },
    { "experts_down", L("experts.%d.down_proj.weight"), "D X", true, VUG_NEEDED },
    { "post_experts_norm", L("post_feedforward_layernorm_2.weight"), "D", true, VUG_NEEDED },
    { "own_gate", L("per_layer_input_gate.weight"), "I D", true, VUG_NEEDED },
    { "own_proj", L("per_layer_projection.weight"), "D I", true, VUG_NEEDED },
    { "own_post_norm", L("post_per_layer_input_norm.weight"), "D", true, VUG_NEEDED },
    { "layer_scale", L("layer_scalar"), "1", true, VUG_OPTIONAL },
};

/* As published, and as mlx-lm saves them. */
static const vug_pack_row packs[] = {
    { L("experts.gate_up_proj"), { "experts_gate", "experts_up" } },
    { L("experts.down_proj"), { "experts_down" } },
    { L("experts.switch_glu.gate_proj.weight"), { "experts_gate" } },
    { L("experts.switch_glu.up_proj.weight"), { "experts_up" } },
    { L("experts.switch_glu.down_proj.weight"), { "experts_down" } },
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

/* What all layers share. */
typedef struct {
    vug_flow *f;
    const vug_config *c;
    vug_attr_norm norm;
    vug_attr_router router;
    vug_val full, sliding; /* RoPE tables */
    vug_val per_layer;     /* [T,L,I], the layers' own embeddings */
} gemma4;

static vug_val norm(const gemma4 *m, vug_val x, const char *name)
{
    return flow_rms_norm(m->f, x, name, m->norm);
}

/* Values are made of the keys before those are normalised and turned. */
static vug_val attention(const gemma4 *m, vug_val h)
{
    vug_flow *f = m->f;
    const vug_layer_config *own = &m->c->layer[f->layer];
    const bool windowed = m->c->windowed[f->layer];
    const vug_val table = windowed ? m->sliding : m->full;
    const vug_attr_attn at = { .layer = f->layer - own->back,
                               .window = windowed ? m->c->window : 0,
                               .scale = m->c->attn_scale };
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), m->c->n_heads);
    q = flow_rope(f, norm(m, q, "attn_q_norm"), table);
    if (own->back)
        return flow_linear(f, flow_merge(f, flow_attend(f, q, at)), "attn_output");
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), own->n_kv_heads);
    vug_val v = own->k_is_v ? k : flow_heads(f, flow_linear(f, h, "attn_v"), own->n_kv_heads);
    k = flow_rope(f, norm(m, k, "attn_k_norm"), table);
    v = flow_unit_norm(f, v, m->norm.eps);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, at)), "attn_output");
}

/* The router reads the residual stream `x` with a norm of its own. */
static vug_val mixture(const gemma4 *m, vug_val x)
{
    vug_flow *f = m->f;
    const float narrow = (float)(1 / sqrt((double)m->c->d_model));
    const flow_experts_of experts = { "experts_gate", "experts_up", "experts_down", VUG_OP_GELU };
    const vug_val z = flow_scale(f, norm(m, x, "router_norm"), narrow);
    vug_val route = flow_router(f, flow_linear(f, z, "router"), m->router);
    route = flow_route_scale(f, route, "router_scale");
    return flow_experts(f, norm(m, x, "experts_norm"), route, experts);
}

/* In a mixture either side has a norm behind it before the two are added. */
static vug_val feed_forward(const gemma4 *m, vug_val x)
{
    vug_flow *f = m->f;
    const vug_val h = norm(m, x, "ffn_norm");
    const vug_val gate = flow_gelu(f, flow_linear(f, h, "ffn_gate"));
    const vug_val up = flow_linear(f, h, "ffn_up");
    const vug_val out = flow_linear(f, flow_mul(f, gate, up), "ffn_down");
    if (!m->c->n_experts)
        return out;
    const vug_val sum = norm(m, mixture(m, x), "post_experts_norm");
    return flow_add(f, norm(m, out, "post_ffn_norm_1"), sum);
}

static vug_val add_own_embedding(const gemma4 *m, vug_val x)
{
    vug_flow *f = m->f;
    const vug_val gate = flow_gelu(f, flow_linear(f, x, "own_gate"));
    const vug_val h = flow_mul(f, gate, flow_head(f, m->per_layer, f->layer));
    return flow_add(f, x, norm(m, flow_linear(f, h, "own_proj"), "own_post_norm"));
}

/* From the token, scaled as the main one is, and from the main one. */
static vug_val own_embeddings(const gemma4 *m, const vug_binding *b, vug_val tokens, vug_val x)
{
    vug_flow *f = m->f;
    const float scale = vug_model_root(b, m->c->d_per_layer);
    const float narrow = (float)(1 / sqrt((double)m->c->d_model));
    const vug_val rows_of = flow_embed(f, flow_weight(f, "own_embd"), tokens, scale);
    vug_val made = flow_scale(f, flow_linear(f, x, "own_model_proj"), narrow);
    made = norm(m, flow_heads(f, made, m->c->n_layers), "own_model_norm");
    const vug_val both = flow_add(f, flow_heads(f, rows_of, m->c->n_layers), made);
    return flow_scale(f, both, (float)sqrt(0.5));
}

/* Layers without a cache of their own are needed for the rows of the outputs alone,
 * so that a long prompt hardly meets them. */
static vug_val take_rows(gemma4 *m, vug_val x, vug_val wanted)
{
    vug_flow *f = m->f;
    m->full = flow_take(f, m->full, wanted);
    m->sliding = flow_take(f, m->sliding, wanted);
    if (m->c->d_per_layer) {
        const vug_val flat = flow_take(f, flow_merge(f, m->per_layer), wanted);
        m->per_layer = flow_heads(f, flat, m->c->n_layers);
    }
    return flow_take(f, x, wanted);
}

static vug_val layer(const gemma4 *m, const vug_binding *b, vug_val x)
{
    vug_flow *f = m->f;
    x = flow_add(f, x, norm(m, attention(m, norm(m, x, "attn_norm")), "post_attn_norm"));
    x = flow_add(f, x, norm(m, feed_forward(m, x), "post_ffn_norm"));
    if (m->c->d_per_layer)
        x = add_own_embedding(m, x);
    return vug_binding_has(b, "layer_scale", f->layer) ? flow_gain(f, x, "layer_scale") : x;
}

/* Full layers have the widest heads; sliding ones those of the config. */
static int64_t head_width(const vug_config *c, bool windowed)
{
    for (int64_t i = 0; i < c->n_layers; i++) {
        if (c->windowed[i] == windowed)
            return c->layer[i].d_head;
    }
    return c->d_head;
}

static void build(vug_flow *f, const vug_config *c, const vug_binding *b)
{
    gemma4 m = { .f = f,
                 .c = c,
                 .norm = { .eps = c->norm_eps },
                 .router = { (int)c->n_chosen, c->renormalise } };
    const vug_val tokens = flow_input(f, VUG_INPUT_TOKENS);
    const vug_val positions = flow_input(f, VUG_INPUT_POSITIONS);
    const vug_val wanted = flow_input(f, VUG_INPUT_ROWS);
    m.full = vug_model_rope(f, "rope_full", positions, &c->rope_full, head_width(c, false));
    m.sliding = vug_model_rope(f, "rope_window", positions, &c->rope_window, head_width(c, true));

    const vug_val embedding = flow_weight(f, "token_embd");
    vug_val x = flow_embed(f, embedding, tokens, vug_embedding_scale(b));
    if (c->d_per_layer)
        m.per_layer = own_embeddings(&m, b, tokens, x);
    bool taken = false;
    for (int i = 0; i < c->n_layers; i++) {
        if (c->layer[i].back && !taken && !f->hidden) {
            f->layer = -1;
            x = take_rows(&m, x, wanted);
            taken = true;
        }
        f->layer = i;
        flow_hidden(f, x);
        x = layer(&m, b, x);
    }
    f->layer = -1;
    if (f->hidden)
        flow_hidden(f, norm(&m, x, "output_norm"));
    x = norm(&m, taken ? x : flow_take(f, x, wanted), "output_norm");
    const vug_val head = b->tied ? embedding : flow_weight(f, "output");
    flow_output(f, "logits", flow_softcap(f, flow_project(f, x, head), c->final_softcap));
}

static const char *const model_types[] = { "gemma4_text", "gemma4", "gemma4_unified_text",
                                           "gemma4_unified", NULL };

/* The reference's own rounding shows more than elsewhere: scores that are not scaled
 * are large, and exp() turns their last bits into whole parts of the logits. Computed
 * in double, the reference is up to 2e-4 away from itself. */
const vug_arch vug_arch_gemma4 = {
    .name = "gemma4",
    .model_types = model_types,
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
    .build = build,
};
