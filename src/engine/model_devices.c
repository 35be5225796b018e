/* The devices of a model: one, or the CPU for the first layers and another one for the last. */
#include "engine/internal.h"

#include <stdio.h>

#include "engine/layer_split.h"
#include "vug/stats.h"

/* ---- opening ----------------------------------------------------------------------- */

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

/* The experts of layers that are not on the device are on the CPU anyway. */
static vug_status open_experts(vug_model *m, const vug_device_options *options, int64_t layers,
                               int64_t cpu_experts, vug_err *err)
{
    const int64_t n_layers = m->checkpoint.config.n_layers;
    const int64_t first = layers < n_layers ? n_layers - layers : 0;
    const int64_t end = cpu_experts < n_layers ? cpu_experts : n_layers;
    if (first >= end)
        return VUG_OK;
    m->experts.first = (int)first;
    m->experts.end = (int)end;
    return vug_backend_host()->open(options, &m->experts.cpu, err);
}

vug_status vug_model_open_device(vug_model *m, const vug_backend *backend,
                                 const vug_device_options *options, int64_t layers,
                                 int64_t cpu_experts, vug_err *err)
{
    VUG_TRY(open_experts(m, options, layers, cpu_experts, err));
    m->is_split = layers > 0 && layers <= m->checkpoint.config.n_layers;
    if (m->is_split)
        return open_split(m, backend, options, layers, err);
    m->backend = layers > 0 ? backend : vug_backend_host();
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

bool vug_model_moves_slot(const vug_model *m, size_t i)
{
    const vug_weight_slot slot = vug_weight_slot_at(&m->checkpoint.config, i);
    return slot.expert >= 0 && slot.layer >= m->experts.first && slot.layer < m->experts.end;
}

/* ---- describing -------------------------------------------------------------------- */

/* Adds a part of the note; parts are separated by semicolons. */
static void add_to_placement(vug_model *m, const char *part)
{
    const size_t used = strlen(m->placement);
    (void)snprintf(m->placement + used, sizeof(m->placement) - used, "%s%s", used ? "; " : "",
                   part);
}

static void describe_layers(vug_model *m, const vug_backend *backend, int64_t layers,
                            bool lacks_memory)
{
    const int64_t n = m->checkpoint.config.n_layers;
    char where[128];
    if (layers > n || (layers == 0 && !lacks_memory))
        return;
    if (layers == 0)
        (void)snprintf(where, sizeof(where), "all layers run on the CPU");
    else if (layers == n)
        (void)snprintf(where, sizeof(where), "all layers run on %s, the embedding on the CPU",
                       backend->name);
    else
        (void)snprintf(where, sizeof(where),
                       "%lld of %lld layers run on %s, the first %lld on the CPU",
                       (long long)layers, (long long)n, backend->name, (long long)(n - layers));
    add_to_placement(m, where);
    if (lacks_memory)
        (void)snprintf(m->placement, sizeof(m->placement),
                       "%s: there is too little memory for more on %s", where, backend->name);
}

void vug_model_describe_placement(vug_model *m, const vug_backend *backend, int64_t layers,
                                  bool lacks_memory)
{
    const char *note = m->info.note;
    m->placement[0] = '\0';
    describe_layers(m, backend, layers, lacks_memory);
    if (m->experts.cpu) {
        char where[64];
        (void)snprintf(where, sizeof(where), "the CPU computes the experts of %d of %lld layers",
                       vug_host_experts_count(m->main.compiled.host_experts),
                       (long long)m->checkpoint.config.n_layers);
        add_to_placement(m, where);
    }
    if (note)
        add_to_placement(m, note);
    m->info.note = m->placement[0] ? m->placement : NULL;
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
