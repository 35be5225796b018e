#ifndef VUG_BACKEND_CPU_AVX512_SHORT_BLOCKS_H
#define VUG_BACKEND_CPU_AVX512_SHORT_BLOCKS_H

/*
 * Formats with a block of 32 4-bit integers after one or two numbers in F16: Q4_0, Q4_1, IQ4_NL.
 * Two loads hold four blocks of a row (a unit), from which one permutation takes all integers. With
 * one row of x these are multiplied as they lie in memory, so that nothing is stored.
 */

#include "backend/cpu/avx2_blocks_gemv.h"
#include "backend/cpu/avx512.h"

/* What is added to the integers of a format, so that none is negative. */
INLINE int zero_of(const avx2_format *f)
{
    return f->range == WITH_SIGN ? f->zero + 128 : f->zero;
}

INLINE bool has_short_blocks(const avx2_format *f)
{
    return f->load_packed && f->has_half_scales;
}

/* The integers of nibbles, plus zero_of(f). */
INLINE __m512i integers_of_nibbles(const avx2_format *f, __m512i nibbles)
{
    if (!f->nibble_values)
        return nibbles;
    const __m512i values = _mm512_broadcast_i32x4(load_16((const uint8_t *)f->nibble_values));
    const __m512i sign = _mm512_set1_epi8(f->range == WITH_SIGN ? -128 : 0);
    return _mm512_shuffle_epi8(_mm512_xor_si512(values, sign), nibbles);
}

INLINE __m512i lower_nibbles_wide(__m512i bytes)
{
    return _mm512_and_si512(bytes, _mm512_set1_epi8(15));
}

INLINE __m512i upper_nibbles_wide(__m512i bytes)
{
    return lower_nibbles_wide(_mm512_srli_epi16(bytes, 4));
}

/* ---- integers and scales ------------------------------------------------------- */

/* Four blocks of a row: their first 64 bytes, and in the lowest 16 bytes of `last` their last. */
typedef struct {
    __m512i first, last;
} short_unit;

/* The order of what is taken from a unit. */
typedef enum {
    BY_BLOCK,   /* integers: dwords 0 .. 3 of block 0, then those of block 1; scales: those of four
                   rows for block 0, then those for block 1 */
    TRANSPOSED, /* integers: dwords 0 of blocks 0 .. 3, then dwords 1; scales: those of the four
                   blocks of the first row, then those of the second */
} unit_order;

INLINE int words_of_block(const avx2_format *f)
{
    return f->bytes / GROUP / 2;
}

/* Loads blocks at .. at + 3 of row `r` of four, as far as they exist; other bytes are 0. */
INLINE short_unit load_short_blocks(const block_group *pair, int at, const avx2_format *f, int r)
{
    const row_pair rows = pair[r / 2].w;
    const int words = words_of_block(f), n = pair[0].n - at;
    const uint8_t *w = (r % 2 ? rows.b : rows.a) + (ptrdiff_t)at * 2 * words;
    const __mmask32 exist = n * words < 32 ? (1U << n * words) - 1 : ~0U;
    return (short_unit){
        .first = _mm512_maskz_loadu_epi16(exist, w),
        .last = n < UNIT ? _mm512_setzero_si512()
                         : _mm512_zextsi128_si512(load_16(w + (ptrdiff_t)2 * UNIT * words - 16)),
    };
}

/* Where dword `k` of the integers, in the given order, is in both vectors of a unit. */
INLINE int dword_of_blocks(const avx2_format *f, unit_order order, int k)
{
    const int words = words_of_block(f), last = UNIT * words - 8, header = f->offset ? 2 : 1;
    const int block = order == BY_BLOCK ? k / UNIT : k % UNIT;
    const int word = block * words + header + 2 * (order == BY_BLOCK ? k % UNIT : k / UNIT);
    const int low = word < 32 ? word : word - last + 32;
    const int high = word + 1 < 32 ? word + 1 : word + 1 - last + 32;
    return high << 16 | low;
}

