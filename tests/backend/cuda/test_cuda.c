/*
 * The CUDA backend. Without a GPU, or in a build without CUDA, only its message is tested; on a
 * machine with one (make check-cuda) also products with every format and the golden checkpoints.
 */
#include "test.h"

#include <math.h>

#include "backend/cpu/ref.h"
#include "backend/cuda/cuda.h"
#include "block_help.h"
#include "engine_help.h"
#include "linear_help.h"
#include "quant/matrix.h"
#include "vug/checkpoint.h"

#define FOLDER "tests/golden/models"

static bool skips(void)
{
    const vug_device_info info = vug_backend_cuda.describe(NULL);
    if (!info.available)
        print_message("no GPU: %s\n", info.reason);
    return !info.available;
}

static void test_missing_device_is_explained(void **state)
{
    (void)state;
    const vug_device_info info = vug_backend_cuda.describe(NULL);
    vug_device *device = NULL;
    vug_err err = { 0 };
    assert_string_equal(info.name, "cuda");
    assert_true(info.available == (info.reason[0] == '\0'));
    const vug_status st = vug_backend_cuda.open(&(vug_device_options){ 0 }, &device, &err);
    if (info.available) {
        help_ok(st, &err);
        vug_backend_cuda.close(device);
        return;
    }
    assert_int_equal(st, VUG_UNSUPPORTED);
    assert_non_null(strstr(err.msg, info.reason));
    vug_model *m = NULL;
    assert_int_equal(vug_model_open(FOLDER "/gemma3-text", &(vug_model_options){ .device = "cuda" },
                                    &m, &err),
                     VUG_UNSUPPORTED);
    assert_non_null(strstr(err.msg, info.reason));
}

/* ---- products ---------------------------------------------------------------------- */

enum { OUT = 21 };

/* Those of tiles of codes (cuda/weight_tiles.h). */
static const vug_dtype code_formats[] = { VUG_DTYPE_Q4_0, VUG_DTYPE_Q8_0, VUG_DTYPE_Q4_K,
                                          VUG_DTYPE_Q6_K, VUG_DTYPE_E4M3, VUG_DTYPE_MXFP4,
                                          VUG_DTYPE_MLX4, VUG_DTYPE_MLX8 };
enum { CODE_FORMATS = sizeof(code_formats) / sizeof(code_formats[0]) };

/* y [rows,OUT] = x [rows,columns of w] w^T, on the device. */
static void run_linear(const vug_weight *w, vug_activations activations, const float *x,
                       int64_t rows, float *y)
{
    help_run_linear(&vug_backend_cuda, w, activations, x, rows, y);
}

enum { SHIFT = 2 }; /* what addresses of weights are off alignment */

