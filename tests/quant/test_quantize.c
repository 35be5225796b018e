/*
 * Quantizers: the decoded result, measured in double precision and compared with rounding
 * without a search, with llama.cpp's error on the same rows, and with rows that blocks can
 * represent exactly.
 */
#include "test.h"

#include <math.h>

#include "core/mem.h"
#include "ir/tensor.h"
#include "quant/matrix.h"
#include "quant/quantize.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { ROW = 1024, ROWS = 16 };

/* The parameters of GGUF's formats, and the errors of llama.cpp's quantizers of 2026
 * (ggml_quantize_chunk, commit 3f545becc) on rows of fill_normal: the root of the squared
 * error over that of the values, first unweighted, then with fill_importance. */
typedef struct {
    vug_dtype dtype;
    int width;       /* weights that share a scale */
    int least, most; /* range of q, or of the values of a table */
    bool table;
    bool affine;
    int scale_most; /* largest integer scale; 0: scales are F16 */
    double llama, llama_importance;
} format_case;

static const format_case formats[] = {
    { VUG_DTYPE_Q4_0, 32, -8, 7, false, false, 0, 0.08554, 0.07575 },
    { VUG_DTYPE_Q4_1, 32, 0, 15, false, true, 0, 0.07802, 0.06186 },
    { VUG_DTYPE_Q5_0, 32, -16, 15, false, false, 0, 0.04231, 0.03736 },
    { VUG_DTYPE_Q5_1, 32, 0, 31, false, true, 0, 0.03738, 0.02984 },
    { VUG_DTYPE_Q8_0, 32, -127, 127, false, false, 0, 0.00533, 0.00531 },
    { VUG_DTYPE_IQ4_NL, 32, -127, 113, true, false, 0, 0.07599, 0.06935 },
    { VUG_DTYPE_MXFP4, 32, -6, 6, true, false, 0, 0.11422, 0.11197 },
    { VUG_DTYPE_Q2_K, 16, 0, 3, false, true, 15, 0.29396, 0.22698 },
    { VUG_DTYPE_Q3_K, 16, -4, 3, false, false, 31, 0.15011, 0.12892 },
    { VUG_DTYPE_Q4_K, 32, 0, 15, false, true, 63, 0.07113, 0.06291 },
    { VUG_DTYPE_Q5_K, 32, 0, 31, false, true, 63, 0.03588, 0.03189 },
    { VUG_DTYPE_Q6_K, 16, -32, 31, false, false, 127, 0.01757, 0.01572 },
    { VUG_DTYPE_IQ4_XS, 32, -127, 113, true, false, 31, 0.07665, 0.07009 },
};

static const vug_dtype mlx[] = { VUG_DTYPE_MLX2, VUG_DTYPE_MLX3, VUG_DTYPE_MLX4,
                                 VUG_DTYPE_MLX5, VUG_DTYPE_MLX6, VUG_DTYPE_MLX8 };

/* ---- rows ------------------------------------------------------------------------------ */

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Approximately normal: the sum of twelve uniform numbers, exact in F32. */
static float normal(uint32_t *state)
{
    int32_t sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (int32_t)(next(state) >> 6) - (1 << 17);
    return (float)sum * 0x1p-18f;
}

static void fill_normal(uint32_t seed, float scale, int64_t n, float *x)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = normal(&seed) * scale;
}

/* Squares of normal numbers, as uneven as mean squares of activations. */
static void fill_importance(uint32_t seed, int64_t n, float *w)
{
    for (int64_t i = 0; i < n; i++) {
        const float g = normal(&seed);
        w[i] = g * g + 0.01f;
    }
}

static void decode(vug_dtype dtype, const uint8_t *data, int64_t n, float *out)
{
    const vug_matrix m = { .dtype = dtype, .data = data, .columns = n };
    vug_matrix_decode(&m, 0, out);
}

/* Quantizes and decodes. */
static void pass_through(vug_dtype dtype, const float *x, const float *w, int64_t n, float *out)
{
    uint8_t blocks[ROW * 2];
    uint64_t bytes;
    assert_true(vug_dtype_size(dtype, (uint64_t)n, &bytes) && bytes <= sizeof(blocks));
    vug_quantize_row(dtype, x, w, n, blocks);
    decode(dtype, blocks, n, out);
}

