/*
 * Gemma 3 from tensors to a graph: binding under every naming of published files, error
 * messages about tensors, and the graph. Names and shapes are copied here from published
 * files, to check the table in models/gemma3.c against them.
 */
#include "test.h"

#include "memory_checkpoint.h"
#include "models/common.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { D = 12, F = 20, L = 3, H = 4, K = 2, E = 6, V = 31, W = 5 };
enum { HE = H * E, KE = K * E };

static const char config_json[] =
        "{\"model_type\":\"gemma3_text\",\"hidden_size\":12,\"intermediate_size\":20,"
        "\"num_hidden_layers\":3,\"num_attention_heads\":4,\"num_key_value_heads\":2,"
        "\"head_dim\":6,\"vocab_size\":31,\"sliding_window\":5,\"query_pre_attn_scalar\":16,"
        "\"layer_types\":[\"sliding_attention\",\"full_attention\",\"sliding_attention\"],"
        "\"rms_norm_eps\":1e-5%s}";

typedef struct {
    const char *name; /* after the prefix; in a layer if it begins with a dot */
    int rank;
    int64_t dim[2];
} tensor_shape;

static const tensor_shape tensors[] = {
    { "embed_tokens.weight", 2, { V, D } },
    { "norm.weight", 1, { D } },
    { ".input_layernorm.weight", 1, { D } },
    { ".self_attn.q_proj.weight", 2, { HE, D } },
    { ".self_attn.k_proj.weight", 2, { KE, D } },
    { ".self_attn.v_proj.weight", 2, { KE, D } },
    { ".self_attn.q_norm.weight", 1, { E } },
    { ".self_attn.k_norm.weight", 1, { E } },
    { ".self_attn.o_proj.weight", 2, { D, HE } },
    { ".post_attention_layernorm.weight", 1, { D } },
    { ".pre_feedforward_layernorm.weight", 1, { D } },
    { ".mlp.gate_proj.weight", 2, { F, D } },
    { ".mlp.up_proj.weight", 2, { F, D } },
    { ".mlp.down_proj.weight", 2, { D, F } },
    { ".post_feedforward_layernorm.weight", 1, { D } },
};

enum { PER_LAYER = COUNT(tensors) - 2, ALL = 2 + L * PER_LAYER };

/* ---- a checkpoint in memory ---------------------------------------------------------- */

