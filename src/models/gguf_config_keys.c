/* The keys of a config in GGUF files and in config.json. */
#include "models/gguf_config_keys.h"

#include <stddef.h>

#define COUNT(field) VUG_GGUF_CONFIG_INT, false, offsetof(vug_config, field)
#define SIZE(field)  VUG_GGUF_CONFIG_INT, true, offsetof(vug_config, field)
#define SPECIAL      VUG_GGUF_CONFIG_SPECIAL, false, 0

static const vug_gguf_config_row rows[] = {
    { "block_count", "num_hidden_layers", SIZE(n_layers) },
    { "context_length", "max_position_embeddings", SIZE(context) },
    { "embedding_length", "hidden_size", SIZE(d_model) },
    { "attention.head_count", "num_attention_heads", SIZE(n_heads) },
    { "attention.layer_norm_rms_epsilon", "rms_norm_eps", VUG_GGUF_CONFIG_FLOAT, true,
      offsetof(vug_config, norm_eps) },
    { "expert_count", "num_experts", COUNT(n_experts) },
    { "expert_feed_forward_length", "moe_intermediate_size", COUNT(d_expert) },
    { "expert_used_count", "num_experts_per_tok", COUNT(n_experts_per_token) },
    { "expert_used_count", "top_k_experts", SPECIAL },
    { "expert_weights_norm", "norm_topk_prob", SPECIAL },
    { "feed_forward_length", "intermediate_size", SPECIAL },
    { "attention.head_count_kv", "num_key_value_heads", SPECIAL },
    { "attention.key_length", "head_dim", SPECIAL },
    { "attention.key_length", "global_head_dim", SPECIAL },
    { "attention.shared_kv_layers", "num_kv_shared_layers", SPECIAL },
    { "attention.sliding_window", "sliding_window", SPECIAL },
    { "attention.sliding_window_pattern", "layer_types", SPECIAL },
    { "embedding_length_per_layer_input", "hidden_size_per_layer_input", SPECIAL },
    { "attn_logit_softcapping", "attn_logit_softcapping", SPECIAL },
    { "final_logit_softcapping", "final_logit_softcapping", SPECIAL },
    { "rope.freq_base", "rope_theta", SPECIAL },
    { "rope.scaling.factor", "factor", SPECIAL },
};

size_t vug_gguf_config_row_count(void)
{
    return sizeof(rows) / sizeof(rows[0]);
}

const vug_gguf_config_row *vug_gguf_config_row_at(size_t i)
{
    return &rows[i];
}

const char *vug_gguf_eos_key(int i)
{
    static const char *const keys[VUG_N_GGUF_EOS_KEYS] = { "tokenizer.ggml.eos_token_id",
                                                           "tokenizer.ggml.eot_token_id",
                                                           "tokenizer.ggml.eom_token_id" };
    return keys[i];
}

int64_t vug_gguf_implied_attn_scalar(const vug_gguf_arch *gguf, const vug_config *c)
{
    return gguf->model_scale_layers == c->n_layers ? c->d_model / c->n_heads : c->d_head;
}
