#ifndef VUG_MODELS_QWEN3_H
#define VUG_MODELS_QWEN3_H

#include "models/models.h"

extern const vug_arch vug_arch_qwen3;

#endif
