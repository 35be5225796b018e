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
#include <math.h>
#include <string.h>

#include "backend/cpu/x86/avx2_streams.h"
#include "backend/cpu/x86/avx2_transpose.h"

enum {
    HALF = 8,
    PANEL = VUG_CPU_PANEL,
    STEP_BYTES = LINE / 2,
};

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

INLINE float element(vug_dtype dtype, const uint8_t *row, int64_t i)
{
    uint32_t bits;
    uint16_t half;
    float x;
    if (dtype == VUG_DTYPE_F32) {
        memcpy(&x, row + 4 * i, sizeof(x));
        return x;
    }
    memcpy(&half, row + 2 * i, sizeof(half));
    if (dtype == VUG_DTYPE_F16)
        return _cvtsh_ss(half);
    bits = (uint32_t)half << 16;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* ---- panels --------------------------------------------------------------- */

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

/* Prefetches to the L2 cache, because L1 holds the current lane. */
void vug_avx2_prefetch(const uint8_t *w, int64_t stride, int rows, int64_t bytes)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < bytes; i += LINE)
            _mm_prefetch((const char *)(w + r * stride + i), _MM_HINT_T1);
    }
}

/* ---- streams -------------------------------------------------------------- */

enum {
    TILE_ROWS = 3, /* of x: with four rows of weights, twelve sums stay in registers */
};

/* Eight consecutive weights. */
INLINE __m256 load_weights(vug_dtype dtype, const uint8_t *w)
{
    if (dtype == VUG_DTYPE_F32)
        return _mm256_loadu_ps((const float *)(const void *)w);
    const __m128i halves = _mm_loadu_si128((const __m128i *)(const void *)w);
    if (dtype == VUG_DTYPE_F16)
        return _mm256_cvtph_ps(halves);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

/* The lanes of four rows of weights, for each row of x. */
typedef struct {
    __m256 at[TILE_ROWS][STREAMS];
} stream_sums;

/* Prevents the compiler from loading x again for each row of weights. */
INLINE __m256 keep_in_register(__m256 x)
{
    __asm__("" : "+x"(x));
    return x;
}

INLINE void add_eight(vug_dtype dtype, const stream_block *b, const int rows, int64_t i,
                      stream_sums *s)
{
    const uint8_t *w = b->g->w + i * bytes_of(dtype);
    __m256 x[TILE_ROWS];
#pragma GCC unroll 3
    for (int r = 0; r < rows; r++)
        x[r] = keep_in_register(_mm256_loadu_ps(b->x[r] + i));
#pragma GCC unroll 4
    for (int o = 0; o < STREAMS; o++) {
        const __m256 weights = load_weights(dtype, w + o * b->g->stride);
#pragma GCC unroll 3
        for (int r = 0; r < rows; r++)
            s->at[r][o] = _mm256_fmadd_ps(weights, x[r], s->at[r][o]);
    }
}

/* Adds the elements from `i` on, fewer than 8, one to a lane. */
INLINE void add_rest(vug_dtype dtype, const stream_block *b, const int rows, int64_t i,
                     stream_sums *s)
{
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++) {
            const uint8_t *w = b->g->w + o * b->g->stride;
            float lane[VUG_CPU_LANES];
            _mm256_storeu_ps(lane, s->at[r][o]);
            for (int64_t j = 0; i + j < b->end; j++)
                lane[j] = fmaf(b->x[r][i + j], element(dtype, w, i + j), lane[j]);
            s->at[r][o] = _mm256_loadu_ps(lane);
        }
    }
}

/* Multiplies a block of four rows of weights with `rows` rows of x and adds the sums to y. */
INLINE void multiply_block(vug_dtype dtype, const stream_block *b, const int rows, float *y)
{
    const int64_t line = LINE / bytes_of(dtype);
    stream_sums s;
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++)
            s.at[r][o] = _mm256_setzero_ps();
    }
    int64_t i = b->first;
    for (; i + line <= b->end; i += line) {
        prefetch_streams(dtype, b, i);
        for (int64_t j = 0; j < line; j += HALF)
            add_eight(dtype, b, rows, i + j, &s);
    }
    for (; i + HALF <= b->end; i += HALF)
        add_eight(dtype, b, rows, i, &s);
    if (i < b->end)
        add_rest(dtype, b, rows, i, &s);
    for (int r = 0; r < rows; r++)
        add_lanes(b, s.at[r], y + (ptrdiff_t)r * STREAMS);
}

/* The compiler knows the rows of a block. */
INLINE void multiply_rows(vug_dtype dtype, const stream_block *b, int rows, float *y)
{
    if (rows == 3)
        multiply_block(dtype, b, 3, y);
    else if (rows == 2)
        multiply_block(dtype, b, 2, y);
    else
        multiply_block(dtype, b, 1, y);
}

/* ---- formats -------------------------------------------------------------- */

INLINE void decode_float(vug_dtype dtype, const uint8_t *src, float by, float *dst, int64_t n)
{
    const __m256 factor = _mm256_set1_ps(by);
    int64_t i = 0;
    for (; i + HALF <= n; i += HALF) {
        const __m128i *from = (const __m128i *)(const void *)(src + i * bytes_of(dtype));
        __m256 x;
        if (dtype == VUG_DTYPE_F32)
            x = _mm256_loadu_ps((const float *)(const void *)from);
        else if (dtype == VUG_DTYPE_F16)
            x = _mm256_cvtph_ps(_mm_loadu_si128(from));
        else
            x = _mm256_castsi256_ps(
                    _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(from)), 16));
        _mm256_storeu_ps(dst + i, _mm256_mul_ps(x, factor));
    }
    for (; i < n; i++)
        dst[i] = element(dtype, src, i) * by;
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
        gemm_streams(VUG_DTYPE_##id, g, TILE_ROWS, multiply_rows);                               \
    }                                                                                            \
    const vug_cpu_format vug_avx2_##to = { vug_avx2_decode_##to, vug_avx2_pack_##to, gemm_##to };

FORMAT(F32, f32)
FORMAT(F16, f16)
FORMAT(BF16, bf16)

#else
typedef int vug_avx2_linear_is_empty; /* ISO C forbids an empty file */
#endif
