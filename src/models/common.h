#ifndef VUG_MODELS_COMMON_H
#define VUG_MODELS_COMMON_H

/*
 * What the files of the architectures share: readers of config keys (common_config.c),
 * RoPE (rope.c), and parts of layers (common_layers.c).
 */

#include "models/config_keys.h"
#include "models/models.h"

/* The widest head that a config may have. */
enum { VUG_MAX_HEAD = 4096, VUG_MAX_PAIRS = VUG_MAX_HEAD / 2 };

/* What GGUF files of an architecture imply and do not say. Sources: llama.cpp's
 * load_arch_hparams and its converters. */
struct vug_gguf_arch {
    const char *name;           /* general.architecture */
    const char *hf;             /* the class of transformers, for a config.json */
    int period;                 /* default: every period-th layer has no window; 0: none has */
    int64_t window;             /* default width of the window; 0: no windows by default */
    int64_t model_scale_layers; /* the size with this many layers scales scores by (D / H)^-0.5 */
    bool softcapped;            /* missing softcaps have the config's default, others have none */
    bool two_ropes;             /* layers with a window have a RoPE base of their own */
    bool two_widths;            /* they have heads and feed-forwards of their own (Gemma 4) */
    bool bf16;                  /* trained in BF16 unless a key says otherwise */
    bool interleaved_rope;      /* rows of q and k are permuted: rotated pairs are adjacent */
};

/* ---- common_config.c: readers of config keys ---------------------------------------
 *
 * Errors are sticky in `k`; `name` is the architecture's, for error messages. Sources:
 * the configuration classes of transformers 5 and how they treat keys of version 4.
 */

/* The documented defaults of an architecture's configuration class; VUG_REQUIRED for keys
 * without one. */
typedef struct {
    int64_t layers, d_model, heads, d_ffn, vocab, context;
    int64_t kv_heads;    /* 0: as many as query heads */
    bool kv_null_is_mha; /* null means as many as query heads, whatever the default */
    int64_t d_head;      /* 0: D / H */
    double norm_eps;
    bool tied;
} vug_size_defaults;

/* Reads the sizes that every architecture has and checks that they fit together. */
void vug_config_read_sizes(vug_config_keys *k, const vug_size_defaults *defaults, vug_config *c);

/* Fails unless the config asks for the one activation of the architecture. */
void vug_config_read_activation(vug_config_keys *k, const char *key, const char *known,
                                const char *name);

/* Null means no softcap; only a missing key takes the default. */
float vug_config_read_softcap(vug_config_keys *k, const char *key, double fallback);

/* Fills c->windowed from `layer_types`; false if the config has no such key. */
bool vug_config_read_layer_types(vug_config_keys *k, vug_config *c);

/* Reads `sliding_window`, when c->windowed is filled. */
void vug_config_read_window(vug_config_keys *k, vug_config *c, int64_t fallback);

/* Qwen's keys: if `use_sliding_window` is true, layers from `max_window_layers` on have a
 * window (configuration_qwen2.py, Qwen2Config.__post_init__). */
void vug_config_read_qwen_windows(vug_config_keys *k, vug_config *c);

typedef struct {
    int64_t experts, per_token, width;
} vug_expert_defaults;

/* Reads `num_experts` (`num_local_experts` in transformers 5), `per_token_key` and
 * `moe_intermediate_size`, and checks that they fit together. 0 experts are allowed. */
void vug_config_read_experts(vug_config_keys *k, const vug_expert_defaults *defaults,
                             const char *per_token_key, vug_config *c);

/* Refuses keys of the Gemma classes that no published text model sets. */
void vug_config_refuse_gemma_options(vug_config_keys *k, const char *name);

/* The defaults in which Gemma 2 and Gemma 3 differ; a softcap of 0 is none. */
typedef struct {
    int64_t vocab, context;
    double final_softcap;
} vug_gemma_defaults;

/* Reads what Gemma 2 and Gemma 3 have in common: sizes, the scale of attention scores, the softcap
 * of logits, the end token and the activation. */
