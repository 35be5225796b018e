#ifndef VUG_CHECKPOINT_H
#define VUG_CHECKPOINT_H

/* What is done with a checkpoint besides running it. */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int64_t n_tokens, n_vocab;
    int64_t n_positions;       /* that the reference has logits of */
    double max_abs, mean_abs;  /* |logit - reference| */
    double mean_kl;            /* KL(reference || ours) per position, in nats */
    double top1;               /* share of positions with the same best token */
    int64_t n_greedy;          /* tokens of the reference's greedy continuation */
    int64_t n_greedy_equal;    /* of them equal, from the first on */
    bool chunked_identical;    /* chunks of 7 give the bits of one prefill */
    bool stepwise_identical;   /* so does token by token */
    int first_departing_layer; /* whose input, hidden.N, departs first; n_layers: the final
                                   norm's output; -1: none */
    double departing_max_abs;  /* there, relative to the largest element if that is over 1 */
    double tolerance;
    bool pass;
} vug_verification;

/* Compares with a reference.safetensors that another implementation wrote:
 * input_ids [T] and logits [T,V]; optionally hidden.N [T,D] and greedy [G], and
 * positions [P], ascending, where the logits [P,V] are of these positions only.
 * `tolerance` is on |logit difference|; 0: 2e-4, or what the architecture needs:
 * 1e-3 for Gemma 4. */
VUG_API VUG_MUST_CHECK vug_status vug_model_verify(vug_model *model, const char *reference,
                                                   double tolerance, vug_verification *out,
                                                   vug_err *err);

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

/* ---- what its values are like ---------------------------------------------------------- */

/* Of one tensor's values, decoded, as the file has them: a norm that a container stores
 * with 1 added has it. */
typedef struct {
    uint64_t n;                 /* values; 0: none, or of a format that vug does not decode */
    uint64_t n_bad;             /* that are infinite or not a number, and not in what follows */
    double min, max, mean, rms; /* NaN where no value counts; rms: the root of the mean square */
} vug_tensor_statistics;

/*
 * Decodes every tensor of the model, those that are passed over too, on as many threads
 * as it was opened with: `out` has room for vug_model_tensor_count of them. Results do
 * not depend on the number of threads. Needs memory for a row of the widest tensor per
 * thread. `progress`, which may be NULL, hears of bytes.
 */
VUG_API VUG_MUST_CHECK vug_status vug_model_statistics(const vug_model *model,
                                                       vug_progress_fn *progress, void *user,
                                                       vug_tensor_statistics *out, vug_err *err);

/* ---- writing a checkpoint again ------------------------------------------------------- */

/* Zeros are the defaults. */
typedef struct {
    /* The format of weights: NULL, as they are; bf16, f16, f32; for a GGUF file q4_0, q4_1,
     * q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4; for a folder
     * MLX's mlx2, mlx3, mlx4, mlx5, mlx6, mlx8, with /32, /64 (the default) or /128 weights
     * to a scale, and mxfp4. */
    const char *type;
    const char *embed, *head; /* of the embedding and of the output head; NULL: by the type */
    const char *importance;   /* a file of vug_importance_collect; NULL: all inputs alike */
    int threads;              /* 0: the physical cores */
    vug_progress_fn *progress;
    void *user;
    /* Hears, in a sentence, of what the new checkpoint lacks though the old one had it, such
     * as a tokenizer of a kind that the container has no words for; NULL: nobody. */
    void (*note)(const char *sentence, void *user);
} vug_convert_options;

/*
 * Writes the checkpoint `model`, a folder or a GGUF file, again: as one GGUF file where
 * `out` ends in .gguf, or as a new folder of safetensors; with its config, tokenizer and
 * chat template. Without a type nothing is lost: numbers stay in their format, or become
 * F32 where the container does not have it; with one, the weights of matrix products are
 * rounded so that the sum of importance * error^2 is small, and everything else stays.
 *
 * Needs memory for a few rows and, with MLX's formats, for the scales of one tensor. The
 * file or folder has its name only once it is complete.
 */
VUG_API VUG_MUST_CHECK vug_status vug_convert(const char *model, const char *out,
                                              const vug_convert_options *options, vug_err *err);

/* ---- how much each input matters ------------------------------------------------------ */

/* Zeros are the defaults. */
typedef struct {
    const char *name;          /* of the text, for sentences and the file; NULL: "the text" */
    int window;                /* tokens, with those in front; 0: 512, or what the model holds */
    vug_progress_fn *progress; /* in tokens */
    void *user;
} vug_importance_options;

/*
 * Runs the model over a text, UTF-8, and writes for each weight that inputs are multiplied
 * with the sum of the squares of each input: where it is large, an error of a weight costs
 * much. Tokens that the tokenizer puts in front of each window are not counted. All experts
 * of a layer count every token that their gates could have read; what lies between an
 * expert's own products is not seen, and left out.
 *
 * The file is GGUF as llama.cpp's imatrix tool writes it, under the names of weights in
 * GGUF: `NAME.in_sum2` F32 [1,in] and `NAME.counts` F32 [1,1], the tokens. A head that is
 * tied to the embedding counts for that.
 */
VUG_API VUG_MUST_CHECK vug_status vug_importance_collect(vug_model *model, const char *text,
                                                         size_t len, const char *out,
                                                         const vug_importance_options *options,
                                                         vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
