#ifndef VUG_VUG_H
#define VUG_VUG_H

/*
 * vug: a native inference engine for the Gemma, Qwen and Llama 3 families.
 *
 * A vug_model is an opened checkpoint: the mapped weights, the tokenizer and the compiled program.
 * It is read-only after vug_model_open and may be shared by any number of threads. A vug_session is
 * one sequence of tokens over a model: its KV cache and its buffers. A session belongs to one
 * thread at a time; another thread stops its running call with a vug_cancel_token. Sessions of one
 * model share the model's worker threads and run one step at a time.
 *
 * The caller always passes the whole token prefix to a session; the session computes only the
 * tokens that its cache does not hold yet.
 *
 * Errors: every function that can fail returns a vug_status and, if `err` is not NULL, fills it
 * with an error message. Functions return results through trailing `out` parameters and write them
 * only on VUG_OK.
 *
 * Ownership: every `open` has a `close`, every `create` a `destroy`. A returned `const` pointer
 * lives as long as the object it came from, unless its comment says otherwise. A vug_tokens or
 * vug_text that a function fills belongs to the caller, who frees it with vug_tokens_release or
 * vug_text_release. Functions that free something accept NULL and all-zero values. Text is UTF-8.
 * All shapes are row-major, outermost dimension first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vug/cache.h"
#include "vug/sampling.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define VUG_API        __attribute__((visibility("default")))
#define VUG_MUST_CHECK __attribute__((warn_unused_result))
#else
#define VUG_API
#define VUG_MUST_CHECK
#endif

#define VUG_VERSION "0.1.0" /* of this header */
/* The version of the library; static, never NULL. */
VUG_API const char *vug_version(void);

/* ---- errors ------------------------------------------------------------ */

/* X(id, text) */
#define VUG_STATUS_TABLE(X)                                                     \
    X(OK, "ok")                                                                 \
    X(NOMEM, "out of memory")                                                   \
    X(IO, "i/o error")              /* a file or pipe cannot be read */         \
    X(WRITE, "cannot write")        /* a file or folder cannot be written */    \
    X(FORMAT, "malformed input")    /* the input breaks its format */           \
    X(UNSUPPORTED, "not supported") /* valid input that vug does not support */ \
    X(ARGUMENT, "invalid argument") /* the caller passed a wrong argument */    \
    X(LIMIT, "limit exceeded")      /* such as the context or memory */         \
    X(DEVICE, "device failure")     /* a GPU failed, or is lost */              \
    X(CANCELLED, "cancelled")

typedef enum {
#define X(id, text) VUG_##id,
    VUG_STATUS_TABLE(X)
#undef X
            VUG_STATUS_COUNT
} vug_status;

typedef struct {
    vug_status code;
    int line;         /* the source line that first detected the error */
    const char *file; /* the source file of `line`; static storage */
    char msg[512];    /* NUL-terminated, truncated if longer */
} vug_err;

/* Static string; never NULL. */
VUG_API const char *vug_status_text(vug_status code);

/* ---- results owned by the caller ----------------------------------------- */

typedef struct {
    int32_t *id; /* [n] */
    size_t n;
} vug_tokens;

typedef struct {
    char *ptr;  /* NUL-terminated; the text itself may contain NULs */
    size_t len; /* bytes, without the terminator */
} vug_text;

VUG_API void vug_tokens_release(vug_tokens *tokens);
VUG_API void vug_text_release(vug_text *text);

/* ---- cancellation ------------------------------------------------------ */

/* Cancels the calls that were given it in their options, also those that begin before it is reset. */
typedef struct vug_cancel_token vug_cancel_token;

VUG_API VUG_MUST_CHECK vug_status vug_cancel_token_create(vug_cancel_token **out, vug_err *err);
/* No running call may hold the token any more. */
VUG_API void vug_cancel_token_destroy(vug_cancel_token *token);
/* From any thread or signal handler. */
VUG_API void vug_cancel_token_trigger(vug_cancel_token *token);
VUG_API void vug_cancel_token_reset(vug_cancel_token *token);
VUG_API bool vug_cancel_token_is_triggered(const vug_cancel_token *token);

