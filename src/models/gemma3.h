#ifndef VUG_MODELS_GEMMA3_H
#define VUG_MODELS_GEMMA3_H

#include "models/models.h"

extern const vug_arch vug_arch_gemma3;

#endif
