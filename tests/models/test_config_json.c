/*
 * config.json of Gemma 3: the spellings of transformers 4 and 5, defaults and nulls, every
 * error message, and all texts that differ from a config in one byte. Configs are written
 * with ' for ".
 */
#include "test.h"

#include "config_help.h"
#include "core/mem.h"
#include "core/os.h"
#include "models/models.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Four small layers, then more keys; those of a nested config close the inner object. */
#define SIZES                                                                                \
    "'hidden_size':12,'intermediate_size':20,'num_hidden_layers':4,'num_attention_heads':4," \
    "'num_key_value_heads':2,'head_dim':8,'vocab_size':31"
#define FLAT(more)   "{'model_type':'gemma3_text'," SIZES more "}"
#define NESTED(more) "{'model_type':'gemma3','text_config':{" SIZES more "}"

/* "sf" for a sliding and then a full layer. */
static void assert_layers(const vug_config *c, const char *kinds)
{
    assert_int_equal(c->n_layers, strlen(kinds));
    for (int64_t i = 0; i < c->n_layers; i++)
        assert_int_equal(c->windowed[i], kinds[i] == 's');
}

/* A factor of 0 means no scaling. */
typedef struct {
    double theta, factor;
} wanted_rope;

static void assert_rope(const vug_rope *rope, wanted_rope wanted)
{
    assert_true(rope->theta == wanted.theta);
    if (wanted.factor == 0) {
        assert_int_equal(rope->type, VUG_ROPE_DEFAULT);
    } else {
        assert_int_equal(rope->type, VUG_ROPE_LINEAR);
        assert_true(rope->factor == wanted.factor);
    }
}

/* ---- accepted ---------------------------------------------------------------------- */

/* configuration_gemma3.py, class Gemma3TextConfig. */
static void test_defaults(void **state)
{
    (void)state;
    const vug_config c = help_config("{'model_type':'gemma3_text'}");
    assert_string_equal(c.arch->name, "gemma3");
    assert_int_equal(c.n_layers, 26);
    assert_int_equal(c.d_model, 2304);
    assert_int_equal(c.n_heads, 8);
    assert_int_equal(c.n_kv_heads, 4);
    assert_int_equal(c.d_head, 256);
    assert_int_equal(c.d_ffn, 9216);
    assert_int_equal(c.n_vocab, 262208);
    assert_int_equal(c.context, 131072);
    assert_int_equal(c.window, 4096);
    assert_true(c.norm_eps == 1e-6F);
    assert_true(c.attn_scale == 1.0F / 16);
    assert_true(c.final_softcap == 0);
    assert_rope(&c.rope_full, (wanted_rope){ 1e6, 0 });
    assert_rope(&c.rope_window, (wanted_rope){ 1e4, 0 });
    assert_layers(&c, "sssssfsssssfsssssfsssssfss");
    assert_int_equal(c.n_eos, 1);
    assert_int_equal(c.eos[0], 1);
    assert_int_equal(c.dtype, VUG_DTYPE_COUNT);
}

static void test_every_key(void **state)
{
    (void)state;
    const vug_config c = help_config(
            FLAT(",'max_position_embeddings':77,'sliding_window':3,'rms_norm_eps':1e-5,"
                 "'query_pre_attn_scalar':64,'final_logit_softcapping':30.0,'eos_token_id':[5,7],"
                 "'dtype':'float16','hidden_activation':'gelu_pytorch_tanh','attention_bias':false,"
                 "'use_bidirectional_attention':false,'a_key_of_the_future':{'x':[1]}"));
    assert_int_equal(c.n_layers, 4);
    assert_int_equal(c.d_model, 12);
    assert_int_equal(c.n_heads, 4);
    assert_int_equal(c.n_kv_heads, 2);
    assert_int_equal(c.d_head, 8);
    assert_int_equal(c.d_ffn, 20);
    assert_int_equal(c.n_vocab, 31);
    assert_int_equal(c.context, 77);
    assert_int_equal(c.window, 3);
    assert_true(c.norm_eps == 1e-5F);
    assert_true(c.attn_scale == 0.125F);
    assert_true(c.final_softcap == 30);
    assert_int_equal(c.n_eos, 2);
    assert_true(c.eos[0] == 5 && c.eos[1] == 7);
    assert_int_equal(c.dtype, VUG_DTYPE_F16);
}

