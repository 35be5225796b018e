#ifndef VUG_TESTS_GRAPH_HELP_H
#define VUG_TESTS_GRAPH_HELP_H

/* Graphs built node by node, with random weights of their own, for a backend to run.
 * What goes wrong fails the test. */

#include "backend/backend.h"
#include "kernel_help.h"

enum { HELP_MAX_WEIGHTS = 64 };

/* Begins with a seed in `r` and -1, or a layer, in `layer`; all else is zero. */
typedef struct {
    vug_graph graph;
    vug_plan plan;
    vug_weight weight[HELP_MAX_WEIGHTS];
    bool blocks; /* weights with rows of whole 64 elements are of many formats */
    int n_weights;
    rng r;
    int layer; /* of the nodes that are appended */
} help_graph;

vug_val help_append(help_graph *m, vug_node node);
vug_val help_op2(help_graph *m, vug_op op, vug_val a, vug_val b);
vug_val help_input(help_graph *m, vug_input which);
/* Data of index 0. */
vug_val help_data(help_graph *m, vug_shape shape);
/* [rows,cols], or [cols] for rows = 0. Formats take turns; bytes are unaligned. */
vug_val help_weight(help_graph *m, int64_t rows, int64_t cols);
vug_val help_linear(help_graph *m, vug_val x, int64_t out, int64_t in);
vug_val help_heads(help_graph *m, vug_val x, int count);
/* For steps of up to so many tokens and rows: every value has bytes of its own. */
void help_plan(help_graph *m, int64_t most);
void help_graph_release(help_graph *m);

#endif
