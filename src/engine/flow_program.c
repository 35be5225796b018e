/*
 * Programs of flows: a backend's program with named inputs and outputs. The caches of its
 * sequences persist between runs, or are scratch if the past is given.
 * flow_run.c runs them.
 */
#include "engine/internal.h"

/* ---- building ---------------------------------------------------------------------- */

static bool is_input(const vug_node *node)
{
    return node->op == VUG_OP_INPUT && node->at.input.which != VUG_INPUT_ROWS;
}

static vug_status create_inputs(vug_flow_program *p, vug_err *err)
{
    const vug_graph *g = &p->compiled.fused;
    int n_data = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        p->n_in += is_input(node);
        if (is_input(node) && node->at.input.which == VUG_INPUT_DATA &&
            node->at.input.index >= n_data)
            n_data = node->at.input.index + 1;
    }
    p->in = vug_alloc_zero(p->n_in, sizeof(*p->in));
    p->data = vug_alloc_zero((size_t)n_data, sizeof(*p->data));
    p->out = vug_alloc_zero(g->n_outputs, sizeof(*p->out));
    if (!p->in || !p->data || !p->out)
        return VUG_FAIL_NOMEM(err, "a program's inputs", p->n_in * sizeof(*p->in));
    size_t at = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (!is_input(node))
            continue;
        const vug_input which = node->at.input.which;
        p->in[at++] = (vug_flow_input){ .port = { .name = node->name,
                                                  .shape = node->shape,
                                                  .integers = which != VUG_INPUT_DATA,
                                                  .optional = which == VUG_INPUT_POSITIONS },
                                        .which = which,
                                        .index = node->at.input.index };
    }
    return VUG_OK;
}

/* Finds the input whose length gives the length of a symbolic past. */
static void find_past(vug_flow_program *p)
{
    const vug_graph *g = &p->compiled.fused;
    for (uint32_t i = 1; i < g->n && !p->past_width; i++) {
        if (!vug_node_has_past(&g->node[i]))
            continue;
        const vug_node *past = vug_graph_at(g, g->node[i].in[3]);
        p->past_width = past->shape.dim[1] * past->shape.dim[2];
        while (p->in[p->past_in].index != past->at.input.index ||
               p->in[p->past_in].which != VUG_INPUT_DATA)
            p->past_in++;
    }
}

static vug_status check_budget(const vug_flow_object *flow, const vug_compiled *compiled,
                               vug_err *err)
{
    const vug_profile *profile = &flow->profile;
    const vug_flow_memory bytes = vug_flow_count_memory(flow, compiled);
    if (!profile->budget || bytes.total <= profile->budget)
        return VUG_OK;
    return VUG_FAIL(err, VUG_LIMIT,
                    "flow: the program needs %.1f MB (weights %.1f, caches %lld x %.1f, "
                    "buffers %.1f), the budget of profile %s is %.1f MB",
                    (double)bytes.total / 1e6, (double)bytes.weights / 1e6,
                    (long long)flow->options.max_batch, (double)bytes.cache / 1e6,
                    (double)bytes.buffers / 1e6, profile->name, (double)profile->budget / 1e6);
}

static vug_status create_sequences(vug_flow_program *p, vug_err *err)
{
    const vug_backend *backend = p->compiled.backend;
    const size_t n = (size_t)p->options.max_batch;
    p->cached = vug_alloc_zero(n, sizeof(*p->cached));
    p->split = vug_alloc_zero(n, sizeof(*p->split));
    p->span = vug_alloc_zero(n, sizeof(*p->span));
    p->row = vug_alloc_zero(n, sizeof(*p->row));
    if (!p->cached || !p->split || !p->span || !p->row)
        return VUG_FAIL_NOMEM(err, "a program's sequences", n * sizeof(*p->span));
    VUG_TRY(vug_kv_fixed_init(&p->kv, backend, p->model->device,
                              backend->kv_layout(p->compiled.program), &p->compiled.limits,
                              p->options.max_batch, err));
    return backend->workspace_create(p->compiled.program, &p->workspace, err);
}

vug_status vug_flow_build(const vug_flow *f, vug_flow_program **out, vug_err *err)
{
    const vug_flow_object *flow = vug_flow_object_of(f);
    if (!flow->model)
        return VUG_FAIL(
                err, VUG_ARGUMENT,
                "flow: it was opened from a config alone, which has no weights to run with");
    VUG_TRY(vug_flow_check_usable(f, err));
    vug_flow_program *p = vug_alloc_zero(1, sizeof(*p));
    if (!p)
        return VUG_FAIL_NOMEM(err, "a program", sizeof(*p));
    p->model = flow->model;
    p->options = flow->options;
    vug_status st = vug_compile_flow(flow->model, &flow->graph, &flow->profile, &flow->limits,
                                     &p->compiled, err);
    if (st == VUG_OK)
        st = create_inputs(p, err);
    if (st == VUG_OK) {
        find_past(p);
        st = check_budget(flow, &p->compiled, err);
    }
    if (st == VUG_OK)
        st = create_sequences(p, err);
    if (st != VUG_OK) {
        vug_program_destroy(p);
        return st;
    }
    *out = p;
    return VUG_OK;
}

void vug_program_destroy(vug_flow_program *p)
{
    if (!p)
        return;
    const vug_backend *backend = p->compiled.backend;
    if (p->workspace)
        backend->workspace_destroy(p->workspace);
    vug_kv_fixed_release(&p->kv);
    vug_compiled_release(&p->compiled);
    vug_free(p->cached);
    vug_free(p->split);
    vug_free(p->span);
    vug_free(p->row);
    vug_free(p->in);
    vug_free(p->data);
    vug_free(p->out);
    vug_free(p);
}

/* ---- ports ------------------------------------------------------------------------- */

size_t vug_program_input_count(const vug_flow_program *p)
{
    return p->n_in;
}

size_t vug_program_output_count(const vug_flow_program *p)
{
    return p->compiled.fused.n_outputs;
}

vug_port vug_program_input(const vug_flow_program *p, size_t i)
{
    return p->in[i].port;
}

vug_port vug_program_output(const vug_flow_program *p, size_t i)
{
    const vug_graph *g = &p->compiled.fused;
    return (vug_port){ .name = g->output[i].name,
                       .shape = vug_graph_at(g, g->output[i].value)->shape };
}
