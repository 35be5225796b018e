/* Layers on two devices: the device, its weights, and the vtable. */
#include "engine/layer_split_state.h"

#include <stdio.h>

/* ---- describing -------------------------------------------------------------------- */

/* The second device, where most of the work should be, with the threads of the first one. */
static vug_device_info describe_split(const vug_device *device)
{
    const vug_split_device *d = vug_split_device_of(device);
    const vug_split_part *part = d->part;
    const vug_device_info first = part[0].backend->describe(part[0].device);
    vug_device_info info = part[1].backend->describe(part[1].device);
    char second[sizeof(info.description)];
    memcpy(second, info.description, sizeof(second));
    (void)snprintf(info.description, sizeof(info.description), "%.60s; first %d layers: %.40s",
                   second, d->layer, first.description);
    if (info.threads == 0)
        info.threads = first.threads;
    return info;
}

/* Of the second device, which has the less. */
static uint64_t split_memory_available(const vug_device *device)
{
    const vug_split_part *second = &vug_split_device_of(device)->part[1];
    return second->backend->memory_available(second->device);
}

static vug_device_memory split_memory_used(const vug_device *device)
{
    const vug_split_part *second = &vug_split_device_of(device)->part[1];
    return second->backend->memory_used ? second->backend->memory_used(second->device)
                                        : (vug_device_memory){ 0 };
}

/* ---- weights ----------------------------------------------------------------------- */

static void destroy_weights(vug_device_weights *weights)
{
    const vug_split_weights *w = vug_split_weights_of(weights);
    for (int p = 0; w && p < 2; p++) {
        if (w->part[p])
            w->device->part[p].backend->weights_destroy(w->part[p]);
    }
    vug_free(weights);
}

/* The second device gets the weights that it reads. The first one gets all: it reads them where they
 * are mapped. */
static vug_status create_parts(vug_split_weights *w, const vug_weight *weight, size_t n,
                               vug_err *err)
{
    const vug_split_part *part = w->device->part;
    vug_weight *second = vug_alloc_zero(n, sizeof(*second));
    if (!second)
        return VUG_FAIL_NOMEM(err, "the table of weights", n * sizeof(*second));
    for (size_t i = 0; i < n; i++) {
        if (i < w->device->n_slots && w->device->second_reads[i])
            second[i] = weight[i];
    }
    vug_status st = part[1].backend->weights_create(part[1].device, second, n, &w->part[1], err);
    if (st == VUG_OK)
        st = part[0].backend->weights_create(part[0].device, weight, n, &w->part[0], err);
    vug_free(second);
    return st;
}

static vug_status create_weights(vug_device *device, const vug_weight *weight, size_t n,
                                 vug_device_weights **out, vug_err *err)
{
    vug_split_weights *w = vug_alloc_zero(1, sizeof(*w));
    if (!w)
        return VUG_FAIL_NOMEM(err, "the device's weights", sizeof(*w));
    w->device = vug_split_device_of(device);
    const vug_status st = create_parts(w, weight, n, err);
    *out = (vug_device_weights *)(void *)w;
    if (st != VUG_OK) {
        destroy_weights(*out);
        *out = NULL;
    }
    return st;
}

static vug_status load_weights(vug_device_weights *weights, vug_err *err)
{
    const vug_split_weights *w = vug_split_weights_of(weights);
    for (int p = 0; p < 2; p++) {
        const vug_backend *b = w->device->part[p].backend;
        if (b->weights_load)
            VUG_TRY(b->weights_load(w->part[p], err));
    }
    return VUG_OK;
}

static uint64_t count_weights(const vug_device_weights *weights)
{
    const vug_split_weights *w = vug_split_weights_of(weights);
    const vug_split_part *part = w->device->part;
    return part[0].backend->weights_bytes(w->part[0]) + part[1].backend->weights_bytes(w->part[1]);
}

static uint64_t count_decoded_weights(const vug_device_weights *weights)
{
    const vug_split_weights *w = vug_split_weights_of(weights);
    uint64_t bytes = 0;
    for (int p = 0; p < 2; p++) {
        const vug_backend *b = w->device->part[p].backend;
        bytes += b->weights_decoded ? b->weights_decoded(w->part[p]) : 0;
    }
    return bytes;
}

