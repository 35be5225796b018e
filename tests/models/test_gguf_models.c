/* GGUF files as models: every golden checkpoint, written as GGUF, gives the same bits; every
 * config survives the round trip through GGUF keys. */
#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "gguf_model_help.h"
#include "models/common.h"
#include "scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const golden[] = {
    "gemma1",
    "gemma2",
    "gemma3-mixed",
    "gemma3-mm",
    "gemma3-odd",
    "gemma3-rope-scaled",
    "gemma3-scale",
    "gemma3-text",
    "gemma4-dense",
    "gemma4-e",
    "gemma4-mm",
    "gemma4-moe",
    "llama3",
    "llama3-biases",
    "qwen2",
    "qwen3",
    "qwen3-moe",
    "qwen3-yarn",
    "qwen3-moe-packed",
};

static scratch_path golden_path(size_t i)
{
    scratch_path p;
    (void)snprintf(p.path, sizeof(p.path), GOLDEN("%s"), golden[i]);
    return p;
}

/* ---- configs ------------------------------------------------------------------------------ */

static void assert_same_rope(const vug_rope *a, const vug_rope *b, int64_t dims)
{
    float x[512], y[512];
    assert_true(dims / 2 <= (int64_t)COUNT(x));
    vug_rope_frequencies(a, dims, x);
    vug_rope_frequencies(b, dims, y);
    help_same_bits(x, y, (size_t)(dims / 2));
    assert_int_equal(a->type, b->type);
    assert_true((float)a->attention_factor == (float)b->attention_factor);
}

/* Everything that a flow depends on. */
static void assert_same_config(const vug_config *a, const vug_config *b)
{
    assert_ptr_equal(a->arch, b->arch);
    assert_int_equal(a->n_layers, b->n_layers);
    assert_int_equal(a->d_model, b->d_model);
    assert_int_equal(a->n_heads, b->n_heads);
    assert_int_equal(a->n_vocab, b->n_vocab);
    assert_int_equal(a->context, b->context);
    assert_int_equal(a->n_experts, b->n_experts);
    if (a->n_experts) {
        assert_int_equal(a->n_experts_per_token, b->n_experts_per_token);
        assert_int_equal(a->d_expert, b->d_expert);
        assert_int_equal(a->renormalise, b->renormalise);
    }
    assert_true(a->norm_eps == b->norm_eps && a->attn_scale == b->attn_scale);
    assert_true(a->attn_softcap == b->attn_softcap && a->final_softcap == b->final_softcap);
    assert_int_equal(a->attn_bias, b->attn_bias);
    assert_int_equal(a->mlp_bias, b->mlp_bias);
    for (int64_t i = -1; i < a->n_layers; i++) {
        const vug_layer_config x = vug_config_layer(a, i), y = vug_config_layer(b, i);
        assert_int_equal(x.d_head, y.d_head);
        assert_int_equal(x.n_kv_heads, y.n_kv_heads);
        assert_int_equal(x.d_ffn, y.d_ffn);
        assert_int_equal(x.kv_layers_back, y.kv_layers_back);
        assert_int_equal(x.k_is_v, y.k_is_v);
        if (i < 0)
            continue;
        assert_int_equal(vug_config_window(a, i), vug_config_window(b, i));
        assert_int_equal(a->sparse[i], b->sparse[i]);
    }
    assert_same_rope(&a->rope_full, &b->rope_full, vug_config_d_head(a, false));
    if (a->arch->gguf->two_ropes)
        assert_same_rope(&a->rope_window, &b->rope_window, vug_config_d_head(a, true));
    assert_int_equal(a->d_per_layer, b->d_per_layer);
    if (a->d_per_layer)
        assert_int_equal(a->n_vocab_per_layer, b->n_vocab_per_layer);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->n_eos, b->n_eos);
    assert_memory_equal(a->eos, b->eos, (size_t)a->n_eos * sizeof(*a->eos));
}

/* The tensors of a GGUF file of the config, without data. */
typedef struct {
    vug_weight_slot *slot;
    vug_tensor *tensor;
    const vug_tensor **sorted;
    size_t n;
} memory_file;

static int compare_names(const void *a, const void *b)
{
    const vug_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name.ptr, (*y)->name.ptr);
}