/* The reference has a key for an attention softcap but never applies it. */
static void test_attention_softcap_is_ignored(void **state)
{
    (void)state;
    const vug_config c = help_config(FLAT(",'attn_logit_softcapping':50.0"));
    assert_true(c.final_softcap == 0);
}

static void test_layer_types(void **state)
{
    (void)state;
    static const struct {
        const char *config, *kinds;
    } rows[] = {
        { FLAT(""), "ssss" },
        { FLAT(",'sliding_window_pattern':1"), "ffff" },
        { FLAT(",'sliding_window_pattern':2"), "sfsf" },
        { FLAT(",'sliding_window_pattern':3"), "ssfs" },
        { FLAT(",'_sliding_window_pattern':2"), "sfsf" },
        { FLAT(",'_sliding_window_pattern':2,'sliding_window_pattern':3"), "ssfs" },
        { FLAT(",'sliding_window_pattern':null"), "ssss" },
        { FLAT(",'sliding_window_pattern':2,'layer_types':null"), "sfsf" },
        { FLAT(",'sliding_window_pattern':2,'layer_types':['full_attention','full_attention',"
               "'sliding_attention','full_attention']"),
          "ffsf" },
        { FLAT(",'sliding_window_pattern':1,'sliding_window':null"), "ffff" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const vug_config c = help_config(rows[i].config);
        assert_layers(&c, rows[i].kinds);
    }
}

static void test_rope_keys(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        wanted_rope full, window;
    } rows[] = {
        /* transformers 4 */
        { ",'rope_theta':5e5,'rope_local_base_freq':2e3", { 5e5, 0 }, { 2e3, 0 } },
        { ",'rope_theta':1000000,'rope_scaling':null", { 1e6, 0 }, { 1e4, 0 } },
        { ",'rope_scaling':{'rope_type':'linear','factor':8.0}", { 1e6, 8 }, { 1e4, 0 } },
        { ",'rope_scaling':{'type':'linear','factor':8}", { 1e6, 8 }, { 1e4, 0 } },
        { ",'rope_scaling':{'rope_type':'default'}", { 1e6, 0 }, { 1e4, 0 } },
        /* transformers 5 */
        { ",'rope_parameters':{'full_attention':{'rope_type':'linear','factor':4,"
          "'rope_theta':3e5},'sliding_attention':{'rope_type':'default','rope_theta':5e3}}",
          { 3e5, 4 },
          { 5e3, 0 } },
        { ",'rope_parameters':{'full_attention':{'rope_type':'default'},"
          "'sliding_attention':{'rope_type':'linear','factor':3}}",
          { 1e6, 0 },
          { 1e4, 3 } },
        { ",'rope_parameters':{'full_attention':{'rope_theta':3e5}}", { 3e5, 0 }, { 1e4, 0 } },
        { ",'rope_parameters':{'full_attention':{'rope_theta':3e5},'sliding_attention':null}",
          { 3e5, 0 },
          { 1e4, 0 } },
        { ",'rope_parameters':{'sliding_attention':{'rope_theta':7e3}}", { 1e6, 0 }, { 7e3, 0 } },
        { ",'rope_parameters':null", { 1e6, 0 }, { 1e4, 0 } },
        { ",'rope_parameters':{'rope_type':'linear','factor':2,'rope_theta':3e5}",
          { 3e5, 2 },
          { 1e4, 0 } },
        /* both: what the newer object lacks comes from the older keys */
        { ",'rope_theta':5e5,'rope_local_base_freq':2e3,"
          "'rope_parameters':{'full_attention':{},'sliding_attention':{}}",
          { 5e5, 0 },
          { 2e3, 0 } },
        { ",'rope_theta':5e5,'rope_parameters':{'full_attention':{'rope_theta':3e5}},"
          "'rope_scaling':{'rope_type':'linear','factor':8}",
          { 3e5, 8 },
          { 1e4, 0 } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        vug_buf text = { 0 };
        vug_buf_printf(&text, "{'model_type':'gemma3_text'," SIZES "%s}", rows[i].config);
        const vug_config c = help_config(text.ptr);
        assert_rope(&c.rope_full, rows[i].full);
        assert_rope(&c.rope_window, rows[i].window);
        vug_buf_release(&text);
    }
}

/* The keys of both versions give the same config. */
static void test_transformers_4_and_5_agree(void **state)
{
    (void)state;
    static const char *const dialects[] = {
        FLAT(",'sliding_window_pattern':2,'sliding_window':5,'rope_theta':5e5,"
             "'rope_local_base_freq':3e3,'rope_scaling':{'type':'linear','factor':8},"
             "'torch_dtype':'bfloat16','eos_token_id':[1,106]"),
        NESTED(",'layer_types':['sliding_attention','full_attention','sliding_attention',"
               "'full_attention'],'sliding_window':5,'rope_parameters':{'full_attention':"
               "{'rope_type':'linear','factor':8.0,'rope_theta':500000.0},'sliding_attention':"
               "{'rope_type':'default','rope_theta':3000.0}}},'dtype':'bfloat16',"
               "'eos_token_id':[1,106]"),
    };
    for (size_t i = 0; i < COUNT(dialects); i++) {
        const vug_config c = help_config(dialects[i]);
        assert_int_equal(c.d_model, 12);
        assert_int_equal(c.window, 5);
        assert_layers(&c, "sfsf");
        assert_rope(&c.rope_full, (wanted_rope){ 5e5, 8 });
        assert_rope(&c.rope_window, (wanted_rope){ 3e3, 0 });
        assert_int_equal(c.dtype, VUG_DTYPE_BF16);
        assert_true(c.n_eos == 2 && c.eos[0] == 1 && c.eos[1] == 106);
    }
}

static void test_nested_configs(void **state)
{
    (void)state;
    vug_config c = help_config(NESTED("},'hidden_size':99,'vision_config':{'hidden_size':7}"));
    assert_int_equal(c.d_model, 12);
    /* The type may be only in the inner object. */
    c = help_config("{'text_config':{'model_type':'gemma3_text','hidden_size':14}}");
    assert_int_equal(c.d_model, 14);
    /* A null object counts as absent. */
    c = help_config("{'model_type':'gemma3_text','text_config':null,'hidden_size':16}");
    assert_int_equal(c.d_model, 16);
}

static void test_eos_and_dtype(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        int32_t eos[3];
        int n_eos;
        vug_dtype dtype;
    } rows[] = {
        { FLAT(",'eos_token_id':null,'dtype':null"), { 0 }, 0, VUG_DTYPE_COUNT },
        { FLAT(",'eos_token_id':[],'dtype':'float64'"), { 0 }, 0, VUG_DTYPE_COUNT },
        { FLAT(",'eos_token_id':106,'dtype':'float32'"), { 106 }, 1, VUG_DTYPE_F32 },
        { FLAT(",'torch_dtype':'bfloat16'"), { 1 }, 1, VUG_DTYPE_BF16 },
        { FLAT(",'torch_dtype':'bfloat16','dtype':'float16'"), { 1 }, 1, VUG_DTYPE_F16 },
        { NESTED("}"), { 1 }, 1, VUG_DTYPE_COUNT },
        { NESTED("},'eos_token_id':[1,106]"), { 1, 106 }, 2, VUG_DTYPE_COUNT },
        { NESTED(",'eos_token_id':9},'eos_token_id':[1,106]"), { 1, 106, 9 }, 3, VUG_DTYPE_COUNT },
        { NESTED(",'eos_token_id':9,'dtype':'float16'}"), { 9 }, 1, VUG_DTYPE_F16 },
        { NESTED(",'eos_token_id':null,'dtype':'float16'},'dtype':'bfloat16'"),
          { 0 },
          0,
          VUG_DTYPE_BF16 },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const vug_config c = help_config(rows[i].config);
        assert_int_equal(c.n_eos, rows[i].n_eos);
        assert_memory_equal(c.eos, rows[i].eos, (size_t)c.n_eos * sizeof(*c.eos));
        assert_int_equal(c.dtype, rows[i].dtype);
    }
}

