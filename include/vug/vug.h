#ifndef VUG_VUG_H
#define VUG_VUG_H

/*
 * vug: a native inference engine for the Gemma and Qwen families.
 *
 * A vug_model is an opened checkpoint: the mapped weights, the tokenizer and
 * the compiled program. It is read-only after vug_model_open and may be shared
 * by any number of threads. A vug_session is one mutable line of text over a
 * model: the key/value cache and the planned buffers. A session belongs to one
 * thread at a time; only vug_session_cancel may be called from another thread
 * while a call on the session runs. Sessions of one model share its worker
 * threads and take turns, a step at a time.
 *
 * The caller always gives a session the whole token prefix; the session works
 * out how much of it the cache already holds.
 *
 * Errors: every function that can fail returns a vug_status and, when `err` is
 * not NULL, fills it with a sentence for the person who has to act. Results
 * leave through trailing `out` parameters and are written only on VUG_OK.
 *
 * Ownership: `open`/`close` and `create`/`destroy` pair up; a `const` pointer
 * that a function returns lives as long as the object it came from, unless said
 * otherwise; a vug_tokens or vug_text that a function fills is the caller's and
 * goes back through vug_tokens_release or vug_text_release. What gives something back
 * accepts NULL, or the all-zero value that it leaves behind. Text is UTF-8.
 * All shapes are row-major, outermost dimension first.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
/* Of the library; static, never NULL. */
VUG_API const char *vug_version(void);

/* ---- errors ------------------------------------------------------------ */

/* X(id, text): what went wrong, as a kind. */
#define VUG_STATUS_TABLE(X)                                \
    X(OK, "ok")                                            \
    X(NOMEM, "out of memory")                              \
    X(IO, "i/o error")              /* a file or a pipe */ \
    X(FORMAT, "malformed input")    /* bytes that lie */   \
    X(UNSUPPORTED, "not supported") /* valid, not ours */  \
    X(ARGUMENT, "invalid argument") /* the caller's */     \
    X(LIMIT, "limit exceeded")      /* context, memory */  \
    X(CANCELLED, "cancelled")

typedef enum {
#define X(id, text) VUG_##id,
    VUG_STATUS_TABLE(X)
#undef X
            VUG_STATUS_COUNT
} vug_status;

typedef struct {
    vug_status code;
    int line;         /* of the source that noticed it first */
    const char *file; /* likewise; static storage */
    char msg[512];    /* one sentence, NUL-terminated, cut if longer */
} vug_err;

/* Static string; never NULL. */
VUG_API const char *vug_status_text(vug_status code);

/* ---- results that the caller owns -------------------------------------- */

typedef struct {
    int32_t *id; /* [n] */
    size_t n;
} vug_tokens;

typedef struct {
    char *ptr;  /* NUL-terminated; may hold NULs of its own */
    size_t len; /* bytes, without the terminator */
} vug_text;

VUG_API void vug_tokens_release(vug_tokens *tokens);
VUG_API void vug_text_release(vug_text *text);

/* ---- devices ----------------------------------------------------------- */

typedef struct {
    const char *name;      /* what vug_model_options.device takes: "cpu" */
    char description[128]; /* the hardware and the kernels chosen for it */
    bool available;
    const char *reason; /* why not, when it is not available; else "" */
    int threads;        /* that `threads = 0` picks; 0 where it does not apply */
    uint64_t memory;    /* bytes */
} vug_device_info;

/* What a device reaches on probes that do nothing else: the roof that figures
 * of a model are compared with. */
typedef struct {
    double read_bytes_per_s; /* streaming reads of memory far larger than the caches */
    double f32_flop_per_s;   /* fused multiply-adds in registers, counted as two */
} vug_device_limits;

VUG_API size_t vug_device_count(void);
/* `i` < vug_device_count(). Rows are ordered from most to least preferred. */
VUG_API vug_device_info vug_device_get(size_t i);
/* Takes about a second. `threads` 0: as many as the device would use. */
VUG_API VUG_MUST_CHECK vug_status vug_device_measure(const char *device, int threads,
                                                     vug_device_limits *out, vug_err *err);