static memory_file make_memory_file(const vug_config *c)
{
    const size_t n = vug_weight_slot_count(c);
    memory_file m = { .n = 0 };
    m.slot = vug_alloc(n, sizeof(*m.slot));
    m.tensor = vug_alloc_zero(n, sizeof(*m.tensor));
    m.sorted = vug_alloc(n, sizeof(const vug_tensor *));
    assert_true(m.slot && m.tensor && m.sorted);
    for (size_t i = 0; i < n; i++) {
        vug_gguf_storage kept;
        vug_weight_slot *slot = &m.slot[m.n];
        if (!vug_weight_slot_gguf(c, i, slot, &kept) ||
            (strcmp(slot->row->name, "output") == 0 && c->tied) ||
            (strcmp(slot->row->name, "rope_freqs") == 0 && kept != VUG_STORED_FREQ_FACTORS))
            continue;
        vug_tensor *t = &m.tensor[m.n];
        *t = (vug_tensor){ .name = vug_str_of(slot->name), .rank = slot->shape.rank };
        for (int d = 0; d < t->rank; d++)
            t->dim[d] = slot->shape.dim[d];
        m.sorted[m.n++] = t;
    }
    qsort(m.sorted, m.n, sizeof(vug_tensor *), compare_names);
    return m;
}

static void release_memory_file(memory_file *m)
{
    vug_free(m->slot);
    vug_free(m->tensor);
    vug_free(m->sorted);
}

static vug_status read_back(const vug_gguf_builder *b, const memory_file *m, vug_config *out,
                            vug_err *err)
{
    const vug_tensor_list list = { m->sorted, m->n, "t.gguf", VUG_NAMES_GGUF };
    vug_gguf gguf = help_gguf_metadata(b);
    const vug_status st = vug_config_read_gguf(&gguf, &list, out, err);
    vug_gguf_release(&gguf);
    return st;
}

static void check_config(const char *json, const char *name)
{
    vug_config *c = vug_alloc(2, sizeof(*c));
    vug_err err;
    assert_non_null(c);
    help_ok(vug_config_read(vug_str_of(json), name, &c[0], &err), &err);
    vug_gguf_builder b = { 0 };
    memory_file m = make_memory_file(&c[0]);
    help_ok(vug_config_write_gguf(&c[0], &b, &err), &err);
    help_ok(read_back(&b, &m, &c[1], &err), &err);
    assert_same_config(&c[0], &c[1]);
    assert_int_equal(c[0].tied, c[1].tied);
    release_memory_file(&m);
    vug_gguf_builder_release(&b);
    vug_free(c);
}

/* What transformers needs in a config.json: the class, numbers with a decimal point and no
 * extra digits, a whole query_pre_attn_scalar, the widths of each layer. */
static void test_json_suits_transformers(void **state)
{
    (void)state;
    static const struct {
        const char *config, *has[6];
    } row[] = {
        { "{\"model_type\":\"gemma2\",\"hidden_size\":96,\"num_hidden_layers\":2,"
          "\"num_attention_heads\":4,\"head_dim\":16,\"num_key_value_heads\":2,\"vocab_size\":50,"
          "\"intermediate_size\":64,\"query_pre_attn_scalar\":24,\"rms_norm_eps\":1e-06,"
          "\"final_logit_softcapping\":8.0,\"attn_logit_softcapping\":5.1}",
          { "\"architectures\":[\"Gemma2ForCausalLM\"]", "\"query_pre_attn_scalar\":24,",
            "\"rms_norm_eps\":1e-6,", "\"final_logit_softcapping\":8.0,",
            "\"attn_logit_softcapping\":5.1,", "\"rope_theta\":10000.0," } },
        { "{\"model_type\":\"gemma4_text\",\"hidden_size\":96,\"num_hidden_layers\":3,"
          "\"num_attention_heads\":4,\"head_dim\":16,\"num_key_value_heads\":2,\"vocab_size\":50,"
          "\"vocab_size_per_layer_input\":50,\"hidden_size_per_layer_input\":0,"
          "\"intermediate_size\":64,\"global_head_dim\":32,\"final_logit_softcapping\":30.0,"
          "\"num_kv_shared_layers\":0,\"sliding_window\":8,"
          "\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"full_attention\"]}",
          { "\"architectures\":[\"Gemma4ForCausalLM\"]",
            "\"per_layer_config\":{\"2\":{\"head_dim\":32,\"num_key_value_heads\":2}}" } },
    };
    vug_config *c = vug_alloc(1, sizeof(*c));
    assert_non_null(c);
    for (size_t i = 0; i < COUNT(row); i++) {
        vug_err err;
        help_ok(vug_config_read(vug_str_of(row[i].config), "c", c, &err), &err);
        vug_gguf_builder b = { 0 };
        memory_file m = make_memory_file(c);
        help_ok(vug_config_write_gguf(c, &b, &err), &err);
        const vug_tensor_list list = { m.sorted, m.n, "t.gguf", VUG_NAMES_GGUF };
        vug_gguf gguf = help_gguf_metadata(&b);
        vug_buf json = { 0 };
        const vug_arch *arch;
        help_ok(vug_config_gguf_to_json(&gguf, &list, &json, &arch, &err), &err);
        for (int k = 0; k < 6 && row[i].has[k]; k++) {
            if (!strstr(json.ptr, row[i].has[k]))
                fail_msg("%s is not in %s", row[i].has[k], json.ptr);
        }
        vug_buf_release(&json);
        vug_gguf_release(&gguf);
        release_memory_file(&m);
        vug_gguf_builder_release(&b);
    }
    vug_free(c);
}

