/*
 * Qwen 3, the dense models and those with a mixture of experts. Source: Qwen3 technical
 * report (2025), section 2; for details and defaults, transformers' models/qwen3 and
 * models/qwen3_moe, classes Qwen3Model and Qwen3MoeModel and their configurations.
 *
 * Like Qwen 2, but queries and keys are normalised per head and have no biases, and the
 * config sets the width of heads. In a layer with experts the feed-forward of a token is a
 * weighted sum of the few experts that a router chooses.
 */
#include <math.h>

#include "models/common.h"

/* ---- tensors ------------------------------------------------------------- */

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "token_embd", "V D", VUG_NEEDED },
    { "output_norm", "norm.weight", "output_norm", "D", VUG_NEEDED },
    { "output", "lm_head.weight", "output", "V D", VUG_OPTIONAL },
    { "attn_norm", "layers.%d.input_layernorm.weight", "attn_norm", "D", VUG_NEEDED },
    { "attn_q", "layers.%d.self_attn.q_proj.weight", "attn_q", "H*E D", VUG_NEEDED },
    { "attn_q_bias", "layers.%d.self_attn.q_proj.bias", "attn_q.bias", "H*E", VUG_WITH_ATTN_BIAS },
    { "attn_k", "layers.%d.self_attn.k_proj.weight", "attn_k", "K*E D", VUG_NEEDED },
    { "attn_k_bias", "layers.%d.self_attn.k_proj.bias", "attn_k.bias", "K*E", VUG_WITH_ATTN_BIAS },
    { "attn_v", "layers.%d.self_attn.v_proj.weight", "attn_v", "K*E D", VUG_NEEDED },
    { "attn_v_bias", "layers.%d.self_attn.v_proj.bias", "attn_v.bias", "K*E", VUG_WITH_ATTN_BIAS },
    { "attn_q_norm", "layers.%d.self_attn.q_norm.weight", "attn_q_norm", "E", VUG_NEEDED },
    { "attn_k_norm", "layers.%d.self_attn.k_norm.weight", "attn_k_norm", "E", VUG_NEEDED },
    { "attn_output", "layers.%d.self_attn.o_proj.weight", "attn_output", "D H*E", VUG_NEEDED },
    { "attn_output_bias", "layers.%d.self_attn.o_proj.bias", "attn_output.bias", "D",
      VUG_WITH_ATTN_BIAS },
    { "ffn_norm", "layers.%d.post_attention_layernorm.weight", "ffn_norm", "D", VUG_NEEDED },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "ffn_gate", "F D", VUG_NEEDED },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "ffn_up", "F D", VUG_NEEDED },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "ffn_down", "D F", VUG_NEEDED },
    { "router", "layers.%d.mlp.gate.weight", "ffn_gate_inp", "N D", VUG_NEEDED },
    { "experts_gate", "layers.%d.mlp.experts.%d.gate_proj.weight", NULL, "X D", VUG_NEEDED },
    { "experts_up", "layers.%d.mlp.experts.%d.up_proj.weight", NULL, "X D", VUG_NEEDED },
    { "experts_down", "layers.%d.mlp.experts.%d.down_proj.weight", NULL, "D X", VUG_NEEDED },
};

/* As transformers 5 and mlx-lm save them. */
static const vug_expert_pack_row packs[] = {
    { "layers.%d.mlp.experts.gate_up_proj", "ffn_gate_up_exps", { "experts_gate", "experts_up" } },
    { "layers.%d.mlp.experts.down_proj", "ffn_down_exps", { "experts_down" } },
    { "layers.%d.mlp.switch_mlp.gate_proj.weight", "ffn_gate_exps", { "experts_gate" } },
    { "layers.%d.mlp.switch_mlp.up_proj.weight", "ffn_up_exps", { "experts_up" } },
    { "layers.%d.mlp.switch_mlp.down_proj.weight", "ffn_down_exps", { "experts_down" } },
};

/* A layer has either a dense feed-forward, or a router and experts. */
static vug_tensor_presence presence(const vug_config *c, const vug_tensor_row *row, int layer)
{
    const bool experts = strcmp(row->name, "router") == 0 || strncmp(row->name, "experts_", 8) == 0;
    const bool dense = strcmp(row->name, "ffn_gate") == 0 || strcmp(row->name, "ffn_up") == 0 ||
                       strcmp(row->name, "ffn_down") == 0;
    if (layer < 0 || (!experts && !dense))
        return VUG_TENSOR_USED;
    return c->sparse[layer] == experts ? VUG_TENSOR_USED : VUG_TENSOR_ABSENT;
}

/* ---- config -------------------------------------------------------------- */

static const vug_size_defaults defaults = {
    .layers = 32,
    .d_model = 4096,
    .heads = 32,
    .kv_heads = 32,
    .kv_null_is_mha = true,
    .d_head = 128,
    .d_ffn = 22016,
    .vocab = 151936,
    .context = 32768,
    .norm_eps = 1e-6,
};

static const vug_size_defaults moe_defaults = {
    .layers = 24,
    .d_model = 2048,
    .heads = 32,
    .kv_heads = 4,
    .d_ffn = 6144,
    .vocab = 151936,
    .context = 32768,
    .norm_eps = 1e-6,
};

