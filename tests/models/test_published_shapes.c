/*
 * The config.json of every published size, with all its keys and as it was published: each
 * loads, equals the built-in shape of that name, and has the published number of parameters.
 * So does the config that newer versions of transformers write. Written with ' for ".
 */
#include "test.h"

#include "core/mem.h"
#include "models/models.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the files ------------------------------------------------------------------------ */

/* Keys of all configs that do not affect inference. */
#define TRAINED "'attention_dropout':0.0,'initializer_range':0.02,'use_cache':true"

/* Gemma 1: "gelu" means the tanh form. */
#define GEMMA(D, F, L, H, K)                                                                    \
    "{'architectures':['GemmaForCausalLM'],'attention_bias':false," TRAINED                     \
    ",'bos_token_id':2,'eos_token_id':1,'pad_token_id':0,'head_dim':256,"                       \
    "'hidden_act':'gelu','hidden_activation':null,'hidden_size':" #D ",'intermediate_size':" #F \
    ",'max_position_embeddings':8192,'model_type':'gemma',"                                     \
    "'num_attention_heads':" #H ",'num_hidden_layers':" #L ",'num_key_value_heads':" #K         \
    ",'rms_norm_eps':1e-06,'rope_scaling':null,'rope_theta':10000.0,"                           \
    "'torch_dtype':'bfloat16','transformers_version':'4.38.0.dev0','vocab_size':256000}"

#define GEMMA2(D, F, L, H, K, E, scale)                                                \
    "{'architectures':['Gemma2ForCausalLM'],'attention_bias':false," TRAINED           \
    ",'attn_logit_softcapping':50.0,'bos_token_id':2,'cache_implementation':'hybrid'," \
    "'eos_token_id':1,'final_logit_softcapping':30.0,'head_dim':" #E                   \
    ",'hidden_act':'gelu_pytorch_tanh','hidden_activation':'gelu_pytorch_tanh',"       \
    "'hidden_size':" #D ",'intermediate_size':" #F ",'max_position_embeddings':8192,"  \
    "'model_type':'gemma2','num_attention_heads':" #H ",'num_hidden_layers':" #L       \
    ",'num_key_value_heads':" #K ",'pad_token_id':0,'query_pre_attn_scalar':" #scale   \
    ",'rms_norm_eps':1e-06,'rope_theta':10000.0,'sliding_window':4096,"                \
    "'torch_dtype':'float32','transformers_version':'4.42.0.dev0','vocab_size':256000}"

/* Gemma 3: a pattern says which layers are full; multimodal configs leave most keys out. */
#define GEMMA3_TEXT(D, F, L, pattern)                                                      \
    "{'architectures':['Gemma3ForCausalLM'],'attention_bias':false," TRAINED               \
    ",'attn_logit_softcapping':null,'bos_token_id':2,'cache_implementation':'hybrid',"     \
    "'eos_token_id':[1,106],'final_logit_softcapping':null,'head_dim':256,"                \
    "'hidden_activation':'gelu_pytorch_tanh','hidden_size':" #D ",'intermediate_size':" #F \
    ",'max_position_embeddings':32768,'model_type':'gemma3_text','num_attention_heads':4," \
    "'num_hidden_layers':" #L ",'num_key_value_heads':1,'pad_token_id':0,"                 \
    "'query_pre_attn_scalar':256,'rms_norm_eps':1e-06,'rope_local_base_freq':10000,"       \
    "'rope_scaling':null,'rope_theta':1000000,'sliding_window':512," pattern               \
    ",'torch_dtype':'bfloat16','transformers_version':'4.50.0.dev0','vocab_size':262144}"
#define GEMMA3(D, F, L, more)                                                         \
    "{'architectures':['Gemma3ForConditionalGeneration'],'boi_token_index':255999,"   \
    "'eoi_token_index':256000,'eos_token_id':[1,106],'image_token_index':262144,"     \
    "'initializer_range':0.02,'mm_tokens_per_image':256,'model_type':'gemma3',"       \
    "'text_config':{'hidden_size':" #D ",'intermediate_size':" #F                     \
    ",'model_type':'gemma3_text','num_hidden_layers':" #L more                        \
    ",'rope_scaling':{'factor':8.0,'rope_type':'linear'},'sliding_window':1024},"     \
    "'torch_dtype':'bfloat16','transformers_version':'4.50.0.dev0','vision_config':{" \
    "'hidden_size':1152,'image_size':896,'intermediate_size':4304,'model_type':"      \
    "'siglip_vision_model','num_attention_heads':16,'num_hidden_layers':27,"          \
    "'patch_size':14,'vision_use_head':false}}"