static void test_published_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < vug_model_shape_count(); i++)
        check_config(vug_model_shape_at(i)->config, vug_model_shape_at(i)->name);
}

/* Configs that are valid, but that no published model has. */
static void test_unpublished_configs(void **state)
{
    (void)state;
#define SIZES                                                                               \
    "\"hidden_size\":96,\"num_hidden_layers\":7,\"num_attention_heads\":4,\"head_dim\":24," \
    "\"num_key_value_heads\":2,\"vocab_size\":50,\"intermediate_size\":64"
#define KINDS(a, b)                                                                      \
    ",\"layer_types\":[\"" a "_attention\",\"" b "_attention\",\"" a "_attention\",\"" a \
    "_attention\",\"" b "_attention\",\"" a "_attention\",\"" b "_attention\"]"
    static const char *const configs[] = {
        "{\"model_type\":\"gemma2\"," SIZES ",\"attn_logit_softcapping\":null,"
        "\"final_logit_softcapping\":null,\"query_pre_attn_scalar\":37.5}",
        "{\"model_type\":\"gemma2\"," SIZES KINDS("full", "full") "}",
        "{\"model_type\":\"gemma2\"," SIZES KINDS("sliding", "sliding") "}",
        "{\"model_type\":\"gemma3_text\"," SIZES KINDS("full", "full") "}",
        "{\"model_type\":\"gemma3_text\"," SIZES KINDS(
                "sliding", "full") ",\"sliding_window\":9,\"final_logit_softcapping\":30.5,"
                                   "\"dtype\":\"float16\"}",
        "{\"model_type\":\"gemma3_text\"," SIZES ",\"sliding_window_pattern\":3,"
        "\"tie_word_embeddings\":false,\"eos_token_id\":[5,4,3,2,1],\"dtype\":\"float32\","
        "\"rope_local_base_freq\":777,\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":3}}",
        "{\"model_type\":\"qwen2\"," SIZES ",\"use_sliding_window\":true,\"max_window_layers\":3,"
        "\"sliding_window\":11}",
        "{\"model_type\":\"qwen3\"," SIZES ",\"attention_bias\":true,\"rope_scaling\":{"
        "\"rope_type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":1000,"
        "\"beta_fast\":30,\"beta_slow\":2,\"attention_factor\":1.5,\"truncate\":false}}",
        "{\"model_type\":\"qwen3_moe\"," SIZES ",\"use_sliding_window\":true,\"num_experts\":6,"
        "\"num_experts_per_tok\":2,\"moe_intermediate_size\":40,\"norm_topk_prob\":false,"
        "\"decoder_sparse_step\":2}",
        "{\"model_type\":\"llama\"," SIZES ",\"attention_bias\":true,\"mlp_bias\":true,"
        "\"eos_token_id\":null}",
    };
#undef KINDS
#undef SIZES
    for (size_t i = 0; i < COUNT(configs); i++)
        check_config(configs[i], configs[i]);
}

/* ---- invalid files ------------------------------------------------------------------------- */

typedef enum { GONE, U32, I32S, I64S, F32, BOOL, TEXT } value_kind;

typedef struct {
    const char *json; /* of what the file was right about */
    const char *key;
    value_kind kind;
    vug_status code;
    double value;     /* the key's in the lying file; of I32S of both elements,
                         of I64S of the first two of three, the last is 1 */
    const char *text; /* of TEXT */
    const char *expected;
} invalid_key;

#define GEMMA3                                                                    \
    "{\"model_type\":\"gemma3_text\",\"hidden_size\":96,\"num_hidden_layers\":3," \
    "\"num_attention_heads\":4,\"head_dim\":24,\"num_key_value_heads\":2,"        \
    "\"vocab_size\":50,\"intermediate_size\":64,\"sliding_window\":9}"
