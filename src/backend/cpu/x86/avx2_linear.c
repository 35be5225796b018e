/*
 * Matrix kernels for AVX2, FMA and F16C.
 *
 * Streams: a vector holds the 8 lanes of one output's sum, and weights are read in memory order.
 * Panels: a vector holds 8 outputs, so that each weight is widened once for all rows; packing
 * transposes the weights. It transposes 32-bit units: one F32 weight, or two
 * neighbouring BF16 weights, which a shift and a mask separate afterwards.
 */
#if defined(__AVX2__)
#include <immintrin.h>

#include "backend/cpu/x86/avx2_streams.h"
#include "backend/cpu/x86/avx2_transpose.h"

enum {
    HALF = 8,
    PANEL = VUG_CPU_PANEL,
    STEP_BYTES = LINE / 2,
    LANES_TILE_ROWS = 3, /* twelve sums stay in registers */
};

/* ---- eight lanes ---------------------------------------------------------- */

#define EIGHT_LANES __m256

INLINE __m256 zero_lanes(void)
{
    return _mm256_setzero_ps();
}

INLINE __m256 load_lanes(const float *p)
{
    __m256 x = _mm256_loadu_ps(p);
    __asm__("" : "+x"(x)); /* the compiler would load x again for each row of weights */
    return x;
}

INLINE void store_lanes(float *p, __m256 x)
{
    _mm256_storeu_ps(p, x);
}

INLINE __m256 scale_lanes(__m256 x, float by)
{
    return _mm256_mul_ps(x, _mm256_set1_ps(by));
}

INLINE __m256 multiply_add_lanes(__m256 w, __m256 x, __m256 sum)
{
    return _mm256_fmadd_ps(w, x, sum);
}

INLINE __m256 load_widened(vug_dtype dtype, const uint8_t *w)
{
    if (dtype == VUG_DTYPE_F32)
        return _mm256_loadu_ps((const float *)(const void *)w);
    const __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)w);
    if (dtype == VUG_DTYPE_F16)
        return _mm256_cvtph_ps(halves);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

INLINE float widen_half(uint16_t bits)
{
    return _cvtsh_ss(bits);
}

#include "backend/cpu/eight_lanes.h"

/* ---- transposing ---------------------------------------------------------- */

/* Converting F16 needs the elements of 8 rows side by side: pair[j] holds element j in the low
 * half and j + 8 in the high half. */
INLINE void transpose_halves(const uint8_t *w, int64_t stride, __m256i *pair)
{
    __m256i low[4], high[4]; /* elements 0 .. 3 (8 .. 11) and 4 .. 7 of two rows */
    for (int64_t i = 0; i < 4; i++) {
        const __m256i even = load_row(w + 2 * i * stride);
        const __m256i odd = load_row(w + (2 * i + 1) * stride);
        low[i] = _mm256_unpacklo_epi16(even, odd);
        high[i] = _mm256_unpackhi_epi16(even, odd);
    }
    for (int64_t i = 0; i < 2; i++) {
        const __m256i *from = i ? high : low;
        const __m256i a = _mm256_unpacklo_epi32(from[0], from[1]);
        const __m256i b = _mm256_unpackhi_epi32(from[0], from[1]);
        const __m256i c = _mm256_unpacklo_epi32(from[2], from[3]);
        const __m256i d = _mm256_unpackhi_epi32(from[2], from[3]);
        pair[4 * i] = _mm256_unpacklo_epi64(a, c);
        pair[4 * i + 1] = _mm256_unpackhi_epi64(a, c);
        pair[4 * i + 2] = _mm256_unpacklo_epi64(b, d);
        pair[4 * i + 3] = _mm256_unpackhi_epi64(b, d);
    }
}

/* Transposes 32 bytes of 8 rows. */
INLINE void transpose(vug_dtype dtype, const uint8_t *w, int64_t stride, __m256i *part)
{
    if (dtype == VUG_DTYPE_F16)
        transpose_halves(w, stride, part);
    else
        transpose_units(w, stride, part);
}

