/*
 * Gemma 4: both spellings of one config, and every error message; the tensors and the KV
 * cache of each layer; the graph, in which layers without a cache of their own get only the
 * rows of the wanted logits. The golden checkpoints test what it computes (test_verify.c,
 * test_session.c).
 */
#include "test.h"

#include "config_help.h"
#include "engine_help.h"
#include "memory_checkpoint.h"
#include "models/models.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- configs ------------------------------------------------------------------------- */

/* Two sliding layers and a full one, then one of each kind that reads a shared cache. */
#define LAYERS(kinds) "'num_hidden_layers':5,'layer_types':[" kinds "]"
#define SLIDING       "'sliding_attention'"
#define FULL          "'full_attention'"
#define KINDS         SLIDING "," SLIDING "," FULL "," SLIDING "," FULL
#define SIZES                                                                                  \
    "'hidden_size':24,'intermediate_size':20,'num_attention_heads':4,'num_key_value_heads':2," \
    "'head_dim':6,'vocab_size':31,'sliding_window':5,'final_logit_softcapping':30"
#define E_SERIES   "'hidden_size_per_layer_input':3,'num_kv_shared_layers':2"
#define TEXT(rest) "{'model_type':'gemma4_text'," rest "}"
#define GOOD(more) TEXT(SIZES "," E_SERIES "," LAYERS(KINDS) more)

static void assert_layer(const vug_config *c, int i, vug_layer_config wanted)
{
    const vug_layer_config own = vug_config_layer(c, i);
    assert_int_equal(own.d_head, wanted.d_head);
    assert_int_equal(own.n_kv_heads, wanted.n_kv_heads);
    assert_int_equal(own.d_ffn, wanted.d_ffn);
    assert_int_equal(own.kv_layers_back, wanted.kv_layers_back);
    assert_int_equal(own.k_is_v, wanted.k_is_v);
}

static void test_both_spellings_agree(void **state)
{
    (void)state;
    static const char *const texts[] = {
        GOOD(",'global_head_dim':10,'num_global_key_value_heads':1,'attention_k_eq_v':true,"
             "'use_double_wide_mlp':true"),
        GOOD(",'per_layer_config':{'2':{'head_dim':10,'num_key_value_heads':1},"
             "'4':{'head_dim':10,'num_key_value_heads':1}},'attention_k_eq_v':true,"
             "'use_double_wide_mlp':true"),
        "{'model_type':'gemma4','text_config':" GOOD(
                ",'global_head_dim':10,'num_global_key_value_heads':1,'attention_k_eq_v':true,"
                "'use_double_wide_mlp':true") "}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        const vug_config c = help_config(texts[i]);
        assert_string_equal(c.arch->name, "gemma4");
        assert_true(c.attn_scale == 1 && c.final_softcap == 30);
        assert_layer(&c, 0, (vug_layer_config){ 6, 2, 20, 0, false });
        assert_layer(&c, 1, (vug_layer_config){ 6, 2, 20, 0, false });
        assert_layer(&c, 2, (vug_layer_config){ 10, 1, 20, 0, true });
        assert_layer(&c, 3, (vug_layer_config){ 6, 2, 40, 2, false }); /* that of layer 1 */
        assert_layer(&c, 4, (vug_layer_config){ 10, 1, 40, 2, true }); /* that of layer 2 */
    }
}