static void init_checkpoint(memory_checkpoint *c, const char *more_keys)
{
    char json[sizeof(config_json) + 128];
    vug_config config;
    vug_err err = { 0 };
    (void)snprintf(json, sizeof(json), config_json, more_keys);
    if (vug_config_read(vug_str_of(json), "config.json", &config, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    memory_checkpoint_init(c, &config);
}

static void add_matrix(memory_checkpoint *c, const char *name, int64_t rows, int64_t columns)
{
    (void)memory_checkpoint_add(c, name, 2, (const int64_t[]){ rows, columns });
}

/* Adds every tensor of the text model with `prefix`. */
static void add_all_tensors(memory_checkpoint *c, const char *prefix)
{
    char name[160];
    for (size_t i = 0; i < COUNT(tensors); i++) {
        const tensor_shape *t = &tensors[i];
        for (int layer = 0; layer < (t->name[0] == '.' ? L : 1); layer++) {
            if (t->name[0] == '.')
                (void)snprintf(name, sizeof(name), "%slayers.%d%s", prefix, layer, t->name);
            else
                (void)snprintf(name, sizeof(name), "%s%s", prefix, t->name);
            (void)memory_checkpoint_add(c, name, t->rank, t->dim);
        }
    }
}

static void bind_checkpoint_ok(memory_checkpoint *c)
{
    vug_err err = { 0 };
    if (memory_checkpoint_bind(c, &err) != VUG_OK)
        fail_msg("%s", err.msg);
}

/* The whole text model with the prefix "model.", bound. */
static void init_bound_checkpoint(memory_checkpoint *c, const char *more_keys)
{
    init_checkpoint(c, more_keys);
    add_all_tensors(c, "model.");
    bind_checkpoint_ok(c);
}

static void assert_refused(memory_checkpoint *c, vug_status code, const char *message)
{
    vug_err err = { 0 };
    assert_int_equal(memory_checkpoint_bind(c, &err), code);
    assert_string_equal(err.msg, message);
    assert_null(c->binding.tensor);
    memory_checkpoint_release(c);
}

/* ---- names --------------------------------------------------------------------------- */

/* Asserts that the flow's `weight` is the file's tensor `name`. */
static void assert_bound(const memory_checkpoint *c, const char *weight, int layer,
                         const char *name)
{
    vug_weight_spec spec;
    vug_err err = { 0 };
    if (vug_binding_find_weight(&c->binding, weight, layer, &spec, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    const vug_tensor *t = c->binding.tensor[spec.slot];
    assert_int_equal(t->name.len, strlen(name));
    assert_memory_equal(t->name.ptr, name, t->name.len);
    assert_int_equal(spec.dtype, t->dtype);
    assert_int_equal(spec.shape.rank, t->rank);
    for (int i = 0; i < t->rank; i++)
        assert_int_equal(spec.shape.dim[i], t->dim[i]);
}

static void test_name_prefixes(void **state)
{
    (void)state;
    static const char *const known[] = {
        "model.",          "language_model.model.",       "model.language_model.",
        "language_model.", "model.language_model.model.", "",
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        memory_checkpoint c;
        char name[128];
        init_checkpoint(&c, "");
        add_all_tensors(&c, known[i]);
        assert_int_equal(vug_weights_count(c.weights), ALL);
        bind_checkpoint_ok(&c);
        assert_int_equal(c.binding.n_slots, ALL + 1);
        assert_true(c.binding.tied);
        for (size_t t = 0; t < ALL; t++)
            assert_true(c.binding.used[t]);
        (void)snprintf(name, sizeof(name), "%sembed_tokens.weight", known[i]);
        assert_bound(&c, "token_embd", -1, name);
        (void)snprintf(name, sizeof(name), "%slayers.2.mlp.down_proj.weight", known[i]);
        assert_bound(&c, "ffn_down", 2, name);
        memory_checkpoint_release(&c);
    }
}

static void test_weights_by_name(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        { "attn_norm", "model.layers.1.input_layernorm.weight" },
        { "attn_q", "model.layers.1.self_attn.q_proj.weight" },
        { "attn_k", "model.layers.1.self_attn.k_proj.weight" },
        { "attn_v", "model.layers.1.self_attn.v_proj.weight" },
        { "attn_q_norm", "model.layers.1.self_attn.q_norm.weight" },
        { "attn_k_norm", "model.layers.1.self_attn.k_norm.weight" },
        { "attn_output", "model.layers.1.self_attn.o_proj.weight" },
        { "post_attn_norm", "model.layers.1.post_attention_layernorm.weight" },
        { "ffn_norm", "model.layers.1.pre_feedforward_layernorm.weight" },
        { "ffn_gate", "model.layers.1.mlp.gate_proj.weight" },
        { "ffn_up", "model.layers.1.mlp.up_proj.weight" },
        { "ffn_down", "model.layers.1.mlp.down_proj.weight" },
        { "post_ffn_norm", "model.layers.1.post_feedforward_layernorm.weight" },
    };
    memory_checkpoint c;
    vug_weight_spec spec;
    vug_err err = { 0 };
    init_bound_checkpoint(&c, "");
    for (size_t i = 0; i < COUNT(names); i++)
        assert_bound(&c, names[i][0], 1, names[i][1]);
    assert_bound(&c, "output_norm", -1, "model.norm.weight");
    /* A row outside the layers is found from inside a layer too. */
    assert_bound(&c, "token_embd", 2, "model.embed_tokens.weight");

    assert_int_equal(vug_binding_find_weight(&c.binding, "attn_gate", 1, &spec, &err),
                     VUG_ARGUMENT);
    assert_string_equal(err.msg, "gemma3, layer 1: the checkpoint has no weight 'attn_gate'");
    assert_int_equal(vug_binding_find_weight(&c.binding, "attn_q", -1, &spec, &err), VUG_ARGUMENT);
    assert_string_equal(err.msg, "gemma3, layer -1: the checkpoint has no weight 'attn_q'");
    assert_int_equal(vug_binding_find_weight(&c.binding, "output", -1, &spec, &err), VUG_ARGUMENT);
    memory_checkpoint_release(&c);
}

static void test_separate_heads(void **state)
{
    (void)state;
    static const char *const names[] = {
        "lm_head.weight",
        "language_model.lm_head.weight",
        "model.language_model.lm_head.weight",
        "model.lm_head.weight",
    };
    static const char *const keys[] = { "", ",\"tie_word_embeddings\":true",
                                        ",\"tie_word_embeddings\":false" };
    for (size_t i = 0; i < COUNT(names) * COUNT(keys); i++) {
        memory_checkpoint c;
        init_checkpoint(&c, keys[i % COUNT(keys)]);
        add_all_tensors(&c, "language_model.model.");
        add_matrix(&c, names[i / COUNT(keys)], V, D);
        bind_checkpoint_ok(&c);
        assert_false(c.binding.tied);
        assert_bound(&c, "output", -1, names[i / COUNT(keys)]);
        memory_checkpoint_release(&c);
    }
}

static void test_other_towers_are_skipped(void **state)
{
    (void)state;
    memory_checkpoint c;
    init_checkpoint(&c, "");
    add_all_tensors(&c, "model.language_model.");
    add_matrix(&c, "model.vision_tower.vision_model.encoder.layers.0.mlp.fc1.weight", 3, 3);
    add_matrix(&c, "vision_tower.vision_model.embeddings.position_embedding.weight", 3, 3);
    add_matrix(&c, "model.multi_modal_projector.mm_input_projection_weight", 3, 3);
    add_matrix(&c, "model.audio_tower.conv.weight", 3, 3);
    (void)memory_checkpoint_add(&c, "model.language_model.layers.0.self_attn.rotary_emb.inv_freq",
                                1, (int64_t[]){ 3 });
    bind_checkpoint_ok(&c);
    size_t used = 0;
    for (size_t i = 0; i < vug_weights_count(c.weights); i++)
        used += c.binding.used[i];
    assert_int_equal(used, ALL);
    memory_checkpoint_release(&c);
}

/* ---- refused ----------------------------------------------------------------- */

static void test_missing_tensors_are_listed(void **state)
{
    (void)state;
    memory_checkpoint c;
    init_checkpoint(&c, "");
    c.without = "layers.1.mlp.up_proj";
    add_all_tensors(&c, "model.");
    assert_refused(&c, VUG_FORMAT, "memory: 1 tensor missing: model.layers.1.mlp.up_proj.weight");

    init_checkpoint(&c, "");
    c.without = "_norm.weight";
    add_all_tensors(&c, "language_model.model.");
    assert_refused(
            &c, VUG_FORMAT,
            "memory: 6 tensors missing: language_model.model.layers.0.self_attn.q_norm.weight"
            ", language_model.model.layers.1.self_attn.q_norm.weight"
            ", language_model.model.layers.2.self_attn.q_norm.weight"
            ", language_model.model.layers.0.self_attn.k_norm.weight, ...");

    /* The embedding determines the prefix. */
    init_checkpoint(&c, "");
    c.without = "embed_tokens";
    add_all_tensors(&c, "model.");
    assert_refused(&c, VUG_FORMAT, "memory: 1 tensor missing: model.embed_tokens.weight");

    init_checkpoint(&c, "");
    assert_refused(&c, VUG_FORMAT,
                   "memory: 41 tensors missing: model.embed_tokens.weight, model.norm.weight, "
                   "model.layers.0.input_layernorm.weight, model.layers.1.input_layernorm.weight, "
                   "...");
}

static void test_wrong_shapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int rank;
        int64_t dim[3];
        const char *message;
    } rows[] = {
        { "model.layers.1.mlp.up_proj.weight",
          2,
          { D, F },
          "memory: tensor 'model.layers.1.mlp.up_proj.weight' has shape [12,20], the config gives "
          "[20,12]" },
        { "model.layers.0.self_attn.k_proj.weight",
          2,
          { HE, D },
          "memory: tensor 'model.layers.0.self_attn.k_proj.weight' has shape [24,12], the config "
          "gives [12,12]" },
        { "model.embed_tokens.weight",
          2,
          { V + 1, D },
          "memory: tensor 'model.embed_tokens.weight' has shape [32,12], the config gives "
          "[31,12]" },
        { "model.norm.weight",
          2,
          { 1, D },
          "memory: tensor 'model.norm.weight' has shape [1,12], the config gives [12]" },
        { "model.layers.2.mlp.down_proj.weight",
          1,
          { D },
          "memory: tensor 'model.layers.2.mlp.down_proj.weight' has shape [12], the config gives "
          "[12,20]" },
        { "model.layers.2.self_attn.q_norm.weight",
          3,
          { 1, 1, E },
          "memory: tensor 'model.layers.2.self_attn.q_norm.weight' has shape [1,1,6], the config "
          "gives [6]" },
        { "lm_head.weight",
          2,
          { D, V },
          "memory: tensor 'lm_head.weight' has shape [12,31], the config gives [31,12]" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        memory_checkpoint c;
        init_checkpoint(&c, "");
        c.without = rows[i].name;
        add_all_tensors(&c, "model.");
        c.without = NULL;
        (void)memory_checkpoint_add(&c, rows[i].name, rows[i].rank, rows[i].dim);
        assert_refused(&c, VUG_FORMAT, rows[i].message);
    }
}

static void test_wrong_formats_are_refused(void **state)
{
    (void)state;
    static const vug_dtype formats[] = { VUG_DTYPE_I8, VUG_DTYPE_F64, VUG_DTYPE_E5M2,
                                         VUG_DTYPE_U8 };
    for (size_t i = 0; i < COUNT(formats); i++) {
        memory_checkpoint c;
        char message[160];
        init_checkpoint(&c, "");
        c.without = "layers.0.mlp.gate_proj";
        add_all_tensors(&c, "model.");
        c.without = NULL;
        c.dtype = formats[i];
        add_matrix(&c, "model.layers.0.mlp.gate_proj.weight", F, D);
        (void)snprintf(
                message, sizeof(message),
                "memory: tensor 'model.layers.0.mlp.gate_proj.weight' has format %s; weights "
                "must be BF16, F16, F32 or quantized (docs/formats.md)",
                vug_dtype_of(formats[i])->name);
        assert_refused(&c, VUG_UNSUPPORTED, message);
    }
}

static void test_unknown_tensors_are_refused(void **state)
{
    (void)state;
    memory_checkpoint c;
    init_checkpoint(&c, "");
    add_all_tensors(&c, "model.");
    (void)memory_checkpoint_add(&c, "model.layers.0.self_attn.q_proj.bias", 1, (int64_t[]){ HE });
    assert_refused(&c, VUG_FORMAT,
                   "memory: 1 tensor that gemma3 does not have: "
                   "model.layers.0.self_attn.q_proj.bias");

    /* One layer more than in the config. */
    init_checkpoint(&c, "");
    add_all_tensors(&c, "model.");
    for (int i = 0; i < 6; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "model.layers.3.%d.weight", i);
        add_matrix(&c, name, 1, 1);
    }
    assert_refused(
            &c, VUG_FORMAT,
            "memory: 6 tensors that gemma3 does not have: model.layers.3.0.weight, "
            "model.layers.3.1.weight, model.layers.3.2.weight, model.layers.3.3.weight, ...");

    /* The same model twice, with two prefixes. */
    init_checkpoint(&c, "");
    add_all_tensors(&c, "model.");
    add_matrix(&c, "embed_tokens.weight", V, D);
    assert_refused(&c, VUG_FORMAT,
                   "memory: 1 tensor that gemma3 does not have: embed_tokens.weight");
}

/* ---- the embedding's scale ------------------------------------------------------------ */

static void test_embedding_scales(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        vug_dtype stored;
        float scale; /* of D = 12: 3.46410162 in F32, 3.46484375 in F16, 3.46875 in BF16 */
    } rows[] = {
        { "", VUG_DTYPE_BF16, 3.46875F },
        { "", VUG_DTYPE_F16, 3.46484375F },
        { "", VUG_DTYPE_F32, 3.46410162F },
        { ",\"dtype\":\"bfloat16\"", VUG_DTYPE_F32, 3.46875F },
        { ",\"torch_dtype\":\"float16\"", VUG_DTYPE_BF16, 3.46484375F },
        { ",\"dtype\":\"float32\"", VUG_DTYPE_BF16, 3.46410162F },
        { ",\"dtype\":\"auto\"", VUG_DTYPE_F16, 3.46484375F },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        memory_checkpoint c;
        init_checkpoint(&c, rows[i].key);
        c.dtype = rows[i].stored;
        add_all_tensors(&c, "model.");
        bind_checkpoint_ok(&c);
        assert_true(vug_embedding_scale(&c.binding) == rows[i].scale);
        memory_checkpoint_release(&c);
    }
}

