/*
 * Which operations the time of a model's steps goes to. The limit of an operation is the time that
 * its weights take at the machine's read bandwidth or, if that is more, that its products take at
 * the highest rate of multiply-adds; the same limits as those of whole runs. Only products have
 * one: what other operations read is mostly in the caches.
 */
#include "cli/bench_ops.h"

#include <math.h>
#include <stdlib.h>

static int compare_seconds(const void *a, const void *b)
{
    const vug_op_timing *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

vug_status vug_bench_ops_init(vug_bench_ops *out, const vug_model *model, double seconds,
                              vug_err *err)
{
    *out = (vug_bench_ops){ .seconds = seconds };
    out->op = vug_alloc_zero(vug_op_count(), sizeof(*out->op));
    if (!out->op)
        return VUG_FAIL_NOMEM(err, "the times of operations", vug_op_count() * sizeof(*out->op));
    for (size_t i = 0; i < vug_op_count(); i++) {
        const vug_op_timing op = vug_model_op_timing(model, i);
        if (op.runs > 0)
            out->op[out->n++] = op;
    }
    qsort(out->op, out->n, sizeof(*out->op), compare_seconds);
    return VUG_OK;
}

void vug_bench_ops_release(vug_bench_ops *ops)
{
    vug_free(ops->op);
    *ops = (vug_bench_ops){ 0 };
}

double vug_bench_peak_flop(const vug_device_limits *limits)
{
    return fmax(limits->f32_flop_per_s, limits->bf16_flop_per_s);
}

/* The part of an operation's time that it would need at its limit; 0: it has none. */
static double fraction_of_limit(const vug_op_timing *op, const vug_device_limits *limits)
{
    if (op->seconds <= 0 || limits->read_bytes_per_s <= 0 || vug_bench_peak_flop(limits) <= 0)
        return 0;
    const double reading = op->weight_bytes / limits->read_bytes_per_s;
    const double multiplying = op->flop / vug_bench_peak_flop(limits);
    return (reading > multiplying ? reading : multiplying) / op->seconds;
}

static double share_of(const vug_bench_ops *ops, double seconds)
{
    return ops->seconds > 0 ? seconds / ops->seconds : 0;
}

/* The seconds outside of all operations. */
static double between_operations(const vug_bench_ops *ops)
{
    double left = ops->seconds;
    for (size_t i = 0; i < ops->n; i++)
        left -= ops->op[i].seconds;
    return left > 0 ? left : 0;
}

void vug_bench_ops_print(const vug_bench_ops *ops, const char *name,
                         const vug_device_limits *limits, vug_buf *to)
{
    if (!ops->op)
        return;
    vug_buf_printf(to, "  %-18s %10s %10s %10s   of its limit\n", name, "ms", "share", "nodes");
    for (size_t i = 0; i < ops->n; i++) {
        const vug_op_timing *op = &ops->op[i];
        const double fraction = fraction_of_limit(op, limits);
        vug_buf_printf(to, "    %-16s %10.2f %8.1f %% %10llu", op->name, op->seconds * 1e3,
                       share_of(ops, op->seconds) * 100, (unsigned long long)op->runs);
        if (fraction > 0)
            vug_buf_printf(to, "   %5.1f %%", fraction * 100);
        vug_buf_printf(to, "\n");
    }
    const double between = between_operations(ops);
    vug_buf_printf(to, "    %-16s %10.2f %8.1f %%\n", "between them", between * 1e3,
                   share_of(ops, between) * 100);
}

void vug_bench_ops_write(const vug_bench_ops *ops, const char *name,
                         const vug_device_limits *limits, vug_json_writer *js)
{
    if (!ops->op)
        return;
    vug_json_begin(js, name, '{');
    vug_json_put_f64(js, "seconds", ops->seconds);
    vug_json_put_f64(js, "seconds_between", between_operations(ops));
    vug_json_begin(js, "ops", '[');
    for (size_t i = 0; i < ops->n; i++) {
        const vug_op_timing *op = &ops->op[i];
        const double fraction = fraction_of_limit(op, limits);
        vug_json_begin(js, NULL, '{');
        vug_json_put_string(js, "op", op->name);
        vug_json_put_u64(js, "nodes", op->runs);
        vug_json_put_f64(js, "seconds", op->seconds);
        vug_json_put_f64(js, "share", share_of(ops, op->seconds));
        if (fraction > 0)
            vug_json_put_f64(js, "fraction_of_limit", fraction);
        vug_json_end(js, '}');
    }
    vug_json_end(js, ']');
    vug_json_end(js, '}');
}
