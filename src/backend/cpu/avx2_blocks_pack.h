#ifndef VUG_BACKEND_CPU_AVX2_BLOCKS_PACK_H
#define VUG_BACKEND_CPU_AVX2_BLOCKS_PACK_H

/* Panels of weights in blocks (kernels.h: vug_cpu_panel), whatever their format; see
 * avx2_blocks.h. And what makes a format of its parts. */

#include "backend/cpu/avx2_blocks_gemv.h"

enum { PANEL = VUG_CPU_PANEL, OCTET = 8 };

/* Four units of 32 bits in each half of four vectors, which belong to rows 0 and 4, 1 and
 * 5, .. of eight: column j of the result has unit j of rows 0 .. 7. */
typedef struct {
    __m256i v[UNIT];
} four;

INLINE four transposed(four rows)
{
    const __m256i a = _mm256_unpacklo_epi32(rows.v[0], rows.v[1]);
    const __m256i b = _mm256_unpacklo_epi32(rows.v[2], rows.v[3]);
    const __m256i c = _mm256_unpackhi_epi32(rows.v[0], rows.v[1]);
    const __m256i d = _mm256_unpackhi_epi32(rows.v[2], rows.v[3]);
    return (four){ { _mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b),
                     _mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d) } };
}

/* Four columns, `apart` bytes from each other. */
INLINE void put_columns(four rows, uint8_t *to, int64_t apart, int n)
{
    const four columns = transposed(rows);
    for (int j = 0; j < n; j++)
        _mm256_storeu_si256((__m256i *)(void *)(to + j * apart), columns.v[j]);
}

/* Eight rows of a panel, four groups of blocks of two rows each. */
typedef struct {
    group pair[UNIT];
    const vug_cpu_panel *panel;
    int64_t blocks, octet;
    __m256i wanted; /* -1 for those of the eight rows that there are */
} octet;

INLINE int64_t place_of(const octet *o, int j)
{
    const int64_t b = o->pair[0].first + j;
    return vug_cpu_lane_start(o->blocks, b % VUG_CPU_LANES) + b / VUG_CPU_LANES;
}

/* Group g of a panel of bytes has two neighbours of each half. */
INLINE void put_bytes(const octet *o, const halves *h, int64_t place)
{
    four low, high;
    for (int p = 0; p < UNIT; p++) {
        low.v[p] = _mm256_unpacklo_epi16(h[p].first, h[p].second);
        high.v[p] = _mm256_unpackhi_epi16(h[p].first, h[p].second);
    }
    uint8_t *to = o->panel->q + place * BLOCK * PANEL + o->octet * 32;
    put_columns(low, to, (int64_t)PANEL * 4, UNIT);
    put_columns(high, to + (int64_t)PANEL * 4 * UNIT, (int64_t)PANEL * 4, UNIT);
}

/* A half of a wide panel: bytes with a sign, times factors. */
INLINE void put_half(const octet *o, const __m256i *bytes, const __m256i *factor, int64_t place,
                     int half)
{
    four low, high;
    for (int p = 0; p < UNIT; p++) {
        low.v[p] = _mm256_srai_epi16(_mm256_unpacklo_epi8(bytes[p], bytes[p]), 8);
        high.v[p] = _mm256_srai_epi16(_mm256_unpackhi_epi8(bytes[p], bytes[p]), 8);
        low.v[p] = _mm256_mullo_epi16(low.v[p], factor[p]);
        high.v[p] = _mm256_mullo_epi16(high.v[p], factor[p]);
    }
    uint8_t *to =
            (uint8_t *)(o->panel->wide + (place * 2 + half) * BLOCK / 2 * PANEL) + o->octet * 32;
    put_columns(low, to, (int64_t)PANEL * 4, UNIT);
    put_columns(high, to + (int64_t)PANEL * 4 * UNIT, (int64_t)PANEL * 4, UNIT);
}

/* The factors of block j and of its half, 16 bits, all over a row's half of a vector. */
INLINE __m256i factor_of(__m256i factors, int j, int half)
{
    const char low = (char)(4 * j + 2 * half), high = (char)(low + 1);
    return _mm256_shuffle_epi8(factors, _mm256_set1_epi16((short)(low | high << 8)));
}

INLINE void put_wide(const octet *o, const halves *h, const format *f, int j, int64_t place)
{
    __m256i first[UNIT], second[UNIT], factor[2][UNIT];
    for (int p = 0; p < UNIT; p++) {
        const __m256i factors =
                f->factor ? f->factor(&o->pair[p], j / UNIT * UNIT) : _mm256_set1_epi16(1);
        first[p] = h[p].first;
        second[p] = h[p].second;
        factor[0][p] = factor_of(factors, j % UNIT, 0);
        factor[1][p] = factor_of(factors, j % UNIT, 1);
    }
    put_half(o, first, factor[0], place, 0);
    put_half(o, second, factor[1], place, 1);
}

