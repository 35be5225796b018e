/*
 * Models with experts: configs, binding of separate and packed experts, error messages, the
 * model's info, equal bits for a token whatever is beside it in a batch, and memory that
 * depends on the number of chosen experts.
 */
#include "test.h"

#include "engine_help.h"
#include "kernel_help.h"
#include "quant/codec.h"

enum { D = 12, F = 20, L = 4, H = 4, K = 2, E = 6, V = 31, X = 5, CHOSEN = 3, DENSE = 1 };
enum { HE = H * E, KE = K * E, X2 = 2 * X, XD = X * D, VD = V * D, FD = F * D };

static const char config_json[] =
        "{\"model_type\":\"qwen3_moe\",\"hidden_size\":12,\"intermediate_size\":20,"
        "\"num_hidden_layers\":4,\"num_attention_heads\":4,\"num_key_value_heads\":2,"
        "\"head_dim\":6,\"vocab_size\":31,\"mlp_only_layers\":[1],\"moe_intermediate_size\":5,"
        "\"num_experts_per_tok\":3,\"norm_topk_prob\":true%s}";

/* ---- configs ------------------------------------------------------------------------ */

static vug_status read(const char *more, vug_config *c, vug_err *err)
{
    char json[sizeof(config_json) + 256];
    (void)snprintf(json, sizeof(json), config_json, more);
    return vug_config_read(vug_str_of(json), "config.json", c, err);
}

static void test_config_keys(void **state)
{
    (void)state;
    static vug_config c;
    vug_err err = { 0 };
    help_ok(read("", &c, &err), &err);
    assert_int_equal(c.n_experts, 128);
    assert_int_equal(c.n_experts_per_token, 3);
    assert_int_equal(c.d_expert, 5);
    assert_true(c.renormalise);
    for (int i = 0; i < L; i++)
        assert_int_equal(c.sparse[i], i != DENSE);
    /* Both spellings of the key, and the step. */
    help_ok(read(",\"num_local_experts\":9", &c, &err), &err);
    assert_int_equal(c.n_experts, 9);
    help_ok(read(",\"num_experts\":7,\"num_local_experts\":9,\"decoder_sparse_step\":3", &c, &err),
            &err);
    assert_int_equal(c.n_experts, 7);
    for (int i = 0; i < L; i++)
        assert_int_equal(c.sparse[i], i == 2);
    /* Without experts every layer is dense. */
    help_ok(read(",\"num_experts\":0", &c, &err), &err);
    for (int i = 0; i < L; i++)
        assert_false(c.sparse[i]);
}

static void test_invalid_configs_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        vug_status code;
        const char *message;
    } rows[] = {
        { ",\"num_experts\":2", VUG_FORMAT,
          "config.json: key 'num_experts_per_tok': 3 of 2 experts" },
        { ",\"num_experts\":-1", VUG_FORMAT,
          "config.json: key 'num_experts' must be a whole number from 0 to 4096" },
        { ",\"num_experts\":4097", VUG_FORMAT,
          "config.json: key 'num_experts' must be a whole number from 0 to 4096" },
        { ",\"decoder_sparse_step\":0", VUG_FORMAT,
          "config.json: key 'decoder_sparse_step' must be a whole number from 1 to 1024" },
    };
    static vug_config c;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        vug_err err = { 0 };
        help_refused(read(rows[i].more, &c, &err), &err, rows[i].code, NULL, rows[i].message);
    }
    static const struct {
        const char *json;
        vug_status code;
        const char *message;
    } whole[] = {
        { "{\"model_type\":\"qwen3_moe\",\"mlp_only_layers\":3}", VUG_FORMAT,
          "config.json: key 'mlp_only_layers' must be a list of layers" },
        { "{\"model_type\":\"qwen3_moe\",\"mlp_only_layers\":[\"3\"]}", VUG_FORMAT,
          "config.json: key 'mlp_only_layers' must be a list of layers" },
        { "{\"model_type\":\"qwen3_moe\",\"num_hidden_layers\":1024,\"num_experts\":4096}",
          VUG_LIMIT, "config.json: 1024 layers of 4096 experts, at most 131072 in all" },
    };
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        vug_err err = { 0 };
        help_refused(vug_config_read(vug_str_of(whole[i].json), "config.json", &c, &err), &err,
                     whole[i].code, NULL, whole[i].message);
    }
}

