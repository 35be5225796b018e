/* The precision of products with MLX, on a GPU and on its CPU device. It is chosen without MLX. */
#include "test.h"

#include "backend/mlx/precision.h"
#include "backend_help.h"
#include "engine_help.h"

typedef struct {
    float scale; /* of attention */
    vug_activations activations;
    bool gpu;
    vug_mlx_precision expected;
} precision_case;

static void test_activations_choose_the_precision(void **state)
{
    (void)state;
    static const precision_case cases[] = {
        { 0.25f, VUG_ACTIVATIONS_Q8, true, { .f16 = true } },
        { 0.25f, VUG_ACTIVATIONS_Q8, false, { .f16 = false } },
        { 0.25f, VUG_ACTIVATIONS_BF16, true, { .f16 = true, .scales = true } },
        { 0.25f, VUG_ACTIVATIONS_BF16, false, { .f16 = true, .scales = true } },
        { 0.25f, VUG_ACTIVATIONS_F32, true, { .f16 = false } },
        /* Scores that are not scaled need F32, unless the user asks for F16. */
        { 1, VUG_ACTIVATIONS_Q8, true, { .exact = true } },
        { 1, VUG_ACTIVATIONS_Q8, false, { .exact = false } },
        { 1, VUG_ACTIVATIONS_BF16, true, { .f16 = true, .scales = true } },
        { 1, VUG_ACTIVATIONS_F32, true, { .f16 = false } },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const precision_case *c = &cases[i];
        vug_node node[2] = { { .op = VUG_OP_INPUT },
                             { .op = VUG_OP_ATTENTION, .at.attn.scale = c->scale } };
        const vug_graph graph = { .node = node, .n = 2 };
        const vug_mlx_precision p = vug_mlx_choose_precision(&graph, c->activations, c->gpu);
        if (p.f16 != c->expected.f16 || p.scales != c->expected.scales ||
            p.exact != c->expected.exact)
            fail_msg("case %zu: F16 %d, format of scales %d, exact %d", i, p.f16, p.scales,
                     p.exact);
    }
}

/* Of the published architectures only Gemma 4 leaves scores unscaled. */
static void test_gemma4_keeps_f32(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool exact;
    } models[] = { { GOLDEN("gemma1"), false },      { GOLDEN("gemma2"), false },
                   { GOLDEN("gemma3-text"), false }, { GOLDEN("llama3"), false },
                   { GOLDEN("qwen2"), false },       { GOLDEN("qwen3-moe"), false },
                   { GOLDEN("gemma4-dense"), true }, { GOLDEN("gemma4-e"), true } };
    for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
        vug_model *m = help_model(models[i].path, (vug_model_options){ .device = "cpu" });
        const vug_mlx_precision p =
                vug_mlx_choose_precision(&m->main.compiled.graph, VUG_ACTIVATIONS_Q8, true);
        if (p.exact != models[i].exact || p.f16 == models[i].exact)
            fail_msg("%s: exact %d, F16 %d", models[i].path, p.exact, p.f16);
        vug_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations_choose_the_precision),
        cmocka_unit_test(test_gemma4_keeps_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
