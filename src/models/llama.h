#ifndef VUG_MODELS_LLAMA_H
#define VUG_MODELS_LLAMA_H

#include "models/models.h"

extern const vug_arch vug_arch_llama;

#endif
