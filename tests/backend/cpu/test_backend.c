/*
 * The CPU backend as a whole, with a small model. Fused and unfused graphs, any chunk size, any
 * number of threads and every kernel set give the bits of the definitions in ref.c, evaluated
 * node by node. Invalid steps are rejected, and a step can be cancelled.
 */
#include "test.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "backend/cpu/ref.h"
#include "backend_help.h"
#include "block_help.h"
#include "core/cancel.h"
#include "quant/matrix.h"

static int32_t token_at(int64_t i)
{
    return (int32_t)((i * 37 + i / 7) % V);
}

/* The logits and hidden states of every token, in steps of `chunk` tokens. */
static void run_all(const backend_setup *s, int64_t chunk, float *logits, float *hidden)
{
    int32_t token[TOKENS], row[TOKENS];
    for (int64_t past = 0; past < TOKENS; past += chunk) {
        const int64_t n = TOKENS - past < chunk ? TOKENS - past : chunk;
        for (int64_t i = 0; i < n; i++) {
            token[i] = token_at(past + i);
            row[i] = (int32_t)i;
        }
        const vug_span span = { vug_kv_fixed_table(&s->kv, 0), past, n };
        const vug_step_in in = {
            .kv = s->kv.kv, .span = &span, .n_spans = 1, .token = token, .row = row, .n_rows = n
        };
        const float *output[2];
        vug_err err;
        if (s->b->run(s->program, s->workspace, &in, output, &err) != VUG_OK)
            fail_msg("%s", err.msg);
        memcpy(logits + past * V, output[0], (size_t)(n * V) * sizeof(float));
        memcpy(hidden + past * D, output[1], (size_t)(n * D) * sizeof(float));
    }
}

typedef struct {
    float logits[TOKENS * V], hidden[TOKENS * D];
} model_result;

static void check_result(const backend_setup *s, int64_t chunk, const model_result *want,
                         const char *what)
{
    model_result *got = vug_alloc(1, sizeof(*got));
    assert_non_null(got);
    run_all(s, chunk, got->logits, got->hidden);
    check_bits(got->hidden, want->hidden, (size_t)TOKENS * D, what);
    check_bits(got->logits, want->logits, (size_t)TOKENS * V, what);
    vug_free(got);
}

/* ---- the expected result: the definitions, node by node --------------------- */

/* Element `i` of a weight. */
static float element_of(const vug_weight *w, int64_t columns, int64_t i)
{
    float row[FFN];
    const vug_matrix m = { w->dtype, w->data, columns, w->scales };
    assert_true(columns <= FFN);
    vug_matrix_decode(&m, i / columns, row);
    return row[i % columns];
}

static float *evaluate_norm(const help_graph *m, const float *x, vug_val w, size_t n, int64_t width)
{
    const vug_weight *weight = &m->weight[vug_graph_at(&m->graph, w)->at.param.slot];
    float *scale = guarded_floats((size_t)width), *out = guarded_floats(n);
    for (int64_t i = 0; i < width; i++)
        scale[i] = element_of(weight, width, i) + help_norm_attr.bias;
    for (size_t i = 0; i < n; i += (size_t)width)
        vug_ref_rms_norm(x + i, scale, help_norm_attr.eps, out + i, width);
    free_guarded(scale);
    return out;
}

/* The keys and values, in[1] and in[2], of an attention that shares another layer's cache. */
static void find_keys(const help_graph *m, const vug_node *node, float *const *value, float **in)
{
    for (uint32_t i = 1; i < m->graph.n; i++) {
        const vug_node *source = &m->graph.node[i];
        if (!vug_node_fills_cache(source) || source->at.attn.layer != node->at.attn.layer)
            continue;
        in[1] = value[source->in[1].id];
        in[2] = value[source->in[2].id];
    }
}

static void evaluate_attention(const vug_node *node, float *const *in, float *out)
{
    for (int64_t t = 0; t < TOKENS; t++) {
        for (int64_t h = 0; h < HEADS; h++) {
            const vug_ref_attention_job history = {
                .k = in[1],
                .v = in[2],
                .position = t,
                .heads = KV,
                .head = h / (HEADS / KV),
                .width = E,
                .window = node->at.attn.window,
                .score = { node->at.attn.scale, node->at.attn.softcap },
            };
            const int64_t at = (t * HEADS + h) * E;
            vug_ref_attention(in[0] + at, &history, out + at);
        }
    }
}

/* Operations on single elements. */
static float evaluate_element(const vug_node *node, const float *a, const float *b, size_t i)
{
    switch (node->op) {
    case VUG_OP_ADD:
        return a[i] + b[i];
    case VUG_OP_MUL:
        return a[i] * b[i];
    case VUG_OP_GELU:
        return vug_ref_gelu(a[i]);
    case VUG_OP_SILU:
        return vug_ref_silu(a[i]);
    case VUG_OP_SCALE:
        return a[i] * node->at.scale.by;
    case VUG_OP_SOFTCAP:
        return vug_ref_tanh(a[i] / node->at.scale.by) * node->at.scale.by;
    default: /* HEADS, MERGE, and GATHER of every row */
        return a[i];
    }
}