typedef struct {
    vug_mlx_format format;
    uint8_t data[ROW], scale[ROW / 32 * 4], bias[ROW / 32 * 4];
} mlx_row;

static void decode_mlx(const mlx_row *r, int64_t n, float *out)
{
    const vug_matrix m = { .dtype = r->format.dtype,
                           .data = r->data,
                           .columns = n,
                           .scales = { .scale = r->scale,
                                       .bias = r->format.dtype == VUG_DTYPE_MLX_FP4 ? NULL
                                                                                    : r->bias,
                                       .dtype = r->format.scales,
                                       .rows = 1,
                                       .columns = r->format.group,
                                       .stride = n / r->format.group } };
    vug_matrix_decode(&m, 0, out);
}

static void pass_through_mlx(const vug_mlx_format *f, const float *x, const float *w, int64_t n,
                             float *out)
{
    mlx_row r = { .format = *f };
    assert_true(vug_mlx_format_valid(f));
    vug_quantize_mlx(f, x, w, n, r.data, r.scale, r.bias);
    decode_mlx(&r, n, out);
}

static double error_of(const float *x, const float *y, const float *w, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double e = (double)x[i] - (double)y[i];
        sum += (w ? (double)w[i] : 1) * e * e;
    }
    return sum;
}

/* ---- rounding without a search --------------------------------------------------------- */

static float as_f16(double x)
{
    const float f = (float)x;
    uint8_t half[2];
    float out;
    vug_codec_of(VUG_DTYPE_F16)->encode(&f, half, 1);
    vug_codec_of(VUG_DTYPE_F16)->decode(half, &out, 1);
    return out;
}

/* The error of a span whose ends are represented exactly, or for a table within half a step:
 * scale and minimum are rounded as the format stores them, in steps of d and dmin. */
static double plain_error(const format_case *f, const float *x, double d, double dmin)
{
    double least = 0, most = 0, largest = 0, sum = 0;
    for (int i = 0; i < f->width; i++) {
        least = fmin(least, (double)x[i]);
        most = fmax(most, (double)x[i]);
        largest = fabs((double)x[i]) > fabs(largest) ? (double)x[i] : largest;
    }
    double s = f->affine ? (most - least) / f->most : largest / f->least, o = least;
    s = f->scale_most ? d * rint(s / d) : (double)as_f16(s);
    o = !f->affine ? 0 : f->scale_most ? -dmin * rint(-o / dmin) : (double)as_f16(o);
    for (int i = 0; i < f->width; i++) {
        const double q = fmin(fmax(rint(((double)x[i] - o) / s), f->least), f->most);
        const double e = (double)x[i] - (s * q + o);
        sum += e * e;
    }
    return sum;
}

static double plain_row_error(const format_case *f, const float *x)
{
    double sum = 0;
    for (int64_t at = 0; at < ROW; at += 256) {
        double d = 0, dmin = 0;
        for (int64_t k = 0; k < 256; k += f->width) {
            double least = 0, most = 0;
            for (int64_t i = 0; i < f->width; i++) {
                least = fmin(least, (double)x[at + k + i]);
                most = fmax(most, (double)x[at + k + i]);
            }
            const double s = f->affine ? (most - least) / f->most : fmax(most, -least) / -f->least;
            d = fmax(d, s);
            dmin = fmax(dmin, -least);
        }
        for (int64_t k = 0; k < 256; k += f->width)
            sum += plain_error(f, x + at + k, f->scale_most ? (double)as_f16(d / f->scale_most) : 0,
                               f->scale_most ? (double)as_f16(dmin / f->scale_most) : 0);
    }
    return sum;
}

static void test_search_beats_plain_rounding(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(formats); i++) {
        if (formats[i].table)
            continue;
        double sum = 0, plain = 0;
        for (uint32_t row = 0; row < ROWS; row++) {
            float x[ROW], y[ROW];
            fill_normal(row, 0.02f, ROW, x);
            pass_through(formats[i].dtype, x, NULL, ROW, y);
            const double error = error_of(x, y, NULL, ROW),
                         without = plain_row_error(&formats[i], x);
            assert_true(error < without);
            sum += error;
            plain += without;
        }
        if (!(sum < 0.95 * plain))
            print_error("%s: %g, plain %g\n", vug_dtype_of(formats[i].dtype)->name, sum, plain);
        assert_true(sum < 0.95 * plain);
    }
}

