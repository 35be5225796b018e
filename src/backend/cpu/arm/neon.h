#ifndef VUG_BACKEND_CPU_ARM_NEON_H
#define VUG_BACKEND_CPU_ARM_NEON_H

/* The kernels of the neon*.c files, from which neon.c makes the kernel sets. */

#include "backend/cpu/kernel_sets.h"

enum { VUG_NEON_TILE_ROWS = 6 };

void vug_neon_tile(int rows, const vug_cpu_tile *t);
void vug_neon_tile_f16(int rows, const vug_cpu_tile *t);
void vug_neon_tile_bf16(int rows, const vug_cpu_tile *t);
void vug_neon_tile_q8_keys(int rows, const vug_cpu_tile *t);
void vug_neon_tile_q8_values(int rows, const vug_cpu_tile *t);
void vug_neon_round_bf16(const float *x, int64_t n, uint16_t *out);
extern const vug_cpu_pair_kernels vug_neon_pairs, vug_neon_bf16_pairs;
extern const vug_cpu_format vug_neon_f32, vug_neon_f16, vug_neon_bf16;

/* neon_blocks.c, neon_dotprod.c */
#define DECLARE_BLOCK_FORMAT(id, dtype) \
    extern const vug_cpu_block_format vug_neon_##id, vug_neon_dotprod_##id;
VUG_CPU_BLOCK_FORMATS(DECLARE_BLOCK_FORMAT)
#undef DECLARE_BLOCK_FORMAT

/* neon_i8mm.c: panels */
#define DECLARE_PANEL_FORMAT(id, dtype) extern const vug_cpu_q8_panel_format vug_neon_i8mm_##id;
VUG_CPU_BLOCK_FORMATS(DECLARE_PANEL_FORMAT)
#undef DECLARE_PANEL_FORMAT

void vug_neon_quantize(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);

#endif
