#ifndef VUG_BACKEND_CPU_AVX2_BLOCKS_PACK_H
#define VUG_BACKEND_CPU_AVX2_BLOCKS_PACK_H

/* Packing panels of quantized weights (kernels.h: vug_cpu_panel), for any format; see
 * avx2_blocks.h. BLOCK_FORMAT at the end defines the kernels of a format. */

#include "backend/cpu/avx2_blocks_gemv.h"

enum { PANEL = VUG_CPU_PANEL, OCTET = 8 };

/* Four vectors of 32-bit units. Before transposing, the halves of vector p belong to rows p and
 * p + 4 of eight; afterwards vector j has unit j of rows 0 .. 7. */
typedef struct {
    __m256i v[UNIT];
} vector_quad;

INLINE vector_quad transpose_quad(vector_quad rows)
{
    const __m256i a = _mm256_unpacklo_epi32(rows.v[0], rows.v[1]);
    const __m256i b = _mm256_unpacklo_epi32(rows.v[2], rows.v[3]);
    const __m256i c = _mm256_unpackhi_epi32(rows.v[0], rows.v[1]);
    const __m256i d = _mm256_unpackhi_epi32(rows.v[2], rows.v[3]);
    return (vector_quad){ { _mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b),
                            _mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d) } };
}

/* Writes four transposed columns, `stride` bytes apart. */
INLINE void write_columns(vector_quad rows, uint8_t *to, int64_t stride, int n)
{
    const vector_quad columns = transpose_quad(rows);
    for (int j = 0; j < n; j++)
        _mm256_storeu_si256((__m256i *)(void *)(to + j * stride), columns.v[j]);
}

/* Eight rows of a panel, as four pairs of rows. */
typedef struct {
    block_group pair[UNIT];
    const vug_cpu_panel *panel;
    int64_t blocks, octet;
    __m256i row_mask; /* -1 for rows that exist, 0 for padding */
} panel_octet;

INLINE int64_t panel_block_index(const panel_octet *o, int j)
{
    const int64_t b = o->pair[0].first + j;
    return vug_cpu_lane_start(o->blocks, b % VUG_CPU_LANES) + b / VUG_CPU_LANES;
}

/* Writes a block to a panel of bytes, whose groups have two neighbours of each half. */
INLINE void write_bytes(const panel_octet *o, const block_halves *h, int64_t block)
{
    vector_quad low, high;
    for (int p = 0; p < UNIT; p++) {
        low.v[p] = _mm256_unpacklo_epi16(h[p].first, h[p].second);
        high.v[p] = _mm256_unpackhi_epi16(h[p].first, h[p].second);
    }
    uint8_t *to = o->panel->q + block * BLOCK * PANEL + o->octet * 32;
    write_columns(low, to, (int64_t)PANEL * 4, UNIT);
    write_columns(high, to + (int64_t)PANEL * 4 * UNIT, (int64_t)PANEL * 4, UNIT);
}

/* Writes half a block to a panel of 16-bit numbers: signed bytes times factors. */
INLINE void write_half(const panel_octet *o, const __m256i *bytes, const __m256i *factor,
                       int64_t block, int half)
{
    vector_quad low, high;
    for (int p = 0; p < UNIT; p++) {
        low.v[p] = _mm256_srai_epi16(_mm256_unpacklo_epi8(bytes[p], bytes[p]), 8);
        high.v[p] = _mm256_srai_epi16(_mm256_unpackhi_epi8(bytes[p], bytes[p]), 8);
        low.v[p] = _mm256_mullo_epi16(low.v[p], factor[p]);
        high.v[p] = _mm256_mullo_epi16(high.v[p], factor[p]);
    }
    uint8_t *to =
            (uint8_t *)(o->panel->q16 + (block * 2 + half) * BLOCK / 2 * PANEL) + o->octet * 32;
    write_columns(low, to, (int64_t)PANEL * 4, UNIT);
    write_columns(high, to + (int64_t)PANEL * 4 * UNIT, (int64_t)PANEL * 4, UNIT);
}

/* Broadcasts the 16-bit factor of a half of block j, for each of two rows. */
INLINE __m256i factor_of(__m256i factors, int j, int half)
{
    const char low = (char)(4 * j + 2 * half), high = (char)(low + 1);
    return _mm256_shuffle_epi8(factors, _mm256_set1_epi16((short)(low | high << 8)));
}