/* ---- llama.cpp ---------------------------------------------------------------------------- */

static double relative_error(vug_dtype dtype, bool weighted)
{
    float w[ROW];
    double error = 0, size = 0;
    const float zero[ROW] = { 0 };
    fill_importance(99, ROW, w);
    for (uint32_t row = 0; row < ROWS; row++) {
        float x[ROW], y[ROW];
        fill_normal(1000 + row, 0.02f, ROW, x);
        pass_through(dtype, x, weighted ? w : NULL, ROW, y);
        error += error_of(x, y, weighted ? w : NULL, ROW);
        size += error_of(x, zero, weighted ? w : NULL, ROW);
    }
    return sqrt(error / size);
}

static void test_less_error_than_llama_cpp(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(formats); i++) {
        const format_case *f = &formats[i];
        const double alone = relative_error(f->dtype, false), with = relative_error(f->dtype, true);
        if (!(alone < f->llama && with < f->llama_importance))
            print_error("%s: %.5f and %.5f, llama.cpp %.5f and %.5f\n",
                        vug_dtype_of(f->dtype)->name, alone, with, f->llama, f->llama_importance);
        assert_true(alone < f->llama);
        assert_true(with < f->llama_importance);
    }
}

/* ---- importance ------------------------------------------------------------------------------ */

static void test_importance(void **state)
{
    (void)state;
    float w[ROW];
    fill_importance(7, ROW, w);
    for (size_t i = 0; i < COUNT(formats) + COUNT(mlx); i++) {
        double with = 0, without = 0;
        for (uint32_t row = 0; row < ROWS; row++) {
            float x[ROW], alone[ROW], weighted[ROW];
            fill_normal(row, 1, ROW, x);
            if (i < COUNT(formats)) {
                pass_through(formats[i].dtype, x, NULL, ROW, alone);
                pass_through(formats[i].dtype, x, w, ROW, weighted);
            } else {
                const vug_mlx_format f = { mlx[i - COUNT(formats)], VUG_DTYPE_BF16, 64, false };
                pass_through_mlx(&f, x, NULL, ROW, alone);
                pass_through_mlx(&f, x, w, ROW, weighted);
            }
            with += error_of(x, weighted, w, ROW);
            without += error_of(x, alone, w, ROW);
        }
        /* Scales of E2M1 are powers of two only. */
        assert_true(with < (i < COUNT(formats) && formats[i].dtype == VUG_DTYPE_MXFP4 ? 1 : 0.99) *
                                   without);
    }
    /* Only relative importance matters. */
    float x[ROW], scaled[ROW], a[ROW], b[ROW];
    fill_normal(3, 1, ROW, x);
    for (int i = 0; i < ROW; i++)
        scaled[i] = w[i] * 0x1p40f;
    pass_through(VUG_DTYPE_Q4_K, x, w, ROW, a);
    pass_through(VUG_DTYPE_Q4_K, x, scaled, ROW, b);
    assert_memory_equal(a, b, sizeof(a));
}

/* ---- exactly representable rows -------------------------------------------------------------- */

/* Weights s q + o with every possible q, including the ends of the range. */
static void fill_levels(const format_case *f, uint32_t seed, float s, float o, float *x)
{
    static const int8_t table[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113 };
    static const float e2m1[8] = { 0, 0.5f, 1, 1.5f, 2, 3, 4, 6 };
    for (int i = 0; i < ROW; i++) {
        const uint32_t r = next(&seed) >> 4;
        float q = (float)(f->least + (int)(r % (uint32_t)(f->most - f->least + 1)));
        if (f->dtype == VUG_DTYPE_MXFP4)
            q = e2m1[r % 8] * (r & 8 ? -1.0f : 1.0f);
        else if (f->table)
            q = table[r % 16];
        if (i % f->width < 2)
            q = (float)(i % f->width ? f->least : f->most);
        x[i] = s * q + o;
    }
}

