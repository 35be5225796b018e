#ifndef VUG_BACKEND_CPU_X86_AVX512_PANELS_H
#define VUG_BACKEND_CPU_X86_AVX512_PANELS_H

/* Products of panels of quantized weights, with AVX-512 VNNI: BLOCK_FORMAT at the end defines the
 * kernels of a format. Integers are unsigned: zero_of(format) is added to them. */

#include "backend/cpu/x86/avx512.h"
#include "backend/cpu/x86/avx512_panels_pack.h"

INLINE void multiply_panel(const avx2_format *f, const vug_cpu_q8_panel_job *job)
{
    const vug_avx512_panel_job panels = { .job = job, .zero = (int16_t)zero_of(f) };
    vug_avx512_multiply_panels(block_terms_of(f), &panels);
}

/* Defines the kernels of a format. The other arguments initialize its avx2_format. */
#define BLOCK_FORMAT(id, scale_of, ...)                               \
    static const avx2_format format_##id = { .unpack = unpack_##id,   \
                                             .scale = scale_of,       \
                                             __VA_ARGS__ };           \
    static void pack_##id(const vug_matrix *w, int64_t row, int rows, \
                          vug_cpu_q8_panel_block *panel)              \
    {                                                                 \
        pack_panel(w, row, rows, &format_##id, &wide_##id, 0, panel); \
    }                                                                 \
    static void multiply_##id(const vug_cpu_q8_panel_job *job)        \
    {                                                                 \
        multiply_panel(&format_##id, job);                            \
    }                                                                 \
    const vug_cpu_q8_panel_format vug_avx512_panels_##id = { pack_##id, multiply_##id };

#endif