#define SLIDING    "'sliding_attention',"
#define FOUR_ONE   SLIDING SLIDING SLIDING SLIDING "'full_attention'"
#define FIVE_ONE   SLIDING FOUR_ONE
#define TIMES_5(x) x "," x "," x "," x "," x
#define TIMES_7(x) TIMES_5(x) "," x "," x

/* Gemma 4: written by transformers 5; `heads` are the keys for full layers. */
#define GEMMA4(type, D, F, L, H, K, W, C, kinds, heads, more)                                \
    "{'architectures':['Gemma4ForConditionalGeneration'],'audio_token_id':258881,"           \
    "'boi_token_id':255999,'dtype':'bfloat16','eos_token_id':[1,106],"                       \
    "'image_token_id':258880,'initializer_range':0.02,'model_type':'" type "',"              \
    "'text_config':{'attention_bias':false,'attention_dropout':0.0,'bos_token_id':2,"        \
    "'dtype':'bfloat16','eos_token_id':1,'final_logit_softcapping':30.0,"                    \
    "'head_dim':256,'hidden_activation':'gelu_pytorch_tanh','hidden_size':" #D               \
    ",'initializer_range':0.02,'intermediate_size':" #F ",'layer_types':[" kinds             \
    "],'max_position_embeddings':" #C ",'model_type':'" type "_text',"                       \
    "'num_attention_heads':" #H ",'num_hidden_layers':" #L ",'num_key_value_heads':" #K      \
    ",'pad_token_id':0,'rms_norm_eps':1e-06,'rope_parameters':{'full_attention':{"           \
    "'partial_rotary_factor':0.25,'rope_theta':1000000.0,'rope_type':'proportional'},"       \
    "'sliding_attention':{'rope_theta':10000.0,'rope_type':'default'}},'sliding_window':" #W \
    ",'tie_word_embeddings':true,'use_cache':true,'vocab_size':262144,"                      \
    "'vocab_size_per_layer_input':262144" heads more                                         \
    "},'tie_word_embeddings':true,'transformers_version':'5.5.0.dev0','vision_config':{"     \
    "'hidden_size':768,'model_type':'gemma4_vision','num_hidden_layers':16}}"
#define NO_EXPERTS                                                               \
    ",'enable_moe_block':false,'moe_intermediate_size':null,'num_experts':null," \
    "'top_k_experts':null"