/* Random weights; those of FP8 have a scale for each block of 48 rows and 32 columns. */
static vug_matrix make_matrix(rng *r, vug_dtype dtype, int64_t rows, int64_t columns)
{
    enum { BLOCK_ROWS = 48, BLOCK_COLUMNS = 32 };
    vug_matrix m = random_matrix(r, dtype, rows, columns, SHIFT);
    if (dtype != VUG_DTYPE_E4M3)
        return m;
    const int64_t stride = (columns + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
    const size_t n = (size_t)(stride * ((rows + BLOCK_ROWS - 1) / BLOCK_ROWS));
    float *scale = vug_alloc(n, sizeof(*scale));
    assert_non_null(scale);
    rng_fill(r, scale, n);
    m.scales = (vug_scales){ .scale = (const uint8_t *)scale,
                             .dtype = VUG_DTYPE_F32,
                             .rows = BLOCK_ROWS,
                             .columns = BLOCK_COLUMNS,
                             .stride = stride };
    return m;
}

static void free_matrix(const vug_matrix *m)
{
    if (vug_codec_of(m->dtype)->block) {
        block_weights_free(m, SHIFT);
        return;
    }
    free_weights(m->data, SHIFT);
    vug_free((uint8_t *)m->scales.scale);
}

static vug_weight weight_of(const vug_matrix *m, int64_t rows)
{
    return (vug_weight){ .name = "w",
                         .dtype = m->dtype,
                         .rows = rows,
                         .columns = m->columns,
                         .data = m->data,
                         .scales = m->scales };
}

/* The product with a weight has the bits of the product with its decoded values, and a row has
 * the bits of the row alone. */
static void check_format(vug_dtype dtype, int64_t columns)
{
    enum { MAX_COLUMNS = 768, ROWS = 11 };
    rng r = { 5 };
    static float x[ROWS * MAX_COLUMNS], decoded[OUT * MAX_COLUMNS];
    float whole[ROWS * OUT], plain[ROWS * OUT], alone[OUT];
    const vug_matrix matrix = make_matrix(&r, dtype, OUT, columns);
    rng_fill(&r, x, (size_t)(ROWS * columns));
    for (int64_t o = 0; o < OUT; o++)
        vug_matrix_decode(&matrix, o, decoded + o * columns);
    vug_weight w = weight_of(&matrix, OUT);
    run_linear(&w, VUG_ACTIVATIONS_F32, x, ROWS, whole);
    run_linear(&w, VUG_ACTIVATIONS_F32, x + (ROWS - 1) * columns, 1, alone);
    w = (vug_weight){ .name = "w",
                      .dtype = VUG_DTYPE_F32,
                      .rows = OUT,
                      .columns = columns,
                      .data = (const uint8_t *)decoded };
    run_linear(&w, VUG_ACTIVATIONS_F32, x, ROWS, plain);
    check_bits(whole, plain, (size_t)ROWS * OUT, vug_dtype_of(dtype)->name);
    check_bits(alone, whole + (size_t)(ROWS - 1) * OUT, OUT, vug_dtype_of(dtype)->name);
    double sum = 0;
    for (int64_t i = 0; i < columns; i++)
        sum += (double)x[i] * (double)decoded[i];
    assert_true((double)whole[0] - sum < 1e-3 && sum - (double)whole[0] < 1e-3);
    free_matrix(&matrix);
}

/* Rows that are taken as terms in BF16 for the tensor cores: each row is within the rounding of the
 * exact product, and has the bits of the row alone. */
static void check_rounding(vug_activations activations, vug_dtype dtype, int64_t out,
                           int64_t columns, int64_t rows)
{
    rng r = { 9 };
    float *x = vug_alloc((size_t)(rows * columns), sizeof(*x));
    float *whole = vug_alloc((size_t)(rows * out), sizeof(*whole));
    float *exact = vug_alloc((size_t)(rows * out), sizeof(*exact));
    float *alone = vug_alloc((size_t)out, sizeof(*alone));
    assert_true(x && whole && exact && alone);
    const vug_matrix matrix = make_matrix(&r, dtype, out, columns);
    const vug_weight w = weight_of(&matrix, out);
    rng_fill(&r, x, (size_t)(rows * columns));
    run_linear(&w, activations, x, rows, whole);
    run_linear(&w, VUG_ACTIVATIONS_F32, x, rows, exact);
    for (int64_t row = 0; row < rows; row += 1 + rows / 6) {
        run_linear(&w, activations, x + row * columns, 1, alone);
        check_bits(alone, whole + row * out, (size_t)out, vug_dtype_of(dtype)->name);
    }
    double most = 0, difference = 0;
    for (int64_t i = 0; i < rows * out; i++) {
        const double d = (double)whole[i] - (double)exact[i], y = (double)exact[i];
        difference = d * d > difference ? d * d : difference;
        most = y * y > most ? y * y : most;
    }
    /* Two terms have 16 bits, one has 8. */
    const double bound = activations == VUG_ACTIVATIONS_BF16 ? 1e-4 : 1e-8;
    assert_true(difference > 0 && difference < most * bound);
    free_matrix(&matrix);
    vug_free(alone);
    vug_free(exact);
    vug_free(whole);
    vug_free(x);
}

static void check_rounded_rows(vug_dtype dtype, int64_t out, int64_t columns, int64_t rows)
{
    check_rounding(VUG_ACTIVATIONS_Q8, dtype, out, columns, rows);
    check_rounding(VUG_ACTIVATIONS_BF16, dtype, out, columns, rows);
}

static void test_rounded_rows_do_not_depend_on_others(void **state)
{
    (void)state;
    if (skips())
        skip();
    static const int64_t columns[] = { 38, 64, 768, 2560, 10240 };
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        check_rounded_rows(VUG_DTYPE_BF16, OUT, columns[i], 5);
        check_rounded_rows(VUG_DTYPE_BF16, OUT, columns[i], 11);
        check_rounded_rows(VUG_DTYPE_BF16, OUT, columns[i], 40);
        check_rounded_rows(VUG_DTYPE_BF16, 200, columns[i], 64);
        check_rounded_rows(VUG_DTYPE_BF16, OUT, columns[i], 70);
    }
    /* So many outputs that clusters of batch_linear.cu have 3 to 7 warpgroups, or run in two turns. */
    check_rounded_rows(VUG_DTYPE_BF16, 2400, 576, 64);
    check_rounded_rows(VUG_DTYPE_BF16, 4096, 1600, 64);
    check_rounded_rows(VUG_DTYPE_BF16, 6150, 320, 33);
    check_rounded_rows(VUG_DTYPE_BF16, 9000, 320, 20);
    /* So many that wide_linear.cu takes them, for some blocks twice. */
    check_rounded_rows(VUG_DTYPE_BF16, 13000, 200, 17);
    check_rounded_rows(VUG_DTYPE_BF16, 26000, 768, 64);
    /* So many that wgmma_linear.cu takes tiles of 128 and 192 rows. */
    check_rounded_rows(VUG_DTYPE_BF16, OUT, 38, 8000);
    check_rounded_rows(VUG_DTYPE_BF16, OUT, 200, 20000);
}

