/*
 * Products of several rows of x with panels of quantized weights, for AVX2. maddubs multiplies
 * unsigned with signed bytes and adds pairs of products in 16 bits. Panels hold weights of up
 * to 6 bits as unsigned integers, so that a few such sums fit 16 bits; the product of the zero
 * point and the sums of x is subtracted afterwards. A pair of bytes belongs to one half of the
 * block and the next pair to the other half, so the widening product with the pair of factors
 * adds both halves.
 *
 * With 8-bit weights the sum of two products does not fit 16 bits, so each would have to be
 * widened, and passing signs to x costs as much again. It takes fewer operations to store both
 * sides in 16 bits.
 */
#if defined(__AVX2__)
#include <immintrin.h>
#include <string.h>

#include "backend/cpu/avx2.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    HALF = 8,
    PANEL = VUG_CPU_PANEL,
    ROWS = VUG_CPU_MAX_TILE_ROWS_Q8,
    Q8 = VUG_CPU_Q8_BLOCK,
};

/* ---- quantizing x ---------------------------------------------------------- */

INLINE __m256 magnitude(__m256 x)
{
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}

/* max returns its second operand if one is a NaN. */
INLINE float max_magnitude(const float *x)
{
    __m256 m = _mm256_setzero_ps();
    for (int i = 0; i < Q8; i += HALF)
        m = _mm256_max_ps(magnitude(_mm256_loadu_ps(x + i)), m);
    __m128 h = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
    h = _mm_max_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_max_ss(h, _mm_shuffle_ps(h, h, 1)));
}

INLINE __m256i quantize_8(const float *x, __m256 r)
{
    const __m256 p = _mm256_mul_ps(_mm256_loadu_ps(x), r);
    const __m256 numbers = _mm256_and_ps(p, _mm256_cmp_ps(p, p, _CMP_ORD_Q));
    const __m256 low = _mm256_max_ps(numbers, _mm256_set1_ps(-127));
    return _mm256_cvtps_epi32(_mm256_min_ps(low, _mm256_set1_ps(127)));
}

void vug_avx2_quantize(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum)
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int64_t i = 0; i < n; i += Q8) {
        const float max = max_magnitude(x + i);
        const __m256 r = _mm256_set1_ps(max > 0 ? 127 / max : 0);
        const __m256i a = quantize_8(x + i, r), b = quantize_8(x + i + 8, r);
        const __m256i c = quantize_8(x + i + 16, r), d = quantize_8(x + i + 24, r);
        const __m256i bytes =
                _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
        _mm256_storeu_si256((__m256i *)(void *)(q + i), _mm256_permutevar8x32_epi32(bytes, order));
        scale[i / Q8] = max / 127;
        __m256i s = _mm256_hadd_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
        s = _mm256_hadd_epi32(s, s);
        sum[i / 16] = (int16_t)(_mm256_extract_epi32(s, 0) + _mm256_extract_epi32(s, 4));
        sum[i / 16 + 1] = (int16_t)(_mm256_extract_epi32(s, 1) + _mm256_extract_epi32(s, 5));
    }
}

/* ---- tiles ---------------------------------------------------------------- */

/* The part of a vug_cpu_panel_layout that is constant wherever it is inlined. */
typedef struct {
    int bits;
    bool factors, offsets;
} tile_layout;

/* Whether the product of the zero point and the sums of x must be subtracted. */
INLINE bool has_zero_point(tile_layout l)
{
    return l.bits == 8 ? l.offsets : !l.offsets;
}

/* The number of groups of a block whose sum fits 16 bits. */
INLINE int groups_per_sum(tile_layout l)
{
    return l.bits == 4 ? 8 : l.bits == 5 ? 4 : 2;
}

