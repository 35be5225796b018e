#ifndef VUG_CLI_BENCH_OPS_H
#define VUG_CLI_BENCH_OPS_H

/* The time that a prefill or a decode spends in each operation, for `vug bench --ops`. */

#include "cli/ui.h"
#include "core/json_writer.h"
#include "vug/stats.h"

typedef struct {
    vug_op_timing *op; /* [n] those that ran, the longest first; NULL: not measured */
    size_t n;
    double seconds; /* of all steps, with what happens between operations */
} vug_bench_ops;

/* Takes what `model` has counted since vug_model_time_ops; its steps took `seconds`. The caller
 * releases `out`. */
VUG_MUST_CHECK vug_status vug_bench_ops_init(vug_bench_ops *out, const vug_model *model,
                                             double seconds, vug_err *err);
/* Accepts all-zero. */
void vug_bench_ops_release(vug_bench_ops *ops);

/* Both do nothing for what was not measured. `name` is that of the steps: "prefill". */
void vug_bench_ops_print(const vug_bench_ops *ops, const char *name,
                         const vug_device_limits *limits, vug_buf *to);
void vug_bench_ops_write(const vug_bench_ops *ops, const char *name,
                         const vug_device_limits *limits, vug_json_writer *js);

/* The highest rate at which the device multiplies: that of BF16, if it has units for matrices. */
double vug_bench_peak_flop(const vug_device_limits *limits);

#endif
