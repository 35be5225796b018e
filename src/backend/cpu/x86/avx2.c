/*
 * The AVX2 kernel set, with its elementwise kernels and softmax. Elements after the last whole
 * vector are copied to a padded vector and computed by the same code, so they get the same
 * bits.
 */
#if defined(__AVX2__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "backend/cpu/inline.h"
#include "backend/cpu/x86/avx2.h"

enum { LANES = VUG_CPU_LANES };

/* ---- partial vectors ------------------------------------------------------ */

/* The first n lanes from p, zeros in the others. */
INLINE __m256 load_partial(const float *p, int64_t n)
{
    float lane[LANES] = { 0 };
    memcpy(lane, p, (size_t)n * sizeof(float));
    return _mm256_loadu_ps(lane);
}

INLINE void store_partial(float *p, __m256 x, int64_t n)
{
    float lane[LANES];
    _mm256_storeu_ps(lane, x);
    memcpy(p, lane, (size_t)n * sizeof(float));
}

/* out[i] = f(a[i], b[i], u): the loop of every elementwise kernel. */
typedef __m256 lanes_fn(__m256 a, __m256 b, __m256 u);

INLINE void map_lanes(lanes_fn *f, const float *a, const float *b, float u, float *out, int64_t n)
{
    const __m256 us = _mm256_set1_ps(u);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_ps(out + i, f(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), us));
    if (i < n)
        store_partial(out + i, f(load_partial(a + i, n - i), load_partial(b + i, n - i), us),
                      n - i);
}

/* ---- functions ------------------------------------------------------------ */

INLINE __m256 power_of_two(__m256i n)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

/* vug_ref_exp. max and min return their second operand if one is NaN. */
INLINE __m256 exp_lanes(__m256 x)
{
    x = _mm256_max_ps(_mm256_set1_ps(-104.0f), x);
    x = _mm256_min_ps(_mm256_set1_ps(89.0f), x);
    const __m256 magic = _mm256_set1_ps(0x1.8p+23f);
    const __m256 shifted = _mm256_fmadd_ps(x, _mm256_set1_ps(0x1.715476p+0f), magic);
    const __m256 n = _mm256_sub_ps(shifted, magic);
    __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0x1.62e43p-1f), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(0x1.05c61p-29f), r);

    __m256 p = _mm256_set1_ps(0x1.6a23c8p-10f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.123a2p-7f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.5558f2p-5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555492p-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.fffffcp-2f));
    p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));

    const __m256i power =
            _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(0x4b400000));
    const __m256i half = _mm256_srai_epi32(power, 1);
    p = _mm256_mul_ps(p, power_of_two(half));
    return _mm256_mul_ps(p, power_of_two(_mm256_sub_epi32(power, half)));
}

/* vug_ref_tanh. */
INLINE __m256 tanh_lanes(__m256 x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f), one = _mm256_set1_ps(1.0f);
    const __m256 a = _mm256_andnot_ps(sign, x), z = _mm256_mul_ps(x, x);
    __m256 q = _mm256_set1_ps(-0x1.75e1bp-8f);
    q = _mm256_fmadd_ps(q, z, _mm256_set1_ps(0x1.522694p-6f));
    q = _mm256_fmadd_ps(q, z, _mm256_set1_ps(-0x1.b83c58p-5f));
    q = _mm256_fmadd_ps(q, z, _mm256_set1_ps(0x1.110726p-3f));
    q = _mm256_fmadd_ps(q, z, _mm256_set1_ps(-0x1.555532p-2f));
    const __m256 small = _mm256_fmadd_ps(_mm256_mul_ps(q, z), x, x);
    const __m256 two = _mm256_set1_ps(2.0f);
    const __m256 e = _mm256_add_ps(exp_lanes(_mm256_mul_ps(two, a)), one);
    __m256 large = _mm256_sub_ps(one, _mm256_div_ps(two, e));
    large = _mm256_or_ps(large, _mm256_and_ps(sign, x));
    const __m256 is_small = _mm256_cmp_ps(a, _mm256_set1_ps(0.625f), _CMP_LT_OQ);
    return _mm256_blendv_ps(large, small, is_small);
}

