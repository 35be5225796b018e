/* Panels of weights in blocks, for AVX2: any format, by vug_matrix_block. */
#if defined(__AVX2__)
#include "backend/cpu/avx2_transpose.h"

enum {
    HALF = 8,
    PANEL = VUG_CPU_PANEL,
    LANES = VUG_CPU_LANES,
    Q8 = VUG_CPU_Q8,
};

/* Eight rows of eight units each, as columns of 16: unit j to `to` + 64 j bytes. */
INLINE void put_units(const uint8_t *rows, void *to)
{
    __m256i unit[8];
    transpose_units(rows, HALF * 4, unit);
    for (int j = 0; j < 8; j++)
        _mm256_storeu_si256((__m256i *)to + 2 * (int64_t)j, unit[j]);
}

INLINE __m256i load_half(const vug_block *b, int s)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)(b->q + 16 * (int64_t)s));
}

/* Bytes of 8 blocks; those of the halves are neighbours after they were narrowed, and pairs
 * of them in turn make the groups of a panel. */
INLINE void put_bytes(const vug_block *b, int zero, uint8_t *q)
{
    const __m256i shift = _mm256_set1_epi16((short)zero);
    const __m128i turns = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
    __m256i row[HALF];
    for (int c = 0; c < HALF; c++) {
        const __m256i bytes = _mm256_packus_epi16(_mm256_add_epi16(load_half(&b[c], 0), shift),
                                                  _mm256_add_epi16(load_half(&b[c], 1), shift));
        row[c] = _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(turns));
    }
    put_units((const uint8_t *)row, q);
}

/* The same for wide panels, where each half makes eight groups of pairs. */
INLINE void put_wide(const vug_block *b, int zero, int16_t *wide)
{
    const __m256i shift = _mm256_set1_epi16((short)zero);
    for (int s = 0; s < 2; s++) {
        __m256i row[HALF];
        for (int c = 0; c < HALF; c++)
            row[c] = _mm256_mullo_epi16(_mm256_add_epi16(load_half(&b[c], s), shift),
                                        _mm256_set1_epi16(b[c].factor[s]));
        put_units((const uint8_t *)row, wide + s * (int64_t)Q8 / 2 * PANEL);
    }
}

INLINE void put_fields(const vug_cpu_layout *layout, const vug_block *b, int64_t at,
                       const vug_cpu_panel *panel)
{
    for (int64_t c = 0; c < PANEL; c++) {
        const int64_t i = at * PANEL + c;
        panel->scale[i] = b[c].scale;
        if (layout->offsets)
            panel->offset[i] = b[c].offset;
        for (int s = 0; layout->factors && s < 2; s++) {
            panel->factor[2 * i + s] = b[c].factor[s];
            panel->minimum[2 * i + s] =
                    layout->offsets ? b[c].minimum[s] : (int16_t)(-layout->zero * b[c].factor[s]);
        }
    }
}

void vug_avx2_pack_q8(const vug_matrix *w, int64_t row, int rows, const vug_cpu_panel *panel)
{
    const vug_cpu_layout *layout = vug_cpu_layout_of(w->dtype);
    const int64_t blocks = w->columns / Q8;
    vug_block b[PANEL];
    memset(b, 0, sizeof(b));
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t at = vug_cpu_lane_start(blocks, i % LANES) + i / LANES;
        for (int c = 0; c < rows; c++)
            vug_matrix_block(w, row + c, i, &b[c]);
        for (int64_t c = 0; c < PANEL; c += HALF) {
            if (layout->bits == 8)
                put_wide(b + c, layout->zero, panel->wide + at * Q8 * PANEL + 2 * c);
            else
                put_bytes(b + c, layout->zero, panel->q + at * Q8 * PANEL + 4 * c);
        }
        put_fields(layout, b, at, panel);
    }
}

#else
typedef int vug_avx2_pack_is_empty; /* ISO C wants something here */
#endif