/* ---- refused ----------------------------------------------------------------------- */

typedef struct {
    const char *config;
    vug_status code;
    const char *message; /* after "config.json: " */
} refusal_case;

static void assert_refused(const refusal_case *row, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vug_config c;
        vug_err err = { 0 };
        char expected[sizeof(err.msg)];
        (void)snprintf(expected, sizeof(expected), "config.json: %s", row[i].message);
        assert_int_equal(help_read_config(row[i].config, &c, &err), row[i].code);
        assert_string_equal(err.msg, expected);
        assert_int_equal(err.code, row[i].code);
        /* A caller may pass no vug_err. */
        assert_int_equal(help_read_config(row[i].config, &c, NULL), row[i].code);
    }
}

static void test_unknown_models_are_refused(void **state)
{
    (void)state;
    static const refusal_case rows[] = {
        { "{'model_type':'mamba'}", VUG_UNSUPPORTED,
          "architecture 'mamba' is not supported; vug supports gemma, gemma2, gemma3_text, "
          "gemma3, gemma4_text, gemma4, gemma4_unified_text, gemma4_unified, llama, qwen2, "
          "qwen3, qwen3_moe" },
        { "{'text_config':{'model_type':'gemma9'}}", VUG_UNSUPPORTED,
          "architecture 'gemma9' is not supported; vug supports gemma, gemma2, gemma3_text, "
          "gemma3, gemma4_text, gemma4, gemma4_unified_text, gemma4_unified, llama, qwen2, "
          "qwen3, qwen3_moe" },
        { "{'hidden_size':4}", VUG_FORMAT, "key 'model_type' is missing" },
        { "{'model_type':null}", VUG_FORMAT, "key 'model_type' is missing" },
        { "{'model_type':3}", VUG_FORMAT, "key 'model_type' must be a string" },
        { "[]", VUG_FORMAT, "expected an object of config keys" },
    };
    assert_refused(rows, COUNT(rows));
}

