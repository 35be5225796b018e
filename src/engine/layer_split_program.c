/* Layers on two devices: a program is two programs. */
#include "engine/layer_split_state.h"

#include "engine/internal.h"

/* A flow may read weights of the model in other places than the model does. */
static vug_status check_second_weights(const vug_split_device *d, const vug_graph *g, vug_err *err)
{
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op != VUG_OP_PARAM || d->second_reads[node->at.param.slot])
            continue;
        return VUG_FAIL(err, VUG_UNSUPPORTED,
                        "the layers on %s do not have the weight '%s', which the graph reads there",
                        d->part[1].backend->name, node->name ? node->name : "");
    }
    return VUG_OK;
}

/* A part without outputs computes nothing that is needed. */
static vug_status compile_part(vug_split_program *p, int i, const vug_plan *whole, vug_err *err)
{
    const vug_graph *g = &p->cut.part[i].graph;
    if (g->n_outputs == 0)
        return VUG_OK;
    vug_plan *plan = &p->plan[i];
    VUG_TRY(vug_plan_init(g, p->limits.batch, p->limits.rows, VUG_PLAN_ALIGN, plan, err));
    plan->tile_rows = whole->tile_rows;
    plan->kv = whole->kv;
    plan->activations = whole->activations;
    plan->head_screen = whole->head_screen;
    plan->host_experts = whole->host_experts;
    return p->weights->device->part[i].backend->compile(p->weights->part[i], g, plan, &p->limits,
                                                        &p->part[i], err);
}

static vug_status build_program(vug_split_program *p, const vug_graph *graph, const vug_plan *plan,
                                vug_err *err)
{
    const vug_split_device *d = p->weights->device;
    VUG_TRY(vug_cut_layers(graph, d->layer, &p->cut, err));
    VUG_TRY(check_second_weights(d, &p->cut.part[1].graph, err));
    for (int i = 0; i < 2; i++)
        VUG_TRY(compile_part(p, i, plan, err));
    return vug_split_join_layouts(p, graph->n_layers, &p->layout, err);
}

vug_status vug_split_compile(vug_device_weights *weights, const vug_graph *graph,
                             const vug_plan *plan, const vug_limits *limits, vug_program **out,
                             vug_err *err)
{
    vug_split_program *p = vug_alloc_zero(1, sizeof(*p));
    if (!p)
        return VUG_FAIL_NOMEM(err, "the program", sizeof(*p));
    p->weights = vug_split_weights_of(weights);
    p->n_outputs = (int)graph->n_outputs;
    p->limits = *limits;
    const vug_status st = build_program(p, graph, plan, err);
    if (st != VUG_OK) {
        vug_split_release((vug_program *)(void *)p);
        return st;
    }
    *out = (vug_program *)(void *)p;
    return VUG_OK;
}

void vug_split_release(vug_program *program)
{
    vug_split_program *p = (vug_split_program *)(void *)program;
    for (int i = 0; p && i < 2; i++) {
        if (p->part[i])
            p->weights->device->part[i].backend->release(p->part[i]);
        vug_plan_release(&p->plan[i]);
    }
    if (p) {
        vug_cut_release(&p->cut);
        vug_kv_layout_release(&p->layout);
    }
    vug_free(p);
}

vug_split_share vug_layer_split_share(const vug_program *program, int part)
{
    const vug_split_program *p = vug_split_program_of(program);
    const vug_split_part *of = &p->weights->device->part[part];
    return (vug_split_share){
        .backend = of->backend,
        .device = of->device,
        .graph = &p->cut.part[part].graph,
        .weights = of->backend->weights_bytes(p->weights->part[part]),
        .program = p->part[part] ? of->backend->sizes(p->part[part]) : (vug_program_sizes){ 0 },
    };
}

static uint64_t graph_bytes(const vug_graph *g)
{
    return g->cap * sizeof(*g->node) + g->n * sizeof(uint64_t) + g->arena.held;
}

vug_program_sizes vug_split_sizes(const vug_program *program)
{
    vug_program_sizes sum = { 0 };
    for (int i = 0; i < 2; i++) {
        const vug_split_share share = vug_layer_split_share(program, i);
        sum.program_bytes += share.program.program_bytes + graph_bytes(share.graph);
        sum.workspace_bytes += share.program.workspace_bytes;
        sum.device_bytes += share.program.device_bytes;
    }
    return sum;
}

/* The second device is the one that the user chose. */
const char *vug_split_note(const vug_program *program)
{
    const vug_split_program *p = vug_split_program_of(program);
    const vug_backend *second = p->weights->device->part[1].backend;
    return p->part[1] && second->note ? second->note(p->part[1]) : NULL;
}

/* The last part has the logits. */
bool vug_split_screens_logits(const vug_program *program)
{
    const vug_split_program *p = vug_split_program_of(program);
    const vug_backend *second = p->weights->device->part[1].backend;
    return p->part[1] && second->screens_logits && second->screens_logits(p->part[1]);
}

bool vug_split_draws_tokens(const vug_program *program)
{
    const vug_split_program *p = vug_split_program_of(program);
    const vug_backend *second = p->weights->device->part[1].backend;
    return p->part[1] && second->draws_tokens && second->draws_tokens(p->part[1]);
}

const vug_kv_layout *vug_split_kv_layout(const vug_program *program)
{
    return &vug_split_program_of(program)->layout;
}