/* Element i of the 8 rows, from the 8 transposed vectors. */
INLINE __m256 values_of(vug_dtype dtype, const __m256i *part, int64_t i)
{
    if (dtype == VUG_DTYPE_F32)
        return _mm256_castsi256_ps(part[i]);
    if (dtype == VUG_DTYPE_BF16 && i % 2 == 0)
        return _mm256_castsi256_ps(_mm256_slli_epi32(part[i / 2], 16));
    if (dtype == VUG_DTYPE_BF16)
        return _mm256_castsi256_ps(_mm256_and_si256(part[i / 2], _mm256_set1_epi32(-65536)));
    if (i < 8)
        return _mm256_cvtph_ps(_mm256_castsi256_si128(part[i]));
    return _mm256_cvtph_ps(_mm256_extracti128_si256(part[i - 8], 1));
}

/* ---- panels --------------------------------------------------------------- */

void vug_avx2_order_lanes(const void *x, int64_t n, float *const *lane)
{
    const float *from = x;
    const int64_t step = (int64_t)VUG_CPU_LANES * HALF;
    int64_t i = 0;
    for (; i + step <= n; i += step) {
        __m256i part[VUG_CPU_LANES];
        transpose_units((const uint8_t *)(from + i), sizeof(part[0]), part);
        for (int64_t j = 0; j < VUG_CPU_LANES; j++)
            _mm256_storeu_si256((__m256i *)(void *)(lane[j] + i / VUG_CPU_LANES), part[j]);
    }
    for (; i < n; i++)
        memcpy(&lane[i % VUG_CPU_LANES][i / VUG_CPU_LANES], from + i, sizeof(*from));
}

/* Where the elements of each lane begin in a panel of `k`. */
typedef struct {
    float *lane[VUG_CPU_LANES];
} panel_lanes;

INLINE panel_lanes lanes_of(float *panel, int64_t k)
{
    panel_lanes l;
    for (int64_t j = 0; j < VUG_CPU_LANES; j++)
        l.lane[j] = panel + vug_cpu_lane_start(k, j) * PANEL;
    return l;
}

/* The 16 columns of element `i`. */
INLINE float *column(const panel_lanes *l, int64_t i)
{
    return l->lane[i % VUG_CPU_LANES] + i / VUG_CPU_LANES * PANEL;
}

INLINE void pack_float(vug_dtype dtype, const uint8_t *w, int64_t stride, int rows, int64_t k,
                       float *panel)
{
    const panel_lanes to = lanes_of(panel, k);
    const int64_t size = bytes_of(dtype), step = STEP_BYTES / size;
    int64_t i = 0;
    for (; rows == PANEL && i + step <= k; i += step) {
        for (int64_t half = 0; half < PANEL; half += HALF) {
            __m256i part[8];
            transpose(dtype, w + half * stride + i * size, stride, part);
            for (int64_t j = 0; j < step; j++)
                _mm256_storeu_ps(column(&to, i + j) + half, values_of(dtype, part, j));
        }
    }
    /* Fewer than 16 rows, or the end of the rows. */
    for (; i < k; i++) {
        for (int r = 0; r < PANEL; r++)
            column(&to, i)[r] = r < rows ? element(dtype, w + r * stride, i) : 0;
    }
}

#define FORMAT(id, to)                                                                           \
    void vug_avx2_decode_##to(const uint8_t *src, float by, float *dst, int64_t n)               \
    {                                                                                            \
        decode_float(VUG_DTYPE_##id, src, by, dst, n);                                           \
    }                                                                                            \
    void vug_avx2_pack_##to(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel) \
    {                                                                                            \
        pack_float(VUG_DTYPE_##id, w, stride, rows, k, panel);                                   \
    }                                                                                            \
    static void gemm_##to(const vug_cpu_gemm *g)                                                 \
    {                                                                                            \
        gemm_streams(VUG_DTYPE_##id, g, LANES_TILE_ROWS, multiply_rows);                         \
    }                                                                                            \
    const vug_cpu_format vug_avx2_##to = { vug_avx2_decode_##to, vug_avx2_pack_##to, gemm_##to };

FORMAT(F32, f32)
FORMAT(F16, f16)
FORMAT(BF16, bf16)

#else
typedef int vug_avx2_linear_is_empty; /* ISO C forbids an empty file */
#endif
