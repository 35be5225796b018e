#ifndef VUG_BACKEND_CPU_X86_AMX_INT8_H
#define VUG_BACKEND_CPU_X86_AMX_INT8_H

/* The kernels of the other amx_int8*.c files, from which amx_int8.c makes the kernel set. */

#include "backend/cpu/kernel_sets.h"
#include "backend/cpu/q8_panels.h"

/* Products with panels, by what a block has besides its scale: offsets, factors of both halves, and
 * minimums of both halves. */
void vug_amx_int8_multiply(const vug_cpu_q8_panel_job *job);
void vug_amx_int8_multiply_offset(const vug_cpu_q8_panel_job *job);
void vug_amx_int8_multiply_factors(const vug_cpu_q8_panel_job *job);
void vug_amx_int8_multiply_minimums(const vug_cpu_q8_panel_job *job);

extern const vug_cpu_q8_panel_format vug_amx_int8_q4_0, vug_amx_int8_q4_1, vug_amx_int8_q5_0,
        vug_amx_int8_q5_1, vug_amx_int8_q8_0, vug_amx_int8_iq4_nl, vug_amx_int8_mxfp4;
extern const vug_cpu_q8_panel_format vug_amx_int8_q2_k, vug_amx_int8_q3_k, vug_amx_int8_q4_k,
        vug_amx_int8_q5_k, vug_amx_int8_q6_k, vug_amx_int8_iq4_xs;
extern const vug_cpu_q8_panel_format vug_amx_int8_mlx2, vug_amx_int8_mlx3, vug_amx_int8_mlx4,
        vug_amx_int8_mlx5, vug_amx_int8_mlx6, vug_amx_int8_mlx8, vug_amx_int8_mlx_fp4;

#endif
