#ifndef VUG_CHECKPOINT_H
#define VUG_CHECKPOINT_H

/* Offline work on checkpoints: verify, evaluate, analyse, convert and quantize them. */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- verification against a reference --------------------------------------------------- */

typedef struct {
    int64_t n_tokens, n_vocab;
    int64_t n_positions;      /* positions with reference logits */
    double max_abs, mean_abs; /* |logit - reference| */
    double mean_kl;           /* KL(reference || model) per position, in nats */
    double top1;              /* fraction of positions with the same most likely token */
    int64_t n_greedy;         /* tokens of the reference's greedy continuation */
    int64_t n_greedy_equal;   /* how many of them, from the first on, are equal or tie */
    int64_t n_greedy_ties;    /* other tokens whose logit is within 1e-3 of the best one's */
    bool chunked_identical;   /* steps of 7 tokens give the same bits as one prefill */
    bool stepwise_identical;  /* single tokens give the same bits as one prefill */
    double chunked_max_abs, stepwise_max_abs; /* |logit - that of one prefill| */
    int first_diverging_layer; /* the first layer whose input, hidden.N, diverges; n_layers: the
                                  output of the final norm; -1: none */
    double diverging_max_abs;  /* the largest difference there; relative to the largest element
                                  if that is greater than 1 */
    double tolerance;
    bool pass;
} vug_verification;

/* Compares the model with a reference.safetensors file of another implementation: input_ids [T]
 * and logits [T,V]; optionally hidden.N [T,D], greedy [G] and positions [P], ascending: logits
 * [P,V] are then those of these positions only. `tolerance` limits |logit difference|; 0: 2e-4,
 * or what the architecture (1e-3 for Gemma 4) or the device (its logit_error) needs. It also limits
 * the difference between one prefill and smaller steps on a device that is not batch-invariant;
 * others must give the same bits. */
VUG_API VUG_MUST_CHECK vug_status vug_model_verify(vug_model *model, const char *reference,
                                                   double tolerance, vug_verification *out,
                                                   vug_err *err);

/* Rows of one format, decoded and compared. */
typedef struct {
    const char *name; /* as in the file: "Q4_K", "mlx.b4.g64"; valid during the callback */
    int64_t rows, columns;
    int64_t n_different; /* weights; 0: all are equal to the bit */
    int64_t row, column; /* the position of the first weight that differs, and its values */
    float expected, decoded;
} vug_blocks_check;

typedef void vug_blocks_fn(const vug_blocks_check *check, void *user);

/*
 * Decodes block-quantized weights and compares them to the bit with their expected values; all
 * NaNs are equal. The file is a safetensors file that holds, for any number of formats, in any
 * order,
 *
 *     TYPE.blocks U8 [rows, bytes]                  TYPE.f32 F32 [rows, columns]
 *     mlx.bB.gG.weight U32 [rows, columns B / 32]   mlx.bB.gG.f32 F32 [rows, columns]
 *     mlx.bB.gG.scales, mlx.bB.gG.biases F32, F16 or BF16 [rows, columns / G]
 *
 * TYPE is a format of GGUF, such as Q4_K, or one of safetensors without blocks, such as BF16; B
 * is the number of bits, G the number of weights per scale. `each` is called for every format, in
 * the order of the file's .f32 tensors. Different weights are not an error. A file with another
 * layout is, which may be detected only after some calls of `each`.
 */
VUG_API VUG_MUST_CHECK vug_status vug_verify_blocks(const char *file, vug_blocks_fn *each,
                                                    void *user, vug_err *err);

/* ---- perplexity and comparison with another model ---------------------------------------- */

/*
 * How well a model predicts a text, and how far it is from another model.
 *
 * The text is encoded as it is; special tokens that are spelled in it are recognised. The model
 * reads it in windows: each begins with the tokens that the tokenizer puts in front of a text,
 * such as <bos>, followed by as many tokens of the text as fit. Every token that follows another
 * one in its window is scored once: tokens that a window shares with the previous one are context
 * only.
 */

typedef struct {
    const char *name;          /* of the text, for error messages; NULL: "the text" */
    int window;                /* tokens, including those in front; 0: that of base_logits, else
                                  512, or the trained context if that is less */
    int stride;                /* tokens from one window to the next; 0: that of base_logits, else
                                  as many as fit, so that windows do not overlap */
    vug_model *base;           /* compare with this model; NULL: none */
    const char *base_logits;   /* compare with this file, which save_logits wrote; NULL: none */
    const char *save_logits;   /* write a file for base_logits; not together with a base; NULL:
                                  do not */
    vug_progress_fn *progress; /* in tokens to be scored */
    void *user;
} vug_perplexity_options;

/* One model's predictions of the scored tokens. Logarithms are natural. */
typedef struct {
    double nll;              /* mean of -log p(token) */
    double nll_error;        /* its standard error, as if tokens were independent */
    double perplexity;       /* e^nll */
    double perplexity_error; /* perplexity * nll_error */
    double bits_per_byte;    /* sum of -log2 p(token) over the bytes of the scored text */
} vug_score;

