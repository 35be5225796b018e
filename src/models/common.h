#ifndef VUG_MODELS_COMMON_H
#define VUG_MODELS_COMMON_H

/* What the files of architectures share. */

#include "models/keys.h"
#include "models/models.h"

/* The widest head that a config may have, which is rotated in pairs. */
enum { VUG_MAX_HEAD = 4096, VUG_MAX_PAIRS = VUG_MAX_HEAD / 2 };

/* ---- GGUF ----------------------------------------------------------------------- */

/* What GGUF files of an architecture leave unsaid (llama.cpp: its load_arch_hparams and
 * its converters). */
struct vug_gguf_arch {
    const char *name;    /* general.architecture */
    const char *hf;      /* the class of transformers that loads it, for a config.json */
    int period;          /* one layer of so many sees everything, unless said; 0: all do */
    int64_t window;      /* of layers that have one, unless said; 0: they have none then */
    int64_t wide_layers; /* with so many layers scores are divided by the root of D / H */
    bool softcapped;     /* softcaps that are not said are the defaults, not none */
    bool two_ropes;      /* layers with a window have a base of their own */
    bool two_widths;     /* and heads and feed-forwards of their own (Gemma 4) */
    bool bf16;           /* unless said, it was trained in BF16 */
    bool neighbours;     /* rows of queries and keys lie so that pairs are neighbours */
};

/* ---- common.c: keys of configs -------------------------------------------------
 *
 * Everything is sticky in `k`; `name` is the architecture's, for sentences. Sources of
 * the rules: the configuration classes of transformers 5 and what they do with keys of
 * version 4.
 */

/* The documented defaults of an architecture's configuration class; VUG_REQUIRED where
 * a key has to be there. */
typedef struct {
    int64_t layers, d_model, heads, d_ffn, vocab, context;
    int64_t kv_heads;    /* 0: as many as query heads */
    bool kv_null_is_mha; /* a null is as many as query heads, whatever the default */
    int64_t d_head;      /* 0: D / H */
    double norm_eps;
    bool tied;
} vug_size_defaults;

/* The sizes that every architecture has, and whether they fit together. */
void vug_read_sizes(vug_keys *k, const vug_size_defaults *defaults, vug_config *c);

/* The one activation that an architecture computes with. */
void vug_read_activation(vug_keys *k, const char *key, const char *known, const char *name);

/* A softcap; an explicit null is none, only an absent key takes the default. */
float vug_read_softcap(vug_keys *k, const char *key, double fallback);

/* Fills c->windowed from `layer_types`; false when the config has none. */
bool vug_read_layer_types(vug_keys *k, vug_config *c);

/* `sliding_window` of architectures whose layers say which of them slide. */
void vug_read_window(vug_keys *k, vug_config *c, int64_t fallback);

/* Qwen's keys: the layers from `max_window_layers` on slide, if `use_sliding_window`
 * says so at all (configuration_qwen2.py, Qwen2Config.__post_init__). */
void vug_read_qwen_windows(vug_keys *k, vug_config *c);

typedef struct {
    int64_t experts, chosen, width;
} vug_expert_defaults;

/* `num_experts`, which transformers 5 writes as `num_local_experts`, `chosen_key` and
 * `moe_intermediate_size`; whether they fit together. No experts at all is fine: then
 * no layer has any. */
void vug_read_experts(vug_keys *k, const vug_expert_defaults *defaults, const char *chosen_key,
                      vug_config *c);

/* Keys of the Gemma classes that no published text model sets. */
void vug_refuse_gemma_options(vug_keys *k, const char *name);

/* ---- rope.c: rotations -------------------------------------------------------- */

/* What a set of RoPE parameters says over what `rope` holds already; NULL says
 * nothing. `context` stands for an original context that is not given. */
void vug_read_rope_set(vug_keys *k, const vug_jv *set, int64_t context, vug_rope *rope);

/* One set for all layers: `rope_parameters` of transformers 5, or `rope_theta` and
 * `rope_scaling` of version 4; `theta` where neither says. Where both generations are
 * there rope_scaling wins (PreTrainedConfig, convert_rope_params_to_dict). */
void vug_read_rope(vug_keys *k, vug_config *c, double theta);

/* inv [dims/2], rounded to F32 where the reference rounds (modeling_rope_utils.py):
 * one unit in the last place, times a position in the ten thousands, would turn a
 * pair by a thousandth. */
void vug_rope_frequencies(const vug_rope *rope, int64_t dims, float *inv);

/* ---- words.c: what layers say alike -------------------------------------------- */

/* The RMS norm of the architecture: x / rms(x) * w, or * (1 + w). */
vug_val vug_model_norm(vug_flow *f, const vug_stages *s, vug_val x, const char *name);
/* x times the transposed weight, plus the bias where there is one. */
vug_val vug_model_affine(vug_flow *f, vug_val x, const char *weight, const char *bias, bool biased);
/* The feed-forward of a gated linear unit: down(act(gate x) * up x). */
vug_val vug_model_glu(vug_flow *f, vug_val x, vug_activation act);
/* Stages `embed`: the tokens' embeddings as they are, and times vug_embedding_scale. */
vug_val vug_model_embedding(vug_flow *f, vug_stages *s);
vug_val vug_model_scaled_embedding(vug_flow *f, vug_stages *s);
/* A stage `norm`: the weight is "output_norm". */
vug_val vug_model_output_norm(vug_flow *f, vug_stages *s, vug_val x);
/* A stage `head`: x times the head, or the embedding where the two are tied, with the
 * config's softcap. */
vug_val vug_model_logits(vug_flow *f, vug_stages *s, vug_val x);

/* A table of rotations for heads of `dims`. */
vug_val vug_model_rope(vug_flow *f, const vug_stages *s, const char *name, const vug_rope *rope,
                       int64_t dims);
/* The one of a model whose layers all rotate alike: a stage `prepare`. */
void vug_model_one_rope(vug_flow *f, vug_stages *s, vug_val x);
/* That of layers that see everything, or of the divisors of its plain frequencies that
 * the checkpoint has as `rope_freqs` (files that llama.cpp wrote do): they are the
 * scaling then. */
vug_val vug_model_rope_divided(vug_flow *f, const vug_stages *s, const char *name, int64_t dims);
/* Queries or keys [T,H,E] with the pairs that a rotation turns in halves of the heads,
 * however the checkpoint's rows lie. */
vug_val vug_model_halves(vug_flow *f, const vug_stages *s, vug_val x);

/* sqrt(width) rounded to the format that the model was made to run in, or that of the
 * stored embedding where the config does not say (BF16 for blocks), because the reference holds the
 * scale of embeddings in it and checkpoints were trained so (transformers,
 * Gemma3TextScaledWordEmbedding). */
float vug_model_root(const vug_binding *binding, int64_t width);
/* Of D. */
float vug_embedding_scale(const vug_binding *binding);

#endif
