/* Nodes that compute an element of a result from the same element of x, with one of a second operand or
 * without. */
#include "backend/cuda/launch.h"

void vug_cuda_launch_elements(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const char *kinds = vug_node_operands(node);
    vug_cuda_element_job job = { .op = node->op,
                                 .a = vug_cuda_input_at(s, node->in[0]),
                                 .out = vug_cuda_value_at(s, (vug_val){ id }),
                                 .n = rows_of(s, node) * last_dim(node),
                                 .width = last_dim(node),
                                 .launch = vug_cuda_options_of(s) };
    if (kinds[1] == 'x')
        job.b = vug_cuda_input_at(s, node->in[1]);
    else if (kinds[1] == 'v')
        job.b = vector_at(s, node->in[1]);
    if (node->op == VUG_OP_SCALE || node->op == VUG_OP_SOFTCAP)
        job.by = node->at.scale.by;
    vug_cuda_elements(stream_of(s), &job);
}
