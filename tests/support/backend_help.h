#ifndef VUG_TESTS_SUPPORT_BACKEND_HELP_H
#define VUG_TESTS_SUPPORT_BACKEND_HELP_H

/* A small model, built node by node, and a backend to run it. A failure fails the running
 * test. */

#include "engine/internal.h"
#include "graph_help.h"

/* The dimensions of the model: width, query heads, KV heads, head width, FFN width, vocabulary,
 * layers; and the tokens of a test and its limits. */
enum { D = 64, HEADS = 4, KV = 2, E = 12, FFN = 128, V = 90, LAYERS = 3 };
enum { TOKENS = 80, CONTEXT = 100, BATCH = 80 };

/* The attributes of its norms. */
extern const vug_attr_norm help_norm_attr;
/* With fused operations or with those that they stand for. The weights are the same in both
 * graphs, because they are drawn in the same order. */
help_graph help_small_model(bool fused);

typedef struct {
    const vug_backend *b;
    vug_device *device;
    vug_device_weights *weights;
    vug_program *program;
    vug_kv_fixed kv; /* the caches of two sequences */
    vug_workspace *workspace;
} backend_setup;

backend_setup help_backend_setup(const help_graph *m, const char *isa, int threads);
void help_backend_teardown(backend_setup *s);

#endif
