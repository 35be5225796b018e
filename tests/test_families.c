/*
 * Gemma 1 and 2, Llama 3, Qwen 2 and 3: what their configs say, by default and in the
 * spellings of transformers 4 and 5; which tensors they must have; the frequencies of
 * every RoPE type. Configs are written with ' for ".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_help.h"
#include "core/mem.h"
#include "models/common.h"
#include "weights/weights.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- configs ------------------------------------------------------------------------- */

static void assert_layers(const vug_config *c, const char *kinds)
{
    assert_int_equal(c->n_layers, strlen(kinds));
    for (int64_t i = 0; i < c->n_layers; i++)
        assert_int_equal(c->windowed[i], kinds[i] == 's');
}

/* The configuration classes of transformers 5, a type and nothing else. */
static void defaults(void **state)
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
        assert_true(c.rope_full.theta == 1e4 && c.rope_full.attention == 1);
        for (int64_t l = 0; l < c.n_layers; l++)
            assert_int_equal(c.windowed[l], strcmp(rows[i].type, "gemma2") == 0 && l % 2 == 0);
    }
}

static void heads_that_are_not_given(void **state)
{
    (void)state;
    vug_config c = help_config("{'model_type':'llama','hidden_size':60,'num_attention_heads':6,"
                               "'num_key_value_heads':null,'head_dim':null}");
    assert_true(c.n_kv_heads == 6 && c.d_head == 10);
    c = help_config("{'model_type':'qwen2','hidden_size':60,'num_attention_heads':6,"
                    "'num_key_value_heads':null}");
    assert_true(c.n_kv_heads == 6 && c.d_head == 10);
    /* The width that a division gives is a whole number, as in the reference. */
    c = help_config("{'model_type':'qwen2','hidden_size':50,'num_attention_heads':4,"
                    "'num_key_value_heads':2}");
    assert_int_equal(c.d_head, 12);
    c = help_config("{'model_type':'qwen3','hidden_size':60,'num_attention_heads':6,"
                    "'num_key_value_heads':3}");
    assert_int_equal(c.d_head, 128);
    assert_true(c.attn_scale == 0.0883883461F);
}

static void softcaps(void **state)
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

static void kinds_of_layers(void **state)
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

static void activations(void **state)
{
    (void)state;
    (void)help_config("{'model_type':'gemma','hidden_act':'gelu'}");
    (void)help_config("{'model_type':'gemma','hidden_act':'gelu','hidden_activation':null}");
    (void)help_config("{'model_type':'gemma','hidden_act':'gelu_pytorch_tanh'}");
    (void)help_config("{'model_type':'gemma','hidden_act':'gelu',"
                      "'hidden_activation':'gelu_pytorch_tanh'}");
    (void)help_config("{'model_type':'gemma2','hidden_act':'gelu'}"); /* no key of Gemma 2 */
}

static void biases(void **state)
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

static void rope_keys(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        vug_rope rope;
    } rows[] = {
        { "'rope_theta':5e5", { VUG_ROPE_DEFAULT, .theta = 5e5, .attention = 1 } },
        { "'rope_theta':5e5,'rope_scaling':null", { .theta = 5e5, .attention = 1 } },
        { "'rope_theta':5e5,'rope_scaling':{}", { .theta = 5e5, .attention = 1 } },
        { "'rope_parameters':{'rope_type':'default','rope_theta':7e5}",
          { .theta = 7e5, .attention = 1 } },
        { "'rope_theta':5e5,'rope_parameters':{'rope_type':'linear','factor':2}",
          { VUG_ROPE_LINEAR, .theta = 5e5, .factor = 2, .attention = 1 } },
        /* Where both generations are there the older one is taken, whole. */
        { "'rope_theta':5e5,'rope_scaling':{'type':'linear','factor':3},"
          "'rope_parameters':{'rope_type':'default','rope_theta':7e5}",
          { VUG_ROPE_LINEAR, .theta = 5e5, .factor = 3, .attention = 1 } },
        { "'rope_scaling':{},'rope_parameters':{'rope_type':'linear','factor':2}",
          { VUG_ROPE_LINEAR, .theta = 1e4, .factor = 2, .attention = 1 } },
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
        assert_true(fabs(found.attention - want->attention) < 1e-15);
        if (want->type == VUG_ROPE_LLAMA3 || want->type == VUG_ROPE_YARN) {
            assert_true(found.original == want->original);
            assert_true(found.low == want->low && found.high == want->high);
            assert_int_equal(found.whole, want->whole);
        }
    }
}

