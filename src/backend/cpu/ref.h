#ifndef VUG_BACKEND_CPU_REF_H
#define VUG_BACKEND_CPU_REF_H

/*
 * The definition of every operation that leaves a choice (the order of a sum, what is
 * fused), in plain C: one value at a time, no blocking, no threads, no cache. The others
 * are one F32 operation for each element, or none. Tests compare the backend with it, to
 * the bit.
 */

#include "backend/cpu/kernels.h"
#include "ir/ir.h"

/* ---- functions of one number ---------------------------------------------- */

/* Within 1 ulp; 0 below about -104, inf above about 88.7, NaN of NaN. */
float vug_ref_exp(float x);
/* Within 2 ulp; odd. */
float vug_ref_tanh(float x);
/* The tanh form, as x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3). */
float vug_ref_gelu(float x);
/* x / (1 + exp(-x)). */
float vug_ref_silu(float x);

/* ---- operations ----------------------------------------------------------- */

/* One element of a row of weights. */
float vug_ref_element(vug_dtype dtype, const uint8_t *row, int64_t i);

/* y [rows,out] = x [rows,in] w^T, w [out,in]. Weights in blocks meet x in 8 bits; other
 * formats have no scales: a product with such weights is that with their F32 values. */
void vug_ref_linear(const float *x, int64_t rows, const vug_matrix *w, int64_t out, float *y);
/* A block of 32 activations in 8 bits: q [32], its scale, sum [2]. */
void vug_ref_round(const float *x, int8_t *q, float *scale, int16_t *sum);

/* x, out [n]; w [n] with the bias already added. */
void vug_ref_rms_norm(const float *x, const float *w, float eps, float *out, int64_t n);
/* x / rms(x): the same with weights of 1. */
void vug_ref_unit_norm(const float *x, float eps, float *out, int64_t n);
/* [dims] of one position: dims/2 cosines, then as many sines. */
void vug_ref_rope_table(const vug_attr_table *at, int32_t position, float *out);
/* x, out [n], n even: elements 0, 2, .., then 1, 3, .. */
void vug_ref_unpair(const float *x, float *out, int64_t n);
/* x, out [n], table [dims], dims <= n; elements from dims on are copied. */
void vug_ref_rope(const float *x, const float *table, int64_t dims, float *out, int64_t n);

/* logits [n] of one row -> out [2 count]. A NaN counts as the least. */
void vug_ref_router(const float *logits, int64_t n, const vug_attr_router *at, float *out);
/* out = route [2 k], each weight times that of its expert in w. */
void vug_ref_route_scale(const float *route, const float *w, int64_t k, float *out);

typedef struct {
    const vug_matrix *gate, *up, *down; /* [N] of [F,D], [F,D], [D,F] */
    vug_op activation;
} vug_ref_ffn;
/* x, out [D] of one row, route [2 k]; scratch [2 F + D]. */
void vug_ref_experts(const float *x, const float *route, int64_t k, const vug_ref_ffn *experts,
                     float *scratch, float *out);

/* What a cache of this format gives back of a head's key or value [n]. */
void vug_ref_kv(vug_kv format, const float *x, int64_t n, float *out);

/* One query at `position` against its whole history: k, v [position+1,K,E];
 * q, out [E] of a head whose kv head is `head`; k and v as the cache gives them back. With a mask k, v are [keys,K,E], and
 * mask [keys] is added to the scores in place of order and window; -inf leaves a
 * key out, and one at least is not. */
typedef struct {
    const float *k, *v;
    int64_t position;
    int64_t heads; /* K */
    int64_t head;
    int64_t width;  /* E */
    int64_t window; /* 0: all */
    vug_cpu_score score;
    const float *mask; /* NULL: none */
    int64_t keys;      /* with a mask */
} vug_ref_history;
void vug_ref_attention(const float *q, const vug_ref_history *h, float *out);

#endif
