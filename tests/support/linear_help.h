#ifndef VUG_TESTS_SUPPORT_LINEAR_HELP_H
#define VUG_TESTS_SUPPORT_LINEAR_HELP_H

/* One product on a device, for tests of backends. A failure fails the running test. */

#include "graph_help.h"

/* The graph of the product of `rows` rows with the weight. For help_graph_release, which does not
 * free the weight's bytes. */
help_graph help_linear_graph(const vug_weight *w, vug_activations activations, int64_t rows);

/* y [rows, rows of w] = x [rows, columns of w] times the transposed weight, computed by a graph of
 * this one product on a device that is opened for it. */
void help_run_linear(const vug_backend *b, const vug_weight *w, vug_activations activations,
                     const float *x, int64_t rows, float *y);

/* Runs a graph with one data input, `x`, over its first weights; y are the first `n` elements of its
 * first output. */
void help_run_graph(const vug_backend *b, const help_graph *m, size_t n_weights, const float *x,
                    float *y, size_t n);

/* The n elements of y differ from `want` by at most 2^-9, the rounding to BF16, of the largest one. */
void help_check_near(const float *y, const float *want, int64_t n);

#endif
