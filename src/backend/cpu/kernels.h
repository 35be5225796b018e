#ifndef VUG_BACKEND_CPU_KERNELS_H
#define VUG_BACKEND_CPU_KERNELS_H

/*
 * The innermost loops, one set of kernels per instruction set. Everything around them
 * (blocking, threads, caches) is portable and shared.
 *
 * The arithmetic of every kernel is defined to the bit: which products and sums are fused
 * (fma: one rounding), and the order of every sum. All sets give the same bits for the same
 * finite input. So a faster set changes no logit, and no result depends on how the work was
 * cut into calls. ref.c defines the same arithmetic per operation, without any blocking.
 *
 * Kernels read and write nothing outside of the given ranges. Weights may have any alignment,
 * and their strides are in bytes; floats are aligned as floats. Unless stated otherwise, an
 * output may be identical to an input but may not overlap it partly.
 */

#include "backend/cpu/q8_kernels.h"
#include "ir/kv_format.h"

enum {
    VUG_CPU_PANEL = 16,          /* columns of a panel: outputs, keys or value columns */
    VUG_CPU_MAX_TILE_ROWS = 8,   /* of an F32 tile, of all kernel sets; see tile_rows */
    VUG_CPU_MAX_TILE_PANELS = 3, /* see tile_panels */
    VUG_CPU_STREAMS = 4,         /* rows of weights that a kernel reads side by side */
    VUG_CPU_MAX_STREAMS = 8,     /* see q8_streams */
    VUG_CPU_MAX_FLOAT_ROWS = 64, /* see float_rows */
    VUG_CPU_KC = 1280,           /* maximum elements of a block of a sum */
    VUG_CPU_LANES = 8,           /* partial sums of a reduction */
    VUG_CPU_KEY_BLOCK = 64,      /* keys that share one step of the online softmax */
    VUG_CPU_KEY_SPLIT = 256,     /* keys that are summed apart and then joined (split KV);
                                     splits begin at multiples of this */
};

/*
 * The sum of a matrix product is cut into blocks of vug_cpu_kc elements: of about equal size,
 * multiples of 16, at most VUG_CPU_KC; the last block may be shorter. In a block, lane j of 8
 * sums elements j, j + 8, j + 16, .. from the block's start, each as s = fma(x, w, s) from 0.
 * The lanes are added to the output in order; a lane without elements is skipped.
 *
 * Kernels read weights in memory order, 8 to a vector of lanes, or as panels, one lane at a time.
 * For panels both operands are stored in "lane order": all elements of lane 0, then those of lane
 * 1, ..
 */
static inline int64_t vug_cpu_kc(int64_t k)
{
    const int64_t blocks = (k + VUG_CPU_KC - 1) / VUG_CPU_KC;
    return blocks < 2 ? k : ((k + blocks - 1) / blocks + 15) / 16 * 16;
}

/* The number of elements of lane `j` in a block of `n`. */
static inline int64_t vug_cpu_lane_size(int64_t n, int64_t j)
{
    return (n - j + VUG_CPU_LANES - 1) / VUG_CPU_LANES;
}

/* Where lane `j` begins in lane order. */
static inline int64_t vug_cpu_lane_start(int64_t n, int64_t j)
{
    const int64_t longer = n % VUG_CPU_LANES;
    return j * (n / VUG_CPU_LANES) + (j < longer ? j : longer);
}

/*
 * C [rows,16] = A [rows,k] x B [k,16], or C += it; or several panels of B beside each other, whose
 * products are C [rows,16 panels]. Element (r,c) is
 *
 *     s = 0;  for i in 0 .. k-1: s = fma(a[r][i], b[i][c], s)
 *     c[r][c] = accumulate ? c[r][c] + s : s
 */
typedef struct {
    const float *a;
    const void *b; /* floats; keys and values are in the format of their cache */
    float *c;
    int64_t k;
    int64_t lda, ldb, ldc; /* from row to row, in elements */
    int panels;            /* 1 to tile_panels of the kernel set */
    int64_t next_panel;    /* from a panel of B to the next one, in bytes */
    bool accumulate;
    const float *scale; /* [k] one of each row of all panels; only for values in 8 bits */
} vug_cpu_tile;

/* 1 <= rows <= tile_rows of the kernel set. */
typedef void vug_cpu_tile_fn(int rows, const vug_cpu_tile *t);

