/* Gives a device the weights of a checkpoint, and compiles graphs over them to programs. */
#include "engine/internal.h"

enum { ALIGN = VUG_PLAN_ALIGN };

/* The slot's weight; its tensor may contain several matrices. */
static vug_weight bound_weight(const vug_binding *binding, size_t slot)
{
    const vug_tensor *t = binding->tensor[slot];
    const vug_shape shape = vug_weight_slot_at(binding->config, slot).shape;
    vug_weight w = { .name = t->name.ptr,
                     .dtype = t->dtype,
                     .rows = shape.rank > 1 ? shape.dim[0] : 1,
                     .columns = shape.dim[shape.rank - 1],
                     .data = t->data };
    if (t->rank >= 2) {
        const vug_matrix m = vug_tensor_matrix_at(t, binding->row[slot]);
        w.data = m.data;
        w.scales = m.scales;
    }
    return w;
}

bool vug_model_moves_slot(const vug_model *m, size_t i)
{
    const vug_weight_slot slot = vug_weight_slot_at(&m->checkpoint.config, i);
    return slot.expert >= 0 && slot.layer >= m->experts.first && slot.layer < m->experts.end;
}

/* Gives a device the weights that are moved to the CPU, or all others. */
static vug_status create_weights(const vug_model *m, const vug_backend *backend, vug_device *device,
                                 bool moved, vug_device_weights **out, vug_err *err)
{
    const vug_binding *binding = &m->checkpoint.binding;
    vug_weight *weight = vug_alloc_zero(binding->n_slots, sizeof(*weight));
    if (!weight)
        return VUG_FAIL_NOMEM(err, "the table of weights", binding->n_slots * sizeof(*weight));
    for (size_t i = 0; i < binding->n_slots; i++) {
        if (binding->tensor[i] && vug_model_moves_slot(m, i) == moved)
            weight[i] = bound_weight(binding, i);
    }
    const vug_status st = backend->weights_create(device, weight, binding->n_slots, out, err);
    vug_free(weight);
    return st;
}

vug_status vug_model_create_weights(vug_model *m, vug_err *err)
{
    if (m->experts.cpu)
        VUG_TRY(create_weights(m, vug_backend_host(), m->experts.cpu, true, &m->experts.weights,
                               err));
    return create_weights(m, m->backend, m->device, false, &m->weights, err);
}

/* Fuses a graph whose experts are moved to the CPU. */
static vug_status fuse_without_experts(const vug_model *m, const vug_graph *graph,
                                       const vug_profile *profile, vug_compiled *c, vug_err *err)
{
    const vug_model_experts *experts = &m->experts;
    vug_graph moved;
    const vug_host_experts_spec spec = { .cpu = experts->cpu,
                                         .weights = experts->weights,
                                         .graph = graph,
                                         .first = experts->first,
                                         .end = experts->end,
                                         .activations = profile->activations,
                                         .limits = c->limits };
    VUG_TRY(vug_host_experts_create(&spec, &c->host_experts, err));
    VUG_TRY(vug_move_experts(graph, experts->first, experts->end, &moved, err));
    const vug_status st = vug_fuse_with(&moved, profile, &c->fused, NULL, err);
    vug_graph_release(&moved);
    return st;
}

/* Runs the passes over `graph` and compiles the result for the device. */
static vug_status compile_graph(const vug_model *m, const vug_graph *graph,
                                const vug_profile *profile, vug_head_screen head_screen,
                                vug_compiled *c, vug_err *err)
{
    VUG_TRY(m->experts.cpu ? fuse_without_experts(m, graph, profile, c, err)
                           : vug_fuse_with(graph, profile, &c->fused, NULL, err));
    VUG_TRY(vug_plan_init(&c->fused, c->limits.batch, c->limits.rows, ALIGN, &c->plan, err));
    c->plan.tile_rows = profile->tile_rows;
    c->plan.kv = profile->kv;
    c->plan.activations = profile->activations;
    c->plan.head_screen = head_screen;
    c->plan.host_experts = c->host_experts;
    return c->backend->compile(m->weights, &c->fused, &c->plan, &c->limits, &c->program, err);
}

vug_status vug_compile_model(const vug_model *m, const vug_limits *limits, bool hidden,
                             vug_compiled *out, vug_err *err)
{
    /* Built in place, because the program borrows graph and plan. */
    *out = (vug_compiled){ .backend = m->backend, .limits = *limits };
    vug_status st = vug_model_build_graph(&m->checkpoint.binding, hidden, &out->graph, err);
    if (st == VUG_OK)
        st = compile_graph(m, &out->graph, &m->profile, m->head_screen, out, err);
    if (st != VUG_OK)
        vug_compiled_release(out);
    return st;
}

vug_status vug_compile_flow(const vug_model *m, const vug_graph *graph, const vug_profile *profile,
                            const vug_limits *limits, vug_compiled *out, vug_err *err)
{
    *out = (vug_compiled){ .backend = m->backend, .limits = *limits };
    const vug_status st = compile_graph(m, graph, profile, VUG_HEAD_SCREEN_OFF, out, err);
    if (st != VUG_OK)
        vug_compiled_release(out);
    return st;
}

void vug_compiled_release(vug_compiled *c)
{
    if (c->program)
        c->backend->release(c->program);
    vug_host_experts_destroy(c->host_experts);
    vug_plan_release(&c->plan);
    vug_graph_release(&c->fused);
    vug_graph_release(&c->graph);
    *c = (vug_compiled){ 0 };
}
