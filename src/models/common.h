#ifndef VUG_MODELS_COMMON_H
#define VUG_MODELS_COMMON_H

/*
 * What the config readers of several architectures share. Everything is sticky in
 * `k`; `name` is the architecture's, for sentences. Sources of the rules: the
 * configuration classes of transformers 5 and what they do with keys of version 4.
 */

#include "models/keys.h"
#include "models/models.h"

/* The documented defaults of an architecture's configuration class. */
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

/* Keys of the Gemma classes that no published text model sets. */
void vug_refuse_gemma_options(vug_keys *k, const char *name);

/* ---- rope.c ------------------------------------------------------------------- */

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

#endif
