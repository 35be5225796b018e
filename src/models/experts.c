#include "models/experts.h"

enum {
    MAX_EXPERTS = 1 << 12,
    /* In all layers: ten times those of any published model, few enough that a table
     * of their weights is small. */
    MAX_ALL = 1 << 17,
};

void vug_read_experts(vug_keys *k, const vug_expert_defaults *defaults, const char *chosen_key,
                      vug_config *c)
{
    const vug_expert_defaults none = { VUG_REQUIRED, VUG_REQUIRED, VUG_REQUIRED };
    const vug_expert_defaults *otherwise = defaults ? defaults : &none;
    const bool local = !vug_key(k, "num_experts") && vug_key(k, "num_local_experts");
    c->n_experts = vug_key_int(k, local ? "num_local_experts" : "num_experts", otherwise->experts,
                               0, MAX_EXPERTS);
    c->n_chosen = vug_key_int(k, chosen_key, otherwise->chosen, 1, MAX_EXPERTS);
    c->d_expert = vug_key_int(k, "moe_intermediate_size", otherwise->width, 1, 1 << 24);
    if (k->st != VUG_OK || c->n_experts == 0)
        return;
    if (c->n_chosen > c->n_experts)
        vug_keys_fail(k, VUG_FORMAT, "key '%s': %lld of %lld experts", chosen_key,
                      (long long)c->n_chosen, (long long)c->n_experts);
    if (c->n_experts * c->n_layers > MAX_ALL)
        vug_keys_fail(k, VUG_LIMIT, "%lld layers of %lld experts, at most %d in all",
                      (long long)c->n_layers, (long long)c->n_experts, MAX_ALL);
}
