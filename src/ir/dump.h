#ifndef VUG_IR_DUMP_H
#define VUG_IR_DUMP_H

/*
 * What the text, the DOT and the SVG of a graph share: attributes as text, escaping, and
 * the grouping of equal layers. For ir/ and drawing/ only.
 */

#include "ir/ir.h"

/* ---- attributes (attr.c) --------------------------------------------------- */

/* Appends all attributes exactly, as " {eps 9.99999997e-07 bias 1}", or nothing if the
 * operation has none. */
void vug_attr_text(const vug_node *node, vug_buf *to);
/* Appends a short label for people, as "eps 1e-06, weight + 1", or nothing. */
void vug_attr_label(const vug_node *node, vug_buf *to);
/* Whether operation and attributes are equal, ignoring slots; a layer in the attributes is
 * compared relative to the node's layer. */
bool vug_attr_alike(const vug_node *a, const vug_node *b);

/* ---- text (dump.c) --------------------------------------------------------- */

/* The node's line of vug_graph_text, without the newline. */
void vug_node_text(const vug_graph *g, uint32_t id, vug_buf *to);
/* Appends `text`, escaped and cut to `columns` with an ellipsis; `columns` < 0: not cut. */
void vug_xml_append(vug_buf *to, const char *text, int columns);
/* The width of `text` in columns of a fixed-width font. */
int vug_text_columns(const char *text);

/* ---- equal layers (fold.c) ------------------------------------------------- */

/* Layers of one kind compute the same function with different weights. Nodes outside the
 * layers are not in it. Everything is allocated in the arena of vug_fold_init. */
typedef struct {
    uint32_t *node;    /* ids, layer by layer, ascending within each */
    uint32_t *start;   /* [n_layers + 1]: layer i's are node[start[i]] .. node[start[i+1]-1] */
    uint32_t *ordinal; /* [nodes of the graph]: index within the layer */
    int *kind;         /* [n_layers] */
    int *first;        /* [n_kinds]: the first layer of each kind */
    int *last;         /* [n_kinds] */
    int *count;        /* [n_kinds]: layers of each kind */
    int n_layers, n_kinds;
} vug_fold;

/* False when out of memory. */
bool vug_fold_init(const vug_graph *g, vug_arena *arena, vug_fold *out);
/* Appends "layers 0-4, 6-10 and 12": the layers of `kind` from `from` to `to` - 1. */
void vug_fold_list(const vug_fold *fold, int kind, int from, int to, vug_buf *out);

static inline bool vug_in_layer(const vug_fold *fold, const vug_node *node)
{
    return node->layer >= 0 && node->layer < fold->n_layers;
}

#endif
