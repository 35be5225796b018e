#ifndef VUG_BACKEND_CPU_LINEAR_H
#define VUG_BACKEND_CPU_LINEAR_H

/* Between linear.c, which deals a job out in chunks, and the files that compute one:
 * linear_f32.c and linear_q8.c. */

#include "backend/cpu/cpu.h"

/* Rows of x that meet one converted panel. Their sums, 32 KiB, stay in the second cache;
 * x streams from there or from the third for every panel. Fewer rows convert the weights
 * more often: with F32, 48 were 10 % slower, 192 a few percent. */
enum { VUG_CPU_ROW_BLOCK = 512 };

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_grouped_job *job;
    int64_t bytes; /* of all weights */
    vug_cpu_deal deal;
    /* In the memory that threads share; NULL where no product wants it. */
    float *arranged; /* x in lane order, for groups of several rows */
    /* x in 8 bits, by slots: a group of one row has one slot and lies as vug_cpu_q8 says;
     * others have four at a time, as tiles want them. */
    int8_t *q;
    float *scale;
    int16_t *sum, *wide;
} vug_cpu_product;

/* Outputs first .. end-1 of one matrix, for rows first_row .. first_row + rows - 1. */
typedef struct {
    const vug_cpu_matrix *m;
    vug_cpu_way way;
    int64_t first, end;
    int64_t first_row, rows;
    int64_t slot;   /* of the first row */
    bool single;    /* the only row of its group */
    int64_t stride; /* bytes of a row of weights */
} vug_cpu_chunk;

/* Row `r` of the job. */
static inline const float *vug_cpu_row_of(const vug_cpu_product *p, int64_t r)
{
    return p->job->x + (p->job->index ? p->job->index[r] : r) * p->job->in;
}

/* Weights that are needed next, to be asked for a part at a time. */
typedef struct {
    const uint8_t *w; /* NULL: unknown */
    int64_t stride, bytes;
    int rows;
    int64_t part, parts;
} vug_cpu_hint;

static inline void vug_cpu_fetch_part(const vug_cpu_kernels *kernels, vug_cpu_hint *next)
{
    if (!next->w || next->part == next->parts)
        return;
    const int64_t first = next->rows * next->part / next->parts;
    const int64_t end = next->rows * ++next->part / next->parts;
    kernels->fetch(next->w + first * next->stride, next->stride, (int)(end - first), next->bytes);
}

/* Outputs of the panel at `output`. */
static inline int vug_cpu_panel_outputs(const vug_cpu_chunk *c, int64_t output)
{
    return c->end - output < VUG_CPU_PANEL ? (int)(c->end - output) : VUG_CPU_PANEL;
}

/* Each prepares row `t` of the job, computes four outputs of one row (first, first + apart,
 * ..; y [4] in that order), or a chunk of several rows. */
void vug_cpu_f32_prepare(const vug_cpu_product *p, int64_t t);
void vug_cpu_f32_four(const vug_cpu_product *p, const vug_cpu_chunk *c, int64_t first,
                      int64_t apart, float *scratch, float *y);
void vug_cpu_f32_rows(const vug_cpu_product *p, const vug_cpu_chunk *c, float *scratch);
void vug_cpu_q8_prepare(const vug_cpu_product *p, int64_t t, int64_t slot, bool single);
void vug_cpu_q8_four(const vug_cpu_product *p, const vug_cpu_chunk *c, int64_t first, int64_t apart,
                     float *y);
void vug_cpu_q8_rows(const vug_cpu_product *p, const vug_cpu_chunk *c, float *scratch);
/* Floats of scratch that they need. */
int64_t vug_cpu_f32_scratch(vug_cpu_way way, int64_t in);
int64_t vug_cpu_q8_scratch(int64_t in);
/* Floats of x in 8 bits, and where its parts lie from `at` on. */
int64_t vug_cpu_q8_floats(int64_t slots, int64_t in, bool wide);
void vug_cpu_q8_place(vug_cpu_product *p, float *at, int64_t slots, bool wide);

#endif
