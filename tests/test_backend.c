/*
 * The CPU backend as a whole, on a small model built node by node: fused and
 * unfused graphs, any cut into steps, any number of threads and every row of the
 * kernel table give the bits that the definitions in ref.c give, evaluated one
 * node after the other; bad steps are refused; a step can be cancelled.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "backend/backend.h"
#include "backend/cpu/ref.h"
#include "block_help.h"
#include "graph_help.h"

enum { D = 64, HEADS = 4, KV = 2, E = 12, FFN = 128, V = 90, LAYERS = 3 };
enum { TOKENS = 80, CONTEXT = 100, BATCH = 80 };

/* ---- the model ------------------------------------------------------------ */

static const vug_attr_norm norm_at = { .eps = 1e-6f, .bias = 1 };

static vug_val norm(help_graph *m, vug_val x, int64_t width)
{
    return help_append(m, (vug_node){ .op = VUG_OP_RMS_NORM,
                                      .in = { x, help_weight(m, 0, width) },
                                      .at.norm = norm_at });
}

static vug_val add_norm(help_graph *m, bool fused, vug_val x, vug_val a)
{
    if (!fused)
        return help_op2(m, VUG_OP_ADD, x, norm(m, a, D));
    return help_append(m, (vug_node){ .op = VUG_OP_ADD_NORM,
                                      .in = { x, a, help_weight(m, 0, D) },
                                      .at.norm = norm_at });
}

static vug_val norm_rope(help_graph *m, bool fused, vug_val x, vug_val table)
{
    if (!fused)
        return help_op2(m, VUG_OP_ROPE, norm(m, x, E), table);
    return help_append(m, (vug_node){ .op = VUG_OP_NORM_ROPE,
                                      .in = { x, help_weight(m, 0, E), table },
                                      .at.norm = norm_at });
}

static vug_val block(help_graph *m, bool fused, vug_val x, vug_val table)
{
    const vug_attr_attn attn = { m->layer, m->layer == 1 ? 0 : 20, 0.3f, m->layer == 2 ? 9.0f : 0 };
    const vug_val h = norm(m, x, D);
    vug_val q = help_linear(m, h, (int64_t)HEADS * E, D);
    if (m->layer == 1)
        q = help_op2(m, VUG_OP_BIAS, q, help_weight(m, 0, (int64_t)HEADS * E));
    q = help_heads(m, q, HEADS);
    vug_val k = help_heads(m, help_linear(m, h, (int64_t)KV * E, D), KV);
    const vug_val v = help_heads(m, help_linear(m, h, (int64_t)KV * E, D), KV);
    q = norm_rope(m, fused, q, table);
    k = norm_rope(m, fused, k, table);
    const vug_val a = help_append(
            m, (vug_node){ .op = VUG_OP_ATTENTION, .in = { q, k, v }, .at.attn = attn });
    const vug_val merged = help_append(m, (vug_node){ .op = VUG_OP_MERGE, .in = { a } });
    x = add_norm(m, fused, x, help_linear(m, merged, D, (int64_t)HEADS * E));

    const vug_val f = norm(m, x, D);
    const vug_val gate = help_linear(m, f, FFN, D), up = help_linear(m, f, FFN, D);
    const bool silu = m->layer == 1;
    const vug_op alone = silu ? VUG_OP_SILU : VUG_OP_GELU;
    const vug_val act =
            fused ? help_op2(m, silu ? VUG_OP_SWIGLU : VUG_OP_GEGLU, gate, up)
                  : help_op2(m, VUG_OP_MUL,
                             help_append(m, (vug_node){ .op = alone, .in = { gate } }), up);
    return add_norm(m, fused, x, help_linear(m, act, D, FFN));
}

/* A block that reads the cache of layer 0 with the queries of every row of x, takes a
 * head of the answer apart and multiplies by a number of its own. */
