#ifndef VUG_IR_INTERNAL_H
#define VUG_IR_INTERNAL_H

#include "ir/ir.h"

/* Infers and checks node->shape from the inputs and the attributes (infer.c). */
VUG_MUST_CHECK vug_status vug_infer_shape(const vug_graph *g, vug_node *node, vug_err *err);
/* Fails with VUG_ARGUMENT; the message names the layer and the node. */
VUG_MUST_CHECK vug_status vug_node_fail(const vug_node *node, vug_err *err, const char *why);

#endif
