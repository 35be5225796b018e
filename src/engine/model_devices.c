/* The devices of a model: one, or the CPU for the first layers and another one for the last. */
#include "engine/internal.h"

#include <stdio.h>

#include "engine/layer_split.h"
#include "vug/stats.h"

/* ---- placements -------------------------------------------------------------------- */

int64_t vug_model_least_layers(const vug_model *m)
{
    const vug_config *c = &m->checkpoint.config;
    int64_t first = c->n_layers - 1;
    for (int64_t i = 0; i < c->n_layers; i++) {
        const int64_t back = c->layer[i].kv_layers_back;
        if (back > 0 && i - back < first)
            first = i - back;
    }
    return c->n_layers - first;
}

/* Layers whose experts can still go to the CPU. */
static int64_t movable_experts(const vug_model *m, int64_t cpu_experts)
{
    const vug_config *c = &m->checkpoint.config;
    return c->n_experts > 0 && cpu_experts < c->n_layers ? c->n_layers - cpu_experts : 0;
}

int64_t vug_model_placements(const vug_model *m, int64_t cpu_experts)
{
    const int64_t all = m->checkpoint.config.n_layers + 1, least = vug_model_least_layers(m);
    return movable_experts(m, cpu_experts) + (all - least + 1) + 1;
}

vug_placement vug_model_placement(const vug_model *m, int64_t cpu_experts, int64_t i)
{
    const int64_t all = m->checkpoint.config.n_layers + 1, least = vug_model_least_layers(m);
    const int64_t movable = movable_experts(m, cpu_experts);
    const int64_t layers = i > movable ? all - (i - movable) : all;
    return (vug_placement){ .layers = layers < least ? 0 : layers,
                            .cpu_experts = cpu_experts + (i < movable ? i : movable) };
}

/* ---- opening ----------------------------------------------------------------------- */

static vug_status open_split(vug_model *m, const vug_backend *backend,
                             const vug_device_options *options, int64_t layers, vug_err *err)
{
    const int64_t n_layers = m->checkpoint.config.n_layers, least = vug_model_least_layers(m);
    vug_split_part part[2] = { { .backend = vug_backend_host() }, { .backend = backend } };
    vug_graph graph;
    if (layers < least)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "gpu_layers: %lld, expected none or at least %lld: later layers read the "
                        "keys and values of layer %lld",
                        (long long)layers, (long long)least, (long long)(n_layers - least));
    VUG_TRY(part[0].backend->open(options, &part[0].device, err));
    vug_status st = backend->open(options, &part[1].device, err);
    if (st != VUG_OK) {
        part[0].backend->close(part[0].device);
        return st;
    }
    st = vug_model_build_graph(&m->checkpoint.binding, false, &graph, err);
    if (st != VUG_OK) {
        part[0].backend->close(part[0].device);
        backend->close(part[1].device);
        return st;
    }
    st = vug_layer_split_open(part, &graph, (int)(n_layers - layers), &m->device, err);
    vug_graph_release(&graph);
    if (st == VUG_OK)
        m->backend = vug_layer_split_backend(m->device);
    return st;
}

/* Whether there is anything to move: some layers of a mixture may have no experts. */
static bool moves_slots(const vug_model *m)
{
    const vug_binding *binding = &m->checkpoint.binding;
    for (size_t i = 0; i < binding->n_slots; i++) {
        if (binding->tensor[i] && vug_model_moves_slot(m, i))
            return true;
    }
    return false;
}

/* The experts of layers that are not on the device are on the CPU anyway. */
static vug_status open_experts(vug_model *m, const vug_device_options *options,
                               vug_placement placement, vug_err *err)
{
    const int64_t n = m->checkpoint.config.n_layers;
    const int64_t first = placement.layers < n ? n - placement.layers : 0;
    const int64_t end = placement.cpu_experts < n ? placement.cpu_experts : n;
    m->experts.first = (int)first;
    m->experts.end = (int)end;
    if (!moves_slots(m))
        return VUG_OK;
    return vug_backend_host()->open(options, &m->experts.cpu, err);
}

vug_status vug_model_open_device(vug_model *m, const vug_backend *backend,
                                 const vug_device_options *options, vug_placement placement,
                                 vug_err *err)
{
    VUG_TRY(open_experts(m, options, placement, err));
    m->is_split = placement.layers > 0 && placement.layers <= m->checkpoint.config.n_layers;
    if (m->is_split)
        return open_split(m, backend, options, placement.layers, err);
    m->backend = placement.layers > 0 ? backend : vug_backend_host();
    return m->backend->open(options, &m->device, err);
}

