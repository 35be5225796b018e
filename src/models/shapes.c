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

static const vug_shape_row shapes[] = {
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
};

size_t vug_shape_rows(void)
{
    return sizeof(shapes) / sizeof(shapes[0]);
}

const vug_shape_row *vug_shape_row_at(size_t i)
{
    return &shapes[i];
}
