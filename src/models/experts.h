#ifndef VUG_MODELS_EXPERTS_H
#define VUG_MODELS_EXPERTS_H

/* What the configs of architectures with experts share. Sticky in `k`. */

#include "models/keys.h"
#include "models/models.h"

/* The documented defaults of an architecture. */
typedef struct {
    int64_t experts, chosen, width;
} vug_expert_defaults;

/* `num_experts`, which transformers 5 writes as `num_local_experts`, `chosen_key` and
 * `moe_intermediate_size`; whether they fit together. Without `defaults` they must be
 * there. No experts at all is fine: then no layer has any. */
void vug_read_experts(vug_keys *k, const vug_expert_defaults *defaults, const char *chosen_key,
                      vug_config *c);

#endif