/* ---- devices ----------------------------------------------------------- */

typedef struct {
    const char *name;      /* for vug_model_options.device, such as "cpu" */
    char description[128]; /* the hardware and the kernels chosen for it */
    bool available;
    const char *reason; /* why the device is not available; "" if it is */
    int threads;        /* the default number of threads; 0 if the device has none */
    uint64_t memory;    /* bytes */
} vug_device_info;

/* The peak rates of a device, measured: upper limits for the speed of a model. */
typedef struct {
    double read_bytes_per_s; /* streaming reads of memory far larger than the caches */
    double f32_flop_per_s;   /* fused multiply-adds in registers, counted as two */
    double bf16_flop_per_s;  /* products of matrices in BF16; 0: no units for matrices */
} vug_device_limits;

VUG_API size_t vug_device_count(void);
/* `i` < vug_device_count(). Devices are ordered from most to least preferred. */
VUG_API vug_device_info vug_device_get(size_t i);
/* Takes about a second. `threads` 0: the device's default. */
VUG_API VUG_MUST_CHECK vug_status vug_device_measure(const char *device, int threads,
                                                     vug_device_limits *out, vug_err *err);

/* ---- tokenizer --------------------------------------------------------- */

typedef struct vug_tokenizer vug_tokenizer;

/* `path` is a checkpoint folder, a tokenizer.json, a tokenizer.model or a GGUF file.
 * A tokenizer is read-only: any number of threads may use it at once. */
VUG_API VUG_MUST_CHECK vug_status vug_tokenizer_open(const char *path, vug_tokenizer **out,
                                                     vug_err *err);
VUG_API void vug_tokenizer_close(vug_tokenizer *tokenizer);

typedef enum {
    VUG_ENCODE_PLAIN = 0,         /* special tokens spelled in the text stay text */
    VUG_ENCODE_PARSE_SPECIAL = 1, /* special tokens spelled in the text become tokens */
    VUG_ENCODE_ADD_SPECIAL = 2,   /* add the post-processor's tokens, such as <bos> */
    VUG_ENCODE_ADD_MISSING = 4,   /* as ADD_SPECIAL, but no prefix that the text already has */
} vug_encode_flags;

/* `flags` combines vug_encode_flags. Bytes that are not UTF-8 are encoded as U+FFFD, as
 * the reference implementation does. */
VUG_API VUG_MUST_CHECK vug_status vug_tokenizer_encode(const vug_tokenizer *tokenizer,
                                                       const char *text, size_t len, unsigned flags,
                                                       vug_tokens *out, vug_err *err);
/* The text of `n` tokens. `skip_special` drops control tokens such as <eos>. */
VUG_API VUG_MUST_CHECK vug_status vug_tokenizer_decode(const vug_tokenizer *tokenizer,
                                                       const int32_t *id, size_t n,
                                                       bool skip_special, vug_text *out,
                                                       vug_err *err);
/* The number of ids; 0 .. size - 1 are valid. */
VUG_API int32_t vug_tokenizer_size(const vug_tokenizer *tokenizer);
/* The token's spelling in the vocabulary, or NULL. `len` may be NULL. */
VUG_API const char *vug_tokenizer_token(const vug_tokenizer *tokenizer, int32_t id, size_t *len);
/* The bytes that the token stands for inside a text, possibly a part of a character. */
VUG_API VUG_MUST_CHECK vug_status vug_tokenizer_bytes(const vug_tokenizer *tokenizer, int32_t id,
                                                      vug_text *out, vug_err *err);
/* Whether the token is a control token, such as <eos>, which `skip_special` drops. */
VUG_API bool vug_tokenizer_is_special(const vug_tokenizer *tokenizer, int32_t id);
/* The id of the token with exactly this spelling, or -1. */
VUG_API int32_t vug_tokenizer_find(const vug_tokenizer *tokenizer, const char *token);
/* The memory that the tokenizer uses, in bytes. */
VUG_API uint64_t vug_tokenizer_memory(const vug_tokenizer *tokenizer);

/* Decodes a stream token by token. It returns text in whole UTF-8 sequences; all of
 * it together is exactly the text of vug_tokenizer_decode. */
