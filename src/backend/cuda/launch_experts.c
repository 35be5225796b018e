/* From mixtures of experts to the launches of their kernels. */
#include "backend/cuda/launch.h"

static vug_op activation_of(const vug_node *node)
{
    return node->at.experts.activation == VUG_OP_SILU ? VUG_OP_SWIGLU : VUG_OP_GEGLU;
}

/* The addresses of the experts' weights that are input `i` of the node. */
static const uint8_t *const *expert_weights(const vug_cuda_step *s, uint32_t id, int i,
                                            int *experts)
{
    const vug_node *node = &s->program->graph->node[id];
    *experts = (int)vug_param_slots(node_at(s, node->in[i]));
    return (const uint8_t *const *)(const void *)s->program->constant[id] +
           (ptrdiff_t)(i - 2) * 3 * *experts;
}

/* The product of rows of x with the chosen experts' weights that are input `i` of the node. */
static void launch_expert_linear(const vug_cuda_step *s, uint32_t id, int i,
                                 const vug_cuda_expert_job *rows)
{
    const vug_node *node = &s->program->graph->node[id];
    vug_cuda_expert_job job = *rows;
    job.w = *matrix_at(s, node->in[i]);
    job.row_bytes = vug_cuda_row_bytes(&job.w);
    job.data = expert_weights(s, id, i, &job.experts);
    job.out = node_at(s, node->in[i])->shape.dim[1];
    vug_cuda_expert_linear(stream_of(s), &job);
}

static float *scratch_floats(const vug_cuda_step *s, uint64_t at)
{
    return (float *)(void *)(s->ws->scratch + at);
}

static int32_t *scratch_ints(const vug_cuda_step *s, uint64_t at)
{
    return (int32_t *)(void *)(s->ws->scratch + at);
}

static void sort_experts(const vug_cuda_step *s, uint32_t id, int64_t rows, int k,
                         const vug_cuda_expert_space *at)
{
    const vug_node *node = &s->program->graph->node[id];
    const vug_cuda_sort_job sort = { .route = vug_cuda_input_at(s, node->in[1]),
                                     .tokens = rows,
                                     .experts = (int)vug_param_slots(node_at(s, node->in[2])),
                                     .k = k,
                                     .groups = at->groups,
                                     .group_rows = at->group_rows,
                                     .expert = scratch_ints(s, at->expert),
                                     .choice = scratch_ints(s, at->choice),
                                     .used = scratch_ints(s, at->used),
                                     .launch = vug_cuda_options_of(s) };
    vug_cuda_sort_experts(stream_of(s), &sort);
}

/* The outputs [rows,k,width] of the chosen experts, on plain kernels. */
static void launch_plain_experts(const vug_cuda_step *s, uint32_t id, int64_t rows, int k,
                                 const vug_cuda_expert_space *at)
{
    const vug_node *node = &s->program->graph->node[id];
    const int64_t hidden = node_at(s, node->in[2])->shape.dim[1];
    vug_cuda_expert_job job = { .route = vug_cuda_input_at(s, node->in[1]),
                                .x = vug_cuda_input_at(s, node->in[0]),
                                .rows = rows * k,
                                .k = k,
                                .rows_per_x = k };
    float *const gate = scratch_floats(s, 0), *const up = scratch_floats(s, at->up);
    job.y = gate;
    launch_expert_linear(s, id, 2, &job);
    job.y = up;
    launch_expert_linear(s, id, 3, &job);
    const vug_cuda_element_job activate = { .op = activation_of(node),
                                            .a = gate,
                                            .b = up,
                                            .out = gate,
                                            .n = rows * k * hidden,
                                            .width = hidden };
    vug_cuda_elements(stream_of(s), &activate);
    job.x = gate;
    job.y = scratch_floats(s, at->down);
    job.rows_per_x = 1;
    launch_expert_linear(s, id, 4, &job);
}