/* y [rows,out]: an activation of the products of x with two matrices or, with `down`, the product of that
 * with a third one, so that nothing else reads it. */
static void run_gated(vug_op activation, vug_activations activations, const vug_weight *w,
                      bool down, const float *x, int64_t rows, float *y)
{
    help_graph m = { .layer = -1, .weight = { w[0], w[1], w[2] } };
    vug_err err = { 0 };
    const vug_val in = help_data(&m, (vug_shape){ 2, { rows, w->columns } });
    const vug_val gate = help_product(&m, in, 0), up = help_product(&m, in, 1);
    vug_val out = help_op2(&m, activation, gate, up);
    if (down)
        out = help_product(&m, out, 2);
    help_ok(vug_graph_output(&m.graph, "y", out, &err), &err);
    help_plan(&m, 1);
    m.plan.activations = activations;
    help_run_graph(&vug_backend_cuda, &m, down ? 3 : 2, x, y,
                   (size_t)(rows * w[down ? 2 : 0].rows));
    help_graph_release(&m);
}

/* Each row has the bits of the row alone. */
static void check_rows_of_gated(vug_op activation, vug_activations activations, const vug_weight *w,
                                bool down, const float *x, int64_t rows)
{
    const int64_t columns = w->columns, out = w[down ? 2 : 0].rows;
    float *whole = vug_alloc((size_t)(rows * out), sizeof(*whole));
    float *alone = vug_alloc((size_t)out, sizeof(*alone));
    assert_true(whole && alone);
    run_gated(activation, activations, w, down, x, rows, whole);
    for (int64_t row = 0; row < rows; row += 1 + rows / 6) {
        run_gated(activation, activations, w, down, x + row * columns, 1, alone);
        check_bits(alone, whole + row * out, (size_t)out, "gated rows");
    }
    vug_free(alone);
    vug_free(whole);
}

/* Gate and up have the format `gate`, the third matrix has `down`. */
static void check_gated_formats(vug_op activation, vug_dtype gate, vug_dtype down, int64_t hidden,
                                int64_t columns, int64_t rows)
{
    rng r = { 3 };
    float *x = vug_alloc((size_t)(rows * columns), sizeof(*x));
    const vug_matrix m[] = { make_matrix(&r, gate, hidden, columns),
                             make_matrix(&r, gate, hidden, columns),
                             make_matrix(&r, down, OUT, hidden) };
    const vug_weight w[] = { weight_of(&m[0], hidden), weight_of(&m[1], hidden),
                             weight_of(&m[2], OUT) };
    assert_non_null(x);
    rng_fill(&r, x, (size_t)(rows * columns));
    check_rows_of_gated(activation, VUG_ACTIVATIONS_Q8, w, false, x, rows);
    check_rows_of_gated(activation, VUG_ACTIVATIONS_Q8, w, true, x, rows);
    check_rows_of_gated(activation, VUG_ACTIVATIONS_BF16, w, true, x, rows);
    for (int i = 0; i < 3; i++)
        free_matrix(&m[i]);
    vug_free(x);
}

static void check_gated(vug_op activation, int64_t hidden, int64_t columns, int64_t rows)
{
    check_gated_formats(activation, VUG_DTYPE_BF16, VUG_DTYPE_BF16, hidden, columns, rows);
}

static void test_gated_rows_do_not_depend_on_others(void **state)
{
    (void)state;
    if (skips())
        skip();
    check_gated(VUG_OP_GEGLU, 200, 320, 12);
    check_gated(VUG_OP_GEGLU, 200, 320, 64);
    /* In blocks, which are whole. */
    check_gated(VUG_OP_SWIGLU, 256, 320, 16);
    check_gated(VUG_OP_GEGLU, 640, 320, 64);
    /* So many that clusters of batch_linear.cu have more warpgroups. */
    check_gated(VUG_OP_GEGLU, 1600, 320, 20);
    check_gated(VUG_OP_SWIGLU, 3072, 320, 64);
    /* So many that wide_linear.cu takes them. */
    check_gated(VUG_OP_SWIGLU, 7000, 320, 2);
    check_gated(VUG_OP_SWIGLU, 7000, 320, 50);
    check_gated(VUG_OP_SWIGLU, 7040, 320, 40);
    check_gated(VUG_OP_GEGLU, 13056, 640, 64);
    check_gated(VUG_OP_GEGLU, 200, 320, 70);
}