#define LLAMA                                                               \
    "{\"model_type\":\"llama\",\"hidden_size\":96,\"num_hidden_layers\":3," \
    "\"num_attention_heads\":4,\"vocab_size\":50,\"intermediate_size\":64}"

#define GEMMA4                                                                         \
    "{\"model_type\":\"gemma4_text\",\"hidden_size\":96,\"num_hidden_layers\":3,"      \
    "\"num_attention_heads\":4,\"head_dim\":24,\"global_head_dim\":24,"                \
    "\"num_key_value_heads\":2,\"vocab_size\":50,\"intermediate_size\":64,"            \
    "\"sliding_window\":9,\"rms_norm_eps\":1e-6,\"max_position_embeddings\":4096,"     \
    "\"final_logit_softcapping\":12,\"attention_k_eq_v\":false,"                       \
    "\"num_kv_shared_layers\":1,\"hidden_size_per_layer_input\":6,"                    \
    "\"vocab_size_per_layer_input\":50,\"use_double_wide_mlp\":true,"                  \
    "\"enable_moe_block\":false,\"layer_types\":[\"sliding_attention\","               \
    "\"full_attention\",\"full_attention\"],\"rope_parameters\":{\"full_attention\":{" \
    "\"rope_type\":\"default\",\"rope_theta\":1e6},\"sliding_attention\":{"            \
    "\"rope_type\":\"default\",\"rope_theta\":1e4}}}"

static const invalid_key invalid_keys[] = {
    { GEMMA4, "gemma4.feed_forward_length", I64S, VUG_UNSUPPORTED, 0x1p62, NULL,
      "t.gguf: key 'gemma4.feed_forward_length': layer 2 is neither as wide as the first layer "
      "nor, with a shared cache, twice as wide" },
    { LLAMA, "general.architecture", GONE, VUG_FORMAT, 0, NULL,
      "t.gguf: key 'general.architecture' is missing" },
    { LLAMA, "general.architecture", U32, VUG_FORMAT, 3, NULL,
      "t.gguf: key 'general.architecture' is not a string" },
    { LLAMA, "general.architecture", TEXT, VUG_UNSUPPORTED, 0, "mamba",
      "t.gguf: architecture 'mamba' is not supported in GGUF; vug supports gemma, gemma2, gemma3, "
      "gemma4, "
      "llama, qwen2, qwen3, qwen3moe" },
    { LLAMA, "llama.block_count", GONE, VUG_FORMAT, 0, NULL,
      "t.gguf: key 'llama.block_count' is missing" },
    { LLAMA, "llama.block_count", TEXT, VUG_FORMAT, 0, "3",
      "t.gguf: key 'llama.block_count' is string, expected whole numbers" },
    { LLAMA, "llama.block_count", F32, VUG_FORMAT, 3, NULL,
      "t.gguf: key 'llama.block_count' is f32, expected whole numbers" },
    { LLAMA, "llama.block_count", U32, VUG_FORMAT, 1e9, NULL,
      "t.gguf: key 'llama.block_count' must be a whole number from 1 to 1024" },
    { LLAMA, "llama.context_length", U32, VUG_FORMAT, 0, NULL,
      "t.gguf: key 'llama.context_length' must be a whole number from 1 to 1073741824" },
    { LLAMA, "llama.attention.head_count", U32, VUG_FORMAT, 0, NULL,
      "t.gguf: keys 'llama.attention.head_count' and 'llama.embedding_length' must be above 0" },
    { LLAMA, "llama.attention.head_count_kv", U32, VUG_FORMAT, 3, NULL,
      "t.gguf: 4 query heads do not divide among 3 key/value heads" },
    { LLAMA, "llama.attention.head_count_kv", I32S, VUG_FORMAT, 4, NULL,
      "t.gguf: key 'llama.attention.head_count_kv' has 2 elements for 3 layers" },
    { LLAMA, "llama.feed_forward_length", U32, VUG_FORMAT, 0, NULL,
      "t.gguf: key 'llama.feed_forward_length' must be a whole number from 1 to 16777216" },
    { LLAMA, "llama.attention.value_length", U32, VUG_UNSUPPORTED, 12, NULL,
      "t.gguf: key 'llama.attention.value_length' must be 24, as 'attention.key_length' is" },
    { LLAMA, "llama.rope.dimension_count", U32, VUG_UNSUPPORTED, 12, NULL,
      "t.gguf: key 'llama.rope.dimension_count' must be 24, as 'attention.key_length' is" },
    { LLAMA, "llama.rope.scaling.type", TEXT, VUG_UNSUPPORTED, 0, "longrope",
      "t.gguf: key 'llama.rope.scaling.type': 'longrope' is not supported (none, linear, yarn)" },
    { LLAMA, "llama.rope.freq_base", F32, VUG_FORMAT, 0.5, NULL,
      "t.gguf: key 'llama.rope.freq_base' must be a number from 1 to 1e+12" },
    { LLAMA, "llama.expert_count", U32, VUG_UNSUPPORTED, 8, NULL,
      "t.gguf: key 'llama.expert_count' is 8: llama models with experts are not supported" },
    { LLAMA, "llama.attention.causal", BOOL, VUG_UNSUPPORTED, 0, NULL,
      "t.gguf: key 'llama.attention.causal' is false: embedding models are not supported" },
    { GEMMA3, "gemma3.attention.layer_norm_rms_epsilon", GONE, VUG_FORMAT, 0, NULL,
      "t.gguf: key 'gemma3.attention.layer_norm_rms_epsilon' is missing" },
    { GEMMA3, "gemma3.attention.sliding_window_pattern", I32S, VUG_FORMAT, 1, NULL,
      "t.gguf: key 'gemma3.attention.sliding_window_pattern' has 2 elements for 3 layers" },
    { GEMMA3, "gemma3.attention.sliding_window", U32, VUG_FORMAT, 4e9, NULL,
      "t.gguf: key 'gemma3.attention.sliding_window' must be a whole number from 1 to 1073741824" },
    { GEMMA3, "gemma3.attention.causal", TEXT, VUG_FORMAT, 0, "yes",
      "t.gguf: key 'gemma3.attention.causal' is string, expected true or false" },
    { GEMMA3, "gemma3.final_logit_softcapping", TEXT, VUG_FORMAT, 0, "30",
      "t.gguf: key 'gemma3.final_logit_softcapping' is string, expected a number" },
    { GEMMA3, "vug.dtype", TEXT, VUG_OK, 0, "a\"b\\", NULL },
};