static vug_val reader(help_graph *m, vug_val x, vug_val table)
{
    const vug_attr_attn attn = { 0, 20, 1.1f, 0 };
    vug_val q = help_heads(m, help_linear(m, norm(m, x, D), (int64_t)HEADS * E, D), HEADS);
    q = help_append(m, (vug_node){ .op = VUG_OP_UNPAIR, .in = { q } });
    q = help_op2(m, VUG_OP_ROPE, q, table);
    q = help_append(m, (vug_node){ .op = VUG_OP_UNIT_NORM, .in = { q }, .at.norm = { 1e-5f, 0 } });
    const vug_val a =
            help_append(m, (vug_node){ .op = VUG_OP_ATTEND, .in = { q }, .at.attn = attn });
    const vug_val one =
            help_append(m, (vug_node){ .op = VUG_OP_HEAD, .in = { a }, .at.head = { 2 } });
    const vug_val merged = help_append(m, (vug_node){ .op = VUG_OP_MERGE, .in = { a } });
    x = help_op2(m, VUG_OP_ADD, x, help_linear(m, merged, D, (int64_t)HEADS * E));
    x = help_op2(m, VUG_OP_ADD, x, help_linear(m, one, D, E));
    return help_op2(m, VUG_OP_GAIN, x, help_weight(m, 0, 1));
}

/* The same weights for the same arguments: they are drawn in the same order. */
static help_graph model_of(bool fused)
{
    static const float inv[3] = { 1, 0.1f, 0.01f }; /* half of each head is rotated */
    help_graph m = { .r = { 31 }, .layer = -1, .blocks = true };
    const vug_val tokens = help_input(&m, VUG_INPUT_TOKENS);
    const vug_val positions = help_input(&m, VUG_INPUT_POSITIONS);
    const vug_val rows = help_input(&m, VUG_INPUT_ROWS);
    const vug_val table = help_append(
            &m,
            (vug_node){ .op = VUG_OP_ROPE_TABLE, .in = { positions }, .at.table = { 6, inv, 1 } });
    const vug_val embedding = help_weight(&m, V, D);
    vug_val x = help_append(
            &m,
            (vug_node){ .op = VUG_OP_EMBED, .in = { embedding, tokens }, .at.scale = { 6.5f } });
    for (m.layer = 0; m.layer < LAYERS; m.layer++)
        x = block(&m, fused, x, table);
    x = reader(&m, x, table);
    m.layer = -1;
    x = help_append(&m, (vug_node){ .op = VUG_OP_SCALE, .in = { x }, .at.scale = { 0.5f } });
    m.layer = LAYERS + 1;
    vug_val last = help_op2(&m, VUG_OP_TAKE, x, rows);
    last = reader(&m, last, help_op2(&m, VUG_OP_TAKE, table, rows));
    m.layer = -1;
    last = norm(&m, last, D);
    const vug_val logits =
            help_append(&m, (vug_node){ .op = VUG_OP_SOFTCAP,
                                        .in = { help_op2(&m, VUG_OP_LINEAR, last, embedding) },
                                        .at.scale = { 20 } });
    assert_int_equal(vug_graph_output(&m.graph, "logits", logits, NULL), VUG_OK);
    assert_int_equal(vug_graph_output(&m.graph, "hidden", x, NULL), VUG_OK);
    help_plan(&m, BATCH);
    return m;
}

/* ---- running it ----------------------------------------------------------- */

typedef struct {
    const vug_backend *b;
    vug_device *device;
    vug_program *program;
    vug_state *state[2];
    vug_workspace *workspace;
} setup;

static setup setup_of(const help_graph *m, const char *isa, int threads)
{
    setup s = { .b = vug_backend_at(0) };
    vug_err err = { 0 };
    const vug_device_options options = { isa, threads };
    const vug_limits limits = { CONTEXT, BATCH, BATCH };
    vug_status st = s.b->open(&options, &s.device, &err);
    if (st == VUG_OK)
        st = s.b->compile(s.device, &m->graph, &m->plan, m->weight, &limits, &s.program, &err);
    for (int i = 0; i < 2 && st == VUG_OK; i++)
        st = s.b->state_create(s.program, &s.state[i], &err);
    if (st == VUG_OK)
        st = s.b->workspace_create(s.program, &s.workspace, &err);
    if (st != VUG_OK)
        fail_msg("%s", err.msg);
    return s;
}

static void setup_release(setup *s)
{
    for (int i = 0; i < 2; i++)
        s->b->state_destroy(s->state[i]);
    s->b->workspace_destroy(s->workspace);
    s->b->release(s->program);
    s->b->close(s->device);
}

static int32_t token_at(int64_t i)
{
    return (int32_t)((i * 37 + i / 7) % V);
}

