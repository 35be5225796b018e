/*
 * Products of BF16 pairs for AVX2 and FMA. A pair has 32 bits: a mask leaves its odd element, a shift
 * its even one, both as F32.
 */
#if defined(__AVX2__)
#include "backend/cpu/x86/avx2_pairs.h"
#include "backend/cpu/x86/avx2.h"

/* The sums and the elements they are made of fit the 16 registers. */
enum { TILE_ROWS = 4, TILE_PANELS = 1, STREAM_ROWS = 2 };

/* The elements of 8 pairs. */
typedef struct {
    __m256 odd, even;
} pair_elements;

INLINE pair_elements separate(__m256i pairs)
{
    return (pair_elements){
        _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536))),
        _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)),
    };
}

INLINE pair_elements load_pairs(const void *from)
{
    return separate(_mm256_loadu_si256((const __m256i *)from));
}

INLINE __m256 add_pairs(pair_elements x, pair_elements w, __m256 sum)
{
    return _mm256_fmadd_ps(x.even, w.even, _mm256_fmadd_ps(x.odd, w.odd, sum));
}

/* ---- tiles ---------------------------------------------------------------- */

INLINE void write_half(const vug_cpu_tile *t, float *c, __m256 sum)
{
    _mm256_storeu_ps(c, t->accumulate ? _mm256_add_ps(_mm256_loadu_ps(c), sum) : sum);
}

INLINE void sum_tile(const int rows, const vug_cpu_tile *t)
{
    const float *b = t->b;
    __m256 s[TILE_ROWS][2];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
        s[r][0] = s[r][1] = _mm256_setzero_ps();
    for (int64_t i = 0; i < t->k; i++, b += t->ldb) {
        const pair_elements low = load_pairs(b), high = load_pairs(b + LANES);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            const __m256 pair = _mm256_broadcast_ss(t->a + r * t->lda + i);
            const pair_elements x = separate(_mm256_castps_si256(pair));
            s[r][0] = add_pairs(x, low, s[r][0]);
            s[r][1] = add_pairs(x, high, s[r][1]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        write_half(t, t->c + r * t->ldc, s[r][0]);
        write_half(t, t->c + r * t->ldc + LANES, s[r][1]);
    }
}

NOINLINE void tile_sums(int rows, const vug_cpu_tile *t)
{
    WITH_CONSTANT_ROWS(TILE_ROWS, rows, sum_tile, t);
}

/* ---- streams -------------------------------------------------------------- */

typedef struct {
    __m256 at[STREAM_ROWS][STREAMS];
} block_lanes;

/* Adds pairs i .. i + 7, those whose lane of `exists` is set: sums of other lanes stay, because adding
 * zero would make -0 a +0. */
INLINE void add_eight(const stream_block *b, const int rows, int64_t i, const __m256i *exists,
                      block_lanes *s)
{
    pair_elements x[STREAM_ROWS];
#pragma GCC unroll 2
    for (int r = 0; r < rows; r++)
        x[r] = exists ? separate(_mm256_maskload_epi32((const int *)(const void *)(b->x[r] + i),
                                                       *exists))
                      : load_pairs(b->x[r] + i);
#pragma GCC unroll 4
    for (int o = 0; o < STREAMS; o++) {
        const uint8_t *at = b->g->w + o * b->g->stride + i * PAIR_BYTES;
        const pair_elements w =
                exists ? separate(_mm256_maskload_epi32((const int *)(const void *)at, *exists))
                       : load_pairs(at);
#pragma GCC unroll 2
        for (int r = 0; r < rows; r++) {
            const __m256 sum = add_pairs(x[r], w, s->at[r][o]);
            s->at[r][o] =
                    exists ? _mm256_blendv_ps(s->at[r][o], sum, _mm256_castsi256_ps(*exists)) : sum;
        }
    }
}

INLINE void sum_block(const int rows, const stream_block *b, float *sums)
{
    block_lanes s;
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++)
            s.at[r][o] = _mm256_setzero_ps();
    }
    int64_t i = b->first;
    for (; i + LINE_PAIRS <= b->end; i += LINE_PAIRS) {
        prefetch_streams(VUG_DTYPE_F32, b, i);
        add_eight(b, rows, i, NULL, &s);
        add_eight(b, rows, i + LANES, NULL, &s);
    }
    for (; i < b->end; i += LANES) {
        const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i exists = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(b->end - i)), lane);
        add_eight(b, rows, i, &exists, &s);
    }
    for (int r = 0; r < rows; r++) {
        for (int o = 0; o < STREAMS; o++)
            _mm256_storeu_ps(sums + ((ptrdiff_t)r * STREAMS + o) * LANES, s.at[r][o]);
    }
}

NOINLINE void block_sums(int rows, const stream_block *b, float *sums)
{
    WITH_CONSTANT_ROWS(STREAM_ROWS, rows, sum_block, b, sums);
}

/* ---- kernels -------------------------------------------------------------- */

/* As vug_ref_round_bf16. */
void vug_avx2_round_bf16(const float *x, int64_t n, uint16_t *out)
{
    const __m256i one = _mm256_set1_epi32(1), sign = _mm256_set1_epi32((int)0x80000000);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        const __m256 v = _mm256_loadu_ps(x + i);
        const __m256i bits = _mm256_castps_si256(v);
        const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
        const __m256i half = _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff));
        __m256i rounded = _mm256_add_epi32(bits, half);
        const __m256 small = _mm256_cmp_ps(_mm256_andnot_ps(_mm256_castsi256_ps(sign), v),
                                           _mm256_set1_ps(0x1p-126f), _CMP_LT_OQ);
        const __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
        rounded = _mm256_blendv_epi8(rounded, _mm256_and_si256(bits, sign),
                                     _mm256_castps_si256(small));
        rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, _mm256_set1_epi32(0x400000)),
                                     _mm256_castps_si256(nan));
        const __m256i words = _mm256_srli_epi32(rounded, 16);
        const __m128i packed =
                _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128((__m128i *)(void *)(out + i), packed);
    }
    if (i < n)
        vug_ref_pairs.round(x + i, n - i, out + i);
}

static const pair_functions sums = { tile_sums, block_sums, .sets_mxcsr = true };
PAIR_KERNELS(vug_avx2_pairs, sums, vug_avx2_round_bf16)

#else
typedef int vug_avx2_pairs_is_empty; /* ISO C forbids an empty file */
#endif
