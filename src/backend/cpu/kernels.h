#ifndef VUG_BACKEND_CPU_KERNELS_H
#define VUG_BACKEND_CPU_KERNELS_H

/*
 * The innermost loops, one table of them per instruction set. Everything around
 * them (blocking, threads, caches) is portable and shared.
 *
 * The arithmetic of every kernel is defined to the bit: which products and sums
 * are fused (fma: one rounding), and the order of every sum. All rows of the
 * table give the same bits for the same finite input, so a faster row changes no
 * logit, and no result depends on how work was cut into calls. ref.c says the
 * same once more, operation by operation, without any blocking.
 *
 * Nothing outside the given ranges is read or written. Weights may have any
 * alignment, and strides in bytes; floats are aligned as floats. Unless said
 * otherwise an output may be one of the inputs, and may not overlap it partly.
 */

#include "ir/kv.h"
#include "ir/tensor.h"

enum {
    VUG_CPU_PANEL = 16,  /* outputs, or keys, or value columns side by side */
    VUG_CPU_ROWS = 6,    /* most rows of a tile */
    VUG_CPU_STREAMS = 4, /* rows of weights that are read side by side */
    VUG_CPU_KC = 1280,   /* most elements of a block of a sum */
    VUG_CPU_BLOCK = 64,  /* keys that share one step of the softmax */
    VUG_CPU_SPAN = 256,  /* keys, from a multiple of this, summed on their own */
    VUG_CPU_LANES = 8,   /* partial sums of a reduction */
    VUG_CPU_Q8 = 32,     /* elements of a block in 8 bits */
    VUG_CPU_ROWS_Q8 = 4, /* most rows of a tile in 8 bits */
};

/*
 * The sum of a matrix product. It is cut into blocks of vug_cpu_kc elements, the
 * last one shorter: blocks of about equal size, multiples of 16, at most
 * VUG_CPU_KC. In a block, lane j of 8 sums elements j, j + 8, j + 16, .. from the
 * block's start, each as s = fma(x, w, s) from 0. The lanes are added to the output
 * one after the other, in order; a lane without elements is left out.
 *
 * One row of x reads weights as they lie, 8 to a vector of lanes. Several rows take
 * a lane at a time: its elements then lie one after the other ("lane order"), lane 0
 * first.
 */
static inline int64_t vug_cpu_kc(int64_t k)
{
    const int64_t blocks = (k + VUG_CPU_KC - 1) / VUG_CPU_KC;
    return blocks < 2 ? k : ((k + blocks - 1) / blocks + 15) / 16 * 16;
}

/* Elements that lane `j` has of a block of `n`. */
static inline int64_t vug_cpu_lane_size(int64_t n, int64_t j)
{
    return (n - j + VUG_CPU_LANES - 1) / VUG_CPU_LANES;
}

/* Where they begin in lane order. */
static inline int64_t vug_cpu_lane_start(int64_t n, int64_t j)
{
    const int64_t longer = n % VUG_CPU_LANES;
    return j * (n / VUG_CPU_LANES) + (j < longer ? j : longer);
}

/*
 * C [rows,16] = A [rows,k] x B [k,16], or C += it. Element (r,c) is
 *
 *     s = 0;  for i in 0 .. k-1: s = fma(a[r][i], b[i][c], s)
 *     c[r][c] = accumulate ? c[r][c] + s : s
 */
typedef struct {
    const float *a;
    const void *b; /* floats; of keys and values as their cache has them */
    float *c;
    int64_t k;
    int64_t lda, ldb, ldc; /* from row to row, in elements */
    bool accumulate;
    const float *scale; /* [k] of b's rows: of values in 8 bits */
} vug_cpu_tile;

/* 1 <= rows <= 6. */
typedef void vug_cpu_tile_fn(int rows, const vug_cpu_tile *t);

/* y [4] = W [4,k] x [k]. What follows each row in memory is likely to be needed next
 * and may be prefetched. */
typedef struct {
    const float *x;
    const uint8_t *w;
    float *y;
    int64_t k;
    int64_t stride; /* from row to row, in bytes; may be 0 */
} vug_cpu_gemv;

/* What a format of weights needs. */
typedef struct {
    /* dst[i] = by * value of src[i] */
    void (*decode)(const uint8_t *src, float by, float *dst, int64_t n);
    /* panel [k][16] = the transpose of a block W [rows,k], in lane order; columns from
     * `rows` on are 0. 1 <= rows <= 16. */
    void (*pack)(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel);
    void (*gemv)(const vug_cpu_gemv *g);
} vug_cpu_format;