INLINE void write_q16(const panel_octet *o, const block_halves *h, const avx2_format *f, int j,
                      int64_t block)
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
    write_half(o, first, factor[0], block, 0);
    write_half(o, second, factor[1], block, 1);
}

/* Writes a float field, such as scales, of blocks at .. at + 3. */
INLINE void write_numbers(const panel_octet *o, block_floats_fn *numbers, int at, float *to)
{
    vector_quad rows;
    for (int p = 0; p < UNIT; p++)
        rows.v[p] = _mm256_castps_si256(numbers(&o->pair[p], at));
    const vector_quad columns = transpose_quad(rows);
    for (int j = 0; j < UNIT && at + j < o->pair[0].n; j++)
        _mm256_storeu_si256(
                (__m256i *)(void *)(to + panel_block_index(o, at + j) * PANEL + o->octet * OCTET),
                _mm256_and_si256(columns.v[j], o->row_mask));
}

/* Writes a field of 16-bit pairs, such as factors, of blocks at .. at + 3, times `by`. */
INLINE void write_words(const panel_octet *o, block_words_fn *words, int16_t by, int at,
                        int16_t *to)
{
    vector_quad rows;
    for (int p = 0; p < UNIT; p++)
        rows.v[p] = _mm256_mullo_epi16(words(&o->pair[p], at), _mm256_set1_epi16(by));
    const vector_quad columns = transpose_quad(rows);
    for (int j = 0; j < UNIT && at + j < o->pair[0].n; j++)
        _mm256_storeu_si256(
                (__m256i *)(void *)(to +
                                    (panel_block_index(o, at + j) * PANEL + o->octet * OCTET) * 2),
                columns.v[j]);
}

INLINE void write_blocks(const panel_octet *o, const avx2_format *f, int zero, int at)
{
    for (int j = at; j < at + UNIT && j < o->pair[0].n; j++) {
        const int64_t block = panel_block_index(o, j);
        block_halves h[UNIT];
        for (int p = 0; p < UNIT; p++)
            h[p] = f->unpack(o->pair[p].w, j);
        if (f->is_q16)
            write_q16(o, h, f, j, block);
        else
            write_bytes(o, h, block);
    }
    write_numbers(o, f->scale, at, o->panel->scale);
    if (f->offset)
        write_numbers(o, f->offset, at, o->panel->offset);
    if (f->is_q16 || !f->factor)
        return;
    write_words(o, f->factor, 1, at, o->panel->factor);
    if (f->minimum)
        write_words(o, f->minimum, 1, at, o->panel->minimum);
    else
        write_words(o, f->factor, (int16_t)-zero, at, o->panel->minimum);
}

/* Rows from `rows` on are copies of the last one, with scales of 0. */
INLINE void pack_blocks(const vug_matrix *w, int64_t row, int rows, const vug_cpu_panel *panel,
                        const avx2_format *f)
{
    const int zero = vug_cpu_panel_layout_of(w->dtype)->zero;
    panel_octet o = { .panel = panel, .blocks = w->columns / BLOCK };
    for (; o.octet < PANEL / OCTET; o.octet++) {
        const int64_t first = o.octet * OCTET;
        o.row_mask = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(rows - first)),
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
            write_blocks(&o, f, zero, 0);
            if (o.pair[0].n > UNIT)
                write_blocks(&o, f, zero, UNIT);
            for (int p = 0; p < UNIT; p++)
                o.pair[p].w = advance_rows(o.pair[p].w, f->bytes);
        }
    }
}

/* Defines the kernels of a format. The other arguments initialize its avx2_format. */
#define BLOCK_FORMAT(id, scale_of, ...)                                                           \
    static const avx2_format format_##id = {                                                      \
        .unpack = unpack_##id, .terms = terms_##id, .scale = scale_of, __VA_ARGS__                \
    };                                                                                            \
    static void gemv_##id(const vug_cpu_gemv_q8 *g)                                               \
    {                                                                                             \
        gemv_blocks(g, &format_##id);                                                             \
    }                                                                                             \
    static void pack_##id(const vug_matrix *w, int64_t row, int rows, const vug_cpu_panel *panel) \
    {                                                                                             \
        pack_blocks(w, row, rows, panel, &format_##id);                                           \
    }                                                                                             \
    const vug_cpu_block_format vug_avx2_##id = { gemv_##id, pack_##id };

#endif