/* ---- a checkpoint in memory --------------------------------------------------------- */

typedef enum { EACH, PACKED, SWITCHED } layout;

typedef struct {
    vug_config config;
    vug_weights *weights;
    rng r;
    int experts;
    const char *without; /* a part of names that are not added */
} checkpoint;

static void add_tensor(checkpoint *c, int rank, const int64_t *dim, const char *format, ...)
        VUG_PRINTF(4, 5);

static void add_tensor(checkpoint *c, int rank, const int64_t *dim, const char *format, ...)
{
    char name[160];
    uint8_t *data;
    vug_err err = { 0 };
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(name, sizeof(name), format, ap);
    va_end(ap);
    if (c->without && strstr(name, c->without))
        return;
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dim[i];
    help_ok(vug_weights_add(c->weights, vug_str_of(name), VUG_DTYPE_BF16, rank, dim, &data, &err),
            &err);
    for (int64_t i = 0; i < n; i++) {
        const float x = rng_float(&c->r);
        vug_codec_of(VUG_DTYPE_BF16)->encode(&x, data + 2 * i, 1);
    }
}

#define SHAPE(...)    \
    (const int64_t[]) \
    {                 \
        __VA_ARGS__   \
    }

static void add_experts(checkpoint *c, int layer, layout how)
{
    const int n = c->experts;
    add_tensor(c, 2, SHAPE(n, D), "model.layers.%d.mlp.gate.weight", layer);
    if (how == PACKED) {
        add_tensor(c, 3, SHAPE(n, X2, D), "model.layers.%d.mlp.experts.gate_up_proj", layer);
        add_tensor(c, 3, SHAPE(n, D, X), "model.layers.%d.mlp.experts.down_proj", layer);
    } else if (how == SWITCHED) {
        add_tensor(c, 3, SHAPE(n, X, D), "model.layers.%d.mlp.switch_mlp.gate_proj.weight", layer);
        add_tensor(c, 3, SHAPE(n, X, D), "model.layers.%d.mlp.switch_mlp.up_proj.weight", layer);
        add_tensor(c, 3, SHAPE(n, D, X), "model.layers.%d.mlp.switch_mlp.down_proj.weight", layer);
    }
    for (int e = 0; how == EACH && e < n; e++) {
        add_tensor(c, 2, SHAPE(X, D), "model.layers.%d.mlp.experts.%d.gate_proj.weight", layer, e);
        add_tensor(c, 2, SHAPE(X, D), "model.layers.%d.mlp.experts.%d.up_proj.weight", layer, e);
        add_tensor(c, 2, SHAPE(D, X), "model.layers.%d.mlp.experts.%d.down_proj.weight", layer, e);
    }
}

static void add_layer_tensors(checkpoint *c, int i, layout how)
{
    add_tensor(c, 1, SHAPE(D), "model.layers.%d.input_layernorm.weight", i);
    add_tensor(c, 2, SHAPE(HE, D), "model.layers.%d.self_attn.q_proj.weight", i);
    add_tensor(c, 2, SHAPE(KE, D), "model.layers.%d.self_attn.k_proj.weight", i);
    add_tensor(c, 2, SHAPE(KE, D), "model.layers.%d.self_attn.v_proj.weight", i);
    add_tensor(c, 1, SHAPE(E), "model.layers.%d.self_attn.q_norm.weight", i);
    add_tensor(c, 1, SHAPE(E), "model.layers.%d.self_attn.k_norm.weight", i);
    add_tensor(c, 2, SHAPE(D, HE), "model.layers.%d.self_attn.o_proj.weight", i);
    add_tensor(c, 1, SHAPE(D), "model.layers.%d.post_attention_layernorm.weight", i);
    if (i != DENSE) {
        add_experts(c, i, how);
        return;
    }
    add_tensor(c, 2, SHAPE(F, D), "model.layers.%d.mlp.gate_proj.weight", i);
    add_tensor(c, 2, SHAPE(F, D), "model.layers.%d.mlp.up_proj.weight", i);
    add_tensor(c, 2, SHAPE(D, F), "model.layers.%d.mlp.down_proj.weight", i);
}

