#ifndef VUG_IR_IR_H
#define VUG_IR_IR_H

/*
 * The graph: an append-only list of nodes in which every node refers only to
 * earlier ones, so index order is a topological order. Shapes are inferred as
 * nodes are appended and may hold symbols for what only a step knows. A vug_val
 * is a node's index. Shapes, symbols and the attributes that words take are those
 * of vug/flow.h.
 */

#include "core/mem.h"
#include "ir/dtype.h"
#include "vug/flow.h"

#define VUG_MAX_INPUTS  6
#define VUG_MAX_NODES   16384
#define VUG_MAX_LAYERS  1024
#define VUG_MAX_OUTPUTS 1100 /* every layer's hidden state and some more */

typedef enum {
#define OP(id, name, n_in, attrs, rule) VUG_OP_##id,
#include "ir/ops.def"
#undef OP
    VUG_OP_COUNT
} vug_op;

typedef struct {
    int slot; /* index of the weight in the order the model declares them; of one that is
               * [N,out,in], the first of N, one for each expert */
    vug_dtype dtype;
} vug_attr_param;
typedef struct {
    vug_input which;
    int index; /* of VUG_INPUT_DATA: among them, in the order of the nodes */
} vug_attr_input;
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
    int index;
} vug_attr_head;
typedef struct {
    int unused;
} vug_attr_none;

typedef struct {
    vug_op op;
    vug_val in[VUG_MAX_INPUTS];
    int layer; /* it belongs to; -1: outside the layers */
    vug_shape shape;
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

/* Attention that fills its layer's cache, whatever it is given besides. */
static inline bool vug_op_is_attention(vug_op op)
{
    return op == VUG_OP_ATTENTION || op == VUG_OP_ATTENTION_MASK || op == VUG_OP_ATTENTION_PAST ||
           op == VUG_OP_ATTENTION_PAST_MASK;
}

/* Attention over an earlier layer's cache. */
static inline bool vug_op_is_attend(vug_op op)
{
    return op == VUG_OP_ATTEND || op == VUG_OP_ATTEND_MASK;
}

/* Attention that is given a past: its inputs 3 and 4. */
static inline bool vug_op_has_past(vug_op op)
{
    return op == VUG_OP_ATTENTION_PAST || op == VUG_OP_ATTENTION_PAST_MASK;
}

/* Attention by a mask: its last input. */
static inline bool vug_op_has_mask(vug_op op)
{
    return op == VUG_OP_ATTENTION_MASK || op == VUG_OP_ATTENTION_PAST_MASK ||
           op == VUG_OP_ATTEND_MASK;
}

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
/* How many inputs of kind VUG_INPUT_DATA. */
int vug_graph_data_count(const vug_graph *g);
/* "[T,4,256]" into a buffer of at least 96 bytes; returns it. */
const char *vug_shape_text(const vug_shape *shape, char *buffer);

/* ---- dumps (ir/dump.c, ir/draw.c) ----------------------------------------- */

/* One line per node; two equal graphs give equal text. */
void vug_graph_text(const vug_graph *g, vug_buf *to);
void vug_graph_dot(const vug_graph *g, vug_buf *to);
/* A drawing for a person: layers grouped, equal consecutive layers folded. */
void vug_graph_svg(const vug_graph *g, vug_buf *to);

#endif
