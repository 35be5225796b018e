/* The portable kernel set: the contract of kernels.h in plain C. */
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel_sets.h"
#include "backend/cpu/ref.h"
#include "quant/codec.h"

/* ---- weights -------------------------------------------------------------- */

static void decode_row(vug_dtype dtype, const uint8_t *src, float by, float *dst, int64_t n)
{
    vug_codec_of(dtype)->decode(src, dst, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        dst[i] *= by;
}

static void pack_rows(vug_dtype dtype, const uint8_t *w, int64_t stride, int rows, int64_t k,
                      float *panel)
{
    for (int64_t j = 0; j < VUG_CPU_LANES; j++) {
        for (int64_t i = j; i < k; i += VUG_CPU_LANES) {
            for (int r = 0; r < VUG_CPU_PANEL; r++)
                *panel++ = r < rows ? vug_ref_decode_element(dtype, w + r * stride, i) : 0;
        }
    }
}

static void gemm_rows(vug_dtype dtype, const vug_cpu_gemm *g)
{
    for (int64_t o = 0; o < VUG_CPU_STREAMS; o++) {
        const vug_matrix w = { .dtype = dtype, .data = g->w + o * g->stride, .columns = g->k };
        for (int64_t r = 0; r < g->rows; r++)
            vug_ref_linear(g->x[r], 1, &w, 1, &g->y[r * VUG_CPU_STREAMS + o]);
    }
}

#define FORMAT(id)                                                                             \
    static void decode_##id(const uint8_t *src, float by, float *dst, int64_t n)               \
    {                                                                                          \
        decode_row(VUG_DTYPE_##id, src, by, dst, n);                                           \
    }                                                                                          \
    static void pack_##id(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel) \
    {                                                                                          \
        pack_rows(VUG_DTYPE_##id, w, stride, rows, k, panel);                                  \
    }                                                                                          \
    static void gemm_##id(const vug_cpu_gemm *g)                                               \
    {                                                                                          \
        gemm_rows(VUG_DTYPE_##id, g);                                                          \
    }                                                                                          \
    static const vug_cpu_format format_##id = { decode_##id, pack_##id, gemm_##id };

FORMAT(F32)
FORMAT(F16)
FORMAT(BF16)

void vug_ref_order_lanes(const void *x, int64_t n, float *const *lane)
{
    for (int64_t i = 0; i < n; i++) /* the bits: pairs are no floats */
        memcpy(&lane[i % VUG_CPU_LANES][i / VUG_CPU_LANES], (const float *)x + i, sizeof(float));
}

/* Element (i,c) of B. */
typedef float tile_element_fn(const vug_cpu_tile *t, int64_t i, int64_t c);

static void tile_as(tile_element_fn *b, int rows, const vug_cpu_tile *t)
{
    for (int64_t c = 0; c < VUG_CPU_PANEL; c++) {
        float s[VUG_CPU_MAX_TILE_ROWS] = { 0 };
        for (int64_t i = 0; i < t->k; i++) {
            const float x = b(t, i, c);
            for (int64_t r = 0; r < rows; r++)
                s[r] = fmaf(t->a[r * t->lda + i], x, s[r]);
        }
        for (int64_t r = 0; r < rows; r++) {
            float *out = &t->c[r * t->ldc + c];
            *out = t->accumulate ? *out + s[r] : s[r];
        }
    }
}

static float f32_of(const vug_cpu_tile *t, int64_t i, int64_t c)
{
    return vug_ref_decode_element(VUG_DTYPE_F32, t->b, i * t->ldb + c);
}

static float f16_of(const vug_cpu_tile *t, int64_t i, int64_t c)
{
    return vug_ref_decode_element(VUG_DTYPE_F16, t->b, i * t->ldb + c);
}

static float bf16_of(const vug_cpu_tile *t, int64_t i, int64_t c)
{
    return vug_ref_decode_element(VUG_DTYPE_BF16, t->b, i * t->ldb + c);
}

/* Each group of 32 rows begins with 16 scales. */
static float q8_key_of(const vug_cpu_tile *t, int64_t i, int64_t c)
{
    enum { SCALES = VUG_CPU_PANEL * sizeof(float), CODES = VUG_KV_Q8_BLOCK * VUG_CPU_PANEL };
    const uint8_t *group = (const uint8_t *)t->b + i / VUG_KV_Q8_BLOCK * (SCALES + CODES);
    const int64_t at = SCALES + i % VUG_KV_Q8_BLOCK * VUG_CPU_PANEL + c;
    return (float)(int8_t)group[at] * vug_ref_decode_element(VUG_DTYPE_F32, group, c);
}

static float q8_value_of(const vug_cpu_tile *t, int64_t i, int64_t c)
{
    return (float)((const int8_t *)t->b)[i * t->ldb + c] * t->scale[i];
}

#define TILE(name)                                           \
    static void tile_##name(int rows, const vug_cpu_tile *t) \
    {                                                        \
        tile_as(name##_of, rows, t);                         \
    }

TILE(f32)
TILE(f16)
TILE(bf16)
TILE(q8_key)
TILE(q8_value)

/* ---- attention ------------------------------------------------------------ */

static float add_lanes(const float *s)
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

static float softmax(float *p, int lo, int hi, const vug_cpu_score_params *score,
                     vug_cpu_softmax_state *state)
{
    float max = state->max;
    for (int i = lo; i < hi; i++) {
        p[i] *= score->scale;
        if (score->softcap > 0)
            p[i] = vug_ref_tanh(p[i] / score->softcap) * score->softcap;
        max = p[i] > max ? p[i] : max;
    }
    float lane[VUG_CPU_LANES] = { 0 };
    for (int i = lo; i < hi; i++) {
        p[i] = vug_ref_exp(p[i] - max);
        lane[i % VUG_CPU_LANES] += p[i];
    }
    const float rescale = vug_ref_exp(state->max - max);
    state->sum = fmaf(state->sum, rescale, add_lanes(lane));
    state->max = max;
    return rescale;
}

static void axpby(float *o, float a, const float *x, float b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        o[i] = fmaf(x[i], b, o[i] * a);
}

/* ---- vectors --------------------------------------------------------------- */

static float sum_squares(const float *x, int64_t n)
{
    float lane[VUG_CPU_LANES] = { 0 };
    for (int64_t i = 0; i < n; i++)
        lane[i % VUG_CPU_LANES] = fmaf(x[i], x[i], lane[i % VUG_CPU_LANES]);
    return add_lanes(lane);
}

static void norm(const float *x, float r, const float *w, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (x[i] * r) * w[i];
}

static void rope(const float *x, const float *cosine, const float *sine, int64_t h, float *out)
{
    for (int64_t i = 0; i < h; i++) {
        const float a = x[i], b = x[i + h];
        out[i] = fmaf(a, cosine[i], -(b * sine[i]));
        out[i + h] = fmaf(b, cosine[i], a * sine[i]);
    }
}

static void add(const float *a, const float *b, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

static void mul(const float *a, const float *b, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = a[i] * b[i];
}

static void scale(const float *x, float by, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = x[i] * by;
}

static void gelu(const float *x, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = vug_ref_gelu(x[i]);
}

static void silu(const float *x, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = vug_ref_silu(x[i]);
}

static void exponential(const float *x, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = vug_ref_exp(x[i]);
}

static void softcap(const float *x, float by, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = vug_ref_tanh(x[i] / by) * by;
}

/* ---- probe ---------------------------------------------------------------- */

static float probe_fma(int64_t rounds, double *flop)
{
    float s[8] = { 0 };
    for (int64_t i = 0; i < rounds; i++) {
        for (int j = 0; j < 8; j++)
            s[j] = fmaf(s[j], 0.5f, (float)j);
    }
    *flop = 16.0 * (double)rounds;
    return add_lanes(s);
}

const vug_cpu_kernels vug_cpu_kernels_ref = {
    .name = "ref",
    .description = "portable reference kernels",
    .format = {
        [VUG_DTYPE_F32] = &format_F32,
        [VUG_DTYPE_F16] = &format_F16,
        [VUG_DTYPE_BF16] = &format_BF16,
    },
#define BLOCK_FORMAT(id, dtype) [VUG_DTYPE_##dtype] = &vug_ref_block_format,
    .block = { VUG_CPU_BLOCK_FORMATS(BLOCK_FORMAT) },
    .pairs = &vug_ref_pairs,
    .float_rows = 12,
    .q8_streams = VUG_CPU_STREAMS,
    .tile_rows = 6,
    .tile_panels = 1,
    .tile = tile_f32,
    .keys = { tile_f32, tile_f16, tile_bf16, tile_q8_key },
    .values = { tile_f32, tile_f16, tile_bf16, tile_q8_value },
    .order_lanes = vug_ref_order_lanes,
    .quantize = vug_ref_quantize_row,
    .round_q4_0 = vug_ref_round_q4_0,
    .softmax = softmax,
    .axpby = axpby,
    .sum_squares = sum_squares,
    .norm = norm,
    .rope = rope,
    .add = add,
    .mul = mul,
    .scale = scale,
    .gelu = gelu,
    .silu = silu,
    .exp = exponential,
    .softcap = softcap,
    .probe_fma = probe_fma,
};
