/*
 * Attention of the CUDA backend: on tensor cores it is within its rounding of the kernels in F32,
 * and however a sequence is cut into steps, each token has the same bits. Without a GPU nothing is
 * tested.
 */
#include "test.h"

#include <math.h>

#include "backend/cuda/cuda.h"
#include "backend_help.h"
#include "engine_help.h"

enum { KV_HEADS = 2, MOST_TOKENS = 200, MOST_PAIRS = 128, PRODUCT = 48, MOST_SEQUENCES = 24 };

typedef struct {
    int64_t heads, width, window;
    float softcap;
    vug_kv_format kv;
    bool rotates;    /* queries and keys are normed and rotated before */
    bool multiplies; /* the result is that of a product of PRODUCT outputs with the attention */
} attention_shape;

/* An input [tokens,heads,width] of the graph. */
static vug_val rows_input(help_graph *m, int index, int64_t heads, int64_t width)
{
    return help_append(m, (vug_node){ .op = VUG_OP_INPUT,
                                      .shape = { 3, { VUG_DIM_T, heads, width } },
                                      .at.input = { .which = VUG_INPUT_DATA, .index = index } });
}

/* Heads of width `width`, normed and rotated. */
static vug_val rotated(help_graph *m, vug_val x, int64_t width, vug_val table)
{
    return help_append(m, (vug_node){ .op = VUG_OP_NORM_ROPE,
                                      .in = { x, help_weight(m, 0, width), table },
                                      .at.norm = { .eps = 1e-6f, .bias = 1 } });
}

static vug_val rope_table(help_graph *m, int64_t dims)
{
    static float inv[MOST_PAIRS];
    for (int i = 0; i < MOST_PAIRS; i++)
        inv[i] = 1 / (1 + (float)i);
    return help_append(m, (vug_node){ .op = VUG_OP_ROPE_TABLE,
                                      .in = { help_input(m, VUG_INPUT_POSITIONS) },
                                      .at.table = { (int)dims, inv, 1 } });
}

/* The product of rows [tokens,heads,width] with a matrix in BF16. */
static vug_val multiplied(help_graph *m, vug_val x, int64_t columns)
{
    const int slot = help_add_weight(m, VUG_DTYPE_BF16, PRODUCT, columns);
    return help_product(m, help_append(m, (vug_node){ .op = VUG_OP_MERGE, .in = { x } }), slot);
}

static help_graph attention_graph(const attention_shape *shape, vug_activations activations,
                                  int64_t context)
{
    help_graph m = { .r = { 3 }, .layer = -1 };
    vug_err err = { 0 };
    vug_val q = rows_input(&m, 0, shape->heads, shape->width),
            k = rows_input(&m, 1, KV_HEADS, shape->width);
    const vug_val v = rows_input(&m, 2, KV_HEADS, shape->width);
    const vug_val table = shape->rotates ? rope_table(&m, shape->width) : v;
    m.layer = 0;
    if (shape->rotates) {
        q = rotated(&m, q, shape->width, table);
        k = rotated(&m, k, shape->width, table);
    }
    vug_val out = help_append(&m, (vug_node){ .op = VUG_OP_ATTENTION,
                                              .in = { q, k, v },
                                              .at.attn = { .window = shape->window,
                                                           .scale = 1 / sqrtf((float)shape->width),
                                                           .softcap = shape->softcap } });
    m.layer = -1;
    if (shape->multiplies)
        out = multiplied(&m, out, shape->heads * shape->width);
    help_ok(vug_graph_output(&m.graph, "out", out, &err), &err);
    help_plan(&m, context);
    m.plan.activations = activations;
    m.plan.kv = shape->kv;
    return m;
}

/* What attends to a sequence of `tokens` tokens: queries, keys and values. */
typedef struct {
    float *q, *k, *v;
    int64_t tokens;
} attention_rows;

static attention_rows random_rows(rng *r, const attention_shape *shape, int64_t tokens, float by)
{
    const size_t q = (size_t)(tokens * shape->heads * shape->width),
                 k = (size_t)(tokens * KV_HEADS * shape->width);
    const attention_rows rows = { vug_alloc(q, sizeof(float)), vug_alloc(k, sizeof(float)),
                                  vug_alloc(k, sizeof(float)), tokens };
    assert_true(rows.q && rows.k && rows.v);
    rng_fill(r, rows.q, q);
    rng_fill(r, rows.k, k);
    rng_fill(r, rows.v, k);
    for (size_t i = 0; i < q; i++)
        rows.q[i] *= by;
    return rows;
}

static void release_rows(attention_rows *rows)
{
    vug_free(rows->q);
    vug_free(rows->k);
    vug_free(rows->v);
}