/* ---- opening ----------------------------------------------------------------------- */

static void close_split(vug_device *device)
{
    vug_split_device *d = (vug_split_device *)(void *)device;
    for (int p = 0; d && p < 2; p++)
        d->part[p].backend->close(d->part[p].device);
    if (d)
        vug_free(d->second_reads);
    vug_free(d);
}

/* Finds the weights that the second part of the model's graph reads. */
static vug_status find_second_weights(vug_split_device *d, const vug_graph *graph, vug_err *err)
{
    vug_cut cut;
    VUG_TRY(vug_cut_layers(graph, d->layer, &cut, err));
    const vug_graph *g = &cut.part[1].graph;
    for (uint32_t i = 1; i < graph->n; i++) {
        const vug_node *node = &graph->node[i];
        const size_t end = node->op == VUG_OP_PARAM
                                   ? (size_t)(node->at.param.slot + vug_param_slots(node))
                                   : 0;
        d->n_slots = end > d->n_slots ? end : d->n_slots;
    }
    d->second_reads = vug_alloc_zero(d->n_slots, sizeof(*d->second_reads));
    for (uint32_t i = 1; d->second_reads && i < g->n; i++) {
        const vug_node *node = &g->node[i];
        for (int64_t k = 0; node->op == VUG_OP_PARAM && k < vug_param_slots(node); k++)
            d->second_reads[node->at.param.slot + k] = true;
    }
    vug_cut_release(&cut);
    return d->second_reads ? VUG_OK : VUG_FAIL_NOMEM(err, "the weights of a device", d->n_slots);
}

static vug_backend make_backend(const vug_split_device *d)
{
    const vug_backend *first = d->part[0].backend, *second = d->part[1].backend;
    return (vug_backend){
        .name = d->name,
        .batch_invariant = first->batch_invariant && second->batch_invariant,
        .logit_error = second->logit_error,
        .close = close_split,
        .describe = describe_split,
        .memory_available = split_memory_available,
        .memory_used = split_memory_used,
        .weights_create = create_weights,
        .weights_load = load_weights,
        .weights_destroy = destroy_weights,
        .weights_bytes = count_weights,
        .weights_decoded = count_decoded_weights,
        .compile = vug_split_compile,
        .release = vug_split_release,
        .sizes = vug_split_sizes,
        .note = vug_split_note,
        .screens_logits = vug_split_screens_logits,
        .draws_tokens = vug_split_draws_tokens,
        .kv_layout = vug_split_kv_layout,
        .kv_page_bytes = vug_split_kv_page_bytes,
        .kv_create = vug_split_kv_create,
        .kv_destroy = vug_split_kv_destroy,
        .kv_commit = vug_split_kv_commit,
        .kv_discard = vug_split_kv_discard,
        .kv_copy = vug_split_kv_copy,
        .kv_read = vug_split_kv_read,
        .kv_write = vug_split_kv_write,
        .workspace_create = vug_split_workspace_create,
        .workspace_destroy = vug_split_workspace_destroy,
        .run = vug_split_run,
    };
}

vug_status vug_layer_split_open(const vug_split_part part[2], const vug_graph *graph, int layer,
                                vug_device **out, vug_err *err)
{
    vug_split_device *d = vug_alloc_zero(1, sizeof(*d));
    if (!d) {
        part[0].backend->close(part[0].device);
        part[1].backend->close(part[1].device);
        return VUG_FAIL_NOMEM(err, "the devices", sizeof(*d));
    }
    d->part[0] = part[0];
    d->part[1] = part[1];
    d->layer = layer;
    /* Pages on disk are of the devices that their layers were on. */
    (void)snprintf(d->name, sizeof(d->name), "%.20s, %.20s from layer %d on", part[0].backend->name,
                   part[1].backend->name, layer);
    d->backend = make_backend(d);
    const vug_status st = find_second_weights(d, graph, err);
    if (st != VUG_OK) {
        close_split((vug_device *)(void *)d);
        return st;
    }
    *out = (vug_device *)(void *)d;
    return VUG_OK;
}

const vug_backend *vug_layer_split_backend(const vug_device *split)
{
    return &vug_split_device_of(split)->backend;
}

int vug_layer_split_layer(const vug_device *split)
{
    return vug_split_device_of(split)->layer;
}
