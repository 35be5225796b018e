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

#define DECLARE_PANEL_FORMAT(id, dtype) extern const vug_cpu_q8_panel_format vug_amx_int8_##id;
VUG_CPU_BLOCK_FORMATS(DECLARE_PANEL_FORMAT)
#undef DECLARE_PANEL_FORMAT

#endif
