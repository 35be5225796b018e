#ifndef VUG_BACKEND_CPU_REF_H
#define VUG_BACKEND_CPU_REF_H

/*
 * The definition in plain C of every operation whose result depends on a choice, such as the
 * order of a sum or which products are fused: one value at a time, without blocking, threads
 * or caches. All other operations are one F32 operation per element, or none. Tests compare
 * the backend with these definitions, to the bit.
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

/* The sum of s [8], in the order in which kernels add the lanes of a vector. */
float vug_ref_sum_lanes(const float *s);
/* To the nearest BF16, ties to even; below 2^-126 a zero. */
uint16_t vug_ref_round_bf16(float x);
/* One element of a row of weights. */
float vug_ref_decode_element(vug_dtype dtype, const uint8_t *row, int64_t i);

/* y [rows,out] = x [rows,in] w^T, w [out,in]. With quantized weights x is quantized to 8 bits.
 * Other formats must not have scales; callers decode such weights to F32. */
void vug_ref_linear(const float *x, int64_t rows, const vug_matrix *w, int64_t out, float *y);
/* Quantizes a block of 32 activations to 8 bits: q [32], scale, sum [2]. */
void vug_ref_quantize_block(const float *x, int8_t *q, float *scale, int16_t *sum);

/* x, out [n]; w [n] with the bias already added. */
void vug_ref_rms_norm(const float *x, const float *w, float eps, float *out, int64_t n);
/* x / rms(x), without weights. */
void vug_ref_unit_norm(const float *x, float eps, float *out, int64_t n);
/* out [dims] of one position: dims/2 cosines, then dims/2 sines. */
void vug_ref_rope_table(const vug_attr_table *at, int32_t position, float *out);
/* x, out [n], n even: out has elements 0, 2, .., then 1, 3, .. of x. */
void vug_ref_deinterleave(const float *x, float *out, int64_t n);
/* x, out [n], table [dims], dims <= n. Elements from dims on are copied. */
void vug_ref_rope(const float *x, const float *table, int64_t dims, float *out, int64_t n);

/* logits [n] of one row -> out [2 count]: indices, then weights. A NaN ranks lowest. */
void vug_ref_router(const float *logits, int64_t n, const vug_attr_router *at, float *out);
/* out = route [2 k] with each weight multiplied by w of its expert. */
void vug_ref_route_scale(const float *route, const float *w, int64_t k, float *out);

typedef struct {
    const vug_matrix *gate, *up, *down; /* [N] of [F,D], [F,D], [D,F] */
    vug_op activation;
} vug_ref_expert_weights;
/* x, out [D] of one row, route [2 k]; scratch [2 F + D]. */
void vug_ref_experts(const float *x, const float *route, int64_t k,
                     const vug_ref_expert_weights *experts, float *scratch, float *out);

/* Rounds a head's key or value [n] as a cache of this format does. */
void vug_ref_round_kv(vug_kv_format format, const float *x, int64_t n, float *out);

/* One query at `position` and all keys up to it: q, out [E] of a query head whose KV head is
 * `head`; k, v [position+1,K,E], rounded to the format of the cache. With a mask, k and v are
 * [keys,K,E], and mask [keys] is added to the scores in place of the causal order and the
 * window. -inf hides a key; at least one key must be visible. */
typedef struct {
    const float *k, *v;
    int64_t position;
    int64_t heads; /* K */
    int64_t head;
    int64_t width;  /* E */
    int64_t window; /* 0: full attention */
    vug_cpu_score_params score;
    const float *mask; /* NULL: none */
    int64_t keys;      /* with a mask */
} vug_ref_attention_job;
void vug_ref_attention(const float *q, const vug_ref_attention_job *h, float *out);

#endif
