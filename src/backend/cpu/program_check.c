/* What the CPU supports of weights and nodes. They are checked once, when a graph is compiled, so
 * that running a step cannot fail on them. */
#include "backend/checks.h"
#include "backend/cpu/program.h"
#include "backend/host_experts.h"

#include "quant/matrix.h"

static bool is_supported_weight(const vug_cpu_kernels *kernels, const vug_weight *w)
{
    const vug_codec *codec = vug_codec_of(w->dtype);
    if (!codec->block)
        return codec->decode != NULL;
    return kernels->block[w->dtype] &&
           (codec->decode ? !w->scales.scale : vug_weight_has_mlx_scales(w));
}

vug_status vug_cpu_check_format(const vug_device_weights *weights, const vug_node *node,
                                vug_err *err)
{
    const vug_weight *w = &weights->weight[node->at.param.slot];
    for (int64_t i = 0; i < vug_param_slots(node); i++) {
        const vug_dtype_info *info = vug_dtype_of(w[i].dtype);
        if (!is_supported_weight(weights->device->kernels, &w[i]))
            return VUG_FAIL(err, VUG_UNSUPPORTED, "cpu: tensor '%s' is %s, which is not supported",
                            w[i].name, info->name);
        if (vug_cpu_last_dim(node) % info->elements != 0)
            return VUG_FAIL(err, VUG_UNSUPPORTED,
                            "cpu: tensor '%s' has rows of %lld elements, %s needs a multiple of %d",
                            w[i].name, (long long)vug_cpu_last_dim(node), info->name,
                            info->elements);
    }
    return VUG_OK;
}

vug_status vug_cpu_check_nodes(const vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    VUG_TRY(vug_check_graph("cpu", g, p->weight, p->weights->n, err));
    VUG_TRY(vug_check_host_experts("cpu", g, p->plan, err));
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op == VUG_OP_PARAM)
            VUG_TRY(vug_cpu_check_format(p->weights, node, err));
        if (vug_node_fills_cache(node) && node->shape.dim[2] > VUG_CPU_MAX_HEAD)
            return vug_reject_node("cpu", node, err, "heads are wider than 4096 elements");
    }
    return VUG_OK;
}