/* The same in tile_linear.cu, in groups of rows that have one expert. */
static void launch_tile_experts(const vug_cuda_step *s, uint32_t id, int64_t rows, int k,
                                const vug_cuda_expert_space *at)
{
    const vug_node *node = &s->program->graph->node[id];
    const int64_t hidden = node_at(s, node->in[2])->shape.dim[1];
    float *const gate = scratch_floats(s, 0);
    const int32_t *const choice = scratch_ints(s, at->choice);
    vug_cuda_tile_job job = { .parts = 2,
                              .format = matrix_at(s, node->in[2])->dtype,
                              .activation = activation_of(node),
                              .terms = vug_cuda_terms(s->program),
                              .chosen = { .expert = scratch_ints(s, at->expert), .choice = choice },
                              .processors = s->program->device->processors };
    vug_cuda_rows x = { .x = vug_cuda_input_at(s, node->in[0]),
                        .rows = at->groups * VUG_CUDA_TILE_GROUP,
                        .columns = last_dim(node_at(s, node->in[0])),
                        .choice = choice,
                        .per_row = k };
    for (int i = 0; i < 2; i++) {
        job.chosen.data[i] = expert_weights(s, id, 2 + i, &job.chosen.experts);
        job.part[i].out = hidden;
    }
    sort_experts(s, id, rows, k, at);
    job.part[0].y = gate;
    vug_cuda_launch_few_rows(s, &x, &job, s->ws->scratch + at->terms);
    job.parts = 1;
    job.format = matrix_at(s, node->in[4])->dtype;
    job.activation = VUG_OP_LINEAR;
    job.chosen.data[0] = expert_weights(s, id, 4, &job.chosen.experts);
    job.part[0].y = scratch_floats(s, at->down);
    job.part[0].out = last_dim(node);
    x.x = gate;
    x.columns = hidden;
    x.per_row = 1;
    vug_cuda_launch_few_rows(s, &x, &job, s->ws->scratch + at->terms);
}

/* Rows in wide groups, in blocks at `at`, for a product with weights of `format`. */
static vug_cuda_blocks group_blocks(const vug_cuda_step *s, const vug_cuda_expert_space *space,
                                    uint64_t at, int64_t columns, vug_dtype format)
{
    const int terms = vug_cuda_terms(s->program);
    vug_cuda_blocks of = { .rows = space->groups * space->group_rows,
                           .columns = columns,
                           .terms = terms,
                           .integers = terms > 1 && vug_cuda_takes_integers(format),
                           .blocks = s->ws->scratch + at };
    if (terms > 1 && vug_cuda_needs_sums(format))
        of.x_sums =
                scratch_floats(s, at + (uint64_t)vug_cuda_blocks_bytes(of.rows, columns, terms));
    return of;
}

/* The same of many rows, in wgmma_linear.cu. */
static void launch_wide_experts(const vug_cuda_step *s, uint32_t id, int64_t rows, int k,
                                const vug_cuda_expert_space *at)
{
    const vug_node *node = &s->program->graph->node[id];
    const int64_t hidden = node_at(s, node->in[2])->shape.dim[1];
    const vug_dtype gate = matrix_at(s, node->in[2])->dtype,
                    down = matrix_at(s, node->in[4])->dtype;
    const int processors = s->program->device->processors;
    const vug_cuda_blocks x =
            group_blocks(s, at, at->terms, last_dim(node_at(s, node->in[0])), gate);
    const vug_cuda_blocks_job store = { .x = vug_cuda_input_at(s, node->in[0]),
                                        .choice = scratch_ints(s, at->choice),
                                        .per_row = k,
                                        .to = x };
    int experts;
    vug_cuda_prefill_job job = { .parts = 2,
                                 .format = gate,
                                 .rows = x.rows,
                                 .columns = x.columns,
                                 .terms = x.terms,
                                 .blocks = x.blocks,
                                 .x_sums = x.x_sums,
                                 .activation = activation_of(node),
                                 .to = group_blocks(s, at, at->hidden, hidden, down),
                                 .chosen = { .expert = scratch_ints(s, at->expert),
                                             .choice = scratch_ints(s, at->choice),
                                             .used = scratch_ints(s, at->used) } };
    for (int i = 0; i < 2; i++) {
        job.chosen.data[i] = expert_weights(s, id, 2 + i, &experts);
        job.part[i].out = hidden;
    }
    sort_experts(s, id, rows, k, at);
    vug_cuda_store_blocks(stream_of(s), &store);
    vug_cuda_wgmma_linear(stream_of(s), &job, processors);
    job.parts = 1;
    job.format = down;
    job.columns = hidden;
    job.blocks = job.to.blocks;
    job.x_sums = job.to.x_sums;
    job.activation = VUG_OP_LINEAR;
    job.chosen.data[0] = expert_weights(s, id, 4, &experts);
    job.part[0].y = scratch_floats(s, at->down);
    job.part[0].out = job.part[0].stride = last_dim(node);
    vug_cuda_wgmma_linear(stream_of(s), &job, processors);
}