static void test_unsupported_values_are_refused(void **state)
{
    (void)state;
    static const refusal_case rows[] = {
        { FLAT(",'hidden_activation':'silu'"), VUG_UNSUPPORTED,
          "hidden_activation 'silu' is not supported for Gemma 3 (gelu_pytorch_tanh)" },
        { FLAT(",'use_bidirectional_attention':true"), VUG_UNSUPPORTED,
          "use_bidirectional_attention is set: embedding models are not supported" },
        { FLAT(",'attention_bias':true"), VUG_UNSUPPORTED,
          "attention_bias is not supported for Gemma 3" },
        { FLAT(",'rope_scaling':{'type':'dynamic','factor':4}"), VUG_UNSUPPORTED,
          "RoPE type 'dynamic' is not supported (default, linear, llama3, yarn)" },
        { FLAT(",'rope_parameters':{'full_attention':{'rope_type':'longrope','factor':4}}"),
          VUG_UNSUPPORTED,
          "RoPE type 'longrope' is not supported (default, linear, llama3, yarn)" },
        { FLAT(",'rope_parameters':{'sliding_attention':{'rope_type':'su'}}"), VUG_UNSUPPORTED,
          "RoPE type 'su' is not supported (default, linear, llama3, yarn)" },
        { FLAT(",'layer_types':['full_attention','linear_attention','full_attention',"
               "'full_attention']"),
          VUG_UNSUPPORTED,
          "key 'layer_types': layer 1 is 'linear_attention', expected 'full_attention' or "
          "'sliding_attention'" },
    };
    assert_refused(rows, COUNT(rows));
}