/* A hint that `bytes` from `w` on are needed soon, for the L2 cache, because L1 holds what is multiplied. */
static inline void vug_cpu_prefetch_bytes(const uint8_t *w, int64_t bytes)
{
    enum { TO_READ = 0, TO_L2 = 2, LINE = 64 };
    for (int64_t i = 0; i < bytes; i += LINE)
        __builtin_prefetch(w + i, TO_READ, TO_L2);
    __asm__ volatile(""); /* GCC drops calls of functions that only prefetch */
}

/* A hint that `floats` from `to` on are written soon. */
static inline void vug_cpu_prefetch_output(const float *to, int64_t floats)
{
    enum { TO_WRITE = 1, TO_L1 = 3, LINE_FLOATS = 16 };
    for (int64_t i = 0; i < floats; i += LINE_FLOATS)
        __builtin_prefetch(to + i, TO_WRITE, TO_L1);
    __asm__ volatile("");
}

/* y [rows,4]: row r is W [4,k] x[r]. The kernel may prefetch what follows each row of weights in
 * memory, which is likely to be needed next. */
typedef struct {
    const float *const *x; /* [rows] of [k], floats or pairs of BF16 */
    int rows;
    const uint8_t *w;
    float *y;
    int64_t k;
    int64_t stride; /* from row to row, in bytes; may be 0 */
} vug_cpu_gemm;

/* The kernels of one float format of weights. */
typedef struct {
    /* dst[i] = by * value of src[i] */
    void (*decode)(const uint8_t *src, float by, float *dst, int64_t n);
    /* panel [k][16] = the transpose of W [rows,k], 1 <= rows <= 16, in lane order; columns
     * from `rows` on are 0. */
    void (*pack)(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel);
    void (*gemm)(const vug_cpu_gemm *g);
} vug_cpu_format;

/*
 * BF16 weights with activations in BF16. Elements are taken in pairs: pair i holds elements 2 i and
 * 2 i + 1. In the order of sums above a pair takes the place of an element, and
 *
 *     s = fma(x[2 i + 1], w[2 i + 1], s);  s = fma(x[2 i], w[2 i], s)
 *
 * that of s = fma(x, w, s). In these steps operands and results below 2^-126 count as a zero of
 * their sign. This is what the instruction VDPBF16PS computes (Intel's manual, volume 2C).
 */
typedef struct {
    /* out [n] = x [n] to nearest, ties to even; a NaN stays one, below 2^-126 it is a zero. */
    void (*round)(const float *x, int64_t n, uint16_t *out);
    vug_cpu_format format; /* pack and gemm, where k counts pairs; decode is NULL */
    int tile_rows;         /* maximum rows of a tile, at most VUG_CPU_MAX_TILE_ROWS */
    int tile_panels;       /* maximum panels of B of a tile, at most VUG_CPU_MAX_TILE_PANELS */
    vug_cpu_tile_fn *tile; /* A and B are pairs */
} vug_cpu_pair_kernels;

/* dst [n] = the weights of a row of a quantized format without separate scales. */
typedef void vug_cpu_decode_fn(const uint8_t *src, int64_t n, float *dst);

typedef struct {
    float all, changed; /* the squares of a row of weights, and of what rounding it changed */
} vug_cpu_square_sums;

/* The running state of a softmax over blocks of keys. */
typedef struct {
    float max; /* of the scores so far; -inf before the first */
    float sum; /* of exp(score - max) */
} vug_cpu_softmax_state;

/* How a product q.k becomes a score: s = p * scale; with a softcap then
 * s = tanh(s / softcap) * softcap. */
typedef struct {
    float scale;
    float softcap; /* 0: none */
} vug_cpu_score_params;