static void test_defaults(void **state)
{
    (void)state;
    vug_config c = help_config(GOOD(""));
    /* Full layers have the class's default width, and fewer heads only if their values
     * are the keys. */
    assert_layer(&c, 2, (vug_layer_config){ 512, 2, 20, 0, false });
    assert_layer(&c, 4, (vug_layer_config){ 512, 2, 20, 2, false });
    assert_int_equal(vug_config_layer(&c, 1).d_head, 6);
    /* null, or per_layer_config, means the width of all layers. */
    c = help_config(GOOD(",'global_head_dim':null"));
    assert_int_equal(vug_config_layer(&c, 2).d_head, 6);
    c = help_config(GOOD(",'per_layer_config':{'02':{'num_key_value_heads':1},"
                         "'4':{'num_key_value_heads':1}}"));
    assert_layer(&c, 2, (vug_layer_config){ 6, 1, 20, 0, false });
    c = help_config(GOOD(",'num_global_key_value_heads':1,'global_head_dim':8"));
    assert_layer(&c, 2, (vug_layer_config){ 8, 2, 20, 0, false });
    assert_int_equal(c.d_per_layer, 3);
    assert_int_equal(c.n_vocab_per_layer, 31);
    assert_int_equal(c.context, 131072);
    assert_true(c.norm_eps == 1e-6F);
    assert_true(c.rope_full.type == VUG_ROPE_PROPORTIONAL && c.rope_full.theta == 1e6 &&
                c.rope_full.rotary_fraction == 0.25);
    assert_true(c.rope_window.type == VUG_ROPE_DEFAULT && c.rope_window.theta == 1e4);
    /* Inside rope_parameters the class's defaults do not apply. */
    c = help_config(GOOD(",'rope_parameters':{'full_attention':{'rope_type':'proportional'},"
                         "'sliding_attention':{'rope_theta':77}}"));
    assert_true(c.rope_full.type == VUG_ROPE_PROPORTIONAL && c.rope_full.rotary_fraction == 1);
    assert_true(c.rope_window.theta == 77);
    /* null means none. */
    c = help_config(TEXT(SIZES "," LAYERS(KINDS) ",'hidden_size_per_layer_input':null,"
                                                 "'num_kv_shared_layers':null"));
    assert_int_equal(c.d_per_layer, 0);
    assert_int_equal(c.layer[4].kv_layers_back, 0);
    c = help_config(GOOD(",'use_bidirectional_attention':'vision','enable_moe_block':false"));
    /* The last layer is full, whatever the list says. */
    c = help_config(TEXT(SIZES "," E_SERIES ",'num_hidden_layers':4,'layer_types':[" SLIDING
                               "," FULL "," SLIDING "," SLIDING "]"));
    assert_false(c.windowed[3]);
    assert_int_equal(c.layer[3].kv_layers_back, 2);
    /* The class of the unified model has neither key. */
    c = help_config("{'model_type':'gemma4_unified','text_config':{'model_type':"
                    "'gemma4_unified_text'," SIZES "," LAYERS(KINDS) "}}");
    assert_int_equal(c.d_per_layer, 0);
    assert_int_equal(c.layer[4].kv_layers_back, 0);
}

typedef struct {
    const char *config;
    vug_status code;
    const char *message; /* behind "config.json: " */
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
    }
}

#define MISSING(key) "key '" key "' is missing and has no default"

static void test_missing_keys_are_refused(void **state)
{
    (void)state;
    static const refusal_case rows[] = {
        { TEXT(SIZES "," E_SERIES ",'num_hidden_layers':5"), VUG_FORMAT, MISSING("layer_types") },
        { TEXT(SIZES "," LAYERS(KINDS) ",'num_kv_shared_layers':0"), VUG_FORMAT,
          MISSING("hidden_size_per_layer_input") },
        { TEXT(SIZES "," LAYERS(KINDS) ",'hidden_size_per_layer_input':0"), VUG_FORMAT,
          MISSING("num_kv_shared_layers") },
        { TEXT("'num_hidden_layers':2,'hidden_size':8,'num_attention_heads':1,"
               "'num_key_value_heads':1,'intermediate_size':4,'vocab_size':9"),
          VUG_FORMAT, MISSING("final_logit_softcapping") },
        { TEXT("'num_hidden_layers':2"), VUG_FORMAT, MISSING("hidden_size") },
        { TEXT("'num_hidden_layers':2,'hidden_size':8"), VUG_FORMAT,
          MISSING("num_attention_heads") },
        { TEXT("'num_hidden_layers':2,'hidden_size':8,'num_attention_heads':1"), VUG_FORMAT,
          MISSING("num_key_value_heads") },
        { TEXT("'num_hidden_layers':2,'hidden_size':8,'num_attention_heads':1,"
               "'num_key_value_heads':1"),
          VUG_FORMAT, MISSING("intermediate_size") },
        { TEXT("'num_hidden_layers':2,'hidden_size':8,'num_attention_heads':1,"
               "'num_key_value_heads':1,'intermediate_size':4"),
          VUG_FORMAT, MISSING("vocab_size") },
        { TEXT("'hidden_size':8"), VUG_FORMAT, MISSING("num_hidden_layers") },
    };
    assert_refused(rows, COUNT(rows));
}

