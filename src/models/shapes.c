/*
 * The published shapes, as the config.json that their checkpoints carry, reduced
 * to what vug reads. Sizes: the checkpoints' own config.json on the model hub.
 */
#include "models/models.h"

#define GEMMA3_TEXT(sizes) \
    "{\"architectures\":[\"Gemma3ForCausalLM\"],\"model_type\":\"gemma3_text\"," sizes "}"
#define GEMMA3_NESTED(sizes)                                                     \
    "{\"architectures\":[\"Gemma3ForConditionalGeneration\"],"                   \
    "\"model_type\":\"gemma3\",\"text_config\":{\"model_type\":\"gemma3_text\"," \
    "\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8.0}," sizes "}}"

/* A flat config: hidden, feed-forward, layers, query and key/value heads, width of a
 * head, vocabulary, context. */
#define FLAT(arch, type, D, F, L, H, K, E, V, C, more)                                   \
    "{\"architectures\":[\"" arch "ForCausalLM\"],\"model_type\":\"" type "\","          \
    "\"hidden_size\":" #D ",\"intermediate_size\":" #F ",\"num_hidden_layers\":" #L ","  \
    "\"num_attention_heads\":" #H ",\"num_key_value_heads\":" #K ",\"head_dim\":" #E "," \
    "\"vocab_size\":" #V ",\"max_position_embeddings\":" #C more "}"
#define GEMMA(D, F, L, H, K) FLAT("Gemma", "gemma", D, F, L, H, K, 256, 256000, 8192, "")
#define GEMMA2(D, F, L, H, K, E, scale)                                   \
    FLAT("Gemma2", "gemma2", D, F, L, H, K, E, 256000, 8192,              \
         ",\"query_pre_attn_scalar\":" #scale ",\"sliding_window\":4096," \
         "\"attn_logit_softcapping\":50.0,\"final_logit_softcapping\":30.0")