static void assert_near(float found, double want)
{
    /* Nine digits of F32 arithmetic of a few steps. */
    if (!(fabs((double)found - want) <= 4 * 0x1p-23 * want))
        fail_msg("%.9g, expected %.9g", (double)found, want);
}

/* The published models, from the reference in higher precision. */
static void frequencies(void **state)
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
    yarn.whole = false;
    vug_rope_frequencies(&yarn, 128, inv);
    const double from = 128 * log(32768 / (64 * M_PI)) / (2 * log(1e6));
    const double to = 128 * log(32768 / (2 * M_PI)) / (2 * log(1e6));
    const double plain = 1 / pow(1e6, 60.0 / 128), r = (30 - from) / (to - from);
    assert_near(inv[30], plain * (1 - r) + plain / 4 * r);
    /* Ends that meet: a step, and no division by zero. */
    yarn = (vug_rope){ VUG_ROPE_YARN, 1e6, 4, 6, 1, 32, 1, true, 0 };
    vug_rope_frequencies(&yarn, 128, inv);
    assert_near(inv[0], 1);
    assert_near(inv[1], 1 / pow(1e6, 2.0 / 128) / 4);

    const vug_rope linear = { VUG_ROPE_LINEAR, .theta = 1e6, .factor = 8, .attention = 1 };
    vug_rope_frequencies(&linear, 128, inv);
    assert_near(inv[1], 1 / pow(1e6, 2.0 / 128) / 8);
}

/* ---- what is refused ----------------------------------------------------------------- */

typedef struct {
    const char *config;
    vug_status code;
    const char *sentence; /* behind "config.json: " */
} refusal;

static void configs_that_are_refused(void **state)
{
    (void)state;
    static const refusal rows[] = {
        { "{'model_type':'gemma','hidden_act':'silu'}", VUG_UNSUPPORTED,
          "hidden_act 'silu' is not known for Gemma 1 (gelu_pytorch_tanh)" },
        { "{'model_type':'gemma','hidden_act':'gelu','hidden_activation':'gelu'}", VUG_UNSUPPORTED,
          "hidden_activation 'gelu' is not known for Gemma 1 (gelu_pytorch_tanh)" },
        { "{'model_type':'gemma2','hidden_activation':'gelu'}", VUG_UNSUPPORTED,
          "hidden_activation 'gelu' is not known for Gemma 2 (gelu_pytorch_tanh)" },
        { "{'model_type':'llama','hidden_act':'gelu'}", VUG_UNSUPPORTED,
          "hidden_act 'gelu' is not known for Llama 3 (silu)" },
        { "{'model_type':'qwen2','hidden_act':'relu'}", VUG_UNSUPPORTED,
          "hidden_act 'relu' is not known for Qwen 2 (silu)" },
        { "{'model_type':'qwen3','hidden_act':'relu'}", VUG_UNSUPPORTED,
          "hidden_act 'relu' is not known for Qwen 3 (silu)" },
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
          "RoPE type 'dynamic' is not known (default, linear, llama3, yarn)" },
        { "{'model_type':'llama','rope_scaling':{'type':'yarn'}}", VUG_FORMAT,
          "RoPE type 'yarn' needs a key 'factor' beside it" },
        { "{'model_type':'llama','rope_scaling':{'type':'llama3','factor':8,"
          "'high_freq_factor':4}}",
          VUG_FORMAT, "RoPE type 'llama3' needs a key 'low_freq_factor' beside it" },
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
          "key 'rope_parameters' has a set for each kind of layer, qwen3 has one for all" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        vug_config c;
        vug_err err = { 0 };
        char expected[sizeof(err.msg)];
        (void)snprintf(expected, sizeof(expected), "config.json: %s", rows[i].sentence);
        assert_int_equal(help_read_config(rows[i].config, &c, &err), rows[i].code);
        assert_string_equal(err.msg, expected);
    }
}

/* ---- tensors ------------------------------------------------------------------------- */

enum { D = 12, F = 20, H = 4, K = 2, E = 6, V = 31, N_LAYERS = 2, HE = H * E, KE = K * E };