void vug_config_read_gemma(vug_config_keys *k, const vug_gemma_defaults *own, const char *name,
                           vug_config *c);

/* ---- rope.c: rotary embeddings ------------------------------------------------------ */

/* Overrides `rope` with one object of RoPE parameters, which may be NULL. `context` is the
 * default for the original context. */
void vug_config_read_rope_set(vug_config_keys *k, const vug_jv *set, int64_t context,
                              vug_rope *rope);

/* Reads the RoPE of models whose layers all rotate alike: `rope_parameters` of transformers
 * 5, or `rope_theta` and `rope_scaling` of version 4; `theta` is the default. If both are
 * present, rope_scaling wins (PreTrainedConfig.convert_rope_params_to_dict). */
void vug_config_read_rope(vug_config_keys *k, vug_config *c, double theta);

/* Computes inv [dims/2]. It rounds to F32 where the reference does (modeling_rope_utils.py):
 * at position ten thousand, one unit in the last place is an angle of a thousandth. */
void vug_rope_frequencies(const vug_rope *rope, int64_t dims, float *inv);

/* ---- common_layers.c: parts of layers ------------------------------------------------ */

/* The architecture's RMS norm: x / rms(x) * w, or * (1 + w). */
vug_val vug_model_norm(vug_flow *f, const vug_model_context *s, vug_val x, const char *name);
/* x times the transposed weight, plus the bias if `biased`. */
vug_val vug_model_affine(vug_flow *f, vug_val x, const char *weight, const char *bias, bool biased);
/* A gated feed-forward: down(act(gate x) * up x). */
vug_val vug_model_glu(vug_flow *f, vug_val x, vug_activation act);
/* The rest of a layer of Gemma 2 or 3, whose blocks have a norm before and after them: adds the
 * output `h` of attention to x, and then a gated feed-forward. */
vug_val vug_model_add_gemma_blocks(vug_flow *f, const vug_model_context *s, vug_val x, vug_val h);
/* Phases `embed`: the tokens' embeddings, unscaled or times vug_embedding_scale. */
vug_val vug_model_embedding(vug_flow *f, vug_model_context *s);
vug_val vug_model_scaled_embedding(vug_flow *f, vug_model_context *s);
/* A phase `norm`; the weight is "output_norm". */
vug_val vug_model_output_norm(vug_flow *f, vug_model_context *s, vug_val x);
/* A phase `head`: x times the head, or times the embedding if the two are tied, then the
 * config's softcap. */
vug_val vug_model_logits(vug_flow *f, vug_model_context *s, vug_val x);

/* The table of cosines and sines for heads of width `dims`. */
vug_val vug_model_rope_table(vug_flow *f, const vug_model_context *s, const char *name,
                             const vug_rope *rope, int64_t dims);
/* A phase `prepare` for models whose layers all rotate alike. */
void vug_model_prepare_rope(vug_flow *f, vug_model_context *s, vug_val x);
/* The table of rope_full. If the checkpoint has the tensor `rope_freqs`, as files of
 * llama.cpp do, unscaled frequencies divided by it replace the config's scaling. */
vug_val vug_model_rope_table_with_factors(vug_flow *f, const vug_model_context *s, const char *name,
                                          int64_t dims);
/* Queries or keys [T,H,E], brought to the order in which the two elements of a rotated pair
 * lie half a head apart, if the checkpoint has them side by side. */
vug_val vug_model_rope_halves(vug_flow *f, const vug_model_context *s, vug_val x);

/* sqrt(width), rounded to the format that the model was trained to run in, or, if the config
 * does not say, to that of the embedding (BF16 if that is quantized). The reference holds the
 * embedding scale in this format (transformers, Gemma3TextScaledWordEmbedding). */
float vug_model_rounded_sqrt(const vug_binding *binding, int64_t width);
/* vug_model_rounded_sqrt of D. */
float vug_embedding_scale(const vug_binding *binding);

#endif
