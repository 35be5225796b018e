/*
 * models: config.json. What is accepted must have sizes that the rest of the
 * program may multiply and divide by: tensors have names, and the model's graph is
 * made, fused and planned for the largest of steps, or refused with a sentence.
 */

#include "core/mem.h"
#include "fuzz/fuzz.h"
#include "models/models.h"
#include "passes/passes.h"

enum {
    MOST_SLOTS = 4096, /* that are looked at; more are more of the same */
    LARGEST_STEP = 1 << 16,
};

static void plan(const vug_graph *g, vug_err *err)
{
    vug_plan p = { 0 };
    const vug_status st = vug_plan_init(g, LARGEST_STEP, LARGEST_STEP, 64, &p, err);
    VUG_ASSERT((st == VUG_OK) == (err->msg[0] == '\0'));
    VUG_ASSERT(st != VUG_OK || p.bytes < UINT64_MAX / 4);
    vug_plan_release(&p);
}

static void build(const vug_config *config)
{
    vug_err err = { 0 };
    vug_binding binding = { 0 };
    vug_graph g = { 0 }, fused = { 0 };
    vug_status st = vug_binding_init_without_data(config, &binding, &err);
    if (st == VUG_OK)
        st = vug_model_build_graph(&binding, true, &g, &err);
    if (st == VUG_OK)
        st = vug_fuse(&g, &fused, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK)
        plan(&fused, &err);
    vug_graph_release(&fused);
    vug_graph_release(&g);
    vug_binding_release(&binding);
}

int vug_fuzz_config(const uint8_t *data, size_t n)
{
    vug_config *config = vug_alloc_zero(1, sizeof(*config));
    if (!config)
        return 0;
    vug_err err = { 0 };
    vug_status st = vug_config_read((vug_str){ (const char *)data, n }, "input", config, &err);
    VUG_ASSERT((st == VUG_OK) == (err.msg[0] == '\0'));
    if (st == VUG_OK) {
        VUG_ASSERT(config->arch != NULL);
        VUG_ASSERT(config->n_layers > 0 && config->n_layers <= VUG_MAX_LAYERS);
        VUG_ASSERT(config->d_model > 0 && config->d_head > 0 && config->d_ffn > 0);
        VUG_ASSERT(config->n_kv_heads > 0 && config->n_heads >= config->n_kv_heads);
        VUG_ASSERT(config->n_heads % config->n_kv_heads == 0);
        VUG_ASSERT(config->n_vocab > 0 && config->context > 0 && config->window >= 0);
        VUG_ASSERT(config->n_eos >= 0 && config->n_eos <= VUG_MAX_EOS);
        const size_t n_slots = vug_weight_slot_count(config);
        for (size_t i = 0; i < n_slots && i < MOST_SLOTS; i++) {
            const vug_weight_slot slot = vug_weight_slot_at(config, i);
            VUG_ASSERT(memchr(slot.name, '\0', sizeof(slot.name)) != NULL);
        }
        if (n_slots <= MOST_SLOTS)
            build(config);
    }
    vug_free(config);
    return 0;
}