/*
 * Weights in blocks (ir/tensor.h: vug_matrix_block) meet a row of x that was rounded to
 * 8 bits, in blocks of 32 as well. With amax the largest |x[i]| of a block
 *
 *     scale = amax / 127;  r = amax > 0 ? 127 / amax : 0
 *     q[i] = x[i] * r to the nearest integer, ties to even, within -127 .. 127
 *
 * where a NaN counts as 0; sum[s] is that of q over the half s of the block. Block b of a
 * row of weights gives
 *
 *     P = sum over s of factor[s] * sum over the half of (w.q[e] * x.q[e])     exactly
 *     M = sum over s of minimum[s] * x.sum[s]                                  exactly
 *     t = fma(w.scale, P, w.offset * M)
 *     lane[b mod 8] = fma(x.scale, t, lane[b mod 8])
 *
 * for b in ascending order, from lanes of 0. The lanes are added one after the other, in
 * order; a lane without blocks is left out.
 */

/* A row of activations in 8 bits, see above. */
typedef struct {
    const int8_t *q;    /* [k], aligned to 32 bytes */
    const float *scale; /* [k/32] */
    const int16_t *sum; /* [k/16] */
} vug_cpu_q8;

/* y [4] = rows row, row + apart, row + 2 apart, row + 3 apart of w times x. What follows
 * each row in memory is likely to be needed next and may be prefetched. */
typedef struct {
    const vug_cpu_q8 *x;
    const vug_matrix *w;
    int64_t row, apart; /* apart may be 0 */
    float *y;
} vug_cpu_gemv_q8;

/*
 * 16 rows of weights in blocks, for several rows of x. Blocks are in lane order: those of
 * lane 0 (b = 0, 8, 16, ..) first.
 *
 * Weights of up to 6 bits are bytes without sign, q[e] + zero of the format's layout. Group
 * g of 8 holds elements 2g, 2g + 1, 16 + 2g, 16 + 2g + 1 of each row, so that a pair of
 * neighbours belongs to one half. Those of 8 bits are wide: factor[s] * (q[e] + zero) in
 * 16 bits, elements 2g, 2g + 1 in group g of 16. What a layout does not have is neither
 * written nor read. All is aligned to 32 bytes.
 */
typedef struct {
    uint8_t *q;       /* [blocks][8][16][4] */
    int16_t *wide;    /* [blocks][16][16][2] */
    int16_t *factor;  /* [blocks][16][2] */
    int16_t *minimum; /* [blocks][16][2]; without an offset -zero * factor */
    float *scale;     /* [blocks][16] */
    float *offset;    /* [blocks][16] */
} vug_cpu_panel;

/* How panels of a format look. */
typedef struct {
    int bits;     /* of q + zero: 4, 5 or 6 (at most 15, 31, 63); 8: wide */
    int zero;     /* -128 .. 32 */
    bool factors; /* panels have factors, else those of all blocks are 1 or in `wide` */
    bool offsets; /* they have offsets, else those are 0; with factors also minimums, else
                     those are 1 */
} vug_cpu_layout;

/* Of a format in blocks that is computed with in 8 bits; NULL: it is not one. */
const vug_cpu_layout *vug_cpu_layout_of(vug_dtype dtype);

/*
 * y [rows,16] = rows of x times a panel, of lanes first .. end - 1 alone: the sums of
 * these are added to y in order, or begin it when `first` is 0. Four rows of x lie block
 * by block, in the order of the panel; of fewer, the others are not read.
 */
typedef struct {
    const int8_t *q;     /* [blocks][4][32], elements in the order of the panel's */
    const int16_t *wide; /* the same in the row's own order, for panels that are wide */
    const float *scale;  /* [blocks][4] */
    const int16_t *sum;  /* [blocks][4][2] */
    int64_t blocks;
    const vug_cpu_panel *panel;
    const vug_cpu_layout *layout;
    int first, end;
    float *y;
} vug_cpu_tile_q8;

/* What a format of weights in blocks needs. */
typedef struct {
    void (*gemv)(const vug_cpu_gemv_q8 *g);
    /* The panel of rows row .. row + rows - 1 of w, 1 <= rows <= 16; scales and offsets of
     * rows from `rows` on are 0, the rest of them unspecified. */
    void (*pack)(const vug_matrix *w, int64_t row, int rows, const vug_cpu_panel *panel);
} vug_cpu_block_format;

/* The running state of a softmax over blocks of keys. */
typedef struct {
    float max; /* of the scores so far; -inf before the first */
    float sum; /* of exp(score - max) */
} vug_cpu_softmax;

