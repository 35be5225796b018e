/* From a bound checkpoint to a program on a device. */
#include "engine/engine.h"

enum { ALIGN = 64 }; /* of planned values: a cache line, and every vector type */

static vug_status compile_bound(vug_compiled *c, vug_device *device, const vug_binding *binding,
                                vug_err *err)
{
    vug_weight *weight = vug_alloc_zero(binding->n_slots, sizeof(*weight));
    if (!weight)
        return VUG_FAIL_NOMEM(err, "the table of weights", binding->n_slots * sizeof(*weight));
    for (size_t i = 0; i < binding->n_slots; i++) {
        const vug_tensor *t = binding->tensor[i];
        if (t)
            weight[i] = (vug_weight){ t->name.ptr, t->dtype, t->data + binding->offset[i] };
    }
    const vug_status st =
            c->backend->compile(device, &c->fused, &c->plan, weight, &c->limits, &c->program, err);
    vug_free(weight);
    return st;
}

vug_status vug_compile(const vug_backend *backend, vug_device *device, const vug_binding *binding,
                       const vug_limits *limits, bool hidden, vug_compiled *out, vug_err *err)
{
    /* In place: the program borrows graph and plan from where they stay. */
    *out = (vug_compiled){ .backend = backend, .limits = *limits };
    vug_status st = vug_model_build(binding, hidden, &out->graph, err);
    if (st == VUG_OK)
        st = vug_fuse(&out->graph, &out->fused, err);
    if (st == VUG_OK)
        st = vug_plan_make(&out->fused, limits->batch, limits->rows, ALIGN, &out->plan, err);
    if (st == VUG_OK)
        st = compile_bound(out, device, binding, err);
    if (st != VUG_OK)
        vug_compiled_release(out);
    return st;
}

void vug_compiled_release(vug_compiled *c)
{
    if (c->program)
        c->backend->release(c->program);
    vug_plan_release(&c->plan);
    vug_graph_release(&c->fused);
    vug_graph_release(&c->graph);
    *c = (vug_compiled){ 0 };
}
