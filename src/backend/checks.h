#ifndef VUG_BACKEND_CHECKS_H
#define VUG_BACKEND_CHECKS_H

/* What every backend checks in the same way, so that a step cannot fail on it later. `device`
 * begins the error messages. */

#include "backend/backend.h"

/* ---- graph_check.c --------------------------------------------------------------- */

/* Fails with what a device does not support about a node. */
VUG_MUST_CHECK vug_status vug_reject_node(const char *device, const vug_node *node, vug_err *err,
                                          const char *why);
/* Whether a weight of an MLX format has its scales: those of the affine formats have separate
 * scales and biases, of one or more whole blocks of a row; MLX_FP4 has an exponent for each
 * block. */
bool vug_weight_has_mlx_scales(const vug_weight *weight);
/* The first dimension of a step's tokens (VUG_DIM_T) or output rows (VUG_DIM_R): the symbol,
 * or a number if the graph was made for a fixed number of them. */
int64_t vug_graph_step_dim(const vug_graph *graph, int64_t symbol);
/* Checks that the weights [n_weights] have the slots of a PARAM node, in its shape. */
VUG_MUST_CHECK vug_status vug_check_weight(const char *device, const vug_node *node,
                                           const vug_weight *weight, size_t n_weights,
                                           vug_err *err);
/* Checks the operands and rows of every node, the shapes of the weights [n_weights], and the
 * outputs; which formats and sizes it supports is left to the device. */
VUG_MUST_CHECK vug_status vug_check_graph(const char *device, const vug_graph *graph,
                                          const vug_weight *weight, size_t n_weights, vug_err *err);
VUG_MUST_CHECK vug_status vug_check_limits(const char *device, const vug_limits *limits,
                                           vug_err *err);

/* ---- step_check.c ---------------------------------------------------------------- */

/* Checks spans, inputs and indices against the limits of a program and its graph; gives the
 * number of tokens. A graph that was made for a fixed number of tokens or rows accepts only that
 * number. */
VUG_MUST_CHECK vug_status vug_check_step(const vug_graph *graph, const vug_limits *limits,
                                         const vug_step_in *in, int64_t *tokens, vug_err *err);
/* Checks row `row` of an additive mask over `keys` keys: numbers, or -inf for a hidden key, and at
 * least one visible key. The visible keys are among first .. end - 1. */
VUG_MUST_CHECK vug_status vug_check_mask_row(const float *add, int64_t keys, int64_t row,
                                             int64_t *first, int64_t *end, vug_err *err);
/* The columns of a mask: as many as the longest sequence of the step has keys. A graph that was
 * made for a fixed number of them accepts only that number; `fixed` is negative otherwise. */
VUG_MUST_CHECK vug_status vug_check_mask_columns(const vug_step_in *in, int64_t fixed,
                                                 int64_t *columns, vug_err *err);
/* Checks every row of every mask of a step. */
VUG_MUST_CHECK vug_status vug_check_masks(const vug_graph *graph, const vug_step_in *in,
                                          vug_err *err);
/* The positions [T] of a step that does not give them. */
void vug_step_positions(const vug_step_in *in, int32_t *position);
/* The output rows of a checked step as spans of queries [R]; returns how many. Consecutive rows
 * of one sequence share a span. */
int vug_step_queries(const vug_step_in *in, vug_span *query);

/* ---- step_cost.c ------------------------------------------------------------------ */

/* Adds that a node with `rows` rows ran once, and what it read and computed, but not its time.
 * `weight[slot]` as in the program. */
void vug_step_add_cost(const vug_graph *graph, const vug_plan *plan, const vug_weight *weight,
                       const vug_node *node, int64_t rows, vug_op_cost *to);

#endif
