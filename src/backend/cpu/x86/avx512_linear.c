/*
 * Products of float weights with a few rows of x, for AVX-512: a vector holds the 8 lanes of two
 * outputs' sums, and weights are read in memory order. Elements after the last whole vector are
 * loaded under a mask; the lanes that they leave out keep their sums.
 */
#if defined(__AVX512VNNI__)
#include <immintrin.h>

#include "backend/cpu/x86/avx2_streams.h"
#include "backend/cpu/x86/avx512.h"

enum {
    LANES = VUG_CPU_LANES,
    PAIRS = STREAMS / 2, /* of rows of weights */
    STEP = 2 * LANES,    /* elements of a row that are loaded together */
    TILE_ROWS = 8,       /* of x: with two pairs of rows of weights, 16 sums */
};

/* Elements 0 .. 7 and 8 .. 15 of two rows: each vector has those of the first row in its lower
 * half. */
typedef struct {
    __m512 low, high;
} weight_pairs;

/* BF16: one permutation moves 16 bits to the upper half of each 32. */
INLINE weight_pairs widen_bf16(__m512i rows)
{
    const __m512i low = _mm512_set_epi16(23, 0, 22, 0, 21, 0, 20, 0, 19, 0, 18, 0, 17, 0, 16, 0, 7,
                                         0, 6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0, 0, 0);
    const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(8));
    const __mmask32 upper = 0xaaaaaaaa;
    return (weight_pairs){
        _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(upper, low, rows)),
        _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(upper, high, rows)),
    };
}

INLINE weight_pairs widen_f16(__m512i rows)
{
    const __m512i order = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 1, 4, 5, 2, 3, 6, 7), rows);
    return (weight_pairs){ _mm512_cvtph_ps(_mm512_castsi512_si256(order)),
                           _mm512_cvtph_ps(_mm512_extracti64x4_epi64(order, 1)) };
}

INLINE __m256i load_words(const uint8_t *w, __mmask16 exists)
{
    return _mm256_maskz_loadu_epi16(exists, w);
}

/* The elements of a row and of the next one, `stride` bytes later, that have a bit in `exists`. */
INLINE weight_pairs load_weights(vug_dtype dtype, const uint8_t *w, int64_t stride,
                                 __mmask16 exists)
{
    if (dtype == VUG_DTYPE_F32) {
        const __m512 a = _mm512_maskz_loadu_ps(exists, w);
        const __m512 b = _mm512_maskz_loadu_ps(exists, w + stride);
        return (weight_pairs){ _mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee) };
    }
    const __m512i rows = _mm512_inserti64x4(_mm512_castsi256_si512(load_words(w, exists)),
                                            load_words(w + stride, exists), 1);
    return dtype == VUG_DTYPE_F16 ? widen_f16(rows) : widen_bf16(rows);
}

/* The lanes of four rows of weights, two in a vector, for each row of x. */
typedef struct {
    __m512 at[TILE_ROWS][PAIRS];
} pair_sums;

/* Adds elements i .. i + 15, those with a bit in `exists`. */
INLINE void add_elements(vug_dtype dtype, const stream_block *b, const int rows, int64_t i,
                         __mmask16 exists, pair_sums *s)
{
    const __mmask16 low = (__mmask16)((exists & 0xff) * 0x101);
    const __mmask16 high = (__mmask16)((exists >> LANES) * 0x101);
    weight_pairs w[PAIRS];
#pragma GCC unroll 2
    for (int p = 0; p < PAIRS; p++)
        w[p] = load_weights(dtype, b->g->w + i * bytes_of(dtype) + b->g->stride * 2 * p,
                            b->g->stride, exists);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        const float *x = b->x[r] + i;
        const __m512 x0 = _mm512_broadcast_f32x8(_mm256_maskz_loadu_ps((__mmask8)low, x));
        const __m512 x1 = _mm512_broadcast_f32x8(_mm256_maskz_loadu_ps((__mmask8)high, x + LANES));
#pragma GCC unroll 2
        for (int p = 0; p < PAIRS; p++) {
            __m512 *sum = &s->at[r][p];
            *sum = _mm512_mask3_fmadd_ps(w[p].low, x0, *sum, low);
            *sum = _mm512_mask3_fmadd_ps(w[p].high, x1, *sum, high);
        }
    }
}

/* Adds the lanes of four rows of weights to y. */
INLINE void add_pairs(const stream_block *b, const __m512 *pair, float *y)
{
    const __m256 s[STREAMS] = { _mm512_castps512_ps256(pair[0]), _mm512_extractf32x8_ps(pair[0], 1),
                                _mm512_castps512_ps256(pair[1]),
                                _mm512_extractf32x8_ps(pair[1], 1) };
    add_lanes(b, s, y);
}

/* Multiplies a block of four rows of weights with `rows` rows of x and adds the sums to y. */
INLINE void multiply_block(const int rows, vug_dtype dtype, const stream_block *b, float *y)
{
    const int64_t line = LINE / bytes_of(dtype);
    pair_sums s;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        s.at[r][0] = s.at[r][1] = _mm512_setzero_ps();
    int64_t i = b->first;
    for (; i + line <= b->end; i += line) {
        prefetch_streams(dtype, b, i);
        for (int64_t j = 0; j < line; j += STEP)
            add_elements(dtype, b, rows, i + j, 0xffff, &s);
    }
    for (; i + STEP <= b->end; i += STEP)
        add_elements(dtype, b, rows, i, 0xffff, &s);
    if (i < b->end)
        add_elements(dtype, b, rows, i, (__mmask16)((1U << (b->end - i)) - 1), &s);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        add_pairs(b, s.at[r], y + (ptrdiff_t)r * STREAMS);
}

INLINE void multiply_rows(vug_dtype dtype, const stream_block *b, int rows, float *y)
{
    WITH_CONSTANT_ROWS(TILE_ROWS, rows, multiply_block, dtype, b, y);
}

#define FORMAT(id, to)                                             \
    static void gemm_##to(const vug_cpu_gemm *g)                   \
    {                                                              \
        gemm_streams(VUG_DTYPE_##id, g, TILE_ROWS, multiply_rows); \
    }                                                              \
    const vug_cpu_format vug_avx512_##to = { vug_avx2_decode_##to, vug_avx2_pack_##to, gemm_##to };

FORMAT(F32, f32) FORMAT(F16, f16) FORMAT(BF16, bf16)

#else
typedef int vug_avx512_linear_is_empty; /* ISO C forbids an empty file */
#endif
