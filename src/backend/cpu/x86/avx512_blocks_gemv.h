#ifndef VUG_BACKEND_CPU_X86_AVX512_BLOCKS_GEMV_H
#define VUG_BACKEND_CPU_X86_AVX512_BLOCKS_GEMV_H

/*
 * One row of x times four rows of quantized weights, for any format, with AVX-512 VNNI.
 *
 * A quarter of a vector has 16 integers of a block, so that two vectors are four blocks of a row (a
 * unit), which are multiplied as they lie in memory: nothing is stored. x is brought into the order
 * of the format instead, once for four rows. vpdpbusd multiplies unsigned by signed bytes, and sums
 * begin with minus the products of the zero point and x. The sums of four rows are then joined.
 */

#include "backend/cpu/x86/avx512_block_scales.h"

/* Integers of the four blocks of a unit, plus zero_of(format): for each block a quarter. Usually
 * they are those of the first and of the second half of the blocks. */
typedef struct {
    __m512i first, second;
} unit_integers;

/* The integers of unit 0 or 1 of the group of `n` blocks of a row that begins at `w`; blocks beyond
 * n can have any value. */
typedef unit_integers unit_integers_fn(const avx2_format *f, const uint8_t *w, int unit, int n);

/* Which blocks of a group, and which of their integers, are in a unit. */
typedef enum {
    NEIGHBOURS,  /* blocks 0 .. 3; 4 .. 7 */
    ALTERNATING, /* blocks 0, 2, 4, 6; 1, 3, 5, 7 */
    IN_PAIRS,    /* blocks 0, 1, 4, 5; 2, 3, 6, 7 */
    BY_PARITY,   /* blocks as NEIGHBOURS; first even, then odd integers */
} group_order;

typedef struct {
    unit_integers_fn *integers;
    group_order order;
    bool unpack_in_pairs; /* for several rows of x, avx2_format.unpack takes less time */
} wide_format;

/* ---- x ------------------------------------------------------------------------- */

/* A group of blocks of x in the order of a format. */
typedef struct {
    __m512i q[2][2];     /* of a unit: what is multiplied with its first and second integers */
    __m512i start[2][2]; /* what their sums begin with */
} group_x;