static backend_setup open_attention(const help_graph *m, const vug_limits *limits,
                                    int64_t sequences)
{
    const vug_backend *b = &vug_backend_cuda;
    backend_setup s = { .b = b };
    vug_err err = { 0 };
    help_ok(b->open(&(vug_device_options){ 0 }, &s.device, &err), &err);
    help_ok(b->weights_create(s.device, m->weight, (size_t)m->n_weights, &s.weights, &err), &err);
    help_ok(b->compile(s.weights, &m->graph, &m->plan, limits, &s.program, &err), &err);
    help_ok(vug_kv_fixed_init(&s.kv, b, s.device, b->kv_layout(s.program), limits, sequences, &err),
            &err);
    help_ok(b->workspace_create(s.program, &s.workspace, &err), &err);
    return s;
}

/* The values in a row of the output. */
static int64_t output_row(const attention_shape *shape)
{
    return shape->multiplies ? PRODUCT : shape->heads * shape->width;
}

/* out [tokens,output row], in a step of `first` tokens and then in steps of `chunk`. */
static void attend(const attention_shape *shape, vug_activations activations,
                   const attention_rows *rows, int64_t first, int64_t chunk, float *out)
{
    const vug_limits limits = { rows->tokens, rows->tokens, 1 };
    const int64_t q_row = shape->heads * shape->width, k_row = KV_HEADS * shape->width;
    help_graph m = attention_graph(shape, activations, rows->tokens);
    backend_setup s = open_attention(&m, &limits, 1);
    vug_err err = { 0 };
    int32_t *tokens = vug_alloc_zero((size_t)rows->tokens, sizeof(*tokens));
    assert_non_null(tokens);
    for (int64_t t = 0, n = first; t < rows->tokens; t += n, n = chunk) {
        n = rows->tokens - t < n ? rows->tokens - t : n;
        const vug_span span = { vug_kv_fixed_table(&s.kv, 0), t, n };
        const float *data[] = { rows->q + t * q_row, rows->k + t * k_row, rows->v + t * k_row };
        const vug_step_in in = {
            .kv = s.kv.kv, .span = &span, .n_spans = 1, .token = tokens, .data = data
        };
        const float *output;
        help_ok(s.b->run(s.program, s.workspace, &in, &output, &err), &err);
        memcpy(out + t * output_row(shape), output, (size_t)(n * output_row(shape)) * sizeof(*out));
    }
    vug_free(tokens);
    help_backend_teardown(&s);
    help_graph_release(&m);
}

/* out [n,MOST_TOKENS,PRODUCT] of sequences `first` to first + n - 1, a token of each in a step. Sequence i
 * begins with token i of the rows, which come around. */
static void attend_together(const attention_shape *shape, vug_activations activations,
                            const attention_rows *rows, int64_t first, int64_t n, float *out)
{
    const vug_limits limits = { MOST_TOKENS, n, n };
    const int64_t q_row = shape->heads * shape->width, k_row = KV_HEADS * shape->width;
    help_graph m = attention_graph(shape, activations, MOST_TOKENS);
    backend_setup s = open_attention(&m, &limits, n);
    vug_err err = { 0 };
    float *data[] = { vug_alloc((size_t)(n * q_row), sizeof(float)),
                      vug_alloc((size_t)(n * k_row), sizeof(float)),
                      vug_alloc((size_t)(n * k_row), sizeof(float)) };
    vug_span *span = vug_alloc((size_t)n, sizeof(*span));
    assert_true(data[0] && data[1] && data[2] && span);
    static const int32_t tokens[MOST_TOKENS];
    for (int64_t t = 0; t < MOST_TOKENS; t++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = (first + i + t) % MOST_TOKENS;
            span[i] = (vug_span){ vug_kv_fixed_table(&s.kv, i), t, 1 };
            memcpy(data[0] + i * q_row, rows->q + at * q_row, (size_t)q_row * sizeof(float));
            memcpy(data[1] + i * k_row, rows->k + at * k_row, (size_t)k_row * sizeof(float));
            memcpy(data[2] + i * k_row, rows->v + at * k_row, (size_t)k_row * sizeof(float));
        }
        const vug_step_in in = { .kv = s.kv.kv,
                                 .span = span,
                                 .n_spans = (int)n,
                                 .token = tokens,
                                 .data = (const float *const *)data };
        const float *output;
        help_ok(s.b->run(s.program, s.workspace, &in, &output, &err), &err);
        for (int64_t i = 0; i < n; i++)
            memcpy(out + (i * MOST_TOKENS + t) * PRODUCT, output + i * PRODUCT,
                   PRODUCT * sizeof(*out));
    }
    help_backend_teardown(&s);
    help_graph_release(&m);
    for (int i = 0; i < 3; i++)
        vug_free(data[i]);
    vug_free(span);
}