static void test_invalid_values_are_refused(void **state)
{
    (void)state;
    static const refusal_case rows[] = {
        { FLAT(",'layer_types':['full_attention','sliding_attention']"), VUG_FORMAT,
          "key 'layer_types' must list 4 layers, it lists 2" },
        { FLAT(",'layer_types':'full_attention'"), VUG_FORMAT,
          "key 'layer_types' must list 4 layers, it lists 0" },
        { FLAT(",'layer_types':[1,2,3,4]"), VUG_UNSUPPORTED,
          "key 'layer_types': layer 0 is '1', expected 'full_attention' or 'sliding_attention'" },
        { FLAT(",'sliding_window':null"), VUG_FORMAT,
          "key 'sliding_window' is null, but layer 0 is sliding" },
        { FLAT(",'sliding_window':0"), VUG_FORMAT,
          "key 'sliding_window' must be a whole number from 1 to 1073741824" },
        { FLAT(",'sliding_window_pattern':0"), VUG_FORMAT,
          "key 'sliding_window_pattern' must be a whole number from 1 to 1024" },
        { FLAT(",'rope_scaling':{'rope_type':'linear'}"), VUG_FORMAT,
          "RoPE type 'linear' needs the key 'factor'" },
        { FLAT(",'rope_scaling':{'rope_type':'linear','factor':0}"), VUG_FORMAT,
          "key 'factor' must be a number from 0.001 to 1e+06" },
        { FLAT(",'rope_scaling':8"), VUG_FORMAT, "key 'rope_scaling' must be an object" },
        { FLAT(",'rope_parameters':[]"), VUG_FORMAT, "key 'rope_parameters' must be an object" },
        { FLAT(",'rope_parameters':{'full_attention':1}"), VUG_FORMAT,
          "key 'full_attention' must be an object" },
        { FLAT(",'rope_theta':'1e6'"), VUG_FORMAT,
          "key 'rope_theta' must be a number from 1 to 1e+12" },
        { FLAT(",'eos_token_id':'</s>'"), VUG_FORMAT,
          "key 'eos_token_id' must be a token id or a list of them" },
        { FLAT(",'eos_token_id':[1,-1]"), VUG_FORMAT,
          "key 'eos_token_id' must be a token id or a list of them" },
        { FLAT(",'eos_token_id':[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"), VUG_LIMIT,
          "key 'eos_token_id' lists more than 16 ids" },
        { FLAT(",'attention_bias':0"), VUG_FORMAT, "key 'attention_bias' must be true or false" },
        { FLAT(",'hidden_activation':1"), VUG_FORMAT, "key 'hidden_activation' must be a string" },
        { FLAT(",'dtype':16"), VUG_FORMAT, "key 'dtype' must be a string" },
        { "{'model_type':'gemma3','text_config':[]}", VUG_FORMAT,
          "key 'text_config' must be an object" },
    };
    assert_refused(rows, COUNT(rows));
}

static void test_invalid_sizes_are_refused(void **state)
{
    (void)state;
    static const refusal_case rows[] = {
        { "{'model_type':'gemma3','num_attention_heads':5,'num_key_value_heads':2}", VUG_FORMAT,
          "5 query heads do not divide among 2 key/value heads" },
        { "{'model_type':'gemma3','num_attention_heads':2,'num_key_value_heads':4}", VUG_FORMAT,
          "2 query heads do not divide among 4 key/value heads" },
        { "{'model_type':'gemma3','head_dim':15}", VUG_FORMAT,
          "key 'head_dim' must be even, it is 15" },
        { "{'model_type':'gemma3','hidden_size':0}", VUG_FORMAT,
          "key 'hidden_size' must be a whole number from 1 to 1048576" },
        { "{'model_type':'gemma3','hidden_size':-1}", VUG_FORMAT,
          "key 'hidden_size' must be a whole number from 1 to 1048576" },
        { "{'model_type':'gemma3','hidden_size':12.5}", VUG_FORMAT,
          "key 'hidden_size' must be a whole number from 1 to 1048576" },
        { "{'model_type':'gemma3','hidden_size':99999999999999999999}", VUG_FORMAT,
          "key 'hidden_size' must be a whole number from 1 to 1048576" },
        { "{'model_type':'gemma3','hidden_size':'12'}", VUG_FORMAT,
          "key 'hidden_size' must be a whole number from 1 to 1048576" },
        { "{'model_type':'gemma3','num_hidden_layers':1025}", VUG_FORMAT,
          "key 'num_hidden_layers' must be a whole number from 1 to 1024" },
        { "{'model_type':'gemma3','num_key_value_heads':0}", VUG_FORMAT,
          "key 'num_key_value_heads' must be a whole number from 1 to 4096" },
        { "{'model_type':'gemma3','head_dim':4098}", VUG_FORMAT,
          "key 'head_dim' must be a whole number from 2 to 4096" },
        { "{'model_type':'gemma3','vocab_size':16777217}", VUG_FORMAT,
          "key 'vocab_size' must be a whole number from 1 to 16777216" },
        { "{'model_type':'gemma3','intermediate_size':16777217}", VUG_FORMAT,
          "key 'intermediate_size' must be a whole number from 1 to 16777216" },
        { "{'model_type':'gemma3','max_position_embeddings':0}", VUG_FORMAT,
          "key 'max_position_embeddings' must be a whole number from 1 to 1073741824" },
        { "{'model_type':'gemma3','rms_norm_eps':-1}", VUG_FORMAT,
          "key 'rms_norm_eps' must be a number from 0 to 1" },
        { "{'model_type':'gemma3','query_pre_attn_scalar':0}", VUG_FORMAT,
          "key 'query_pre_attn_scalar' must be a number from 1e-06 to 1e+12" },
    };
    assert_refused(rows, COUNT(rows));
}

