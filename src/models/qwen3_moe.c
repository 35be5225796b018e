/*
 * Qwen 3 with a mixture of experts. Source: Qwen3 technical report (2025), section 2;
 * where it is silent, transformers' models/qwen3_moe/modeling_qwen3_moe.py, class
 * Qwen3MoeModel, and configuration_qwen3_moe.py for the defaults.
 *
 * The attention of Qwen 3: a pre-norm block with queries and keys normalised per head. A token's feed-forward
 * is that of the few experts that a router chooses for it; layers without experts
 * have a plain one.
 */
#include <math.h>

#include "models/common.h"
#include "models/experts.h"

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "V D", false, VUG_NEEDED },
    { "output_norm", "norm.weight", "D", false, VUG_NEEDED },
    { "output", "lm_head.weight", "V D", false, VUG_OPTIONAL },
    { "attn_norm", "layers.%d.input_layernorm.weight", "D", true, VUG_NEEDED },
    { "attn_q", "layers.%d.self_attn.q_proj.weight", "H*E D", true, VUG_NEEDED },
    { "attn_q_bias", "layers.%d.self_attn.q_proj.bias", "H*E", true, VUG_WITH_ATTN_BIAS },
    { "attn_k", "layers.%d.self_attn.k_proj.weight", "K*E D", true, VUG_NEEDED },
    { "attn_k_bias", "layers.%d.self_attn.k_proj.bias", "K*E", true, VUG_WITH_ATTN_BIAS },
    { "attn_v", "layers.%d.self_attn.v_proj.weight", "K*E D", true, VUG_NEEDED },
    { "attn_v_bias", "layers.%d.self_attn.v_proj.bias", "K*E", true, VUG_WITH_ATTN_BIAS },
    { "attn_q_norm", "layers.%d.self_attn.q_norm.weight", "E", true, VUG_NEEDED },
    { "attn_k_norm", "layers.%d.self_attn.k_norm.weight", "E", true, VUG_NEEDED },
    { "attn_output", "layers.%d.self_attn.o_proj.weight", "D H*E", true, VUG_NEEDED },
    { "attn_output_bias", "layers.%d.self_attn.o_proj.bias", "D", true, VUG_WITH_ATTN_BIAS },
    { "ffn_norm", "layers.%d.post_attention_layernorm.weight", "D", true, VUG_NEEDED },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "F D", true, VUG_NEEDED },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "F D", true, VUG_NEEDED },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "D F", true, VUG_NEEDED },
    { "router", "layers.%d.mlp.gate.weight", "N D", true, VUG_NEEDED },
    { "experts_gate", "layers.%d.mlp.experts.%d.gate_proj.weight", "X D", true, VUG_NEEDED },
    { "experts_up", "layers.%d.mlp.experts.%d.up_proj.weight", "X D", true, VUG_NEEDED },
    { "experts_down", "layers.%d.mlp.experts.%d.down_proj.weight", "D X", true, VUG_NEEDED },
};

/* As transformers 5 saves them, and as mlx-lm does. */
static const vug_pack_row packs[] = {
    { "layers.%d.mlp.experts.gate_up_proj", { "experts_gate", "experts_up" } },
    { "layers.%d.mlp.experts.down_proj", { "experts_down" } },
    { "layers.%d.mlp.switch_mlp.gate_proj.weight", { "experts_gate" } },
    { "layers.%d.mlp.switch_mlp.up_proj.weight", { "experts_up" } },
    { "layers.%d.mlp.switch_mlp.down_proj.weight", { "experts_down" } },
};

/* A layer has a plain feed-forward, or a router and experts. */
static vug_presence presence(const vug_config *c, const vug_tensor_row *row, int layer)
{
    const bool experts = strcmp(row->name, "router") == 0 || strncmp(row->name, "experts_", 8) == 0;
    const bool dense = strcmp(row->name, "ffn_gate") == 0 || strcmp(row->name, "ffn_up") == 0 ||
                       strcmp(row->name, "ffn_down") == 0;
    if (layer < 0 || (!experts && !dense))
        return VUG_TENSOR_READ;
    return c->sparse[layer] == experts ? VUG_TENSOR_READ : VUG_TENSOR_NONE;
}

/* ---- config -------------------------------------------------------------- */