/* How a product q.k becomes a score: s = p * scale; with a softcap then
 * s = tanh(s / softcap) * softcap. */
typedef struct {
    float scale;
    float softcap; /* 0: none */
} vug_cpu_score;

typedef struct {
    const char *name;                                   /* "avx2": what caps are compared with */
    const char *description;                            /* for a person */
    const vug_cpu_format *format[VUG_DTYPE_COUNT];      /* NULL: no kernels for this format */
    const vug_cpu_block_format *block[VUG_DTYPE_COUNT]; /* likewise, of those in blocks */

    /* A hint: the first `bytes` of these rows of weights are needed soon. */
    void (*fetch)(const uint8_t *w, int64_t stride, int rows, int64_t bytes);

    vug_cpu_tile_fn *tile;
    /* The same with B as a cache of each format has it (cpu.h), each element widened to F32
     * and, in 8 bits, multiplied with its scale. Keys: a panel [k][16], with its scales, from
     * the first on. Values: rows of 16 columns. ldb is 16. */
    vug_cpu_tile_fn *keys[VUG_KV_COUNT], *values[VUG_KV_COUNT];
    /* 1 <= rows <= 4. */
    void (*tile_q8)(int rows, const vug_cpu_tile_q8 *t);
    /* A row of x in 8 bits, `n` a multiple of 32: q [n], scale [n/32], sum [n/16]. */
    void (*round)(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);

    /*
     * One block: p [64] holds products, of which those of keys lo .. hi-1 count
     * (lo < hi). Scores s as vug_cpu_score says; m = max(state->max, s); then
     *
     *     p[i] = exp(s[i] - m) in lo .. hi-1, elsewhere unspecified
     *     state->sum = fma(state->sum, a, sum of p)     a = exp(state->max - m)
     *     state->max = m
     *
     * with the sum in lanes i mod 8 as in sum_squares. Returns a, by which the
     * outputs so far are to be multiplied.
     */
    float (*softmax)(float *p, int lo, int hi, const vug_cpu_score *score, vug_cpu_softmax *state);
    /* o[i] = fma(add[i], b, o[i] * a): joins two spans of keys. */
    void (*join)(float *o, float a, const float *add, float b, int64_t n);

    /* Lane j sums x[i]^2 for i = j, j + 8, ..: s = fma(x[i], x[i], s). Lanes are
     * then added as ((0+4)+(2+6)) + ((1+5)+(3+7)). */
    float (*sum_squares)(const float *x, int64_t n);
    /* out[i] = (x[i] * r) * w[i] */
    void (*norm)(const float *x, float r, const float *w, float *out, int64_t n);
    /* Pairs (x[i], x[i+h]), i < h: out[i] = fma(x[i], cos[i], -(x[i+h] * sin[i])),
     * out[i+h] = fma(x[i+h], cos[i], x[i] * sin[i]). */
    void (*rope)(const float *x, const float *cos, const float *sin, int64_t h, float *out);
    void (*add)(const float *a, const float *b, float *out, int64_t n);
    void (*mul)(const float *a, const float *b, float *out, int64_t n);
    void (*scale)(const float *x, float by, float *out, int64_t n);
    /* vug_ref_gelu, vug_ref_silu, vug_ref_exp of each; tanh(x / by) * by with vug_ref_tanh. */
    void (*gelu)(const float *x, float *out, int64_t n);
    void (*silu)(const float *x, float *out, int64_t n);
    void (*exp)(const float *x, float *out, int64_t n);
    void (*softcap)(const float *x, float by, float *out, int64_t n);

    /* Probes. Reads all bytes (a multiple of 1024, aligned to 64) and returns a
     * value that depends on them; does `rounds` rounds of fused multiply-adds in
     * registers, *flop operations in all, and returns a value likewise. */
    float (*probe_read)(const uint8_t *bytes, int64_t n);
    float (*probe_fma)(int64_t rounds, double *flop);
} vug_cpu_kernels;

/* The row that runs on this machine and is not above the row named `cap` (NULL:
 * the best); NULL when there is no such name. */
const vug_cpu_kernels *vug_cpu_choose(const char *cap);
/* All rows that run here, the worst ("ref") first; `i` < vug_cpu_row_count(). */
int vug_cpu_row_count(void);
const vug_cpu_kernels *vug_cpu_row(int i);
/* "ref, avx2": what vug_cpu_choose takes, into a buffer of at least 64 bytes. */
const char *vug_cpu_row_names(char *buffer, size_t size);
/* The processor's own name, at least 64 bytes; "" where it has none. */
const char *vug_cpu_brand(char *buffer, size_t size);

#endif
