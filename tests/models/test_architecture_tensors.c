/*
 * The tensors and graphs of Gemma 1 and 2, Llama 3, Qwen 2 and 3: every tensor is needed, others
 * are refused, and the graphs verify.
 */
#include "test.h"

#include <math.h>

#include "config_help.h"
#include "memory_checkpoint.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

/* Adds all tensors of a kind except the `skip`th, or, if `misshape`, that one with a wrong
 * shape. Returns the number of all; `skipped` gets the name. */
static size_t add_all_tensors(memory_checkpoint *c, size_t kind, size_t skip, bool misshape,
                              char *skipped)
{
    size_t n = 0;
    const vug_config config = help_config(kinds[kind].config);
    memory_checkpoint_init(c, &config);
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
                (void)memory_checkpoint_add(c, name, t->rank, t->dim);
                continue;
            }
            (void)snprintf(skipped, 128, "%s", name);
            if (misshape)
                (void)memory_checkpoint_add(c, name, t->rank,
                                            (const int64_t[]){ t->dim[0] + 1, t->dim[1] });
        }
    }
    return n;
}

static void assert_near(float found, double want)
{
    /* A few operations in F32. */
    if (!(fabs((double)found - want) <= 4 * 0x1p-23 * want))
        fail_msg("%.9g, expected %.9g", (double)found, want);
}

static uint32_t count_ops(const vug_graph *g, vug_op op)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < g->n; i++)
        n += g->node[i].op == op;
    return n;
}

static void test_every_tensor_is_needed(void **state)
{
    (void)state;
    enum { NONE = 1000 };
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        memory_checkpoint c;
        char name[128], expected[256];
        vug_err err = { 0 };
        const size_t all = add_all_tensors(&c, kind, NONE, false, name);
        assert_int_equal(memory_checkpoint_bind(&c, &err), VUG_OK);
        assert_true(c.binding.tied);
        memory_checkpoint_release(&c);
        for (size_t i = 0; i < all; i++) {
            (void)add_all_tensors(&c, kind, i, false, name);
            assert_int_equal(memory_checkpoint_bind(&c, &err), VUG_FORMAT);
            (void)snprintf(expected, sizeof(expected), "memory: 1 tensor missing: %s", name);
            assert_string_equal(err.msg, expected);
            memory_checkpoint_release(&c);
            (void)add_all_tensors(&c, kind, i, true, name);
            assert_int_equal(memory_checkpoint_bind(&c, &err), VUG_FORMAT);
            (void)snprintf(expected, sizeof(expected), "memory: tensor '%s' has shape [", name);
            assert_memory_equal(err.msg, expected, strlen(expected));
            memory_checkpoint_release(&c);
        }
    }
}

/* Tensors of another architecture, and biases that the config does not enable. */
static void test_unknown_tensors_are_refused(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        for (size_t i = 0; i < COUNT(tensors); i++) {
            const tensor *t = &tensors[i];
            if (!t->of || strchr(kinds[kind].has, t->of))
                continue;
            memory_checkpoint c;
            char name[128], expected[256];
            vug_err err = { 0 };
            (void)add_all_tensors(&c, kind, 1000, false, name);
            (void)snprintf(name, sizeof(name), "model.layers.1%s", t->name);
            (void)memory_checkpoint_add(&c, name, t->rank, t->dim);
            assert_int_equal(memory_checkpoint_bind(&c, &err), VUG_FORMAT);
            (void)snprintf(expected, sizeof(expected), "memory: 1 tensor that %s does not have: %s",
                           c.config.arch->name, name);
            assert_string_equal(err.msg, expected);
            memory_checkpoint_release(&c);
        }
    }
}

static void test_graphs_verify(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT(kinds); kind++) {
        memory_checkpoint c;
        char name[128];
        vug_err err = { 0 };
        vug_graph g = { 0 };
        const char *has = kinds[kind].has;
        const bool gemma = strstr(kinds[kind].config, "gemma") != NULL;
        const uint32_t all = (uint32_t)add_all_tensors(&c, kind, 1000, false, name);
        (void)memory_checkpoint_add(&c, "lm_head.weight", 2, (const int64_t[]){ V, D });
        assert_int_equal(memory_checkpoint_bind(&c, &err), VUG_OK);
        assert_false(c.binding.tied);
        if (vug_model_build_graph(&c.binding, false, &g, &err) != VUG_OK)
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
        memory_checkpoint_release(&c);
    }
}

/* Frequency factors in the checkpoint replace the scaling of the config. */
static void test_rope_freqs_tensor_sets_frequencies(void **state)
{
    (void)state;
    static const char *const names[] = { "rope_freqs.weight", "model.rope_freqs.weight" };
    static const float good[] = { 1, 2.5F, 8 };
    enum { LLAMA = 2, PAIRS = E / 2 };
    for (size_t i = 0; i < COUNT(names) + 2; i++) {
        memory_checkpoint c;
        char unused[128];
        vug_err err = { 0 };
        vug_graph g = { 0 };
        const bool lies = i >= COUNT(names);
        (void)add_all_tensors(&c, LLAMA, 1000, false, unused);
        c.config.rope_full = (vug_rope){ VUG_ROPE_LINEAR, .theta = 1e4, .factor = 3 };
        c.dtype = VUG_DTYPE_F32;
        uint8_t *data =
                memory_checkpoint_add(&c, names[i % COUNT(names)], 1, (const int64_t[]){ PAIRS });
        memcpy(data, good, sizeof(good));
        const float lie = i == COUNT(names) ? 0 : NAN;
        if (lies)
            memcpy(data + sizeof(float), &lie, sizeof(lie));
        assert_int_equal(memory_checkpoint_bind(&c, &err), VUG_OK);
        const vug_status st = vug_model_build_graph(&c.binding, false, &g, &err);
        assert_int_equal(st, lies ? VUG_FORMAT : VUG_OK);
        if (lies)
            assert_non_null(strstr(err.msg, "rope_freqs.weight': factor 1 is "));
        for (uint32_t k = 1; !lies && k < g.n; k++) {
            for (int p = 0; g.node[k].op == VUG_OP_ROPE_TABLE && p < PAIRS; p++)
                assert_near(g.node[k].at.table.inv[p], 1 / pow(1e4, 2.0 * p / E) / (double)good[p]);
        }
        vug_graph_release(&g);
        memory_checkpoint_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tensor_is_needed),
        cmocka_unit_test(test_unknown_tensors_are_refused),
        cmocka_unit_test(test_graphs_verify),
        cmocka_unit_test(test_rope_freqs_tensor_sets_frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