typedef struct vug_decoder vug_decoder;

VUG_API VUG_MUST_CHECK vug_status vug_decoder_create(const vug_tokenizer *tokenizer,
                                                     bool skip_special, vug_decoder **out,
                                                     vug_err *err);
VUG_API void vug_decoder_destroy(vug_decoder *decoder);
/* The text that `id` completes, possibly empty; valid until the next call. */
VUG_API VUG_MUST_CHECK vug_status vug_decoder_push(vug_decoder *decoder, int32_t id,
                                                   const char **text, size_t *len, vug_err *err);
/* The text that was held back: an incomplete sequence becomes U+FFFD. Resets the decoder. */
VUG_API VUG_MUST_CHECK vug_status vug_decoder_finish(vug_decoder *decoder, const char **text,
                                                     size_t *len, vug_err *err);

/* ---- chat: the short form; chat.h has tools, thinking and templates ------- */

typedef struct {
    const char *role;    /* "system", "user", "assistant" */
    const char *content; /* NUL-terminated; special tokens spelled in it stay text */
} vug_message;

/* ---- model ------------------------------------------------------------- */

typedef struct vug_model vug_model;

/* Reports the progress of a long call, for vug_model_open in bytes. Return false to make
 * the call fail with VUG_CANCELLED. */
typedef bool vug_progress_fn(uint64_t done, uint64_t total, void *user);

/* All-zero chooses every default. */
typedef struct {
    const char *device; /* by name; NULL: the best available */
    int gpu_layers;     /* the last layers and the head run on it, the others on the CPU; 0: as many
                              as fit; -1: none; more than there are: the embedding, too. More than
                              0 without a GPU or the name of a device is refused */
    int cpu_experts;    /* at least so many first layers have their experts on the CPU */
    int context;        /* most tokens in a session; 0: 4096, the trained context or what
                              kv_memory holds, whichever is least */
    int batch;          /* most tokens in one step; 0: 512 */
    int threads;        /* 0: one for each physical core */
    int slots;          /* sequences that may generate in one step, at most `batch`; 0: 1 */
    int snapshot_percent; /* percent of kv_memory for snapshots of sliding windows, from which
                              conversations can continue before their end; 0: 25; -1: none */
    uint64_t kv_memory;   /* bytes for keys and values of sessions and cached prefixes; they must
                              hold `context` tokens; 0: what the machine can spare */
    const char
            *cache_dir;  /* a folder for keys and values, which are found again after a restart and
                              by other processes; made with mode 0700 if missing; NULL: none */
    uint64_t cache_size; /* bytes of the files in it; 0: 10 GiB */
    /* Called at most once, on a thread of the model, if files cannot be written there; or NULL. */
    void (*warn)(void *user, const char *message);
    uint64_t memory_limit; /* bytes for weights, caches and buffers; 0: no limit */
    const char *isa;       /* the highest instruction set that CPU kernels may use: "ref", "avx2",
                              "avx_vnni", "avx512_vnni", "avx512_bf16", "amx_int8", or "neon",
                              "neon_dotprod", "neon_bf16", "neon_i8mm" on AArch64; NULL: the best */
    const char *draft;   /* a smaller model with the same tokenizer, opened like this one: it writes
                              drafts for speculative decoding; NULL: none; for vug_model_open only */
    const char *profile; /* the compile profile: a file, "prefill" or "decode"; NULL: vug.toml
                              beside the weights if it exists, else "prefill" */
    const char *kv;      /* of caches: "f32", "f16", "bf16", "q8"; NULL: the profile's, or "f32" */
    const char *activations; /* how matrix products round their input: "q8" (to 8 bits if the
                                weights are in blocks), "bf16" (also to BF16 if the weights are
                                BF16), "bf16-fast" (the same, with sums in the fastest order), "f32"
                                (not at all); NULL: the profile's, else "q8" */
    const char *head_screen; /* a smaller copy of the output matrix that shows which logits sampling
                                may need, so that others are not computed; tokens are the same:
                                "auto" (also NULL): if faster and without a memory limit; "on"; "off" */
    bool lazy;               /* load weights on first use instead of at open */
    vug_progress_fn *progress;
    void *user; /* passed to progress and warn */
} vug_model_options;