INLINE __m256i load(const void *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Broadcasts four bytes of x, or a pair of its sums, to all columns. */
INLINE __m256i broadcast(const void *p)
{
    int32_t four;
    memcpy(&four, p, sizeof(four));
    return _mm256_set1_epi32(four);
}

/* Prevents the compiler from reordering integer sums: it would keep every product of a block in
 * memory until they are added. */
INLINE __m256i keep_in_register(__m256i sum)
{
    __asm__("" : "+x"(sum));
    return sum;
}

typedef struct {
    __m256i at[ROWS][2];
} tile_integers;

typedef struct {
    __m256 at[ROWS][2];
} tile_sums;

/* The sums of a block while its groups are added. */
typedef struct {
    __m256i factor[2];
    tile_integers part, whole; /* in 16 and in 32 bits */
} block_accumulators;

/* Adds group `g` of a block, whose four bytes of each row begin at `x`, to the 16-bit sums.
 * When these are full, they are added to the 32-bit sums. */
INLINE void add_group(tile_layout l, const int rows, const int8_t *x, const __m256i *w, int64_t g,
                      block_accumulators *s)
{
    const bool is_first = g % groups_per_sum(l) == 0, is_last = (g + 1) % groups_per_sum(l) == 0;
#pragma GCC unroll 8
    for (int64_t i = 0; i < 2 * (int64_t)rows; i++) {
        const int64_t r = i / 2, h = i % 2;
        const __m256i pairs = _mm256_maddubs_epi16(w[h], broadcast(x + r * Q8));
        __m256i *sum = &s->part.at[r][h], *whole = &s->whole.at[r][h];
        *sum = keep_in_register(is_first ? pairs : _mm256_add_epi16(*sum, pairs));
        if (is_last) {
            const __m256i wide = _mm256_madd_epi16(*sum, s->factor[h]);
            *whole = g < groups_per_sum(l) ? wide : _mm256_add_epi32(*whole, wide);
        }
    }
}

/* The sums of products of block `b`, with each half multiplied by its factor. */
INLINE tile_integers multiply_q8(tile_layout l, const int rows, const vug_cpu_tile_q8 *t, int64_t b)
{
    const uint8_t *w = t->panel->q + b * Q8 * PANEL;
    const int8_t *x = t->q + b * Q8 * ROWS;
    const __m256i ones = _mm256_set1_epi16(1);
    block_accumulators s;
    for (int64_t h = 0; h < 2; h++)
        s.factor[h] = !l.factors ? ones : load(t->panel->factor + (b * PANEL + h * HALF) * 2);
#pragma GCC unroll 8
    for (int64_t g = 0; g < Q8 / 4; g++) {
        const __m256i pair[2] = { load(w + g * 64), load(w + g * 64 + 32) };
        add_group(l, rows, x + 4 * g, pair, g, &s);
    }
    return s.whole;
}

INLINE tile_integers multiply_q16(const int rows, const vug_cpu_tile_q8 *t, int64_t b)
{
    const int16_t *w = t->panel->q16 + b * Q8 * PANEL;
    const int16_t *x = t->q16 + b * Q8 * ROWS;
    tile_integers product;
#pragma GCC unroll 16
    for (int64_t g = 0; g < Q8 / 2; g++) {
        const __m256i pair[2] = { load(w + g * 32), load(w + g * 32 + 16) };
#pragma GCC unroll 8
        for (int64_t i = 0; i < 2 * (int64_t)rows; i++) {
            const int64_t r = i / 2, h = i % 2;
            const __m256i wide = _mm256_madd_epi16(pair[h], broadcast(x + r * Q8 + 2 * g));
            __m256i *whole = &product.at[r][h];
            *whole = keep_in_register(g == 0 ? wide : _mm256_add_epi32(*whole, wide));
        }
    }
    return product;
}

/* Adds block `b` to the lanes. */
INLINE void add_block(tile_layout l, const int rows, const vug_cpu_tile_q8 *t, int64_t b,
                      tile_sums *lane)
{
    const vug_cpu_panel *p = t->panel;
    const __m256i back = _mm256_set1_epi16((short)-t->layout->zero);
    const __m256i ones = _mm256_set1_epi16(1);
    const tile_integers product =
            l.bits == 8 ? multiply_q16(rows, t, b) : multiply_q8(l, rows, t, b);
#pragma GCC unroll 2
    for (int64_t h = 0; h < 2; h++) {
        const int64_t at = b * PANEL + h * HALF;
        const __m256 scale = _mm256_loadu_ps(p->scale + at);
        const __m256i minimum = l.factors ? load(p->minimum + 2 * at) : ones;
#pragma GCC unroll 4
        for (int64_t r = 0; r < rows; r++) {
            const __m256i sum = broadcast(t->sum + (b * ROWS + r) * 2);
            const __m256 d = _mm256_broadcast_ss(t->scale + b * ROWS + r);
            __m256i whole = product.at[r][h];
            if (has_zero_point(l))
                whole = _mm256_add_epi32(whole, _mm256_madd_epi16(l.factors ? minimum : back, sum));
            __m256 below = _mm256_setzero_ps();
            if (l.offsets)
                below = _mm256_mul_ps(_mm256_loadu_ps(p->offset + at),
                                      _mm256_cvtepi32_ps(_mm256_madd_epi16(minimum, sum)));
            const __m256 s = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(whole), below);
            lane->at[r][h] = _mm256_fmadd_ps(d, s, lane->at[r][h]);
        }
    }
}