/* The packed integers of four blocks. */
INLINE __m512i packed_of_blocks(const short_unit *unit, const avx2_format *f, unit_order o)
{
    const __m512i order = _mm512_setr_epi32(
            dword_of_blocks(f, o, 0), dword_of_blocks(f, o, 1), dword_of_blocks(f, o, 2),
            dword_of_blocks(f, o, 3), dword_of_blocks(f, o, 4), dword_of_blocks(f, o, 5),
            dword_of_blocks(f, o, 6), dword_of_blocks(f, o, 7), dword_of_blocks(f, o, 8),
            dword_of_blocks(f, o, 9), dword_of_blocks(f, o, 10), dword_of_blocks(f, o, 11),
            dword_of_blocks(f, o, 12), dword_of_blocks(f, o, 13), dword_of_blocks(f, o, 14),
            dword_of_blocks(f, o, 15));
    return _mm512_permutex2var_epi16(unit->first, order, unit->last);
}

/* Where number `k` of F16 numbers `i` is in the units of two rows. */
INLINE short half_of_blocks(const avx2_format *f, unit_order order, int i, int k)
{
    const int block = order == BY_BLOCK ? k / UNIT : k % UNIT;
    const int row = order == BY_BLOCK ? k % 2 : k / UNIT % 2;
    return (short)(32 * row + block * words_of_block(f) + i);
}

/* F16 number `i` of each block of four rows. All of them are in the first 64 bytes. */
INLINE __m512 halves_of_blocks(const short_unit *row, const avx2_format *f, int i, unit_order o)
{
    const __m512i order = _mm512_zextsi256_si512(_mm256_setr_epi16(
            half_of_blocks(f, o, i, 0), half_of_blocks(f, o, i, 1), half_of_blocks(f, o, i, 2),
            half_of_blocks(f, o, i, 3), half_of_blocks(f, o, i, 4), half_of_blocks(f, o, i, 5),
            half_of_blocks(f, o, i, 6), half_of_blocks(f, o, i, 7), half_of_blocks(f, o, i, 8),
            half_of_blocks(f, o, i, 9), half_of_blocks(f, o, i, 10), half_of_blocks(f, o, i, 11),
            half_of_blocks(f, o, i, 12), half_of_blocks(f, o, i, 13), half_of_blocks(f, o, i, 14),
            half_of_blocks(f, o, i, 15)));
    const __m256i ab =
            _mm512_castsi512_si256(_mm512_permutex2var_epi16(row[0].first, order, row[1].first));
    const __m256i cd =
            _mm512_castsi512_si256(_mm512_permutex2var_epi16(row[2].first, order, row[3].first));
    return _mm512_cvtph_ps(o == BY_BLOCK
                                   ? _mm256_blend_epi32(ab, cd, 0xaa)
                                   : _mm256_inserti128_si256(ab, _mm256_castsi256_si128(cd), 1));
}

/* ---- one row of x -------------------------------------------------------------- */

/* Four blocks of a row of x. */
typedef struct {
    __m512i first, second; /* halves of the blocks */
    __m512 scale;          /* of each block, for four rows of weights */
    __m512i sum;           /* likewise: what the zero point or the offset is multiplied with */
} short_x;

/* Loads the first `n` of the blocks of x that begin at `block`; others are 0. */
INLINE short_x load_x(const vug_cpu_q8_row *x, int64_t block, int n, const avx2_format *f)
{
    const __m512i of_block = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const unsigned qwords = (1U << UNIT * n) - 1;
    const __mmask8 blocks = (__mmask8)((1U << n) - 1);
    const __m512i a = _mm512_maskz_loadu_epi64((__mmask8)qwords, x->q + block * BLOCK);
    const __m512i b = _mm512_maskz_loadu_epi64((__mmask8)(qwords >> 8), x->q + block * BLOCK + 64);
    const __m128i sums = _mm_madd_epi16(_mm_maskz_loadu_epi32(blocks, x->sum + 2 * block),
                                        _mm_set1_epi16((short)(f->offset ? 1 : -zero_of(f))));
    return (short_x){
        .first = _mm512_shuffle_i32x4(a, b, 0x88),
        .second = _mm512_shuffle_i32x4(a, b, 0xdd),
        .scale = _mm512_permutexvar_ps(
                of_block, _mm512_castps128_ps512(_mm_maskz_loadu_ps(blocks, x->scale + block))),
        .sum = _mm512_permutexvar_epi32(of_block, _mm512_castsi128_si512(sums)),
    };
}

