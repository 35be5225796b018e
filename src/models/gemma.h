#ifndef VUG_MODELS_GEMMA_H
#define VUG_MODELS_GEMMA_H

#include "models/models.h"

extern const vug_arch vug_arch_gemma;

#endif