/* Quarter i of each of four vectors becomes vector i. */
INLINE void transpose_quarters(const __m512i *from, __m512i *to)
{
    const __m512i a = _mm512_shuffle_i32x4(from[0], from[1], 0x44);
    const __m512i b = _mm512_shuffle_i32x4(from[2], from[3], 0x44);
    const __m512i c = _mm512_shuffle_i32x4(from[0], from[1], 0xee);
    const __m512i d = _mm512_shuffle_i32x4(from[2], from[3], 0xee);
    to[0] = _mm512_shuffle_i32x4(a, b, 0x88);
    to[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
    to[2] = _mm512_shuffle_i32x4(c, d, 0x88);
    to[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

/* Quarters 0 and 2 of both vectors, and quarters 1 and 3. */
INLINE unit_integers split_quarters(__m512i a, __m512i b)
{
    return (unit_integers){ _mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd) };
}

/* The even, then the odd bytes of the quarters of two vectors. */
INLINE unit_integers split_parities(unit_integers u)
{
    const __m512i order = _mm512_broadcast_i32x4(
            _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    const __m512i a = _mm512_shuffle_epi8(u.first, order), b = _mm512_shuffle_epi8(u.second, order);
    return (unit_integers){ _mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b) };
}

/* Vector `i` of the group of `n` blocks of x at `q`: two blocks; 0 beyond n. */
INLINE __m512i load_two_blocks(const int8_t *q, int i, int n)
{
    const int left = n - 2 * i;
    if (left >= 2)
        return _mm512_loadu_si512(q + (ptrdiff_t)2 * i * BLOCK);
    return _mm512_maskz_loadu_epi64(left == 1 ? 0xf : 0, q + (ptrdiff_t)2 * i * BLOCK);
}

/* Minus the products of the zero point and x. */
INLINE __m512i minus_zero(const avx2_format *f, __m512i sum, __m512i q)
{
    const __m512i zero = _mm512_set1_epi8((char)zero_of(f));
    return _mm512_sub_epi32(sum, _mm512_dpbusd_epi32(_mm512_setzero_si512(), zero, q));
}

INLINE void start_sums(const avx2_format *f, group_x *x)
{
#pragma GCC unroll 2
    for (int u = 0; u < 2; u++) {
        x->start[u][0] = x->start[u][1] = _mm512_setzero_si512();
        if (zero_of(f)) {
            x->start[u][0] = minus_zero(f, x->start[u][0], x->q[u][0]);
            x->start[u][has_factors(f)] = minus_zero(f, x->start[u][has_factors(f)], x->q[u][1]);
        }
    }
}

/* Loads a group of `n` blocks of x. */
INLINE group_x load_x(const int8_t *q, int n, const avx2_format *f, group_order order)
{
    const __m512i two[4] = { load_two_blocks(q, 0, n), load_two_blocks(q, 1, n),
                             load_two_blocks(q, 2, n), load_two_blocks(q, 3, n) };
    unit_integers unit[2];
    group_x x;
    if (order == ALTERNATING) {
        __m512i quarter[4];
        transpose_quarters(two, quarter);
        unit[0] = (unit_integers){ quarter[0], quarter[1] };
        unit[1] = (unit_integers){ quarter[2], quarter[3] };
    } else {
        unit[0] = split_quarters(two[0], two[order == IN_PAIRS ? 2 : 1]);
        unit[1] = split_quarters(two[order == IN_PAIRS ? 1 : 2], two[3]);
    }
#pragma GCC unroll 2
    for (int u = 0; u < 2; u++) {
        if (order == BY_PARITY)
            unit[u] = split_parities(unit[u]);
        x.q[u][0] = unit[u].first;
        x.q[u][1] = unit[u].second;
    }
    start_sums(f, &x);
    return x;
}

/* ---- sums ---------------------------------------------------------------------- */

/* The sums of the products of a unit: for all of a block or for its first and second integers; a
 * quarter has four partial sums of a block. */
typedef struct {
    __m512i row[UNIT];
} row_sums;

/* The sum of each quarter of four rows: four rows for block 0, then for block 1, .. */
INLINE __m512i join_rows(const row_sums *p)
{
    const __m512i *r = p->row;
    const __m512i ab =
            _mm512_add_epi32(_mm512_unpacklo_epi32(r[0], r[1]), _mm512_unpackhi_epi32(r[0], r[1]));
    const __m512i cd =
            _mm512_add_epi32(_mm512_unpacklo_epi32(r[2], r[3]), _mm512_unpackhi_epi32(r[2], r[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
}

/* Where the sum for a block of the first row is in the joined sums of both units. */
INLINE int place_of_sum(group_order order, int block)
{
    const int unit = order == ALTERNATING ? block % 2
                     : order == IN_PAIRS  ? block % UNIT / 2
                                          : block / UNIT;
    const int at = order == ALTERNATING ? block / 2
                   : order == IN_PAIRS  ? block / UNIT * 2 + block % 2
                                        : block % UNIT;
    return 16 * unit + UNIT * at;
}

/* Sums for blocks at .. at + 3 of the first row, then the second, from the joined sums. */
INLINE __m512i sums_by_row(const __m512i *unit, group_order order, int at)
{
    const int a = place_of_sum(order, at), b = place_of_sum(order, at + 1);
    const int c = place_of_sum(order, at + 2), d = place_of_sum(order, at + 3);
    const __m512i places = _mm512_setr_epi32(a, b, c, d, a + 1, b + 1, c + 1, d + 1, a + 2, b + 2,
                                             c + 2, d + 2, a + 3, b + 3, c + 3, d + 3);
    if (order == NEIGHBOURS || order == BY_PARITY)
        return _mm512_permutexvar_epi32(places, unit[at / UNIT]);
    return _mm512_permutex2var_epi32(unit[0], places, unit[1]);
}

/* Prefetches what follows `n` blocks of a row in AHEAD_OF_ONE bytes. If this is done for all four rows
 * before the first is read, formats with more than 128 bytes in a group take up to half as long again:
 * too many lines are then on their way at once. */
INLINE void prefetch_row(const uint8_t *w, const avx2_format *f, int n)
{
    for (int64_t i = AHEAD_OF_ONE; i < AHEAD_OF_ONE + f->bytes / GROUP * n; i += LINE)
        _mm_prefetch((const char *)(w + i), _MM_HINT_T0);
}

/* The sums of the first `units` units of a group of four rows: sum[half of the group][half of the
 * blocks, or 0]. With one unit, it has the first four blocks. */
INLINE void sum_products(const block_group *pair, const avx2_format *f, const wide_format *wide,
                         int units, __m512i (*sum)[2])
{
    const int n = pair[0].n;
    const group_x x = load_x(pair[0].x->q + pair[0].first * BLOCK, n, f, wide->order);
    row_sums p[2][2];
#pragma GCC unroll 4
    for (int r = 0; r < UNIT; r++) {
        prefetch_row(row_of(pair, r), f, n);
#pragma GCC unroll 2
        for (int u = 0; u < units; u++) {
            const unit_integers w = wide->integers(f, row_of(pair, r), u, n);
            const __m512i first = _mm512_dpbusd_epi32(x.start[u][0], w.first, x.q[u][0]);
            p[u][0].row[r] =
                    has_factors(f) ? first : _mm512_dpbusd_epi32(first, w.second, x.q[u][1]);
            p[u][1].row[r] = _mm512_dpbusd_epi32(x.start[u][1], w.second, x.q[u][1]);
        }
    }
#pragma GCC unroll 2
    for (int h = 0; h <= has_factors(f); h++) {
        const __m512i first = join_rows(&p[0][h]);
        const __m512i unit[2] = { first, units == 2 ? join_rows(&p[1][h]) : first };
        sum[0][h] = sums_by_row(unit, wide->order, 0);
        sum[1][h] = sums_by_row(unit, wide->order, UNIT);
    }
}

/* ---- rows ---------------------------------------------------------------------- */

/* Adds blocks at .. at + 3 to their lanes. `p` has their sums. */
INLINE __m512 add_unit(const block_group *pair, int at, const avx2_format *f, const __m512i *p,
                       __m512 lanes)
{
    const int n = pair[0].n - at;
    const int64_t block = pair[0].first + at;
    const float *scale = pair[0].x->scale + block;
    const int16_t *sum = pair[0].x->sum + 2 * block;
    unit_scales s;
    load_scales(pair, at, f, &s);
    if (n >= UNIT)
        return _mm512_fmadd_ps(
                _mm512_broadcast_f32x4(_mm_loadu_ps(scale)),
                terms_of(f, &s, p, _mm512_broadcast_i32x4(load_16((const uint8_t *)sum))), lanes);
    const __mmask8 exist = (__mmask8)((1U << n) - 1);
    const __m512i sums = _mm512_broadcast_i32x4(_mm_maskz_loadu_epi32(exist, sum));
    return _mm512_mask3_fmadd_ps(_mm512_broadcast_f32x4(_mm_maskz_loadu_ps(exist, scale)),
                                 terms_of(f, &s, p, sums), lanes, (__mmask16)(0x1111U * exist));
}

/* The sum of the lanes of each of four rows, in order, from 0. */
INLINE __m128 sum_wide_lanes(__m512 low, __m512 high)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512 half[2] = { _mm512_permutexvar_ps(order, low),
                             _mm512_permutexvar_ps(order, high) };
    __m128 y = _mm_setzero_ps();
    for (int i = 0; i < 2; i++) {
        y = _mm_add_ps(y, _mm512_castps512_ps128(half[i]));
        y = _mm_add_ps(y, _mm512_extractf32x4_ps(half[i], 1));
        y = _mm_add_ps(y, _mm512_extractf32x4_ps(half[i], 2));
        y = _mm_add_ps(y, _mm512_extractf32x4_ps(half[i], 3));
    }
    return y;
}

INLINE void multiply_four_rows(const vug_cpu_gemv_q8 *g, const avx2_format *f,
                               const wide_format *wide, const vug_scales *scales)
{
    const int64_t blocks = g->w->columns / BLOCK, row = g->row, by = g->step;
    block_group pair[2] = { rows_of(g->w, row, row + by, f, scales),
                            rows_of(g->w, row + 2 * by, row + 3 * by, f, scales) };
    __m512 low = _mm512_setzero_ps(), high = low;
    __m512i sum[2][2];
    pair[0].x = pair[1].x = g->x;
    pair[0].n = pair[1].n = GROUP;
    while (pair[0].first + GROUP <= blocks) {
        for (int p = 0; p < 2; p++)
            prefetch_scales(&pair[p], f);
        sum_products(pair, f, wide, 2, sum);
        low = add_unit(pair, 0, f, sum[0], low);
        high = add_unit(pair, UNIT, f, sum[1], high);
        for (int p = 0; p < 2; p++) {
            pair[p].w = advance_rows(pair[p].w, f->bytes);
            pair[p].first += GROUP;
        }
    }
    const int rest = f->may_end_within_group ? (int)(blocks - pair[0].first) : 0;
    /* Rows of 1152 and 640 weights end with a unit, where the compiler knows n: products of MLX5 and
     * MLX8 take a sixth less time so, but those of MLX4 a tenth more. */
    if (rest == UNIT && wide->order == NEIGHBOURS) {
        pair[0].n = pair[1].n = UNIT;
        sum_products(pair, f, wide, 1, sum);
        low = add_unit(pair, 0, f, sum[0], low);
    } else if (rest > 0) {
        pair[0].n = pair[1].n = rest;
        sum_products(pair, f, wide, 2, sum);
        low = add_unit(pair, 0, f, sum[0], low);
        if (rest > UNIT)
            high = add_unit(pair, UNIT, f, sum[1], high);
    }
    _mm_storeu_ps(g->y, sum_wide_lanes(low, high));
}

/* The scales of most published MLX checkpoints get code of their own, in which the layout is
 * constant. */
INLINE void gemv_wide(const vug_cpu_gemv_q8 *g, const avx2_format *f, const wide_format *wide)
{
    static const vug_scales published = { .dtype = VUG_DTYPE_BF16, .columns = 64 };
    const vug_scales *scales = &g->w->scales;
    if (f->has_separate_scales && scales->dtype == published.dtype &&
        scales->columns == published.columns)
        multiply_four_rows(g, f, wide, &published);
    else
        multiply_four_rows(g, f, wide, scales);
}

#endif