/* Logits and hidden states of every token, in steps of `chunk`. */
static void run_all(const setup *s, int64_t chunk, float *logits, float *hidden)
{
    int32_t token[TOKENS], row[TOKENS];
    for (int64_t past = 0; past < TOKENS; past += chunk) {
        const int64_t n = TOKENS - past < chunk ? TOKENS - past : chunk;
        for (int64_t i = 0; i < n; i++) {
            token[i] = token_at(past + i);
            row[i] = (int32_t)i;
        }
        const vug_span span = { s->state[0], past, n };
        const vug_step_in in = {
            .span = &span, .n_spans = 1, .token = token, .row = row, .n_rows = n
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
} result;

static void check_result(const setup *s, int64_t chunk, const result *want, const char *what)
{
    result *got = vug_alloc(1, sizeof(*got));
    assert_non_null(got);
    run_all(s, chunk, got->logits, got->hidden);
    check_bits(got->hidden, want->hidden, (size_t)TOKENS * D, what);
    check_bits(got->logits, want->logits, (size_t)TOKENS * V, what);
    vug_free(got);
}

/* ---- what it should give: the definitions, node by node -------------------- */

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
        scale[i] = element_of(weight, width, i) + norm_at.bias;
    for (size_t i = 0; i < n; i += (size_t)width)
        vug_ref_rms_norm(x + i, scale, norm_at.eps, out + i, width);
    free_guarded(scale);
    return out;
}

/* The values in[1], in[2] of an attention that reads what another one filled. */
static void find_keys(const help_graph *m, const vug_node *node, float *const *value, float **in)
{
    for (uint32_t i = 1; i < m->graph.n; i++) {
        const vug_node *source = &m->graph.node[i];
        if (source->op != VUG_OP_ATTENTION || source->at.attn.layer != node->at.attn.layer)
            continue;
        in[1] = value[source->in[1].id];
        in[2] = value[source->in[2].id];
    }
}

static void evaluate_attention(const vug_node *node, float *const *in, float *out)
{
    for (int64_t t = 0; t < TOKENS; t++) {
        for (int64_t h = 0; h < HEADS; h++) {
            const vug_ref_history history = {
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

/* Operations of one element. */
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
    default: /* HEADS, MERGE, and TAKE of every row */
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
        float *decoded = m->plan.exact_activations ? block_weights_decoded(&matrix, width) : NULL;
        if (decoded)
            matrix = matrix_over(VUG_DTYPE_F32, (uint8_t *)decoded, matrix.columns);
        vug_ref_linear(in[0], TOKENS, &matrix, width, out);
        vug_free(decoded);
    } else if (node->op == VUG_OP_BIAS) {
        const vug_weight *w = &m->weight[vug_graph_at(&m->graph, node->in[1])->at.param.slot];
        for (size_t i = 0; i < n; i++)
            out[i] = in[0][i] + element_of(w, width, (int64_t)i % width);
    } else if (node->op == VUG_OP_ATTENTION || node->op == VUG_OP_ATTEND) {
        evaluate_attention(node, in, out);
    } else if (node->op == VUG_OP_UNIT_NORM) {
        for (size_t i = 0; i < n; i += (size_t)width)
            vug_ref_unit_norm(in[0] + i, node->at.norm.eps, out + i, width);
    } else if (node->op == VUG_OP_UNPAIR) {
        for (size_t i = 0; i < n; i++)
            out[i] = in[0][i / E * E + (i % E < E / 2 ? 2 * (i % E) : 2 * (i % E - E / 2) + 1)];
    } else if (node->op == VUG_OP_HEAD) {
        for (size_t i = 0; i < n; i++)
            out[i] = in[0][(i / E * HEADS + (size_t)node->at.head.index) * E + i % E];
    } else if (node->op == VUG_OP_GAIN) {
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

static result *expected_of(bool exact)
{
    result *want = vug_alloc(1, sizeof(*want));
    help_graph m = model_of(false);
    m.plan.exact_activations = exact;
    float **value = vug_alloc_zero(m.graph.n, sizeof(*value));
    assert_non_null(want);
    assert_non_null(value);
    for (uint32_t i = 1; i < m.graph.n; i++) {
        const vug_node *node = &m.graph.node[i];
        float *in[VUG_MAX_INPUTS];
        for (int j = 0; j < VUG_MAX_INPUTS; j++)
            in[j] = value[node->in[j].id];
        if (node->op == VUG_OP_ATTEND)
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

static result *expected(void)
{
    return expected_of(false);
}

/* ---- tests ---------------------------------------------------------------- */

static void test_same_bits(void **state)
{
    (void)state;
    result *want = expected();
    for (int fused = 0; fused < 2; fused++) {
        help_graph m = model_of(fused);
        for (int threads = 1; threads <= 3; threads++) {
            setup s = setup_of(&m, threads == 2 ? "ref" : NULL, threads);
            check_result(&s, TOKENS, want, fused ? "fused, one step" : "one step");
            check_result(&s, 1, want, fused ? "fused, token by token" : "token by token");
            check_result(&s, 7, want, fused ? "fused, steps of 7" : "steps of 7");
            setup_release(&s);
        }
        help_graph_release(&m);
    }
    vug_free(want);
}

/* Activations in F32 give the products of the decoded weights, and so other bits. */
static void test_exact_activations(void **state)
{
    (void)state;
    result *want = expected_of(true), *rounded = expected();
    assert_memory_not_equal(want->logits, rounded->logits, sizeof(want->logits));
    help_graph m = model_of(true);
    m.plan.exact_activations = true;
    setup s = setup_of(&m, NULL, 2);
    check_result(&s, TOKENS, want, "F32, one step");
    check_result(&s, 1, want, "F32, token by token");
    setup_release(&s);
    help_graph_release(&m);
    vug_free(want);
    vug_free(rounded);
}

/* Which rows are wanted changes none of them, neighbours or not. */
static void test_some_rows(void **state)
{
    (void)state;
    static const int32_t rows[] = { 0, 2, 3, 17, 18, 19, 60, TOKENS - 1 };
    enum { N = sizeof(rows) / sizeof(rows[0]) };
    result *want = expected();
    help_graph m = model_of(true);
    setup s = setup_of(&m, NULL, 2);
    int32_t token[TOKENS];
    const float *output[2];
    for (int i = 0; i < TOKENS; i++)
        token[i] = token_at(i);
    const vug_span span = { s.state[0], 0, TOKENS };
    const vug_step_in in = {
        .span = &span, .n_spans = 1, .token = token, .row = rows, .n_rows = N
    };
    assert_int_equal(s.b->run(s.program, s.workspace, &in, output, NULL), VUG_OK);
    for (int i = 0; i < N; i++)
        check_bits(output[0] + (size_t)i * V, want->logits + (size_t)rows[i] * V, V, "some rows");
    setup_release(&s);
    help_graph_release(&m);
    vug_free(want);
}

/* Two sequences in every step, at different places of the same text. */
static void test_two_sequences(void **state)
{
    (void)state;
    enum { LEAD = 30 };
    result *want = expected();
    help_graph m = model_of(true);
    setup s = setup_of(&m, NULL, 2);
    int32_t token[TOKENS];
    const float *output[2];
    for (int i = 0; i < LEAD; i++)
        token[i] = token_at(i);
    const vug_span lead = { s.state[0], 0, LEAD };
    assert_int_equal(
            s.b->run(
                    s.program, s.workspace,
                    &(vug_step_in){
                            .span = &lead, .n_spans = 1, .token = token, .row = NULL, .n_rows = 0 },
                    output, NULL),
            VUG_OK);
    for (int64_t past = 0; past < 40; past += 4) {
        for (int i = 0; i < 4; i++) {
            token[i] = token_at(past + i);
            token[4 + i] = token_at(LEAD + past + i);
        }
        const vug_span both[2] = { { s.state[1], past, 4 }, { s.state[0], LEAD + past, 4 } };
        const int32_t row[2] = { 3, 7 };
        const vug_step_in in = {
            .span = both, .n_spans = 2, .token = token, .row = row, .n_rows = 2
        };
        assert_int_equal(s.b->run(s.program, s.workspace, &in, output, NULL), VUG_OK);
        check_bits(output[0], want->logits + (past + 3) * V, V, "the one behind");
        check_bits(output[0] + V, want->logits + (LEAD + past + 3) * V, V, "the one ahead");
        check_bits(output[1], want->hidden + past * D, (size_t)4 * D, "hidden of the one behind");
        check_bits(output[1] + (ptrdiff_t)4 * D, want->hidden + (LEAD + past) * D, (size_t)4 * D,
                   "hidden ahead");
    }
    setup_release(&s);
    help_graph_release(&m);
    vug_free(want);
}

/* A cancelled step leaves everything before it as it was. */
static void test_cancel(void **state)
{
    (void)state;
    result *want = expected();
    help_graph m = model_of(true);
    setup s = setup_of(&m, NULL, 2);
    int32_t token[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        token[i] = token_at(i);
    const int32_t row = 9;
    const float *output[2];
    vug_err err;
    atomic_bool cancel = false;
    vug_span span = { s.state[0], 0, 60 };
    vug_step_in in = {
        .span = &span, .n_spans = 1, .token = token, .row = &row, .cancel = &cancel
    };
    assert_int_equal(s.b->run(s.program, s.workspace, &in, output, &err), VUG_OK);
    span = (vug_span){ s.state[0], 60, 20 };
    in.token = token + 10; /* not what is computed afterwards */
    atomic_store(&cancel, true);
    assert_int_equal(s.b->run(s.program, s.workspace, &in, output, &err), VUG_CANCELLED);
    atomic_store(&cancel, false);
    in.token = token + 60;
    span.n = 10;
    in.n_rows = 1;
    assert_int_equal(s.b->run(s.program, s.workspace, &in, output, &err), VUG_OK);
    check_bits(output[0], want->logits + (size_t)69 * V, V, "after a cancelled step");
    setup_release(&s);
    help_graph_release(&m);
    vug_free(want);
}

static void refuse(const setup *s, const vug_step_in *in, const char *why)
{
    vug_err err = { 0 };
    const float *output[2];
    assert_int_not_equal(s->b->run(s->program, s->workspace, in, output, &err), VUG_OK);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not say '%s'", err.msg, why);
}

static void test_bad_steps(void **state)
{
    (void)state;
    help_graph m = model_of(true);
    setup s = setup_of(&m, NULL, 1);
    int32_t token[TOKENS + 1] = { 0 }, row[1] = { 0 };
    vug_span span = { s.state[0], 0, BATCH + 1 };
    vug_step_in in = { .span = &span, .n_spans = 1, .token = token, .row = row, .n_rows = 0 };
    refuse(&s, &in, "81 tokens");
    span = (vug_span){ s.state[0], CONTEXT - 2, 3 };
    refuse(&s, &in, "context of 100");
    span = (vug_span){ s.state[0], 0, 0 };
    refuse(&s, &in, "0 tokens");
    span.n = 2;
    token[1] = V;
    refuse(&s, &in, "token 90 is outside the vocabulary of 90");
    token[1] = -1;
    refuse(&s, &in, "token -1");
    token[1] = 0;
    in.n_rows = 1;
    row[0] = 2;
    refuse(&s, &in, "row 2 of a step of 2");
    in.n_rows = BATCH + 1;
    refuse(&s, &in, "81 rows");
    setup_release(&s);
    help_graph_release(&m);
}

static void test_sizes(void **state)
{
    (void)state;
    help_graph m = model_of(true);
    setup s = setup_of(&m, NULL, 1);
    const vug_program_sizes sizes = s.b->sizes(s.program);
    /* 100 tokens in blocks of 64; windows of 20 with steps of 80 need 99 slots. */
    uint64_t bytes = 0;
    for (int i = 0; i < LAYERS; i++) {
        assert_int_equal(sizes.cache[i].window, i == 1 ? 0 : 20);
        assert_int_equal(sizes.cache[i].slots, 128);
        assert_int_equal(sizes.cache[i].bytes, 128 * KV * (E + 16) * 4);
        bytes += sizes.cache[i].bytes;
    }
    assert_int_equal(sizes.state_bytes, bytes);
    assert_true(sizes.workspace_bytes > m.plan.bytes);
    for (int i = 0; i < LAYERS + 2; i++)
        assert_int_equal(sizes.cache[i].source, i < LAYERS ? i : 0);
    for (int i = LAYERS; i < LAYERS + 2; i++) {
        assert_int_equal(sizes.cache[i].window, 20);
        assert_int_equal(sizes.cache[i].slots, 128);
        assert_int_equal(sizes.cache[i].bytes, 0);
    }
    /* Four norms of D and two of E per layer, one of D per reader, the last norm, and
     * one bias. */
    assert_int_equal(sizes.copied_bytes, (LAYERS * (4 * D + 2 * E) + 3 * D + HEADS * E) * 4);
    setup_release(&s);
    help_graph_release(&m);
}

/* Weight `slot` as it should not be. */
static void check_refused(const vug_backend *b, vug_device *device, help_graph *m, int slot,
                          vug_weight weight, const char *why)
{
    const vug_limits limits = { CONTEXT, BATCH, BATCH };
    const vug_weight good = m->weight[slot];
    vug_program *program;
    vug_err err;
    m->weight[slot] = weight;
    assert_int_equal(b->compile(device, &m->graph, &m->plan, m->weight, &limits, &program, &err),
                     VUG_UNSUPPORTED);
    if (!strstr(err.msg, why))
        fail_msg("'%s' does not hold '%s'", err.msg, why);
    m->weight[slot] = good;
}

static void test_compile_refuses(void **state)
{
    (void)state;
    help_graph m = model_of(true);
    const vug_backend *b = vug_backend_at(0);
    vug_device *device;
    vug_program *program;
    vug_err err;
    assert_int_equal(b->open(&(vug_device_options){ NULL, 1 }, &device, &err), VUG_OK);
    vug_weight w = m.weight[3];
    w.name = "layers.0.k";
    w.dtype = VUG_DTYPE_I8;
    check_refused(b, device, &m, 3, w, "'layers.0.k' is I8");
    w.dtype = VUG_DTYPE_Q6_K;
    w.scales.scale = NULL;
    check_refused(b, device, &m, 3, w,
                  "'layers.0.k' has rows of 64 elements, Q6_K needs a multiple of 256");
    w.dtype = VUG_DTYPE_MLX4; /* which is nothing without scales, or with scales of parts */
    check_refused(b, device, &m, 3, w, "'layers.0.k' is MLX4");
    const vug_scales good = { w.data, w.data, VUG_DTYPE_BF16, 1, 32, 2 };
    vug_scales bad[4] = { good, good, good, good };
    bad[0].columns = 16;
    bad[1].rows = 2;
    bad[2].bias = NULL;
    bad[3].dtype = VUG_DTYPE_E8M0;
    for (int i = 0; i < 4; i++) {
        w.scales = bad[i];
        check_refused(b, device, &m, 3, w, "'layers.0.k' is MLX4");
    }
    w.dtype = VUG_DTYPE_MLX_FP4;
    w.scales = good; /* with a bias */
    check_refused(b, device, &m, 3, w, "'layers.0.k' is MLX_FP4");
    assert_int_equal(b->compile(device, &m.graph, &m.plan, m.weight, &(vug_limits){ 0, 1, 1 },
                                &program, &err),
                     VUG_ARGUMENT);
    b->close(device);
    assert_int_equal(b->open(&(vug_device_options){ "abacus", 1 }, &device, &err), VUG_ARGUMENT);
    assert_non_null(strstr(err.msg, "'abacus'"));
    assert_non_null(strstr(err.msg, "ref"));
    help_graph_release(&m);
}

static void test_describe(void **state)
{
    (void)state;
    assert_true(vug_backend_count() >= 1);
    const vug_backend *b = vug_backend_at(vug_backend_count() - 1);
    const vug_device_info machine = b->describe(NULL);
    assert_string_equal(machine.name, "cpu");
    assert_true(machine.available && machine.threads >= 1 && machine.memory > 0);
    vug_device *device;
    assert_int_equal(b->open(&(vug_device_options){ "ref", 3 }, &device, NULL), VUG_OK);
    const vug_device_info info = b->describe(device);
    assert_int_equal(info.threads, 3);
    assert_non_null(strstr(info.description, "reference kernels"));
    b->close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits), cmocka_unit_test(test_exact_activations),
        cmocka_unit_test(test_some_rows), cmocka_unit_test(test_two_sequences),
        cmocka_unit_test(test_cancel),    cmocka_unit_test(test_bad_steps),
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_compile_refuses),
        cmocka_unit_test(test_describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
