/*
 * The NEON kernel sets, with their elementwise kernels and softmax. Elements after the last whole
 * vector are copied to a padded vector and computed by the same code, so they get the same bits.
 */
#if defined(__aarch64__)
#include <math.h>

#include "backend/cpu/arm/neon_vectors.h"

/* ---- partial vectors ------------------------------------------------------ */

/* The first n elements from p, zeros in the others. */
INLINE float32x4_t load_partial(const float *p, int64_t n)
{
    float lane[FOUR] = { 0 };
    memcpy(lane, p, (size_t)n * sizeof(float));
    return vld1q_f32(lane);
}

INLINE void store_partial(float *p, float32x4_t x, int64_t n)
{
    float lane[FOUR];
    vst1q_f32(lane, x);
    memcpy(p, lane, (size_t)n * sizeof(float));
}

/* out[i] = f(a[i], b[i], u): the loop of every elementwise kernel. */
typedef float32x4_t neon_lanes_fn(float32x4_t a, float32x4_t b, float u);

INLINE void map_lanes(neon_lanes_fn *f, const float *a, const float *b, float u, float *out,
                      int64_t n)
{
    int64_t i = 0;
    for (; i + FOUR <= n; i += FOUR)
        vst1q_f32(out + i, f(vld1q_f32(a + i), vld1q_f32(b + i), u));
    if (i < n)
        store_partial(out + i, f(load_partial(a + i, n - i), load_partial(b + i, n - i), u), n - i);
}

/* ---- functions ------------------------------------------------------------ */

INLINE float32x4_t power_of_two(int32x4_t n)
{
    return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(n, vdupq_n_s32(127)), 23));
}

/* a * b + c */
INLINE float32x4_t multiply_add(float32x4_t a, float32x4_t b, float c)
{
    return vfmaq_f32(vdupq_n_f32(c), a, b);
}

/* vug_ref_exp. max and min return a NaN if one of their operands is one. */
INLINE float32x4_t exp_lanes(float32x4_t x)
{
    x = vminq_f32(vmaxq_f32(x, vdupq_n_f32(-104.0f)), vdupq_n_f32(89.0f));
    const float32x4_t shifted = multiply_add(x, vdupq_n_f32(0x1.715476p+0f), 0x1.8p+23f);
    const float32x4_t n = vsubq_f32(shifted, vdupq_n_f32(0x1.8p+23f));
    float32x4_t r = vfmaq_f32(x, n, vdupq_n_f32(-0x1.62e43p-1f));
    r = vfmaq_f32(r, n, vdupq_n_f32(0x1.05c61p-29f));

    float32x4_t p = vdupq_n_f32(0x1.6a23c8p-10f);
    p = multiply_add(p, r, 0x1.123a2p-7f);
    p = multiply_add(p, r, 0x1.5558f2p-5f);
    p = multiply_add(p, r, 0x1.555492p-3f);
    p = multiply_add(p, r, 0x1.fffffcp-2f);
    p = vaddq_f32(vfmaq_f32(r, p, vmulq_f32(r, r)), vdupq_n_f32(1.0f));

    const int32x4_t power = vsubq_s32(vreinterpretq_s32_f32(shifted), vdupq_n_s32(0x4b400000));
    const int32x4_t half = vshrq_n_s32(power, 1);
    return vmulq_f32(vmulq_f32(p, power_of_two(half)), power_of_two(vsubq_s32(power, half)));
}

/* vug_ref_tanh. */
INLINE float32x4_t tanh_lanes(float32x4_t x)
{
    const float32x4_t a = vabsq_f32(x), z = vmulq_f32(x, x), one = vdupq_n_f32(1.0f);
    float32x4_t q = vdupq_n_f32(-0x1.75e1bp-8f);
    q = multiply_add(q, z, 0x1.522694p-6f);
    q = multiply_add(q, z, -0x1.b83c58p-5f);
    q = multiply_add(q, z, 0x1.110726p-3f);
    q = multiply_add(q, z, -0x1.555532p-2f);
    const float32x4_t small = vfmaq_f32(x, vmulq_f32(q, z), x);
    const float32x4_t e = vaddq_f32(exp_lanes(vmulq_n_f32(a, 2.0f)), one);
    const float32x4_t large = vsubq_f32(one, vdivq_f32(vdupq_n_f32(2.0f), e));
    const float32x4_t signed_large = vbslq_f32(vdupq_n_u32(0x80000000), x, large);
    return vbslq_f32(vcltq_f32(a, vdupq_n_f32(0.625f)), small, signed_large);
}