/* `path` is a folder with config.json and *.safetensors, or a GGUF file (any part of a
 * split one). A model whose tokenizer is missing or not supported opens without one;
 * vug_model_tokenizer then explains why. */
VUG_API VUG_MUST_CHECK vug_status vug_model_open(const char *path, const vug_model_options *options,
                                                 vug_model **out, vug_err *err);
/* All sessions of the model must have been destroyed. */
VUG_API void vug_model_close(vug_model *model);

/* Memory use in bytes, planned before anything is allocated. */
typedef struct {
    uint64_t weights_mapped;  /* weights that are used in the mapped files */
    uint64_t tables_mapped;   /* mapped tables that are read a row per token; not in `total` */
    uint64_t weights_copied;  /* weights that are converted or repacked at load */
    uint64_t weights_decoded; /* those of them that are decoded to BF16, because the device does not
                                 compute with their format; not in `total` */
    uint64_t tokenizer;
    uint64_t graph;         /* the compiled program and its tables */
    uint64_t buffers;       /* of a step */
    uint64_t cache;         /* keys and values of `slots` sessions for the whole context */
    uint64_t session_cache; /* the same of one session; not in `total` */
    uint64_t snapshot;      /* keys and values of a snapshot of sliding windows; not in `total` */
    uint64_t draft;         /* all of the draft model, with keys and values for `slots` sessions */
    uint64_t process;       /* the process's own code and stacks, estimated */
    uint64_t total;
    uint64_t device; /* what of the total lies in memory that only the device has; 0 without such */
} vug_memory_plan;

typedef struct {
    const char *path;
    const char *architecture; /* such as "gemma3" */
    const char *device;
    const char *kernels; /* the device's description: hardware and kernels */
    int64_t n_layers, d_model, n_heads, n_kv_heads, d_head, d_ffn, n_vocab;
    int64_t n_experts, n_experts_per_token, d_expert; /* 0 in a model without experts */
    int64_t n_parameters;        /* of the text model; a tied head counts once */
    int64_t n_active_parameters; /* the parameters that one token uses */
    int64_t context_trained;     /* tokens */
    int64_t context;             /* most tokens in a session */
    int64_t batch;               /* most tokens in one step */
    int threads;
    const char *kv;                  /* the element format of KV caches, such as "f32" */
    const char *activations;         /* as in vug_model_options */
    const char *activations_meaning; /* how the device rounds then, in words; or NULL */
    const char *note; /* how the device computes, where a user may want something else; or NULL */
    bool tied_head;
    bool batch_invariant; /* the device gives a token's logits the same bits whatever else is in a
                             step; otherwise they may differ by rounding in F32 */
    double logit_error;   /* the most that the device's rounding changes a logit; 0: as F32 does */
    uint64_t bytes_per_token; /* bytes of weights that are read to decode one token */
    int64_t flop_per_token;   /* in matrix products, for each token of a prompt */
    int64_t flop_per_logits;  /* in addition, for each row of logits */
    vug_memory_plan memory;
} vug_model_info;

VUG_API vug_model_info vug_model_describe(const vug_model *model);
/* NULL if there is no supported tokenizer; `why`, which may be NULL, then gets the reason. */
VUG_API const vug_tokenizer *vug_model_tokenizer(const vug_model *model, vug_err *why);
/* The ids that end a generation, from generation_config.json, config.json and the
 * end-of-turn token of the chat format. Ascending. */
VUG_API const int32_t *vug_model_stop_tokens(const vug_model *model, size_t *n);

/* One of the checkpoint's tensors. */
typedef struct {
    const char *name;   /* in the file */
    const char *format; /* such as "BF16" */
    const char *file;   /* base name */
    int rank;
    int64_t dim[8];
    uint64_t bytes;         /* including its scales */
    int64_t scale_block[2]; /* rows and columns per scale, if scales are a tensor of their own;
                               else 0 */
    bool used;              /* false: not part of the text model, such as a vision tower */
} vug_tensor_info;