/* ---- the graph ------------------------------------------------------------------------ */

static vug_graph build_graph(const memory_checkpoint *c, bool hidden)
{
    vug_graph g = { 0 };
    vug_err err = { 0 };
    if (vug_model_build_graph(&c->binding, hidden, &g, &err) != VUG_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(vug_graph_verify(&g, &err), VUG_OK);
    return g;
}

static uint32_t count_ops(const vug_graph *g, vug_op op)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < g->n; i++)
        n += g->node[i].op == op;
    return n;
}

static void assert_shape(const vug_graph *g, vug_val v, int64_t rows, int64_t columns)
{
    const vug_shape wanted = { 2, { rows, columns } };
    assert_true(vug_shape_equal(&vug_graph_at(g, v)->shape, &wanted));
}

static void test_graph(void **state)
{
    (void)state;
    memory_checkpoint c;
    init_bound_checkpoint(&c, "");
    vug_graph g = build_graph(&c, false);
    assert_string_equal(g.name, "gemma3");
    assert_int_equal(g.n_layers, L);
    assert_int_equal(count_ops(&g, VUG_OP_INPUT), 3);
    assert_int_equal(count_ops(&g, VUG_OP_EMBED), 1);
    assert_int_equal(count_ops(&g, VUG_OP_ROPE_TABLE), 2);
    assert_int_equal(count_ops(&g, VUG_OP_ROPE), 2 * L);
    assert_int_equal(count_ops(&g, VUG_OP_RMS_NORM), 6 * L + 1);
    assert_int_equal(count_ops(&g, VUG_OP_LINEAR), 7 * L + 1);
    assert_int_equal(count_ops(&g, VUG_OP_ATTENTION), L);
    assert_int_equal(count_ops(&g, VUG_OP_HEADS), 3 * L);
    assert_int_equal(count_ops(&g, VUG_OP_MERGE), L);
    assert_int_equal(count_ops(&g, VUG_OP_ADD), 2 * L);
    assert_int_equal(count_ops(&g, VUG_OP_MUL), L);
    assert_int_equal(count_ops(&g, VUG_OP_GELU), L);
    assert_int_equal(count_ops(&g, VUG_OP_GATHER), 1);
    assert_int_equal(count_ops(&g, VUG_OP_SOFTCAP), 0);
    assert_int_equal(count_ops(&g, VUG_OP_PARAM), ALL);
    /* Nothing else, and one output. */
    assert_int_equal(g.n - 1, 3 + 1 + 2 + 24 * L + 3 + ALL);
    assert_int_equal(g.n_outputs, 1);
    assert_string_equal(g.output[0].name, "logits");
    assert_shape(&g, g.output[0].value, VUG_DIM_R, V);
    vug_graph_release(&g);
    memory_checkpoint_release(&c);
}

