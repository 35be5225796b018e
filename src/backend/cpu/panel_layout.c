/* The panel layouts of quantized formats. */
#include "backend/cpu/kernel_sets.h"

const vug_cpu_panel_layout *vug_cpu_panel_layout_of(vug_dtype dtype)
{
    static const vug_cpu_panel_layout table[VUG_DTYPE_COUNT] = {
#define LAYOUT(id, bits, zero, factors, offsets) \
    [VUG_DTYPE_##id] = { bits, zero, factors, offsets },
        VUG_CPU_BLOCK_FORMATS(LAYOUT)
#undef LAYOUT
    };
    return table[dtype].bits ? &table[dtype] : NULL;
}