VUG_API size_t vug_model_tensor_count(const vug_model *model);
/* `i` < vug_model_tensor_count(). */
VUG_API vug_tensor_info vug_model_tensor(const vug_model *model, size_t i);

typedef struct {
    const char *cache;    /* "full", "window" or "shared" */
    int64_t window;       /* tokens; 0: not a sliding window */
    int64_t slots;        /* tokens that the cache holds */
    uint64_t cache_bytes; /* 0 for a layer that reads another layer's cache */
    int64_t source;       /* the layer whose cache this one reads: itself or an earlier one */
    int64_t n_kv_heads, d_head;
} vug_layer_info;

/* `i` < n_layers. */
VUG_API vug_layer_info vug_model_layer(const vug_model *model, size_t i);

typedef enum { VUG_GRAPH_TEXT, VUG_GRAPH_DOT, VUG_GRAPH_SVG } vug_graph_format;

/* The model's graph as the architecture builds it or, if `fused`, as it runs. */
VUG_API VUG_MUST_CHECK vug_status vug_model_graph(const vug_model *model, vug_graph_format format,
                                                  bool fused, vug_text *out, vug_err *err);

/* ---- models with random weights ------------------------------------------ */

/* A model's shape is its configuration without weights; vug knows those of published models,
 * such as "gemma-3-1b". */
VUG_API size_t vug_synth_shape_count(void);
/* `i` < vug_synth_shape_count(). */
VUG_API const char *vug_synth_shape_name(size_t i);
/* A model of this shape with random weights in memory and no tokenizer. `type` is any
 * format of vug_convert_options ("mxfp4" is that of GGUF, "mlx_fp4" that of MLX) or "fp8". */
VUG_API VUG_MUST_CHECK vug_status vug_model_synthesize(const char *shape, const char *type,
                                                       uint64_t seed,
                                                       const vug_model_options *options,
                                                       vug_model **out, vug_err *err);
/* Writes such a model as a checkpoint to the new folder `dir`; `type` is "bf16", "f16" or
 * "f32". A failed or cancelled call removes the folder. */
VUG_API VUG_MUST_CHECK vug_status vug_synth_write(const char *shape, const char *type,
                                                  uint64_t seed, const char *dir,
                                                  vug_progress_fn *progress, void *user,
                                                  vug_err *err);

/* ---- sampling; sampling.h has the samplers ----------------------------- */

/* The chain of generation_config.json, greedy for `do_sample: false`; or else temperature 1. */
VUG_API vug_sampling_defaults vug_model_sampling(const vug_model *model);
VUG_API const char *vug_sampler_name(vug_sampler_kind kind);
/* Writes the chain of `defaults`, changed by `n` settings, to `chain` [n + VUG_SAMPLER_COUNT], in
 * the order of VUG_SAMPLER_TABLE. The last setting of a kind counts; every BIAS is kept. Returns
 * the length of the chain, at least 1. */
VUG_API size_t vug_sampling_merge(const vug_sampling_defaults *defaults,
                                  const vug_sampler_config *setting, size_t n,
                                  vug_sampler_config *chain);

/* ---- sessions ---------------------------------------------------------- */

typedef struct vug_session vug_session;

/* A session computes no prefix that this or another session of the model has computed before, as
 * long as its keys and values are cached. They get memory as they are computed. */
VUG_API VUG_MUST_CHECK vug_status vug_session_create(vug_model *model, vug_session **out,
                                                     vug_err *err);
VUG_API void vug_session_destroy(vug_session *session);
/* Empties the session. Its next prefix is computed as a whole, as if nothing were cached, and
 * other sessions cannot use it. */
VUG_API void vug_session_reset(vug_session *session);
/* From now on the session finds only what sessions of the same namespace have computed, and only
 * these find what it computes. The name, such as that of a user, is `n` bytes; n = 0 is the
 * namespace of new sessions. Empties the session. */
VUG_API VUG_MUST_CHECK vug_status vug_session_set_namespace(vug_session *session, const void *name,
                                                            size_t n, vug_err *err);
