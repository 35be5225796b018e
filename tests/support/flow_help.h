#ifndef VUG_TESTS_SUPPORT_FLOW_HELP_H
#define VUG_TESTS_SUPPORT_FLOW_HELP_H

/*
 * Flows and programs for tests. A failure fails the running test with its error message.
 * Include after engine_help.h.
 */

#include "vug/flow.h"

vug_flow *help_flow(const vug_model *model, vug_flow_options options);
/* Creates a flow, builds its program and destroys the flow. */
vug_flow_program *help_program(const vug_model *model, vug_flow_options options);
void help_run(vug_flow_program *program);
/* An output of `n` floats. */
const float *help_output(const vug_flow_program *program, const char *name, size_t n);
/* Runs `n` tokens and returns the output. */
const float *help_run_tokens(vug_flow_program *program, const int32_t *id, size_t n,
                             const char *output);
/* [n,columns]: causal order and window as a mask, for the last `n` of `columns` tokens; for
 * vug_free. */
float *help_mask(size_t n, size_t columns, size_t window);
/* The flow must be refused with this error message; FOLDER as in help_refused. */
void help_no_flow(const vug_model *model, vug_flow_options options, const char *expected);
/* A run must fail with this error message. */
void help_no_run(vug_flow_program *program, const char *expected);

#endif
