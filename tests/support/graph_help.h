#ifndef VUG_TESTS_SUPPORT_GRAPH_HELP_H
#define VUG_TESTS_SUPPORT_GRAPH_HELP_H

/* Graphs that are built node by node, with random weights. A failure fails the running test. */

#include "backend/backend.h"
#include "kernel_help.h"

enum { HELP_MAX_WEIGHTS = 64 };

/* Initialize `r` with a seed and `layer` with -1 or a layer; all else with zero. */
typedef struct {
    vug_graph graph;
    vug_plan plan;
    vug_weight weight[HELP_MAX_WEIGHTS];
    bool blocks; /* use quantized formats for weights whose rows are multiples of 64 */
    int n_weights;
    rng r;
    int layer; /* of the nodes that are appended */
} help_graph;

vug_val help_append(help_graph *m, vug_node node);
vug_val help_op2(help_graph *m, vug_op op, vug_val a, vug_val b);
vug_val help_input(help_graph *m, vug_input which);
/* The data input with index 0. */
vug_val help_data(help_graph *m, vug_shape shape);
/* Adds a weight [rows,cols] of a format to those of the graph, and returns its slot; its bytes are unaligned. */
int help_add_weight(help_graph *m, vug_dtype dtype, int64_t rows, int64_t cols);
/* A weight [rows,cols], or [cols] if rows is 0. Each weight has the next of several formats. */
vug_val help_weight(help_graph *m, int64_t rows, int64_t cols);
/* The product of x with weight `slot` of the graph. */
vug_val help_product(help_graph *m, vug_val x, int slot);
/* Weights [n,rows,cols], one for each expert. */
vug_val help_experts_weight(help_graph *m, vug_dtype dtype, int n, int64_t rows, int64_t cols);
vug_val help_linear(help_graph *m, vug_val x, int64_t out, int64_t in);
vug_val help_heads(help_graph *m, vug_val x, int count);
/* A memory plan for steps of up to `most` tokens and rows, in which values never share memory. */
void help_plan(help_graph *m, int64_t most);
void help_graph_release(help_graph *m);

#endif