/* Scales and what else there is of blocks at .. at + 3. */
INLINE void put_numbers(const octet *o, numbers_fn *numbers, int at, float *to)
{
    four rows;
    for (int p = 0; p < UNIT; p++)
        rows.v[p] = _mm256_castps_si256(numbers(&o->pair[p], at));
    const four columns = transposed(rows);
    for (int j = 0; j < UNIT && at + j < o->pair[0].n; j++)
        _mm256_storeu_si256(
                (__m256i *)(void *)(to + place_of(o, at + j) * PANEL + o->octet * OCTET),
                _mm256_and_si256(columns.v[j], o->wanted));
}

INLINE void put_words(const octet *o, words_fn *words, int16_t by, int at, int16_t *to)
{
    four rows;
    for (int p = 0; p < UNIT; p++)
        rows.v[p] = _mm256_mullo_epi16(words(&o->pair[p], at), _mm256_set1_epi16(by));
    const four columns = transposed(rows);
    for (int j = 0; j < UNIT && at + j < o->pair[0].n; j++)
        _mm256_storeu_si256(
                (__m256i *)(void *)(to + (place_of(o, at + j) * PANEL + o->octet * OCTET) * 2),
                columns.v[j]);
}

INLINE void put_unit(const octet *o, const format *f, int zero, int at)
{
    for (int j = at; j < at + UNIT && j < o->pair[0].n; j++) {
        const int64_t place = place_of(o, j);
        halves h[UNIT];
        for (int p = 0; p < UNIT; p++)
            h[p] = f->unpack(o->pair[p].w, j);
        if (f->is_wide)
            put_wide(o, h, f, j, place);
        else
            put_bytes(o, h, place);
    }
    put_numbers(o, f->scale, at, o->panel->scale);
    if (f->offset)
        put_numbers(o, f->offset, at, o->panel->offset);
    if (f->is_wide || !f->factor)
        return;
    put_words(o, f->factor, 1, at, o->panel->factor);
    if (f->minimum)
        put_words(o, f->minimum, 1, at, o->panel->minimum);
    else
        put_words(o, f->factor, (int16_t)-zero, at, o->panel->minimum);
}

/* Rows beyond `rows` are those of the last one, with scales of 0. */
INLINE void pack_as(const vug_matrix *w, int64_t row, int rows, const vug_cpu_panel *panel,
                    const format *f)
{
    const int zero = vug_cpu_layout_of(w->dtype)->zero;
    octet o = { .panel = panel, .blocks = w->columns / BLOCK };
    for (; o.octet < PANEL / OCTET; o.octet++) {
        const int64_t first = o.octet * OCTET;
        o.wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(rows - first)),
                                      _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        for (int64_t p = 0; p < UNIT; p++) {
            const int64_t a = first + p, b = a + UNIT;
            o.pair[p] = rows_of(w, row + (a < rows ? a : rows - 1), row + (b < rows ? b : rows - 1),
                                f, &w->scales);
        }
        for (int64_t b = 0; b < o.blocks; b += GROUP) {
            for (int p = 0; p < UNIT; p++) {
                o.pair[p].first = b;
                o.pair[p].n = o.blocks - b < GROUP ? (int)(o.blocks - b) : GROUP;
            }
            put_unit(&o, f, zero, 0);
            if (o.pair[0].n > UNIT)
                put_unit(&o, f, zero, UNIT);
            for (int p = 0; p < UNIT; p++)
                o.pair[p].w = moved(o.pair[p].w, f->bytes);
        }
    }
}

/* The kernels of a format; what follows its name are its fields. */
#define BLOCK_FORMAT(id, scale_of, ...)                                                           \
    static const format format_##id = {                                                           \
        .unpack = unpack_##id, .terms = terms_##id, .scale = scale_of, __VA_ARGS__                \
    };                                                                                            \
    static void gemv_##id(const vug_cpu_gemv_q8 *g)                                               \
    {                                                                                             \
        gemv_as(g, &format_##id);                                                                 \
    }                                                                                             \
    static void pack_##id(const vug_matrix *w, int64_t row, int rows, const vug_cpu_panel *panel) \
    {                                                                                             \
        pack_as(w, row, rows, panel, &format_##id);                                               \
    }                                                                                             \
    const vug_cpu_block_format vug_avx2_##id = { gemv_##id, pack_##id };

#endif