/* One node of an unfused graph, for all tokens at once. */
static float *evaluate(const help_graph *m, const vug_node *node, float *const *in)
{
    const int64_t width = node->shape.dim[node->shape.rank - 1];
    const size_t n = (size_t)vug_shape_elements(&node->shape, TOKENS, TOKENS);
    if (node->op == VUG_OP_RMS_NORM)
        return evaluate_norm(m, in[0], node->in[1], n, width);
    float *out = guarded_floats(n);
    const vug_node *first = vug_graph_at(&m->graph, node->in[0]);
    if (node->op == VUG_OP_LINEAR) {
        const vug_weight *w = &m->weight[vug_graph_at(&m->graph, node->in[1])->at.param.slot];
        vug_matrix matrix = { w->dtype, w->data, first->shape.dim[1], w->scales };
        float *decoded = m->plan.activations == VUG_ACTIVATIONS_F32
                                 ? block_weights_decoded(&matrix, width)
                                 : NULL;
        if (decoded)
            matrix = matrix_over(VUG_DTYPE_F32, (uint8_t *)decoded, matrix.columns);
        vug_ref_linear(in[0], TOKENS, &matrix, width, out);
        vug_free(decoded);
    } else if (node->op == VUG_OP_BIAS) {
        const vug_weight *w = &m->weight[vug_graph_at(&m->graph, node->in[1])->at.param.slot];
        for (size_t i = 0; i < n; i++)
            out[i] = in[0][i] + element_of(w, width, (int64_t)i % width);
    } else if (node->op == VUG_OP_ATTENTION) {
        evaluate_attention(node, in, out);
    } else if (node->op == VUG_OP_UNIT_NORM) {
        for (size_t i = 0; i < n; i += (size_t)width)
            vug_ref_unit_norm(in[0] + i, node->at.norm.eps, out + i, width);
    } else if (node->op == VUG_OP_DEINTERLEAVE) {
        for (size_t i = 0; i < n; i++)
            out[i] = in[0][i / E * E + (i % E < E / 2 ? 2 * (i % E) : 2 * (i % E - E / 2) + 1)];
    } else if (node->op == VUG_OP_HEAD) {
        for (size_t i = 0; i < n; i++)
            out[i] = in[0][(i / E * HEADS + (size_t)node->at.head.index) * E + i % E];
    } else if (node->op == VUG_OP_SCALE_BY) {
        const vug_weight *w = &m->weight[vug_graph_at(&m->graph, node->in[1])->at.param.slot];
        for (size_t i = 0; i < n; i++)
            out[i] = in[0][i] * element_of(w, 1, 0);
    } else if (node->op == VUG_OP_EMBED) {
        const vug_weight *w = &m->weight[first->at.param.slot];
        for (size_t i = 0; i < n; i++)
            out[i] = element_of(w, D, (int64_t)token_at((int64_t)i / D) * D + (int64_t)i % D) *
                     node->at.scale.by;
    } else if (node->op == VUG_OP_ROPE_TABLE) {
        for (int32_t t = 0; t < TOKENS; t++)
            vug_ref_rope_table(&node->at.table, t, out + t * width);
    } else if (node->op == VUG_OP_ROPE) {
        const int64_t heads_in = node->shape.dim[1];
        for (int64_t row = 0; row < TOKENS * heads_in; row++)
            vug_ref_rope(in[0] + row * E, in[1] + row / heads_in * 6, 6, out + row * E, E);
    } else {
        for (size_t i = 0; i < n; i++)
            out[i] = evaluate_element(node, in[0], in[1], i);
    }
    return out;
}

static model_result *expected_of(bool exact)
{
    model_result *want = vug_alloc(1, sizeof(*want));
    help_graph m = help_small_model(false);
    m.plan.activations = exact ? VUG_ACTIVATIONS_F32 : VUG_ACTIVATIONS_Q8;
    float **value = vug_alloc_zero(m.graph.n, sizeof(*value));
    assert_non_null(want);
    assert_non_null(value);
    for (uint32_t i = 1; i < m.graph.n; i++) {
        const vug_node *node = &m.graph.node[i];
        float *in[VUG_MAX_INPUTS];
        for (int j = 0; j < VUG_MAX_INPUTS; j++)
            in[j] = value[node->in[j].id];
        if (vug_node_shares_cache(node))
            find_keys(&m, node, value, in);
        if (node->op != VUG_OP_PARAM && node->op != VUG_OP_INPUT)
            value[i] = evaluate(&m, node, in);
    }
    memcpy(want->logits, value[m.graph.output[0].value.id], sizeof(want->logits));
    memcpy(want->hidden, value[m.graph.output[1].value.id], sizeof(want->hidden));
    for (uint32_t i = 1; i < m.graph.n; i++) {
        if (value[i])
            free_guarded(value[i]);
    }
    for (size_t i = 0; i < (size_t)TOKENS * V; i++)
        assert_true(isfinite(want->logits[i]) && fabsf(want->logits[i]) <= 20);
    vug_free(value);
    help_graph_release(&m);
    return want;
}

