/*
 * Matrix kernels for AVX2, FMA and F16C.
 *
 * Weights lie [out,in], sums run along `in`, and a vector holds 8 outputs: the
 * weights must be transposed on the way. Rows are read 32 bytes at a time, 8
 * rows at once, and transposed as 32-bit units: an F32 weight is one unit, two
 * neighbouring 16-bit weights are one unit that is taken apart afterwards, which
 * for BF16 costs one shift or mask per vector.
 */
#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/avx2.h"

#define INLINE static inline __attribute__((always_inline))

enum { HALF = 8, PANEL = VUG_CPU_PANEL, STEP_BYTES = 32 };

/* ---- transposing ---------------------------------------------------------- */

/* 16 bytes of row r in the low lane, of row r + 4 in the high one. */
INLINE __m256i load_rows(const uint8_t *w, int64_t stride)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)w);
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(w + 4 * stride));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Four units of 8 rows: unit[j] holds unit j of rows 0 .. 7. */
INLINE void transpose_4(const uint8_t *w, int64_t stride, __m256i *unit)
{
    const __m256i r0 = load_rows(w, stride), r1 = load_rows(w + stride, stride);
    const __m256i r2 = load_rows(w + 2 * stride, stride), r3 = load_rows(w + 3 * stride, stride);
    const __m256i a = _mm256_unpacklo_epi32(r0, r1), b = _mm256_unpackhi_epi32(r0, r1);
    const __m256i c = _mm256_unpacklo_epi32(r2, r3), d = _mm256_unpackhi_epi32(r2, r3);
    unit[0] = _mm256_unpacklo_epi64(a, c);
    unit[1] = _mm256_unpackhi_epi64(a, c);
    unit[2] = _mm256_unpacklo_epi64(b, d);
    unit[3] = _mm256_unpackhi_epi64(b, d);
}

/* The values of a unit of 8 rows: one of F32, two of the others. */
INLINE void values_of(vug_dtype dtype, __m256i unit, __m256 *value)
{
    if (dtype == VUG_DTYPE_F32) {
        value[0] = _mm256_castsi256_ps(unit);
    } else if (dtype == VUG_DTYPE_BF16) {
        value[0] = _mm256_castsi256_ps(_mm256_slli_epi32(unit, 16));
        value[1] = _mm256_castsi256_ps(_mm256_and_si256(unit, _mm256_set1_epi32(-65536)));
    } else {
        const __m256i gather = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,
                                                0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
        const __m256i split = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(unit, gather), 0xd8);
        value[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(split));
        value[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(split, 1));
    }
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
    if (rows < PANEL) {
        pack_slowly(dtype, w, stride, rows, k, panel);
        return;
    }
    const int per_unit = 4 / bytes_of(dtype);
    const int step = 4 * per_unit; /* elements in 16 bytes */
    int64_t i = 0;
    for (; i + step <= k; i += step) {
        for (int half = 0; half < 2; half++) {
            __m256i unit[4];
            __m256 value[2];
            transpose_4(w + half * HALF * stride + i * bytes_of(dtype), stride, unit);
            for (int j = 0; j < 4; j++) {
                float *to = panel + (i + j * per_unit) * PANEL + half * HALF;
                values_of(dtype, unit[j], value);
                for (int v = 0; v < per_unit; v++)
                    _mm256_storeu_ps(to + v * PANEL, value[v]);
            }
        }
    }
    pack_slowly(dtype, w + i * bytes_of(dtype), stride, rows, k - i, panel + i * PANEL);
}

/* ---- one row -------------------------------------------------------------- */

/* sum + 4 units of 8 rows times x. */
INLINE __m256 add_units(vug_dtype dtype, const uint8_t *w, int64_t stride, const float *x,
                        __m256 sum)
{
    const int per_unit = 4 / bytes_of(dtype);
    __m256i unit[4];
    __m256 value[2];
    transpose_4(w, stride, unit);
    for (int j = 0; j < 4; j++) {
        values_of(dtype, unit[j], value);
        for (int v = 0; v < per_unit; v++)
            sum = _mm256_fmadd_ps(_mm256_broadcast_ss(x + j * per_unit + v), value[v], sum);
    }
    return sum;
}

INLINE void gemv_as(vug_dtype dtype, const vug_cpu_gemv *g)
{
    const int size = bytes_of(dtype);
    const int step = STEP_BYTES / size; /* elements */
    const int64_t stride = g->stride;
    const uint8_t *low = g->w, *high = g->w + HALF * stride;
    __m256 s0 = _mm256_setzero_ps(), s1 = _mm256_setzero_ps();
    int64_t i = 0;
    for (; i + step <= g->k; i += step) {
        /* A step is half a line of 16 rows: ask for whole lines of half of them. */
        const int64_t at = i * size;
        const uint8_t *next = g->next + (at & -64) + (at & STEP_BYTES ? HALF * stride : 0);
        for (int r = 0; r < HALF; r++)
            _mm_prefetch((const char *)(next + r * stride), _MM_HINT_T0);
        for (int j = 0; j < 2; j++) {
            s0 = add_units(dtype, low + at + j * 16, stride, g->x + i + j * step / 2, s0);
            s1 = add_units(dtype, high + at + j * 16, stride, g->x + i + j * step / 2, s1);
        }
    }
    if (i < g->k) {
        float rest[STEP_BYTES / 2 * PANEL];
        pack_slowly(dtype, g->w + i * size, stride, PANEL, g->k - i, rest);
        for (int64_t j = 0; i + j < g->k; j++) {
            const __m256 x = _mm256_broadcast_ss(g->x + i + j);
            s0 = _mm256_fmadd_ps(x, _mm256_loadu_ps(rest + j * PANEL), s0);
            s1 = _mm256_fmadd_ps(x, _mm256_loadu_ps(rest + j * PANEL + HALF), s1);
        }
    }
    if (g->accumulate) {
        s0 = _mm256_add_ps(_mm256_loadu_ps(g->y), s0);
        s1 = _mm256_add_ps(_mm256_loadu_ps(g->y + HALF), s1);
    }
    _mm256_storeu_ps(g->y, s0);
    _mm256_storeu_ps(g->y + HALF, s1);
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

/* Twelve sums, two vectors of b and one of a: 15 of the 16 registers. */
INLINE void tile_of(const int rows, const vug_cpu_tile *t)
{
    const float *b = t->b;
    __m256 s[VUG_CPU_ROWS][2];
    for (int r = 0; r < rows; r++)
        s[r][0] = s[r][1] = _mm256_setzero_ps();
    for (int64_t i = 0; i < t->k; i++) {
        const __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + HALF);
        for (int r = 0; r < rows; r++) {
            const __m256 a = _mm256_broadcast_ss(t->a + r * t->lda + i);
            s[r][0] = _mm256_fmadd_ps(a, b0, s[r][0]);
            s[r][1] = _mm256_fmadd_ps(a, b1, s[r][1]);
        }
        b += t->ldb;
    }
    for (int r = 0; r < rows; r++) {
        float *c = t->c + r * t->ldc;
        if (t->accumulate) {
            s[r][0] = _mm256_add_ps(_mm256_loadu_ps(c), s[r][0]);
            s[r][1] = _mm256_add_ps(_mm256_loadu_ps(c + HALF), s[r][1]);
        }
        _mm256_storeu_ps(c, s[r][0]);
        _mm256_storeu_ps(c + HALF, s[r][1]);
    }
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