typedef struct {
    const char *name;                                   /* "avx2": the value of --isa */
    const char *description;                            /* shown to users */
    const vug_cpu_format *format[VUG_DTYPE_COUNT];      /* NULL: not a float format */
    const vug_cpu_block_format *block[VUG_DTYPE_COUNT]; /* NULL: not a quantized format */
    /* Of all quantized formats; NULL if q8_panel_rows is 0. */
    const vug_cpu_q8_panel_format *q8_panel[VUG_DTYPE_COUNT];
    const vug_cpu_pair_kernels *pairs;
    vug_cpu_decode_fn *decode[VUG_DTYPE_COUNT]; /* NULL: vug_matrix_decode is used */

    int float_rows; /* most rows of x whose products with float weights use gemm, and no panels:
                       at most VUG_CPU_MAX_FLOAT_ROWS */
    int q8_streams; /* rows of weights of a product with several rows: 4 or VUG_CPU_MAX_STREAMS */
    int q8_panel_rows; /* fewest rows of x whose products with quantized weights use q8_panel, at
                          least VUG_CPU_MIN_Q8_PANEL_ROWS; 0: never */
    int q8_panels;     /* that q8_panel multiplies together: 1 to 3 */

    int tile_rows;   /* maximum rows of a tile */
    int tile_panels; /* maximum panels of B of a tile, at most VUG_CPU_MAX_TILE_PANELS */
    vug_cpu_tile_fn *tile;
    /* The same product with B in each format of the KV cache (cpu.h). Elements are widened to
     * F32 and, in 8 bits, multiplied by their scale. Keys: a whole panel [k][16] with its
     * scales. Values: rows of 16 columns. ldb is 16. */
    vug_cpu_tile_fn *keys[VUG_KV_COUNT], *values[VUG_KV_COUNT];
    /* Stores `n` elements of x, or pairs of BF16, in lanes: lane[j][i] = x[8 i + j]. */
    void (*order_lanes)(const void *x, int64_t n, float *const *lane);
    /* Quantizes a row of x to 8 bits, `n` a multiple of 32: q [n], scale [n/32], sum [n/16]. */
    void (*quantize)(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);
    /* Rounds weights, `n` a multiple of 32, to blocks of Q4_0: with m the weight of the largest
     * magnitude of a block, the positive one of two only if it is larger,
     *
     *     scale = m * -0.125 to the nearest F16;  r = 1 / scale (0 if scale is 0)
     *     q[i] = w[i] * r to the nearest integer, ties to even, within -8 .. 7; a NaN gives -8
     *
     * Sums of squares of w and of w - scale * q: lane j of 16 sums elements j, j + 16, .. with fma;
     * then lane j + 8 is added to lane j, then j + 4, j + 2, j + 1. */
    vug_cpu_square_sums (*round_q4_0)(const float *w, int64_t n, uint8_t *to);

    /*
     * Adds a block of keys: p [64] holds products, those of keys lo .. hi-1 are used (lo < hi).
     * With scores s as in vug_cpu_score_params and m = max(state->max, s):
     *
     *     p[i] = exp(s[i] - m) in lo .. hi-1, elsewhere unspecified
     *     state->sum = fma(state->sum, a, sum of p)     a = exp(state->max - m)
     *     state->max = m
     *
     * with the sum in lanes i mod 8 as in sum_squares. Returns a; the caller multiplies the
     * outputs so far by it.
     */
    float (*softmax)(float *p, int lo, int hi, const vug_cpu_score_params *score,
                     vug_cpu_softmax_state *state);
    /* o[i] = fma(x[i], b, o[i] * a) */
    void (*axpby)(float *o, float a, const float *x, float b, int64_t n);

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
    /* vug_ref_gelu, vug_ref_silu and vug_ref_exp of each element. softcap: tanh(x / by) * by
     * with vug_ref_tanh. */
    void (*gelu)(const float *x, float *out, int64_t n);
    void (*silu)(const float *x, float *out, int64_t n);
    void (*exp)(const float *x, float *out, int64_t n);
    void (*softcap)(const float *x, float by, float *out, int64_t n);

    /* A probe for measuring the machine: `rounds` rounds of fused multiply-adds in registers, whose
     * number of operations goes to *flop. Returns a value that depends on the work, so that the
     * compiler cannot drop it. */
    float (*probe_fma)(int64_t rounds, double *flop);
} vug_cpu_kernels;

/* The best set that runs on this machine, and is not better than the one named `cap` (may be
 * NULL). Returns NULL if no set has this name. */
const vug_cpu_kernels *vug_cpu_kernels_select(const char *cap);
/* All sets that run on this machine, slowest ("ref") first; `i` < vug_cpu_kernels_count(). */
int vug_cpu_kernels_count(void);
const vug_cpu_kernels *vug_cpu_kernels_at(int i);
/* Writes the names of the sets for this kind of processor, "ref, avx2, avx_vnni, avx512_vnni,
 * avx512_bf16, amx_int8", into a buffer of at least 64 bytes. */
const char *vug_cpu_kernels_names(char *buffer, size_t size);
/* Writes the processor's brand string into a buffer of at least 64 bytes; "" if unknown. */
const char *vug_cpu_brand(char *buffer, size_t size);

#endif
