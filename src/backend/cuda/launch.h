#ifndef VUG_BACKEND_CUDA_LAUNCH_H
#define VUG_BACKEND_CUDA_LAUNCH_H

/* What the files that launch nodes share. Functions that take a node launch its kernels on the
 * stream of the step, and return. */

#include "backend/cuda/internal.h"

/* ---- nodes and addresses ---------------------------------------------------------------- */

static inline const vug_node *node_at(const vug_cuda_step *s, vug_val v)
{
    return vug_graph_at(s->program->graph, v);
}

static inline const vug_matrix *matrix_at(const vug_cuda_step *s, vug_val v)
{
    return &s->program->weights->matrix[node_at(s, v)->at.param.slot];
}

/* A weight vector is stored in F32. */
static inline const float *vector_at(const vug_cuda_step *s, vug_val v)
{
    return (const float *)(const void *)matrix_at(s, v)->data;
}

static inline int64_t last_dim(const vug_node *node)
{
    return node->shape.dim[node->shape.rank - 1];
}

/* Rows of the last dimension. */
static inline int64_t rows_of(const vug_cuda_step *s, const vug_node *node)
{
    return vug_cuda_elements_of(&node->shape, s->in, s->tokens) / last_dim(node);
}

static inline cudaStream_t stream_of(const vug_cuda_step *s)
{
    return s->stream;
}

static inline vug_val value_of(uint32_t id)
{
    return (vug_val){ id };
}

/* ---- kernel_choice.c --------------------------------------------------------------------- */

/* How the kernels of a step that can be started early are launched. */
vug_cuda_launch_options vug_cuda_options_of(const vug_cuda_step *s);

/* ---- launch_elements.c ------------------------------------------------------------------- */

void vug_cuda_launch_elements(const vug_cuda_step *s, uint32_t id);

/* ---- launch_experts.c -------------------------------------------------------------------- */

void vug_cuda_launch_experts(const vug_cuda_step *s, uint32_t id);

/* ---- launch_products.c ------------------------------------------------------------------ */

void vug_cuda_launch_linear(const vug_cuda_step *s, uint32_t id);
/* Products of a few rows, or of rows of experts, whose terms are stored in `memory`. */
void vug_cuda_launch_few_rows(const vug_cuda_step *s, const vug_cuda_rows *x,
                              vug_cuda_tile_job *job, uint8_t *memory);
/* The launches of a product, with all nodes that run in it. */
void vug_cuda_launch_product(const vug_cuda_step *s, const vug_cuda_product *product);
/* The product that a node is part of, or NULL. */
const vug_cuda_product *vug_cuda_product_of(const vug_cuda_step *s, uint32_t id);
/* Whether the launches of a product compute the norm, and the sum before it. */
bool vug_cuda_computes_norm(const vug_cuda_step *s, const vug_cuda_product *product);
/* Whether the kernel that gives a value stores its terms in blocks for the product that reads it: in
 * the place of the value, if they are whole and fit there. */
bool vug_cuda_is_in_blocks(const vug_cuda_step *s, uint32_t id);

#endif
