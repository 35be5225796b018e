#ifndef VUG_BACKEND_MLX_PRECISION_H
#define VUG_BACKEND_MLX_PRECISION_H

/* The format of products: of their input, of scales, and of the result. */

#include "ir/activations.h"
#include "ir/ir.h"

typedef struct {
    bool f16;    /* products with floats of 16 bits are in F16, and not in F32 */
    bool scales; /* those with quantized weights have the format of the scales, and are not in F32 */
    bool exact;  /* F16 is the device's default, but it is not precise enough for the graph */
} vug_mlx_precision;

/* What `activations` means for the graph, on a GPU or on MLX's CPU device. */
vug_mlx_precision vug_mlx_choose_precision(const vug_graph *graph, vug_activations activations,
                                           bool gpu);

#endif
