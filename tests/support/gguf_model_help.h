#ifndef VUG_TESTS_SUPPORT_GGUF_MODEL_HELP_H
#define VUG_TESTS_SUPPORT_GGUF_MODEL_HELP_H

/* Writes checkpoints as GGUF files, as converters do. */

#include "core/gguf.h"
#include "engine/offline.h"

/* Reads back what the builder has; release it before the builder. */
vug_gguf help_gguf_metadata(const vug_gguf_builder *b);
/* `own_keys`: with the RoPE keys that only vug has. */
void help_write_gguf(const vug_checkpoint *c, bool own_keys, const char *path);

#endif