#define SIZES                                                                                \
    "'hidden_size':12,'intermediate_size':20,'num_hidden_layers':2,'num_attention_heads':4," \
    "'num_key_value_heads':2,'head_dim':6,'vocab_size':31"

typedef struct {
    const char *name; /* in a layer when it begins with a dot */
    int64_t dim[2];
    int rank;
    char of; /* a: attention biases of q, k, v; o: of the output; m: of the MLP;
                n: norms of q and k; 2: norms behind the blocks */
} tensor;

static const tensor tensors[] = {
    { "embed_tokens.weight", { V, D }, 2, 0 },
    { "norm.weight", { D }, 1, 0 },
    { ".input_layernorm.weight", { D }, 1, 0 },
    { ".self_attn.q_proj.weight", { HE, D }, 2, 0 },
    { ".self_attn.q_proj.bias", { HE }, 1, 'a' },
    { ".self_attn.k_proj.weight", { KE, D }, 2, 0 },
    { ".self_attn.k_proj.bias", { KE }, 1, 'a' },
    { ".self_attn.v_proj.weight", { KE, D }, 2, 0 },
    { ".self_attn.v_proj.bias", { KE }, 1, 'a' },
    { ".self_attn.q_norm.weight", { E }, 1, 'n' },
    { ".self_attn.k_norm.weight", { E }, 1, 'n' },
    { ".self_attn.o_proj.weight", { D, HE }, 2, 0 },
    { ".self_attn.o_proj.bias", { D }, 1, 'o' },
    { ".post_attention_layernorm.weight", { D }, 1, 0 },
    { ".pre_feedforward_layernorm.weight", { D }, 1, '2' },
    { ".mlp.gate_proj.weight", { F, D }, 2, 0 },
    { ".mlp.gate_proj.bias", { F }, 1, 'm' },
    { ".mlp.up_proj.weight", { F, D }, 2, 0 },
    { ".mlp.up_proj.bias", { F }, 1, 'm' },
    { ".mlp.down_proj.weight", { D, F }, 2, 0 },
    { ".mlp.down_proj.bias", { D }, 1, 'm' },
    { ".post_feedforward_layernorm.weight", { D }, 1, '2' },
};

/* Each architecture's config, and which of the tensors above it has. */
static const struct {
    const char *config, *has;
} kinds[] = {
    { "{'model_type':'gemma'," SIZES "}", "" },
    { "{'model_type':'gemma2'," SIZES "}", "2" },
    { "{'model_type':'llama'," SIZES "}", "" },
    { "{'model_type':'llama'," SIZES ",'attention_bias':true}", "ao" },
    { "{'model_type':'llama'," SIZES ",'mlp_bias':true}", "m" },
    { "{'model_type':'qwen2'," SIZES "}", "a" },
    { "{'model_type':'qwen3'," SIZES "}", "n" },
    { "{'model_type':'qwen3'," SIZES ",'attention_bias':true}", "nao" },
};

typedef struct {
    vug_config config;
    vug_weights *weights;
    const vug_tensor **sorted;
    vug_binding binding;
} checkpoint;