static void put_wide_array(vug_gguf_builder *b, const invalid_key *l)
{
    const int64_t value[3] = { (int64_t)l->value, (int64_t)l->value, 1 };
    vug_gguf_put_value(b, &(vug_gguf_value){ .key = vug_str_of(l->key),
                                             .type = VUG_GGUF_I64,
                                             .is_array = true,
                                             .count = 3,
                                             .bytes = { (const uint8_t *)value, sizeof(value) } });
}

static void put_invalid_key(vug_gguf_builder *b, const invalid_key *l)
{
    const int32_t twice[2] = { (int32_t)l->value, (int32_t)l->value };
    if (l->kind == U32)
        vug_gguf_put_u32(b, l->key, (uint32_t)l->value);
    else if (l->kind == I32S)
        vug_gguf_put_i32s(b, l->key, twice, 2);
    else if (l->kind == I64S)
        put_wide_array(b, l);
    else if (l->kind == F32)
        vug_gguf_put_f32(b, l->key, (float)l->value);
    else if (l->kind == BOOL)
        vug_gguf_put_bool(b, l->key, l->value != 0);
    else if (l->kind == TEXT)
        vug_gguf_put_string(b, l->key, vug_str_of(l->text));
}

static void test_invalid_keys_are_refused(void **state)
{
    (void)state;
    vug_config *c = vug_alloc(2, sizeof(*c));
    assert_non_null(c);
    for (size_t i = 0; i < COUNT(invalid_keys); i++) {
        const invalid_key *l = &invalid_keys[i];
        vug_gguf_builder honest = { 0 }, b = { 0 };
        vug_err err = { 0 };
        help_ok(vug_config_read(vug_str_of(l->json), "config.json", &c[0], &err), &err);
        help_ok(vug_config_write_gguf(&c[0], &honest, &err), &err);
        vug_gguf gguf = help_gguf_metadata(&honest);
        for (size_t k = 0; k < gguf.n; k++) {
            if (!vug_str_is(gguf.value[k].key, l->key))
                vug_gguf_put_value(&b, &gguf.value[k]);
        }
        put_invalid_key(&b, l);
        memory_file m = make_memory_file(&c[0]);
        const vug_status st = read_back(&b, &m, &c[1], &err);
        if (l->expected)
            help_refused(st, &err, l->code, NULL, l->expected);
        else
            help_ok(st, &err);
        release_memory_file(&m);
        vug_gguf_release(&gguf);
        vug_gguf_builder_release(&honest);
        vug_gguf_builder_release(&b);
    }
    vug_free(c);
}

