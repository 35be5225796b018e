#ifndef VUG_BACKEND_CPU_AVX2_H
#define VUG_BACKEND_CPU_AVX2_H

/* Between avx2.c, which has the row of the table, avx2_linear.c and avx2_tile.c. */

#include "backend/cpu/rows.h"

void vug_avx2_fetch(const uint8_t *w, int64_t stride, int rows, int64_t bytes);
void vug_avx2_tile(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_f16(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_bf16(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_q8_keys(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_q8_values(int rows, const vug_cpu_tile *t);
extern const vug_cpu_format vug_avx2_f32, vug_avx2_f16, vug_avx2_bf16;

#endif