static void test_hidden_states_are_outputs(void **state)
{
    (void)state;
    memory_checkpoint c;
    init_bound_checkpoint(&c, "");
    vug_graph without = build_graph(&c, false), g = build_graph(&c, true);
    /* The final norm of all rows, and that of the wanted rows. */
    assert_int_equal(g.n, without.n + 2);
    assert_int_equal(g.n_outputs, L + 2);
    for (uint32_t i = 0; i <= L; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "hidden.%u", i);
        assert_string_equal(g.output[i].name, name);
        assert_shape(&g, g.output[i].value, VUG_DIM_T, D);
    }
    assert_int_equal(vug_graph_at(&g, g.output[0].value)->op, VUG_OP_EMBED);
    assert_int_equal(vug_graph_at(&g, g.output[1].value)->op, VUG_OP_ADD);
    assert_int_equal(vug_graph_at(&g, g.output[L].value)->op, VUG_OP_RMS_NORM);
    assert_string_equal(g.output[L + 1].name, "logits");
    vug_graph_release(&without);
    vug_graph_release(&g);
    memory_checkpoint_release(&c);
}

static void test_heads_and_softcaps_in_graph(void **state)
{
    (void)state;
    memory_checkpoint c;
    init_checkpoint(&c, ",\"final_logit_softcapping\":30");
    add_all_tensors(&c, "model.");
    add_matrix(&c, "lm_head.weight", V, D);
    bind_checkpoint_ok(&c);
    vug_graph g = build_graph(&c, false);
    assert_int_equal(count_ops(&g, VUG_OP_PARAM), ALL + 1);
    const vug_node *cap = vug_graph_at(&g, g.output[0].value);
    assert_int_equal(cap->op, VUG_OP_SOFTCAP);
    assert_true(cap->at.scale.by == 30);
    const vug_node *project = vug_graph_at(&g, cap->in[0]);
    const vug_node *head = vug_graph_at(&g, project->in[1]);
    assert_int_equal(head->op, VUG_OP_PARAM);
    assert_memory_equal(c.binding.tensor[head->at.param.slot]->name.ptr, "lm_head.weight", 14);
    vug_graph_release(&g);
    memory_checkpoint_release(&c);

    /* Tied: the head is the embedding. */
    init_bound_checkpoint(&c, "");
    g = build_graph(&c, false);
    project = vug_graph_at(&g, g.output[0].value);
    assert_int_equal(project->op, VUG_OP_LINEAR);
    head = vug_graph_at(&g, project->in[1]);
    assert_memory_equal(c.binding.tensor[head->at.param.slot]->name.ptr, "model.embed_tokens", 18);
    vug_graph_release(&g);
    memory_checkpoint_release(&c);
}

