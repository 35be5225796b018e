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
    AHEAD = 512, /* bytes of prefetch; 256 to 1024 make little difference */
};

/* ---- transposing ---------------------------------------------------------- */

/* 16 bytes of row r in the low lane, of row r + `apart` in the high one. */
INLINE __m256i load_rows(const uint8_t *w, int64_t stride, int64_t apart)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)w);
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(w + apart * stride));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

/* Four units of 8 rows: unit[j] holds unit j of rows 0 .. 7. */
INLINE void transpose_units(const uint8_t *w, int64_t stride, __m256i *unit)
{
    const __m256i r0 = load_rows(w, stride, 4), r1 = load_rows(w + stride, stride, 4);
    const __m256i r2 = load_rows(w + 2 * stride, stride, 4);
    const __m256i r3 = load_rows(w + 3 * stride, stride, 4);
    const __m256i a = _mm256_unpacklo_epi32(r0, r1), b = _mm256_unpackhi_epi32(r0, r1);
    const __m256i c = _mm256_unpacklo_epi32(r2, r3), d = _mm256_unpackhi_epi32(r2, r3);
    unit[0] = _mm256_unpacklo_epi64(a, c);
    unit[1] = _mm256_unpackhi_epi64(a, c);
    unit[2] = _mm256_unpacklo_epi64(b, d);
    unit[3] = _mm256_unpackhi_epi64(b, d);
}

/* The values of a unit of 8 rows: one of F32, two of BF16. */
INLINE void values_of(vug_dtype dtype, __m256i unit, __m256 *value)
{
    if (dtype == VUG_DTYPE_F32) {
        value[0] = _mm256_castsi256_ps(unit);
        return;
    }
    value[0] = _mm256_castsi256_ps(_mm256_slli_epi32(unit, 16));
    value[1] = _mm256_castsi256_ps(_mm256_and_si256(unit, _mm256_set1_epi32(-65536)));
}

/* F16 needs its 8 halves side by side for the conversion: columns of 16 rows,
 * column[j] holds element j of rows 0 .. 7 and, in the high lane, 8 .. 15. */
INLINE void transpose_halves(const uint8_t *w, int64_t stride, __m256i *column)
{
    __m256i low[4], high[4]; /* elements 0 .. 3 and 4 .. 7 of two rows */
    for (int64_t i = 0; i < 4; i++) {
        const __m256i even = load_rows(w + 2 * i * stride, stride, 8);
        const __m256i odd = load_rows(w + (2 * i + 1) * stride, stride, 8);
        low[i] = _mm256_unpacklo_epi16(even, odd);
        high[i] = _mm256_unpackhi_epi16(even, odd);
    }
    for (int64_t i = 0; i < 2; i++) {
        const __m256i *pair = i ? high : low;
        const __m256i a = _mm256_unpacklo_epi32(pair[0], pair[1]);
        const __m256i b = _mm256_unpackhi_epi32(pair[0], pair[1]);
        const __m256i c = _mm256_unpacklo_epi32(pair[2], pair[3]);
        const __m256i d = _mm256_unpackhi_epi32(pair[2], pair[3]);
        column[4 * i] = _mm256_unpacklo_epi64(a, c);
        column[4 * i + 1] = _mm256_unpackhi_epi64(a, c);
        column[4 * i + 2] = _mm256_unpacklo_epi64(b, d);
        column[4 * i + 3] = _mm256_unpackhi_epi64(b, d);
    }
}

INLINE void halves_of(__m256i column, __m256 *value)
{
    value[0] = _mm256_cvtph_ps(_mm256_castsi256_si128(column));
    value[1] = _mm256_cvtph_ps(_mm256_extracti128_si256(column, 1));
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

/* 16 bytes of each of 16 rows. */
INLINE void pack_step(vug_dtype dtype, const uint8_t *w, int64_t stride, float *panel)
{
    __m256i part[8];
    __m256 value[2];
    if (dtype == VUG_DTYPE_F16) {
        transpose_halves(w, stride, part);
        for (int64_t j = 0; j < 8; j++) {
            halves_of(part[j], value);
            _mm256_storeu_ps(panel + j * PANEL, value[0]);
            _mm256_storeu_ps(panel + j * PANEL + HALF, value[1]);
        }
        return;
    }
    const int64_t per_unit = 4 / bytes_of(dtype);
    for (int64_t half = 0; half < 2; half++) {
        transpose_units(w + half * HALF * stride, stride, part);
        for (int64_t j = 0; j < 4; j++) {
            values_of(dtype, part[j], value);
            for (int64_t v = 0; v < per_unit; v++)
                _mm256_storeu_ps(panel + (j * per_unit + v) * PANEL + half * HALF, value[v]);
        }
    }
}

INLINE void pack_as(vug_dtype dtype, const uint8_t *w, int64_t stride, int rows, int64_t k,
                    float *panel)
{
    const int step = 16 / bytes_of(dtype);
    int64_t i = 0;
    for (; rows == PANEL && i + step <= k; i += step)
        pack_step(dtype, w + i * bytes_of(dtype), stride, panel + i * PANEL);
    pack_slowly(dtype, w + i * bytes_of(dtype), stride, rows, k - i, panel + i * PANEL);
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

/* Adds 16 bytes of each of 16 rows times x to their sums. */
INLINE void add_step(vug_dtype dtype, const uint8_t *w, int64_t stride, const float *x, __m256 *s0,
                     __m256 *s1)
{
    __m256i part[8], rest[4];
    __m256 value[2], value_too[2];
    if (dtype == VUG_DTYPE_F16) {
        transpose_halves(w, stride, part);
        for (int j = 0; j < 8; j++) {
            const __m256 xs = _mm256_broadcast_ss(x + j);
            halves_of(part[j], value);
            *s0 = _mm256_fmadd_ps(xs, value[0], *s0);
            *s1 = _mm256_fmadd_ps(xs, value[1], *s1);
        }
        return;
    }
    const int64_t per_unit = 4 / bytes_of(dtype);
    transpose_units(w, stride, part);
    transpose_units(w + HALF * stride, stride, rest);
    for (int64_t j = 0; j < 4; j++) {
        values_of(dtype, part[j], value);
        values_of(dtype, rest[j], value_too);
        for (int64_t v = 0; v < per_unit; v++) {
            const __m256 xs = _mm256_broadcast_ss(x + j * per_unit + v);
            *s0 = _mm256_fmadd_ps(xs, value[v], *s0);
            *s1 = _mm256_fmadd_ps(xs, value_too[v], *s1);
        }
    }
}

INLINE void gemv_as(vug_dtype dtype, const vug_cpu_gemv *g)
{
    const int size = bytes_of(dtype);
    const int step = STEP_BYTES / size; /* elements */
    const int64_t stride = g->stride;
    __m256 s0 = _mm256_setzero_ps(), s1 = _mm256_setzero_ps();
    int64_t i = 0;
    for (; i + step <= g->k; i += step) {
        /* A step is half a line of 16 rows: ask for whole lines of half of them. */
        const int64_t at = i * size;
        const uint8_t *ahead = g->w + (at & STEP_BYTES ? HALF * stride : 0) + (at & -64) + AHEAD;
        for (int r = 0; r < HALF; r++)
            _mm_prefetch((const char *)(ahead + r * stride), _MM_HINT_T0);
        for (int64_t j = 0; j < 2; j++)
            add_step(dtype, g->w + at + j * 16, stride, g->x + i + j * step / 2, &s0, &s1);
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
