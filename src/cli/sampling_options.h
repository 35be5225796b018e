#ifndef VUG_CLI_SAMPLING_OPTIONS_H
#define VUG_CLI_SAMPLING_OPTIONS_H

#include "cli/options.h"

typedef struct {
    char key[24]; /* the id as it was written */
    int64_t id;
    double value;
} vug_token_bias;

/* Parses ID=X; does not check the ranges of the two. */
VUG_MUST_CHECK bool vug_token_bias_parse(const char *text, vug_token_bias *out);
/* The sampler chain: the model's defaults, changed by the options, in the order of
 * --sampler-order. The arena owns its stages. */
VUG_MUST_CHECK vug_status vug_sampling_from_options(const vug_options *opt, const vug_model *model,
                                                    vug_arena *arena, vug_sampling *out,
                                                    vug_err *err);

#endif
