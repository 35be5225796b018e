#ifndef VUG_BACKEND_CPU_X86_AVX2_PAIRS_H
#define VUG_BACKEND_CPU_X86_AVX2_PAIRS_H

/*
 * What the kernels of BF16 pairs share, also those of AVX-512: a kernel set has functions that sum
 * products, which are called with small numbers as zeros (kernels.h), and the sums are added to the
 * outputs here, where small numbers count. The functions are not inlined, because they must not be merged
 * with code for which MXCSR is another.
 */

#include "backend/cpu/x86/avx2_streams.h"

enum {
    LANES = VUG_CPU_LANES,
    PANEL = VUG_CPU_PANEL,
    PAIR_BYTES = 4,
    LINE_PAIRS = LINE / PAIR_BYTES,
    MAX_STREAM_ROWS = 8,
    TILE_COLUMNS = VUG_CPU_MAX_TILE_PANELS * PANEL,
};

typedef struct {
    vug_cpu_tile_fn *tile;
    void (*block)(int rows, const stream_block *b, float *sums); /* sums [rows][STREAMS][LANES] */
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

/* Where the products follow MXCSR, their sums are added to those of `t` afterwards. */
INLINE void multiply_tile(const pair_functions *p, int rows, const vug_cpu_tile *t)
{
    float sums[VUG_CPU_MAX_TILE_ROWS][TILE_COLUMNS];
    const int columns = t->panels * PANEL;
    vug_cpu_tile products = *t;
    if (!p->sets_mxcsr) {
        p->tile(rows, t);
        return;
    }
    products.c = sums[0];
    products.ldc = TILE_COLUMNS;
    products.accumulate = false;
    const unsigned before = begin_flushing(p);
    p->tile(rows, &products);
    end_flushing(p, before);
    for (int64_t r = 0; r < rows; r++) {
        float *c = t->c + r * t->ldc;
        for (int i = 0; i < columns; i += LANES) {
            const __m256 sum = _mm256_loadu_ps(sums[r] + i);
            _mm256_storeu_ps(c + i,
                             t->accumulate ? _mm256_add_ps(_mm256_loadu_ps(c + i), sum) : sum);
        }
    }
}

/* Adds the products of a block of the sum to y [rows,4]. */
INLINE void multiply_block(const pair_functions *p, const stream_block *b, int rows, float *y)
{
    float sums[MAX_STREAM_ROWS][STREAMS][LANES];
    const unsigned before = begin_flushing(p);
    p->block(rows, b, sums[0][0]);
    end_flushing(p, before);
    for (ptrdiff_t r = 0; r < rows; r++) {
        __m256 lanes[STREAMS];
        for (int o = 0; o < STREAMS; o++)
            lanes[o] = _mm256_loadu_ps(sums[r][o]);
        add_lanes(b, lanes, y + r * STREAMS);
    }
}

/* Defines the kernels `name` from the functions of `sums` and one that rounds x. The functions take at most TILE_ROWS and STREAM_ROWS
 * rows and TILE_PANELS panels. */
#define PAIR_KERNELS(name, sums, rounds)                                                     \
    static void tile_pairs(int rows, const vug_cpu_tile *t)                                  \
    {                                                                                        \
        multiply_tile(&(sums), rows, t);                                                     \
    }                                                                                        \
    INLINE void multiply_rows(vug_dtype dtype, const stream_block *b, int rows, float *y)    \
    {                                                                                        \
        (void)dtype;                                                                         \
        multiply_block(&(sums), b, rows, y);                                                 \
    }                                                                                        \
    static void gemm_pairs(const vug_cpu_gemm *g)                                            \
    {                                                                                        \
        gemm_streams(VUG_DTYPE_F32, g, STREAM_ROWS, multiply_rows); /* a pair is as large */ \
    }                                                                                        \
    const vug_cpu_pair_kernels name = {                                                      \
        .round = (rounds),                                                                   \
        .format = { .pack = vug_avx2_pack_f32, .gemm = gemm_pairs },                         \
        .tile_rows = TILE_ROWS,                                                              \
        .tile_panels = TILE_PANELS,                                                          \
        .tile = tile_pairs,                                                                  \
    };

#endif
