#ifndef VUG_BACKEND_CPU_X86_AVX512_H
#define VUG_BACKEND_CPU_X86_AVX512_H

/* The kernels of the other avx512*.c files, from which avx512.c makes the kernel set. */

#include "backend/cpu/kernel_sets.h"
#include "backend/cpu/q8_panels.h"

enum { VUG_AVX512_TILE_ROWS = 8, VUG_AVX512_Q8_PANELS = 3 };

void vug_avx512_tile(int rows, const vug_cpu_tile *t);
void vug_avx512_tile_f16(int rows, const vug_cpu_tile *t);
void vug_avx512_tile_bf16(int rows, const vug_cpu_tile *t);
void vug_avx512_tile_q8_keys(int rows, const vug_cpu_tile *t);
void vug_avx512_tile_q8_values(int rows, const vug_cpu_tile *t);
vug_cpu_square_sums vug_avx512_round_q4_0(const float *w, int64_t n, uint8_t *to);
float vug_avx512_probe_fma(int64_t rounds, double *flop);
extern const vug_cpu_pair_kernels vug_avx512_pairs, vug_avx512_bf16_pairs;
extern const vug_cpu_format vug_avx512_f32, vug_avx512_f16, vug_avx512_bf16;

/* A product of panels whose integers are unsigned: `zero` was added to them. */
typedef struct {
    const vug_cpu_q8_panel_job *job;
    int16_t zero; /* 0 in formats with offsets */
} vug_avx512_panel_job;

void vug_avx512_multiply_panels(vug_cpu_q8_block_terms t, const vug_avx512_panel_job *a);

#define DECLARE_BLOCK_FORMAT(id, dtype)                \
    extern const vug_cpu_block_format vug_avx512_##id; \
    extern const vug_cpu_q8_panel_format vug_avx512_panels_##id;
VUG_CPU_BLOCK_FORMATS(DECLARE_BLOCK_FORMAT)
#undef DECLARE_BLOCK_FORMAT

#endif
