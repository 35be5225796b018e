#ifndef VUG_MODELS_GGUF_METADATA_H
#define VUG_MODELS_GGUF_METADATA_H

/*
 * Reads the metadata of a GGUF file while its config.json is written. Errors are sticky;
 * keys are named without the architecture in front.
 */

#include "core/json_writer.h"
#include "models/common.h"

typedef struct {
    const vug_gguf *gguf;
    const vug_tensor_list *list;
    const vug_arch *arch;
    vug_config sizes; /* those that other keys depend on, as they are read */
    vug_json_writer json;
    vug_status st; /* sticky */
    vug_err err;
} vug_metadata_reader;

/* NULL if there is no such key. */
const vug_gguf_value *vug_metadata_find(const vug_metadata_reader *r, const char *key);
/* Of a key that may be an array with one element per layer, that of `layer`. */
int64_t vug_metadata_int(vug_metadata_reader *r, const char *key, int64_t layer, int64_t fallback);
bool vug_metadata_bool(vug_metadata_reader *r, const char *key, int64_t layer, bool fallback);
double vug_metadata_number(vug_metadata_reader *r, const char *key, double fallback);
vug_str vug_metadata_string(vug_metadata_reader *r, const char *key, const char *fallback);
bool vug_metadata_has_tensor(const vug_metadata_reader *r, const char *name);
void vug_metadata_fail(vug_metadata_reader *r, vug_status code, const char *fmt, ...)
        VUG_PRINTF(3, 4);

/* Writes a member of the config.json. */
void vug_metadata_put_number(vug_metadata_reader *r, const char *name, double value);

/* gguf_config_layers.c: writes windows, widths and experts; needs r->sizes. */
void vug_metadata_write_layers(vug_metadata_reader *r);

#endif