/* `c` may name tensors to leave out. */
static void add_all_tensors(checkpoint *c, int experts, layout how)
{
    char more[64];
    vug_err err = { 0 };
    c->r = (rng){ 77 };
    c->experts = experts;
    (void)snprintf(more, sizeof(more), ",\"num_experts\":%d", experts);
    help_ok(read(more, &c->config, &err), &err);
    help_ok(vug_weights_create("memory", &c->weights, &err), &err);
    add_tensor(c, 2, SHAPE(V, D), "model.embed_tokens.weight");
    add_tensor(c, 1, SHAPE(D), "model.norm.weight");
    add_tensor(c, 2, SHAPE(V, D), "lm_head.weight");
    for (int i = 0; i < L; i++)
        add_layer_tensors(c, i, how);
}

/* ---- binding ------------------------------------------------------------------------ */

static void assert_refused(checkpoint *c, vug_status code, const char *message)
{
    vug_checkpoint out;
    vug_err err = { 0 };
    help_refused(vug_checkpoint_from_weights(&c->config, c->weights, "memory", &out, &err), &err,
                 code, NULL, message);
}

/* Asserts that expert `e` is in the tensor `name`, `elements` after its beginning. */
static void assert_expert_location(const vug_checkpoint *c, const char *weight, int e,
                                   const char *name, int64_t elements)
{
    vug_weight_spec spec;
    vug_err err = { 0 };
    help_ok(vug_binding_find_weight(&c->binding, weight, 2, &spec, &err), &err);
    const bool down = strcmp(weight, "experts_down") == 0;
    assert_int_equal(spec.shape.rank, 3);
    assert_int_equal(spec.shape.dim[0], c->config.n_experts);
    assert_int_equal(spec.shape.dim[1], down ? D : X);
    assert_int_equal(spec.shape.dim[2], down ? X : D);
    const vug_tensor *t = c->binding.tensor[spec.slot + e];
    assert_string_equal(t->name.ptr, name);
    const vug_matrix m = vug_tensor_matrix_at(t, c->binding.row[spec.slot + e]);
    assert_int_equal(m.data - t->data, elements * 2);
    assert_int_equal(m.columns, down ? X : D);
    assert_true((uint64_t)(m.data - t->data) + 2 * (uint64_t)XD <= t->bytes);
}