/* The number of tokens that the session has computed or found in the cache. */
VUG_API size_t vug_session_length(const vug_session *session);
/* The results of one step; pointers are valid until the callback returns. */
typedef struct {
    int64_t first;              /* the position of the step's first token */
    int64_t n;                  /* tokens in the step */
    int64_t n_logits;           /* rows of logits, for the last tokens of the step: n, 1 or 0 */
    const float *logits;        /* [n_logits, n_vocab] */
    const float *const *hidden; /* n_layers + 1 of [n, d_model]: the input of each layer, then the
                                   output of the final norm; NULL unless requested */
} vug_step;

/* Return false to stop after this step. */
typedef bool vug_step_fn(const vug_step *step, void *user);

typedef struct {
    int chunk;       /* tokens per step; 0: the model's batch */
    bool all_logits; /* for every token, not only the last */
    bool hidden;     /* report hidden states */
    int best_logits; /* only so many of the greatest are wanted; others may be -FLT_MAX, which saves
                        time; 0: all, as with all_logits or hidden */
    int priority;    /* among calls of other sessions; lower numbers go first */
    const vug_cancel_token *cancel; /* NULL: the call cannot be cancelled */
    vug_step_fn *on_step;
    void *user; /* passed to on_step */
} vug_forward_options;

/* Extends the session to the prefix `id[0..n)`. Computes only the tokens that are not
 * in the cache, or all of them with all_logits or hidden. `options` may be NULL. A cancelled call
 * returns VUG_CANCELLED, and one that on_step ends VUG_OK; both keep the steps that were complete. */
VUG_API VUG_MUST_CHECK vug_status vug_session_forward(vug_session *session, const int32_t *id,
                                                      size_t n, const vug_forward_options *options,
                                                      vug_err *err);
/* The logits [n_vocab] after the last call's last token, valid until the next call; or NULL. After
 * vug_generate, those that sampling did not look at may be -FLT_MAX. */
VUG_API const float *vug_session_logits(const vug_session *session);
/* The token of the greatest of these logits, the lowest id among equals; -1: there are none. Takes
 * less time than a search if only some were wanted. */
VUG_API int32_t vug_session_best_token(const vug_session *session);

/* From any thread; it may wait for the end of other calls, but not for a step. */
VUG_API vug_cache_stats vug_model_cache_stats(const vug_model *model);

/* ---- generation -------------------------------------------------------- */

typedef struct {
    int32_t token;
    float logprob; /* natural logarithm; before any sampler changes the distribution */
} vug_logprob;

/* One generated token. */
typedef struct {
    const char *text; /* the text that the token completes, perhaps empty; not NUL-terminated */
    size_t len;
    int32_t token; /* -1 in a last piece that only carries text that was held back */
    bool is_stop;  /* a stop token: it ends the answer and has no text */
    float logprob;
    const vug_logprob *top; /* [n_top], the most likely tokens, best first; or those asked for */
    size_t n_top;
} vug_piece;

/* Told how many tokens of the prompt are cached, before the others are computed, and with
 * `prompt_steps` how many are computed or cached after each step. */
typedef void vug_prompt_fn(size_t n_done, void *user);

/* Return false to end the generation after this piece. */
typedef bool vug_piece_fn(const vug_piece *piece, void *user);

/* Speculative decoding: drafts of the next tokens are computed in one step and kept as far as they
 * are the tokens that are then sampled. The answer is the same, token for token. It is done only
 * while it is measured to make the answer faster. */
typedef enum {
    VUG_SPECULATION_LOOKUP, /* drafts repeat what followed the same tokens in prompt and answer;
                               without any, the draft model writes them, if there is one */
    VUG_SPECULATION_OFF,
} vug_speculation_mode;