static void test_exact_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(formats); i++) {
        const format_case *f = &formats[i];
        float x[ROW], y[ROW];
        for (uint32_t seed = 0; seed < 8; seed++) {
            const float s = f->dtype == VUG_DTYPE_MXFP4 ? 0.25f : as_f16(0.003 * (seed + 1));
            /* The factor of integer scales must be exact, too. */
            const float whole = f->scale_most ? (float)f->scale_most * 0x1p-12f : s;
            const float o = !f->affine ? 0 : f->scale_most ? -whole : -4 * s;
            fill_levels(f, seed, whole, o, x);
            pass_through(f->dtype, x, NULL, ROW, y);
            for (int e = 0; e < ROW; e++) {
                if (x[e] != y[e])
                    print_error("%s: %a at %d, expected %a\n", vug_dtype_of(f->dtype)->name,
                                (double)y[e], e, (double)x[e]);
                assert_true(x[e] == y[e]);
            }
        }
    }
}

/* Quantizing the decoded values of a block with one scale reproduces it. (With a minimum, a
 * block that does not use all values can be represented with another scale.) */
static void test_idempotent(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(formats); i++) {
        if (formats[i].scale_most || formats[i].affine)
            continue;
        for (uint32_t row = 0; row < ROWS; row++) {
            float x[ROW], once[ROW], twice[ROW];
            fill_normal(row, 0.5f, ROW, x);
            pass_through(formats[i].dtype, x, NULL, ROW, once);
            pass_through(formats[i].dtype, once, NULL, ROW, twice);
            for (int e = 0; e < ROW; e++)
                assert_true(once[e] == twice[e]);
        }
    }
}

/* ---- unusual rows ------------------------------------------------------------------------------- */

static void assert_finite(const float *x, const char *what)
{
    if (vug_first_nonfinite(x, ROW) != ROW)
        print_error("%s: not finite\n", what);
    assert_int_equal(vug_first_nonfinite(x, ROW), ROW);
}

/* Every format, through vug_quantize_row and vug_quantize_mlx. */
static void pass_through_all(const float *x, const float *w,
                             void check(const float *x, const float *y, const char *name))
{
    float y[ROW];
    for (size_t i = 0; i < COUNT(formats); i++) {
        pass_through(formats[i].dtype, x, w, ROW, y);
        check(x, y, vug_dtype_of(formats[i].dtype)->name);
    }
    static const vug_dtype scales[] = { VUG_DTYPE_BF16, VUG_DTYPE_F16, VUG_DTYPE_F32 };
    for (size_t i = 0; i < COUNT(mlx) * COUNT(scales); i++) {
        const vug_mlx_format f = { mlx[i / COUNT(scales)], scales[i % COUNT(scales)], 64, false };
        pass_through_mlx(&f, x, w, ROW, y);
        check(x, y, vug_dtype_of(f.dtype)->name);
    }
    const vug_mlx_format fp4 = { VUG_DTYPE_MLX_FP4, VUG_DTYPE_E8M0, 32, false };
    pass_through_mlx(&fp4, x, w, ROW, y);
    check(x, y, "MLX_FP4");
}

static void check_finite(const float *x, const float *y, const char *name)
{
    (void)x;
    assert_finite(y, name);
}

static void check_zero(const float *x, const float *y, const char *name)
{
    (void)x;
    (void)name;
    for (int i = 0; i < ROW; i++)
        assert_true(y[i] == 0);
}

/* A block of one repeated value decodes to it, up to the rounding of one F16 or BF16, of half
 * a step of E2M1, or of a table and an integer scale. */
static void check_constant(const float *x, const float *y, const char *name)
{
    for (int i = 0; i < ROW; i++) {
        if (!(fabsf(y[i] - x[i]) <= 0.17f * fabsf(x[i])))
            print_error("%s: %g at %d, expected %g\n", name, (double)y[i], i, (double)x[i]);
        assert_true(fabsf(y[i] - x[i]) <= 0.17f * fabsf(x[i]));
    }
}

