#ifndef VUG_MODELS_GEMMA2_H
#define VUG_MODELS_GEMMA2_H

#include "models/models.h"

extern const vug_arch vug_arch_gemma2;

#endif
