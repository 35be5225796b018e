#ifndef VUG_CLI_BENCH_SEQUENCES_H
#define VUG_CLI_BENCH_SEQUENCES_H

/* Sequences that decode side by side, for `vug bench --sequences`: each has a thread, and the model
 * joins their tokens in steps, as for requests of a server. */

#include "vug/stats.h"
#include "vug/vug.h"

typedef struct {
    vug_model *model; /* with a slot for each sequence */
    int n_sequences;
    int depth;             /* tokens of each sequence before; 0 counts as 1 */
    int n;                 /* tokens that each decodes */
    vug_sampling sampling; /* `seed` of the first; the others have the next ones */
    bool times_ops;        /* vug_model_time_ops is on while they decode */
} vug_bench_sequences;

/* `tokens_per_s`: of all sequences together. */
VUG_MUST_CHECK vug_status vug_bench_sequences_run(const vug_bench_sequences *bench,
                                                  double *tokens_per_s, vug_err *err);

#endif
