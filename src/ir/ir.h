#ifndef VUG_IR_IR_H
#define VUG_IR_IR_H

/*
 * The graph: an append-only list of nodes in which every node refers only to
 * earlier ones, so index order is a topological order. Shapes are inferred as
 * nodes are appended and may hold symbols for what only a step knows.
 */

#include "core/mem.h"
#include "ir/dtype.h"

#define VUG_MAX_DIMS    4
#define VUG_MAX_INPUTS  5
#define VUG_MAX_NODES   16384
#define VUG_MAX_LAYERS  1024
#define VUG_MAX_OUTPUTS 1100 /* every layer's hidden state and some more */

/* Symbolic dimensions; all others are positive. */
#define VUG_DIM_T ((int64_t)-1) /* tokens in the step */
#define VUG_DIM_R ((int64_t)-2) /* rows whose outputs are wanted */

typedef enum {
#define OP(id, name, n_in, attrs, rule) VUG_OP_##id,
#include "ir/ops.def"
#undef OP
    VUG_OP_COUNT
} vug_op;

typedef struct {
    int rank;
    int64_t dim[VUG_MAX_DIMS];
} vug_shape;

typedef enum { VUG_INPUT_TOKENS, VUG_INPUT_POSITIONS, VUG_INPUT_ROWS } vug_input;

typedef struct {
    int slot; /* index of the weight in the order the model declares them; of one that is
               * [N,out,in], the first of N, one for each expert */
    vug_dtype dtype;
} vug_attr_param;
typedef struct {
    vug_input which;
} vug_attr_input;
typedef struct {
    float eps;
    float bias; /* added to the weight: 1 for Gemma's (1 + w) */
} vug_attr_norm;
/* Angle of pair i at position p: p * inv[i], products in F32 as the reference
 * computes them. The table's row holds dims/2 cosines, then dims/2 sines, each
 * times `factor`. */
typedef struct {
    int dims;
    const float *inv; /* [dims/2], in the graph's arena */
    float factor;
} vug_attr_table;
/* Query i sees key j iff j <= i and, with a window, i - j < window. */
typedef struct {
    int layer;      /* whose cache it appends to; of ATTEND: whose it reads */
    int64_t window; /* tokens; 0: all */
    float scale;    /* of q.k */
    float softcap;  /* tanh(s / softcap) * softcap after the scale; 0: none */
} vug_attr_attn;
typedef struct {
    float by;
} vug_attr_scale;
typedef struct {
    int count;
} vug_attr_heads;
/* The `count` largest logits, the lower index first among equals; their softmax over
 * all experts or, renormalised, over the chosen ones. A row of the route holds the
 * indices as numbers, the best first, then as many weights. */
typedef struct {
    int count;
    bool renormalise;
} vug_attr_router;
/* Sum over the route of weight * down(activation(gate x) * up x), the best first. */
typedef struct {
    vug_op activation; /* VUG_OP_GELU, .. */
} vug_attr_experts;
typedef struct {
    int index;
} vug_attr_head;
typedef struct {
    int unused;
} vug_attr_none;

/* A node's index in its graph. 0 is reserved and means "no value". */
typedef struct {
    uint32_t id;
} vug_val;

typedef struct {
    vug_op op;
    vug_val in[VUG_MAX_INPUTS];
    vug_shape shape;
    int layer;        /* it belongs to; -1: outside the layers */
    const char *name; /* of the value, such as "attn_q"; may be NULL; in the graph's arena */
    union {
        vug_attr_none none;
        vug_attr_param param;
        vug_attr_input input;
        vug_attr_norm norm;
        vug_attr_table table;
        vug_attr_attn attn;
        vug_attr_scale scale;
        vug_attr_heads heads;
        vug_attr_router router;
        vug_attr_experts experts;
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

int vug_op_inputs(vug_op op);
const char *vug_op_name(vug_op op);

/* Appends `node` after checking arity and inferring its shape (declared ones are
 * taken from node->shape). Copies name and tables into the graph's arena. */
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

/* Slots of a PARAM node, from at.param.slot on: one, or one for each expert. */
static inline int64_t vug_param_slots(const vug_node *param)
{
    return param->shape.rank == 3 ? param->shape.dim[0] : 1;
}

/* Elements of a shape with the symbols replaced; sizes were checked on append,
 * and T, R are at most 2^20. */
int64_t vug_shape_elements(const vug_shape *shape, int64_t tokens, int64_t rows);
bool vug_shape_equal(const vug_shape *a, const vug_shape *b);
/* "[T,4,256]" into a buffer of at least 96 bytes; returns it. */
const char *vug_shape_text(const vug_shape *shape, char *buffer);

/* ---- dumps (ir/dump.c, ir/draw.c) ----------------------------------------- */

/* One line per node; two equal graphs give equal text. */
void vug_graph_text(const vug_graph *g, vug_buf *to);
void vug_graph_dot(const vug_graph *g, vug_buf *to);
/* A drawing for a person: layers grouped, equal consecutive layers folded. */
void vug_graph_svg(const vug_graph *g, vug_buf *to);

#endif