#define LLAMA3(D, F, L, H, E, factor, tied)                                         \
    FLAT("Llama", "llama", D, F, L, H, 8, E, 128256, 131072,                        \
         ",\"rms_norm_eps\":1e-05,\"rope_theta\":500000.0,\"rope_scaling\":{"       \
         "\"rope_type\":\"llama3\",\"factor\":" #factor ",\"low_freq_factor\":1.0," \
         "\"high_freq_factor\":4.0,\"original_max_position_embeddings\":8192},"     \
         "\"eos_token_id\":[128001,128008,128009],\"tie_word_embeddings\":" #tied)
#define QWEN2(D, F, L, H, K, E, V, more) \
    FLAT("Qwen2", "qwen2", D, F, L, H, K, E, V, 32768, ",\"rope_theta\":1000000.0" more)
#define QWEN3(D, F, L, H, tied)                               \
    FLAT("Qwen3", "qwen3", D, F, L, H, 8, 128, 151936, 40960, \
         ",\"rope_theta\":1000000.0,\"tie_word_embeddings\":" #tied)
#define TIED ",\"tie_word_embeddings\":true"
#define EPS5 ",\"rms_norm_eps\":1e-05"
/* Every layer's kind, since Gemma 4 has no default: so many sliding ones, then a full
 * one. */
#define SLIDING    "\"sliding_attention\","
#define FULL       "\"full_attention\""
#define FOUR_ONE   SLIDING SLIDING SLIDING SLIDING FULL
#define FIVE_ONE   SLIDING FOUR_ONE
#define TIMES_5(x) x "," x "," x "," x "," x
#define TIMES_7(x) TIMES_5(x) "," x "," x
#define GEMMA4(type, kinds, sizes)                                                                 \
    "{\"architectures\":[\"Gemma4ForConditionalGeneration\"],\"model_type\":\"" type               \
    "\",\"text_config\":{\"model_type\":\"" type "_text\",\"head_dim\":256,"                       \
    "\"global_head_dim\":512,\"vocab_size\":262144,\"final_logit_softcapping\":30.0,"              \
    "\"rope_parameters\":{\"sliding_attention\":{\"rope_type\":\"default\","                       \
    "\"rope_theta\":10000.0},\"full_attention\":{\"rope_type\":\"proportional\","                  \
    "\"partial_rotary_factor\":0.25,\"rope_theta\":1000000.0}},\"layer_types\":[" kinds "]," sizes \
    "},\"eos_token_id\":[1,106]}"
#define GEMMA4_E                                                      \
    "\"attention_k_eq_v\":false,\"hidden_size_per_layer_input\":256," \
    "\"vocab_size_per_layer_input\":262144,\"sliding_window\":512,"   \
    "\"max_position_embeddings\":131072,"
#define GEMMA4_DENSE                                                                    \
    "\"attention_k_eq_v\":true,\"hidden_size_per_layer_input\":0,"                      \
    "\"num_kv_shared_layers\":0,\"use_double_wide_mlp\":false,\"sliding_window\":1024," \
    "\"max_position_embeddings\":262144,"

#define QWEN3_MOE(sizes)                                                              \
    "{\"architectures\":[\"Qwen3MoeForCausalLM\"],\"model_type\":\"qwen3_moe\","      \
    "\"num_key_value_heads\":4,\"head_dim\":128,\"vocab_size\":151936,"               \
    "\"max_position_embeddings\":40960,\"rope_theta\":1000000.0,\"num_experts\":128," \
    "\"num_experts_per_tok\":8,\"norm_topk_prob\":true,\"decoder_sparse_step\":1,"    \
    "\"mlp_only_layers\":[],\"tie_word_embeddings\":false,"                           \
    "\"eos_token_id\":[151645,151643]," sizes "}"

static const vug_shape_row shapes[] = {
    { "gemma-2b", GEMMA(2048, 16384, 18, 8, 1) },
    { "gemma-7b", GEMMA(3072, 24576, 28, 16, 16) },
    { "gemma-2-2b", GEMMA2(2304, 9216, 26, 8, 4, 256, 256) },
    { "gemma-2-9b", GEMMA2(3584, 14336, 42, 16, 8, 256, 256) },
    { "gemma-2-27b", GEMMA2(4608, 36864, 46, 32, 16, 128, 144) },
    { "gemma-3-270m",
      GEMMA3_TEXT("\"hidden_size\":640,\"intermediate_size\":2048,\"num_hidden_layers\":18,"
                  "\"num_attention_heads\":4,\"num_key_value_heads\":1,\"head_dim\":256,"
                  "\"vocab_size\":262144,\"sliding_window\":512,"
                  "\"max_position_embeddings\":32768,\"eos_token_id\":[1,106]") },
    { "gemma-3-1b",
      GEMMA3_TEXT("\"hidden_size\":1152,\"intermediate_size\":6912,\"num_hidden_layers\":26,"
                  "\"num_attention_heads\":4,\"num_key_value_heads\":1,\"head_dim\":256,"
                  "\"vocab_size\":262144,\"sliding_window\":512,"
                  "\"max_position_embeddings\":32768,\"eos_token_id\":[1,106]") },
    { "gemma-3-4b",
      GEMMA3_NESTED("\"hidden_size\":2560,\"intermediate_size\":10240,\"num_hidden_layers\":34,"
                    "\"num_attention_heads\":8,\"num_key_value_heads\":4,\"head_dim\":256,"
                    "\"vocab_size\":262208,\"sliding_window\":1024,"
                    "\"max_position_embeddings\":131072,\"eos_token_id\":[1,106]") },
    { "gemma-3-12b",
      GEMMA3_NESTED("\"hidden_size\":3840,\"intermediate_size\":15360,\"num_hidden_layers\":48,"
                    "\"num_attention_heads\":16,\"num_key_value_heads\":8,\"head_dim\":256,"
                    "\"vocab_size\":262208,\"sliding_window\":1024,"
                    "\"max_position_embeddings\":131072,\"eos_token_id\":[1,106]") },
    { "gemma-3-27b",
      GEMMA3_NESTED("\"hidden_size\":5376,\"intermediate_size\":21504,\"num_hidden_layers\":62,"
                    "\"num_attention_heads\":32,\"num_key_value_heads\":16,\"head_dim\":128,"
                    "\"vocab_size\":262208,\"sliding_window\":1024,"
                    "\"query_pre_attn_scalar\":168,"
                    "\"max_position_embeddings\":131072,\"eos_token_id\":[1,106]") },
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
    { "llama-3.2-1b", LLAMA3(2048, 8192, 16, 32, 64, 32.0, true) },
    { "llama-3.2-3b", LLAMA3(3072, 8192, 28, 24, 128, 32.0, true) },
    { "llama-3.1-8b", LLAMA3(4096, 14336, 32, 32, 128, 8.0, false) },
    { "llama-3.1-70b", LLAMA3(8192, 28672, 80, 64, 128, 8.0, false) },
    { "gemma-4-e2b", GEMMA4("gemma4", TIMES_7(FOUR_ONE),
                            GEMMA4_E "\"hidden_size\":1536,\"intermediate_size\":6144,"
                                     "\"num_hidden_layers\":35,\"num_attention_heads\":8,"
                                     "\"num_key_value_heads\":1,\"num_kv_shared_layers\":20,"
                                     "\"use_double_wide_mlp\":true") },
    { "gemma-4-e4b", GEMMA4("gemma4", TIMES_7(FIVE_ONE),
                            GEMMA4_E "\"hidden_size\":2560,\"intermediate_size\":10240,"
                                     "\"num_hidden_layers\":42,\"num_attention_heads\":8,"
                                     "\"num_key_value_heads\":2,\"num_kv_shared_layers\":18,"
                                     "\"use_double_wide_mlp\":false") },
    { "gemma-4-12b",
      GEMMA4("gemma4_unified", TIMES_7(FIVE_ONE) "," FIVE_ONE,
             GEMMA4_DENSE "\"hidden_size\":3840,\"intermediate_size\":15360,"
                          "\"num_hidden_layers\":48,\"num_attention_heads\":16,"
                          "\"num_key_value_heads\":8,\"num_global_key_value_heads\":1") },
    { "gemma-4-31b",
      GEMMA4("gemma4", TIMES_5(FIVE_ONE) "," TIMES_5(FIVE_ONE),
             GEMMA4_DENSE "\"hidden_size\":5376,\"intermediate_size\":21504,"
                          "\"num_hidden_layers\":60,\"num_attention_heads\":32,"
                          "\"num_key_value_heads\":16,\"num_global_key_value_heads\":4") },
    { "gemma-4-26b-a4b",
      GEMMA4("gemma4", TIMES_5(FIVE_ONE),
             GEMMA4_DENSE "\"hidden_size\":2816,\"intermediate_size\":2112,"
                          "\"num_hidden_layers\":30,\"num_attention_heads\":16,"
                          "\"num_key_value_heads\":8,\"num_global_key_value_heads\":2,"
                          "\"enable_moe_block\":true,\"num_experts\":128,"
                          "\"top_k_experts\":8,\"moe_intermediate_size\":704") },
    { "qwen3-30b-a3b",
      QWEN3_MOE("\"hidden_size\":2048,\"intermediate_size\":6144,\"num_hidden_layers\":48,"
                "\"num_attention_heads\":32,\"moe_intermediate_size\":768") },
    { "qwen3-235b-a22b",
      QWEN3_MOE("\"hidden_size\":4096,\"intermediate_size\":12288,\"num_hidden_layers\":94,"
                "\"num_attention_heads\":64,\"moe_intermediate_size\":1536") },
};

size_t vug_shape_rows(void)
{
    return sizeof(shapes) / sizeof(shapes[0]);
}

const vug_shape_row *vug_shape_row_at(size_t i)
{
    return &shapes[i];
}
