/*
 * Qwen 3 with a mixture of experts. Source: Qwen3 technical report (2025), section 2;
 * where it is silent, transformers' models/qwen3_moe/modeling_qwen3_moe.py, class
 * Qwen3MoeModel, and configuration_qwen3_moe.py for the defaults.
 *
 * A pre-norm block with queries and keys normalised per head. A token's feed-forward
 * is that of the few experts that a router chooses for it; layers without experts
 * have a plain one.
 */
#include <math.h>

#include "models/experts.h"
#include "models/qwen3_moe.h"

static const vug_tensor_row rows[] = {
    { "token_embd", "embed_tokens.weight", "V D", false, false },
    { "output_norm", "norm.weight", "D", false, false },
    { "output", "lm_head.weight", "V D", false, true },
    { "attn_norm", "layers.%d.input_layernorm.weight", "D", true, false },
    { "attn_q", "layers.%d.self_attn.q_proj.weight", "H*E D", true, false },
    { "attn_k", "layers.%d.self_attn.k_proj.weight", "K*E D", true, false },
    { "attn_v", "layers.%d.self_attn.v_proj.weight", "K*E D", true, false },
    { "attn_q_norm", "layers.%d.self_attn.q_norm.weight", "E", true, false },
    { "attn_k_norm", "layers.%d.self_attn.k_norm.weight", "E", true, false },
    { "attn_output", "layers.%d.self_attn.o_proj.weight", "D H*E", true, false },
    { "ffn_norm", "layers.%d.post_attention_layernorm.weight", "D", true, false },
    { "ffn_gate", "layers.%d.mlp.gate_proj.weight", "F D", true, false },
    { "ffn_up", "layers.%d.mlp.up_proj.weight", "F D", true, false },
    { "ffn_down", "layers.%d.mlp.down_proj.weight", "D F", true, false },
    { "router", "layers.%d.mlp.gate.weight", "N D", true, false },
    { "experts_gate", "layers.%d.mlp.experts.%d.gate_proj.weight", "X D", true, false },
    { "experts_up", "layers.%d.mlp.experts.%d.up_proj.weight", "X D", true, false },
    { "experts_down", "layers.%d.mlp.experts.%d.down_proj.weight", "D X", true, false },
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

static vug_status read_config(const vug_jv *text, const char *file, vug_config *c, vug_err *err)
{
    static const vug_expert_defaults defaults = { .experts = 128, .chosen = 8, .width = 768 };
    vug_keys k = { .object = text, .file = file };
    c->n_layers = vug_key_int(&k, "num_hidden_layers", 24, 1, VUG_MAX_LAYERS);
    c->d_model = vug_key_int(&k, "hidden_size", 2048, 1, 1 << 20);
    c->n_heads = vug_key_int(&k, "num_attention_heads", 32, 1, 1 << 12);
    c->n_kv_heads = vug_key_int(&k, "num_key_value_heads", 4, 1, 1 << 12);
    c->d_head = vug_key_int(&k, "head_dim", c->d_model / c->n_heads, 2, 1 << 12);
    c->d_ffn = vug_key_int(&k, "intermediate_size", 6144, 1, 1 << 24);
    c->n_vocab = vug_key_int(&k, "vocab_size", 151936, 1, 1 << 24);
    c->context = vug_key_int(&k, "max_position_embeddings", 32768, 1, 1 << 30);
    c->norm_eps = (float)vug_key_number(&k, "rms_norm_eps", 1e-6, 0, 1);
    vug_read_experts(&k, &defaults, "num_experts_per_tok", c);
    c->renormalise = vug_key_bool(&k, "norm_topk_prob", false);
    read_sparse(&k, c);
    c->attn_scale = (float)(1 / sqrt((double)c->d_head));
    const vug_jv *rope = vug_key_object(&k, "rope_parameters");
    vug_keys sub = { .object = rope ? rope : text, .file = file };
    c->rope_full.theta = vug_key_number(&sub, "rope_theta", 1e4, 1, 1e12);
    if (k.st != VUG_OK && err)
        *err = k.err;
    return k.st;
}

/* ---- flow ---------------------------------------------------------------- */

static vug_val attention(vug_flow *f, const vug_config *c, vug_val h, vug_val table, int64_t window)
{
    const vug_attr_norm norm = { .eps = c->norm_eps };
    const vug_attr_attn attn = { .window = window, .scale = c->attn_scale };
    vug_val q = flow_heads(f, flow_linear(f, h, "attn_q"), c->n_heads);
    vug_val k = flow_heads(f, flow_linear(f, h, "attn_k"), c->n_kv_heads);
    vug_val v = flow_heads(f, flow_linear(f, h, "attn_v"), c->n_kv_heads);
    q = flow_rope(f, flow_rms_norm(f, q, "attn_q_norm", norm), table);
    k = flow_rope(f, flow_rms_norm(f, k, "attn_k_norm", norm), table);
    return flow_linear(f, flow_merge(f, flow_attention(f, q, k, v, attn)), "attn_output");
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
    const flow_experts_of experts = { "experts_gate", "experts_up", "experts_down", VUG_OP_SILU };
    return flow_experts(f, h, flow_router(f, flow_linear(f, h, "router"), router), experts);
}

static void build(vug_flow *f, const vug_config *c, const vug_binding *b)
{
    const vug_attr_norm norm = { .eps = c->norm_eps };
    const vug_val tokens = flow_input(f, VUG_INPUT_TOKENS);
    const vug_val positions = flow_input(f, VUG_INPUT_POSITIONS);
    const vug_val rows_wanted = flow_input(f, VUG_INPUT_ROWS);
    const vug_val table = vug_model_rope(f, "rope", positions, &c->rope_full, c->d_head);

    const vug_val embedding = flow_weight(f, "token_embd");
    vug_val x = flow_embed(f, embedding, tokens, 1);
    for (int i = 0; i < c->n_layers; i++) {
        f->layer = i;
        flow_hidden(f, x);
        vug_val h = flow_rms_norm(f, x, "attn_norm", norm);
        x = flow_add(f, x, attention(f, c, h, table, c->windowed[i] ? c->window : 0));
        h = flow_rms_norm(f, x, "ffn_norm", norm);
        x = flow_add(f, x, c->sparse[i] ? mixture(f, c, h) : dense(f, h));
    }
    f->layer = -1;
    if (f->hidden)
        flow_hidden(f, flow_rms_norm(f, x, "output_norm", norm));
    x = flow_rms_norm(f, flow_take(f, x, rows_wanted), "output_norm", norm);
    flow_output(f, "logits", flow_project(f, x, b->tied ? embedding : flow_weight(f, "output")));
}

static const char *const model_types[] = { "qwen3_moe", NULL };

const vug_arch vug_arch_qwen3_moe = {
    .name = "qwen3_moe",
    .model_types = model_types,
    .chat = "qwen3",
    .row = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .pack = packs,
    .n_packs = sizeof(packs) / sizeof(packs[0]),
    .presence = presence,
    .norm_weight = 1,
    .read = read_config,
    .build = build,
};