/* vug_ref_gelu. */
INLINE __m256 gelu_lanes(__m256 x, __m256 unused, __m256 unused_too)
{
    (void)unused;
    (void)unused_too;
    const __m256 v =
            _mm256_mul_ps(x, _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(-0.0713548162726f),
                                             _mm256_set1_ps(-1.5957691216057f)));
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0f), exp_lanes(v)));
}

/* vug_ref_silu. */
INLINE __m256 silu_lanes(__m256 x, __m256 unused, __m256 unused_too)
{
    (void)unused;
    (void)unused_too;
    const __m256 e = exp_lanes(_mm256_xor_ps(x, _mm256_set1_ps(-0.0f)));
    return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1.0f), e));
}

INLINE __m256 exp_of(__m256 x, __m256 unused, __m256 unused_too)
{
    (void)unused;
    (void)unused_too;
    return exp_lanes(x);
}

INLINE __m256 softcap_of(__m256 x, __m256 unused, __m256 by)
{
    (void)unused;
    return _mm256_mul_ps(tanh_lanes(_mm256_div_ps(x, by)), by);
}

INLINE __m256 sum_of(__m256 a, __m256 b, __m256 unused)
{
    (void)unused;
    return _mm256_add_ps(a, b);
}

INLINE __m256 product_of(__m256 a, __m256 b, __m256 unused)
{
    (void)unused;
    return _mm256_mul_ps(a, b);
}

INLINE __m256 scaled(__m256 x, __m256 unused, __m256 by)
{
    (void)unused;
    return _mm256_mul_ps(x, by);
}

INLINE __m256 normed(__m256 x, __m256 w, __m256 r)
{
    return _mm256_mul_ps(_mm256_mul_ps(x, r), w);
}

void vug_avx2_add(const float *a, const float *b, float *out, int64_t n)
{
    map_lanes(sum_of, a, b, 0, out, n);
}

void vug_avx2_mul(const float *a, const float *b, float *out, int64_t n)
{
    map_lanes(product_of, a, b, 0, out, n);
}

void vug_avx2_scale(const float *x, float by, float *out, int64_t n)
{
    map_lanes(scaled, x, x, by, out, n);
}

void vug_avx2_norm(const float *x, float r, const float *w, float *out, int64_t n)
{
    map_lanes(normed, x, w, r, out, n);
}

void vug_avx2_gelu(const float *x, float *out, int64_t n)
{
    map_lanes(gelu_lanes, x, x, 0, out, n);
}

void vug_avx2_silu(const float *x, float *out, int64_t n)
{
    map_lanes(silu_lanes, x, x, 0, out, n);
}

void vug_avx2_exponential(const float *x, float *out, int64_t n)
{
    map_lanes(exp_of, x, x, 0, out, n);
}

void vug_avx2_softcap(const float *x, float by, float *out, int64_t n)
{
    map_lanes(softcap_of, x, x, by, out, n);
}

/* ---- sums ----------------------------------------------------------------- */

/* ((0+4)+(2+6)) + ((1+5)+(3+7)) */
INLINE float add_lanes(__m256 s)
{
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

float vug_avx2_sum_squares(const float *x, int64_t n)
{
    __m256 s = _mm256_setzero_ps();
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const __m256 v = _mm256_loadu_ps(x + i);
        s = _mm256_fmadd_ps(v, v, s);
    }
    if (i < n) {
        const __m256 v = load_partial(x + i, n - i);
        s = _mm256_fmadd_ps(v, v, s);
    }
    return add_lanes(s);
}

void vug_avx2_axpby(float *o, float a, const float *x, float b, int64_t n)
{
    const __m256 as = _mm256_set1_ps(a), bs = _mm256_set1_ps(b);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        _mm256_storeu_ps(o + i, _mm256_fmadd_ps(_mm256_loadu_ps(x + i), bs,
                                                _mm256_mul_ps(_mm256_loadu_ps(o + i), as)));
    if (i < n)
        store_partial(o + i,
                      _mm256_fmadd_ps(load_partial(x + i, n - i), bs,
                                      _mm256_mul_ps(load_partial(o + i, n - i), as)),
                      n - i);
}

INLINE void rotate(__m256 *a, __m256 *b, __m256 cosine, __m256 sine)
{
    const __m256 x = *a, y = *b;
    *a = _mm256_fmsub_ps(x, cosine, _mm256_mul_ps(y, sine));
    *b = _mm256_fmadd_ps(y, cosine, _mm256_mul_ps(x, sine));
}