#define ROPE(full) ",'rope_parameters':{'full_attention':" full ",'sliding_attention':{}}"

static void test_invalid_values_are_refused(void **state)
{
    (void)state;
    static const refusal_case rows[] = {
        { GOOD(",'attention_bias':true"), VUG_UNSUPPORTED,
          "attention_bias is not supported for Gemma 4" },
        { GOOD(",'use_bidirectional_attention':'all'"), VUG_UNSUPPORTED,
          "use_bidirectional_attention is set: embedding models are not supported" },
        { GOOD(",'hidden_activation':'silu'"), VUG_UNSUPPORTED,
          "hidden_activation 'silu' is not supported for Gemma 4 (gelu_pytorch_tanh)" },
        { GOOD(ROPE("{'rope_type':'yarn','factor':4}")), VUG_UNSUPPORTED,
          "RoPE type 'yarn' is not supported for Gemma 4 (default, linear, proportional)" },
        { GOOD(ROPE("{'rope_type':'linear'}")), VUG_FORMAT,
          "RoPE type 'linear' needs the key 'factor'" },
        { GOOD(ROPE("{'partial_rotary_factor':0.5}")), VUG_UNSUPPORTED,
          "partial_rotary_factor is supported only for RoPE type 'proportional'" },
        { GOOD(",'rope_parameters':{'rope_theta':1e6}"), VUG_FORMAT,
          "key 'rope_parameters' has no object 'full_attention'" },
        { GOOD(",'per_layer_config':{'5':{}}"), VUG_FORMAT,
          "key 'per_layer_config': '5' is not a layer, or its value is not an object" },
        { GOOD(",'per_layer_config':{'-1':{}}"), VUG_FORMAT,
          "key 'per_layer_config': '-1' is not a layer, or its value is not an object" },
        { GOOD(",'per_layer_config':{'':{}}"), VUG_FORMAT,
          "key 'per_layer_config': '' is not a layer, or its value is not an object" },
        { GOOD(",'per_layer_config':{'99999999999999999999999':{}}"), VUG_FORMAT,
          "key 'per_layer_config': '99999999999999999999999' is not a layer, or its value is not "
          "an object" },
        { GOOD(",'per_layer_config':{'1':7}"), VUG_FORMAT,
          "key 'per_layer_config': '1' is not a layer, or its value is not an object" },
        { GOOD(",'per_layer_config':{'1':{'sliding_window':7}}"), VUG_UNSUPPORTED,
          "key 'per_layer_config': 'sliding_window' is not supported for a layer" },
        { GOOD(",'per_layer_config':{'1':{'head_dim':8}}"), VUG_UNSUPPORTED,
          "layer 1 has heads of 8, an earlier one of its kind has 6" },
        { GOOD(",'per_layer_config':{'1':{'num_key_value_heads':3}}"), VUG_FORMAT,
          "layer 1: 4 query heads and 3 key/value heads of 6, expected a multiple and an even "
          "width" },
        { GOOD(",'global_head_dim':7"), VUG_FORMAT,
          "layer 2: 4 query heads and 2 key/value heads of 7, expected a multiple and an even "
          "width" },
        { GOOD(",'per_layer_config':{'1':{'num_key_value_heads':4}}"), VUG_FORMAT,
          "layer 3 has 2 key/value heads of 6 and shares those of layer 1, 4 of 6" },
        { TEXT(SIZES ",'hidden_size_per_layer_input':0,'num_kv_shared_layers':3," LAYERS(KINDS)),
          VUG_FORMAT,
          "key 'num_kv_shared_layers': no layer before 2 is of the same kind as layer 2" },
        { TEXT(SIZES ",'hidden_size_per_layer_input':0,'num_kv_shared_layers':5," LAYERS(KINDS)),
          VUG_FORMAT, "key 'num_kv_shared_layers' must be a whole number from 0 to 4" },
        { GOOD(",'vocab_size_per_layer_input':30"), VUG_FORMAT,
          "key 'vocab_size_per_layer_input' is below 'vocab_size'" },
        { TEXT(SIZES "," E_SERIES "," LAYERS(SLIDING "," FULL)), VUG_FORMAT,
          "key 'layer_types' must list 5 layers, it lists 2" },
        { TEXT(SIZES "," E_SERIES "," LAYERS("1," SLIDING "," FULL "," FULL "," FULL)),
          VUG_UNSUPPORTED,
          "key 'layer_types': layer 0 is '1', expected 'full_attention' or 'sliding_attention'" },
    };
    assert_refused(rows, COUNT(rows));
}