/* Sums in any order differ from those in slices by less than what the rounding of x to BF16 does. */
static void check_any_order(int64_t hidden, int64_t columns, int64_t rows)
{
    rng r = { 13 };
    const vug_matrix m[] = { make_matrix(&r, VUG_DTYPE_BF16, hidden, columns),
                             make_matrix(&r, VUG_DTYPE_BF16, hidden, columns),
                             make_matrix(&r, VUG_DTYPE_BF16, OUT, hidden) };
    const vug_weight w[] = { weight_of(&m[0], hidden), weight_of(&m[1], hidden),
                             weight_of(&m[2], OUT) };
    const size_t n = (size_t)(rows * hidden);
    float *x = vug_alloc((size_t)(rows * columns), sizeof(*x));
    float *fast = vug_alloc(n, sizeof(*fast)), *sliced = vug_alloc(n, sizeof(*sliced));
    assert_true(x && fast && sliced);
    rng_fill(&r, x, (size_t)(rows * columns));
    run_linear(&w[0], VUG_ACTIVATIONS_BF16_FAST, x, rows, fast);
    run_linear(&w[0], VUG_ACTIVATIONS_BF16, x, rows, sliced);
    help_check_near(fast, sliced, rows * hidden);
    run_gated(VUG_OP_GEGLU, VUG_ACTIVATIONS_BF16_FAST, w, true, x, rows, fast);
    run_gated(VUG_OP_GEGLU, VUG_ACTIVATIONS_BF16, w, true, x, rows, sliced);
    help_check_near(fast, sliced, rows * OUT);
    for (int i = 0; i < 3; i++)
        free_matrix(&m[i]);
    vug_free(sliced);
    vug_free(fast);
    vug_free(x);
}

static void test_sums_in_any_order_are_near(void **state)
{
    (void)state;
    if (skips())
        skip();
    check_any_order(64, 38, 70);
    check_any_order(1024, 2560, 700);
    /* So many that wgmma_linear.cu takes tiles of 192 and 256 rows. */
    check_any_order(64, 200, 20000);
    check_any_order(8192, 576, 2000);
}

static void test_gated_rows_of_codes_do_not_depend_on_others(void **state)
{
    (void)state;
    if (skips())
        skip();
    for (size_t i = 0; i < CODE_FORMATS; i++) {
        const vug_dtype format = code_formats[i];
        check_gated_formats(VUG_OP_GEGLU, format, format, 768, 256, 2);
        check_gated_formats(VUG_OP_SWIGLU, format, format, 768, 256, 64);
        check_gated_formats(VUG_OP_GEGLU, VUG_DTYPE_BF16, format, 256, 200, 9);
        check_gated_formats(VUG_OP_GEGLU, format, VUG_DTYPE_BF16, 320, 512, 24);
        /* So many that wide_linear.cu takes them. */
        check_gated_formats(VUG_OP_GEGLU, format, format, 7168, 512, 16);
        check_gated_formats(VUG_OP_SWIGLU, format, VUG_DTYPE_BF16, 7000, 512, 40);
    }
}

/* An activation of many rows is stored as the next product reads it, if its blocks are whole. */
static void test_gated_rows_of_a_prefill_do_not_depend_on_others(void **state)
{
    (void)state;
    if (skips())
        skip();
    static const vug_dtype formats[] = { VUG_DTYPE_BF16,  VUG_DTYPE_Q4_0, VUG_DTYPE_Q8_0,
                                         VUG_DTYPE_Q4_K,  VUG_DTYPE_Q6_K, VUG_DTYPE_E4M3,
                                         VUG_DTYPE_MXFP4, VUG_DTYPE_MLX4, VUG_DTYPE_MLX8 };
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        check_gated_formats(VUG_OP_GEGLU, formats[i], formats[i], 256, 256, 72);
        check_gated_formats(VUG_OP_SWIGLU, VUG_DTYPE_BF16, formats[i], 256, 200, 200);
        check_gated_formats(VUG_OP_GEGLU, formats[i], VUG_DTYPE_BF16, 320, 512, 136);
        /* Tiles of 128 rows. */
        check_gated_formats(VUG_OP_GEGLU, formats[i], formats[i], 256, 256, 8000);
    }
    /* Tiles of 192 rows, and more weights than are expanded together. */
    check_gated(VUG_OP_SWIGLU, 256, 200, 6336);
    check_gated_formats(VUG_OP_SWIGLU, VUG_DTYPE_Q4_0, VUG_DTYPE_Q4_0, 8192, 10240, 72);
    /* Rows without whole blocks. */
    check_gated(VUG_OP_GEGLU, 256, 320, 70);
}

