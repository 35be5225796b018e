/*
 * Kernels for quantized weights: every kernel set gives the bits of the portable one, for every
 * format, length and alignment, in products with one row of x and with several. No kernel reads
 * outside of the weights, which are next to inaccessible pages, as at the end of a mapped file.
 */
#include "test.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/cpu/cpu.h"
#include "core/mem.h"
#include "kernel_help.h"
#include "quant/codec.h"

enum {
    Q8 = VUG_CPU_Q8_BLOCK,
    STREAMS = VUG_CPU_STREAMS,
    ROWS = 20, /* of a weight */
};

static bool has_blocks(vug_dtype dtype)
{
    return vug_codec_of(dtype)->block != NULL;
}

/* ---- memory between inaccessible pages --------------------------------------- */

typedef struct {
    uint8_t *map;
    size_t bytes;
    uint8_t *data; /* it begins after, or ends before, an inaccessible page */
} fenced;

static fenced fenced_bytes(size_t n, bool at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (n + page - 1) / page * page;
    fenced w = { .bytes = inner + 2 * page };
    w.map = mmap(NULL, w.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(w.map != MAP_FAILED);
    assert_int_equal(mprotect(w.map + page, inner, PROT_READ | PROT_WRITE), 0);
    w.data = w.map + page + (at_end ? inner - n : 0);
    return w;
}

static void free_fenced(fenced *w)
{
    assert_int_equal(munmap(w->map, w->bytes), 0);
}

/* ---- weights ------------------------------------------------------------------ */

/* The offsets of the F16 numbers of a block; all other bytes can have any value. */
static const struct {
    vug_dtype dtype;
    int n, at[2];
} half_fields[] = {
    { VUG_DTYPE_Q4_0, 1, { 0 } },      { VUG_DTYPE_Q4_1, 2, { 0, 2 } },
    { VUG_DTYPE_Q5_0, 1, { 0 } },      { VUG_DTYPE_Q5_1, 2, { 0, 2 } },
    { VUG_DTYPE_Q8_0, 1, { 0 } },      { VUG_DTYPE_IQ4_NL, 1, { 0 } },
    { VUG_DTYPE_Q2_K, 2, { 80, 82 } }, { VUG_DTYPE_Q3_K, 1, { 108 } },
    { VUG_DTYPE_Q4_K, 2, { 0, 2 } },   { VUG_DTYPE_Q5_K, 2, { 0, 2 } },
    { VUG_DTYPE_Q6_K, 1, { 208 } },    { VUG_DTYPE_IQ4_XS, 1, { 0 } },
};

/* UNDERFLOW: products too small for a float, so that all lanes often become -0, and then products
 * of which some are 0, with a sign that depends on the kernel. The bytes of a block are equal. */
typedef enum { RANDOM, ZEROS, ONES, TOP_BITS, UNDERFLOW, N_FILLS } fill_pattern;

static uint8_t random_byte(rng *r, fill_pattern f)
{
    return f == RANDOM || f == UNDERFLOW ? (uint8_t)rng_bits(r)
           : f == ZEROS                  ? 0
           : f == ONES                   ? 0xff
                                         : 0x80;
}

/* One in eight is 0, one in eight is subnormal in F16. */
static float random_scale(rng *r, fill_pattern f)
{
    const uint32_t kind = rng_bits(r) % 8;
    const float x = rng_float(r);
    if (f == UNDERFLOW)
        return copysignf(0x1p-24f, x);
    return kind == 0 ? 0 : kind == 1 ? x * 0x1p-16f : x;
}

static void fill_halves(rng *r, vug_dtype dtype, uint8_t *w, size_t blocks, fill_pattern f)
{
    const size_t bytes = (size_t)vug_dtype_of(dtype)->bytes;
    for (size_t i = 0; i < sizeof(half_fields) / sizeof(half_fields[0]); i++) {
        if (half_fields[i].dtype != dtype)
            continue;
        for (size_t b = 0; b < blocks; b++) {
            for (int j = 0; j < half_fields[i].n; j++) {
                const float x = random_scale(r, f);
                vug_codec_of(VUG_DTYPE_F16)->encode(&x, w + b * bytes + half_fields[i].at[j], 1);
            }
        }
    }
}

/* The separate scales of a format: their dtype, and the number of weights per scale. */
typedef struct {
    vug_dtype dtype;
    int columns;
    bool has_bias;
} scale_format;

typedef struct {
    vug_matrix m;
    fenced data, scale, bias;
} weight;

static fenced random_scales(rng *r, const scale_format *a, size_t n, bool at_end, fill_pattern f)
{
    const size_t size = (size_t)vug_dtype_of(a->dtype)->bytes;
    fenced w = fenced_bytes(n * size, at_end);
    for (size_t i = 0; i < n; i++) {
        const float x = f == UNDERFLOW ? -0x1p-100f : random_scale(r, f);
        if (a->dtype == VUG_DTYPE_E8M0)
            w.data[i] = (uint8_t)(i % 9 == 0 ? i % 2 : 100 + rng_bits(r) % 50);
        else
            vug_codec_of(a->dtype)->encode(&x, w.data + i * size, 1);
    }
    return w;
}

static weight make_weight(rng *r, vug_dtype dtype, int64_t k, fill_pattern f, const scale_format *a)
{
    const vug_dtype_info *info = vug_dtype_of(dtype);
    const size_t blocks = (size_t)(ROWS * k / info->elements);
    const size_t bytes = blocks * (size_t)info->bytes;
    const bool at_end = rng_bits(r) % 4 != 0;
    weight w = { .m = { .dtype = dtype, .columns = k }, .data = fenced_bytes(bytes, at_end) };
    w.m.data = w.data.data;
    for (size_t i = 0; i < bytes; i++)
        w.data.data[i] =
                f == UNDERFLOW && i % (size_t)info->bytes ? w.data.data[i - 1] : random_byte(r, f);
    fill_halves(r, dtype, w.data.data, blocks, f);
    /* No large exponents: the bits of infinite results are unspecified. */
    for (size_t b = 0; dtype == VUG_DTYPE_MXFP4 && b < blocks; b++)
        w.data.data[b * 17] = (uint8_t)(b % 9 == 0 ? b % 2 : 100 + rng_bits(r) % 50);
    if (a) {
        const int64_t stride = k / a->columns;
        w.scale = random_scales(r, a, (size_t)(ROWS * stride), at_end, f);
        w.m.scales = (vug_scales){ .scale = w.scale.data,
                                   .dtype = a->dtype,
                                   .rows = 1,
                                   .columns = a->columns,
                                   .stride = stride };
        if (a->has_bias) {
            w.bias = random_scales(r, a, (size_t)(ROWS * stride), at_end, f);
            w.m.scales.bias = w.bias.data;
        }
    }
    return w;
}

static void free_weight(weight *w)
{
    free_fenced(&w->data);
    if (w->scale.map)
        free_fenced(&w->scale);
    if (w->bias.map)
        free_fenced(&w->bias);
}

/* ---- activations ---------------------------------------------------------------- */

typedef struct {
    vug_cpu_q8_row q8;
    fenced q, scale, sum;
} activations;

static activations make_activations(rng *r, int64_t k, fill_pattern f)
{
    const size_t blocks = (size_t)k / Q8;
    activations x = { .q = fenced_bytes((size_t)k, true),
                      .scale = fenced_bytes(blocks * sizeof(float), true),
                      .sum = fenced_bytes(2 * blocks * sizeof(int16_t), true) };
    int8_t *q = (int8_t *)x.q.data;
    float *scale = (float *)(void *)x.scale.data;
    int16_t *sum = (int16_t *)(void *)x.sum.data;
    memset(sum, 0, 2 * blocks * sizeof(*sum));
    for (size_t i = 0; i < (size_t)k; i++) {
        q[i] = (int8_t)(f == RANDOM ? (int)(rng_bits(r) % 255) - 127 : f == ZEROS ? -127 : 127);
        if (f == UNDERFLOW && i % Q8)
            q[i] = q[i - 1];
        else if (f == UNDERFLOW && i / ((size_t)Q8 * VUG_CPU_LANES) % 2)
            q[i] = (int8_t)((int)(rng_bits(r) % 3 - 1) * 127);
        sum[i / 16] = (int16_t)(sum[i / 16] + q[i]);
    }
    for (size_t i = 0; i < blocks; i++)
        scale[i] = f == UNDERFLOW ? 0x1p-149f : rng_bits(r) % 16 == 0 ? 0 : fabsf(rng_float(r));
    x.q8 = (vug_cpu_q8_row){ q, scale, sum };
    return x;
}

static void free_activations(activations *x)
{
    free_fenced(&x->q);
    free_fenced(&x->scale);
    free_fenced(&x->sum);
}

/* ---- one row of x --------------------------------------------------------------- */

static void check_gemv(const vug_cpu_kernels *kernels, const weight *w, const activations *x)
{
    const vug_cpu_block_format *format = kernels->block[w->m.dtype];
    const vug_cpu_block_format *ref = vug_cpu_kernels_at(0)->block[w->m.dtype];
    for (int64_t step = 0; step <= 6; step += step ? 5 : 1) {
        for (int64_t first = 0; first + 3 * step < ROWS; first += ROWS - 3 * step - 1) {
            float *y = guarded_floats(STREAMS), want[STREAMS];
            ref->gemv(&(vug_cpu_gemv_q8){ &x->q8, &w->m, first, step, want });
            format->gemv(&(vug_cpu_gemv_q8){ &x->q8, &w->m, first, step, y });
            check_bits(y, want, STREAMS, vug_dtype_of(w->m.dtype)->name);
            check_guards(y, STREAMS);
            free_guarded(y);
        }
    }
}

/* ---- several rows of x ------------------------------------------------------------ */

/* Units of `rows` rows of x; blocks beyond the end of a row are NaNs. */
static fenced make_units(rng *r, int64_t k, int64_t rows, fill_pattern f)
{
    const size_t n = (size_t)(vug_cpu_q8_units(k) * rows) * sizeof(vug_cpu_q8_unit);
    fenced units = fenced_bytes(n, true);
    vug_cpu_q8_unit *to = (vug_cpu_q8_unit *)(void *)units.data;
    memset(to, 0xff, n);
    for (int64_t t = 0; t < rows; t++) {
        activations x = make_activations(r, k, f);
        for (int64_t i = 0; i < k; i++)
            to[i / 128 * rows + t].q[i % Q8 / 4][i / Q8 % 4][i % 4] = x.q8.q[i];
        for (int64_t b = 0; b < k / Q8; b++) {
            vug_cpu_q8_unit *unit = &to[b / 4 * rows + t];
            unit->scale[b % 4] = x.q8.scale[b];
            memcpy(unit->sum[b % 4], x.q8.sum + 2 * b, sizeof(unit->sum[0]));
        }
        free_activations(&x);
    }
    return units;
}

/* The products of the portable kernels: y [rows,streams]. */
static void multiply_portably(const vug_cpu_gemm_q8 *g, int streams, float *y)
{
    const vug_cpu_kernels *ref = vug_cpu_kernels_at(0);
    for (int first = 0; first < streams; first += ref->q8_streams) {
        vug_cpu_gemm_q8 part = *g;
        float *four = guarded_floats((size_t)(g->rows * ref->q8_streams));
        part.row = g->row + first * g->step;
        part.y = four;
        ref->block[g->w->dtype]->gemm(&part);
        for (int64_t r = 0; r < g->rows; r++)
            memcpy(y + r * streams + first, four + r * ref->q8_streams,
                   (size_t)ref->q8_streams * sizeof(float));
        free_guarded(four);
    }
}

static void check_gemm(const vug_cpu_kernels *kernels, const weight *w, const fenced *units,
                       int64_t rows, int64_t step)
{
    const int streams = kernels->q8_streams;
    const size_t n = (size_t)(rows * streams), n_lanes = n * VUG_CPU_LANES;
    float *lanes = vug_alloc_aligned(n_lanes * sizeof(float));
    float *y = guarded_floats(n), *want = guarded_floats(n);
    assert_non_null(lanes);
    memset(lanes, 0xff, n_lanes * sizeof(float));
    const vug_cpu_gemm_q8 g = { .x = (const vug_cpu_q8_unit *)(const void *)units->data,
                                .rows = rows,
                                .w = &w->m,
                                .row = ROWS - 1 - (streams - 1) * step,
                                .step = step,
                                .lanes = lanes,
                                .y = y };
    multiply_portably(&g, streams, want);
    kernels->block[w->m.dtype]->gemm(&g);
    check_bits(y, want, n, vug_dtype_of(w->m.dtype)->name);
    check_guards(y, n);
    free_guarded(y);
    free_guarded(want);
    vug_free(lanes);
}

/* A row of several has the bits that it has alone. */
static void check_gemm_of_one(const weight *w, const activations *x)
{
    const vug_cpu_block_format *ref = vug_cpu_kernels_at(0)->block[w->m.dtype];
    const int64_t k = w->m.columns;
    vug_cpu_q8_unit *units = vug_alloc_zero((size_t)vug_cpu_q8_units(k), sizeof(vug_cpu_q8_unit));
    float lanes[STREAMS * VUG_CPU_LANES], y[STREAMS], want[STREAMS];
    assert_non_null(units);
    for (int64_t i = 0; i < k; i++)
        units[i / 128].q[i % Q8 / 4][i / Q8 % 4][i % 4] = x->q8.q[i];
    for (int64_t b = 0; b < k / Q8; b++) {
        units[b / 4].scale[b % 4] = x->q8.scale[b];
        memcpy(units[b / 4].sum[b % 4], x->q8.sum + 2 * b, sizeof(units->sum[0]));
    }
    ref->gemv(&(vug_cpu_gemv_q8){ &x->q8, &w->m, 1, 4, want });
    ref->gemm(&(vug_cpu_gemm_q8){
            .x = units, .rows = 1, .w = &w->m, .row = 1, .step = 4, .lanes = lanes, .y = y });
    check_bits(y, want, STREAMS, "one row of several");
    vug_free(units);
}

static void check_kernels(rng *r, vug_dtype dtype, int64_t k, fill_pattern f, const scale_format *a)
{
    weight w = make_weight(r, dtype, k, f, a);
    activations x = make_activations(r, k, f);
    for (int i = 0; i < vug_cpu_kernels_count(); i++) {
        check_gemv(vug_cpu_kernels_at(i), &w, &x);
    }
    check_gemm_of_one(&w, &x);
    for (int64_t rows = 1; rows <= 9; rows += 1 + rng_bits(r) % 3) {
        fenced units = make_units(r, k, rows, f);
        for (int i = 0; i < vug_cpu_kernels_count(); i++)
            check_gemm(vug_cpu_kernels_at(i), &w, &units, rows, rows % 2 ? 2 : 0);
        free_fenced(&units);
    }
    free_weight(&w);
    free_activations(&x);
}

static const int64_t lengths[] = { 32,  64,  96,  128, 160,  192,  224,  256, 288,
                                   320, 512, 640, 768, 1152, 1408, 2304, 6912 };
enum { N_LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
enum { LONG = 1000 }; /* such rows have random contents only: a pattern shows in a short one */

static void check_dtype(rng *r, vug_dtype dtype, const scale_format *a)
{
    for (int i = 0; i < N_LENGTHS; i++) {
        if (lengths[i] % vug_dtype_of(dtype)->elements != 0 || (a && lengths[i] % a->columns != 0))
            continue;
        check_kernels(r, dtype, lengths[i], RANDOM, a);
        for (fill_pattern f = RANDOM + 1; f < N_FILLS && lengths[i] < LONG; f++)
            check_kernels(r, dtype, lengths[i], f, a);
    }
}

static void test_gguf_formats(void **state)
{
    (void)state;
    rng r = { 21 };
    for (vug_dtype d = VUG_DTYPE_Q4_0; d <= VUG_DTYPE_MXFP4; d++) {
        assert_true(has_blocks(d));
        check_dtype(&r, d, NULL);
    }
}

static void test_mlx_formats(void **state)
{
    (void)state;
    rng r = { 22 };
    static const scale_format scales[] = {
        { VUG_DTYPE_F32, 64, true },   { VUG_DTYPE_F16, 64, true },  { VUG_DTYPE_BF16, 64, true },
        { VUG_DTYPE_BF16, 64, false }, { VUG_DTYPE_BF16, 32, true }, { VUG_DTYPE_BF16, 96, true },
        { VUG_DTYPE_BF16, 128, true },
    };
    for (vug_dtype d = VUG_DTYPE_MLX2; d <= VUG_DTYPE_MLX8; d++) {
        assert_true(has_blocks(d));
        for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++)
            check_dtype(&r, d, &scales[i]);
    }
    check_dtype(&r, VUG_DTYPE_MLX_FP4, &(scale_format){ VUG_DTYPE_E8M0, 32, false });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gguf_formats),
        cmocka_unit_test(test_mlx_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