static void test_degenerate_rows(void **state)
{
    (void)state;
    float x[ROW] = { 0 };
    pass_through_all(x, NULL, check_zero);
    for (int i = 0; i < ROW; i++)
        x[i] = i % 2 ? 0x1p-140f : -0x1p-145f; /* denormal */
    pass_through_all(x, NULL, check_finite);
    for (int i = 0; i < ROW; i++)
        x[i] = i % 3 ? 3e38f : -3e38f;
    pass_through_all(x, NULL, check_finite);
    for (int i = 0; i < ROW; i++)
        x[i] = 0.7f;
    pass_through_all(x, NULL, check_constant);
    for (int i = 0; i < ROW; i++)
        x[i] = -0.3f;
    pass_through_all(x, NULL, check_constant);
    fill_normal(5, 1, ROW, x);
    x[100] = 1e6f;
    pass_through_all(x, NULL, check_finite);
    for (int i = 0; i < ROW; i++)
        x[i] = i % 5 == 0 ? NAN : i % 5 == 1 ? INFINITY : i % 5 == 2 ? -INFINITY : x[i];
    pass_through_all(x, NULL, check_finite);
    for (int i = 0; i < ROW; i++)
        x[i] = NAN;
    pass_through_all(x, NULL, check_finite);
    assert_int_equal(vug_first_nonfinite(x, ROW), 0);
}

/* Rows of one sign, far from 0, use their minima, for either sign. */
static void test_one_sided_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(formats); i++) {
        float x[ROW], y[ROW];
        double error[2];
        for (int side = 0; formats[i].affine && side < 2; side++) {
            fill_normal(11, 0.1f, ROW, x);
            for (int k = 0; k < ROW; k++)
                x[k] = side ? x[k] - 1 : x[k] + 1;
            pass_through(formats[i].dtype, x, NULL, ROW, y);
            error[side] = error_of(x, y, NULL, ROW);
        }
        if (formats[i].affine)
            assert_true(error[0] < 1.2 * error[1] && error[1] < 1.2 * error[0]);
    }
}

static void test_strange_importance(void **state)
{
    (void)state;
    static const float strange[] = { 0, -1, NAN, INFINITY, 1e38f, 1e-40f };
    float x[ROW], w[ROW], alone[ROW], y[ROW];
    fill_normal(6, 1, ROW, x);
    for (size_t i = 0; i < COUNT(strange); i++) {
        for (int k = 0; k < ROW; k++)
            w[k] = strange[i];
        pass_through_all(x, w, check_finite);
        /* Equal importance is the same as none. */
        pass_through(VUG_DTYPE_Q4_0, x, NULL, ROW, alone);
        pass_through(VUG_DTYPE_Q4_0, x, w, ROW, y);
        assert_memory_equal(alone, y, sizeof(alone));
        for (int k = 0; k < ROW; k++)
            w[k] = k % 3 ? 1 : strange[i];
        pass_through_all(x, w, check_finite);
    }
}

/* The result for a row depends on nothing but the row. */
static void test_rows_are_their_own(void **state)
{
    (void)state;
    float x[ROW];
    uint8_t whole[ROW * 2], parts[ROW * 2];
    fill_normal(8, 1, ROW, x);
    for (size_t i = 0; i < COUNT(formats); i++) {
        const vug_dtype_info *info = vug_dtype_of(formats[i].dtype);
        const size_t block = (size_t)info->elements;
        vug_quantize_row(formats[i].dtype, x, NULL, ROW, whole);
        for (size_t b = ROW / block; b-- > 0;)
            vug_quantize_row(formats[i].dtype, x + b * block, NULL, info->elements,
                             parts + b * (size_t)info->bytes);
        assert_memory_equal(whole, parts, ROW / block * (size_t)info->bytes);
    }
}

/* ---- MLX ----------------------------------------------------------------------------------------- */

/* An independent implementation of the rule of mlx/ops.cpp. */
static void reference_group(const float *x, int group, int bits, float *s, float *b)
{
    const float n = (float)((1 << bits) - 1);
    float lo = x[0], hi = x[0];
    for (int i = 1; i < group; i++) {
        lo = fminf(lo, x[i]);
        hi = fmaxf(hi, x[i]);
    }
    float scale = fmaxf((hi - lo) / n, 1e-7f), edge = lo;
    if (fabsf(lo) <= fabsf(hi)) {
        scale = -scale;
        edge = hi;
    }
    const float q0 = rintf(edge / scale);
    *s = q0 == 0 ? scale : edge / q0;
    *b = q0 == 0 ? 0 : edge;
}