/* ---- tokenizer --------------------------------------------------------- */

typedef struct vug_tokenizer vug_tokenizer;

/* `path` is a checkpoint folder, a tokenizer.json, a tokenizer.model or a GGUF file.
 * Read-only afterwards: any number of threads may use it at once. */
VUG_API VUG_MUST_CHECK vug_status vug_tokenizer_open(const char *path, vug_tokenizer **out,
                                                     vug_err *err);
VUG_API void vug_tokenizer_close(vug_tokenizer *tokenizer);

typedef enum {
    VUG_ENCODE_PLAIN = 0,         /* special tokens written in the text stay text */
    VUG_ENCODE_PARSE_SPECIAL = 1, /* they become the tokens they name */
    VUG_ENCODE_ADD_SPECIAL = 2,   /* add what the post-processor adds, such as <bos> */
    VUG_ENCODE_ADD_MISSING = 4,   /* likewise, but in front nothing that the text begins with */
} vug_encode_flags;

/* `flags` is a union of vug_encode_flags. Bytes that are not UTF-8 are encoded
 * as U+FFFD, as the reference does. */
VUG_API VUG_MUST_CHECK vug_status vug_tokenizer_encode(const vug_tokenizer *tokenizer,
                                                       const char *text, size_t len, unsigned flags,
                                                       vug_tokens *out, vug_err *err);
/* The text of `n` tokens. `skip_special` drops control tokens such as <eos>. */
VUG_API VUG_MUST_CHECK vug_status vug_tokenizer_decode(const vug_tokenizer *tokenizer,
                                                       const int32_t *id, size_t n,
                                                       bool skip_special, vug_text *out,
                                                       vug_err *err);
/* Number of ids: 0 .. size-1 are valid. */
VUG_API int32_t vug_tokenizer_size(const vug_tokenizer *tokenizer);
/* The token's own spelling, as the vocabulary has it; NULL for an id without one.
 * `len` may be NULL. */
VUG_API const char *vug_tokenizer_token(const vug_tokenizer *tokenizer, int32_t id, size_t *len);
/* The bytes that it stands for inside a text, which may be part of a character. */
VUG_API VUG_MUST_CHECK vug_status vug_tokenizer_bytes(const vug_tokenizer *tokenizer, int32_t id,
                                                      vug_text *out, vug_err *err);
/* Whether it is a control token, such as <eos>, which `skip_special` drops. */
VUG_API bool vug_tokenizer_is_special(const vug_tokenizer *tokenizer, int32_t id);
/* The id of a token by its exact spelling, or -1. */
VUG_API int32_t vug_tokenizer_find(const vug_tokenizer *tokenizer, const char *token);
/* Bytes of memory that the tokenizer holds. */
VUG_API uint64_t vug_tokenizer_memory(const vug_tokenizer *tokenizer);

/* Decodes a stream token by token. A piece never ends inside a UTF-8 sequence,
 * and all pieces together are exactly the text of vug_tokenizer_decode. */
typedef struct vug_decoder vug_decoder;

VUG_API VUG_MUST_CHECK vug_status vug_decoder_create(const vug_tokenizer *tokenizer,
                                                     bool skip_special, vug_decoder **out,
                                                     vug_err *err);
VUG_API void vug_decoder_destroy(vug_decoder *decoder);
/* The text that `id` completes, possibly empty; valid until the next call. */
VUG_API VUG_MUST_CHECK vug_status vug_decoder_push(vug_decoder *decoder, int32_t id,
                                                   const char **text, size_t *len, vug_err *err);
/* What was held back: an incomplete sequence becomes U+FFFD. Afterwards the
 * decoder is as new. */
VUG_API VUG_MUST_CHECK vug_status vug_decoder_finish(vug_decoder *decoder, const char **text,
                                                     size_t *len, vug_err *err);

/* ---- chat: the simple door; chat.h is the whole one --------------------- */