/* A layer has experts unless it is listed or the step leaves it out. */
static void read_sparse(vug_keys *k, vug_config *c)
{
    const int64_t step = vug_key_int(k, "decoder_sparse_step", 1, 1, VUG_MAX_LAYERS);
    for (int64_t i = 0; i < c->n_layers; i++)
        c->sparse[i] = c->n_experts > 0 && (i + 1) % step == 0;
    const vug_jv *dense = vug_key(k, "mlp_only_layers");
    if (dense && dense->type != VUG_JSON_ARRAY)
        vug_keys_fail(k, VUG_FORMAT, "key 'mlp_only_layers' must be a list of layers");
    for (const vug_jv *v = vug_jv_is(dense, VUG_JSON_ARRAY) ? dense->child : NULL; v; v = v->next) {
        if (v->type != VUG_JSON_NUMBER || !v->is_int)
            vug_keys_fail(k, VUG_FORMAT, "key 'mlp_only_layers' must be a list of layers");
        else if (v->i64 >= 0 && v->i64 < c->n_layers)
            c->sparse[v->i64] = false;
    }
}

static const vug_size_defaults defaults = {
    .layers = 24,
    .d_model = 2048,
    .heads = 32,
    .kv_heads = 4,
    .d_ffn = 6144,
    .vocab = 151936,
    .context = 32768,
    .norm_eps = 1e-6,
};

/* Where windows are used at all, every layer has one. */
static void read_windows(vug_keys *k, vug_config *c)
{
    const bool used = vug_key_bool(k, "use_sliding_window", false) &&
                      !vug_jv_is(vug_jv_get(k->object, "sliding_window"), VUG_JSON_NULL);
    c->window = vug_key_int(k, "sliding_window", 4096, used ? 1 : 0, 1 << 30);
    for (int64_t i = 0; i < c->n_layers; i++)
        c->windowed[i] = used;
}

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    static const vug_expert_defaults experts = { .experts = 128, .chosen = 8, .width = 768 };
    vug_keys k = { .object = text, .file = file };
    vug_read_sizes(&k, &defaults, c);
    vug_read_experts(&k, &experts, "num_experts_per_tok", c);
    c->renormalise = vug_key_bool(&k, "norm_topk_prob", false);
    c->attn_scale = (float)(1 / sqrt((double)c->d_head));
    c->attn_bias = vug_key_bool(&k, "attention_bias", false);
    read_sparse(&k, c);
    read_windows(&k, c);
    vug_read_rope(&k, c, 1e4);
    vug_read_activation(&k, "hidden_act", "silu", "Qwen 3 MoE");
    if (k.st != VUG_OK && err)
        *err = k.err;
    return k.st;
}

/* ---- flow ---------------------------------------------------------------- */

static vug_attr_norm norm_of(const vug_config *c)
{
    return (vug_attr_norm){ .eps = c->norm_eps };
}

static vug_val biased(vug_flow *f, vug_val x, const char *name, bool there)
{
    return there ? flow_bias(f, x, name) : x;
}

static vug_val attention(vug_flow *f, const vug_config *c, vug_val h, vug_val table, int64_t window)
{
    const vug_attr_attn attn = { .window = window, .scale = c->attn_scale };
    vug_val q = flow_linear(f, h, "attn_q");
    vug_val k = flow_linear(f, h, "attn_k");
    vug_val v = flow_linear(f, h, "attn_v");
    q = flow_heads(f, biased(f, q, "attn_q_bias", c->attn_bias), c->n_heads);
    k = flow_heads(f, biased(f, k, "attn_k_bias", c->attn_bias), c->n_kv_heads);
    v = flow_heads(f, biased(f, v, "attn_v_bias", c->attn_bias), c->n_kv_heads);
    q = flow_rope(f, flow_rms_norm(f, q, "attn_q_norm", norm_of(c)), table);
    k = flow_rope(f, flow_rms_norm(f, k, "attn_k_norm", norm_of(c)), table);
    h = flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_output");
    return biased(f, h, "attn_output_bias", c->attn_bias);
}

static vug_val dense(vug_flow *f, vug_val h)
{
    const vug_val gate = flow_silu(f, flow_linear(f, h, "ffn_gate"));
    const vug_val up = flow_linear(f, h, "ffn_up");
    return flow_linear(f, flow_mul(f, gate, up), "ffn_down");
}

static vug_val mixture(vug_flow *f, const vug_config *c, vug_val h)
{
    const vug_attr_router router = { .count = (int)c->n_chosen, .renormalise = c->renormalise };
    const flow_experts_of experts = { "experts_gate", "experts_up", "experts_down", VUG_ACT_SILU };
    return flow_experts(f, h, flow_router(f, flow_linear(f, h, "router"), router), experts);
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
    return flow_add(f, x, c->sparse[i] ? mixture(f, c, h) : dense(f, h));
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

static const char *const model_types[] = { "qwen3_moe", NULL };

const vug_arch vug_arch_qwen3_moe = {
    .name = "qwen3_moe",
    .model_types = model_types,
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .pack = packs,
    .n_packs = sizeof(packs) / sizeof(packs[0]),
    .presence = presence,
    .norm_weight = 1,
    .read = read_config,
    .prepare = prepare,
    .embed = embed,
    .layer = layer,
    .norm = norm,
    .head = head,
};
