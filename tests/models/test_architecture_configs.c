/*
 * The configs of Gemma 1 and 2, Llama 3, Qwen 2 and 3: defaults, the spellings of transformers
 * 4 and 5, error messages; the frequencies of every RoPE type. Configs are written with ' for ".
 */
#include "test.h"

#include <math.h>

#include "config_help.h"
#include "models/common.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- configs ------------------------------------------------------------------------- */

static void assert_layers(const vug_config *c, const char *kinds)
{
    assert_int_equal(c->n_layers, strlen(kinds));
    for (int64_t i = 0; i < c->n_layers; i++)
        assert_int_equal(c->windowed[i], kinds[i] == 's');
}

/* Source: the configuration classes of transformers 5. The config is only a model type. */
static void test_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        int64_t size[9]; /* layers, D, H, K, E, F, V, context, eos; -1: none */
        float scale, attn_cap, final_cap;
        bool tied;
    } rows[] = {
        { "gemma", { 28, 3072, 16, 16, 256, 24576, 256000, 8192, 1 }, 1.0F / 16, 0, 0, true },
        { "gemma2", { 26, 2304, 8, 4, 256, 9216, 256000, 8192, 1 }, 1.0F / 16, 50, 30, true },
        { "llama", { 32, 4096, 32, 32, 128, 11008, 32000, 2048, 2 }, 0.0883883461F, 0, 0, false },
        { "qwen2",
          { 32, 4096, 32, 32, 128, 22016, 151936, 32768, -1 },
          0.0883883461F,
          0,
          0,
          false },
        { "qwen3",
          { 32, 4096, 32, 32, 128, 22016, 151936, 32768, -1 },
          0.0883883461F,
          0,
          0,
          false },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[64];
        (void)snprintf(text, sizeof(text), "{'model_type':'%s'}", rows[i].type);
        const vug_config c = help_config(text);
        const int64_t found[] = { c.n_layers,   c.d_model, c.n_heads,
                                  c.n_kv_heads, c.d_head,  c.d_ffn,
                                  c.n_vocab,    c.context, c.n_eos ? c.eos[0] : -1 };
        assert_string_equal(c.arch->name, rows[i].type);
        for (size_t k = 0; k < COUNT(found); k++)
            assert_int_equal(found[k], rows[i].size[k]);
        assert_true(c.norm_eps == 1e-6F && c.attn_scale == rows[i].scale);
        assert_true(c.attn_softcap == rows[i].attn_cap && c.final_softcap == rows[i].final_cap);
        assert_int_equal(c.tied, rows[i].tied);
        assert_false(c.attn_bias || c.mlp_bias);
        assert_int_equal(c.rope_full.type, VUG_ROPE_DEFAULT);
        assert_true(c.rope_full.theta == 1e4 && c.rope_full.attention_factor == 1);
        for (int64_t l = 0; l < c.n_layers; l++)
            assert_int_equal(c.windowed[l], strcmp(rows[i].type, "gemma2") == 0 && l % 2 == 0);
    }
}

static void test_default_heads(void **state)
{
    (void)state;
    vug_config c = help_config("{'model_type':'llama','hidden_size':60,'num_attention_heads':6,"
                               "'num_key_value_heads':null,'head_dim':null}");
    assert_true(c.n_kv_heads == 6 && c.d_head == 10);
    c = help_config("{'model_type':'qwen2','hidden_size':60,'num_attention_heads':6,"
                    "'num_key_value_heads':null}");
    assert_true(c.n_kv_heads == 6 && c.d_head == 10);
    /* The division rounds down, as in the reference. */
    c = help_config("{'model_type':'qwen2','hidden_size':50,'num_attention_heads':4,"
                    "'num_key_value_heads':2}");
    assert_int_equal(c.d_head, 12);
    c = help_config("{'model_type':'qwen3','hidden_size':60,'num_attention_heads':6,"
                    "'num_key_value_heads':3}");
    assert_int_equal(c.d_head, 128);
    assert_true(c.attn_scale == 0.0883883461F);
}