typedef struct {
    const char *role;    /* "system", "user", "assistant" */
    const char *content; /* NUL-terminated; special tokens that it spells are text */
} vug_message;

/* ---- model ------------------------------------------------------------- */

typedef struct vug_model vug_model;

/* Called while weights are read, with bytes; return false to give up, which
 * makes the call fail with VUG_CANCELLED. */
typedef bool vug_progress_fn(uint64_t done, uint64_t total, void *user);

/* All-zero is a valid choice of every default. */
typedef struct {
    const char *device;    /* by name; NULL: the best available */
    int context;           /* tokens a session can hold; 0: 4096, or the trained context if less */
    int batch;             /* most tokens in one step; 0: 512 */
    int threads;           /* 0: the physical cores */
    int snapshots;         /* a session's: windows that are kept of what sliding layers forget, so
                              that prompts which differ early need not be read as a whole; at most
                              1024; 0: none */
    uint64_t memory_limit; /* bytes for weights, caches and buffers; 0: none */
    const char *isa;       /* caps the CPU kernels: "ref", "avx2"; NULL: the best */
    const char *profile;   /* how to compile: a file, "prefill" or "decode"; NULL: the vug.toml
                              beside the weights, or else "prefill" */
    const char *kv;        /* of keys and values in caches: "f32", "f16", "bf16", "q8"; NULL: what
                              the profile says, or else "f32" */
    bool lazy;             /* do not read the weights ahead of their use */
    vug_progress_fn *progress;
    void *user; /* handed to progress */
} vug_model_options;

/* `path` is a folder with config.json and *.safetensors, or a GGUF file (of a split one
 * any part). Without a tokenizer that vug reads the model opens all the same, and
 * vug_model_tokenizer says why. */
VUG_API VUG_MUST_CHECK vug_status vug_model_open(const char *path, const vug_model_options *options,
                                                 vug_model **out, vug_err *err);
/* All sessions must have been destroyed before. */
VUG_API void vug_model_close(vug_model *model);

/* Bytes, planned before anything is allocated. */
typedef struct {
    uint64_t weights_mapped; /* of the checkpoint's files, read in place */
    uint64_t tables_mapped;  /* likewise, but a row at a time by token: not in the sum */
    uint64_t weights_copied; /* converted or packed at load */
    uint64_t tokenizer;
    uint64_t graph;         /* the program and its tables */
    uint64_t session_cache; /* keys and values, for the whole context */
    uint64_t session_buffers;
    uint64_t session_snapshots;
    uint64_t process; /* the program's own code and stacks, an estimate */
    uint64_t total;   /* the sum, with one session */
} vug_memory_plan;

typedef struct {
    const char *path;
    const char *architecture; /* as vug names it: "gemma3" */
    const char *device;
    const char *kernels; /* the device's description: hardware and kernels */
    int64_t n_layers, d_model, n_heads, n_kv_heads, d_head, d_ffn, n_vocab;
    int64_t n_experts, n_experts_chosen, d_expert; /* of layers with experts; 0: none has */
    int64_t n_parameters;                          /* of the text stack, a tied head counted once */
    int64_t n_active;                              /* of them, those that one token meets */
    int64_t context_trained;                       /* tokens */
    int64_t context;                               /* tokens, of sessions of this model */
    int64_t batch;                                 /* most tokens in one step */
    int threads;
    const char *kv; /* the format of keys and values in caches: "f32" */
    bool tied_head;
    uint64_t bytes_per_token; /* of weights, read to decode one token */
    int64_t flop_per_token;   /* of matrix products, for each token of a prompt */
    int64_t flop_per_logits;  /* and for each row of logits that is wanted */
    vug_memory_plan memory;
} vug_model_info;

VUG_API vug_model_info vug_model_describe(const vug_model *model);
/* NULL where the folder has none, or one of a kind that vug does not read; `why`,
 * which may be NULL, then says so. */
