#include "models/experts.h"

enum {
    MAX_EXPERTS = 1 << 12,
    /* In all layers: ten times those of any published model, few enough that a table
     * of their weights is small. */
    MAX_ALL = 1 << 17,
};

static int64_t read_one(vug_keys *k, const char *key, int64_t fallback, int64_t max)
{
    return vug_key_int(k, key, fallback ? fallback : VUG_REQUIRED, 1, max);
}

void vug_read_experts(vug_keys *k, const vug_expert_defaults *defaults, const char *chosen_key,
                      vug_config *c)
{
    const char *key = vug_key(k, "num_experts") ? "num_experts" : "num_local_experts";
    if (!vug_key(k, key))
        key = "num_experts";
    c->n_experts = read_one(k, key, defaults->experts, MAX_EXPERTS);
    c->n_chosen = read_one(k, chosen_key, defaults->chosen, MAX_EXPERTS);
    c->d_expert = read_one(k, "moe_intermediate_size", defaults->width, 1 << 24);
    if (k->st != VUG_OK)
        return;
    if (c->n_chosen > c->n_experts)
        vug_keys_fail(k, VUG_FORMAT, "key '%s': %lld of %lld experts", chosen_key,
                      (long long)c->n_chosen, (long long)c->n_experts);
    if (c->n_experts * c->n_layers > MAX_ALL)
        vug_keys_fail(k, VUG_LIMIT, "%lld layers of %lld experts, at most %d in all",
                      (long long)c->n_layers, (long long)c->n_experts, MAX_ALL);
}
