#ifndef VUG_ENGINE_OFFLINE_H
#define VUG_ENGINE_OFFLINE_H

/*
 * What the engine offers to checkpoint/ beside the public API: the opened files of a checkpoint,
 * and ways into models, sessions and flows that vug.h does not have.
 */

#include "models/models.h"
#include "vug/chat.h"
#include "vug/flow.h"
#include "weights/weights.h"

#define VUG_MAX_STOP   64
#define VUG_MAX_CONFIG ((size_t)16 << 20) /* bytes of a config.json or a file like it */

/* ---- the files of a checkpoint, read and checked --------------------------------- */

/* All-zero is empty. */
typedef struct {
    vug_config config;
    vug_weights *weights;
    const vug_tensor **sorted; /* [n] the tensors by name */
    size_t n;
    vug_binding binding;
    vug_tokenizer *tokenizer; /* NULL: none, or none that vug supports */
    vug_err no_tokenizer;     /* the reason */
    int32_t stop[VUG_MAX_STOP];
    size_t n_stop;
    vug_sampling_defaults sampling;
    bool has_generation_config;          /* `sampling` is from the checkpoint, not vug's default */
    int32_t generation_eos[VUG_MAX_EOS]; /* [n_generation_eos], in the order of the file */
    int n_generation_eos;
} vug_checkpoint;

/* Whether the path is a GGUF file, by its first bytes or its name. */
bool vug_is_gguf(const char *path);
VUG_MUST_CHECK vug_status vug_checkpoint_read_config(const char *path, vug_config *out,
                                                     vug_err *err);
/* Opens a folder or a GGUF file; maps the weights without reading them. */
VUG_MUST_CHECK vug_status vug_checkpoint_open(const char *path, vug_checkpoint *out, vug_err *err);
/* A checkpoint of weights in memory. Takes ownership of `weights`, even on failure. */
VUG_MUST_CHECK vug_status vug_checkpoint_from_weights(const vug_config *config,
                                                      vug_weights *weights, const char *name,
                                                      vug_checkpoint *out, vug_err *err);
void vug_checkpoint_release(vug_checkpoint *checkpoint);
/* Whether the text model uses the tensor, which must be one of the checkpoint's. */
bool vug_checkpoint_uses(const vug_checkpoint *checkpoint, const vug_tensor *tensor);

/* ---- generation_config.json and its GGUF equivalent (generation_config.c) --------- */

/* Writes the sampling defaults as GGUF metadata; stop ids are part of the model config. */
void vug_generation_config_write_gguf(const vug_checkpoint *checkpoint, vug_gguf_builder *to);
/* Writes GGUF metadata as the text of a generation_config.json; none gives an empty text. */
VUG_MUST_CHECK vug_status vug_generation_config_gguf_to_json(const vug_gguf *gguf,
                                                             const vug_config *config, vug_buf *out,
                                                             vug_err *err);
/* Adds the stop ids that only the generation_config.json has to `config`. */
void vug_generation_config_add_eos(const vug_checkpoint *checkpoint, vug_config *config);

/* ---- quantization_config of config.json (quantization_config.c) ------------------- */

/* Combines quantized weights with their scales as the text of a config.json says. */
VUG_MUST_CHECK vug_status vug_quantization_config_apply(vug_str json, const char *file,
                                                        vug_weights *weights, vug_err *err);

/* ---- models, sessions, flows ------------------------------------------------------ */

/* A model of weights in memory. Takes ownership of `weights`, even on failure. */
VUG_MUST_CHECK vug_status vug_model_from_weights(const vug_config *config, vug_weights *weights,
                                                 const char *name, const vug_model_options *options,
                                                 vug_model **out, vug_err *err);
const vug_checkpoint *vug_model_checkpoint(const vug_model *model);

/* Appends `n` tokens to the cache in steps of at most `options->chunk` tokens. */
VUG_MUST_CHECK vug_status vug_session_extend(vug_session *session, const int32_t *id, size_t n,
                                             const vug_forward_options *options, vug_err *err);

/* The graph of a flow, to add outputs to it before it is built. */
vug_graph *vug_flow_graph(vug_flow *flow);

#endif