static void test_softcaps(void **state)
{
    (void)state;
    vug_config c = help_config("{'model_type':'gemma2','attn_logit_softcapping':7.5,"
                               "'final_logit_softcapping':null,'query_pre_attn_scalar':144}");
    assert_true(c.attn_softcap == 7.5F && c.final_softcap == 0);
    assert_true(c.attn_scale == 1.0F / 12);
    c = help_config("{'model_type':'gemma2','attn_logit_softcapping':null}");
    assert_true(c.attn_softcap == 0 && c.final_softcap == 30);
}

#define LAYERS3 "'num_hidden_layers':3"

static void test_layer_types(void **state)
{
    (void)state;
    static const struct {
        const char *config, *kinds;
    } rows[] = {
        { "{'model_type':'gemma2'," LAYERS3 "}", "sfs" },
        { "{'model_type':'gemma2'," LAYERS3
          ",'layer_types':['full_attention','full_attention','sliding_attention']}",
          "ffs" },
        { "{'model_type':'gemma'," LAYERS3 ",'sliding_window':4}", "fff" },
        { "{'model_type':'llama'," LAYERS3 ",'sliding_window':4}", "fff" },
        { "{'model_type':'qwen2'," LAYERS3 ",'max_window_layers':1}", "fff" },
        { "{'model_type':'qwen2'," LAYERS3
          ",'use_sliding_window':false,'sliding_window':7,'max_window_layers':0}",
          "fff" },
        { "{'model_type':'qwen2'," LAYERS3 ",'use_sliding_window':true,'max_window_layers':1}",
          "fss" },
        { "{'model_type':'qwen3'," LAYERS3
          ",'use_sliding_window':true,'sliding_window':null,'max_window_layers':1}",
          "fff" },
        { "{'model_type':'qwen3'," LAYERS3 ",'use_sliding_window':true}", "fff" },
        { "{'model_type':'qwen3'," LAYERS3 ",'use_sliding_window':true,'max_window_layers':0,"
          "'layer_types':['full_attention','sliding_attention','full_attention']}",
          "fsf" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const vug_config c = help_config(rows[i].config);
        assert_layers(&c, rows[i].kinds);
    }
    assert_int_equal(help_config("{'model_type':'gemma2'}").window, 4096);
    assert_int_equal(help_config("{'model_type':'qwen2','sliding_window':9}").window, 9);
}

static void test_activations(void **state)
{
    (void)state;
    (void)help_config("{'model_type':'gemma','hidden_act':'gelu'}");
    (void)help_config("{'model_type':'gemma','hidden_act':'gelu','hidden_activation':null}");
    (void)help_config("{'model_type':'gemma','hidden_act':'gelu_pytorch_tanh'}");
    (void)help_config("{'model_type':'gemma','hidden_act':'gelu',"
                      "'hidden_activation':'gelu_pytorch_tanh'}");
    (void)help_config("{'model_type':'gemma2','hidden_act':'gelu'}"); /* no key of Gemma 2 */
}

static void test_biases(void **state)
{
    (void)state;
    vug_config c = help_config("{'model_type':'llama','attention_bias':true}");
    assert_true(c.attn_bias && !c.mlp_bias);
    c = help_config("{'model_type':'llama','mlp_bias':true}");
    assert_true(!c.attn_bias && c.mlp_bias);
    c = help_config("{'model_type':'qwen3','attention_bias':true}");
    assert_true(c.attn_bias && !c.mlp_bias);
}

/* ---- RoPE ---------------------------------------------------------------------------- */

static void test_rope_keys(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        vug_rope rope;
    } rows[] = {
        { "'rope_theta':5e5", { VUG_ROPE_DEFAULT, .theta = 5e5, .attention_factor = 1 } },
        { "'rope_theta':5e5,'rope_scaling':null", { .theta = 5e5, .attention_factor = 1 } },
        { "'rope_theta':5e5,'rope_scaling':{}", { .theta = 5e5, .attention_factor = 1 } },
        { "'rope_parameters':{'rope_type':'default','rope_theta':7e5}",
          { .theta = 7e5, .attention_factor = 1 } },
        { "'rope_theta':5e5,'rope_parameters':{'rope_type':'linear','factor':2}",
          { VUG_ROPE_LINEAR, .theta = 5e5, .factor = 2, .attention_factor = 1 } },
        /* If both versions' keys are present, all of the older ones are used. */
        { "'rope_theta':5e5,'rope_scaling':{'type':'linear','factor':3},"
          "'rope_parameters':{'rope_type':'default','rope_theta':7e5}",
          { VUG_ROPE_LINEAR, .theta = 5e5, .factor = 3, .attention_factor = 1 } },
        { "'rope_scaling':{},'rope_parameters':{'rope_type':'linear','factor':2}",
          { VUG_ROPE_LINEAR, .theta = 1e4, .factor = 2, .attention_factor = 1 } },
        { "'rope_scaling':{'rope_type':'llama3','factor':8,'low_freq_factor':1,"
          "'high_freq_factor':4,'original_max_position_embeddings':99}",
          { VUG_ROPE_LLAMA3, 1e4, 8, 99, 1, 4, 1, false, 0 } },
        { "'max_position_embeddings':77,'rope_parameters':{'rope_type':'llama3','factor':8,"
          "'low_freq_factor':1,'high_freq_factor':4}",
          { VUG_ROPE_LLAMA3, 1e4, 8, 77, 1, 4, 1, false, 0 } },
        { "'rope_scaling':{'type':'yarn','factor':4,'original_max_position_embeddings':99}",
          { VUG_ROPE_YARN, 1e4, 4, 99, 1, 32, 1.1386294361119891, true, 0 } },
        { "'max_position_embeddings':77,'rope_scaling':{'type':'yarn','factor':1,"
          "'beta_fast':20,'beta_slow':2,'truncate':false}",
          { VUG_ROPE_YARN, 1e4, 1, 77, 2, 20, 1, false, 0 } },
        { "'rope_scaling':{'type':'yarn','factor':4,'attention_factor':0.5,'beta_fast':0,"
          "'beta_slow':null,'mscale':2,'mscale_all_dim':3}",
          { VUG_ROPE_YARN, 1e4, 4, 2048, 1, 32, 0.5, true, 0 } },
        { "'rope_scaling':{'type':'yarn','factor':4,'mscale':2,'mscale_all_dim':1}",
          { VUG_ROPE_YARN, 1e4, 4, 2048, 1, 32, 1.2772588722239781 / 1.1386294361119891, true,
            0 } },
        { "'rope_scaling':{'type':'yarn','factor':4,'mscale':2}",
          { VUG_ROPE_YARN, 1e4, 4, 2048, 1, 32, 1.1386294361119891, true, 0 } },
        { "'original_max_position_embeddings':55,'rope_scaling':{'type':'yarn','factor':4,"
          "'original_max_position_embeddings':99}",
          { VUG_ROPE_YARN, 1e4, 4, 55, 1, 32, 1.1386294361119891, true, 0 } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[512];
        (void)snprintf(text, sizeof(text), "{'model_type':'llama',%s}", rows[i].keys);
        const vug_rope found = help_config(text).rope_full, *want = &rows[i].rope;
        assert_int_equal(found.type, want->type);
        assert_true(found.theta == want->theta && found.factor == want->factor);
        assert_true(fabs(found.attention_factor - want->attention_factor) < 1e-15);
        if (want->type == VUG_ROPE_LLAMA3 || want->type == VUG_ROPE_YARN) {
            assert_true(found.original_context == want->original_context);
            assert_true(found.low == want->low && found.high == want->high);
            assert_int_equal(found.truncate, want->truncate);
        }
    }
}

static void assert_near(float found, double want)
{
    /* A few operations in F32. */
    if (!(fabs((double)found - want) <= 4 * 0x1p-23 * want))
        fail_msg("%.9g, expected %.9g", (double)found, want);
}

/* Expected: the published models' values, from the reference in higher precision. */
static void test_rope_frequencies(void **state)
{
    (void)state;
    float inv[64];
    const vug_rope llama3 = { VUG_ROPE_LLAMA3, 5e5, 8, 8192, 1, 4, 1, false, 0 };
    vug_rope_frequencies(&llama3, 128, inv);
    assert_near(inv[0], 1);
    assert_near(inv[28], 0.00321144599);
    assert_near(inv[29], 0.00216657076);
    assert_near(inv[32], 0.000524846161);
    assert_near(inv[34], 0.000178507813);
    assert_near(inv[35], 9.55621235e-05);
    assert_near(inv[63], 3.06892599e-07);

    vug_rope yarn = { VUG_ROPE_YARN, 1e6, 4, 32768, 1, 32, 1, true, 0 };
    vug_rope_frequencies(&yarn, 128, inv);
    assert_near(inv[23], 1 / pow(1e6, 46.0 / 128));
    assert_near(inv[24], 0.00537532149);
    assert_near(inv[30], 0.00106436098);
    assert_near(inv[40], 4.4456985e-05);
    /* Without rounding the range is from 23.6 to 39.65. */
    yarn.truncate = false;
    vug_rope_frequencies(&yarn, 128, inv);
    const double from = 128 * log(32768 / (64 * M_PI)) / (2 * log(1e6));
    const double to = 128 * log(32768 / (2 * M_PI)) / (2 * log(1e6));
    const double plain = 1 / pow(1e6, 60.0 / 128), r = (30 - from) / (to - from);
    assert_near(inv[30], plain * (1 - r) + plain / 4 * r);
    /* An empty range gives a step, not a division by zero. */
    yarn = (vug_rope){ VUG_ROPE_YARN, 1e6, 4, 6, 1, 32, 1, true, 0 };
    vug_rope_frequencies(&yarn, 128, inv);
    assert_near(inv[0], 1);
    assert_near(inv[1], 1 / pow(1e6, 2.0 / 128) / 4);

    const vug_rope linear = { VUG_ROPE_LINEAR, .theta = 1e6, .factor = 8, .attention_factor = 1 };
    vug_rope_frequencies(&linear, 128, inv);
    assert_near(inv[1], 1 / pow(1e6, 2.0 / 128) / 8);
}

/* ---- refused ----------------------------------------------------------------- */

typedef struct {
    const char *config;
    vug_status code;
    const char *message; /* after "config.json: " */
} refusal;

static void test_unsupported_configs_are_refused(void **state)
{
    (void)state;
    static const refusal rows[] = {
        { "{'model_type':'gemma','hidden_act':'silu'}", VUG_UNSUPPORTED,
          "hidden_act 'silu' is not supported for Gemma 1 (gelu_pytorch_tanh)" },
        { "{'model_type':'gemma','hidden_act':'gelu','hidden_activation':'gelu'}", VUG_UNSUPPORTED,
          "hidden_activation 'gelu' is not supported for Gemma 1 (gelu_pytorch_tanh)" },
        { "{'model_type':'gemma2','hidden_activation':'gelu'}", VUG_UNSUPPORTED,
          "hidden_activation 'gelu' is not supported for Gemma 2 (gelu_pytorch_tanh)" },
        { "{'model_type':'llama','hidden_act':'gelu'}", VUG_UNSUPPORTED,
          "hidden_act 'gelu' is not supported for Llama 3 (silu)" },
        { "{'model_type':'qwen2','hidden_act':'relu'}", VUG_UNSUPPORTED,
          "hidden_act 'relu' is not supported for Qwen 2 (silu)" },
        { "{'model_type':'qwen3','hidden_act':'relu'}", VUG_UNSUPPORTED,
          "hidden_act 'relu' is not supported for Qwen 3 (silu)" },
        { "{'model_type':'gemma','attention_bias':true}", VUG_UNSUPPORTED,
          "attention_bias is not supported for Gemma 1" },
        { "{'model_type':'gemma2','attention_bias':true}", VUG_UNSUPPORTED,
          "attention_bias is not supported for Gemma 2" },
        { "{'model_type':'gemma2','use_bidirectional_attention':true}", VUG_UNSUPPORTED,
          "use_bidirectional_attention is set: embedding models are not supported" },
        { "{'model_type':'gemma2','sliding_window':null}", VUG_FORMAT,
          "key 'sliding_window' is null, but layer 0 is sliding" },
        { "{'model_type':'gemma2','attn_logit_softcapping':0}", VUG_FORMAT,
          "key 'attn_logit_softcapping' must be a number from 0.001 to 1e+09" },
        { "{'model_type':'qwen2'," LAYERS3
          ",'layer_types':['full_attention','sliding_attention','full_attention']}",
          VUG_FORMAT, "key 'use_sliding_window' is not true, but layer 1 is sliding" },
        { "{'model_type':'qwen3'," LAYERS3 ",'use_sliding_window':true,'sliding_window':null,"
          "'layer_types':['full_attention','full_attention','sliding_attention']}",
          VUG_FORMAT, "key 'sliding_window' is null, but layer 2 is sliding" },
        { "{'model_type':'llama','hidden_size':60,'num_attention_heads':4}", VUG_FORMAT,
          "key 'head_dim' is missing, and 60 over 4 heads gives 15, expected an even number from 2 "
          "to 4096" },
        { "{'model_type':'llama','hidden_size':3,'num_attention_heads':4}", VUG_FORMAT,
          "key 'head_dim' is missing, and 3 over 4 heads gives 0, expected an even number from 2 "
          "to "
          "4096" },
        { "{'model_type':'llama','head_dim':15}", VUG_FORMAT,
          "key 'head_dim' must be even, it is 15" },
        { "{'model_type':'qwen2','num_attention_heads':14,'head_dim':64}", VUG_FORMAT,
          "14 query heads do not divide among 32 key/value heads" },
        { "{'model_type':'llama','rope_scaling':{'type':'dynamic','factor':2}}", VUG_UNSUPPORTED,
          "RoPE type 'dynamic' is not supported (default, linear, llama3, yarn)" },
        { "{'model_type':'llama','rope_scaling':{'type':'yarn'}}", VUG_FORMAT,
          "RoPE type 'yarn' needs the key 'factor'" },
        { "{'model_type':'llama','rope_scaling':{'type':'llama3','factor':8,"
          "'high_freq_factor':4}}",
          VUG_FORMAT, "RoPE type 'llama3' needs the key 'low_freq_factor'" },
        { "{'model_type':'llama','rope_scaling':{'type':'llama3','factor':8,'low_freq_factor':4,"
          "'high_freq_factor':4}}",
          VUG_FORMAT, "key 'high_freq_factor' must be above 'low_freq_factor'" },
        { "{'model_type':'llama','rope_theta':1,'rope_scaling':{'type':'yarn','factor':8}}",
          VUG_FORMAT, "RoPE type 'yarn' needs a rope_theta above 1" },
        { "{'model_type':'llama','rope_parameters':{'rope_theta':5e5,"
          "'partial_rotary_factor':0.5}}",
          VUG_UNSUPPORTED, "partial_rotary_factor is not supported" },
        { "{'model_type':'llama','partial_rotary_factor':0.5}", VUG_UNSUPPORTED,
          "partial_rotary_factor is not supported" },
        { "{'model_type':'qwen3','rope_parameters':{'full_attention':{'rope_theta':5e5}}}",
          VUG_UNSUPPORTED,
          "key 'rope_parameters' has an object for each kind of layer, but qwen3 needs "
          "one for all layers" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        vug_config c;
        vug_err err = { 0 };
        char expected[sizeof(err.msg)];
        (void)snprintf(expected, sizeof(expected), "config.json: %s", rows[i].message);
        assert_int_equal(help_read_config(rows[i].config, &c, &err), rows[i].code);
        assert_string_equal(err.msg, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_default_heads),
        cmocka_unit_test(test_softcaps),
        cmocka_unit_test(test_layer_types),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_biases),
        cmocka_unit_test(test_rope_keys),
        cmocka_unit_test(test_rope_frequencies),
        cmocka_unit_test(test_unsupported_configs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