static double largest_difference(const float *a, const float *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(isfinite(a[i]) && isfinite(b[i]));
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    }
    return most;
}

/* The results in one step, which are returned, have the same bits in steps of several sizes. */
static float *check_chunks(const attention_shape *shape, vug_activations activations,
                           const attention_rows *rows)
{
    static const int64_t chunk[] = { 1, 7, 70 };
    const size_t n = (size_t)(MOST_TOKENS * output_row(shape));
    float *whole = vug_alloc(n, sizeof(*whole)), *cut = vug_alloc(n, sizeof(*cut));
    assert_true(whole && cut);
    attend(shape, activations, rows, MOST_TOKENS, MOST_TOKENS, whole);
    for (size_t i = 0; i < sizeof(chunk) / sizeof(chunk[0]); i++) {
        attend(shape, activations, rows, chunk[i], chunk[i], cut);
        check_bits(cut, whole, n, "attention in chunks");
    }
    vug_free(cut);
    return whole;
}

/* The same, and the results differ from the exact ones by at most `bound`. */
static void check_rounding(const attention_shape *shape, vug_activations activations,
                           const attention_rows *rows, const float *exact, double bound)
{
    const size_t n = (size_t)(MOST_TOKENS * output_row(shape));
    float *whole = check_chunks(shape, activations, rows);
    const double difference = largest_difference(whole, exact, n);
    if (difference > bound)
        print_error("width %d, %s: differs by %g\n", (int)shape->width,
                    vug_kv_format_name(shape->kv), difference);
    assert_true(difference <= bound);
    vug_free(whole);
}

/* Scores are products of about 4 with keys of about 1, and values below 1: rounding to one term
 * of F16 changes a result by less than 2^-7, of BF16 by less than 2^-4; two terms have 11 or 8
 * more bits. */
static void check_shape(attention_shape shape)
{
    rng r = { 11 };
    attention_rows rows = random_rows(&r, &shape, MOST_TOKENS, 4);
    float *exact = vug_alloc((size_t)(MOST_TOKENS * shape.heads * shape.width), sizeof(*exact));
    assert_non_null(exact);
    for (vug_kv_format kv = VUG_KV_F16; kv < VUG_KV_COUNT; kv++) {
        const double one = kv == VUG_KV_F16 ? 0x1p-7 : 0x1p-4;
        const double two = kv == VUG_KV_F16 ? 0x1p-18 : kv == VUG_KV_BF16 ? 0x1p-12 : 0x1p-18;
        shape.kv = kv;
        attend(&shape, VUG_ACTIVATIONS_F32, &rows, MOST_TOKENS, MOST_TOKENS, exact);
        check_rounding(&shape, VUG_ACTIVATIONS_BF16, &rows, exact, one);
        check_rounding(&shape, VUG_ACTIVATIONS_Q8, &rows, exact, two);
    }
    release_rows(&rows);
    vug_free(exact);
}