/* ---- mutated configs --------------------------------------------------------------- */

/* The sizes of an accepted config are safe to multiply and divide by; a refused config has a
 * message with the file's name. */
static void assert_sane(vug_str json)
{
    vug_config c;
    vug_err err = { 0 };
    if (vug_config_read(json, "config.json", &c, &err) != VUG_OK) {
        assert_non_null(strstr(err.msg, "config.json: "));
        return;
    }
    assert_non_null(c.arch);
    assert_in_range(c.n_layers, 1, VUG_MAX_LAYERS);
    assert_in_range(c.d_model, 1, 1 << 20);
    assert_in_range(c.n_kv_heads, 1, c.n_heads);
    assert_int_equal(c.n_heads % c.n_kv_heads, 0);
    assert_int_equal(c.d_head % 2, 0);
    assert_in_range(c.d_head, 2, 4096);
    assert_in_range(c.d_ffn, 1, 1 << 24);
    assert_in_range(c.n_vocab, 1, 1 << 24);
    assert_in_range(c.window, 0, 1 << 30);
    for (int64_t i = 0; i < c.n_layers; i++)
        assert_true(!c.windowed[i] || c.window > 0);
    assert_in_range(c.context, 1, 1 << 30);
    assert_in_range(c.n_eos, 0, VUG_MAX_EOS);
    assert_true(c.attn_scale > 0 && c.norm_eps >= 0);
    assert_true(c.rope_full.theta >= 1 && c.rope_full.attention_factor > 0);
    /* Only Gemma 3 has a second RoPE table. */
    assert_true(c.rope_window.theta >= 1 || strcmp(c.arch->name, "gemma3") != 0);
}

static void read_every_variant(const char *path)
{
    /* Besides flipped bits, every byte becomes each byte that means something in JSON. */
    static const char meaning[] = "{}[]\",:\\/0-+9.eEtnu \n\t";
    vug_text file;
    vug_err err = { 0 };
    if (vug_read_file(path, 1 << 20, &file, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    for (size_t n = 0; n <= file.len; n++) {
        /* An allocation of its own, so that a sanitizer sees a read past the end. */
        char *cut = vug_alloc(n, 1);
        assert_non_null(cut);
        memcpy(cut, file.ptr, n);
        assert_sane((vug_str){ cut, n });
        vug_free(cut);
    }
    for (size_t at = 0; at < file.len; at++) {
        const char kept = file.ptr[at];
        for (int bit = 0; bit < 8; bit++) {
            file.ptr[at] = (char)(kept ^ (1 << bit));
            assert_sane((vug_str){ file.ptr, file.len });
        }
        for (size_t i = 0; i < sizeof(meaning); i++) {
            file.ptr[at] = meaning[i];
            assert_sane((vug_str){ file.ptr, file.len });
        }
        file.ptr[at] = kept;
    }
    vug_text_release(&file);
}

static void test_every_byte_changed_in_flat_configs(void **state)
{
    (void)state;
    read_every_variant("tests/golden/models/gemma3-odd/config.json");
}

static void test_every_byte_changed_in_scaled_ropes(void **state)
{
    (void)state;
    read_every_variant("tests/golden/models/llama3-biases/config.json");
    read_every_variant("tests/golden/models/qwen3-yarn/config.json");
    read_every_variant("tests/golden/models/qwen2/config.json");
    read_every_variant("tests/golden/models/gemma2/config.json");
}

static void test_every_byte_changed_in_nested_configs(void **state)
{
    (void)state;
    read_every_variant("tests/golden/models/gemma3-mixed/config.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_attention_softcap_is_ignored),
        cmocka_unit_test(test_layer_types),
        cmocka_unit_test(test_rope_keys),
        cmocka_unit_test(test_transformers_4_and_5_agree),
        cmocka_unit_test(test_nested_configs),
        cmocka_unit_test(test_eos_and_dtype),
        cmocka_unit_test(test_unknown_models_are_refused),
        cmocka_unit_test(test_unsupported_values_are_refused),
        cmocka_unit_test(test_invalid_values_are_refused),
        cmocka_unit_test(test_invalid_sizes_are_refused),
        cmocka_unit_test(test_every_byte_changed_in_flat_configs),
        cmocka_unit_test(test_every_byte_changed_in_nested_configs),
        cmocka_unit_test(test_every_byte_changed_in_scaled_ropes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
