/*
 * Matrix kernels for AVX2, FMA and F16C.
 *
 * Weights lie [out,in], sums run along `in`, and a vector holds 8 outputs: the
 * weights must be transposed on the way. They are
 * transposed as 32-bit units: an F32 weight is one, two neighbouring BF16 weights
 * are one that is taken apart afterwards by a shift and a mask.
 */
#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/avx2.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    HALF = 8,
    PANEL = VUG_CPU_PANEL,
    LINE = 64, /* bytes, of the cache */
    STEP_BYTES = LINE / 2,
    AHEAD = 256, /* bytes of prefetch; 512 is better on one thread, worse on two */
};

/* ---- transposing ---------------------------------------------------------- */

INLINE __m256i load_row(const uint8_t *w)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)w);
}

/* Eight units of 4 rows: pair[j] holds unit j in the low lane, j + 4 in the high. */
INLINE void transpose_4_rows(const uint8_t *w, int64_t stride, __m256i *pair)
{
    const __m256i r0 = load_row(w), r1 = load_row(w + stride);
    const __m256i r2 = load_row(w + 2 * stride), r3 = load_row(w + 3 * stride);
    const __m256i a = _mm256_unpacklo_epi32(r0, r1), b = _mm256_unpackhi_epi32(r0, r1);
    const __m256i c = _mm256_unpacklo_epi32(r2, r3), d = _mm256_unpackhi_epi32(r2, r3);
    pair[0] = _mm256_unpacklo_epi64(a, c);
    pair[1] = _mm256_unpackhi_epi64(a, c);
    pair[2] = _mm256_unpacklo_epi64(b, d);
    pair[3] = _mm256_unpackhi_epi64(b, d);
}

/* 32 bytes of 8 rows: unit[j] holds unit j of each. */
INLINE void transpose_units(const uint8_t *w, int64_t stride, __m256i *unit)
{
    __m256i upper[4], lower[4];
    transpose_4_rows(w, stride, upper);
    transpose_4_rows(w + 4 * stride, stride, lower);
    for (int j = 0; j < 4; j++) {
        unit[j] = _mm256_permute2x128_si256(upper[j], lower[j], 0x20);
        unit[j + 4] = _mm256_permute2x128_si256(upper[j], lower[j], 0x31);
    }
}

/* F16 needs the halves of 8 rows side by side for the conversion: pair[j] holds
 * element j in the low lane, j + 8 in the high. */
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

/* What 32 bytes of 8 rows were transposed to, per format. */
INLINE void transpose(vug_dtype dtype, const uint8_t *w, int64_t stride, __m256i *part)
{
    if (dtype == VUG_DTYPE_F16)
        transpose_halves(w, stride, part);
    else
        transpose_units(w, stride, part);
}

/* Element i of the 8 rows, from their 8 parts. */
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

INLINE int bytes_of(vug_dtype dtype)
{
    return dtype == VUG_DTYPE_F32 ? 4 : 2;
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

/* What is left where vectors do not fit: few rows, or the end of a row. */
INLINE void pack_slowly(vug_dtype dtype, const uint8_t *w, int64_t stride, int rows, int64_t k,
                        float *panel)
{
    for (int64_t i = 0; i < k; i++) {
        for (int r = 0; r < PANEL; r++)
            panel[i * PANEL + r] = r < rows ? element(dtype, w + r * stride, i) : 0;
    }
}

/* ---- panels --------------------------------------------------------------- */

INLINE void pack_as(vug_dtype dtype, const uint8_t *w, int64_t stride, int rows, int64_t k,
                    float *panel)
{
    const int64_t size = bytes_of(dtype), step = STEP_BYTES / size;
    int64_t i = 0;
    for (; rows == PANEL && i + step <= k; i += step) {
        for (int64_t half = 0; half < PANEL; half += HALF) {
            __m256i part[8];
            transpose(dtype, w + half * stride + i * size, stride, part);
            for (int64_t j = 0; j < step; j++)
                _mm256_storeu_ps(panel + (i + j) * PANEL + half, values_of(dtype, part, j));
        }
    }
    pack_slowly(dtype, w + i * size, stride, rows, k - i, panel + i * PANEL);
}

/* Into the second cache: the first one holds the panel in use. */
void vug_avx2_fetch(const uint8_t *w, int64_t stride, int rows, int64_t bytes)
{
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < bytes; i += LINE)
            _mm_prefetch((const char *)(w + r * stride + i), _MM_HINT_T0);
    }
}

/* ---- one row -------------------------------------------------------------- */

/* Adds 32 bytes of each of 8 rows times x to their sums. */
INLINE __m256 add_step(vug_dtype dtype, const uint8_t *w, int64_t stride, const float *x, __m256 s)
{
    __m256i part[8];
    transpose(dtype, w, stride, part);
    for (int64_t j = 0; j < STEP_BYTES / bytes_of(dtype); j++)
        s = _mm256_fmadd_ps(_mm256_broadcast_ss(x + j), values_of(dtype, part, j), s);
    return s;
}

/* Adds elements i .. end-1, fewer than a step, of 8 rows. */
INLINE __m256 add_rest(vug_dtype dtype, const uint8_t *w, int64_t stride, const float *x, int64_t n,
                       __m256 s)
{
    for (int64_t j = 0; j < n; j++) {
        float value[HALF];
        for (int64_t r = 0; r < HALF; r++)
            value[r] = element(dtype, w + r * stride, j);
        s = _mm256_fmadd_ps(_mm256_broadcast_ss(x + j), _mm256_loadu_ps(value), s);
    }
    return s;
}

INLINE void write_sum(float *y, bool accumulate, __m256 s)
{
    _mm256_storeu_ps(y, accumulate ? _mm256_add_ps(_mm256_loadu_ps(y), s) : s);
}