static void test_separate_and_packed_experts_bind(void **state)
{
    (void)state;
    enum { N = 20 };
    static checkpoint c;
    static vug_checkpoint out;
    vug_err err = { 0 };
    char name[96];
    for (int how = EACH; how <= SWITCHED; how++) {
        add_all_tensors(&c, N, (layout)how);
        help_ok(vug_checkpoint_from_weights(&c.config, c.weights, "memory", &out, &err), &err);
        for (int e = 0; e < N; e++) {
            if (how == EACH) {
                (void)snprintf(name, sizeof(name), "model.layers.2.mlp.experts.%d.up_proj.weight",
                               e);
                assert_expert_location(&out, "experts_up", e, name, 0);
            } else if (how == PACKED) {
                const char *both = "model.layers.2.mlp.experts.gate_up_proj";
                assert_expert_location(&out, "experts_gate", e, both, (int64_t)2 * e * XD);
                assert_expert_location(&out, "experts_up", e, both, (int64_t)(2 * e + 1) * XD);
                assert_expert_location(&out, "experts_down", e,
                                       "model.layers.2.mlp.experts.down_proj", (int64_t)e * XD);
            } else {
                assert_expert_location(&out, "experts_gate", e,
                                       "model.layers.2.mlp.switch_mlp.gate_proj.weight",
                                       (int64_t)e * XD);
                assert_expert_location(&out, "experts_down", e,
                                       "model.layers.2.mlp.switch_mlp.down_proj.weight",
                                       (int64_t)e * XD);
            }
        }
        for (size_t i = 0; i < vug_weights_count(out.weights); i++)
            assert_true(vug_checkpoint_uses(&out, vug_weights_at(out.weights, i)));
        /* The dense layer has no experts; the others have no dense feed-forward. */
        vug_weight_spec spec;
        assert_int_equal(vug_binding_find_weight(&out.binding, "experts_up", DENSE, &spec, &err),
                         VUG_ARGUMENT);
        assert_int_equal(vug_binding_find_weight(&out.binding, "ffn_up", 2, &spec, &err),
                         VUG_ARGUMENT);
        assert_true(vug_binding_has_weight(&out.binding, "ffn_up", DENSE));
        vug_checkpoint_release(&out);
    }
}

static void test_missing_experts_are_listed(void **state)
{
    (void)state;
    static checkpoint c;
    c.without = "layers.3.mlp.experts.17.gate";
    add_all_tensors(&c, 20, EACH);
    assert_refused(&c, VUG_FORMAT,
                   "memory: 1 tensor missing: model.layers.3.mlp.experts.17.gate_proj.weight");
    c.without = "layers.2.mlp.experts.1";
    add_all_tensors(&c, 20, EACH);
    assert_refused(&c, VUG_FORMAT,
                   "memory: 33 tensors missing: model.layers.2.mlp.experts.1.gate_proj.weight, "
                   "model.layers.2.mlp.experts.10.gate_proj.weight, "
                   "model.layers.2.mlp.experts.11.gate_proj.weight, "
                   "model.layers.2.mlp.experts.12.gate_proj.weight, ...");
    /* A missing pack is listed once. */
    c.without = "layers.2.mlp.experts.gate_up_proj";
    add_all_tensors(&c, 20, PACKED);
    assert_refused(&c, VUG_FORMAT,
                   "memory: 1 tensor missing: model.layers.2.mlp.experts.gate_up_proj");
    c.without = "layers.3.mlp.switch_mlp.up_proj";
    add_all_tensors(&c, 20, SWITCHED);
    assert_refused(&c, VUG_FORMAT,
                   "memory: 1 tensor missing: model.layers.3.mlp.switch_mlp.up_proj.weight");
    c.without = "layers.0.mlp.gate.weight";
    add_all_tensors(&c, 20, PACKED);
    assert_refused(&c, VUG_FORMAT, "memory: 1 tensor missing: model.layers.0.mlp.gate.weight");
    /* One expert more than in the config. */
    c.without = NULL;
    add_all_tensors(&c, 3, EACH);
    add_tensor(&c, 2, SHAPE(X, D), "model.layers.0.mlp.experts.3.up_proj.weight");
    assert_refused(&c, VUG_FORMAT,
                   "memory: 1 tensor that qwen3_moe does not have: "
                   "model.layers.0.mlp.experts.3.up_proj.weight");
    add_all_tensors(&c, 3, EACH);
    add_tensor(&c, 2, SHAPE(F, D), "model.layers.0.mlp.up_proj.weight");
    assert_refused(&c, VUG_FORMAT,
                   "memory: 1 tensor that qwen3_moe does not have: "
                   "model.layers.0.mlp.up_proj.weight");
}