static uint8_t *add(checkpoint *c, const char *name, vug_dtype dtype, int rank, const int64_t *dim)
{
    uint8_t *data;
    vug_err err = { 0 };
    if (vug_weights_add(c->weights, vug_str_of(name), dtype, rank, dim, &data, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    return data;
}

/* All tensors of a kind but the `skip`th (of those it has), or with a shape of its own
 * when `misshape`; returns how many there are in all. `skipped` gets the name. */
static size_t begin(checkpoint *c, size_t kind, size_t skip, bool misshape, char *skipped)
{
    size_t n = 0;
    vug_err err = { 0 };
    memset(c, 0, sizeof(*c));
    c->config = help_config(kinds[kind].config);
    assert_int_equal(vug_weights_create("memory", &c->weights, &err), VUG_OK);
    for (size_t i = 0; i < COUNT(tensors); i++) {
        const tensor *t = &tensors[i];
        if (t->of && !strchr(kinds[kind].has, t->of))
            continue;
        for (int layer = 0; layer < (t->name[0] == '.' ? N_LAYERS : 1); layer++, n++) {
            char name[128];
            if (t->name[0] == '.')
                (void)snprintf(name, sizeof(name), "model.layers.%d%s", layer, t->name);
            else
                (void)snprintf(name, sizeof(name), "model.%s", t->name);
            if (n != skip) {
                (void)add(c, name, VUG_DTYPE_BF16, t->rank, t->dim);
                continue;
            }
            (void)snprintf(skipped, 128, "%s", name);
            if (misshape)
                (void)add(c, name, VUG_DTYPE_BF16, t->rank,
                          (const int64_t[]){ t->dim[0] + 1, t->dim[1] });
        }
    }
    return n;
}

static int by_name(const void *a, const void *b)
{
    const vug_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name.ptr, (*y)->name.ptr);
}

static vug_status bind(checkpoint *c, vug_err *err)
{
    const size_t n = vug_weights_count(c->weights);
    c->sorted = vug_alloc(n, sizeof(const vug_tensor *));
    assert_non_null(c->sorted);
    for (size_t i = 0; i < n; i++)
        c->sorted[i] = vug_weights_at(c->weights, i);
    qsort(c->sorted, n, sizeof(const vug_tensor *), by_name);
    return vug_bind(&c->config, &(vug_tensor_list){ c->sorted, n, "memory", VUG_NAMES_HF },
                    &c->binding, err);
}

static void end(checkpoint *c)
{
    vug_binding_release(&c->binding);
    vug_free(c->sorted);
    vug_weights_close(c->weights);
}

static uint32_t count_ops(const vug_graph *g, vug_op op)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < g->n; i++)
        n += g->node[i].op == op;
    return n;
}

static void every_tensor_is_needed(void **state)
{
    (void)state;
    enum { NONE = 1000 };
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        checkpoint c;
        char name[128], expected[256];
        vug_err err = { 0 };
        const size_t all = begin(&c, kind, NONE, false, name);
        assert_int_equal(bind(&c, &err), VUG_OK);
        assert_true(c.binding.tied);
        end(&c);
        for (size_t i = 0; i < all; i++) {
            (void)begin(&c, kind, i, false, name);
            assert_int_equal(bind(&c, &err), VUG_FORMAT);
            (void)snprintf(expected, sizeof(expected), "memory: 1 tensor missing: %s", name);
            assert_string_equal(err.msg, expected);
            end(&c);
            (void)begin(&c, kind, i, true, name);
            assert_int_equal(bind(&c, &err), VUG_FORMAT);
            (void)snprintf(expected, sizeof(expected), "memory: tensor '%s' has shape [", name);
            assert_memory_equal(err.msg, expected, strlen(expected));
            end(&c);
        }
    }
}

/* What another kind has, and biases that the config does not speak of. */
static void tensors_of_others_are_left_over(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        for (size_t i = 0; i < COUNT(tensors); i++) {
            const tensor *t = &tensors[i];
            if (!t->of || strchr(kinds[kind].has, t->of))
                continue;
            checkpoint c;
            char name[128], expected[256];
            vug_err err = { 0 };
            (void)begin(&c, kind, 1000, false, name);
            (void)snprintf(name, sizeof(name), "model.layers.1%s", t->name);
            (void)add(&c, name, VUG_DTYPE_BF16, t->rank, t->dim);
            assert_int_equal(bind(&c, &err), VUG_FORMAT);
            (void)snprintf(expected, sizeof(expected), "memory: 1 tensor that %s does not have: %s",
                           c.config.arch->name, name);
            assert_string_equal(err.msg, expected);
            end(&c);
        }
    }
}