/* vug_ref_gelu. */
INLINE float32x4_t gelu_lanes(float32x4_t x, float32x4_t unused, float unused_too)
{
    (void)unused;
    (void)unused_too;
    const float32x4_t cubic =
            multiply_add(vmulq_f32(x, x), vdupq_n_f32(-0.0713548162726f), -1.5957691216057f);
    return vdivq_f32(x, vaddq_f32(vdupq_n_f32(1.0f), exp_lanes(vmulq_f32(x, cubic))));
}

/* vug_ref_silu. */
INLINE float32x4_t silu_lanes(float32x4_t x, float32x4_t unused, float unused_too)
{
    (void)unused;
    (void)unused_too;
    return vdivq_f32(x, vaddq_f32(vdupq_n_f32(1.0f), exp_lanes(vnegq_f32(x))));
}

INLINE float32x4_t exp_of(float32x4_t x, float32x4_t unused, float unused_too)
{
    (void)unused;
    (void)unused_too;
    return exp_lanes(x);
}

INLINE float32x4_t softcap_of(float32x4_t x, float32x4_t unused, float by)
{
    (void)unused;
    return vmulq_n_f32(tanh_lanes(vdivq_f32(x, vdupq_n_f32(by))), by);
}

INLINE float32x4_t sum_of(float32x4_t a, float32x4_t b, float unused)
{
    (void)unused;
    return vaddq_f32(a, b);
}

INLINE float32x4_t product_of(float32x4_t a, float32x4_t b, float unused)
{
    (void)unused;
    return vmulq_f32(a, b);
}

INLINE float32x4_t scaled(float32x4_t x, float32x4_t unused, float by)
{
    (void)unused;
    return vmulq_n_f32(x, by);
}

INLINE float32x4_t normed(float32x4_t x, float32x4_t w, float r)
{
    return vmulq_f32(vmulq_n_f32(x, r), w);
}

static void add(const float *a, const float *b, float *out, int64_t n)
{
    map_lanes(sum_of, a, b, 0, out, n);
}

static void mul(const float *a, const float *b, float *out, int64_t n)
{
    map_lanes(product_of, a, b, 0, out, n);
}

static void scale(const float *x, float by, float *out, int64_t n)
{
    map_lanes(scaled, x, x, by, out, n);
}

static void norm(const float *x, float r, const float *w, float *out, int64_t n)
{
    map_lanes(normed, x, w, r, out, n);
}

static void gelu(const float *x, float *out, int64_t n)
{
    map_lanes(gelu_lanes, x, x, 0, out, n);
}

static void silu(const float *x, float *out, int64_t n)
{
    map_lanes(silu_lanes, x, x, 0, out, n);
}

static void exponential(const float *x, float *out, int64_t n)
{
    map_lanes(exp_of, x, x, 0, out, n);
}

static void softcap(const float *x, float by, float *out, int64_t n)
{
    map_lanes(softcap_of, x, x, by, out, n);
}

/* ---- sums ----------------------------------------------------------------- */

/* ((0+4)+(2+6)) + ((1+5)+(3+7)) */
INLINE float sum_lanes(eight_lanes s)
{
    const float32x4_t four = vaddq_f32(s.low, s.high);
    const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
    return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

static float sum_squares(const float *x, int64_t n)
{
    eight_lanes s = zero_lanes();
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const eight_lanes v = load_lanes(x + i);
        s.low = vfmaq_f32(s.low, v.low, v.low);
        s.high = vfmaq_f32(s.high, v.high, v.high);
    }
    if (i < n) {
        float lane[LANES] = { 0 };
        memcpy(lane, x + i, (size_t)(n - i) * sizeof(float));
        const eight_lanes v = load_lanes(lane);
        s.low = vfmaq_f32(s.low, v.low, v.low);
        s.high = vfmaq_f32(s.high, v.high, v.high);
    }
    return sum_lanes(s);
}