static model_result *expected(void)
{
    return expected_of(false);
}

/* ---- tests ---------------------------------------------------------------- */

static void test_any_chunk_size_gives_the_same_bits(void **state)
{
    (void)state;
    model_result *want = expected();
    for (int fused = 0; fused < 2; fused++) {
        help_graph m = help_small_model(fused);
        for (int threads = 1; threads <= 3; threads++) {
            backend_setup s = help_backend_setup(&m, threads == 2 ? "ref" : NULL, threads);
            check_result(&s, TOKENS, want, fused ? "fused, one step" : "one step");
            check_result(&s, 1, want, fused ? "fused, token by token" : "token by token");
            check_result(&s, 7, want, fused ? "fused, steps of 7" : "steps of 7");
            help_backend_teardown(&s);
        }
        help_graph_release(&m);
    }
    vug_free(want);
}

/* Exact activations give the products of the decoded weights, and so other bits. */
static void test_exact_activations(void **state)
{
    (void)state;
    model_result *want = expected_of(true), *rounded = expected();
    assert_memory_not_equal(want->logits, rounded->logits, sizeof(want->logits));
    help_graph m = help_small_model(true);
    m.plan.activations = VUG_ACTIVATIONS_F32;
    backend_setup s = help_backend_setup(&m, NULL, 2);
    check_result(&s, TOKENS, want, "F32, one step");
    check_result(&s, 1, want, "F32, token by token");
    help_backend_teardown(&s);
    help_graph_release(&m);
    vug_free(want);
    vug_free(rounded);
}

/* A row of outputs does not depend on which other rows are requested. */
static void test_any_output_rows(void **state)
{
    (void)state;
    static const int32_t rows[] = { 0, 2, 3, 17, 18, 19, 60, TOKENS - 1 };
    enum { N = sizeof(rows) / sizeof(rows[0]) };
    model_result *want = expected();
    help_graph m = help_small_model(true);
    backend_setup s = help_backend_setup(&m, NULL, 2);
    int32_t token[TOKENS];
    const float *output[2];
    for (int i = 0; i < TOKENS; i++)
        token[i] = token_at(i);
    const vug_span span = { vug_kv_fixed_table(&s.kv, 0), 0, TOKENS };
    const vug_step_in in = {
        .kv = s.kv.kv, .span = &span, .n_spans = 1, .token = token, .row = rows, .n_rows = N
    };
    assert_int_equal(s.b->run(s.program, s.workspace, &in, output, NULL), VUG_OK);
    for (int i = 0; i < N; i++)
        check_bits(output[0] + (size_t)i * V, want->logits + (size_t)rows[i] * V, V, "some rows");
    help_backend_teardown(&s);
    help_graph_release(&m);
    vug_free(want);
}

/* Two sequences in every step, at different positions of the same text. */
static void test_two_sequences(void **state)
{
    (void)state;
    enum { LEAD = 30 };
    model_result *want = expected();
    help_graph m = help_small_model(true);
    backend_setup s = help_backend_setup(&m, NULL, 2);
    int32_t token[TOKENS];
    const float *output[2];
    for (int i = 0; i < LEAD; i++)
        token[i] = token_at(i);
    const vug_span lead = { vug_kv_fixed_table(&s.kv, 0), 0, LEAD };
    assert_int_equal(s.b->run(s.program, s.workspace,
                              &(vug_step_in){ .kv = s.kv.kv,
                                              .span = &lead,
                                              .n_spans = 1,
                                              .token = token,
                                              .row = NULL,
                                              .n_rows = 0 },
                              output, NULL),
                     VUG_OK);
    for (int64_t past = 0; past < 40; past += 4) {
        for (int i = 0; i < 4; i++) {
            token[i] = token_at(past + i);
            token[4 + i] = token_at(LEAD + past + i);
        }
        const vug_span both[2] = { { vug_kv_fixed_table(&s.kv, 1), past, 4 },
                                   { vug_kv_fixed_table(&s.kv, 0), LEAD + past, 4 } };
        const int32_t row[2] = { 3, 7 };
        const vug_step_in in = {
            .kv = s.kv.kv, .span = both, .n_spans = 2, .token = token, .row = row, .n_rows = 2
        };
        assert_int_equal(s.b->run(s.program, s.workspace, &in, output, NULL), VUG_OK);
        check_bits(output[0], want->logits + (past + 3) * V, V, "the second sequence");
        check_bits(output[0] + V, want->logits + (LEAD + past + 3) * V, V, "the first sequence");
        check_bits(output[1], want->hidden + past * D, (size_t)4 * D,
                   "hidden of the second sequence");
        check_bits(output[1] + (ptrdiff_t)4 * D, want->hidden + (LEAD + past) * D, (size_t)4 * D,
                   "hidden of the first sequence");
    }
    help_backend_teardown(&s);
    help_graph_release(&m);
    vug_free(want);
}

