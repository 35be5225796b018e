#ifndef VUG_CHECKPOINT_INTERNAL_H
#define VUG_CHECKPOINT_INTERNAL_H

/* What the files of checkpoint/ share. Only they and tests include it. */

#include "engine/offline.h"
#include "vug/checkpoint.h"

/* ---- names of weight formats (weight_types.c) ------------------------------------ */

typedef struct {
    vug_dtype dtype;
    int group; /* MLX: weights per scale; FP8: rows and columns per scale; else 0 */
} vug_weight_type;

/* The set of formats that a name may mean. "mxfp4" is that of the container; in the set of all
 * formats it is GGUF's, and "mlx_fp4" is MLX's. */
typedef enum {
    VUG_TYPES_PLAIN,  /* BF16, F16, F32 */
    VUG_TYPES_GGUF,   /* and those of GGUF */
    VUG_TYPES_FOLDER, /* and those of MLX */
    VUG_TYPES_ALL,    /* both, and FP8 */
} vug_type_set;

VUG_MUST_CHECK vug_status vug_weight_type_parse(const char *name, vug_type_set set,
                                                vug_weight_type *out, vug_err *err);
/* The format with blocks of 32 that llama.cpp uses for rows that are not a multiple of 256
 * (src/llama-quant.cpp, tensor_type_fallback). */
vug_dtype vug_dtype_without_super_blocks(vug_dtype dtype);

/* ---- random weights in blocks (synth_blocks.c) ----------------------------------- */

bool vug_random_supports(vug_dtype dtype);
/* Fills blocks first .. first + n - 1 of a tensor with weights of about this standard
 * deviation. */
void vug_random_blocks(vug_dtype dtype, uint64_t seed, uint64_t first, size_t n, float deviation,
                       uint8_t *out);
/* Fills the scales of formats that store them apart, BF16 or for MLX_FP4 E8M0, and the biases,
 * which may be NULL. */
void vug_random_scales(vug_dtype dtype, uint64_t seed, uint64_t first, size_t n, float deviation,
                       uint8_t *scale, uint8_t *bias);

/* ---- rows of logits (score.c) ---------------------------------------------------- */

/* The index of the highest logit, the first of equal ones; never that of a NaN, unless it is the
 * first logit. */
int64_t vug_logits_argmax(const float *row, int64_t n);
/* The sum of e^(x - highest); log(sum) + highest is the log-sum-exp of the row. */
double vug_logits_sum_exp(const float *row, int64_t n, double highest);

#endif
