#ifndef VUG_BACKEND_CPU_X86_AMX_INT8_H
#define VUG_BACKEND_CPU_X86_AMX_INT8_H

/* The kernels of the other amx_int8*.c files, from which amx_int8.c makes the kernel set. */

#include "backend/cpu/kernel_sets.h"
#include "backend/cpu/q8_panels.h"

void vug_amx_int8_multiply(vug_cpu_q8_block_terms t, const vug_cpu_q8_panel_job *job);

#define DECLARE_PANEL_FORMAT(id, dtype) extern const vug_cpu_q8_panel_format vug_amx_int8_##id;
VUG_CPU_BLOCK_FORMATS(DECLARE_PANEL_FORMAT)
#undef DECLARE_PANEL_FORMAT

#endif