static void test_mlx_plain(void **state)
{
    (void)state;
    float x[ROW], y[ROW];
    fill_normal(21, 0.3f, ROW, x);
    for (size_t i = 0; i < COUNT(mlx); i++) {
        for (int group = 32; group <= 128; group *= 2) {
            const int bits = vug_dtype_of(mlx[i])->bytes / 4;
            const vug_mlx_format f = { mlx[i], VUG_DTYPE_F32, group, true };
            pass_through_mlx(&f, x, NULL, ROW, y);
            for (int e = 0; e < ROW; e++) {
                float s, b;
                reference_group(x + (ptrdiff_t)(e / group) * group, group, bits, &s, &b);
                const float q = fminf(fmaxf(rintf((x[e] - b) / s), 0), (float)((1 << bits) - 1));
                assert_true(fabsf(y[e] - (s * q + b)) <= 1e-6f * fabsf(b));
            }
        }
    }
}

static void test_mlx_search_beats_plain(void **state)
{
    (void)state;
    static const vug_dtype scales[] = { VUG_DTYPE_BF16, VUG_DTYPE_F16, VUG_DTYPE_F32 };
    for (size_t i = 0; i < COUNT(mlx) * COUNT(scales); i++) {
        for (int group = 32; group <= 128; group *= 2) {
            vug_mlx_format f = { mlx[i / COUNT(scales)], scales[i % COUNT(scales)], group, false };
            double searched = 0, plain = 0;
            for (uint32_t row = 0; row < ROWS; row++) {
                float x[ROW], y[ROW];
                fill_normal(row, 0.3f, ROW, x);
                f.plain = false;
                pass_through_mlx(&f, x, NULL, ROW, y);
                searched += error_of(x, y, NULL, ROW);
                f.plain = true;
                pass_through_mlx(&f, x, NULL, ROW, y);
                plain += error_of(x, y, NULL, ROW);
            }
            assert_true(searched < 0.9 * plain);
        }
    }
}

static void test_mlx_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(mlx); i++) {
        const int bits = vug_dtype_of(mlx[i])->bytes / 4;
        const vug_mlx_format f = { mlx[i], VUG_DTYPE_BF16, 32, false };
        float x[ROW], y[ROW];
        uint32_t seed = 4;
        for (int e = 0; e < ROW; e++) {
            const uint32_t q = e % 32 < 2 ? (uint32_t)(e % 32 ? (1 << bits) - 1 : 0)
                                          : (next(&seed) >> 4) & ((1u << bits) - 1);
            x[e] = 0x1.8p-6f * (float)q - 0.25f;
        }
        pass_through_mlx(&f, x, NULL, ROW, y);
        assert_memory_equal(x, y, sizeof(x));
    }
}

static void test_mlx_formats(void **state)
{
    (void)state;
    static const vug_mlx_format bad[] = {
        { VUG_DTYPE_Q4_0, VUG_DTYPE_F16, 32, false },
        { VUG_DTYPE_MLX4, VUG_DTYPE_F16, 48, false },
        { VUG_DTYPE_MLX4, VUG_DTYPE_F64, 64, false },
        { VUG_DTYPE_MLX_FP4, VUG_DTYPE_F16, 32, false },
        { VUG_DTYPE_MLX_FP4, VUG_DTYPE_E8M0, 64, false },
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(vug_mlx_format_valid(&bad[i]));
    for (size_t i = 0; i < COUNT(formats); i++)
        assert_true(vug_can_quantize(formats[i].dtype));
    assert_false(vug_can_quantize(VUG_DTYPE_BF16));
    assert_false(vug_can_quantize(VUG_DTYPE_MLX4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search_beats_plain_rounding),
        cmocka_unit_test(test_less_error_than_llama_cpp),
        cmocka_unit_test(test_importance),
        cmocka_unit_test(test_exact_rows),
        cmocka_unit_test(test_idempotent),
        cmocka_unit_test(test_degenerate_rows),
        cmocka_unit_test(test_one_sided_rows),
        cmocka_unit_test(test_strange_importance),
        cmocka_unit_test(test_rows_are_their_own),
        cmocka_unit_test(test_mlx_plain),
        cmocka_unit_test(test_mlx_search_beats_plain),
        cmocka_unit_test(test_mlx_exact),
        cmocka_unit_test(test_mlx_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
