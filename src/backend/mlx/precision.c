#include "backend/mlx/precision.h"

/* Scores of norms that nothing divides, as Gemma 4 has them, are so large that the softmax passes
 * on what queries and keys are off many times over. docs/apple-gpus.md has what F16 does there. */
static bool has_unscaled_scores(const vug_graph *g)
{
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op == VUG_OP_ATTENTION && g->node[i].at.attn.scale >= 1)
            return true;
    }
    return false;
}

/* On a GPU, weights that are widened in each product move several times their bytes through memory.
 * MLX's CPU device has no faster arithmetic than F32. */
vug_mlx_precision vug_mlx_choose_precision(const vug_graph *graph, vug_activations activations,
                                           bool gpu)
{
    const bool bf16 = vug_activations_are_bf16(activations);
    const bool by_default = gpu && activations == VUG_ACTIVATIONS_Q8;
    const bool exact = by_default && has_unscaled_scores(graph);
    return (vug_mlx_precision){ .f16 = bf16 || (by_default && !exact),
                                .scales = bf16,
                                .exact = exact };
}
