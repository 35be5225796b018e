#ifndef VUG_BACKEND_CPU_LINEAR_H
#define VUG_BACKEND_CPU_LINEAR_H

/* linear.c cuts a job into chunks; linear_float.c and linear_q8.c compute a chunk. */

#include <stdalign.h>

#include "backend/cpu/cpu.h"

enum {
    /* Rows of x that are multiplied with one packed panel. Their sums, 32 KiB, stay in the L2
     * cache; x streams from L2 or L3 for every panel. With fewer rows weights are packed more
     * often: with F32, 48 rows were 10 % slower, 192 a few percent. */
    VUG_CPU_ROW_BLOCK = 512,
    /* The most panels of float weights of a chunk. */
    VUG_CPU_FLOAT_PANELS = 9,
    /* The most rows of a chunk with quantized weights. */
    VUG_CPU_Q8_ROW_BLOCK = 128,
    /* The most panels of quantized weights of a chunk. */
    VUG_CPU_Q8_PANELS = 3,
};

typedef struct {
    const vug_cpu_env *env;
    const vug_cpu_grouped_job *job;
    int64_t weight_bytes; /* of all groups */
    /* x in the forms that the job reads, in shared memory; NULL: no product reads it. */
    float *lane_ordered;  /* for panels */
    uint16_t *bf16;       /* [rows,in] rounded to BF16 */
    float *ordered_pairs; /* its pairs, for panels */
    float *q8;            /* in 8 bits, see linear_q8.c */
    /* Threads change it for every chunk: not in a cache line of what they read. */
    alignas(64) vug_cpu_work_queue queue;
} vug_cpu_linear_run;

/* Outputs first .. end-1 of one projection, for rows first_row .. first_row + rows - 1. */
typedef struct {
    const vug_cpu_projection *projection;
    vug_cpu_kernel_kind kind;
    int64_t first, end;
    int64_t first_row, rows;
    int64_t q8_row; /* where their x in 8 bits begins */
    bool single;    /* the group has one row */
    bool panels;    /* weights are packed to panels, not read as streams */
    int streams;    /* rows of weights that are read side by side */
    int64_t stride; /* bytes of a row of weights */
    int64_t k;      /* elements of a row, or pairs */
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
static inline void vug_cpu_prefetch_part(vug_cpu_prefetch *next)
{
    if (!next->w || next->part == next->parts)
        return;
    const int64_t first = next->rows * next->part / next->parts;
    const int64_t end = next->rows * ++next->part / next->parts;
    for (int64_t r = first; r < end; r++)
        vug_cpu_prefetch_bytes(next->w + r * next->stride, next->bytes);
}

/* Stores row `t` of the job, which is in group `g`, in the form that the kernels read. */
void vug_cpu_float_pack_input(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int64_t t);
void vug_cpu_q8_pack_input(const vug_cpu_linear_run *p, const vug_cpu_row_group *g, int64_t t);
/* Outputs first, first + step, .. of all rows of a chunk: y [rows,streams]. */
void vug_cpu_float_streams(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                           int64_t first, int64_t step, float *scratch, float *y);
void vug_cpu_q8_streams(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, int64_t first,
                        int64_t step, float *scratch, float *y);
/* A chunk in panels. */
void vug_cpu_float_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c,
                          float *scratch);
void vug_cpu_q8_panels(const vug_cpu_linear_run *p, const vug_cpu_linear_chunk *c, float *scratch);
/* The most panels of a chunk with float weights: a multiple of VUG_CPU_MAX_TILE_PANELS. */
int64_t vug_cpu_float_max_panels(vug_cpu_kernel_kind kind);
/* Floats of scratch that these functions need. */
int64_t vug_cpu_float_scratch_floats(vug_cpu_kernel_kind kind, int64_t in);
int64_t vug_cpu_q8_scratch_floats(const vug_cpu_kernels *kernels, int64_t in);
/* Rows of a chunk with quantized weights in streams. */
int64_t vug_cpu_q8_row_block(int64_t in);
/* Whether products of quantized weights with the rows of a group use panels. */
bool vug_cpu_q8_uses_panels(const vug_cpu_kernels *kernels, int64_t rows);
/* The rows of x in 8 bits that a group takes, and floats for all groups of a job. */
int64_t vug_cpu_q8_input_rows(const vug_cpu_kernels *kernels, int64_t rows);
int64_t vug_cpu_q8_input_floats(int64_t rows, int64_t in, bool tiles);

#endif