void vug_model_close_device(vug_model *m)
{
    if (m->device)
        m->backend->close(m->device);
    if (m->experts.cpu)
        vug_backend_host()->close(m->experts.cpu);
    m->device = NULL;
    m->experts = (vug_model_experts){ 0 };
}

/* ---- describing -------------------------------------------------------------------- */

/* Says which layers run where; nothing if all run on one device. */
static void describe_layers(const vug_model *m, const vug_backend *backend, int64_t layers,
                            vug_buf *to)
{
    const int64_t n = m->checkpoint.config.n_layers;
    if (layers == 0)
        vug_buf_puts(to, "all layers run on the CPU");
    else if (layers == n)
        vug_buf_printf(to, "all layers run on %s, the embedding on the CPU", backend->name);
    else if (layers < n)
        vug_buf_printf(to, "%lld of %lld layers run on %s, the first %lld on the CPU",
                       (long long)layers, (long long)n, backend->name, (long long)(n - layers));
}

void vug_model_describe_placement(vug_model *m, const vug_backend *backend, int64_t layers,
                                  bool lacks_memory)
{
    vug_buf note = { 0 };
    if (layers > 0 || lacks_memory)
        describe_layers(m, backend, layers, &note);
    if (m->experts.cpu)
        vug_buf_printf(&note, "%sthe CPU computes the experts of %d of %lld layers",
                       note.len > 0 ? "; " : "",
                       vug_host_experts_count(m->main.compiled.host_experts),
                       (long long)m->checkpoint.config.n_layers);
    if (lacks_memory)
        vug_buf_printf(&note, ": there is too little memory for more on %s", backend->name);
    if (m->info.note)
        vug_buf_printf(&note, "%s%s", note.len > 0 ? "; " : "", m->info.note);
    (void)snprintf(m->placement, sizeof(m->placement), "%.*s", (int)note.len,
                   note.ptr ? note.ptr : "");
    m->info.note = m->placement[0] ? m->placement : NULL;
    vug_buf_release(&note);
}

/* ---- parts ------------------------------------------------------------------------- */

static bool reads_slot(const vug_graph *g, size_t slot)
{
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (node->op == VUG_OP_PARAM && (size_t)node->at.param.slot <= slot &&
            slot < (size_t)(node->at.param.slot + vug_param_slots(node)))
            return true;
    }
    return false;
}

static uint64_t count_weights(const vug_model *m, const vug_graph *g)
{
    const vug_binding *binding = &m->checkpoint.binding;
    uint64_t bytes = 0;
    for (size_t i = 0; i < binding->n_slots; i++) {
        if (binding->tensor[i] && reads_slot(g, i))
            bytes += vug_model_slot_bytes(m, i);
    }
    return bytes;
}

size_t vug_model_part_count(const vug_model *m)
{
    return 1U + (m->is_split ? 1U : 0U) + (m->experts.cpu ? 1U : 0U);
}

static vug_model_part part_of_experts(const vug_model *m)
{
    const vug_host_experts *experts = m->main.compiled.host_experts;
    vug_model_part part = { .device = vug_backend_host()->name,
                            .n_expert_layers = vug_host_experts_count(experts),
                            .buffers = vug_host_experts_bytes(experts) };
    for (size_t i = 0; i < m->checkpoint.binding.n_slots; i++) {
        if (m->checkpoint.binding.tensor[i] && vug_model_moves_slot(m, i))
            part.weights += vug_model_slot_bytes(m, i);
    }
    return part;
}

vug_model_part vug_model_part_at(const vug_model *m, size_t i)
{
    const int64_t n = m->checkpoint.config.n_layers;
    const vug_compiled *main = &m->main.compiled;
    if (m->experts.cpu && i + 1 == vug_model_part_count(m))
        return part_of_experts(m);
    if (!m->is_split)
        return (vug_model_part){ .device = m->backend->name,
                                 .n_layers = n,
                                 .weights = count_weights(m, &main->fused),
                                 .session_cache = m->info.memory.session_cache,
                                 .buffers = m->backend->sizes(main->program).workspace_bytes };
    const vug_split_share share = vug_layer_split_share(main->program, (int)i);
    const int first = vug_layer_split_layer(m->device);
    const vug_kv_layout *layout = m->backend->kv_layout(main->program);
    return (vug_model_part){
        .device = share.backend->name,
        .first_layer = i == 0 ? 0 : first,
        .n_layers = i == 0 ? first : n - first,
        .weights = count_weights(m, share.graph),
        .session_cache =
                vug_kv_sequence_bytes_on(m->backend, m->device, layout, &m->limits, (int)i),
        .buffers = share.program.workspace_bytes,
    };
}