/* A cancelled step does not change the tokens before it. */
static void test_cancel(void **state)
{
    (void)state;
    model_result *want = expected();
    help_graph m = help_small_model(true);
    backend_setup s = help_backend_setup(&m, NULL, 2);
    int32_t token[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        token[i] = token_at(i);
    const int32_t row = 9;
    const float *output[2];
    vug_err err;
    vug_cancel_token cancel = { false };
    vug_span span = { vug_kv_fixed_table(&s.kv, 0), 0, 60 };
    vug_step_in in = {
        .kv = s.kv.kv, .span = &span, .n_spans = 1, .token = token, .row = &row, .cancel = &cancel
    };
    assert_int_equal(s.b->run(s.program, s.workspace, &in, output, &err), VUG_OK);
    span = (vug_span){ vug_kv_fixed_table(&s.kv, 0), 60, 20 };
    in.token = token + 10; /* other tokens than after the cancelled step */
    vug_cancel_token_trigger(&cancel);
    assert_int_equal(s.b->run(s.program, s.workspace, &in, output, &err), VUG_CANCELLED);
    vug_cancel_token_reset(&cancel);
    in.token = token + 60;
    span.n = 10;
    in.n_rows = 1;
    assert_int_equal(s.b->run(s.program, s.workspace, &in, output, &err), VUG_OK);
    check_bits(output[0], want->logits + (size_t)69 * V, V, "after a cancelled step");
    help_backend_teardown(&s);
    help_graph_release(&m);
    vug_free(want);
}

static void check_rejected(const backend_setup *s, const vug_step_in *in, const char *why)
{
    vug_err err = { 0 };
    const float *output[2];
    assert_int_not_equal(s->b->run(s->program, s->workspace, in, output, &err), VUG_OK);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void test_bad_steps_are_rejected(void **state)
{
    (void)state;
    help_graph m = help_small_model(true);
    backend_setup s = help_backend_setup(&m, NULL, 1);
    int32_t token[TOKENS + 1] = { 0 }, row[1] = { 0 };
    vug_span span = { vug_kv_fixed_table(&s.kv, 0), 0, BATCH + 1 };
    vug_step_in in = {
        .kv = s.kv.kv, .span = &span, .n_spans = 1, .token = token, .row = row, .n_rows = 0
    };
    check_rejected(&s, &in, "81 tokens");
    span = (vug_span){ vug_kv_fixed_table(&s.kv, 0), CONTEXT - 2, 3 };
    check_rejected(&s, &in, "context of 100");
    span = (vug_span){ vug_kv_fixed_table(&s.kv, 0), 0, 0 };
    check_rejected(&s, &in, "0 tokens");
    span.n = 2;
    token[1] = V;
    check_rejected(&s, &in, "token 90 is outside the vocabulary of 90");
    token[1] = -1;
    check_rejected(&s, &in, "token -1");
    token[1] = 0;
    in.n_rows = 1;
    row[0] = 2;
    check_rejected(&s, &in, "output row 2 is outside a step of 2 tokens");
    in.n_rows = BATCH + 1;
    check_rejected(&s, &in, "81 output rows");
    help_backend_teardown(&s);
    help_graph_release(&m);
}

static void test_describe(void **state)
{
    (void)state;
    assert_true(vug_backend_count() >= 1);
    const vug_backend *b = &vug_backend_cpu;
    const vug_device_info machine = b->describe(NULL);
    assert_string_equal(machine.name, "cpu");
    assert_true(machine.available && machine.threads >= 1 && machine.memory > 0);
    vug_device *device;
    assert_int_equal(b->open(&(vug_device_options){ .isa = "ref", .threads = 3 }, &device, NULL),
                     VUG_OK);
    const vug_device_info info = b->describe(device);
    assert_int_equal(info.threads, 3);
    assert_non_null(strstr(info.description, "reference kernels"));
    b->close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_chunk_size_gives_the_same_bits),
        cmocka_unit_test(test_exact_activations),
        cmocka_unit_test(test_any_output_rows),
        cmocka_unit_test(test_two_sequences),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_bad_steps_are_rejected),
        cmocka_unit_test(test_describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