static void test_wrong_shapes_are_refused(void **state)
{
    (void)state;
    static checkpoint c;
    c.without = "layers.2.mlp.experts.gate_up_proj";
    add_all_tensors(&c, 4, PACKED);
    c.without = NULL;
    add_tensor(&c, 3, SHAPE(4, D, X2), "model.layers.2.mlp.experts.gate_up_proj");
    assert_refused(&c, VUG_FORMAT,
                   "memory: tensor 'model.layers.2.mlp.experts.gate_up_proj' has shape [4,12,10], "
                   "the config gives [4,10,12]");
    c.without = "layers.2.mlp.experts.3.down_proj";
    add_all_tensors(&c, 4, EACH);
    c.without = NULL;
    add_tensor(&c, 2, SHAPE(X, D), "model.layers.2.mlp.experts.3.down_proj.weight");
    assert_refused(&c, VUG_FORMAT,
                   "memory: tensor 'model.layers.2.mlp.experts.3.down_proj.weight' has shape "
                   "[5,12], the config gives [12,5]");
}

/* ---- models ------------------------------------------------------------------------- */

static vug_model *model_of(int experts, layout how)
{
    static checkpoint c;
    vug_model *m;
    vug_err err = { 0 };
    c.without = NULL;
    add_all_tensors(&c, experts, how);
    const vug_model_options o = { .threads = 2, .context = 64, .batch = 32, .slots = 3 };
    help_ok(vug_model_from_weights(&c.config, c.weights, "memory", &o, &m, &err), &err);
    return m;
}

static void test_model_info(void **state)
{
    (void)state;
    enum {
        N = 10,
        LAYER = 2 * D + 2 * E + 2 * (HE + KE) * D,
        REST = 2 * VD + D + L * LAYER + 3 * FD + (L - 1) * N * D,
        EXPERT = 3 * XD,
        NORMS = D + L * (2 * D + 2 * E)
    };
    vug_model *m = model_of(N, PACKED);
    const vug_model_info info = vug_model_describe(m);
    assert_int_equal(info.n_experts, N);
    assert_int_equal(info.n_experts_per_token, CHOSEN);
    assert_int_equal(info.d_expert, X);
    assert_int_equal(info.n_parameters, REST + (L - 1) * N * EXPERT);
    assert_int_equal(info.n_active_parameters, REST + (L - 1) * CHOSEN * EXPERT);
    /* A token reads one row of the embedding. */
    assert_int_equal(info.bytes_per_token, 2 * (info.n_active_parameters - (VD - D)));
    /* Every matrix but the embedding; norms have no matrix, the head gets one row. */
    assert_int_equal(info.flop_per_token, 2 * (info.n_active_parameters - (int64_t)2 * VD - NORMS));
    assert_int_equal(info.flop_per_logits, 2 * VD);
    vug_model_close(m);

    m = help_model(GOLDEN("gemma3-text"), (vug_model_options){ .lazy = true });
    const vug_model_info dense = vug_model_describe(m);
    assert_int_equal(dense.n_experts, 0);
    assert_int_equal(dense.n_active_parameters, dense.n_parameters);
    vug_model_close(m);
}

/* A sequence gives the same bits alone and in a batch with another. */
static void test_batch_keeps_bits(void **state)
{
    (void)state;
    enum { T = 9 };
    vug_model *m = model_of(20, EACH);
    vug_session *s[3];
    int32_t id[3][T];
    float *alone[3];
    const int32_t *token[3];
    for (int i = 0; i < 3; i++) {
        help_tokens((uint64_t)i + 5, id[i], T, V);
        alone[i] = help_alone(m, id[i], T);
        s[i] = help_session(m);
        token[i] = id[i];
    }
    const float *logits = help_joint_step(s, token, T, 3);
    for (size_t i = 0; i < 3; i++)
        help_same_bits(logits + i * V, alone[i], V);
    for (int i = 0; i < 3; i++) {
        vug_session_destroy(s[i]);
        vug_free(alone[i]);
    }
    vug_model_close(m);
}

