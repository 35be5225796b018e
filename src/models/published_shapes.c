/*
 * The config.json of each published model size, reduced to the keys that vug reads. Source:
 * the config.json of the checkpoints.
 */
#include "models/models.h"

/* Hidden, feed-forward, layers, query and key/value heads, width of a head, vocabulary,
 * context. */
#define SIZES(D, F, L, H, K, E, V, C)                                                 \
    "\"hidden_size\":" #D ",\"intermediate_size\":" #F ",\"num_hidden_layers\":" #L   \
    ",\"num_attention_heads\":" #H ",\"num_key_value_heads\":" #K ",\"head_dim\":" #E \
    ",\"vocab_size\":" #V ",\"max_position_embeddings\":" #C
#define FLAT(arch, type, sizes, more) \
    "{\"architectures\":[\"" arch "ForCausalLM\"],\"model_type\":\"" type "\"," sizes more "}"
#define NESTED(arch, type, sizes, more)                                                \
    "{\"architectures\":[\"" arch "ForConditionalGeneration\"],\"model_type\":\"" type \
    "\",\"text_config\":{\"model_type\":\"" type "_text\"," sizes more                 \
    "},\"eos_token_id\":[1,106]}"

#define GEMMA(D, F, L, H, K) FLAT("Gemma", "gemma", SIZES(D, F, L, H, K, 256, 256000, 8192), "")
#define GEMMA2(D, F, L, H, K, E, scale)                                   \
    FLAT("Gemma2", "gemma2", SIZES(D, F, L, H, K, E, 256000, 8192),       \
         ",\"query_pre_attn_scalar\":" #scale ",\"sliding_window\":4096," \
         "\"attn_logit_softcapping\":50.0,\"final_logit_softcapping\":30.0")
#define GEMMA3_TEXT(D, F, L)                                                \
    FLAT("Gemma3", "gemma3_text", SIZES(D, F, L, 4, 1, 256, 262144, 32768), \
         ",\"sliding_window\":512,\"eos_token_id\":[1,106]")
#define GEMMA3(D, F, L, H, K, E, scale)                                 \
    NESTED("Gemma3", "gemma3", SIZES(D, F, L, H, K, E, 262208, 131072), \
           ",\"sliding_window\":1024,\"query_pre_attn_scalar\":" #scale \
           ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8.0}")
/* The type of every layer, since Gemma 4 has no default: FIVE_ONE is five sliding layers,
 * then a full one. */
#define SLIDING    "\"sliding_attention\","
#define FULL       "\"full_attention\""
#define FOUR_ONE   SLIDING SLIDING SLIDING SLIDING FULL
#define FIVE_ONE   SLIDING FOUR_ONE
#define TIMES_5(x) x "," x "," x "," x "," x
#define TIMES_7(x) TIMES_5(x) "," x "," x
#define GEMMA4(type, kinds, sizes, more)                                                        \
    NESTED("Gemma4", type, sizes,                                                               \
           ",\"global_head_dim\":512,\"final_logit_softcapping\":30.0,\"rope_parameters\":{"    \
           "\"sliding_attention\":{\"rope_type\":\"default\",\"rope_theta\":10000.0},"          \
           "\"full_attention\":{\"rope_type\":\"proportional\",\"partial_rotary_factor\":0.25," \
           "\"rope_theta\":1000000.0}},\"layer_types\":[" kinds "]" more)