VUG_API const vug_tokenizer *vug_model_tokenizer(const vug_model *model, vug_err *why);
/* Ids that end a generation: of generation_config.json, config.json and the end
 * of a chat turn. Ascending. */
VUG_API const int32_t *vug_model_stop_tokens(const vug_model *model, size_t *n);

/* One of the checkpoint's tensors. */
typedef struct {
    const char *name;   /* in the file */
    const char *format; /* "BF16" */
    const char *file;   /* base name */
    int rank;
    int64_t dim[8];
    uint64_t bytes;   /* with those of its scales, wherever they lie */
    int64_t share[2]; /* rows and columns that share a scale which lies apart; 0: none do */
    bool used;        /* false: passed over, such as a vision tower */
} vug_tensor_info;

VUG_API size_t vug_model_tensor_count(const vug_model *model);
/* `i` < vug_model_tensor_count(). */
VUG_API vug_tensor_info vug_model_tensor(const vug_model *model, size_t i);

typedef struct {
    const char *cache;          /* "full", "window" or "shared" */
    int64_t window;             /* tokens; 0 for full */
    int64_t slots;              /* tokens the cache holds */
    uint64_t cache_bytes;       /* of the layer's own: 0 where it is shared */
    int64_t source;             /* the layer whose cache it reads: its own, or an earlier one */
    int64_t n_kv_heads, d_head; /* of the layer */
} vug_layer_info;

/* `i` < n_layers. */
VUG_API vug_layer_info vug_model_layer(const vug_model *model, size_t i);

typedef enum { VUG_GRAPH_TEXT, VUG_GRAPH_DOT, VUG_GRAPH_SVG } vug_graph_format;

/* The model's graph: as the architecture wrote it, or `fused`, as it runs. */
VUG_API VUG_MUST_CHECK vug_status vug_model_graph(const vug_model *model, vug_graph_format format,
                                                  bool fused, vug_text *out, vug_err *err);

/* ---- published shapes, with random weights ------------------------------ */

VUG_API size_t vug_shape_count(void);
/* Such as "gemma-3-1b"; `i` < vug_shape_count(). */
VUG_API const char *vug_shape_name(size_t i);
/* A model of that shape with random weights in memory. `type` is a format
 * of vug_convert_options, of a file or a folder ("mxfp4" of a file, "mlx_fp4" of a folder),
 * or "fp8". It has no tokenizer. */
VUG_API VUG_MUST_CHECK vug_status vug_model_synthesize(const char *shape, const char *type,
                                                       uint64_t seed,
                                                       const vug_model_options *options,
                                                       vug_model **out, vug_err *err);
/* Writes such a checkpoint into the new folder `dir`; `type` is "bf16", "f16" or "f32". */
VUG_API VUG_MUST_CHECK vug_status vug_shape_write(const char *shape, const char *type,
                                                  uint64_t seed, const char *dir,
                                                  vug_progress_fn *progress, void *user,
                                                  vug_err *err);

/* ---- sampling ---------------------------------------------------------- */

/*
 * Stages act on the logits in the order given. X(id, name, off, min, max, help):
 * `off` is the value at which a stage does nothing. Ranges are inclusive.
 * Sources: repetition penalty, Keskar et al. 2019 (CTRL), section 4.1; presence
 * and frequency penalties, the OpenAI API; top-p, Holtzman et al. 2019; min-p,
 * Nguyen et al. 2024.
 */
#define VUG_SAMPLER_TABLE(X)                                                                   \
    X(REPETITION, "repetition", 1, 0.01, 100, "divide logits of seen tokens by this")          \
    X(PRESENCE, "presence", 0, -100, 100, "subtract this from tokens generated before")        \
    X(FREQUENCY, "frequency", 0, -100, 100, "subtract this for each time a token came before") \
    X(BIAS, "bias", 0, -1000, 1000, "add this to the logit of one token")                      \
    X(TEMPERATURE, "temperature", 1, 0, 100, "divide logits by this; 0 takes the best token")  \
    X(TOP_K, "top-k", 0, 0, 1e9, "keep this many of the best tokens; 0 keeps all")             \
    X(TOP_P, "top-p", 1, 0, 1, "keep the best tokens that hold this much probability")         \
    X(MIN_P, "min-p", 0, 0, 1, "keep tokens at least this likely relative to the best")