static void axpby(float *o, float a, const float *x, float b, int64_t n)
{
    int64_t i = 0;
    for (; i + FOUR <= n; i += FOUR)
        vst1q_f32(o + i, vfmaq_n_f32(vmulq_n_f32(vld1q_f32(o + i), a), vld1q_f32(x + i), b));
    for (; i < n; i++)
        o[i] = fmaf(x[i], b, o[i] * a);
}

INLINE void rotate(float32x4_t *a, float32x4_t *b, float32x4_t cosine, float32x4_t sine)
{
    const float32x4_t x = *a, y = *b;
    *a = vfmaq_f32(vnegq_f32(vmulq_f32(y, sine)), x, cosine);
    *b = vfmaq_f32(vmulq_f32(x, sine), y, cosine);
}

static void rope(const float *x, const float *cosine, const float *sine, int64_t h, float *out)
{
    int64_t i = 0;
    for (; i + FOUR <= h; i += FOUR) {
        float32x4_t a = vld1q_f32(x + i), b = vld1q_f32(x + h + i);
        rotate(&a, &b, vld1q_f32(cosine + i), vld1q_f32(sine + i));
        vst1q_f32(out + i, a);
        vst1q_f32(out + h + i, b);
    }
    if (i < h) {
        float32x4_t a = load_partial(x + i, h - i), b = load_partial(x + h + i, h - i);
        rotate(&a, &b, load_partial(cosine + i, h - i), load_partial(sine + i, h - i));
        store_partial(out + i, a, h - i);
        store_partial(out + h + i, b, h - i);
    }
}

/* ---- softmax -------------------------------------------------------------- */

/* Keys outside of lo .. hi-1 become -inf, whatever their slot contains, and so add exactly 0 to
 * the sum. The 64 slots are whole vectors of eight lanes. */
static float softmax(float *p, int lo, int hi, const vug_cpu_score_params *score,
                     vug_cpu_softmax_state *state)
{
    static const int32_t iota[FOUR] = { 0, 1, 2, 3 };
    const int start = lo / LANES * LANES, end = (hi + LANES - 1) / LANES * LANES;
    const float32x4_t none = vdupq_n_f32(-INFINITY);
    float32x4_t max = none;
    for (int i = start; i < end; i += FOUR) {
        const int32x4_t key = vaddq_s32(vld1q_s32(iota), vdupq_n_s32(i));
        const uint32x4_t visible =
                vandq_u32(vcgeq_s32(key, vdupq_n_s32(lo)), vcltq_s32(key, vdupq_n_s32(hi)));
        float32x4_t s = vmulq_n_f32(vld1q_f32(p + i), score->scale);
        if (score->softcap > 0)
            s = softcap_of(s, s, score->softcap);
        s = vbslq_f32(visible, s, none);
        max = larger(s, max);
        vst1q_f32(p + i, s);
    }
    const float block = vmaxvq_f32(max), m = block > state->max ? block : state->max;
    eight_lanes sum = zero_lanes();
    for (int i = start; i < end; i += LANES) {
        eight_lanes e = load_lanes(p + i);
        e.low = exp_lanes(vsubq_f32(e.low, vdupq_n_f32(m)));
        e.high = exp_lanes(vsubq_f32(e.high, vdupq_n_f32(m)));
        sum.low = vaddq_f32(sum.low, e.low);
        sum.high = vaddq_f32(sum.high, e.high);
        store_lanes(p + i, e);
    }
    const float rescale = vgetq_lane_f32(exp_lanes(vdupq_n_f32(state->max - m)), 0);
    state->sum = fmaf(state->sum, rescale, sum_lanes(sum));
    state->max = m;
    return rescale;
}

/* ---- probe ---------------------------------------------------------------- */