/* The same of each choice by itself, or of small groups. */
static void launch_row_experts(const vug_cuda_step *s, uint32_t id, int64_t rows, int k,
                               const vug_cuda_expert_space *at)
{
    const vug_node *node = &s->program->graph->node[id];
    void (*const multiply)(cudaStream_t, const vug_cuda_tile_job *) =
            at->groups > 0 ? vug_cuda_row_groups : vug_cuda_row_experts;
    vug_cuda_tile_job job = { .parts = 2,
                              .format = matrix_at(s, node->in[2])->dtype,
                              .activation = activation_of(node),
                              .columns = last_dim(node_at(s, node->in[0])),
                              .terms = vug_cuda_terms(s->program),
                              .row = { .x = vug_cuda_input_at(s, node->in[0]) },
                              .chosen = { .route = vug_cuda_input_at(s, node->in[1]),
                                          .k = k,
                                          .choices = (int)rows * k,
                                          .per_row = k },
                              .processors = s->program->device->processors,
                              .launch = vug_cuda_options_of(s) };
    for (int i = 0; i < 2; i++) {
        job.chosen.data[i] = expert_weights(s, id, 2 + i, &job.chosen.experts);
        job.part[i].out = node_at(s, node->in[2])->shape.dim[1];
    }
    job.part[0].y = scratch_floats(s, 0);
    if (at->groups > 0) {
        sort_experts(s, id, rows, k, at);
        job.rows = at->groups * at->group_rows;
        job.chosen.expert = scratch_ints(s, at->expert);
        job.chosen.choice = scratch_ints(s, at->choice);
    }
    multiply(stream_of(s), &job);
    job.parts = 1;
    job.format = matrix_at(s, node->in[4])->dtype;
    job.activation = VUG_OP_LINEAR;
    job.columns = job.part[0].out;
    job.row.x = job.part[0].y;
    job.chosen.per_row = 1;
    job.chosen.data[0] = expert_weights(s, id, 4, &job.chosen.experts);
    job.part[0].y = scratch_floats(s, at->down);
    job.part[0].out = last_dim(node);
    multiply(stream_of(s), &job);
}

void vug_cuda_launch_experts(const vug_cuda_step *s, uint32_t id)
{
    const vug_node *node = &s->program->graph->node[id];
    const int64_t rows = rows_of(s, node);
    const int k = (int)(node_at(s, node->in[1])->shape.dim[1] / 2);
    if (rows == 0)
        return;
    const vug_cuda_expert_space at = vug_cuda_place_experts(s->program, node, rows);
    switch (at.group_rows) {
    case 1:
    case VUG_CUDA_SMALL_GROUP:
        launch_row_experts(s, id, rows, k, &at);
        break;
    case VUG_CUDA_TILE_GROUP:
        launch_tile_experts(s, id, rows, k, &at);
        break;
    case VUG_CUDA_WIDE_GROUP:
        launch_wide_experts(s, id, rows, k, &at);
        break;
    default:
        launch_plain_experts(s, id, rows, k, &at);
    }
    const vug_cuda_mix_job mix = { .y = scratch_floats(s, at.down),
                                   .route = vug_cuda_input_at(s, node->in[1]),
                                   .out = vug_cuda_value_at(s, value_of(id)),
                                   .rows = rows,
                                   .width = last_dim(node),
                                   .k = k,
                                   .launch = vug_cuda_options_of(s) };
    vug_cuda_mix_experts(stream_of(s), &mix);
}