/* What four blocks of four rows add to their lanes, before the scale of x. */
INLINE __m512 terms_of_short(const block_group *pair, int at, const avx2_format *f,
                             const short_x *x)
{
    short_unit row[UNIT];
    __m512i p[UNIT];
#pragma GCC unroll 4
    for (int r = 0; r < UNIT; r++) {
        row[r] = load_short_blocks(pair, at, f, r);
        const __m512i packed = packed_of_blocks(&row[r], f, BY_BLOCK);
        const __m512i lower = integers_of_nibbles(f, lower_nibbles_wide(packed));
        const __m512i upper = integers_of_nibbles(f, upper_nibbles_wide(packed));
        p[r] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), lower, x->first);
        p[r] = _mm512_dpbusd_epi32(p[r], upper, x->second);
    }
    const __m512i ab =
            _mm512_add_epi32(_mm512_unpacklo_epi32(p[0], p[1]), _mm512_unpackhi_epi32(p[0], p[1]));
    const __m512i cd =
            _mm512_add_epi32(_mm512_unpacklo_epi32(p[2], p[3]), _mm512_unpackhi_epi32(p[2], p[3]));
    const __m512i sum =
            _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
    const __m512 scale = halves_of_blocks(row, f, 0, BY_BLOCK);
    if (!f->offset)
        return _mm512_mul_ps(scale, _mm512_cvtepi32_ps(_mm512_add_epi32(sum, x->sum)));
    const __m512 offset = halves_of_blocks(row, f, 1, BY_BLOCK);
    return _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(sum),
                           _mm512_mul_ps(offset, _mm512_cvtepi32_ps(x->sum)));
}

/* Adds blocks at .. at + 3 to their lanes, those of four rows for each of four lanes. */
INLINE __m512 add_short_unit(const block_group *pair, int at, const avx2_format *f, __m512 lanes)
{
    const int left = pair[0].n - at, n = left < UNIT ? left : UNIT;
    const short_x x = load_x(pair[0].x, pair[0].first + at, n, f);
    return _mm512_mask3_fmadd_ps(x.scale, terms_of_short(pair, at, f, &x), lanes,
                                 (__mmask16)((1U << UNIT * n) - 1));
}

/* The sum of the lanes of each of four rows, in order, from 0. */
INLINE __m128 sum_short_lanes(__m512 low, __m512 high)
{
    const __m128 lane[GROUP] = {
        _mm512_castps512_ps128(low),     _mm512_extractf32x4_ps(low, 1),
        _mm512_extractf32x4_ps(low, 2),  _mm512_extractf32x4_ps(low, 3),
        _mm512_castps512_ps128(high),    _mm512_extractf32x4_ps(high, 1),
        _mm512_extractf32x4_ps(high, 2), _mm512_extractf32x4_ps(high, 3),
    };
    __m128 y = _mm_setzero_ps();
    for (int j = 0; j < GROUP; j++)
        y = _mm_add_ps(y, lane[j]);
    return y;
}

INLINE void gemv_short_blocks(const vug_cpu_gemv_q8 *g, const avx2_format *f)
{
    const int64_t blocks = g->w->columns / BLOCK, row = g->row, by = g->step;
    block_group pair[2] = { rows_of(g->w, row, row + by, f, &g->w->scales),
                            rows_of(g->w, row + 2 * by, row + 3 * by, f, &g->w->scales) };
    __m512 low = _mm512_setzero_ps(), high = low;
    pair[0].x = g->x;
    pair[0].n = GROUP;
    for (; pair[0].first + GROUP <= blocks; pair[0].first += GROUP) {
        for (int p = 0; p < 2; p++)
            prefetch_group(&pair[p], f);
        low = add_short_unit(pair, 0, f, low);
        high = add_short_unit(pair, UNIT, f, high);
        for (int p = 0; p < 2; p++)
            pair[p].w = advance_rows(pair[p].w, f->bytes);
    }
    pair[0].n = (int)(blocks - pair[0].first);
    if (pair[0].n > 0)
        low = add_short_unit(pair, 0, f, low);
    if (pair[0].n > UNIT)
        high = add_short_unit(pair, UNIT, f, high);
    _mm_storeu_ps(g->y, sum_short_lanes(low, high));
}

#endif
