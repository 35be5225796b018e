#ifndef VUG_TESTS_GGUF_MODEL_HELP_H
#define VUG_TESTS_GGUF_MODEL_HELP_H

/* A checkpoint written as a GGUF file, as converters do. */

#include "core/gguf.h"
#include "engine/engine.h"

/* What was built, as a reader has it; the caller releases it before the builder. */
vug_gguf help_gguf_metadata(const vug_gguf_builder *b);
/* With or without the keys of rotations that are vug's own. */
void help_write_gguf(const vug_checkpoint *c, bool own_keys, const char *path);

#endif