INLINE void gemv_as(vug_dtype dtype, const vug_cpu_gemv *g)
{
    const int64_t size = bytes_of(dtype), step = STEP_BYTES / size, stride = g->stride;
    for (int64_t k = 0; k < g->k; k += g->kc) {
        const int64_t end = g->k - k < g->kc ? g->k : k + g->kc;
        __m256 low = _mm256_setzero_ps(), high = low;
        int64_t i = k;
        for (; i + step <= end; i += step) {
            /* A step is half a line of 16 rows: ask for whole lines of half of them. */
            const uint8_t *w = g->w + i * size;
            const uint8_t *ahead = w + (i * size & STEP_BYTES ? HALF * stride : 0) + AHEAD;
            for (int r = 0; r < HALF; r++)
                _mm_prefetch((const char *)(ahead + r * stride), _MM_HINT_T0);
            low = add_step(dtype, w, stride, g->x + i, low);
            high = add_step(dtype, w + HALF * stride, stride, g->x + i, high);
        }
        const uint8_t *w = g->w + i * size;
        low = add_rest(dtype, w, stride, g->x + i, end - i, low);
        high = add_rest(dtype, w + HALF * stride, stride, g->x + i, end - i, high);
        write_sum(g->y, k > 0, low);
        write_sum(g->y + HALF, k > 0, high);
    }
}

/* ---- formats -------------------------------------------------------------- */

INLINE void decode_as(vug_dtype dtype, const uint8_t *src, float by, float *dst, int64_t n)
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

#define FORMAT(id, name)                                                                       \
    static void decode_##id(const uint8_t *src, float by, float *dst, int64_t n)               \
    {                                                                                          \
        decode_as(VUG_DTYPE_##id, src, by, dst, n);                                            \
    }                                                                                          \
    static void pack_##id(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel) \
    {                                                                                          \
        pack_as(VUG_DTYPE_##id, w, stride, rows, k, panel);                                    \
    }                                                                                          \
    static void gemv_##id(const vug_cpu_gemv *g)                                               \
    {                                                                                          \
        gemv_as(VUG_DTYPE_##id, g);                                                            \
    }                                                                                          \
    const vug_cpu_format name = { decode_##id, pack_##id, gemv_##id };

FORMAT(F32, vug_avx2_f32)
FORMAT(F16, vug_avx2_f16)
FORMAT(BF16, vug_avx2_bf16)

/* ---- tiles ---------------------------------------------------------------- */

INLINE void add_row(const float *a, __m256 b0, __m256 b1, __m256 *s0, __m256 *s1)
{
    const __m256 x = _mm256_broadcast_ss(a);
    *s0 = _mm256_fmadd_ps(x, b0, *s0);
    *s1 = _mm256_fmadd_ps(x, b1, *s1);
}

INLINE void write_row(const vug_cpu_tile *t, int64_t r, __m256 s0, __m256 s1)
{
    float *c = t->c + r * t->ldc;
    if (t->accumulate) {
        s0 = _mm256_add_ps(_mm256_loadu_ps(c), s0);
        s1 = _mm256_add_ps(_mm256_loadu_ps(c + HALF), s1);
    }
    _mm256_storeu_ps(c, s0);
    _mm256_storeu_ps(c + HALF, s1);
}

/*
 * Twelve sums, two vectors of b and one of a: 15 of the 16 registers. The sums
 * have names of their own because compilers keep an array of them in memory.
 * `rows` is a constant wherever this is inlined, and the tests on it vanish.
 */
INLINE void tile_of(const int rows, const vug_cpu_tile *t)
{
    const float *b = t->b;
    const float *a0 = t->a, *a3 = a0 + (rows > 3 ? 3 * t->lda : 0);
    const int64_t lda = t->lda, ldb = t->ldb;
    const __m256 zero = _mm256_setzero_ps();
    __m256 s00 = zero, s01 = zero, s10 = zero, s11 = zero, s20 = zero, s21 = zero;
    __m256 s30 = zero, s31 = zero, s40 = zero, s41 = zero, s50 = zero, s51 = zero;
    for (int64_t i = t->k; i > 0; i--) {
        const __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + HALF);
        add_row(a0, b0, b1, &s00, &s01);
        if (rows > 1)
            add_row(a0 + lda, b0, b1, &s10, &s11);
        if (rows > 2)
            add_row(a0 + 2 * lda, b0, b1, &s20, &s21);
        if (rows > 3)
            add_row(a3, b0, b1, &s30, &s31);
        if (rows > 4)
            add_row(a3 + lda, b0, b1, &s40, &s41);
        if (rows > 5)
            add_row(a3 + 2 * lda, b0, b1, &s50, &s51);
        a0++;
        a3++;
        b += ldb;
    }
    write_row(t, 0, s00, s01);
    if (rows > 1)
        write_row(t, 1, s10, s11);
    if (rows > 2)
        write_row(t, 2, s20, s21);
    if (rows > 3)
        write_row(t, 3, s30, s31);
    if (rows > 4)
        write_row(t, 4, s40, s41);
    if (rows > 5)
        write_row(t, 5, s50, s51);
}

void vug_avx2_tile(int rows, const vug_cpu_tile *t)
{
    switch (rows) {
    case 1:
        tile_of(1, t);
        break;
    case 2:
        tile_of(2, t);
        break;
    case 3:
        tile_of(3, t);
        break;
    case 4:
        tile_of(4, t);
        break;
    case 5:
        tile_of(5, t);
        break;
    default:
        tile_of(6, t);
        break;
    }
}

#else
typedef int vug_avx2_linear_is_empty; /* ISO C wants something here */
#endif