static void test_rounded_rows_of_blocks_do_not_depend_on_others(void **state)
{
    (void)state;
    if (skips())
        skip();
    for (size_t i = 0; i < CODE_FORMATS; i++) {
        const vug_dtype format = code_formats[i];
        static const int64_t columns[] = { 256, 2560, 10240 };
        for (size_t j = 0; j < sizeof(columns) / sizeof(columns[0]); j++) {
            check_rounded_rows(format, OUT, columns[j], 5);
            check_rounded_rows(format, OUT, columns[j], 11);
            check_rounded_rows(format, OUT, columns[j], 20);
            check_rounded_rows(format, 200, columns[j], 64);
            check_rounded_rows(format, OUT, columns[j], 70);
        }
        /* Clusters of batch_linear.cu with more warpgroups, and several rounds of them. */
        check_rounded_rows(format, 2400, 768, 2);
        check_rounded_rows(format, 6150, 1536, 33);
        /* So many outputs that wide_linear.cu takes them. */
        check_rounded_rows(format, 13000, 256, 3);
        check_rounded_rows(format, 13000, 768, 50);
        /* So many that wgmma_linear.cu takes tiles of 128 rows. */
        check_rounded_rows(format, OUT, 256, 8000);
    }
    /* Half a unit of 64 columns, and more weights than are expanded together. */
    check_rounded_rows(VUG_DTYPE_Q4_0, OUT, 96, 40);
    check_rounded_rows(VUG_DTYPE_Q8_0, OUT, 96, 40);
    check_rounded_rows(VUG_DTYPE_Q4_0, 8000, 10240, 40);
    /* Formats that lie in tiles of others, which decoding checks. */
    check_rounded_rows(VUG_DTYPE_Q5_K, OUT, 2560, 11);
    check_rounded_rows(VUG_DTYPE_IQ4_NL, OUT, 2560, 11);
    /* Rows whose scales are copied in several parts, and that end within a block. */
    check_rounded_rows(VUG_DTYPE_E4M3, 40000, 2048, 3);
    check_rounded_rows(VUG_DTYPE_E4M3, OUT, 2570, 5);
}

/* Elements of all magnitudes, blocks of zeros, of the largest integers and, in the first row, of numbers
 * that have no scale (cuda/row_integers.h). */
static void fill_widely(rng *r, float *x, int64_t rows, int64_t columns)
{
    enum {
        BLOCK = 32,
        KINDS = 8,
        AT_NAN = 3 * BLOCK,
        AT_INFINITY = 4 * BLOCK,
        AT_LARGE = 5 * BLOCK
    };
    rng_fill(r, x, (size_t)(rows * columns));
    for (int64_t i = 0; i < rows * columns; i++) {
        const int64_t block = i / BLOCK;
        const int exponent = (int)(rng_bits(r) % 61) - 30;
        switch (block % KINDS) {
        case 0:
            x[i] = 0;
            break;
        case 1:
            x[i] = i % 2 ? 0x1.fbf7p0f : -0x1.fbf7p0f;
            break;
        case 2:
            x[i] = ldexpf(x[i], -95 + exponent);
            break;
        default:
            x[i] = ldexpf(x[i], exponent);
        }
    }
    x[AT_NAN] = NAN;
    x[AT_INFINITY] = INFINITY;
    x[AT_LARGE] = 0x1p113f;
}

static void test_integer_rows_may_have_any_magnitude(void **state)
{
    enum { ROWS = 70, COLUMNS = 2560 };
    (void)state;
    if (skips())
        skip();
    static const vug_dtype formats[] = { VUG_DTYPE_Q4_0, VUG_DTYPE_Q8_0, VUG_DTYPE_Q4_K,
                                         VUG_DTYPE_Q6_K, VUG_DTYPE_MLX4, VUG_DTYPE_MLX8 };
    static const int64_t rows[] = { 2, 11, ROWS };
    static float x[ROWS * COLUMNS], whole[ROWS * OUT], alone[OUT];
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        rng r = { 13 };
        const vug_matrix matrix = make_matrix(&r, formats[i], OUT, COLUMNS);
        const vug_weight w = weight_of(&matrix, OUT);
        fill_widely(&r, x, ROWS, COLUMNS);
        for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
            run_linear(&w, VUG_ACTIVATIONS_Q8, x, rows[j], whole);
            assert_true(isnan(whole[0]) && isfinite(whole[OUT]));
            for (int64_t row = 0; row < rows[j]; row += 1 + rows[j] / 6) {
                run_linear(&w, VUG_ACTIVATIONS_Q8, x + row * COLUMNS, 1, alone);
                check_bits(alone, whole + row * OUT, OUT, vug_dtype_of(formats[i])->name);
            }
        }
        free_matrix(&matrix);
    }
}

