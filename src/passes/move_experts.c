/* Moves the experts of some layers to the host. */
#include "passes/passes.h"

static vug_status copy_nodes(const vug_graph *in, int first, int end, vug_graph *out, vug_err *err)
{
    int moved = 0;
    for (uint32_t i = 1; i < in->n; i++) {
        vug_node node = in->node[i];
        vug_val to; /* with the number that it has in `in` */
        if (node.op == VUG_OP_EXPERTS && node.layer >= first && node.layer < end) {
            const vug_val x = node.in[0], route = node.in[1];
            node.op = VUG_OP_HOST_EXPERTS;
            memset(node.in, 0, sizeof(node.in));
            node.in[0] = x;
            node.in[1] = route;
            node.at.host_experts = (vug_attr_host_experts){ .index = moved++ };
        }
        VUG_TRY(vug_graph_append(out, &node, &to, err));
    }
    for (uint32_t i = 0; i < in->n_outputs; i++)
        VUG_TRY(vug_graph_output(out, in->output[i].name, in->output[i].value, err));
    return vug_graph_verify(out, err);
}

vug_status vug_move_experts(const vug_graph *in, int first, int end, vug_graph *out, vug_err *err)
{
    *out = (vug_graph){ .name = in->name };
    const vug_status st = copy_nodes(in, first, end, out, err);
    if (st != VUG_OK)
        vug_graph_release(out);
    return st;
}
