#ifndef VUG_DRAWING_DRAWING_H
#define VUG_DRAWING_DRAWING_H

#include "ir/ir.h"

/* The graph as an SVG for a person: layers grouped, equal consecutive layers folded. */
void vug_graph_svg(const vug_graph *g, vug_buf *to);

#endif