static void graphs(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        checkpoint c;
        char name[128];
        vug_err err = { 0 };
        vug_graph g = { 0 };
        const char *has = kinds[kind].has;
        const bool gemma = strstr(kinds[kind].config, "gemma") != NULL;
        const uint32_t all = (uint32_t)begin(&c, kind, 1000, false, name);
        (void)add(&c, "lm_head.weight", VUG_DTYPE_BF16, 2, (const int64_t[]){ V, D });
        assert_int_equal(bind(&c, &err), VUG_OK);
        assert_false(c.binding.tied);
        if (vug_model_build(&c.binding, false, &g, &err) != VUG_OK)
            fail_msg("%s", err.msg);
        const uint32_t biases = (strchr(has, 'a') ? 3U : 0) + (strchr(has, 'o') ? 1U : 0) +
                                (strchr(has, 'm') ? 3U : 0);
        const uint32_t norms = 2 + (strpbrk(has, "2n") ? 2U : 0);
        assert_int_equal(count_ops(&g, VUG_OP_PARAM), all + 1);
        assert_int_equal(count_ops(&g, VUG_OP_ROPE_TABLE), 1);
        assert_int_equal(count_ops(&g, VUG_OP_LINEAR), 7 * N_LAYERS + 1);
        assert_int_equal(count_ops(&g, VUG_OP_BIAS), biases * N_LAYERS);
        assert_int_equal(count_ops(&g, VUG_OP_RMS_NORM), norms * N_LAYERS + 1);
        assert_int_equal(count_ops(&g, VUG_OP_GELU), gemma ? N_LAYERS : 0);
        assert_int_equal(count_ops(&g, VUG_OP_SILU), gemma ? 0 : N_LAYERS);
        assert_int_equal(count_ops(&g, VUG_OP_SOFTCAP), strchr(has, '2') ? 1 : 0);
        for (uint32_t i = 1; i < g.n; i++) {
            const vug_node *node = &g.node[i];
            if (node->op == VUG_OP_RMS_NORM)
                assert_true(node->at.norm.bias == (gemma ? 1 : 0));
            if (node->op == VUG_OP_ATTENTION) {
                assert_int_equal(node->at.attn.window,
                                 strchr(has, '2') && node->layer == 0 ? 4096 : 0);
                assert_true(node->at.attn.softcap == (strchr(has, '2') ? 50 : 0));
            }
            if (node->op == VUG_OP_EMBED)
                assert_true(node->at.scale.by == (gemma ? 3.46875F : 1));
        }
        vug_graph_release(&g);
        end(&c);
    }
}

/* A checkpoint with the divisors of its frequencies: they are the scaling, whatever the
 * config says. */
static void divisors_of_frequencies(void **state)
{
    (void)state;
    static const char *const names[] = { "rope_freqs.weight", "model.rope_freqs.weight" };
    static const float good[] = { 1, 2.5F, 8 };
    enum { LLAMA = 2, PAIRS = E / 2 };
    for (size_t i = 0; i < COUNT(names) + 2; i++) {
        checkpoint c;
        char unused[128];
        vug_err err = { 0 };
        vug_graph g = { 0 };
        const bool lies = i >= COUNT(names);
        (void)begin(&c, LLAMA, 1000, false, unused);
        c.config.rope_full = (vug_rope){ VUG_ROPE_LINEAR, .theta = 1e4, .factor = 3 };
        uint8_t *data =
                add(&c, names[i % COUNT(names)], VUG_DTYPE_F32, 1, (const int64_t[]){ PAIRS });
        memcpy(data, good, sizeof(good));
        const float lie = i == COUNT(names) ? 0 : NAN;
        if (lies)
            memcpy(data + sizeof(float), &lie, sizeof(lie));
        assert_int_equal(bind(&c, &err), VUG_OK);
        const vug_status st = vug_model_build(&c.binding, false, &g, &err);
        assert_int_equal(st, lies ? VUG_FORMAT : VUG_OK);
        if (lies)
            assert_non_null(strstr(err.msg, "rope_freqs.weight': divisor 1 is "));
        for (uint32_t k = 1; !lies && k < g.n; k++) {
            for (int p = 0; g.node[k].op == VUG_OP_ROPE_TABLE && p < PAIRS; p++)
                assert_near(g.node[k].at.table.inv[p], 1 / pow(1e4, 2.0 * p / E) / (double)good[p]);
        }
        vug_graph_release(&g);
        end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(heads_that_are_not_given),
        cmocka_unit_test(softcaps),
        cmocka_unit_test(kinds_of_layers),
        cmocka_unit_test(activations),
        cmocka_unit_test(biases),
        cmocka_unit_test(rope_keys),
        cmocka_unit_test(frequencies),
        cmocka_unit_test(configs_that_are_refused),
        cmocka_unit_test(every_tensor_is_needed),
        cmocka_unit_test(tensors_of_others_are_left_over),
        cmocka_unit_test(graphs),
        cmocka_unit_test(divisors_of_frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