/* Forty times the experts need the same buffers, except for a few numbers per expert. */
static void test_memory_depends_on_chosen_experts(void **state)
{
    (void)state;
    enum { FEW = 5, MANY = 200, BATCH = 32 };
    vug_model *few = model_of(FEW, PACKED), *many = model_of(MANY, PACKED);
    const vug_memory_plan a = vug_model_describe(few).memory, b = vug_model_describe(many).memory;
    assert_int_equal(a.session_cache, b.session_cache);
    /* Router logits, and a group with three matrices for each expert. */
    const uint64_t each = BATCH * sizeof(float) + 256;
    assert_true(b.buffers - a.buffers <= (MANY - FEW) * each);
    assert_true(b.weights_mapped > a.weights_mapped * 15);
    vug_model_close(few);
    vug_model_close(many);
}

/* vug_weight_slot_tensor gives tensors that load, separate or packed. */
static void test_synthesized_checkpoints_load(void **state)
{
    (void)state;
    static vug_config c;
    static vug_checkpoint out;
    vug_err err = { 0 };
    vug_text json = { 0 };
    for (int packed = 0; packed < 2; packed++) {
        vug_weights *weights;
        uint8_t *data;
        if (packed) {
            help_ok(vug_read_file(GOLDEN("gemma4-moe") "/config.json", 1 << 16, &json, &err), &err);
            help_ok(vug_config_read((vug_str){ json.ptr, json.len }, "config.json", &c, &err),
                    &err);
            vug_text_release(&json);
        } else {
            help_ok(read(",\"num_experts\":6", &c, &err), &err);
        }
        help_ok(vug_weights_create("memory", &weights, &err), &err);
        for (size_t i = 0; i < vug_weight_slot_count(&c); i++) {
            vug_weight_slot slot;
            if (vug_weight_slot_tensor(&c, i, &slot))
                help_ok(vug_weights_add(weights, vug_str_of(slot.name), VUG_DTYPE_BF16,
                                        slot.shape.rank, slot.shape.dim, &data, &err),
                        &err);
        }
        help_ok(vug_checkpoint_from_weights(&c, weights, "memory", &out, &err), &err);
        assert_int_equal(c.arch->packed, packed);
        vug_checkpoint_release(&out);
    }
}

/* The packed tensors have the names and shapes of the published files. */
static void test_packed_shapes_match_published_files(void **state)
{
    (void)state;
    static vug_config c;
    vug_err err = { 0 };
    for (size_t i = 0; i < vug_model_shape_count(); i++) {
        help_ok(vug_config_read(vug_str_of(vug_model_shape_at(i)->config), "shape", &c, &err),
                &err);
        if (strcmp(vug_model_shape_at(i)->name, "gemma-4-26b-a4b") != 0)
            continue;
        size_t packed = 0;
        for (size_t k = 0; k < vug_weight_slot_count(&c); k++) {
            vug_weight_slot slot;
            if (!vug_weight_slot_tensor(&c, k, &slot) || slot.expert < 0)
                continue;
            const bool down = strstr(slot.name, "down_proj");
            assert_non_null(strstr(slot.name, down ? "experts.down_proj" : "experts.gate_up_proj"));
            assert_int_equal(slot.shape.dim[0], 128);
            assert_int_equal(slot.shape.dim[1], down ? 2816 : 1408);
            assert_int_equal(slot.shape.dim[2], down ? 704 : 2816);
            packed++;
        }
        assert_int_equal(packed, 2 * 30);
        return;
    }
    fail_msg("there is no such shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_keys),
        cmocka_unit_test(test_invalid_configs_are_refused),
        cmocka_unit_test(test_separate_and_packed_experts_bind),
        cmocka_unit_test(test_missing_experts_are_listed),
        cmocka_unit_test(test_wrong_shapes_are_refused),
        cmocka_unit_test(test_model_info),
        cmocka_unit_test(test_batch_keeps_bits),
        cmocka_unit_test(test_memory_depends_on_chosen_experts),
        cmocka_unit_test(test_synthesized_checkpoints_load),
        cmocka_unit_test(test_packed_shapes_match_published_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
