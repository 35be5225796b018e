#ifndef VUG_BACKEND_CPU_X86_AVX2_H
#define VUG_BACKEND_CPU_X86_AVX2_H

/* The kernels of the avx2*.c files, from which avx2.c makes the kernel set. Other sets share some of
 * them. */

#include "backend/cpu/kernel_sets.h"

void vug_avx2_tile(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_f16(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_bf16(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_q8_keys(int rows, const vug_cpu_tile *t);
void vug_avx2_tile_q8_values(int rows, const vug_cpu_tile *t);
void vug_avx2_order_lanes(const void *x, int64_t n, float *const *lane);
void vug_avx2_quantize(const float *x, int64_t n, int8_t *q, float *scale, int16_t *sum);
vug_cpu_decode_fn vug_avx2_decode_q8_0, vug_avx2_decode_q6_k;
vug_cpu_square_sums vug_avx2_round_q4_0(const float *w, int64_t n, uint8_t *to);

float vug_avx2_softmax(float *p, int lo, int hi, const vug_cpu_score_params *score,
                       vug_cpu_softmax_state *state);
void vug_avx2_axpby(float *o, float a, const float *x, float b, int64_t n);
float vug_avx2_sum_squares(const float *x, int64_t n);
void vug_avx2_norm(const float *x, float r, const float *w, float *out, int64_t n);
void vug_avx2_rope(const float *x, const float *cosine, const float *sine, int64_t h, float *out);
void vug_avx2_add(const float *a, const float *b, float *out, int64_t n);
void vug_avx2_mul(const float *a, const float *b, float *out, int64_t n);
void vug_avx2_scale(const float *x, float by, float *out, int64_t n);
void vug_avx2_gelu(const float *x, float *out, int64_t n);
void vug_avx2_silu(const float *x, float *out, int64_t n);
void vug_avx2_exponential(const float *x, float *out, int64_t n);
void vug_avx2_softcap(const float *x, float by, float *out, int64_t n);
float vug_avx2_probe_fma(int64_t rounds, double *flop);

void vug_avx2_decode_f32(const uint8_t *src, float by, float *dst, int64_t n);
void vug_avx2_decode_f16(const uint8_t *src, float by, float *dst, int64_t n);
void vug_avx2_decode_bf16(const uint8_t *src, float by, float *dst, int64_t n);
void vug_avx2_pack_f32(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel);
void vug_avx2_pack_f16(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel);
void vug_avx2_pack_bf16(const uint8_t *w, int64_t stride, int rows, int64_t k, float *panel);
void vug_avx2_round_bf16(const float *x, int64_t n, uint16_t *out);
extern const vug_cpu_pair_kernels vug_avx2_pairs;
extern const vug_cpu_format vug_avx2_f32, vug_avx2_f16, vug_avx2_bf16;

/* Kernels of quantized weights. The sources of AVX2 are compiled with AVX-VNNI, too, for another set. */
#if defined(__AVXVNNI__)
#define AVX2_BLOCKS(id) vug_avx_vnni_##id
#else
#define AVX2_BLOCKS(id) vug_avx2_##id
#endif
#define DECLARE_BLOCK_FORMAT(id, dtype) extern const vug_cpu_block_format AVX2_BLOCKS(id);
VUG_CPU_BLOCK_FORMATS(DECLARE_BLOCK_FORMAT)
#undef DECLARE_BLOCK_FORMAT

#endif
