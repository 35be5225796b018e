/* What ops.def says of each operation. */
#include "ir/ir.h"

static const struct {
    const char *name;
    vug_op_class class;
    bool fused;
    const char *operands;
} ops[VUG_OP_COUNT] = {
#define MODEL     false
#define FUSION    true
#define PLACEMENT false
#define OP(id, name, class, by, operands, attrs, rule) \
    [VUG_OP_##id] = { #name, VUG_CLASS_##class, by, operands },
#include "ir/ops.def"
#undef OP
#undef MODEL
#undef FUSION
#undef PLACEMENT
};

const char *vug_op_name(vug_op op)
{
    return ops[op].name;
}

vug_op_class vug_op_class_of(vug_op op)
{
    return ops[op].class;
}

bool vug_op_is_fused(vug_op op)
{
    return ops[op].fused;
}

const char *vug_node_operands(const vug_node *node)
{
    static const char *const shared[2] = { "x", "xd" };
    static const char *const own[2][2] = { { "xxx", "xxxd" }, { "xxxdd", "xxxddd" } };
    const vug_attr_attention *at = &node->at.attn;
    if (node->op != VUG_OP_ATTENTION)
        return ops[node->op].operands;
    return at->shared ? shared[at->mask] : own[at->past][at->mask];
}

int vug_node_inputs(const vug_node *node)
{
    return (int)strlen(vug_node_operands(node));
}