#define GEMMA4_E(D, F, L, K, kinds, shared, wide)                         \
    GEMMA4("gemma4", kinds, SIZES(D, F, L, 8, K, 256, 262144, 131072),    \
           ",\"sliding_window\":512,\"hidden_size_per_layer_input\":256," \
           "\"num_kv_shared_layers\":" #shared ",\"use_double_wide_mlp\":" #wide)
#define GEMMA4_BIG(type, D, F, L, H, K, kinds, global, more)             \
    GEMMA4(type, kinds, SIZES(D, F, L, H, K, 256, 262144, 262144),       \
           ",\"sliding_window\":1024,\"hidden_size_per_layer_input\":0," \
           "\"num_kv_shared_layers\":0,\"attention_k_eq_v\":true,"       \
           "\"num_global_key_value_heads\":" #global more)
#define QWEN2(D, F, L, H, K, E, V, more) \
    FLAT("Qwen2", "qwen2", SIZES(D, F, L, H, K, E, V, 32768), ",\"rope_theta\":1000000.0" more)
#define QWEN3(D, F, L, H, tied)                                      \
    FLAT("Qwen3", "qwen3", SIZES(D, F, L, H, 8, 128, 151936, 40960), \
         ",\"rope_theta\":1000000.0,\"tie_word_embeddings\":" #tied)
#define TIED ",\"tie_word_embeddings\":true"
#define EPS5 ",\"rms_norm_eps\":1e-05"
#define QWEN3_MOE(D, F, L, H, K, N, X, C, theta)                                           \
    FLAT("Qwen3Moe", "qwen3_moe", SIZES(D, F, L, H, K, 128, 151936, C),                    \
         ",\"num_experts\":" #N ",\"num_experts_per_tok\":8,\"moe_intermediate_size\":" #X \
         ",\"norm_topk_prob\":true,\"rope_theta\":" #theta)
#define LLAMA3(D, F, L, H, E, factor, tied)                                         \
    FLAT("Llama", "llama", SIZES(D, F, L, H, 8, E, 128256, 131072),                 \
         ",\"rms_norm_eps\":1e-05,\"rope_theta\":500000.0,\"rope_scaling\":{"       \
         "\"rope_type\":\"llama3\",\"factor\":" #factor ",\"low_freq_factor\":1.0," \
         "\"high_freq_factor\":4.0,\"original_max_position_embeddings\":8192},"     \
         "\"eos_token_id\":[128001,128008,128009],\"tie_word_embeddings\":" #tied)

static const vug_model_shape shapes[] = {
    { "gemma-2b", GEMMA(2048, 16384, 18, 8, 1) },
    { "gemma-7b", GEMMA(3072, 24576, 28, 16, 16) },
    { "gemma-2-2b", GEMMA2(2304, 9216, 26, 8, 4, 256, 256) },
    { "gemma-2-9b", GEMMA2(3584, 14336, 42, 16, 8, 256, 256) },
    { "gemma-2-27b", GEMMA2(4608, 36864, 46, 32, 16, 128, 144) },
    { "gemma-3-270m", GEMMA3_TEXT(640, 2048, 18) },
    { "gemma-3-1b", GEMMA3_TEXT(1152, 6912, 26) },
    { "gemma-3-4b", GEMMA3(2560, 10240, 34, 8, 4, 256, 256) },
    { "gemma-3-12b", GEMMA3(3840, 15360, 48, 16, 8, 256, 256) },
    { "gemma-3-27b", GEMMA3(5376, 21504, 62, 32, 16, 128, 168) },
    { "gemma-4-e2b", GEMMA4_E(1536, 6144, 35, 1, TIMES_7(FOUR_ONE), 20, true) },
    { "gemma-4-e4b", GEMMA4_E(2560, 10240, 42, 2, TIMES_7(FIVE_ONE), 18, false) },
    { "gemma-4-12b",
      GEMMA4_BIG("gemma4_unified", 3840, 15360, 48, 16, 8, TIMES_7(FIVE_ONE) "," FIVE_ONE, 1, "") },
    { "gemma-4-26b-a4b",
      GEMMA4_BIG("gemma4", 2816, 2112, 30, 16, 8, TIMES_5(FIVE_ONE), 2,
                 ",\"enable_moe_block\":true,\"num_experts\":128,\"top_k_experts\":8,"
                 "\"moe_intermediate_size\":704") },
    { "gemma-4-31b", GEMMA4_BIG("gemma4", 5376, 21504, 60, 32, 16,
                                TIMES_5(FIVE_ONE) "," TIMES_5(FIVE_ONE), 4, "") },
    { "qwen2.5-0.5b", QWEN2(896, 4864, 24, 14, 2, 64, 151936, TIED) },
    { "qwen2.5-1.5b", QWEN2(1536, 8960, 28, 12, 2, 128, 151936, TIED) },
    { "qwen2.5-3b", QWEN2(2048, 11008, 36, 16, 2, 128, 151936, TIED) },
    { "qwen2.5-7b", QWEN2(3584, 18944, 28, 28, 4, 128, 152064, "") },
    { "qwen2.5-14b", QWEN2(5120, 13824, 48, 40, 8, 128, 152064, EPS5) },
    { "qwen2.5-32b", QWEN2(5120, 27648, 64, 40, 8, 128, 152064, EPS5) },
    { "qwen2.5-72b", QWEN2(8192, 29568, 80, 64, 8, 128, 152064, "") },
    { "qwen3-0.6b", QWEN3(1024, 3072, 28, 16, true) },
    { "qwen3-1.7b", QWEN3(2048, 6144, 28, 16, true) },
    { "qwen3-4b", QWEN3(2560, 9728, 36, 32, true) },
    { "qwen3-8b", QWEN3(4096, 12288, 36, 32, false) },
    { "qwen3-14b", QWEN3(5120, 17408, 40, 40, false) },
    { "qwen3-32b", QWEN3(5120, 25600, 64, 64, false) },
    { "qwen3-30b-a3b", QWEN3_MOE(2048, 6144, 48, 32, 4, 128, 768, 40960, 1000000.0) },
    { "qwen3-235b-a22b", QWEN3_MOE(4096, 12288, 94, 64, 4, 128, 1536, 40960, 1000000.0) },
    { "qwen3-coder-480b-a35b", QWEN3_MOE(6144, 8192, 62, 96, 8, 160, 2560, 262144, 10000000.0) },
    { "llama-3.2-1b", LLAMA3(2048, 8192, 16, 32, 64, 32.0, true) },
    { "llama-3.2-3b", LLAMA3(3072, 8192, 28, 24, 128, 32.0, true) },
    { "llama-3.1-8b", LLAMA3(4096, 14336, 32, 32, 128, 8.0, false) },
    { "llama-3.1-70b", LLAMA3(8192, 28672, 80, 64, 128, 8.0, false) },
};

size_t vug_model_shape_count(void)
{
    return sizeof(shapes) / sizeof(shapes[0]);
}

const vug_model_shape *vug_model_shape_at(size_t i)
{
    return &shapes[i];
}