/* As many independent chains as the tile kernel has. */
static float probe_fma(int64_t rounds, double *flop)
{
    enum { CHAINS = 24 };
    float32x4_t s[CHAINS];
    const float32x4_t a = vdupq_n_f32(0.5f), b = vdupq_n_f32(1.0f);
    for (int j = 0; j < CHAINS; j++)
        s[j] = vdupq_n_f32((float)j + 0.25f);
    for (int64_t i = 0; i < rounds; i++) {
#pragma GCC unroll 24
        for (int j = 0; j < CHAINS; j++)
            s[j] = vfmaq_f32(b, s[j], a);
    }
    for (int j = 1; j < CHAINS; j++)
        s[0] = vaddq_f32(s[0], s[j]);
    *flop = 2.0 * FOUR * CHAINS * (double)rounds;
    return vaddvq_f32(s[0]);
}

/* ---- sets ----------------------------------------------------------------- */

/* The members that all sets have. */
#define COMMON_KERNELS                                                                           \
    .format = { [VUG_DTYPE_F32] = &vug_neon_f32,                                                 \
                [VUG_DTYPE_F16] = &vug_neon_f16,                                                 \
                [VUG_DTYPE_BF16] = &vug_neon_bf16 },                                             \
    .float_rows = 12, .q8_streams = VUG_CPU_STREAMS, .tile_rows = VUG_NEON_TILE_ROWS,            \
    .tile_panels = 1, .tile = vug_neon_tile,                                                     \
    .keys = { vug_neon_tile, vug_neon_tile_f16, vug_neon_tile_bf16, vug_neon_tile_q8_keys },     \
    .values = { vug_neon_tile, vug_neon_tile_f16, vug_neon_tile_bf16, vug_neon_tile_q8_values }, \
    .order_lanes = vug_ref_order_lanes, .quantize = vug_neon_quantize,                           \
    .round_q4_0 = vug_ref_round_q4_0, .softmax = softmax, .axpby = axpby,                        \
    .sum_squares = sum_squares, .norm = norm, .rope = rope, .add = add, .mul = mul,              \
    .scale = scale, .gelu = gelu, .silu = silu, .exp = exponential, .softcap = softcap,          \
    .probe_fma = probe_fma

#define BLOCK_FORMAT(id, dtype)   [VUG_DTYPE_##dtype] = &vug_neon_##id,
#define DOTPROD_FORMAT(id, dtype) [VUG_DTYPE_##dtype] = &vug_neon_dotprod_##id,
#define PANEL_FORMAT(id, dtype)   [VUG_DTYPE_##dtype] = &vug_neon_i8mm_##id,

const vug_cpu_kernels vug_cpu_kernels_neon = {
    .name = "neon",
    .description = "NEON kernels",
    .block = { VUG_CPU_BLOCK_FORMATS(BLOCK_FORMAT) },
    .pairs = &vug_neon_pairs,
    COMMON_KERNELS,
};

const vug_cpu_kernels vug_cpu_kernels_neon_dotprod = {
    .name = "neon_dotprod",
    .description = "NEON kernels with products of four bytes",
    .block = { VUG_CPU_BLOCK_FORMATS(DOTPROD_FORMAT) },
    .pairs = &vug_neon_pairs,
    COMMON_KERNELS,
};

const vug_cpu_kernels vug_cpu_kernels_neon_bf16 = {
    .name = "neon_bf16",
    .description = "NEON kernels with products of four bytes and of BF16",
    .block = { VUG_CPU_BLOCK_FORMATS(DOTPROD_FORMAT) },
    .pairs = &vug_neon_bf16_pairs,
    COMMON_KERNELS,
};

/* Unpacking four blocks of four rows of Q4_0 to a panel takes about 520 instructions, 300 more than for
 * products of four bytes. Each row of x then takes 88 instead of 113, so 12 rows would repay it; formats
 * with minimums need more. No processor has measured this. */
const vug_cpu_kernels vug_cpu_kernels_neon_i8mm = {
    .name = "neon_i8mm",
    .description = "NEON kernels with products of four bytes, of BF16 and of 2 by 8 bytes",
    .block = { VUG_CPU_BLOCK_FORMATS(DOTPROD_FORMAT) },
    .q8_panel_rows = 32,
    .q8_panels = 1,
    .q8_panel = { VUG_CPU_BLOCK_FORMATS(PANEL_FORMAT) },
    .pairs = &vug_neon_bf16_pairs,
    COMMON_KERNELS,
};

#else
typedef int vug_neon_is_empty; /* ISO C forbids an empty file */
#endif