static void test_products_are_those_of_decoded_weights(void **state)
{
    (void)state;
    if (skips())
        skip();
    static const vug_dtype plain[] = { VUG_DTYPE_F32, VUG_DTYPE_F16, VUG_DTYPE_BF16,
                                       VUG_DTYPE_E4M3 };
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        check_format(plain[i], 768);
        check_format(plain[i], 77);
    }
    for (int i = 0; i < block_format_count(); i++)
        check_format(block_format(i), 768);
}

/* Weights of F32 are multiplied as BF16 if that has all of their values, and else as they are. */
static void test_floats_are_multiplied_as_bf16_if_they_are(void **state)
{
    (void)state;
    if (skips())
        skip();
    enum { COLUMNS = 300, ROWS = 70 };
    static const int64_t rows[] = { 1, 5, ROWS };
    static float x[ROWS * COLUMNS], wide[OUT * COLUMNS];
    float y[ROWS * OUT], want[ROWS * OUT];
    rng r = { 3 };
    const vug_matrix matrix = make_matrix(&r, VUG_DTYPE_BF16, OUT, COLUMNS);
    const vug_weight narrow = weight_of(&matrix, OUT);
    vug_weight w = narrow;
    w.dtype = VUG_DTYPE_F32;
    w.data = (const uint8_t *)wide;
    for (int64_t o = 0; o < OUT; o++)
        vug_matrix_decode(&matrix, o, wide + o * COLUMNS);
    rng_fill(&r, x, (size_t)ROWS * COLUMNS);
    for (size_t i = 0; i < 3; i++) {
        run_linear(&w, VUG_ACTIVATIONS_Q8, x, rows[i], y);
        run_linear(&narrow, VUG_ACTIVATIONS_Q8, x, rows[i], want);
        check_bits(y, want, (size_t)rows[i] * OUT, "values of BF16");
    }
    float *const last = &wide[OUT * COLUMNS - 1];
    *last = nextafterf(*last, 9);
    for (size_t i = 0; i < 3; i++) {
        run_linear(&w, VUG_ACTIVATIONS_Q8, x, rows[i], y);
        run_linear(&w, VUG_ACTIVATIONS_F32, x, rows[i], want);
        check_bits(y, want, (size_t)rows[i] * OUT, "other values");
    }
    free_matrix(&matrix);
}

/* ---- the router -------------------------------------------------------------------- */

/* The device's routes of ROUTED rows of `n` logits are those of the reference. */
enum { ROUTED = 19, MAX_LOGITS = 130 };

static void check_router(const float *logits, int64_t n, vug_attr_router at)
{
    float y[ROUTED * 2 * MAX_LOGITS], want[2 * MAX_LOGITS];
    const float unused[4] = { 0 };
    help_graph m = { .layer = -1,
                     .weight = { { .name = "w",
                                   .dtype = VUG_DTYPE_F32,
                                   .rows = 1,
                                   .columns = 4,
                                   .data = (const uint8_t *)unused } } };
    vug_err err = { 0 };
    const vug_val x = help_data(&m, (vug_shape){ 2, { ROUTED, n } });
    const vug_val route =
            help_append(&m, (vug_node){ .op = VUG_OP_ROUTER, .in = { x }, .at.router = at });
    help_ok(vug_graph_output(&m.graph, "y", route, &err), &err);
    help_plan(&m, 1);
    help_run_graph(&vug_backend_cuda, &m, 1, logits, y, (size_t)ROUTED * 2 * (size_t)at.count);
    for (int64_t r = 0; r < ROUTED; r++) {
        const float *own = y + r * 2 * at.count;
        vug_ref_router(logits + r * n, n, &at, want);
        for (int j = 0; j < at.count; j++) {
            const float weight = own[at.count + j], right = want[at.count + j];
            assert_true(own[j] == want[j]);
            assert_true(isnan(right) ? isnan(weight)
                                     : fabsf(weight - right) <= right * 1e-5f + 1e-30f);
        }
    }
    help_graph_release(&m);
}