void vug_avx2_rope(const float *x, const float *cosine, const float *sine, int64_t h, float *out)
{
    int64_t i = 0;
    for (; i + LANES <= h; i += LANES) {
        __m256 a = _mm256_loadu_ps(x + i), b = _mm256_loadu_ps(x + h + i);
        rotate(&a, &b, _mm256_loadu_ps(cosine + i), _mm256_loadu_ps(sine + i));
        _mm256_storeu_ps(out + i, a);
        _mm256_storeu_ps(out + h + i, b);
    }
    if (i < h) {
        __m256 a = load_partial(x + i, h - i), b = load_partial(x + h + i, h - i);
        rotate(&a, &b, load_partial(cosine + i, h - i), load_partial(sine + i, h - i));
        store_partial(out + i, a, h - i);
        store_partial(out + h + i, b, h - i);
    }
}

/* ---- softmax -------------------------------------------------------------- */

INLINE float max_lanes(__m256 m)
{
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/* Keys outside of lo .. hi-1 become -inf, whatever their slot contains, and so add exactly 0 to
 * the sum. */
float vug_avx2_softmax(float *p, int lo, int hi, const vug_cpu_score_params *score,
                       vug_cpu_softmax_state *state)
{
    const __m256 by = _mm256_set1_ps(score->scale), cap = _mm256_set1_ps(score->softcap);
    const __m256 none = _mm256_set1_ps(-INFINITY);
    const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i first = _mm256_set1_epi32(lo - 1), end = _mm256_set1_epi32(hi);
    const int start = lo / LANES * LANES;
    __m256 max = none;
    for (int i = start; i < hi; i += LANES) {
        const __m256i key = _mm256_add_epi32(iota, _mm256_set1_epi32(i));
        const __m256i visible =
                _mm256_and_si256(_mm256_cmpgt_epi32(key, first), _mm256_cmpgt_epi32(end, key));
        __m256 s = _mm256_mul_ps(_mm256_loadu_ps(p + i), by);
        if (score->softcap > 0)
            s = _mm256_mul_ps(tanh_lanes(_mm256_div_ps(s, cap)), cap);
        s = _mm256_blendv_ps(none, s, _mm256_castsi256_ps(visible));
        max = _mm256_max_ps(s, max);
        _mm256_storeu_ps(p + i, s);
    }
    const float block = max_lanes(max);
    const float m = block > state->max ? block : state->max;
    const __m256 ms = _mm256_set1_ps(m);
    __m256 sum = _mm256_setzero_ps();
    for (int i = start; i < hi; i += LANES) {
        const __m256 e = exp_lanes(_mm256_sub_ps(_mm256_loadu_ps(p + i), ms));
        sum = _mm256_add_ps(sum, e);
        _mm256_storeu_ps(p + i, e);
    }
    const float rescale = _mm256_cvtss_f32(exp_lanes(_mm256_set1_ps(state->max - m)));
    state->sum = fmaf(state->sum, rescale, add_lanes(sum));
    state->max = m;
    return rescale;
}

/* ---- probe ---------------------------------------------------------------- */

/* Twelve independent chains, as in the tile kernel, keep both FMA units busy. */
float vug_avx2_probe_fma(int64_t rounds, double *flop)
{
    enum { CHAINS = 12 };
    __m256 s[CHAINS];
    const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);
    for (int j = 0; j < CHAINS; j++)
        s[j] = _mm256_set1_ps((float)j + 0.25f);
    for (int64_t i = 0; i < rounds; i++) {
        for (int j = 0; j < CHAINS; j++)
            s[j] = _mm256_fmadd_ps(s[j], a, b);
    }
    for (int j = 1; j < CHAINS; j++)
        s[0] = _mm256_add_ps(s[0], s[j]);
    *flop = 2.0 * LANES * CHAINS * (double)rounds;
    return add_lanes(s[0]);
}

const vug_cpu_kernels vug_cpu_kernels_avx2 = {
    .name = "avx2",
    .description = "AVX2 and FMA kernels",
#include "backend/cpu/x86/avx2_kernels.def"
};

#else
typedef int vug_avx2_is_empty; /* ISO C forbids an empty file */
#endif
