#ifndef VUG_BACKEND_CPU_HEAD_SCREEN_H
#define VUG_BACKEND_CPU_HEAD_SCREEN_H

/*
 * The output matrix of a model, the head, is read in every step, but sampling looks at its largest
 * outputs only. A screen is a copy of the head in Q4_0, with a bound for what the copy changes. A
 * product with the copy shows which outputs could be among those that are wanted; only these are
 * computed with the head itself, and have its bits (docs/arithmetic.md).
 *
 * head_screen.c makes the copy, head_product.c computes with it, head_share.c decides whether what was
 * computed suffices for top-p.
 */

#include "backend/cpu/cpu.h"

typedef struct {
    vug_matrix head; /* [rows,columns] borrowed */
    int64_t rows;
    vug_matrix copy; /* the same in Q4_0 */
    uint8_t *data;   /* of the copy */
    /* Of each row of weights, rounded up: the norm of what the copy lacks, and of the row itself. */
    float *residual, *norm; /* [rows] */
    int64_t built;          /* the first rows, which have been copied */
    double credit_s;        /* of time that copying may take; below 0: copying waits */
    bool is_always_used;    /* whatever it costs */
    /* After products that a screen would not have made faster, the next ones do without. */
    int64_t pause; /* products that do without */
    int64_t next_pause;
} vug_cpu_head_screen;

/* Whether a screen of these weights can make products faster. */
bool vug_cpu_head_screen_supports(const vug_cpu_env *env, const vug_weight *head);
/* Bytes of the copy. */
uint64_t vug_cpu_head_screen_bytes(const vug_weight *head);
/* Reserves memory, which becomes resident as rows are copied. */
VUG_MUST_CHECK vug_status vug_cpu_head_screen_create(const vug_weight *head,
                                                     vug_cpu_head_screen **out, vug_err *err);
void vug_cpu_head_screen_destroy(vug_cpu_head_screen *screen);
/* Copies the next rows: all of them in VUG_CPU_HEAD_SCREEN_STEPS calls. So no step takes much
 * longer, and a model is ready before its head was read. Calls copy fewer rows or none while copying
 * has taken more than its share of the time of all steps, so that a few tokens take hardly longer than
 * without a screen, even where memory is slow to come: in a virtual machine that never had it before. */
void vug_cpu_head_screen_build(const vug_cpu_env *env, vug_cpu_head_screen *screen);
/* Adds the time of a step, of any kind, a share of which copying may take. */
void vug_cpu_head_screen_add_step(vug_cpu_head_screen *screen, double seconds);
/* Floats of scratch per thread that this needs. */
int64_t vug_cpu_head_screen_scratch_floats(int64_t columns);

enum { VUG_CPU_HEAD_SCREEN_STEPS = 16 };

/* ---- head_product.c ------------------------------------------------------- */

/* logits [rows,screen->rows] of x [rows,columns]. */
typedef struct {
    const float *x;
    int64_t rows;
    float *logits;
    const vug_logits_wanted *wanted; /* [rows]; NULL: all */
    bool may_build;                  /* the copy, if it is not complete */
    vug_head_stats *cost;            /* to which the product adds; may be NULL */
} vug_cpu_head_job;

void vug_cpu_head_product(const vug_cpu_env *env, vug_cpu_head_screen *screen,
                          const vug_cpu_head_job *job);
/* Floats of shared memory for jobs of up to `rows` rows; false on overflow. */
bool vug_cpu_head_shared_floats(const vug_weight *head, int64_t rows, uint64_t *floats);

/* ---- head_share.c --------------------------------------------------------- */

enum {
    VUG_CPU_HEAD_MOST_MASSES = 2048
}; /* with more outputs that were computed, nothing is decided */

/* A screened row, of which the outputs from `limit` on were computed. */
typedef struct {
    const float *logits; /* [n_ids] VUG_LOGIT_UNWANTED: not computed */
    int64_t n_ids;
    double share, scale; /* of vug_logits_wanted */
    double best;         /* near the greatest output: the unit of masses is exp(scale * best) */
    double limit;
    double rest; /* at least the mass of the outputs that were not computed */
} vug_cpu_head_share;

/* Whether a reader that keeps the share finds the same outputs in this row as in the whole product.
 * `mass` [VUG_CPU_HEAD_MOST_MASSES] is scratch memory. */
bool vug_cpu_head_decides_share(const vug_cpu_head_share *row, double *mass);

#endif
