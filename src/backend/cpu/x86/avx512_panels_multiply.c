/*
 * Rows of x times panels of quantized weights, with AVX-512 VNNI.
 *
 * vpdpbusd multiplies four bytes of each of 16 rows of weights with four bytes of x, which are in
 * all dwords of a vector. Weights are the unsigned operand; sums begin with minus the product of
 * their zero point and the sum of x. Several panels share each vector of x, because a processor
 * loads fewer vectors than it multiplies. One lane is computed after the other: then the sums of the
 * lane stay in registers, and the lane's part of the panels in the L1 cache.
 */
#if defined(__AVX512VNNI__)
#include "backend/cpu/x86/avx512_panels_terms.h"

#include "backend/cpu/x86/avx512.h"

enum {
    PANEL = VUG_CPU_PANEL,
    VECTORS = VUG_CPU_Q8_BLOCK / 4, /* of a block of a panel */
    MAX_PANELS = VUG_AVX512_Q8_PANELS,
    ROWS = 4, /* of x: 12 vectors of lanes and 12 or 24 of products */
    HALVES = 2,
};

/* A lane of four rows of x and some panels. */
typedef struct {
    __m512 at[ROWS][MAX_PANELS];
} row_lanes;

/* Their products of one block, or of its halves. */
typedef __m512i block_products[ROWS][MAX_PANELS][HALVES];

/* A block of some panels. */
typedef struct {
    const vug_cpu_q8_panel_block *at[MAX_PANELS];
    __m512i zero; /* minus the zero point, twice in each dword */
} weight_blocks;

/* Half `half` of the products with four rows of x from `row` on, or all of them if both halves have one
 * factor. */
INLINE void multiply_vectors(const vug_cpu_q8_block_terms t, const int panels,
                             const weight_blocks *w, const vug_cpu_q8_tile *x, int row,
                             const int half, block_products p)
{
    const int vectors = t.factors ? VECTORS / HALVES : VECTORS;
    const __m512i of_half = _mm512_set1_epi32(!t.factors ? -1 : half ? -0x10000 : 0xffff);
    const __m512i zero = _mm512_and_si512(w->zero, of_half);
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++) {
        const __m512i start = t.offset ? _mm512_setzero_si512()
                                       : _mm512_madd_epi16(zero, two_words(x->sum[row + r]));
#pragma GCC unroll 3
        for (int n = 0; n < panels; n++)
            p[r][n][half] = start;
    }
#pragma GCC unroll 8
    for (int i = half * vectors; i < (half + 1) * vectors; i++) {
        __m512i v[MAX_PANELS];
#pragma GCC unroll 3
        for (int n = 0; n < panels; n++)
            v[n] = _mm512_loadu_si512(w->at[n]->q[i]);
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
            int32_t four;
            memcpy(&four, x->q[row + r] + (ptrdiff_t)4 * i, sizeof(four));
            const __m512i q = _mm512_set1_epi32(four);
#pragma GCC unroll 3
            for (int n = 0; n < panels; n++)
                p[r][n][half] = _mm512_dpbusd_epi32(p[r][n][half], v[n], q);
        }
    }
}

/* Adds a block to a lane of rows `row`, .. of x. */
INLINE void multiply_block(const vug_cpu_q8_block_terms t, const int panels, const weight_blocks *w,
                           const vug_cpu_q8_tile *x, int row, row_lanes *lane)
{
    block_products p;
    multiply_vectors(t, panels, w, x, row, 0, p);
    if (t.factors)
        multiply_vectors(t, panels, w, x, row, 1, p);
#pragma GCC unroll 3
    for (int n = 0; n < panels; n++) {
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
            lane->at[r][n] = _mm512_fmadd_ps(_mm512_set1_ps(x->scale[row + r]),
                                             panel_terms(t, w->at[n], p[r][n], x->sum[row + r]),
                                             lane->at[r][n]);
    }
}

/* The blocks of a lane. */
typedef struct {
    weight_blocks w;
    const vug_cpu_q8_tile *x;
    int64_t n;
    bool is_first; /* of the lanes */
} lane_blocks;

/* Adds a lane of four rows of x from `row` on to y, whose sums begin with 0. */
INLINE void multiply_rows(const vug_cpu_q8_block_terms t, const int panels,
                          const lane_blocks *blocks, int row, float *y)
{
    weight_blocks w = blocks->w;
    row_lanes lane;
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++) {
#pragma GCC unroll 3
        for (int i = 0; i < panels; i++)
            lane.at[r][i] = _mm512_setzero_ps();
    }
    for (const vug_cpu_q8_tile *x = blocks->x, *end = x + blocks->n; x < end; x++) {
        multiply_block(t, panels, &w, x, row, &lane);
#pragma GCC unroll 3
        for (int i = 0; i < panels; i++)
            w.at[i]++;
    }
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < ROWS; r++) {
#pragma GCC unroll 3
        for (ptrdiff_t i = 0; i < panels; i++) {
            float *to = y + (r * panels + i) * PANEL;
            const __m512 sum = blocks->is_first ? _mm512_setzero_ps() : _mm512_loadu_ps(to);
            _mm512_storeu_ps(to, _mm512_add_ps(sum, lane.at[r][i]));
        }
    }
}

INLINE void multiply_panels(const int panels, const vug_cpu_q8_block_terms t,
                            const vug_avx512_panel_job *a)
{
    const vug_cpu_q8_panel_job *job = a->job;
    const __m512i zero = _mm512_set1_epi16((int16_t)-a->zero);
    for (int64_t j = 0; j < VUG_CPU_LANES && j < job->blocks; j++) {
        const int64_t first = vug_cpu_lane_start(job->blocks, j);
        lane_blocks blocks = { .w.zero = zero,
                               .n = vug_cpu_lane_size(job->blocks, j),
                               .is_first = j == 0 };
        for (int i = 0; i < panels; i++)
            blocks.w.at[i] = job->w + i * job->blocks + first;
        for (int64_t r = 0; r < job->rows; r += ROWS) {
            blocks.x = job->x + first * job->tiles + r / PANEL * blocks.n;
            multiply_rows(t, panels, &blocks, (int)(r % PANEL), job->y + r * panels * PANEL);
        }
    }
}

INLINE void multiply_job(const vug_cpu_q8_block_terms t, const vug_avx512_panel_job *a)
{
    WITH_CONSTANT_ROWS(MAX_PANELS, a->job->panels, multiply_panels, t, a);
}

void vug_avx512_multiply_panels(vug_cpu_q8_block_terms t, const vug_avx512_panel_job *a)
{
    WITH_CONSTANT_TERMS(t, multiply_job, a);
}

#else
typedef int vug_avx512_panels_multiply_is_empty; /* ISO C forbids an empty file */
#endif
