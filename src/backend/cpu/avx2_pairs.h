#ifndef VUG_BACKEND_CPU_AVX2_PAIRS_H
#define VUG_BACKEND_CPU_AVX2_PAIRS_H

/*
 * What the kernels of BF16 pairs share, also those of AVX-512: a kernel set has functions that sum
 * products, which are called with small numbers as zeros (kernels.h), and the sums are added to the
 * outputs here, where small numbers count.
 */

#include <immintrin.h>

#include "backend/cpu/kernel_sets.h"

#define INLINE static inline __attribute__((always_inline))
/* Of a function that must not be merged with code for which MXCSR is another. */
#define NOINLINE static __attribute__((noinline))

enum {
    LANES = VUG_CPU_LANES,
    STREAMS = VUG_CPU_STREAMS,
    PANEL = VUG_CPU_PANEL,
    PAIR_BYTES = 4,
    LINE_PAIRS = 16, /* of a cache line */
    AHEAD = 256,     /* bytes that are prefetched ahead in each stream */
    MAX_STREAM_ROWS = 8,
};

/* Pairs first .. end - 1 of a block of the sum, for x[0], x[1], .. */
typedef struct {
    const vug_cpu_gemm *g;
    const float *const *x;
    int64_t first, end;
    int64_t ahead; /* bytes that are prefetched ahead */
} pair_block;

typedef struct {
    void (*tile)(int rows, const vug_cpu_tile *t, float *sums); /* sums [rows][PANEL] */
    void (*block)(int rows, const pair_block *b, float *sums);  /* sums [rows][STREAMS][LANES] */
    int stream_rows;                                            /* maximum */
    bool sets_mxcsr; /* the instructions follow MXCSR; VDPBF16PS does not */
} pair_functions;

/* Small operands and results become zeros. Returns the MXCSR to restore. */
INLINE unsigned begin_flushing(const pair_functions *p)
{
    enum { FLUSH_RESULTS = 0x8000, FLUSH_OPERANDS = 0x40 };
    if (!p->sets_mxcsr)
        return 0;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH_RESULTS | FLUSH_OPERANDS);
    return before;
}

INLINE void end_flushing(const pair_functions *p, unsigned before)
{
    if (p->sets_mxcsr)
        _mm_setcsr(before);
}

INLINE void multiply_tile(const pair_functions *p, int rows, const vug_cpu_tile *t)
{
    float sums[VUG_CPU_MAX_TILE_ROWS][PANEL];
    const unsigned before = begin_flushing(p);
    p->tile(rows, t, sums[0]);
    end_flushing(p, before);
    for (int64_t r = 0; r < rows; r++) {
        float *c = t->c + r * t->ldc;
        for (int i = 0; i < PANEL; i++)
            c[i] = t->accumulate ? c[i] + sums[r][i] : sums[r][i];
    }
}

/* Adds the first `n` lanes of the four streams to y in order; the first block initializes y. */
INLINE void add_lanes(const float *sums, bool is_first, int64_t n, float *to)
{
    const float *upper = sums + (ptrdiff_t)2 * LANES;
    __m256 pair[STREAMS];
    const __m256 s0 = _mm256_loadu_ps(sums), s1 = _mm256_loadu_ps(sums + LANES);
    const __m256 s2 = _mm256_loadu_ps(upper), s3 = _mm256_loadu_ps(upper + LANES);
    const __m256 a = _mm256_unpacklo_ps(s0, s1), b = _mm256_unpackhi_ps(s0, s1);
    const __m256 c = _mm256_unpacklo_ps(s2, s3), d = _mm256_unpackhi_ps(s2, s3);
    /* Lane j of the four streams in the low half, lane j + 4 in the high. */
    pair[0] = _mm256_shuffle_ps(a, c, 0x44);
    pair[1] = _mm256_shuffle_ps(a, c, 0xee);
    pair[2] = _mm256_shuffle_ps(b, d, 0x44);
    pair[3] = _mm256_shuffle_ps(b, d, 0xee);
    __m128 y = _mm_loadu_ps(to);
    for (int j = 0; j < LANES && j < n; j++) {
        const __m128 lane =
                j < 4 ? _mm256_castps256_ps128(pair[j]) : _mm256_extractf128_ps(pair[j - 4], 1);
        y = j == 0 && is_first ? lane : _mm_add_ps(y, lane);
    }
    _mm_storeu_ps(to, y);
}

/* The rows of x are divided evenly among tiles. With several tiles, the last one prefetches the
 * whole next block, which the others would otherwise wait for. */
INLINE void multiply_streams(const pair_functions *p, const vug_cpu_gemm *g)
{
    const int64_t kc = vug_cpu_kc(g->k);
    const int tiles = (g->rows + p->stream_rows - 1) / p->stream_rows;
    for (int64_t k = 0; k < g->k; k += kc) {
        const int64_t end = k + kc < g->k ? k + kc : g->k;
        for (int t = 0; t < tiles; t++) {
            const int first = g->rows * t / tiles, rows = g->rows * (t + 1) / tiles - first;
            const bool is_last = tiles > 1 && t == tiles - 1;
            const pair_block b = { g, g->x + first, k, end,
                                   is_last ? (end - k) * PAIR_BYTES : AHEAD };
            float sums[MAX_STREAM_ROWS][STREAMS * LANES];
            const unsigned before = begin_flushing(p);
            p->block(rows, &b, sums[0]);
            end_flushing(p, before);
            for (int r = 0; r < rows; r++)
                add_lanes(sums[r], k == 0, end - k, g->y + (ptrdiff_t)(first + r) * STREAMS);
        }
    }
}

/* Defines the kernels `name` from the functions of `sums`, with tiles of TILE_ROWS. */
#define PAIR_KERNELS(name, sums)                                     \
    static void tile_pairs(int rows, const vug_cpu_tile *t)          \
    {                                                                \
        multiply_tile(&(sums), rows, t);                             \
    }                                                                \
    static void gemm_pairs(const vug_cpu_gemm *g)                    \
    {                                                                \
        multiply_streams(&(sums), g);                                \
    }                                                                \
    const vug_cpu_pair_kernels name = {                              \
        .round = vug_avx2_round_bf16,                                \
        .format = { .pack = vug_avx2_pack_f32, .gemm = gemm_pairs }, \
        .tile_rows = TILE_ROWS,                                      \
        .tile = tile_pairs,                                          \
    };

#endif