/* What GGUF cannot express is refused, not dropped. */
static void test_inexpressible_configs_are_refused(void **state)
{
    (void)state;
    vug_config *c = vug_alloc(1, sizeof(*c));
    vug_err err;
    vug_gguf_builder b = { 0 };
    assert_non_null(c);
    help_ok(vug_config_read(vug_str_of(GEMMA3), "config.json", c, &err), &err);
    c->rope_window.type = VUG_ROPE_LINEAR;
    help_refused(vug_config_write_gguf(c, &b, &err), &err, VUG_UNSUPPORTED, NULL,
                 "GGUF has no key for the RoPE scaling of layers with a window");
    vug_gguf_builder_release(&b);
    vug_free(c);
}

static vug_status read_config_of_bytes(vug_bytes file, vug_config *c, vug_err *err)
{
    vug_weights *weights = NULL;
    VUG_TRY(vug_weights_open_gguf_memory(file, "f.gguf", &weights, err));
    const size_t n = vug_weights_count(weights);
    const vug_tensor **sorted = vug_alloc(n, sizeof(vug_tensor *));
    assert_non_null(sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = vug_weights_at(weights, i);
    qsort(sorted, n, sizeof(vug_tensor *), compare_names);
    const vug_tensor_list list = { sorted, n, "f.gguf", VUG_NAMES_GGUF };
    vug_binding binding = { 0 };
    vug_status st = vug_config_read_gguf(vug_weights_gguf(weights), &list, c, err);
    if (st == VUG_OK)
        st = vug_binding_init(c, &list, &binding, err);
    vug_binding_release(&binding);
    vug_free(sorted);
    vug_weights_close(weights);
    return st;
}

/* Flips every byte of the metadata and of the tensor entries: the file loads, or fails with a
 * message. */
static void test_flipped_bytes(void **state)
{
    (void)state;
    scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m.gguf");
    vug_checkpoint *c = vug_alloc(1, sizeof(*c));
    vug_text file = { 0 };
    vug_err err;
    int opened = 0, refusals = 0;
    assert_non_null(c);
    help_ok(vug_checkpoint_open(GOLDEN("gemma4-moe"), c, &err), &err);
    help_write_gguf(c, true, path.path);
    vug_checkpoint_release(c);
    help_ok(vug_read_file(path.path, 1 << 24, &file, &err), &err);
    const vug_bytes bytes = { (const uint8_t *)file.ptr, file.len };
    help_ok(read_config_of_bytes(bytes, &c->config, &err), &err);
    for (size_t i = 0; i < 6000; i++) {
        file.ptr[i] = (char)(file.ptr[i] ^ (1 << i % 8));
        err.msg[0] = '\0';
        const vug_status st = read_config_of_bytes(bytes, &c->config, &err);
        file.ptr[i] = (char)(file.ptr[i] ^ (1 << i % 8));
        assert_true(st == VUG_OK || err.msg[0]);
        *(st == VUG_OK ? &opened : &refusals) += 1;
    }
    assert_true(opened > 0 && refusals > opened);
    vug_text_release(&file);
    vug_free(c);
    scratch_remove(&dir);
}

/* ---- implied values ------------------------------------------------------------------------ */

static void put_sizes(vug_gguf_builder *b, const char *arch, const uint32_t *n)
{
    static const char *const keys[] = { "block_count",          "embedding_length",
                                        "feed_forward_length",  "attention.head_count",
                                        "attention.key_length", "context_length" };
    char key[96];
    vug_gguf_put_string(b, "general.architecture", vug_str_of(arch));
    for (size_t i = 0; i < COUNT(keys); i++) {
        (void)snprintf(key, sizeof(key), "%s.%s", arch, keys[i]);
        vug_gguf_put_u32(b, key, n[i]);
    }
    (void)snprintf(key, sizeof(key), "%s.attention.layer_norm_rms_epsilon", arch);
    vug_gguf_put_f32(b, key, 1e-5F);
}

/* Reads a config from the keys, an embedding of 99 rows and tensors of these names. */
static void read_keys(vug_gguf_builder *b, const char *const *name, vug_config *c)
{
    enum { MOST = 4 };
    vug_tensor tensor[MOST] = {
        { .name = vug_str_of("token_embd.weight"), .rank = 2, .dim = { 99 } }
    };
    memory_file m = { .n = 1 };
    const vug_tensor *sorted[MOST] = { &tensor[0] };
    for (; name[m.n - 1]; m.n++) {
        tensor[m.n].name = vug_str_of(name[m.n - 1]);
        sorted[m.n] = &tensor[m.n];
    }
    qsort(sorted, m.n, sizeof(vug_tensor *), compare_names);
    m.sorted = sorted;
    vug_err err;
    help_ok(read_back(b, &m, c, &err), &err);
    vug_gguf_builder_release(b);
    assert_int_equal(c->n_vocab, 99);
}

/* Keys as llama.cpp's converters write them; its loader implies the rest. */
static void test_implied_values(void **state)
{
    (void)state;
    vug_config *c = vug_alloc(1, sizeof(*c));
    assert_non_null(c);
    static const char *const none[] = { NULL };
    vug_gguf_builder b = { 0 };
    put_sizes(&b, "gemma3", (const uint32_t[]){ 62, 5376, 21504, 32, 128, 131072 });
    vug_gguf_put_u32(&b, "gemma3.attention.sliding_window", 1024);
    vug_gguf_put_f32(&b, "gemma3.rope.freq_base", 1e6F);
    vug_gguf_put_string(&b, "gemma3.rope.scaling.type", vug_str_of("linear"));
    vug_gguf_put_f32(&b, "gemma3.rope.scaling.factor", 8);
    vug_gguf_put_u32(&b, "tokenizer.ggml.eos_token_id", 1);
    vug_gguf_put_u32(&b, "tokenizer.ggml.eot_token_id", 106);
    vug_gguf_put_u32(&b, "tokenizer.ggml.eom_token_id", UINT32_MAX);
    read_keys(&b, none, c);
    for (int i = 0; i < 62; i++)
        assert_int_equal(vug_config_window(c, i), i % 6 == 5 ? 0 : 1024);
    assert_true(c->attn_scale == (float)(1 / sqrt(168)) && c->norm_eps == 1e-5F);
    assert_int_equal(c->rope_full.type, VUG_ROPE_LINEAR);
    assert_true(c->rope_full.factor == 8 && c->rope_full.theta == 1e6);
    assert_int_equal(c->rope_window.type, VUG_ROPE_DEFAULT);
    assert_true(c->rope_window.theta == 1e4);
    assert_int_equal(c->n_kv_heads, 32);
    assert_int_equal(c->n_eos, 2);
    assert_int_equal(c->eos[1], 106);
    assert_true(c->tied && c->dtype == VUG_DTYPE_BF16);

    b = (vug_gguf_builder){ 0 };
    put_sizes(&b, "gemma3", (const uint32_t[]){ 26, 1152, 6912, 4, 256, 32768 });
    read_keys(&b, none, c);
    for (int i = 0; i < 26; i++)
        assert_int_equal(vug_config_window(c, i), 0);
    assert_true(c->attn_scale == 1 / 16.0F && c->final_softcap == 0 && c->n_eos == 0);

    b = (vug_gguf_builder){ 0 };
    put_sizes(&b, "gemma2", (const uint32_t[]){ 46, 4608, 36864, 32, 128, 8192 });
    read_keys(&b, none, c);
    for (int i = 0; i < 46; i++)
        assert_int_equal(vug_config_window(c, i), i % 2 ? 0 : 4096);
    assert_true(c->attn_scale == 1 / 12.0F && c->attn_softcap == 50 && c->final_softcap == 30);

    b = (vug_gguf_builder){ 0 };
    static const char *const head[] = { "output.weight", "blk.0.attn_q.bias", NULL };
    put_sizes(&b, "llama", (const uint32_t[]){ 2, 64, 96, 4, 16, 128 });
    vug_gguf_put_f32(&b, "llama.rope.scale_linear", 4);
    read_keys(&b, head, c);
    assert_true(c->dtype == VUG_DTYPE_COUNT && !c->tied && c->attn_bias && !c->mlp_bias &&
                c->rope_full.theta == 1e4);
    assert_true(c->rope_full.type == VUG_ROPE_LINEAR && c->rope_full.factor == 4);

    b = (vug_gguf_builder){ 0 };
    static const char *const dense[] = { "blk.1.ffn_gate.weight", NULL };
    put_sizes(&b, "qwen3moe", (const uint32_t[]){ 2, 64, 96, 4, 16, 128 });
    vug_gguf_put_u32(&b, "qwen3moe.expert_count", 6);
    vug_gguf_put_u32(&b, "qwen3moe.expert_used_count", 3);
    vug_gguf_put_string(&b, "qwen3moe.rope.scaling.type", vug_str_of("yarn"));
    vug_gguf_put_f32(&b, "qwen3moe.rope.scaling.factor", 4);
    vug_gguf_put_f32(&b, "qwen3moe.rope.scaling.attn_factor", 2);
    vug_gguf_put_u32(&b, "qwen3moe.rope.scaling.original_context_length", 32);
    read_keys(&b, dense, c);
    assert_true(c->renormalise && c->d_expert == 32 && c->sparse[0] && !c->sparse[1]);
    assert_true(fabs(c->rope_full.attention_factor - 2 * (0.1 * log(4) + 1)) < 1e-12);
    assert_true(c->rope_full.original_context == 32 && c->rope_full.high == 32 &&
                c->rope_full.low == 1);
    vug_free(c);
}

/* ---- the golden checkpoints ---------------------------------------------------------------- */

static void test_golden_models_keep_their_bits(void **state)
{
    (void)state;
    enum { TOKENS = 40 };
    scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m.gguf");
    for (size_t i = 0; i < COUNT(golden); i++) {
        const scratch_path from = golden_path(i);
        int32_t id[TOKENS];
        vug_checkpoint c;
        vug_err err;
        print_message("%s\n", golden[i]);
        help_ok(vug_checkpoint_open(from.path, &c, &err), &err);
        help_write_gguf(&c, true, path.path);
        vug_checkpoint again;
        help_ok(vug_checkpoint_open(path.path, &again, &err), &err);
        assert_int_equal(again.binding.names, VUG_NAMES_GGUF);
        assert_same_config(&c.config, &again.config);
        assert_int_equal(c.binding.tied, again.binding.tied);
        vug_checkpoint_release(&again);

        vug_model *a = help_model(from.path, (vug_model_options){ 0 });
        vug_model *b = help_model(path.path, (vug_model_options){ 0 });
        help_tokens(i, id, TOKENS, c.config.n_vocab);
        float *x = help_alone(a, id, TOKENS), *y = help_alone(b, id, TOKENS);
        help_same_bits(x, y, (size_t)c.config.n_vocab);
        vug_free(x);
        vug_free(y);
        vug_model_close(a);
        vug_model_close(b);
        vug_checkpoint_release(&c);
    }
    scratch_remove(&dir);
}

static float last_frequency(const vug_graph *g, const char *name)
{
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op == VUG_OP_ROPE_TABLE && strcmp(g->node[i].name, name) == 0)
            return g->node[i].at.table.inv[g->node[i].at.table.dims / 2 - 1];
    }
    fail_msg("no table %s", name);
    return 0;
}