INLINE void tile_of(tile_layout l, const int rows, const vug_cpu_tile_q8 *t)
{
    const int64_t blocks = t->blocks;
    for (int64_t j = t->first; j < t->end && j < blocks; j++) {
        const int64_t start = vug_cpu_lane_start(blocks, j);
        const int64_t end = start + vug_cpu_lane_size(blocks, j);
        tile_sums lane;
        for (int64_t r = 0; r < rows; r++)
            lane.at[r][0] = lane.at[r][1] = _mm256_setzero_ps();
        for (int64_t b = start; b < end; b++)
            add_block(l, rows, t, b, &lane);
        for (int64_t i = 0; i < 2 * (int64_t)rows; i++) {
            float *y = t->y + i * HALF;
            const __m256 s = lane.at[i / 2][i % 2];
            _mm256_storeu_ps(y, j == 0 ? s : _mm256_add_ps(_mm256_loadu_ps(y), s));
        }
    }
}

#define TILE(name, bits, factors, offsets)                      \
    static void tile_##name(int rows, const vug_cpu_tile_q8 *t) \
    {                                                           \
        const tile_layout l = { bits, factors, offsets };       \
        if (rows == 4)                                          \
            tile_of(l, 4, t);                                   \
        else if (rows == 3)                                     \
            tile_of(l, 3, t);                                   \
        else if (rows == 2)                                     \
            tile_of(l, 2, t);                                   \
        else                                                    \
            tile_of(l, 1, t);                                   \
    }

TILE(u4, 4, false, false)
TILE(u4_offset, 4, false, true)
TILE(u4_factor, 4, true, false)
TILE(u4_both, 4, true, true)
TILE(u5, 5, false, false)
TILE(u5_offset, 5, false, true)
TILE(u5_both, 5, true, true)
TILE(u6_offset, 6, false, true)
TILE(u6_factor, 6, true, false)
TILE(q16, 8, false, false)
TILE(q16_offset, 8, false, true)

typedef void tile_q8_fn(int rows, const vug_cpu_tile_q8 *t);

void vug_avx2_tile_q8(int rows, const vug_cpu_tile_q8 *t)
{
    static tile_q8_fn *const tiles[][2][2] = {
        [4] = { { tile_u4, tile_u4_offset }, { tile_u4_factor, tile_u4_both } },
        [5] = { { tile_u5, tile_u5_offset }, { NULL, tile_u5_both } },
        [6] = { { NULL, tile_u6_offset }, { tile_u6_factor, NULL } },
        [8] = { { tile_q16, tile_q16_offset }, { NULL, NULL } },
    };
    tiles[t->layout->bits][t->layout->factors][t->layout->offsets](rows, t);
}

#else
typedef int vug_avx2_q8_is_empty; /* ISO C forbids an empty file */
#endif