/* The sizes of an accepted config are safe to multiply and divide by. */
static void assert_sane(const char *bytes, size_t n)
{
    vug_config c;
    vug_err err = { 0 };
    if (vug_config_read((vug_str){ bytes, n }, "config.json", &c, &err) != VUG_OK) {
        assert_non_null(strstr(err.msg, "config.json: "));
        return;
    }
    for (int64_t i = 0; i < c.n_layers; i++) {
        const vug_layer_config own = vug_config_layer(&c, i);
        assert_true(own.d_head >= 2 && own.d_head % 2 == 0 && own.d_head <= 4096);
        assert_true(own.n_kv_heads >= 1 && c.n_heads % own.n_kv_heads == 0);
        assert_true(own.d_ffn >= 1 && own.d_ffn <= 1 << 25);
        assert_true(own.kv_layers_back >= 0 && own.kv_layers_back <= i);
        assert_int_equal(c.layer[i - own.kv_layers_back].kv_layers_back, 0);
        assert_int_equal(c.windowed[i - own.kv_layers_back], c.windowed[i]);
    }
}

static void test_every_byte_changed(void **state)
{
    static const char meaning[] = "{}[]\",:-0915.eE \n";
    vug_text file;
    vug_err err = { 0 };
    help_ok(vug_read_file(*state, 1 << 20, &file, &err), &err);
    for (size_t n = 0; n <= file.len; n++) {
        char *cut = vug_alloc(n, 1);
        assert_non_null(cut);
        memcpy(cut, file.ptr, n);
        assert_sane(cut, n);
        vug_free(cut);
    }
    for (size_t at = 0; at < file.len; at++) {
        const char kept = file.ptr[at];
        for (int bit = 0; bit < 8; bit++) {
            file.ptr[at] = (char)(kept ^ (1 << bit));
            assert_sane(file.ptr, file.len);
        }
        for (size_t i = 0; i < sizeof(meaning); i++) {
            file.ptr[at] = meaning[i];
            assert_sane(file.ptr, file.len);
        }
        file.ptr[at] = kept;
    }
    vug_text_release(&file);
}

/* ---- tensors ------------------------------------------------------------------------- */

static void add_tensor(memory_checkpoint *c, const char *name, int64_t rows, int64_t columns)
{
    uint8_t *data =
            memory_checkpoint_add(c, name, columns ? 2 : 1, (const int64_t[]){ rows, columns });
    if (data)
        memset(data, 0, (size_t)(rows * (columns ? columns : 1) * 2));
}

static void add_layer_tensor(memory_checkpoint *c, int layer, const char *name, int64_t rows,
                             int64_t columns)
{
    char full[128];
    (void)snprintf(full, sizeof(full), "model.layers.%d.%s", layer, name);
    add_tensor(c, full, rows, columns);
}

enum { D = 24, F = 20, H = 4, V = 31, I = 3, N_LAYERS = 5 };

/* `e`, `k`, `f`: head width, key/value heads and feed-forward width. */
static void add_layer_tensors(memory_checkpoint *c, int i, int64_t e, int64_t k, int64_t f)
{
    static const char *const norms[] = {
        "input_layernorm.weight",           "post_attention_layernorm.weight",
        "pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight",
        "post_per_layer_input_norm.weight",
    };
    for (size_t n = 0; n < COUNT(norms); n++)
        add_layer_tensor(c, i, norms[n], D, 0);
    add_layer_tensor(c, i, "self_attn.q_proj.weight", H * e, D);
    add_layer_tensor(c, i, "self_attn.o_proj.weight", D, H * e);
    add_layer_tensor(c, i, "self_attn.q_norm.weight", e, 0);
    if (k) {
        add_layer_tensor(c, i, "self_attn.k_proj.weight", k * e, D);
        add_layer_tensor(c, i, "self_attn.k_norm.weight", e, 0);
    }
    add_layer_tensor(c, i, "mlp.gate_proj.weight", f, D);
    add_layer_tensor(c, i, "mlp.up_proj.weight", f, D);
    add_layer_tensor(c, i, "mlp.down_proj.weight", D, f);
    add_layer_tensor(c, i, "per_layer_input_gate.weight", I, D);
    add_layer_tensor(c, i, "per_layer_projection.weight", D, I);
    add_layer_tensor(c, i, "layer_scalar", 1, 0);
}