typedef enum {
#define X(id, name, off, min, max, help) VUG_SAMPLER_##id,
    VUG_SAMPLER_TABLE(X)
#undef X
            VUG_SAMPLER_COUNT
} vug_sampler_kind;

typedef struct {
    vug_sampler_kind kind;
    float value;
    int32_t token; /* of BIAS */
} vug_sampler_stage;

#define VUG_MAX_STAGES 1024

/* A chain; a plain value that may be copied. After its stages one token is drawn.
 * Repetition looks at the prompt and the answer, presence and frequency at the
 * answer only. A chain whose TEMPERATURE is 0 is greedy: the highest logit after
 * the penalties and biases, the lowest id among equals, no randomness. */
typedef struct {
    const vug_sampler_stage *stage; /* [n]; borrowed while a call runs */
    size_t n;
    uint64_t seed; /* the same seed, prompt and model give the same answer */
} vug_sampling;

/* Room for one stage of every kind but BIAS, in the default order: repetition,
 * presence, frequency, temperature, top-k, top-p, min-p. */
typedef struct {
    vug_sampler_stage stage[VUG_SAMPLER_COUNT];
    size_t n;
} vug_sampling_defaults;

/* The chain of the checkpoint's generation_config.json; what it does not say is
 * left out, and greedy is `do_sample: false`. Without the file: temperature 1. */
VUG_API vug_sampling_defaults vug_model_sampling(const vug_model *model);
VUG_API const char *vug_sampler_name(vug_sampler_kind kind);

/* ---- sessions ---------------------------------------------------------- */

typedef struct vug_session vug_session;

/* Allocates all of vug_model_describe that is a session's; steps allocate nothing. */
VUG_API VUG_MUST_CHECK vug_status vug_session_create(vug_model *model, vug_session **out,
                                                     vug_err *err);
VUG_API void vug_session_destroy(vug_session *session);
/* Forgets every token. */
VUG_API void vug_session_reset(vug_session *session);
/* Tokens in the cache. */
VUG_API size_t vug_session_length(const vug_session *session);
/* Of the prefix `id[0..n)` the tokens that the next call will find in the cache; in `*common` those
 * that the cache begins with, which are more where a sliding window has forgotten the way back and
 * the last snapshot lies before them. */
VUG_API size_t vug_session_cached(const vug_session *session, const int32_t *id, size_t n,
                                  size_t *common);
/* Makes `to` hold what `of`, another session of its model, would keep of a prefix. */
VUG_API void vug_session_copy(vug_session *to, const vug_session *of, const int32_t *id, size_t n);
/* Ends the running call within a step, or else the next one. From any thread or signal handler. */
VUG_API void vug_session_cancel(vug_session *session);

/* What one step computed; pointers are valid until the function returns. */
typedef struct {
    int64_t first;              /* position of the first row */
    int64_t n;                  /* tokens in the step */
    int64_t n_logits;           /* rows of logits: n, 1 or 0; the last rows of the step */
    const float *logits;        /* [n_logits, n_vocab] */
    const float *const *hidden; /* n_layers + 1 of [n, d_model]: the input of layer i, last the
                                   output of the final norm; NULL unless asked for */
} vug_step;

/* Return false to stop after this step. */
typedef bool vug_step_fn(const vug_step *step, void *user);

typedef struct {
    int chunk;       /* tokens per step; 0: the model's batch */
    bool all_logits; /* of every token, not only the last */
    bool hidden;
    vug_step_fn *on_step;
    void *user;
} vug_forward_options;

/* Brings the session to the prefix `id[0..n)`, computing what its cache does not
 * hold; with all_logits or hidden everything is computed anew. `options` may be
 * NULL. A cancelled call returns VUG_CANCELLED and keeps the steps that ended. */