static void test_attention_is_close_and_the_same_in_chunks(void **state)
{
    (void)state;
    const vug_device_info info = vug_backend_cuda.describe(NULL);
    if (!info.available) {
        print_message("no GPU: %s\n", info.reason);
        skip();
    }
    static const attention_shape shapes[] = {
        { .heads = 4, .width = 64 },
        { .heads = 6, .width = 44, .window = 70 },
        { .heads = 2, .width = 128, .softcap = 30 },
        { .heads = 8, .width = 256, .window = 64 },
        { .heads = 4, .width = 256 },
        { .heads = 8, .width = 512 },
        { .heads = 4, .width = 64, .rotates = true },
        { .heads = 8, .width = 128, .rotates = true },
        { .heads = 6, .width = 256, .window = 70, .rotates = true },
        /* So many that share keys that two or three blocks of token_attention.cu have them. */
        { .heads = 24, .width = 64, .rotates = true },
        { .heads = 40, .width = 128, .window = 70, .rotates = true },
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        check_shape(shapes[i]);
}

/* A step of 200 or 70 tokens leaves its results to the product in blocks, one of 1 or 7 does not. */
static void test_products_are_the_same_in_chunks(void **state)
{
    (void)state;
    static const attention_shape shapes[] = {
        { .heads = 4, .width = 64, .multiplies = true },
        { .heads = 8, .width = 128, .window = 70, .multiplies = true },
        { .heads = 8, .width = 256, .rotates = true, .multiplies = true },
        { .heads = 6, .width = 44, .multiplies = true },
    };
    if (!vug_backend_cuda.describe(NULL).available)
        skip();
    for (size_t i = 0; i < 2 * sizeof(shapes) / sizeof(shapes[0]); i++) {
        rng r = { 19 };
        attention_shape shape = shapes[i / 2];
        shape.kv = i % 2 ? VUG_KV_BF16 : VUG_KV_F16;
        attention_rows rows = random_rows(&r, &shape, MOST_TOKENS, 1);
        vug_free(check_chunks(&shape, VUG_ACTIVATIONS_Q8, &rows));
        vug_free(check_chunks(&shape, VUG_ACTIVATIONS_BF16, &rows));
        release_rows(&rows);
    }
}

/* The tokens of `n` sequences beside one another are those of each alone. */
static void check_sequences(const attention_shape *shape, vug_activations activations,
                            const attention_rows *rows, int64_t n)
{
    static float alone[MOST_TOKENS * PRODUCT], together[MOST_SEQUENCES * MOST_TOKENS * PRODUCT];
    attend_together(shape, activations, rows, 0, n, together);
    for (int64_t i = 0; i < n; i += 1 + n / 3) {
        attend_together(shape, activations, rows, i, 1, alone);
        check_bits(together + i * MOST_TOKENS * PRODUCT, alone, sizeof(alone) / sizeof(*alone),
                   "a sequence beside others");
    }
}

/* Also where attention leaves its results to a product in blocks: 24 sequences. */
static void test_sequences_do_not_depend_on_others(void **state)
{
    (void)state;
    static const attention_shape shapes[] = {
        { .heads = 4, .width = 64, .kv = VUG_KV_BF16, .multiplies = true },
        { .heads = 8, .width = 256, .kv = VUG_KV_BF16, .rotates = true, .multiplies = true },
        { .heads = 6, .width = 44, .kv = VUG_KV_F16, .multiplies = true },
        { .heads = 16, .width = 128, .window = 70, .kv = VUG_KV_F16, .multiplies = true },
    };
    if (!vug_backend_cuda.describe(NULL).available)
        skip();
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        rng r = { 17 };
        attention_rows rows = random_rows(&r, &shapes[i], MOST_TOKENS, 1);
        check_sequences(&shapes[i], VUG_ACTIVATIONS_Q8, &rows, 20);
        check_sequences(&shapes[i], VUG_ACTIVATIONS_Q8, &rows, MOST_SEQUENCES);
        check_sequences(&shapes[i], VUG_ACTIVATIONS_BF16, &rows, MOST_SEQUENCES);
        release_rows(&rows);
    }
}

/* The last tokens, each in a step of its own, whose pages are computed side by side and joined: 5 of
 * them, 130, and 266, in which joining goes through its memory for pages more than once. With more than 528
 * pages of all heads, a block of token_attention.cu computes two, if 132 multiprocessors share them. */
static void test_tokens_after_many_pages_are_the_same(void **state)
{
    (void)state;
    enum { LAST = 3 };
    static const int64_t tokens[] = { 300, 8300, 17000 };
    static const attention_shape shapes[] = {
        { .heads = 4, .width = 44, .kv = VUG_KV_F32 },
        { .heads = 4, .width = 44, .kv = VUG_KV_F16 },
        { .heads = 8, .width = 64, .kv = VUG_KV_BF16, .rotates = true },
    };
    enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };
    if (!vug_backend_cuda.describe(NULL).available)
        skip();
    for (size_t i = 0; i < SHAPES * sizeof(tokens) / sizeof(tokens[0]); i++) {
        rng r = { 23 };
        const attention_shape shape = shapes[i % SHAPES];
        attention_rows rows = random_rows(&r, &shape, tokens[i / SHAPES], 4);
        const size_t row = (size_t)output_row(&shape), n = (size_t)rows.tokens * row;
        float *whole = vug_alloc(n, sizeof(*whole)), *cut = vug_alloc(n, sizeof(*cut));
        assert_true(whole && cut);
        attend(&shape, VUG_ACTIVATIONS_Q8, &rows, rows.tokens, 1, whole);
        attend(&shape, VUG_ACTIVATIONS_Q8, &rows, rows.tokens - LAST, 1, cut);
        check_bits(cut + n - LAST * row, whole + n - LAST * row, LAST * row,
                   "a token after many pages");
        vug_free(whole);
        vug_free(cut);
        release_rows(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_is_close_and_the_same_in_chunks),
        cmocka_unit_test(test_products_are_the_same_in_chunks),
        cmocka_unit_test(test_sequences_do_not_depend_on_others),
        cmocka_unit_test(test_tokens_after_many_pages_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