/* All-zero chooses every default. */
typedef struct {
    int max_tokens;            /* 0: until the context is full */
    vug_sampling sampling;     /* n = 0: the model's defaults */
    int n_top;                 /* the number of most likely tokens to report per token, 0..20 */
    bool logprobs;             /* report the log-probability of each token; implied by n_top */
    bool ignore_stop;          /* do not end at the model's stop tokens */
    int min_tokens;            /* no stop token is sampled before the answer has this many tokens */
    bool report_stop;          /* call on_piece for the stop token, too */
    const int32_t *logprob_id; /* [n_logprob_ids] report these tokens, in this order, with each
                                  token, instead of those of n_top; 0..128 of them */
    size_t n_logprob_ids;
    const struct vug_grammar *grammar; /* of vug/grammar.h: constrains the answer; NULL: none */
    /* A new parser of vug/chat.h, which gets each token after on_piece; NULL: none. With a parser,
     * the grammar constrains only what follows the thinking. */
    struct vug_response_parser *parser;
    int thinking_budget; /* most tokens of thinking; 0: no limit; needs `parser` */
    const int32_t *stop; /* [n_stop] more stop tokens */
    size_t n_stop;
    const char *const *stop_string; /* [n_stop_strings] texts that end the answer, which does not
                                       have them; not with `parser`, which gets tokens */
    size_t n_stop_strings;
    int priority;         /* as in vug_forward_options */
    const vug_mark *mark; /* [n_marks] of the prompt, such as vug_chat_mark finds; the first 4
                             count; without any: 16 tokens before its end */
    size_t n_marks;
    vug_speculation_mode speculation;
    int max_draft;             /* most drafts in a step; 0: as many as help; at most 8 count */
    const int32_t *prediction; /* [n_prediction] a text that the answer may repeat in part, such as
                                  a file that it edits: another source of drafts */
    size_t n_prediction;
    const vug_cancel_token *cancel; /* NULL: the call cannot be cancelled */
    vug_prompt_fn *on_prompt;
    bool prompt_steps; /* compute the prompt in steps of the model's batch, and call on_prompt after
                          each */
    bool share_prompt; /* before the first piece, lets other sessions begin with the whole prompt: for
                          several answers to it at the same time */
    vug_piece_fn *on_piece;
    void *user; /* passed to on_prompt and on_piece */
} vug_generate_options;

#define VUG_MAX_TOP_LOGPROBS 20
#define VUG_MAX_LOGPROB_IDS  128

typedef enum {
    VUG_FINISH_STOP,      /* a stop token or a stop string */
    VUG_FINISH_LENGTH,    /* max_tokens or the context */
    VUG_FINISH_CALLBACK,  /* on_piece or the parser's on_part returned false */
    VUG_FINISH_CANCELLED, /* the cancel token was triggered */
} vug_finish;

typedef struct {
    vug_finish finish;
    vug_tokens tokens;   /* generated, with those of a stop string, without the stop token; owned by
                          the caller */
    vug_text text;       /* their text; owned by the caller */
    size_t n_prompt;     /* tokens of the prompt */
    size_t n_cached;     /* tokens of the prompt that were in the cache */
    vug_cache_miss miss; /* why not more */
    size_t n_drafted;    /* drafts that were computed */
    size_t n_accepted;   /* drafts that became tokens of the answer */
    size_t n_prediction_drafted, n_prediction_accepted; /* the same, of the prediction alone */
    double prompt_s;                                    /* seconds until the first logits */
    double decode_s;                                    /* seconds from then on */
} vug_generation;

VUG_API void vug_generation_release(vug_generation *generation);

/* Continues `id[0..n)`, n >= 1. `options` may be NULL. A cancelled generation returns
 * VUG_OK with the tokens so far and VUG_FINISH_CANCELLED. */
VUG_API VUG_MUST_CHECK vug_status vug_generate(vug_session *session, const int32_t *id, size_t n,
                                               const vug_generate_options *options,
                                               vug_generation *out, vug_err *err);
/* Continues a raw text, with <bos> in front if the tokenizer adds it. */
VUG_API VUG_MUST_CHECK vug_status vug_generate_text(vug_session *session, const char *text,
                                                    size_t len, const vug_generate_options *options,
                                                    vug_generation *out, vug_err *err);
/* Answers a conversation in the checkpoint's chat format. The answer's text includes
 * thinking and tool calls; the vug_response_parser of chat.h separates them. Without marks in the
 * options, the prompt gets those that vug_chat_mark finds. */
VUG_API VUG_MUST_CHECK vug_status vug_generate_chat(vug_session *session,
                                                    const vug_message *message, size_t n,
                                                    const vug_generate_options *options,
                                                    vug_generation *out, vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
