#ifndef VUG_BACKEND_CPU_LINEAR_H
#define VUG_BACKEND_CPU_LINEAR_H

/* linear.c cuts a job into chunks; linear_f32.c and linear_q8.c compute a chunk. */

#include "backend/cpu/cpu.h"

/* Rows of x that are multiplied with one packed panel. Their sums, 32 KiB, stay in the L2
 * cache; x streams from L2 or L3 for every panel. With fewer rows weights are packed more
 * often: with F32, 48 rows were 10 % slower, 192 a few percent. */
enum { VUG_CPU_ROW_BLOCK = 512 };

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_grouped_job *job;
    int64_t weight_bytes; /* of all groups */
    vug_cpu_work_queue queue;
    /* x in the forms that the job reads, in shared memory; NULL: no product reads it. */
    float *lane_ordered; /* for groups of several rows */
    /* x in 8 bits, by slots. The row of a group of one is stored as a vug_cpu_q8_row, rows of
     * other groups four at a time as in vug_cpu_tile_q8. */
    int8_t *q;
    float *scale;
    int16_t *sum, *q16;
} vug_cpu_linear_run;

/* Outputs first .. end-1 of one projection, for rows first_row .. first_row + rows - 1. */
typedef struct {
    const vug_cpu_projection *projection;
    vug_cpu_kernel_kind kind;
    int64_t first, end;
    int64_t first_row, rows;
    int64_t slot;   /* of the first row */
    bool single;    /* the group has one row */
    int64_t stride; /* bytes of a row of weights */
} vug_cpu_linear_chunk;

/* Row `r` of the job. */
static inline const float *vug_cpu_input_row(const vug_cpu_linear_run *p, int64_t r)
{
    return p->job->x + (p->job->index ? p->job->index[r] : r) * p->job->in;
}

/* Weights that are needed next. They are prefetched in parts, between the tiles. */
typedef struct {
    const uint8_t *w; /* NULL: unknown */
    int64_t stride, bytes;
    int rows;
    int64_t part, parts;
} vug_cpu_prefetch;

/* Prefetches the next part. */
static inline void vug_cpu_prefetch_part(const vug_cpu_kernels *kernels, vug_cpu_prefetch *next)
{
    if (!next->w || next->part == next->parts)
        return;
    const int64_t first = next->rows * next->part / next->parts;
    const int64_t end = next->rows * ++next->part / next->parts;
    kernels->prefetch(next->w + first * next->stride, next->stride, (int)(end - first),
                      next->bytes);
}

/* The number of outputs in the panel that begins at `output`. */
static inline int vug_cpu_panel_outputs(const vug_cpu_linear_chunk *c, int64_t output)
{
    return c->end - output < VUG_CPU_PANEL ? (int)(c->end - output) : VUG_CPU_PANEL;
}

/* Stores row `t` of the job in the form that the kernels read. */
void vug_cpu_f32_pack_input(const vug_cpu_linear_run *p, int64_t t);
void vug_cpu_q8_pack_input(const vug_cpu_linear_run *p, int64_t t, int64_t slot, bool single);
/* Four outputs of one row: y [4] gets first, first + step, first + 2 step, first + 3 step. */
void vug_cpu_f32_gemv(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t first,
                      int64_t step, float *scratch, float *y);
void vug_cpu_q8_gemv(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t first,
                     int64_t step, float *y);
/* A chunk of several rows. */
void vug_cpu_f32_gemm(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, float *scratch);
void vug_cpu_q8_gemm(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, float *scratch);
/* Floats of scratch that these functions need. */
int64_t vug_cpu_f32_scratch_floats(vug_cpu_kernel_kind kind, int64_t in);
int64_t vug_cpu_q8_scratch_floats(int64_t in);
/* Floats of x in 8 bits; setting the pointers to its parts, which begin at `at`. */
int64_t vug_cpu_q8_input_floats(int64_t slots, int64_t in, bool q16);
void vug_cpu_q8_place_input(vug_cpu_linear_run *p, float *at, int64_t slots, bool q16);

#endif
