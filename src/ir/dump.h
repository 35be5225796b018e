#ifndef VUG_IR_DUMP_H
#define VUG_IR_DUMP_H

/*
 * Private to ir/: what the text, the DOT and the SVG of a graph share, which is
 * attributes in words, escaping, and the grouping of layers that are alike.
 */

#include "ir/ir.h"

/* ---- attributes (attr.c) --------------------------------------------------- */

/* Every attribute, exactly: " {eps 9.99999997e-07 bias 1}"; nothing where there is none. */
void vug_attr_text(const vug_node *node, vug_buf *to);
/* For a person, in few words: "eps 1e-06, weight + 1"; likewise. */
void vug_attr_label(const vug_node *node, vug_buf *to);
/* Same op and attributes, apart from slots; a layer is counted from the node's own. */
bool vug_attr_alike(const vug_node *a, const vug_node *b);

/* ---- text (dump.c) --------------------------------------------------------- */

/* The node's line of vug_graph_text, without the newline. */
void vug_node_text(const vug_graph *g, uint32_t id, vug_buf *to);
/* Escaped, and cut to `columns` with an ellipsis; `columns` < 0: whole. */
void vug_put_xml(vug_buf *to, const char *text, int columns);
/* Columns of a fixed-width font that `text` takes. */
int vug_columns(const char *text);

/* ---- layers that are alike (fold.c) ---------------------------------------- */

/* Layers of one kind compute the same thing with other weights. Nodes outside
 * the layers have no place in it. Everything lives in the arena it was made in. */
typedef struct {
    uint32_t *node;    /* ids, layer by layer, ascending within each */
    uint32_t *start;   /* [n_layers + 1]: layer i's are node[start[i]] .. node[start[i+1]-1] */
    uint32_t *ordinal; /* [nodes of the graph]: the place within its layer */
    int *kind;         /* [n_layers] */
    int *first;        /* [n_kinds]: the first layer of each kind */
    int *last;         /* [n_kinds] */
    int *count;        /* [n_kinds]: layers of each kind */
    int n_layers, n_kinds;
} vug_fold;

/* False when out of memory. */
bool vug_fold_make(const vug_graph *g, vug_arena *arena, vug_fold *out);
/* "layers 0-4, 6-10 and 12": those of `kind` from layer `from` up to, not
 * including, layer `to`. */
void vug_fold_list(const vug_fold *fold, int kind, int from, int to, vug_buf *out);

static inline bool vug_in_layer(const vug_fold *fold, const vug_node *node)
{
    return node->layer >= 0 && node->layer < fold->n_layers;
}

#endif