static const char model[] =
        GOOD(",'global_head_dim':10,'num_global_key_value_heads':1,'attention_k_eq_v':true,"
             "'use_double_wide_mlp':true,'vocab_size_per_layer_input':33");

/* Adds every tensor that the config may have, with the names and shapes of published files,
 * except those with `without` in their names. */
static void add_all_tensors(memory_checkpoint *c, const char *without)
{
    const vug_config config = help_config(model);
    memory_checkpoint_init(c, &config);
    c->without = without;
    add_tensor(c, "model.embed_tokens.weight", V, D);
    add_tensor(c, "model.norm.weight", D, 0);
    add_tensor(c, "model.embed_tokens_per_layer.weight", 33, (int64_t)N_LAYERS * I);
    add_tensor(c, "model.per_layer_model_projection.weight", (int64_t)N_LAYERS * I, D);
    add_tensor(c, "model.per_layer_projection_norm.weight", I, 0);
    add_layer_tensors(c, 0, 6, 2, F);
    add_layer_tensors(c, 1, 6, 2, F);
    add_layer_tensors(c, 2, 10, 1, F);
    add_layer_tensors(c, 3, 6, 0, 2 * (int64_t)F);
    add_layer_tensors(c, 4, 10, 0, 2 * (int64_t)F);
    add_layer_tensor(c, 0, "self_attn.v_proj.weight", 12, D);
    add_layer_tensor(c, 1, "self_attn.v_proj.weight", 12, D);
}

static void test_tensors_of_each_layer(void **state)
{
    (void)state;
    memory_checkpoint c;
    vug_err err = { 0 };
    vug_weight_spec spec;
    add_all_tensors(&c, NULL);
    help_ok(memory_checkpoint_bind(&c, &err), &err);
    assert_true(c.binding.tied);
    for (size_t i = 0; i < vug_weights_count(c.weights); i++)
        assert_true(c.binding.used[i]);
    for (int i = 0; i < N_LAYERS; i++) {
        assert_int_equal(vug_binding_has_weight(&c.binding, "attn_k", i), i < 3);
        assert_int_equal(vug_binding_has_weight(&c.binding, "attn_v", i), i < 2);
        assert_true(vug_binding_has_weight(&c.binding, "layer_scale", i));
        help_ok(vug_binding_find_weight(&c.binding, "ffn_up", i, &spec, &err), &err);
        assert_int_equal(spec.shape.dim[0], i < 3 ? F : 2 * F);
        help_ok(vug_binding_find_weight(&c.binding, "attn_q_norm", i, &spec, &err), &err);
        assert_int_equal(spec.shape.dim[0], i == 2 || i == 4 ? 10 : 6);
    }
    memory_checkpoint_release(&c);

    /* Layers with a shared cache may have key and value weights of any shape. */
    add_all_tensors(&c, NULL);
    add_layer_tensor(&c, 3, "self_attn.k_proj.weight", 12, D);
    add_layer_tensor(&c, 3, "self_attn.v_proj.weight", 12, D);
    add_layer_tensor(&c, 4, "self_attn.k_norm.weight", 99, 0);
    add_layer_tensor(&c, 4, "self_attn.v_proj.weight", 12, D);
    add_layer_tensor(&c, 0, "mlp.up_proj.input_max", 1, 0);
    help_ok(memory_checkpoint_bind(&c, &err), &err);
    for (int i = 3; i < N_LAYERS; i++)
        assert_false(vug_binding_has_weight(&c.binding, "attn_k", i) ||
                     vug_binding_has_weight(&c.binding, "attn_k_norm", i) ||
                     vug_binding_has_weight(&c.binding, "attn_v", i));
    memory_checkpoint_release(&c);

    /* The layer scale under its other name, or absent. */
    add_all_tensors(&c, "layer_scalar");
    c.without = NULL;
    add_layer_tensor(&c, 2, "layer_scalar.weight", 1, 0);
    help_ok(memory_checkpoint_bind(&c, &err), &err);
    for (int i = 0; i < N_LAYERS; i++)
        assert_int_equal(vug_binding_has_weight(&c.binding, "layer_scale", i), i == 2);
    memory_checkpoint_release(&c);
}

