#ifndef VUG_CLI_BENCH_COMPARE_H
#define VUG_CLI_BENCH_COMPARE_H

/* Running another program alternately with vug, for `vug bench --compare`. */

#include "cli/rate_series.h"
#include "cli/ui.h"
#include "core/json_writer.h"

/* What to run. */
typedef struct {
    const char *command; /* for sh -c; {FILE}, {PREFILL}, {DECODE} and {THREADS} are replaced */
    const char *file;    /* the model */
    int prefill, decode; /* tokens; 0: not measured */
    int threads;
} vug_compare_command;

/* The other program's tokens per second, and vug's divided by them in the same round. */
typedef struct {
    vug_rate_series rate, ratio;
} vug_compare_series;

/*
 * Runs the command once. The last numbers on its standard output are tokens per second: that of
 * the prefill, then that of the decode, without the one that is not measured. A number is what has
 * no letter, digit, '_', '.', '-' or '+' around it. Fails if the command does, or prints too few numbers.
 */
VUG_MUST_CHECK vug_status vug_compare_run(const vug_compare_command *command, double *prefill,
                                          double *decode, vug_err *err);

/* Adds a round in which vug reached `rate` and the other program `other`. */
void vug_compare_add(vug_compare_series *s, double rate, double other);
/* Both summarise first, and do nothing without rounds. */
void vug_compare_print(vug_compare_series *s, const char *name, int n, vug_buf *to);
void vug_compare_write(vug_compare_series *s, const char *key, vug_json_writer *js);

#endif