/* Sliding layers have the window and a RoPE of their own; all have the scale and norms. */
static void test_graph_attributes(void **state)
{
    (void)state;
    memory_checkpoint c;
    init_bound_checkpoint(&c, ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":8}");
    vug_graph g = build_graph(&c, false);
    /* theta^(-2k/6) for theta 1e4, and an eighth of that for 1e6. */
    static const float angles[2][E / 2] = { { 1, 0.0464158883F, 0.00215443469F },
                                            { 0.125F, 0.00125F, 0.0000125F } };
    int layer = 0;
    for (uint32_t i = 1; i < g.n; i++) {
        const vug_node *n = &g.node[i];
        if (n->op == VUG_OP_RMS_NORM)
            assert_true(n->at.norm.eps == 1e-5F && n->at.norm.bias == 1);
        if (n->op == VUG_OP_EMBED)
            assert_true(n->at.scale.by == 3.46875F);
        if (n->op != VUG_OP_ATTENTION)
            continue;
        const bool full = layer == 1;
        const vug_node *table = vug_graph_at(&g, vug_graph_at(&g, n->in[0])->in[1]);
        const float *inv = table->at.table.inv;
        assert_int_equal(n->layer, layer);
        assert_int_equal(n->at.attn.layer, layer++);
        assert_int_equal(n->at.attn.window, full ? 0 : W);
        assert_true(n->at.attn.scale == 0.25F && n->at.attn.softcap == 0);
        assert_int_equal(table->op, VUG_OP_ROPE_TABLE);
        assert_int_equal(table->at.table.dims, E);
        assert_true(table->at.table.factor == 1);
        for (int k = 0; k < E / 2; k++)
            assert_float_equal(inv[k], angles[full][k], angles[full][k] * 1e-6F);
    }
    assert_int_equal(layer, L);
    vug_graph_release(&g);
    memory_checkpoint_release(&c);
}