/* Other programs write frequency factors without our keys. Those of Gemma 4 are 1 or huge,
 * which is exact; those of Llama 3 are rounded. */
static void test_frequency_factors_keep_logits(void **state)
{
    (void)state;
    enum { TOKENS = 40 };
    static const char *const names[] = { GOLDEN("gemma4-dense"), GOLDEN("llama3") };
    scratch dir = scratch_make();
    const scratch_path path = scratch_at(&dir, "m.gguf");
    for (size_t i = 0; i < COUNT(names); i++) {
        int32_t id[TOKENS];
        vug_checkpoint c;
        vug_err err;
        help_ok(vug_checkpoint_open(names[i], &c, &err), &err);
        help_write_gguf(&c, false, path.path);
        vug_model *a = help_model(names[i], (vug_model_options){ 0 });
        vug_model *b = help_model(path.path, (vug_model_options){ 0 });
        const size_t n = (size_t)c.config.n_vocab;
        help_tokens(i, id, TOKENS, c.config.n_vocab);
        float *x = help_alone(a, id, TOKENS), *y = help_alone(b, id, TOKENS);
        if (i == 0)
            help_same_bits(x, y, n);
        if (i == 0)
            assert_true(last_frequency(&b->main.compiled.graph, "rope_full") == 0);
        for (size_t k = 0; k < n; k++)
            assert_true(x[k] - y[k] < 2e-4F && y[k] - x[k] < 2e-4F);
        vug_free(x);
        vug_free(y);
        vug_model_close(a);
        vug_model_close(b);
        vug_checkpoint_release(&c);
    }
    scratch_remove(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_suits_transformers),
        cmocka_unit_test(test_published_shapes),
        cmocka_unit_test(test_unpublished_configs),
        cmocka_unit_test(test_implied_values),
        cmocka_unit_test(test_invalid_keys_are_refused),
        cmocka_unit_test(test_inexpressible_configs_are_refused),
        cmocka_unit_test(test_golden_models_keep_their_bits),
        cmocka_unit_test(test_frequency_factors_keep_logits),
        cmocka_unit_test(test_flipped_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
