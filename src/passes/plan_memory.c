/*
 * The memory plan: places values in the order of the nodes, each at the lowest offset
 * that is free while it lives. This greedy order is good enough, because the layers of
 * a transformer repeat and little but the residual stream is alive between them: for
 * the published shapes the plan takes at most a quarter more than what is alive at
 * once, and for Gemma's less than a sixth more.
 */
#include "passes/passes.h"

#include "ir/live_blocks.h"

/* A view has no bytes of its own: it uses those of its input. */
static bool is_view(vug_op op)
{
    return vug_op_class_of(op) == VUG_CLASS_VIEW;
}

static bool has_memory(vug_op op)
{
    return vug_op_class_of(op) != VUG_CLASS_LEAF;
}

/* last[i]: the last node that reads the bytes of value i; outputs live to the end. */
static void find_lifetimes(const vug_graph *g, uint32_t *last)
{
    for (uint32_t i = 1; i < g->n; i++)
        last[i] = i;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        last[g->output[i].value.id] = g->n;
    /* Backwards, so that a view's readers are known before it extends its input's life. */
    for (uint32_t i = g->n - 1; i > 0; i--) {
        const uint32_t end = is_view(g->node[i].op) ? last[i] : i;
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++) {
            const uint32_t in = g->node[i].in[k].id;
            if (last[in] < end)
                last[in] = end;
        }
    }
}

vug_status vug_plan_init(const vug_graph *g, int64_t tokens, int64_t rows, uint64_t align,
                         vug_plan *out, vug_err *err)
{
    vug_plan plan = { .offset = vug_alloc(g->n, sizeof(*plan.offset)) };
    uint32_t *last = vug_alloc_zero(g->n, sizeof(*last));
    vug_live_block *live = vug_alloc(g->n, sizeof(*live));
    vug_status st = VUG_OK;
    if (!plan.offset || !last || !live) {
        st = VUG_FAIL_NOMEM(err, "the memory plan", g->n * (sizeof(*live) + sizeof(*plan.offset)));
        goto release;
    }
    find_lifetimes(g, last);
    plan.offset[0] = VUG_NO_OFFSET;
    size_t n = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        plan.offset[i] = VUG_NO_OFFSET;
        if (!has_memory(node->op))
            continue;
        if (is_view(node->op)) {
            plan.offset[i] = plan.offset[node->in[0].id];
            continue;
        }
        uint64_t bytes = (uint64_t)vug_shape_elements(&node->shape, tokens, rows) * sizeof(float);
        bytes = (bytes + align - 1) / align * align;
        plan.offset[i] = vug_live_place(live, &n, bytes, i, last[i]);
        if (plan.offset[i] + bytes > plan.bytes)
            plan.bytes = plan.offset[i] + bytes;
    }
release:
    vug_free(live);
    vug_free(last);
    if (st != VUG_OK) {
        vug_plan_release(&plan);
        return st;
    }
    *out = plan;
    return VUG_OK;
}

void vug_plan_report(const vug_graph *g, const vug_plan *plan, int64_t tokens, int64_t rows,
                     vug_buf *report)
{
    uint32_t values = 0, views = 0;
    uint64_t unshared = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (!has_memory(node->op))
            continue;
        if (is_view(node->op)) {
            views++;
            continue;
        }
        values++;
        unshared += (uint64_t)vug_shape_elements(&node->shape, tokens, rows) * sizeof(float);
    }
    vug_buf_printf(report,
                   "memory plan (tokens in a step: %lld)\n"
                   "  %u values share %llu bytes; without sharing they would take %llu\n"
                   "  %u views use the bytes of other values\n",
                   (long long)tokens, values, (unsigned long long)plan->bytes,
                   (unsigned long long)unshared, views);
}
