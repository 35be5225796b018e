#ifndef VUG_BACKEND_CPU_TILES_H
#define VUG_BACKEND_CPU_TILES_H

/* What the tile kernels of all instruction sets share. A file that uses TILE_KERNELS defines
 *
 *     tile_as(format, rows, t)    the tile of a constant format
 */

#include "backend/cpu/inline.h"
#include "backend/cpu/kernels.h"

/* The format of B; all but FLOATS are formats of the KV cache. */
typedef enum { FLOATS, F16, BF16, Q8_KEYS, Q8_VALUES } tile_format;

INLINE int64_t bytes_of_element(tile_format as)
{
    return as == FLOATS ? 4 : as < Q8_KEYS ? 2 : 1;
}

/* Defines the tile kernels of a set, vug_cpu_tile_fn. */
#define TILE_KERNELS(set)                                            \
    void vug_##set##_tile(int rows, const vug_cpu_tile *t)           \
    {                                                                \
        tile_as(FLOATS, rows, t);                                    \
    }                                                                \
    void vug_##set##_tile_f16(int rows, const vug_cpu_tile *t)       \
    {                                                                \
        tile_as(F16, rows, t);                                       \
    }                                                                \
    void vug_##set##_tile_bf16(int rows, const vug_cpu_tile *t)      \
    {                                                                \
        tile_as(BF16, rows, t);                                      \
    }                                                                \
    void vug_##set##_tile_q8_keys(int rows, const vug_cpu_tile *t)   \
    {                                                                \
        tile_as(Q8_KEYS, rows, t);                                   \
    }                                                                \
    void vug_##set##_tile_q8_values(int rows, const vug_cpu_tile *t) \
    {                                                                \
        tile_as(Q8_VALUES, rows, t);                                 \
    }

#endif
