

#include "test.h"

#include <math.h>

#include "engine_help.h"
#include "flow_help.h"

vug_flow *help_flow(const vug_model *model, vug_flow_options options)
{
    vug_flow *flow = NULL;
    vug_err err = { 0 };
    help_ok(vug_flow_create(model, &options, &flow, &err), &err);
    help_ok(vug_flow_verify(flow, &err), &err);
    return flow;
}

vug_flow_program *help_program(const vug_model *model, vug_flow_options options)
{
    vug_flow *flow = help_flow(model, options);
    vug_flow_program *program = NULL;
    vug_err err = { 0 };
    help_ok(vug_flow_build(flow, &program, &err), &err);
    vug_flow_destroy(flow);
    return program;
}

void help_run(vug_flow_program *program)
{
    vug_err err = { 0 };
    help_ok(vug_program_run(program, &err), &err);
}

const float *help_output(const vug_flow_program *program, const char *name, size_t n)
{
    size_t is = 0;
    const float *x = vug_program_get(program, name, &is);
    if (!x)
        fail_msg("there is no output '%s'", name);
    assert_int_equal(is, n);
    return x;
}

const float *help_run_tokens(vug_flow_program *program, const int32_t *id, size_t n,
                             const char *output)
{
    vug_program_set_ids(program, "tokens", id, n);
    help_run(program);
    return vug_program_get(program, output, NULL);
}

float *help_mask(size_t n, size_t columns, size_t window)
{
    float *mask = vug_alloc(n * columns, sizeof(*mask));
    assert_non_null(mask);
    for (size_t t = 0; t < n; t++) {
        const size_t at = columns - n + t;
        for (size_t key = 0; key < columns; key++)
            mask[t * columns + key] =
                    key <= at && (window == 0 || at - key < window) ? 0 : -INFINITY;
    }
    return mask;
}

void help_no_flow(const vug_model *model, vug_flow_options options, const char *expected)
{
    vug_flow *flow = NULL;
    vug_err err = { 0 };
    const vug_status st = vug_flow_create(model, &options, &flow, &err);
    assert_string_equal(err.msg, expected);
    assert_int_not_equal(st, VUG_OK);
    assert_null(flow);
}

void help_no_run(vug_flow_program *program, const char *expected)
{
    vug_err err = { 0 };
    const vug_status st = vug_program_run(program, &err);
    assert_string_equal(err.msg, expected);
    assert_int_not_equal(st, VUG_OK);
}