/* The bits that torch computes: 1 / theta ** (arange(0, dims, 2) / dims) in F32. Rounding
 * only at the end would change 8 of these. */
static void test_rope_frequencies(void **state)
{
    (void)state;
    static const struct {
        vug_rope rope;
        int dims;
        float inv[10];
    } rows[] = {
        { { VUG_ROPE_DEFAULT, .theta = 1e6, .attention_factor = 1 },
          16,
          { 1, 0.177827939F, 0.0316227786F, 0.00562341325F, 0.00100000005F, 0.00017782794F,
            3.16227743e-05F, 5.62341347e-06F } },
        { { VUG_ROPE_LINEAR, .theta = 1e4, .factor = 8, .attention_factor = 1 },
          20,
          { 0.125F, 0.0497633964F, 0.0198111646F, 0.00788696576F, 0.0031398579F, 0.00124999997F,
            0.000497633824F, 0.000198111666F, 7.88696634e-05F, 3.13985875e-05F } },
        { { VUG_ROPE_LLAMA3, 1e4, 8, 256, 1, 4, 1, false, 0 },
          16,
          { 1, 0.316227764F, 0.100000001F, 0.00661310693F, 0.00124999997F, 0.000395284733F,
            0.000125000006F, 3.95284733e-05F } },
        { { VUG_ROPE_YARN, 1e6, 4, 512, 1, 32, 1.1386294361119891, true, 0 },
          20,
          { 1, 0.204090774F, 0.0394348353F, 0.00693390658F, 0.000995267881F, 0.000250000012F,
            6.27971385e-05F, 1.5773936e-05F, 3.96223231e-06F, 9.95268238e-07F } },
        { { VUG_ROPE_YARN, 1e4, 3, 300, 1, 20, 1.1098612288668110, false, 0 },
          16,
          { 1, 0.296444565F, 0.068123281F, 0.013440486F, 0.00333333341F, 0.00105409266F,
            0.00033333333F, 0.000105409257F } },
        /* A quarter of ten pairs is two; exponents are still divided by the whole width. */
        { { VUG_ROPE_PROPORTIONAL, .theta = 1e4, .factor = 8, .attention_factor = 1,
            .rotary_fraction = 0.25 },
          20,
          { 0.125F, 0.0497633964F } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        vug_graph g = { 0 };
        vug_err err = { 0 };
        vug_flow f = vug_flow_begin(&g, NULL, NULL);
        const vug_model_context s = { .positions = flow_input(&f, VUG_INPUT_POSITIONS) };
        const vug_val v = vug_model_rope_table(&f, &s, "rope", &rows[i].rope, rows[i].dims);
        assert_int_equal(vug_flow_finish(&f, &err), VUG_OK);
        const vug_attr_table *at = &vug_graph_at(&g, v)->at.table;
        assert_int_equal(at->dims, rows[i].dims);
        assert_true(at->factor == (float)rows[i].rope.attention_factor);
        assert_memory_equal(at->inv, rows[i].inv, (size_t)at->dims / 2 * sizeof(float));
        vug_graph_release(&g);
    }
}

/* Five query heads for two key/value heads: no config is like that, and the flow must fail. */
static void test_failed_flow_keeps_its_message(void **state)
{
    (void)state;
    memory_checkpoint c;
    init_bound_checkpoint(&c, "");
    vug_graph g = { 0 };
    vug_err err = { 0 };
    c.config.n_heads = 5;
    assert_int_not_equal(vug_model_build_graph(&c.binding, false, &g, &err), VUG_OK);
    assert_string_equal(err.msg, "graph: layer 0, attention: inputs are [T,5,6] and [T,2,6], "
                                 "expected q [T,H,E], k and v [T,K,E] with H a multiple of K");
    assert_null(g.node);
    memory_checkpoint_release(&c);
}

static void test_registry(void **state)
{
    (void)state;
    const vug_arch *arch = NULL;
    vug_err err = { 0 };
    assert_true(vug_arch_count() > 0);
    for (size_t i = 0; i < vug_arch_count(); i++) {
        const vug_arch *a = vug_arch_at(i);
        assert_non_null(a->name);
        assert_non_null(a->model_types[0]);
        /* The first row is the embedding, which determines the prefix. */
        assert_string_equal(a->row[0].name, "token_embd");
    }
    const vug_str json = vug_str_of("{\"model_type\":\"gemma3\"}");
    assert_int_equal(vug_config_read_arch(json, "config.json", &arch, &err), VUG_OK);
    assert_string_equal(arch->name, "gemma3");
    assert_string_equal(arch->chat_family, "gemma3");
    assert_int_equal(vug_config_read_arch(vug_str_of("{"), "config.json", &arch, &err), VUG_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_prefixes),
        cmocka_unit_test(test_weights_by_name),
        cmocka_unit_test(test_separate_heads),
        cmocka_unit_test(test_other_towers_are_skipped),
        cmocka_unit_test(test_missing_tensors_are_listed),
        cmocka_unit_test(test_wrong_shapes_are_refused),
        cmocka_unit_test(test_wrong_formats_are_refused),
        cmocka_unit_test(test_unknown_tensors_are_refused),
        cmocka_unit_test(test_embedding_scales),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_hidden_states_are_outputs),
        cmocka_unit_test(test_heads_and_softcaps_in_graph),
        cmocka_unit_test(test_graph_attributes),
        cmocka_unit_test(test_rope_frequencies),
        cmocka_unit_test(test_failed_flow_keeps_its_message),
        cmocka_unit_test(test_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
