#ifndef VUG_BACKEND_CPU_X86_AMX_INT8_PANELS_H
#define VUG_BACKEND_CPU_X86_AMX_INT8_PANELS_H

/* The kernels of amx_int8.h for any format: BLOCK_FORMAT at the end defines those of a format.
 * Integers are signed, but unsigned in formats with offsets. */

#include "backend/cpu/x86/amx_int8.h"
#include "backend/cpu/x86/avx512_panels_pack.h"

/* Defines the kernels of a format. The other arguments initialize its avx2_format. */
#define BLOCK_FORMAT(id, scale_of, ...)                                                   \
    static const avx2_format format_##id = { .unpack = unpack_##id,                       \
                                             .scale = scale_of,                           \
                                             __VA_ARGS__ };                               \
    static void pack_##id(const vug_matrix *w, int64_t row, int rows,                     \
                          vug_cpu_q8_panel_block *panel)                                  \
    {                                                                                     \
        pack_panel(w, row, rows, &format_##id, &wide_##id, zero_of(&format_##id), panel); \
    }                                                                                     \
    static void multiply_##id(const vug_cpu_q8_panel_job *job)                            \
    {                                                                                     \
        vug_amx_int8_multiply(block_terms_of(&format_##id), job);                         \
    }                                                                                     \
    const vug_cpu_q8_panel_format vug_amx_int8_##id = { pack_##id, multiply_##id };

#endif