VUG_API VUG_MUST_CHECK vug_status vug_session_forward(vug_session *session, const int32_t *id,
                                                      size_t n, const vug_forward_options *options,
                                                      vug_err *err);
/* [n_vocab] after the last token of the last call; NULL before the first.
 * Valid until the next call on the session. */
VUG_API const float *vug_session_logits(const vug_session *session);

/* ---- generation -------------------------------------------------------- */

typedef struct {
    int32_t token;
    float logprob; /* natural logarithm, of the model's own distribution */
} vug_logprob;

typedef struct {
    const char *text; /* what this token completed; may be empty; not NUL-terminated */
    size_t len;
    int32_t token; /* -1 in the last piece, which carries only held-back text */
    bool is_stop;  /* the token ends the answer and has no text */
    float logprob;
    const vug_logprob *top; /* [n_top], best first */
    size_t n_top;
} vug_piece;

/* Return false to end the generation after this piece. */
typedef bool vug_piece_fn(const vug_piece *piece, void *user);

/* All-zero is a valid choice of every default. */
typedef struct {
    int max_tokens;                    /* 0: until the context is full */
    vug_sampling sampling;             /* n = 0: the model's defaults */
    int n_top;                         /* log-probabilities to report per token, 0..20 */
    bool logprobs;                     /* report the chosen token's too; implied by n_top */
    bool ignore_stop;                  /* go on past the model's stop tokens */
    bool report_stop;                  /* on_piece hears of the one that ends the answer */
    const struct vug_grammar *grammar; /* of vug/grammar.h: what the answer must be */
    struct vug_reply *reply; /* of vug/chat.h, as new: hears each token behind on_piece, and
                                may end the generation as that may; the grammar is for what
                                follows its thinking */
    int thinking_budget;     /* tokens, then it is closed; 0: no limit; needs `reply` */
    const int32_t *stop;     /* [n_stop], tokens that end it besides the model's */
    size_t n_stop;
    vug_piece_fn *on_piece;
    void *user;
} vug_generate_options;

#define VUG_MAX_TOP_LOGPROBS 20

typedef enum {
    VUG_FINISH_STOP,     /* a stop token */
    VUG_FINISH_LENGTH,   /* max_tokens or the context */
    VUG_FINISH_CALLBACK, /* on_piece or the on_part of `reply` returned false */
    VUG_FINISH_CANCELLED,
} vug_finish;

typedef struct {
    vug_finish finish;
    vug_tokens tokens; /* generated, without the stop token; the caller's */
    vug_text text;     /* their text; the caller's */
    size_t n_prompt;   /* tokens */
    size_t n_cached;   /* of them already in the cache */
    double prompt_s;   /* until the first logits */
    double decode_s;   /* from there on */
} vug_generation;

VUG_API void vug_generation_release(vug_generation *generation);

/* Continues `id[0..n)`, n >= 1. `options` may be NULL. A cancelled generation is
 * VUG_OK with what was produced so far and VUG_FINISH_CANCELLED. */
VUG_API VUG_MUST_CHECK vug_status vug_generate(vug_session *session, const int32_t *id, size_t n,
                                               const vug_generate_options *options,
                                               vug_generation *out, vug_err *err);
/* Continues a raw text, with <bos> in front where the tokenizer adds it. */
VUG_API VUG_MUST_CHECK vug_status vug_generate_text(vug_session *session, const char *text,
                                                    size_t len, const vug_generate_options *options,
                                                    vug_generation *out, vug_err *err);
/* Answers a conversation, in the checkpoint's own format. The text of the answer is all
 * that was generated, with thinking and tool calls; vug_reply of chat.h takes it apart. */
VUG_API VUG_MUST_CHECK vug_status vug_generate_chat(vug_session *session,
                                                    const vug_message *message, size_t n,
                                                    const vug_generate_options *options,
                                                    vug_generation *out, vug_err *err);

#ifdef __cplusplus
}
#endif

#endif