static void test_wrong_tensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *without, *name, *message;
    } rows[] = {
        { NULL, "self_attn.v_proj.weight",
          "memory: 1 tensor that gemma4 does not have: model.layers.2.self_attn.v_proj.weight" },
        { "layers.2.self_attn.k_proj.weight", "self_attn.k_proj.weight.weight",
          "memory: 1 tensor missing: model.layers.2.self_attn.k_proj.weight" },
        { NULL, "router.proj.weight",
          "memory: 1 tensor that gemma4 does not have: model.layers.2.router.proj.weight" },
        { "layers.1.self_attn.v_proj", NULL,
          "memory: 1 tensor missing: model.layers.1.self_attn.v_proj.weight" },
        { "embed_tokens_per_layer", NULL,
          "memory: 1 tensor missing: model.embed_tokens_per_layer.weight" },
        { "layers.4.mlp.down", NULL,
          "memory: 1 tensor missing: model.layers.4.mlp.down_proj.weight" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        memory_checkpoint c;
        vug_err err = { 0 };
        add_all_tensors(&c, rows[i].without);
        c.without = NULL;
        if (rows[i].name)
            add_layer_tensor(&c, 2, rows[i].name, 10, D);
        assert_int_equal(memory_checkpoint_bind(&c, &err), VUG_FORMAT);
        assert_string_equal(err.msg, rows[i].message);
        memory_checkpoint_release(&c);
    }
}

/* ---- the graph ----------------------------------------------------------------------- */

static vug_graph build_graph(const memory_checkpoint *c, bool hidden)
{
    vug_graph g = { 0 };
    vug_err err = { 0 };
    help_ok(vug_model_build_graph(&c->binding, hidden, &g, &err), &err);
    help_ok(vug_graph_verify(&g, &err), &err);
    return g;
}

/* The only node of that op in a layer, or NULL. */
static const vug_node *find_only_node(const vug_graph *g, vug_op op, int layer)
{
    const vug_node *found = NULL;
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op != op || g->node[i].layer != layer)
            continue;
        assert_null(found);
        found = &g->node[i];
    }
    return found;
}

static void test_graph_shares_caches_and_selects_rows(void **state)
{
    (void)state;
    memory_checkpoint c;
    vug_err err = { 0 };
    add_all_tensors(&c, NULL);
    help_ok(memory_checkpoint_bind(&c, &err), &err);
    for (int hidden = 0; hidden < 2; hidden++) {
        vug_graph g = build_graph(&c, hidden);
        for (int i = 0; i < N_LAYERS; i++) {
            const bool full = i == 2 || i == 4;
            const vug_node *attn = find_only_node(&g, VUG_OP_ATTENTION, i);
            assert_non_null(attn);
            const bool own = vug_node_fills_cache(attn);
            assert_int_equal(own, i < 3);
            assert_int_equal(attn->at.attn.layer, i < 3 ? i : i - 2);
            assert_int_equal(attn->at.attn.window, full ? 0 : 5);
            assert_true(attn->at.attn.scale == 1 && attn->at.attn.softcap == 0);
            assert_int_equal(attn->shape.dim[0], own || hidden ? VUG_DIM_T : VUG_DIM_R);
            assert_int_equal(attn->shape.dim[2], full ? 10 : 6);
            assert_int_equal(find_only_node(&g, VUG_OP_HEAD, i)->at.head.index, i);
            assert_non_null(find_only_node(&g, VUG_OP_SCALE_BY, i));
            if (!own)
                continue;
            /* Values are the normalised key projection, before key norm and RoPE. */
            const vug_node *v = vug_graph_at(&g, attn->in[2]);
            assert_int_equal(v->op, VUG_OP_UNIT_NORM);
            const vug_node *k = vug_graph_at(&g, vug_graph_at(&g, attn->in[1])->in[0]);
            assert_int_equal(k->in[0].id == v->in[0].id, full);
        }
        vug_graph_release(&g);
    }
    memory_checkpoint_release(&c);
}

