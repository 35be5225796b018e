#ifndef VUG_MODELS_QWEN2_H
#define VUG_MODELS_QWEN2_H

#include "models/models.h"

extern const vug_arch vug_arch_qwen2;

#endif
