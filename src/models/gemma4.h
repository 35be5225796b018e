#ifndef VUG_MODELS_GEMMA4_H
#define VUG_MODELS_GEMMA4_H

#include "models/models.h"

/* Defined in gemma4_config.c. */
vug_status vug_gemma4_read_config(const vug_jv *text, const char *file, vug_config *c,
                                  vug_err *err);

#endif
