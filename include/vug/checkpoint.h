#ifndef VUG_CHECKPOINT_H
#define VUG_CHECKPOINT_H

/* What is done with the weights of a checkpoint besides running them. */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of one format, decoded and compared. */
typedef struct {
    const char *name; /* as the file has it: "Q4_K", "mlx.b4.g64"; lives during the call */
    int64_t rows, columns;
    int64_t n_different; /* weights; 0: all are the same to the bit */
    int64_t row, column; /* of the first that differs, and what it is */
    float expected, decoded;
} vug_blocks_check;

typedef void vug_blocks_fn(const vug_blocks_check *check, void *user);

/*
 * Decodes weights in blocks and compares them to the bit with what they stand for; one
 * NaN is as good as another. The file is a safetensors file that holds, of any number of
 * formats, in any order,
 *
 *     TYPE.blocks U8 [rows, bytes]                  TYPE.f32 F32 [rows, columns]
 *     mlx.bB.gG.weight U32 [rows, columns B / 32]   mlx.bB.gG.f32 F32 [rows, columns]
 *     mlx.bB.gG.scales, mlx.bB.gG.biases F32, F16 or BF16 [rows, columns / G]
 *
 * with TYPE a format of GGUF, such as Q4_K, or one of safetensors with elements of their
 * own, such as BF16; B bits and G weights that share a scale. `each` hears of every
 * format, in the order of the file's .f32. That weights differ is no failure; a file of
 * another layout is, also after some formats have been compared.
 */
VUG_API VUG_MUST_CHECK vug_status vug_verify_blocks(const char *file, vug_blocks_fn *each,
                                                    void *user, vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