typedef struct {
    int window, stride; /* as used */
    int64_t n_tokens;   /* of the text */
    int64_t n_windows;
    int64_t n_scored; /* tokens */
    uint64_t n_bytes; /* the bytes of text that the scored tokens stand for */
    double seconds;
    vug_score model;
    /* The rest is zero without a base. Values are per scored token, over the whole vocabulary. */
    vug_score base;
    double kl_mean, kl_median, kl_p99, kl_max; /* KL(base || model) in nats; at most 1 % of the
                                                  tokens are above kl_p99 */
    double top1;                               /* fraction of tokens where both models have the
                                                  same most likely token */
    double shift_mean, shift_rms; /* of p(token) by the model minus p(token) by the base */
} vug_perplexity;

/*
 * `text` is UTF-8 and has at least two tokens. A base must have the same tokenizer. At most 64 MiB
 * of logits per model are held at a time, in addition to the memory that vug_model_describe
 * announces.
 *
 * The file of save_logits is a safetensors file that holds `tokens` I32 (those in front of each
 * window, then the text's), `layout` I32 [3] (window, stride, number of tokens in front) and
 * `logprobs` F16 [scored tokens, vocabulary]: natural logarithms, 2 bytes per token and id of the
 * vocabulary. Rounding to F16 changes each log-probability by at most one part in 2048.
 */
VUG_API VUG_MUST_CHECK vug_status vug_model_perplexity(vug_model *model, const char *text,
                                                       size_t len,
                                                       const vug_perplexity_options *options,
                                                       vug_perplexity *out, vug_err *err);

/* ---- statistics of tensors ---------------------------------------------------------------- */

/* Statistics of one tensor's values as stored, after decoding. A norm that a container stores
 * with 1 added includes the 1. */
typedef struct {
    uint64_t n;                 /* values; 0: none, or a format that vug does not decode */
    uint64_t n_bad;             /* infinities and NaNs, which the fields below leave out */
    double min, max, mean, rms; /* NaN if no value is left; rms: root mean square */
} vug_tensor_statistics;

/*
 * Decodes every tensor of the checkpoint, used or not, on as many threads as the model was opened
 * with. `out` is an array of vug_model_tensor_count() entries. Results do not depend on the number
 * of threads. Needs memory for one row of the widest tensor per thread. `progress`, which may be
 * NULL, counts bytes.
 */
VUG_API VUG_MUST_CHECK vug_status vug_model_statistics(const vug_model *model,
                                                       vug_progress_fn *progress, void *user,
                                                       vug_tensor_statistics *out, vug_err *err);

/* ---- conversion and quantization ----------------------------------------------------------- */

/* All-zero chooses every default. */
typedef struct {
    /* The format of weights. NULL keeps them as they are; for every output: bf16, f16, f32; for a
     * GGUF file: q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs,
     * mxfp4; for a folder: MLX's mlx2, mlx3, mlx4, mlx5, mlx6, mlx8, with /32, /64 (the default)
     * or /128 weights per scale, and mxfp4. */
    const char *type;
    const char *embed, *head; /* formats of the embedding and the output head; NULL: by `type` */
    const char *importance; /* a file of vug_importance_collect; NULL: all inputs weigh the same */
    int threads;            /* 0: one for each physical core */
    vug_progress_fn *progress;
    void *user; /* passed to progress and note */
    /* Gets a message for each thing that the new checkpoint lacks, such as a tokenizer that the
     * output format cannot represent; NULL: no messages. */
    void (*note)(const char *message, void *user);
} vug_convert_options;

/*
 * Writes the checkpoint `model`, a folder or a GGUF file, to `out`: to a GGUF file if the name
 * ends in .gguf, otherwise to a new folder of safetensors; including config, tokenizer and chat
 * template. Without a type the conversion is lossless: numbers keep their format, or become F32 if
 * the container does not have it. With a type, the weights of matrix products are quantized such
 * that the sum of importance * error^2 is small, and everything else is kept.
 *
 * Needs memory for a few rows and, for MLX's formats, for the scales of one tensor. The output
 * appears under its name only when it is complete.
 */
VUG_API VUG_MUST_CHECK vug_status vug_convert(const char *model, const char *out,
                                              const vug_convert_options *options, vug_err *err);

/* ---- importance matrix ---------------------------------------------------------------------- */

/* All-zero chooses every default. */
typedef struct {
    const char *name; /* of the text, for error messages and the file; NULL: "the text" */
    int window;       /* tokens, including those in front; 0: 512, or the context if less */
    vug_progress_fn *progress; /* in tokens */
    void *user;
} vug_importance_options;

/*
 * Runs the model over a UTF-8 text and writes, for each input of each matrix product, the sum of
 * the squares of its values: weights of large inputs need more precision. The tokens that the
 * tokenizer puts in front of each window do not count. All experts of a layer count every token,
 * whether or not it is routed to them; inputs inside an expert are not measured and left out.
 *
 * The file is GGUF as llama.cpp's imatrix tool writes it, with the GGUF names of weights:
 * `NAME.in_sum2` F32 [1,in] and `NAME.counts` F32 [1,1], the number of tokens. A head that is tied
 * to the embedding counts as the embedding.
 */
VUG_API VUG_MUST_CHECK vug_status vug_importance_collect(vug_model *model, const char *text,
                                                         size_t len, const char *out,
                                                         const vug_importance_options *options,
                                                         vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