/* ---- model info ---------------------------------------------------------------------- */

static bool note_last(uint64_t done, uint64_t total, void *user)
{
    assert_true(done <= total);
    *(uint64_t *)user = done;
    return true;
}

static void test_model_info_has_caches_and_tables(void **state)
{
    enum { WINDOW = 192 }; /* the slots of three pages */
    (void)state;
    uint64_t read_ahead = 0;
    vug_model *m = help_model(GOLDEN("gemma4-e"), (vug_model_options){ .context = 200,
                                                                       .batch = 16,
                                                                       .threads = 1,
                                                                       .progress = note_last,
                                                                       .user = &read_ahead });
    static const struct {
        const char *cache;
        int64_t window, slots, source, d_head;
    } rows[] = {
        { "window", 16, WINDOW, 0, 8 }, { "full", 0, 256, 1, 20 },   { "window", 16, WINDOW, 2, 8 },
        { "window", 16, WINDOW, 3, 8 }, { "shared", 0, 256, 1, 20 }, { "shared", 16, WINDOW, 3, 8 },
        { "shared", 0, 256, 1, 20 },
    };
    const vug_model_info info = vug_model_describe(m);
    assert_int_equal(info.n_layers, COUNT(rows));
    uint64_t bytes = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const vug_layer_info layer = vug_model_layer(m, i);
        assert_string_equal(layer.cache, rows[i].cache);
        assert_int_equal(layer.window, rows[i].window);
        assert_int_equal(layer.slots, rows[i].slots);
        assert_int_equal(layer.source, rows[i].source);
        assert_int_equal(layer.d_head, rows[i].d_head);
        assert_int_equal(layer.n_kv_heads, 2);
        /* Keys, and values in columns of 16. */
        const int64_t columns = (layer.d_head + 15) / 16 * 16;
        const bool is_shared = strcmp(layer.cache, "shared") == 0;
        assert_int_equal(layer.cache_bytes,
                         is_shared ? 0 : layer.slots * 2 * (layer.d_head + columns) * 4);
        bytes += layer.cache_bytes;
    }
    assert_int_equal(info.memory.session_cache, bytes);
    /* 384 ids, 7 layers of 6, two bytes each: one row of it per token. */
    const uint64_t row = 84;
    assert_int_equal(info.memory.tables_mapped, 384 * row);
    assert_int_equal(info.bytes_per_token, info.memory.weights_mapped + row);
    assert_int_equal(read_ahead, info.memory.weights_mapped);
    /* Layers with a shared cache compute only wanted rows: here 40 wide, with 44 or twice
     * that between, 4 heads of 8 and of 20, half as many for keys and values, and 6 of
     * their own. */
    const int64_t d = 40, own = 2 * d * 6, f = 3 * d * 44, q = 2 * d * 32, full_q = 2 * d * 80;
    const int64_t first = 4 * (f + own) + 3 * (q + q / 2) + full_q + full_q / 2 + 7 * d * 6;
    const int64_t last = 3 * (2 * f + own) + q + 2 * full_q;
    assert_int_equal(info.flop_per_token, 2 * first);
    assert_int_equal(info.flop_per_logits, 2 * (last + 384 * d));
    vug_model_close(m);
}

int main(void)
{
    static char flat[] = GOLDEN("gemma4-dense") "/config.json",
                nested[] = GOLDEN("gemma4-mm") "/config.json";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_spellings_agree),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_missing_keys_are_refused),
        cmocka_unit_test(test_invalid_values_are_refused),
        cmocka_unit_test_prestate(test_every_byte_changed, flat),
        cmocka_unit_test_prestate(test_every_byte_changed, nested),
        cmocka_unit_test(test_tensors_of_each_layer),
        cmocka_unit_test(test_wrong_tensors_are_refused),
        cmocka_unit_test(test_graph_shares_caches_and_selects_rows),
        cmocka_unit_test(test_model_info_has_caches_and_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
