#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "linear_help.h"

help_graph help_linear_graph(const vug_weight *w, vug_activations activations, int64_t rows)
{
    help_graph m = { .layer = -1, .weight = { *w } };
    vug_err err = { 0 };
    const vug_val in = help_data(&m, (vug_shape){ 2, { rows, w->columns } });
    const vug_val param = help_append(&m, (vug_node){ .op = VUG_OP_PARAM,
                                                      .shape = { 2, { w->rows, w->columns } },
                                                      .at.param = { 0, w->dtype } });
    const vug_val product = help_op2(&m, VUG_OP_LINEAR, in, param);
    help_ok(vug_graph_output(&m.graph, "y", product, &err), &err);
    help_plan(&m, 1);
    m.plan.activations = activations;
    return m;
}

void help_run_graph(const vug_backend *b, const help_graph *m, size_t n_weights, const float *x,
                    float *y, size_t n)
{
    const vug_limits limits = { .context = VUG_KV_PAGE, .batch = 1, .rows = 1 };
    const vug_page *table[1] = { NULL };
    const vug_span span = { .table = table, .past = 0, .n = 1 };
    vug_device *device;
    vug_device_weights *weights;
    vug_program *program;
    vug_workspace *workspace;
    vug_err err = { 0 };
    help_ok(b->open(&(vug_device_options){ 0 }, &device, &err), &err);
    help_ok(b->weights_create(device, m->weight, n_weights, &weights, &err), &err);
    help_ok(b->compile(weights, &m->graph, &m->plan, &limits, &program, &err), &err);
    help_ok(b->workspace_create(program, &workspace, &err), &err);
    const vug_step_in step = {
        .span = &span, .n_spans = 1, .token = (int32_t[]){ 0 }, .data = (const float *[]){ x }
    };
    const float *output;
    help_ok(b->run(program, workspace, &step, &output, &err), &err);
    memcpy(y, output, n * sizeof(*y));
    b->workspace_destroy(workspace);
    b->release(program);
    b->weights_destroy(weights);
    b->close(device);
}

void help_run_linear(const vug_backend *b, const vug_weight *w, vug_activations activations,
                     const float *x, int64_t rows, float *y)
{
    help_graph m = help_linear_graph(w, activations, rows);
    help_run_graph(b, &m, 1, x, y, (size_t)(rows * w->rows));
    help_graph_release(&m);
}

void help_check_near(const float *y, const float *want, int64_t n)
{
    float largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(want[i]));
    for (int64_t i = 0; i < n; i++)
        assert_true(fabsf(y[i] - want[i]) <= largest * 0x1p-9f);
}