#define GEMMA4_E(D, F, L, K, kinds, heads, shared, wide)                            \
    GEMMA4("gemma4", D, F, L, 8, K, 512, 131072, kinds, heads,                      \
           ",'attention_k_eq_v':false,'hidden_size_per_layer_input':256,"           \
           "'num_kv_shared_layers':" #shared ",'use_bidirectional_attention':null," \
           "'use_double_wide_mlp':" #wide NO_EXPERTS)
#define GEMMA4_BIG(type, D, F, L, H, K, kinds, heads, experts)                \
    GEMMA4(type, D, F, L, H, K, 1024, 262144, kinds, heads,                   \
           ",'attention_k_eq_v':true,'hidden_size_per_layer_input':0,"        \
           "'num_kv_shared_layers':0,'use_bidirectional_attention':'vision'," \
           "'use_double_wide_mlp':false" experts)
#define WIDE(kv) ",'global_head_dim':512,'num_global_key_value_heads':" #kv
#define EXPERTS                                                               \
    ",'enable_moe_block':true,'moe_intermediate_size':704,'num_experts':128," \
    "'top_k_experts':8"

/* Qwen 2.5: windows are present but disabled. */
#define QWEN2(D, F, L, H, K, V, eps, tied, window)                                           \
    "{'architectures':['Qwen2ForCausalLM']," TRAINED ",'bos_token_id':151643,"               \
    "'eos_token_id':151645,'hidden_act':'silu','hidden_size':" #D ",'intermediate_size':" #F \
    ",'max_position_embeddings':32768,'max_window_layers':" #L ",'model_type':'qwen2',"      \
    "'num_attention_heads':" #H ",'num_hidden_layers':" #L ",'num_key_value_heads':" #K      \
    ",'rms_norm_eps':" #eps ",'rope_theta':1000000.0,'sliding_window':" #window              \
    ",'tie_word_embeddings':" #tied ",'torch_dtype':'bfloat16',"                             \
    "'transformers_version':'4.43.1','use_sliding_window':false,'vocab_size':" #V "}"

#define QWEN3_KEYS(D, F, L, H, K, C, theta, tied)                                            \
    "'attention_bias':false," TRAINED ",'bos_token_id':151643,'eos_token_id':151645,"        \
    "'head_dim':128,'hidden_act':'silu','hidden_size':" #D ",'intermediate_size':" #F        \
    ",'max_position_embeddings':" #C ",'max_window_layers':" #L ",'num_attention_heads':" #H \
    ",'num_hidden_layers':" #L ",'num_key_value_heads':" #K                                  \
    ",'rms_norm_eps':1e-06,'rope_scaling':null,'rope_theta':" #theta                         \
    ",'sliding_window':null,'tie_word_embeddings':" tied ",'torch_dtype':'bfloat16',"        \
    "'transformers_version':'4.51.0','use_sliding_window':false,'vocab_size':151936"
#define QWEN3(D, F, L, H, tied)                                                                    \
    "{'architectures':['Qwen3ForCausalLM'],'model_type':'qwen3'," QWEN3_KEYS(D, F, L, H, 8, 40960, \
                                                                             1000000, #tied) "}"
#define QWEN3_MOE(D, F, L, H, K, N, X, C, theta)                                              \
    "{'architectures':['Qwen3MoeForCausalLM'],'model_type':'qwen3_moe',"                      \
    "'decoder_sparse_step':1,'mlp_only_layers':[],'moe_intermediate_size':" #X                \
    ",'norm_topk_prob':true,'num_experts':" #N ",'num_experts_per_tok':8,"                    \
    "'output_router_logits':false,'router_aux_loss_coef':0.001," QWEN3_KEYS(D, F, L, H, K, C, \
                                                                            theta, "false") "}"

#define LLAMA(D, F, L, H, E, C, scaling, more)                                             \
    "{'architectures':['LlamaForCausalLM'],'attention_bias':false," TRAINED                \
    ",'bos_token_id':128000,'eos_token_id':[128001,128008,128009]" E                       \
    ",'hidden_act':'silu','hidden_size':" #D ",'intermediate_size':" #F                    \
    ",'max_position_embeddings':" #C ",'mlp_bias':false,'model_type':'llama',"             \
    "'num_attention_heads':" #H ",'num_hidden_layers':" #L ",'num_key_value_heads':8,"     \
    "'pretraining_tp':1,'rms_norm_eps':1e-05,'rope_scaling':" scaling                      \
    ",'rope_theta':500000.0,'torch_dtype':'bfloat16','transformers_version':'4.43.0'" more \
    ",'vocab_size':128256}"
#define LLAMA3(factor)                                                    \
    "{'factor':" #factor ",'high_freq_factor':4.0,'low_freq_factor':1.0," \
    "'original_max_position_embeddings':8192,'rope_type':'llama3'}"
#define LLAMA32(D, F, L, H, E) \
    LLAMA(D, F, L, H, ",'head_dim':" #E, 131072, LLAMA3(32.0), ",'tie_word_embeddings':true")
#define LLAMA31(D, F, L, H) \
    LLAMA(D, F, L, H, "", 131072, LLAMA3(8.0), ",'tie_word_embeddings':false")

typedef struct {
    const char *name;   /* of the built-in shape */
    int64_t parameters; /* a tied table counted once; with what the files hold unread */
    const char *config;
} published_file;

static const published_file files[] = {
    { "gemma-2b", 2506172416, GEMMA(2048, 16384, 18, 8, 1) },
    { "gemma-7b", 8537680896, GEMMA(3072, 24576, 28, 16, 16) },
    { "gemma-2-2b", 2614341888, GEMMA2(2304, 9216, 26, 8, 4, 256, 256) },
    { "gemma-2-9b", 9241705984, GEMMA2(3584, 14336, 42, 16, 8, 256, 256) },
    { "gemma-2-27b", 27227128320, GEMMA2(4608, 36864, 46, 32, 16, 128, 144) },
    { "gemma-3-270m", 268098176, GEMMA3_TEXT(640, 2048, 18, "'_sliding_window_pattern':6") },
    { "gemma-3-1b", 999885952, GEMMA3_TEXT(1152, 6912, 26, "'sliding_window_pattern':6") },
    { "gemma-3-4b", 3880263168, GEMMA3(2560, 10240, 34, "") },
    { "gemma-3-12b", 11766034176,
      GEMMA3(3840, 15360, 48, ",'num_attention_heads':16,'num_key_value_heads':8") },
    { "gemma-3-27b", 27009346304,
      GEMMA3(5376, 21504, 62,
             ",'head_dim':128,'num_attention_heads':32,'num_key_value_heads':16,"
             "'query_pre_attn_scalar':168") },
    { "gemma-4-e2b", 2298639651 + 2348810240,
      GEMMA4_E(1536, 6144, 35, 1, TIMES_7(FOUR_ONE), WIDE(null), 20, true) },
    { "gemma-4-e4b", 4699496746 + 2818572288,
      GEMMA4_E(2560, 10240, 42, 2, TIMES_7(FIVE_ONE), WIDE(null), 18, false) },
    { "gemma-4-12b", 11907350320,
      GEMMA4_BIG("gemma4_unified", 3840, 15360, 48, 16, 8, TIMES_7(FIVE_ONE) "," FIVE_ONE, WIDE(1),
                 NO_EXPERTS) },
    { "gemma-4-26b-a4b", 25233141790,
      GEMMA4_BIG("gemma4", 2816, 2112, 30, 16, 8, TIMES_5(FIVE_ONE), WIDE(2), EXPERTS) },
    { "gemma-4-31b", 30697345340,
      GEMMA4_BIG("gemma4", 5376, 21504, 60, 32, 16, TIMES_5(FIVE_ONE) "," TIMES_5(FIVE_ONE),
                 WIDE(4), NO_EXPERTS) },
    { "qwen2.5-0.5b", 494032768, QWEN2(896, 4864, 24, 14, 2, 151936, 1e-06, true, 32768) },
    { "qwen2.5-1.5b", 1543714304, QWEN2(1536, 8960, 28, 12, 2, 151936, 1e-06, true, 32768) },
    { "qwen2.5-3b", 3085938688, QWEN2(2048, 11008, 36, 16, 2, 151936, 1e-06, true, 32768) },
    { "qwen2.5-7b", 7615616512, QWEN2(3584, 18944, 28, 28, 4, 152064, 1e-06, false, 131072) },
    { "qwen2.5-14b", 14770033664, QWEN2(5120, 13824, 48, 40, 8, 152064, 1e-05, false, 131072) },
    { "qwen2.5-32b", 32763876352, QWEN2(5120, 27648, 64, 40, 8, 152064, 1e-05, false, 131072) },
    { "qwen2.5-72b", 72706203648, QWEN2(8192, 29568, 80, 64, 8, 152064, 1e-06, false, 131072) },
    { "qwen3-0.6b", 596049920, QWEN3(1024, 3072, 28, 16, true) },
    { "qwen3-1.7b", 1720574976, QWEN3(2048, 6144, 28, 16, true) },
    { "qwen3-4b", 4022468096, QWEN3(2560, 9728, 36, 32, true) },
    { "qwen3-8b", 8190735360, QWEN3(4096, 12288, 36, 32, false) },
    { "qwen3-14b", 14768307200, QWEN3(5120, 17408, 40, 40, false) },
    { "qwen3-32b", 32762123264, QWEN3(5120, 25600, 64, 64, false) },
    { "qwen3-30b-a3b", 30532122624, QWEN3_MOE(2048, 6144, 48, 32, 4, 128, 768, 40960, 1000000.0) },
    { "qwen3-235b-a22b", 235093634560,
      QWEN3_MOE(4096, 12288, 94, 64, 4, 128, 1536, 40960, 1000000.0) },
    { "qwen3-coder-480b-a35b", 480154875392,
      QWEN3_MOE(6144, 8192, 62, 96, 8, 160, 2560, 262144, 10000000) },
    { "llama-3.2-1b", 1235814400, LLAMA32(2048, 8192, 16, 32, 64) },
    { "llama-3.2-3b", 3212749824, LLAMA32(3072, 8192, 28, 24, 128) },
    { "llama-3.1-8b", 8030261248, LLAMA31(4096, 14336, 32, 32) },
    { "llama-3.1-70b", 70553706496, LLAMA31(8192, 28672, 80, 64) },
};

/* ---- reading them ------------------------------------------------------------------------ */

static vug_config *read_good(const char *name, const char *text)
{
    vug_config *c = vug_alloc(1, sizeof(*c));
    char *json = vug_strdup(text);
    vug_err err = { 0 };
    assert_true(c && json);
    for (char *p = json; *p; p++) {
        if (*p == '\'')
            *p = '"';
    }
    if (vug_config_read(vug_str_of(json), name, c, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    vug_free(json);
    return c;
}

static const char *built_in_config(const char *name)
{
    for (size_t i = 0; i < vug_model_shape_count(); i++) {
        if (strcmp(vug_model_shape_at(i)->name, name) == 0)
            return vug_model_shape_at(i)->config;
    }
    fail_msg("there is no shape %s", name);
    return NULL;
}

static void assert_same_rope(const vug_rope *a, const vug_rope *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(a->theta == b->theta && a->factor == b->factor);
    if (a->type == VUG_ROPE_LLAMA3)
        assert_true(a->original_context == b->original_context);
    assert_true(a->low == b->low && a->high == b->high &&
                a->attention_factor == b->attention_factor);
    assert_true(a->rotary_fraction == b->rotary_fraction && a->truncate == b->truncate);
}

/* Everything that affects inference. */
static void assert_same_config(const vug_config *a, const vug_config *b)
{
    assert_ptr_equal(a->arch, b->arch);
    const int64_t of_a[] = { a->n_layers, a->d_model,     a->n_heads,   a->n_kv_heads,
                             a->d_head,   a->d_ffn,       a->n_experts, a->n_experts_per_token,
                             a->d_expert, a->renormalise, a->n_vocab,   a->context,
                             a->tied,     a->attn_bias,   a->mlp_bias,  a->d_per_layer };
    const int64_t of_b[] = { b->n_layers, b->d_model,     b->n_heads,   b->n_kv_heads,
                             b->d_head,   b->d_ffn,       b->n_experts, b->n_experts_per_token,
                             b->d_expert, b->renormalise, b->n_vocab,   b->context,
                             b->tied,     b->attn_bias,   b->mlp_bias,  b->d_per_layer };
    for (size_t i = 0; i < COUNT(of_a); i++)
        assert_int_equal(of_a[i], of_b[i]);
    assert_true(a->norm_eps == b->norm_eps && a->attn_scale == b->attn_scale);
    assert_true(a->attn_softcap == b->attn_softcap && a->final_softcap == b->final_softcap);
    assert_int_equal(a->n_vocab_per_layer, b->n_vocab_per_layer);
    assert_same_rope(&a->rope_full, &b->rope_full);
    assert_same_rope(&a->rope_window, &b->rope_window);
    for (int64_t i = 0; i < a->n_layers; i++) {
        const vug_layer_config x = vug_config_layer(a, i), y = vug_config_layer(b, i);
        assert_int_equal(vug_config_window(a, i), vug_config_window(b, i));
        assert_int_equal(a->sparse[i], b->sparse[i]);
        assert_true(x.d_head == y.d_head && x.n_kv_heads == y.n_kv_heads && x.d_ffn == y.d_ffn &&
                    x.kv_layers_back == y.kv_layers_back && x.k_is_v == y.k_is_v);
    }
}

static int64_t count_parameters(const vug_config *c)
{
    int64_t n = 0;
    for (size_t i = 0; i < vug_weight_slot_count(c); i++) {
        const vug_weight_slot slot = vug_weight_slot_at(c, i);
        const bool head = strcmp(slot.row->name, "output") == 0;
        const bool there = head ? !c->tied : strcmp(slot.row->name, "rope_freqs") != 0;
        if (slot.presence != VUG_TENSOR_ABSENT && there)
            n += vug_shape_elements(&slot.shape, 0, 0);
    }
    return n;
}

static void test_published_configs(void **state)
{
    (void)state;
    assert_int_equal(COUNT(files), vug_model_shape_count());
    for (size_t i = 0; i < COUNT(files); i++) {
        vug_config *c = read_good(files[i].name, files[i].config);
        vug_config *shape = read_good(files[i].name, built_in_config(files[i].name));
        if (count_parameters(c) != files[i].parameters)
            fail_msg("%s: %lld parameters", files[i].name, (long long)count_parameters(c));
        assert_same_config(c, shape);
        assert_int_equal(c->dtype,
                         strstr(files[i].config, "float32") ? VUG_DTYPE_F32 : VUG_DTYPE_BF16);
        assert_true(c->n_eos > 0);
        vug_free(c);
        vug_free(shape);
    }
}

/* ---- as transformers 5 writes them ---------------------------------------------------- */

#define FULL       "'full_attention'"
#define TWO        "'sliding_attention'," FULL
#define TIMES_2(x) x "," x
#define TIMES_4(x) TIMES_2(x) "," TIMES_2(x)
#define TIMES_8(x) TIMES_4(x) "," TIMES_4(x)
#define KINDS(x)   "'layer_types':[" x "]"
#define LAYER(i)   "'" #i "':{'head_dim':512"
#define FULL_AT(of, a, b, c, d, e) \
    LAYER(a) of "}," LAYER(b) of "}," LAYER(c) of "}," LAYER(d) of "}," LAYER(e) of "}"

static const struct {
    const char *name;
    struct {
        const char *old, *now;
    } key[4];
} respelt[] = {
    { "gemma-2b",
      { { "'rope_scaling':null,'rope_theta':10000.0",
          "'rope_parameters':{'rope_theta':10000.0,'rope_type':'default'}" },
        { "torch_dtype", "dtype" },
        { "'hidden_act':'gelu','hidden_activation':null", "'hidden_act':'gelu_pytorch_tanh'" } } },
    { "gemma-2-2b",
      { { "'rope_theta':10000.0",
          "'rope_parameters':{'rope_theta':10000.0,'rope_type':'default'}," KINDS(
                  TIMES_8(TWO) "," TIMES_4(TWO) "," TWO) },
        { "torch_dtype", "dtype" } } },
    { "gemma-3-1b",
      { { "'rope_local_base_freq':10000,'rope_scaling':null,'rope_theta':1000000",
          "'rope_parameters':{'full_attention':{'rope_theta':1000000,'rope_type':'default'},"
          "'sliding_attention':{'rope_theta':10000,'rope_type':'default'}}" },
        { "'sliding_window_pattern':6", "'_sliding_window_pattern':6," KINDS(TIMES_4(
                                                FIVE_ONE) "," SLIDING "'sliding_attention'") },
        { "torch_dtype", "dtype" } } },
    { "gemma-3-4b",
      { { "'rope_scaling':{'factor':8.0,'rope_type':'linear'}",
          "'rope_parameters':{'full_attention':{'factor':8.0,'rope_theta':1000000.0,"
          "'rope_type':'linear'},'sliding_attention':{'rope_theta':10000.0,"
          "'rope_type':'default'}},'vocab_size':262208,'head_dim':256,"
          "'num_attention_heads':8,'num_key_value_heads':4,'max_position_embeddings':131072" },
        { "torch_dtype", "dtype" } } },
    { "gemma-4-e2b",
      { { WIDE(null), ",'per_layer_config':{" FULL_AT("", 04, 09, 14, 19,
                                                      24) "," LAYER(29) "}," LAYER(34) "}}" } } },
    { "gemma-4-26b-a4b",
      { { WIDE(2),
          ",'per_layer_config':{" FULL_AT(",'num_key_value_heads':2", 5, 11, 17, 23, 29) "}" },
        { "'num_experts'", "'num_local_experts'" } } },
    { "qwen2.5-0.5b",
      { { "'rope_theta':1000000.0,'sliding_window':32768",
          "'rope_parameters':{'rope_theta':1000000.0,'rope_type':'default'},"
          "'sliding_window':null," KINDS(TIMES_8(FULL) "," TIMES_8(FULL) "," TIMES_8(FULL)) },
        { "torch_dtype", "dtype" } } },
    { "qwen3-0.6b",
      { { "'rope_scaling':null,'rope_theta':1000000",
          "'rope_parameters':{'rope_theta':1000000,'rope_type':'default'}," KINDS(
                  TIMES_8(FULL) "," TIMES_8(FULL) "," TIMES_8(FULL) "," TIMES_4(FULL)) },
        { "torch_dtype", "dtype" } } },
    { "qwen3-30b-a3b",
      { { "'rope_scaling':null,'rope_theta':1000000.0",
          "'rope_parameters':{'rope_theta':1000000.0,'rope_type':'default'}" },
        { "'num_experts'", "'num_local_experts'" },
        { "torch_dtype", "dtype" } } },
    { "llama-3.1-8b",
      { { "'rope_scaling':" LLAMA3(8.0) ",'rope_theta':500000.0",
          "'head_dim':128,'rope_parameters':{'factor':8.0,'high_freq_factor':4.0,"
          "'low_freq_factor':1.0,'original_max_position_embeddings':8192,"
          "'rope_theta':500000.0,'rope_type':'llama3'}" },
        { "torch_dtype", "dtype" } } },
};

static const char *published_config(const char *name)
{
    for (size_t i = 0; i < COUNT(files); i++) {
        if (strcmp(files[i].name, name) == 0)
            return files[i].config;
    }
    fail_msg("there is no file of %s", name);
    return NULL;
}

/* Replaces the one `old` in `text`, which it frees. */
static char *replace_once(char *text, const char *old, const char *now)
{
    const char *at = strstr(text, old);
    vug_buf out = { 0 };
    if (!at || strstr(at + 1, old))
        fail_msg("%s is not once in %s", old, text);
    vug_buf_append(&out, text, (size_t)(at - text));
    vug_buf_puts(&out, now);
    vug_buf_puts(&out, at + strlen(old));
    char *result = vug_strdup(out.ptr);
    vug_buf_release(&out);
    vug_free(text);
    return result;
}

static void test_newer_spellings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(respelt); i++) {
        char *text = vug_strdup(published_config(respelt[i].name));
        for (size_t k = 0; k < COUNT(respelt[i].key) && respelt[i].key[k].old; k++)
            text = replace_once(text, respelt[i].key[k].old, respelt[i].key[k].now);
        vug_config *old = read_good(respelt[i].name, published_config(respelt[i].name));
        vug_config *now = read_good(respelt[i].name, text);
        assert_same_config(now, old);
        assert_int_equal(now->dtype, old->dtype);
        vug_free(text);
        vug_free(old);
        vug_free(now);
    }
}

/* ---- differences between sizes ---------------------------------------------------------------- */

static void test_gemma4_shared_caches(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t shared, sliding, full; /* layers that share, and the two whose caches they read */
        int64_t heads[2], widths[2];   /* of sliding and of full layers */
    } rows[] = {
        { "gemma-4-e2b", 20, 13, 14, { 1, 1 }, { 6144, 12288 } },
        { "gemma-4-e4b", 18, 22, 23, { 2, 2 }, { 10240, 10240 } },
        { "gemma-4-12b", 0, -1, -1, { 8, 1 }, { 15360, 15360 } },
        { "gemma-4-26b-a4b", 0, -1, -1, { 8, 2 }, { 2112, 2112 } },
        { "gemma-4-31b", 0, -1, -1, { 16, 4 }, { 21504, 21504 } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        vug_config *c = read_good(rows[i].name, published_config(rows[i].name));
        const int64_t first = c->n_layers - rows[i].shared;
        for (int64_t l = 0; l < c->n_layers; l++) {
            const vug_layer_config own = vug_config_layer(c, l);
            const bool full = !c->windowed[l];
            assert_int_equal(own.kv_layers_back > 0, l >= first);
            if (own.kv_layers_back)
                assert_int_equal(l - own.kv_layers_back, full ? rows[i].full : rows[i].sliding);
            assert_int_equal(own.n_kv_heads, rows[i].heads[full]);
            assert_int_equal(own.d_head, full ? 512 : 256);
            assert_int_equal(own.d_ffn, rows[i].widths[l >= first]);
            assert_int_equal(own.k_is_v, full && rows[i].shared == 0);
        }
        assert_false(c->windowed[c->n_layers - 1]);
        vug_free(c);
    }
}

/* Llama 3 before 3.1 has no RoPE scaling. */
static void test_llama3_without_rope_scaling(void **state)
{
    (void)state;
    vug_config *c = read_good("llama-3-8b", LLAMA(4096, 14336, 32, 32, "", 8192, "null", ""));
    assert_int_equal(count_parameters(c), 8030261248);
    assert_int_equal(c->context, 8192);
    assert_int_equal(c->rope_full.type, VUG_ROPE_DEFAULT);
    assert_true(c->rope_full.theta == 500000 && !c->tied);
    vug_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_configs),
        cmocka_unit_test(test_newer_spellings),
        cmocka_unit_test(test_gemma4_shared_caches),
        cmocka_unit_test(test_llama3_without_rope_scaling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
