#ifndef VUG_IR_IR_H
#define VUG_IR_IR_H

/*
 * The graph: an append-only list of nodes in which every node refers only to earlier
 * ones, so the order of indices is a topological order. Shapes are inferred when nodes
 * are appended; a dimension that only a step knows is a symbol. A vug_val is a node's
 * index. vug/flow.h declares shapes, symbols and the attributes of builder functions.
 */

#include "core/mem.h"
#include "ir/dtype.h"
#include "vug/flow.h"

#define VUG_MAX_INPUTS  6
#define VUG_MAX_NODES   16384
#define VUG_MAX_LAYERS  1024
#define VUG_MAX_OUTPUTS 1100 /* every layer's hidden state and some more */

typedef enum {
#define OP(id, name, class, by, operands, attrs, rule) VUG_OP_##id,
#include "ir/ops.def"
#undef OP
    VUG_OP_COUNT
} vug_op;

typedef enum {
    VUG_CLASS_LEAF,        /* computes nothing: weights, and what a step is given */
    VUG_CLASS_VIEW,        /* the bytes of its input in another shape, no copy */
    VUG_CLASS_LOOKUP,      /* row by row, out of a table of weights */
    VUG_CLASS_PRODUCT,     /* matrix products with weights */
    VUG_CLASS_ATTENTION,   /* has a cache */
    VUG_CLASS_NORM,        /* row by row */
    VUG_CLASS_ROPE,        /* row by row */
    VUG_CLASS_ROWS,        /* row by row, any other operation */
    VUG_CLASS_ELEMENTWISE, /* element by element, regardless of rows */
    VUG_CLASS_COUNT
} vug_op_class;

typedef struct {
    int slot; /* index of the weight in the order the model declares them; a weight [N,out,in]
               * has N of them, one for each expert, and this is the first */
    vug_dtype dtype;
} vug_attr_param;
typedef struct {
    vug_input which;
    int index; /* of VUG_INPUT_DATA: which of these inputs it is, in the order of the nodes */
} vug_attr_input;
/* The first four are those of vug_attr_attn. */
typedef struct {
    int layer;
    int64_t window;
    float scale;
    float softcap;
    bool shared; /* q alone, over the cache that the attention of `layer` filled before */
    bool past;   /* the past of k and v is given, as inputs 3 and 4; never with `shared` */
    bool mask;   /* a mask is given, as the last input */
} vug_attr_attention;
typedef struct {
    float by;
} vug_attr_scale;
typedef struct {
    int count;
} vug_attr_heads;
/* Sum over the route of weight * down(activation(gate x) * up x), the best first. */
typedef struct {
    vug_op activation; /* VUG_OP_GELU, .. */
} vug_attr_experts;
typedef struct {
    int index; /* of the experts in the program's vug_host_experts (backend/host_experts.h) */
} vug_attr_host_experts;
typedef struct {
    int index;
} vug_attr_head;
typedef struct {
    int unused;
} vug_attr_none;

typedef struct {
    vug_op op;
    vug_val in[VUG_MAX_INPUTS];
    int layer; /* that the node belongs to; -1: outside the layers */
    vug_shape shape;
    const char *name; /* of the value, such as "attn_q"; may be NULL; owned by the graph's arena */
    union {
        vug_attr_none none;
        vug_attr_param param;
        vug_attr_input input;
        vug_attr_norm norm;
        vug_attr_table table;
        vug_attr_attention attn;
        vug_attr_scale scale;
        vug_attr_heads heads;
        vug_attr_router router;
        vug_attr_experts experts;
        vug_attr_host_experts host_experts;
        vug_attr_head head;
    } at;
} vug_node;

typedef struct {
    const char *name; /* "logits", "hidden.3" */
    vug_val value;
} vug_output;

/* Nodes 1 .. n-1. All-zero is an empty graph. */
typedef struct {
    const char *name; /* of the architecture; borrowed, static */
    vug_node *node;
    uint32_t n, cap;
    vug_output *output;
    uint32_t n_outputs, cap_outputs;
    int n_layers;
    vug_arena arena; /* names and tables */
} vug_graph;

void vug_graph_release(vug_graph *g);

const char *vug_op_name(vug_op op);
vug_op_class vug_op_class_of(vug_op op);
/* Whether only the fusion pass creates it, never a model. */
bool vug_op_is_fused(vug_op op);
/* The kind of each input, as letters that ops.def explains. */
const char *vug_node_operands(const vug_node *node);
int vug_node_inputs(const vug_node *node);

/* Attention that fills its layer's cache. */
static inline bool vug_node_fills_cache(const vug_node *node)
{
    return node->op == VUG_OP_ATTENTION && !node->at.attn.shared;
}

/* Attention over the cache that an earlier layer filled. */
static inline bool vug_node_shares_cache(const vug_node *node)
{
    return node->op == VUG_OP_ATTENTION && node->at.attn.shared;
}

/* Attention that is given a past: its inputs 3 and 4. */
static inline bool vug_node_has_past(const vug_node *node)
{
    return node->op == VUG_OP_ATTENTION && node->at.attn.past;
}

/* Attention by a mask: its last input. */
static inline bool vug_node_has_mask(const vug_node *node)
{
    return node->op == VUG_OP_ATTENTION && node->at.attn.mask;
}

/* Appends `node` after checking its arity and inferring its shape; parameters and inputs
 * declare theirs in node->shape. Copies name and tables into the graph's arena. */
VUG_MUST_CHECK vug_status vug_graph_append(vug_graph *g, const vug_node *node, vug_val *out,
                                           vug_err *err);
VUG_MUST_CHECK vug_status vug_graph_output(vug_graph *g, const char *name, vug_val value,
                                           vug_err *err);
/* Re-derives every shape and checks every reference: run after each pass. */
VUG_MUST_CHECK vug_status vug_graph_verify(const vug_graph *g, vug_err *err);

static inline const vug_node *vug_graph_at(const vug_graph *g, vug_val v)
{
    return &g->node[v.id];
}

/* The number of slots of a PARAM node from at.param.slot on: 1, or one for each expert. */
static inline int64_t vug_param_slots(const vug_node *param)
{
    return param->shape.rank == 3 ? param->shape.dim[0] : 1;
}

/* The number of elements, with the symbols T and R replaced, which are at most 2^20. Cannot
 * overflow, because appending a node checks its size. */
int64_t vug_shape_elements(const vug_shape *shape, int64_t tokens, int64_t rows);
bool vug_shape_equal(const vug_shape *a, const vug_shape *b);
/* The number of inputs of kind VUG_INPUT_DATA. */
int vug_graph_data_count(const vug_graph *g);
/* "[T,4,256]" into a buffer of at least 96 bytes; returns it. */
const char *vug_shape_text(const vug_shape *shape, char *buffer);

/* ---- dumps (dump.c); the SVG is in src/drawing/ ------------------------------ */

/* One line per node; equal graphs give equal text. */
void vug_graph_text(const vug_graph *g, vug_buf *to);
void vug_graph_dot(const vug_graph *g, vug_buf *to);

#endif