/* Every step-th layer has experts, except those in mlp_only_layers. */
static void read_sparse(vug_config_keys *k, vug_config *c)
{
    const int64_t step = vug_key_int(k, "decoder_sparse_step", 1, 1, VUG_MAX_LAYERS);
    for (int64_t i = 0; i < c->n_layers; i++)
        c->sparse[i] = c->n_experts > 0 && (i + 1) % step == 0;
    const vug_jv *dense = vug_key_get(k, "mlp_only_layers");
    if (dense && dense->type != VUG_JSON_ARRAY)
        vug_config_keys_fail(k, VUG_FORMAT, "key 'mlp_only_layers' must be a list of layers");
    for (const vug_jv *v = vug_jv_is(dense, VUG_JSON_ARRAY) ? dense->child : NULL; v; v = v->next) {
        if (v->type != VUG_JSON_NUMBER || !v->is_int)
            vug_config_keys_fail(k, VUG_FORMAT, "key 'mlp_only_layers' must be a list of layers");
        else if (v->i64 >= 0 && v->i64 < c->n_layers)
            c->sparse[v->i64] = false;
    }
}

/* Either all layers have a window, or none has. */
static void read_moe_windows(vug_config_keys *k, vug_config *c)
{
    const bool used = vug_key_bool(k, "use_sliding_window", false) &&
                      !vug_jv_is(vug_jv_get(k->object, "sliding_window"), VUG_JSON_NULL);
    c->window = vug_key_int(k, "sliding_window", 4096, used ? 1 : 0, 1 << 30);
    for (int64_t i = 0; i < c->n_layers; i++)
        c->windowed[i] = used;
}

static void read_common_keys(vug_config_keys *k, const char *name, vug_config *c)
{
    c->attn_scale = (float)(1 / sqrt((double)c->d_head));
    c->attn_bias = vug_key_bool(k, "attention_bias", false);
    vug_config_read_rope(k, c, 1e4);
    vug_config_read_activation(k, "hidden_act", "silu", name);
}

static vug_status read_dense(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    vug_config_keys k = { .object = text, .file = file };
    vug_config_read_sizes(&k, &defaults, c);
    vug_config_read_qwen_windows(&k, c);
    read_common_keys(&k, "Qwen 3", c);
    return vug_config_keys_status(&k, err);
}

static vug_status read_moe(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    static const vug_expert_defaults experts = { .experts = 128, .per_token = 8, .width = 768 };
    vug_config_keys k = { .object = text, .file = file };
    vug_config_read_sizes(&k, &moe_defaults, c);
    vug_config_read_experts(&k, &experts, "num_experts_per_tok", c);
    c->renormalise = vug_key_bool(&k, "norm_topk_prob", false);
    read_sparse(&k, c);
    read_moe_windows(&k, c);
    read_common_keys(&k, "Qwen 3 MoE", c);
    return vug_config_keys_status(&k, err);
}

/* ---- flow ---------------------------------------------------------------- */

static vug_val attention(vug_flow *f, const vug_model_context *s, int i, vug_val h)
{
    const vug_config *c = s->config;
    const vug_attr_attn attn = { .window = vug_config_window(c, i), .scale = c->attn_scale };
    vug_val q = vug_model_affine(f, h, "attn_q", "attn_q_bias", c->attn_bias);
    vug_val k = vug_model_affine(f, h, "attn_k", "attn_k_bias", c->attn_bias);
    vug_val v = vug_model_affine(f, h, "attn_v", "attn_v_bias", c->attn_bias);
    q = vug_model_norm(f, s, flow_heads(f, q, c->n_heads), "attn_q_norm");
    k = vug_model_norm(f, s, flow_heads(f, k, c->n_kv_heads), "attn_k_norm");
    v = flow_heads(f, v, c->n_kv_heads);
    q = flow_rope(f, q, s->rope_full);
    k = flow_rope(f, k, s->rope_full);
    h = flow_merge(f, flow_attention(f, q, k, v, attn));
    return vug_model_affine(f, h, "attn_output", "attn_output_bias", c->attn_bias);
}

static vug_val mixture_of_experts(vug_flow *f, const vug_config *c, vug_val h)
{
    const vug_attr_router router = { .count = (int)c->n_experts_per_token,
                                     .renormalise = c->renormalise };
    const vug_experts_spec experts = { "experts_gate", "experts_up", "experts_down", VUG_ACT_SILU };
    return flow_experts(f, h, flow_router(f, flow_linear(f, h, "router"), router), experts);
}

static vug_val layer(vug_flow *f, vug_model_context *s, int i, vug_val x)
{
    x = flow_add(f, x, attention(f, s, i, vug_model_norm(f, s, x, "attn_norm")));
    const vug_val h = vug_model_norm(f, s, x, "ffn_norm");
    if (s->config->sparse[i])
        return flow_add(f, x, mixture_of_experts(f, s->config, h));
    return flow_add(f, x, vug_model_glu(f, h, VUG_ACT_SILU));
}

static const char *const dense_types[] = { "qwen3", NULL };
static const char *const moe_types[] = { "qwen3_moe", NULL };

static const vug_gguf_arch dense_gguf = { .name = "qwen3", .hf = "Qwen3ForCausalLM" },
                           moe_gguf = { .name = "qwen3moe", .hf = "Qwen3MoeForCausalLM" };

/* What both have in common: everything but the keys of their configs. */
#define QWEN3                                                                                \
    .row = rows, .n_rows = sizeof(rows) / sizeof(rows[0]), .pack = packs,                    \
    .n_packs = sizeof(packs) / sizeof(packs[0]), .presence = presence, .norm_weight = 1,     \
    .chat_family = "qwen3", .embed = vug_model_embedding, .prepare = vug_model_prepare_rope, \
    .layer = layer, .norm = vug_model_output_norm, .head = vug_model_logits

const vug_arch vug_arch_qwen3 = { .name = "qwen3",
                                  .model_types = dense_types,
                                  .gguf = &dense_gguf,
                                  .read_config = read_dense,
                                  QWEN3 };

const vug_arch vug_arch_qwen3_moe = {
    .name = "qwen3_moe", .model_types = moe_types, .gguf = &moe_gguf, .read_config = read_moe, QWEN3
};
