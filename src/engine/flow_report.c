/* Verifies flows, writes them as text or pictures, and reports what the passes do to them. */
#include "drawing/drawing.h"
#include "engine/internal.h"

vug_status vug_flow_check_usable(const vug_flow *f, vug_err *err)
{
    if (f->st != VUG_OK && err)
        *err = f->err;
    return f->st;
}

vug_graph *vug_flow_graph(vug_flow *f)
{
    return &((vug_flow_object *)(void *)f)->graph;
}

vug_status vug_flow_verify(const vug_flow *f, vug_err *err)
{
    const vug_flow_object *flow = vug_flow_object_of(f);
    vug_graph fused = { 0 };
    VUG_TRY(vug_flow_check_usable(f, err));
    VUG_TRY(vug_graph_verify(&flow->graph, err));
    const vug_status st = vug_fuse_with(&flow->graph, &flow->profile, &fused, NULL, err);
    vug_graph_release(&fused);
    return st;
}

vug_status vug_graph_write(const vug_graph *g, vug_graph_format format, vug_text *out, vug_err *err)
{
    vug_buf text = { 0 };
    switch (format) {
    case VUG_GRAPH_TEXT:
        vug_graph_text(g, &text);
        break;
    case VUG_GRAPH_DOT:
        vug_graph_dot(g, &text);
        break;
    case VUG_GRAPH_SVG:
        vug_graph_svg(g, &text);
        break;
    default:
        return VUG_FAIL(err, VUG_ARGUMENT, "graph format %d is not known", (int)format);
    }
    return vug_buf_take(&text, out, err);
}

vug_status vug_flow_text(const vug_flow *f, vug_graph_format format, bool fused, vug_text *out,
                         vug_err *err)
{
    const vug_flow_object *flow = vug_flow_object_of(f);
    if (!fused)
        return vug_graph_write(&flow->graph, format, out, err);
    vug_graph g = { 0 };
    VUG_TRY(vug_fuse_with(&flow->graph, &flow->profile, &g, NULL, err));
    const vug_status st = vug_graph_write(&g, format, out, err);
    vug_graph_release(&g);
    return st;
}

/* ---- passes ------------------------------------------------------------------------ */

vug_flow_memory vug_flow_count_memory(const vug_flow_object *flow, const vug_compiled *compiled)
{
    const vug_program_sizes sizes = compiled->backend->sizes(compiled->program);
    vug_flow_memory bytes = {
        .weights = flow->model->info.memory.weights_mapped +
                   compiled->backend->weights_bytes(flow->model->weights),
        .program = sizes.program_bytes,
        .cache = vug_kv_sequence_bytes(compiled->backend, flow->model->device,
                                       compiled->backend->kv_layout(compiled->program),
                                       &compiled->limits),
        .buffers = sizes.workspace_bytes + vug_host_experts_bytes(compiled->host_experts),
    };
    bytes.total = bytes.weights + bytes.program + bytes.buffers +
                  bytes.cache * (uint64_t)flow->options.max_batch;
    return bytes;
}

/* Without a model, the sizes of the weights are not known. */
static vug_status report_memory(const vug_flow_object *flow, vug_buf *to, vug_err *err)
{
    vug_compiled compiled;
    vug_buf_puts(to, "memory\n");
    if (flow->model) {
        VUG_TRY(vug_compile_flow(flow->model, &flow->graph, &flow->profile, &flow->limits,
                                 &compiled, err));
        const vug_flow_memory bytes = vug_flow_count_memory(flow, &compiled);
        vug_compiled_release(&compiled);
        vug_buf_printf(to,
                       "  %.1f MB: weights %.1f, program %.1f, caches %lld x %.1f, "
                       "buffers %.1f\n",
                       (double)bytes.total / 1e6, (double)bytes.weights / 1e6,
                       (double)bytes.program / 1e6, (long long)flow->options.max_batch,
                       (double)bytes.cache / 1e6, (double)bytes.buffers / 1e6);
    }
    if (flow->profile.budget)
        vug_buf_printf(to, "  the budget is %.1f MB\n", (double)flow->profile.budget / 1e6);
    else
        vug_buf_puts(to, "  no budget\n");
    return VUG_OK;
}

static vug_status report_passes(const vug_flow_object *flow, vug_buf *to, vug_err *err)
{
    const vug_limits *limits = &flow->limits;
    vug_graph g = { 0 };
    vug_plan plan = { 0 };
    vug_buf_printf(to, "profile %s\n", flow->profile.name);
    VUG_TRY(vug_fuse_with(&flow->graph, &flow->profile, &g, to, err));
    const vug_status st =
            vug_plan_init(&g, limits->batch, limits->rows, VUG_PLAN_ALIGN, &plan, err);
    if (st == VUG_OK)
        vug_plan_report(&g, &plan, limits->batch, limits->rows, to);
    vug_plan_release(&plan);
    vug_graph_release(&g);
    VUG_TRY(st);
    if (flow->profile.tile_rows || flow->profile.kv)
        vug_buf_puts(to, "attention\n");
    if (flow->profile.tile_rows)
        vug_buf_printf(to, "  tiles of at most %d rows\n", flow->profile.tile_rows);
    if (flow->profile.kv)
        vug_buf_printf(to, "  keys and values in %s\n", vug_kv_format_name(flow->profile.kv));
    if (flow->profile.activations != VUG_ACTIVATIONS_Q8)
        vug_buf_printf(to, "precision\n  activations in %s\n",
                       vug_activations_name(flow->profile.activations));
    return report_memory(flow, to, err);
}

vug_status vug_flow_passes(const vug_flow *f, vug_text *out, vug_err *err)
{
    vug_buf text = { 0 };
    vug_status st = report_passes(vug_flow_object_of(f), &text, err);
    if (st == VUG_OK)
        st = vug_buf_take(&text, out, err);
    vug_buf_release(&text);
    return st;
}
