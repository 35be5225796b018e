/* Compiling: a fused and planned graph becomes a list of steps. */
#include "backend/cpu/program.h"
#include "backend/checks.h"

/* ---- weight vectors --------------------------------------------------------- */

static vug_status find_vectors(vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    p->vector = vug_arena_alloc(&p->arena, g->n, sizeof(*p->vector));
    if (!p->vector)
        return VUG_FAIL_NOMEM(err, "the program", g->n * sizeof(*p->vector));
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        const char *kinds = vug_node_operands(node);
        const size_t at = strcspn(kinds, "nv");
        if (!kinds[at])
            continue;
        const int slot = vug_graph_at(g, node->in[at])->at.param.slot;
        const float bias = kinds[at] == 'n' ? node->at.norm.bias : 0;
        VUG_TRY(vug_cpu_weights_vector(p->weights, slot, bias, &p->vector[i], err));
    }
    return VUG_OK;
}

/* ---- steps ---------------------------------------------------------------- */

static bool computes_nothing(vug_op op)
{
    return vug_op_class_of(op) == VUG_CLASS_LEAF || vug_op_class_of(op) == VUG_CLASS_VIEW;
}

/* Consecutive LINEAR nodes with the same input become one job if nothing is computed between
 * them. Computing the later ones a little earlier is safe for the memory plan, since no node
 * between them allocates or releases memory. */
static void group_linears(const vug_graph *g, uint32_t first, vug_cpu_step *step)
{
    const uint32_t x = g->node[first].in[0].id;
    for (uint32_t i = first; i < g->n && step->n < VUG_CPU_MAX_PROJECTIONS; i++) {
        const vug_node *node = &g->node[i];
        if (node->op == VUG_OP_LINEAR && node->in[0].id == x)
            step->node[step->n++] = i;
        else if (!computes_nothing(node->op))
            break;
    }
}

static vug_status make_steps(vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    p->step = vug_arena_alloc(&p->arena, g->n, sizeof(*p->step));
    if (!p->step)
        return VUG_FAIL_NOMEM(err, "the program", g->n * sizeof(*p->step));
    uint32_t done = 0; /* linear nodes up to here are in a step */
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_op op = g->node[i].op;
        if (computes_nothing(op) || (op == VUG_OP_LINEAR && i <= done))
            continue;
        vug_cpu_step *step = &p->step[p->n_steps++];
        if (op == VUG_OP_LINEAR) {
            group_linears(g, i, step);
            done = step->node[step->n - 1];
        } else {
            step->node[step->n++] = i;
        }
    }
    return VUG_OK;
}

/* ---- the head --------------------------------------------------------------- */

enum {
    LEAST_HEAD_BYTES = 32 << 20
}; /* smaller ones stay in caches: reading them is not the cost */

/* Finds the product that is the output "logits", and the screen of its weights. */
static vug_status find_screen(vug_program *p, vug_err *err)
{
    const vug_graph *g = p->graph;
    const vug_cpu_env env = { .kernels = p->device->kernels, .activations = p->plan->activations };
    if (p->plan->head_screen == VUG_HEAD_SCREEN_OFF)
        return VUG_OK;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const vug_node *node = vug_graph_at(g, g->output[i].value);
        if (strcmp(g->output[i].name, "logits") != 0 || node->op != VUG_OP_LINEAR)
            continue;
        const int slot = vug_graph_at(g, node->in[1])->at.param.slot;
        const vug_weight *w = &p->weight[slot];
        const int64_t bytes = w->rows * vug_dtype_row(w->dtype, w->columns);
        if (!vug_cpu_head_screen_supports(&env, w) ||
            (p->plan->head_screen == VUG_HEAD_SCREEN_AUTO && bytes < LEAST_HEAD_BYTES))
            continue;
        p->head = g->output[i].value.id;
        VUG_TRY(vug_cpu_weights_screen(p->weights, slot, &p->screen, err));
        if (p->screen)
            p->screen->is_always_used = p->plan->head_screen == VUG_HEAD_SCREEN_ON;
    }
    return VUG_OK;
}

/* ---- compile -------------------------------------------------------------- */

static vug_status build_program(vug_program *p, vug_err *err)
{
    VUG_TRY(vug_cpu_check_nodes(p, err));
    VUG_TRY(find_vectors(p, err));
    VUG_TRY(make_steps(p, err));
    VUG_TRY(find_screen(p, err));
    return vug_cpu_size_memory(p, err);
}

vug_status vug_cpu_compile(vug_device_weights *weights, const vug_graph *graph,
                           const vug_plan *plan, const vug_limits *limits, vug_program **out,
                           vug_err *err)
{
    VUG_TRY(vug_check_limits("cpu", limits, err));
    vug_program *p = vug_alloc_zero(1, sizeof(*p));
    if (!p)
        return VUG_FAIL_NOMEM(err, "the program", sizeof(*p));
    p->device = weights->device;
    p->weights = weights;
    p->weight = weights->weight;
    p->graph = graph;
    p->plan = plan;
    p->limits = *limits;
    p->token_dim = vug_graph_step_dim(graph, VUG_DIM_T);
    const vug_status st = build_program(p, err);
    if (st != VUG_OK) {
        vug_cpu_release(p);
        return st;
    }
    *out = p;
    return VUG_OK;
}

void vug_cpu_release(vug_program *p)
{
    if (!p)
        return;
    vug_kv_layout_release(&p->kv_layout);
    vug_arena_release(&p->arena);
    vug_free(p);
}
