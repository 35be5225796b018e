#ifndef VUG_BACKEND_CPU_ARM_NEON_PANELS_H
#define VUG_BACKEND_CPU_ARM_NEON_PANELS_H

/* Panels of quantized weights (q8_panels.h), for any format; see neon_blocks.h. BLOCK_FORMAT at the end
 * defines the kernels of a format. Integers are signed and lie in eights. */

#include "backend/cpu/arm/neon_blocks.h"
#include "backend/cpu/q8_panels.h"

/* Multiplies a panel of a format whose integers are those of the panel minus `zero`. */
void vug_neon_i8mm_multiply(vug_cpu_q8_block_terms t, int zero, const vug_cpu_q8_panel_job *job);

/* A factor of a whole block is multiplied with its scale, which is exact. */
INLINE vug_cpu_q8_block_terms panel_terms_of(const neon_format *f)
{
    return (vug_cpu_q8_block_terms){ .offset = f->offset != NULL,
                                     .factors = f->factors && !f->one_factor };
}

INLINE void store_eights(neon_halves w, int64_t r, vug_cpu_q8_panel_block *to)
{
    vst1_s8(to->eights[0][r], vget_low_s8(w.first));
    vst1_s8(to->eights[1][r], vget_high_s8(w.first));
    vst1_s8(to->eights[2][r], vget_low_s8(w.second));
    vst1_s8(to->eights[3][r], vget_high_s8(w.second));
}

/* Stores the scales of the first `n` of four blocks to row `r` of `to`. */
INLINE void store_scales(const neon_format *f, const neon_unit_scales *s, int n, int64_t r,
                         vug_cpu_q8_panel_block *const *to)
{
    const bool by_half = panel_terms_of(f).factors;
    float scale[UNIT], offset[UNIT], factor[2][UNIT];
    int16_t minimum[UNIT][2];
    const float32x4_t whole = f->one_factor ? vcvtq_f32_s32(s->factor[0]) : vdupq_n_f32(1);
    vst1q_f32(scale, vmulq_f32(s->scale, whole));
    if (f->minimums)
        vst1q_s16(minimum[0], s->minimum);
    if (f->offset && f->minimums && !by_half) {
        const int32x4_t one = vmovl_s16(vget_low_s16(vuzp1q_s16(s->minimum, s->minimum)));
        vst1q_f32(offset, vmulq_f32(s->offset, vcvtq_f32_s32(one)));
    } else if (f->offset) {
        vst1q_f32(offset, s->offset);
    }
    for (int h = 0; by_half && h < 2; h++)
        vst1q_f32(factor[h], vcvtq_f32_s32(s->factor[h]));
    for (int j = 0; j < n; j++) {
        to[j]->scale[r] = scale[j];
        if (f->offset)
            to[j]->offset[r] = offset[j];
        for (int h = 0; by_half && h < 2; h++)
            to[j]->factor[h][r] = factor[h][j];
        if (by_half && f->minimums)
            memcpy(to[j]->minimum[r], minimum[j], sizeof(minimum[j]));
    }
}

/* Unpacks the group of a row to row `r` of a panel whose rows have `blocks` blocks. */
INLINE void pack_row_group(const neon_group *g, const neon_format *f, int64_t blocks, int64_t r,
                           vug_cpu_q8_panel_block *panel)
{
    for (int at = 0; at < g->n; at += UNIT) {
        const neon_unit_scales s = scales_of(g, at, f);
        const int n = g->n - at < UNIT ? g->n - at : UNIT;
        vug_cpu_q8_panel_block *to[UNIT];
        for (int j = 0; j < n; j++) {
            to[j] = panel + vug_cpu_lane_start(blocks, at + j) + g->first / GROUP;
            store_eights(f->unpack(g->w, at + j), r, to[j]);
        }
        store_scales(f, &s, n, r, to);
    }
}

/* See vug_cpu_q8_panel_format. */
INLINE void pack_panel(const vug_matrix *w, int64_t row, int rows, const neon_format *f,
                       vug_cpu_q8_panel_block *panel)
{
    const int64_t blocks = w->columns / BLOCK;
    neon_group g[PANEL];
    for (int r = 0; r < rows; r++)
        g[r] = row_of(w, row + r, f, &w->scales);
    for (int64_t first = 0; first + GROUP <= blocks; first += GROUP) {
        for (int r = 0; r < rows; r++) {
            prefetch_group(&g[r], f);
            pack_row_group(&g[r], f, blocks, r, panel);
            next_group(&g[r], f);
        }
    }
    for (int r = 0; f->may_end_within_group && blocks % GROUP && r < rows; r++) {
        uint8_t weights[MAX_GROUP_BYTES];
        end_group(&g[r], f, (int)(blocks % GROUP), weights);
        pack_row_group(&g[r], f, blocks, r, panel);
    }
}

/* Defines the kernels of a format. The other arguments initialize its neon_format. */
#define BLOCK_FORMAT(id, ...)                                                        \
    static const neon_format format_##id = { .unpack = unpack_##id, __VA_ARGS__ };   \
    static void pack_##id(const vug_matrix *w, int64_t row, int rows,                \
                          vug_cpu_q8_panel_block *panel)                             \
    {                                                                                \
        pack_panel(w, row, rows, &format_##id, panel);                               \
    }                                                                                \
    static void multiply_##id(const vug_cpu_q8_panel_job *job)                       \
    {                                                                                \
        vug_neon_i8mm_multiply(panel_terms_of(&format_##id), format_##id.zero, job); \
    }                                                                                \
    const vug_cpu_q8_panel_format vug_neon_i8mm_##id = { pack_##id, multiply_##id };

#endif