/* With logits that are equal, infinite or no numbers. */
static void test_router_picks_the_best(void **state)
{
    (void)state;
    if (skips())
        skip();
    static const float odd[] = { -INFINITY, NAN, 0.0f, -0.0f };
    static const struct {
        int64_t n;
        int count;
    } shape[] = { { 1, 1 }, { 5, 3 }, { 32, 32 }, { 128, 8 }, { MAX_LOGITS, 40 } };
    float logits[ROUTED * MAX_LOGITS];
    rng r = { 47 };
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
        for (int64_t k = 0; k < ROUTED * shape[i].n; k++) {
            const uint32_t pick = rng_bits(&r) % 64;
            logits[k] = pick < 4 ? odd[pick] : (float)(pick % 16) * 0.25f - 2.0f;
        }
        check_router(logits, shape[i].n, (vug_attr_router){ shape[i].count, false });
        check_router(logits, shape[i].n, (vug_attr_router){ shape[i].count, true });
    }
}

/* ---- golden checkpoints ------------------------------------------------------------- */

static void test_golden_checkpoints_pass(void **state)
{
    (void)state;
    vug_arena arena = { 0 };
    vug_str *name;
    size_t n;
    vug_err err = { 0 };
    if (skips())
        skip();
    help_ok(vug_list_folder(FOLDER, &arena, &name, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char *path = vug_path_join(FOLDER, name[i].ptr);
        char *reference = vug_path_join(path, "reference.safetensors");
        vug_model *m = help_model(path, (vug_model_options){ .device = "cuda" });
        vug_verification v = { 0 };
        help_ok(vug_model_verify(m, reference, 0, &v, &err), &err);
        if (!v.pass)
            print_error("%s: max %g, %d of %d greedy\n", path, v.max_abs, (int)v.n_greedy_equal,
                        (int)v.n_greedy);
        assert_true(v.tolerance == 2e-3);
        assert_true(v.pass && v.chunked_identical && v.stepwise_identical);
        vug_model_close(m);
        vug_free(reference);
        vug_free(path);
    }
    vug_arena_release(&arena);
}

/* ---- batches ------------------------------------------------------------------------- */

enum { SEQUENCES = 33, LENGTH = 14 };

/* Runs the next token of the first `n` sequences in one step. Each has the bits of its own tokens
 * alone in one step. */
static void check_joint_step(vug_session *const *session, const int32_t *const *id, size_t n)
{
    vug_model *m = session[0]->model;
    const size_t n_vocab = (size_t)vug_model_describe(m).n_vocab;
    const size_t checked[] = { 0, n / 2, n - 1 };
    const float *logits = help_joint_step(session, id, 1, n);
    float *together = vug_alloc(n * n_vocab, sizeof(*together));
    assert_non_null(together);
    memcpy(together, logits, n * n_vocab * sizeof(*together));
    for (size_t i = 0; i < sizeof(checked) / sizeof(checked[0]); i++) {
        const size_t c = checked[i];
        float *alone = help_alone(m, id[c], session[c]->sequence.kv.n);
        help_same_bits(together + c * n_vocab, alone, n_vocab);
        vug_free(alone);
    }
    vug_free(together);
}

/* The numbers of sequences repeat, so that steps are recorded as graphs and replayed, and change,
 * so that one graph serves several numbers. */
static void check_batches(const char *path)
{
    static const size_t number[] = { 33, 33, 32, 33, 7, 7, 7, 5, 6, 5, 1 };
    vug_model *m = help_model(path, (vug_model_options){ .device = "cuda", .slots = 40 });
    vug_session *session[SEQUENCES];
    int32_t tokens[SEQUENCES][LENGTH];
    const int32_t *id[SEQUENCES];
    for (size_t i = 0; i < SEQUENCES; i++) {
        help_tokens(i + 1, tokens[i], LENGTH, vug_model_describe(m).n_vocab);
        id[i] = tokens[i];
        session[i] = help_session(m);
    }
    for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
        check_joint_step(session, id, number[i]);
    for (size_t i = 0; i < SEQUENCES; i++)
        vug_session_destroy(session[i]);
    vug_model_close(m);
}

static void test_sequences_of_a_batch_have_their_own_bits(void **state)
{
    (void)state;
    if (skips())
        skip();
    check_batches(GOLDEN("gemma3-text"));
    check_batches(GOLDEN("gemma4-e"));
    check_batches(GOLDEN("qwen3-moe"));
}

/* ---- memory --------------------------------------------------------------------------- */

static void test_too_little_memory_is_told_before_weights_are_read(void **state)
{
    (void)state;
    if (skips())
        skip();
    const vug_backend *b = &vug_backend_cuda;
    vug_device *device;
    vug_device_weights *weights;
    vug_err err = { 0 };
    /* No byte of the weight is read: the address is not valid. */
    vug_weight w = { .name = "w",
                     .dtype = VUG_DTYPE_BF16,
                     .rows = 1000,
                     .columns = 1024,
                     .data = (const uint8_t *)64 };
    help_ok(b->open(&(vug_device_options){ 0 }, &device, &err), &err);
    help_ok(b->weights_create(device, &w, 1, &weights, &err), &err);
    b->weights_destroy(weights);
    w.rows = 1000000000;
    assert_int_equal(b->weights_create(device, &w, 1, &weights, &err), VUG_NOMEM);
    assert_non_null(strstr(err.msg, "the model's weights needs 2048000.0 MB, the device has "));
    b->close(device);
}

/* Apart from the inputs of a step, which are some kilobytes. */
static void check_device_memory(uint64_t before, uint64_t predicted)
{
    const vug_device_memory memory = vug_backend_cuda.memory_used(NULL);
    const double used = (double)(memory.active - before), off = used - (double)predicted;
    if (fabs(off) > 0.02 * (double)predicted + 65536)
        print_error("%.0f bytes are in use, %.0f were predicted\n", used, (double)predicted);
    assert_true(fabs(off) <= 0.02 * (double)predicted + 65536);
    assert_true(memory.peak >= memory.active);
}

static void test_device_memory_is_predicted(void **state)
{
    (void)state;
    if (skips())
        skip();
    const uint64_t before = vug_backend_cuda.memory_used(NULL).active;
    vug_model_options o = { .device = "cuda", .lazy = true };
    vug_model *m = help_model(GOLDEN("gemma3-text"), o);
    const vug_memory_plan plan = vug_model_describe(m).memory;
    vug_model_close(m);
    assert_true(plan.device > plan.weights_copied + plan.cache);
    /* With more memory, pages behind windows would be kept for later prompts. */
    o = (vug_model_options){ .device = "cuda", .kv_memory = plan.cache };
    m = help_model(GOLDEN("gemma3-text"), o);
    check_device_memory(before, plan.device - plan.cache);
    vug_session *s;
    vug_err err = { 0 };
    help_ok(vug_session_create(m, &s, &err), &err);
    const size_t n = (size_t)vug_model_describe(m).context;
    int32_t *id = vug_alloc_zero(n, sizeof(*id));
    assert_non_null(id);
    help_ok(vug_session_forward(s, id, n, NULL, &err), &err);
    check_device_memory(before, plan.device);
    vug_free(id);
    vug_session_destroy(s);
    vug_model_close(m);
    assert_int_equal(vug_backend_cuda.memory_used(NULL).active, before);
}

/* Weights that are not loaded at open are loaded by the first step. */
static void test_lazy_weights_are_loaded(void **state)
{
    (void)state;
    if (skips())
        skip();
    vug_model *m = help_model(GOLDEN("gemma3-text"),
                              (vug_model_options){ .device = "cuda", .lazy = true });
    vug_verification v = { 0 };
    vug_err err = { 0 };
    help_ok(vug_model_verify(m, GOLDEN("gemma3-text") "/reference.safetensors", 2e-3, &v, &err),
            &err);
    assert_true(v.pass);
    vug_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_device_is_explained),
        cmocka_unit_test(test_products_are_those_of_decoded_weights),
        cmocka_unit_test(test_rounded_rows_do_not_depend_on_others),
        cmocka_unit_test(test_gated_rows_do_not_depend_on_others),
        cmocka_unit_test(test_sums_in_any_order_are_near),
        cmocka_unit_test(test_gated_rows_of_codes_do_not_depend_on_others),
        cmocka_unit_test(test_gated_rows_of_a_prefill_do_not_depend_on_others),
        cmocka_unit_test(test_rounded_rows_of_blocks_do_not_depend_on_others),
        cmocka_unit_test(test_integer_rows_may_have_any_magnitude),
        cmocka_unit_test(test_floats_are_multiplied_as_bf16_if_they_are),
        cmocka_unit_test(test_router_picks_the_best),
        cmocka_unit_test(test_golden_checkpoints_pass),
        cmocka_unit_test(test_sequences_of_a_batch_have_their_own_bits),
        cmocka_unit_test(test_too_little_memory_is_told_before_weights_are_read),
        cmocka_unit_test(test_device_memory_is_predicted),
        cmocka_unit_test(test_lazy_weights_are_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
