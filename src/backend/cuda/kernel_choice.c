/* Which kernels a program uses, for compiling, which sizes buffers, and for launching. */
#include "backend/cuda/launch.h"

int64_t vug_cuda_side_pages(const vug_node *node, int64_t tokens, int64_t positions)
{
    const int64_t window = node->at.attn.mask ? 0 : node->at.attn.window;
    const int64_t all = vug_kv_pages_of(positions);
    const int64_t seen = window > 0 ? vug_kv_pages_of(window) + 1 : all;
    if (tokens > VUG_CUDA_DECODE_TOKENS)
        return 0;
    return seen < all ? seen : all;
}

bool vug_cuda_rounds_attention(const vug_cuda_program *p, const vug_node *node)
{
    /* The kernels need 200 KiB of shared memory in a block (attention_rows.h has the same list). */
    const bool fits = p->device->capability == 9 || p->device->capability == 10;
    /* Keys and values of 16 bits are exact on tensor cores; those of Q8 are rounded to BF16. */
    const bool exact = p->plan->kv == VUG_KV_F16 || p->plan->kv == VUG_KV_BF16;
    const bool rounds = p->plan->kv == VUG_KV_Q8 && vug_activations_are_bf16(p->plan->activations);
    return fits && (exact || rounds) && p->plan->activations != VUG_ACTIVATIONS_F32 &&
           !node->at.attn.mask;
}

vug_cuda_launch_options vug_cuda_options_of(const vug_cuda_step *s)
{
    /* Kernels of one carveout follow one another faster, probably since a multiprocessor takes another
     * only when its blocks have ended (docs/nvidia-tuning.md has the figures). So those of a step of one
     * token prefer the same: 164 KB of 228, which leaves an L1 cache for rows; or all of it, if
     * attention has more pages than 164 KB of each multiprocessor hold. Products with rings of codes
     * need what the driver chooses. */
    enum { MOST = 72, ALL = 100, PAGES = 3 };
    const vug_cuda_program *p = s->program;
    vug_cuda_launch_options options = { .early = p->device->capability >= 9 };
    int64_t pages = 0;
    for (int i = 0; i < p->kv_layout.n_groups; i++) {
        const int64_t n = vug_kv_pages_of(s->inputs.keys) * p->kv_layout.group[i].heads;
        pages = n > pages && p->kv_layout.group[i].window == 0 ? n : pages;
    }
    if (s->tokens == 1 && p->plain_products && p->device->capability == 9)
        options.carveout = pages > PAGES * p->device->processors ? ALL : MOST;
    return options;
}

int vug_cuda_terms(const vug_cuda_program *p)
{
    return vug_activations_are_bf16(p->plan->activations) ? 1 : 2;
}

/* ---- experts ------------------------------------------------------------------------------- */

enum { TERMS_ALIGN = 256 };

static const vug_matrix *matrix_of(const vug_cuda_program *p, vug_val v)
{
    return &p->weights->matrix[vug_graph_at(p->graph, v)->at.param.slot];
}

/* Whether products with the experts of a node run on tensor cores. */
static bool groups_experts(const vug_cuda_program *p, const vug_node *node)
{
    for (int i = 2; i <= 4; i++) {
        const vug_matrix *m = matrix_of(p, node->in[i]);
        if (vug_cuda_unit_bytes(m->dtype) == 0 || m->scales.scale)
            return false;
    }
    return p->plan->activations != VUG_ACTIVATIONS_F32 &&
           matrix_of(p, node->in[2])->dtype == matrix_of(p, node->in[3])->dtype;
}

/* Of the terms of rows, and their sums. */
static uint64_t terms_bytes(int64_t rows, int64_t columns, int terms)
{
    return vug_cuda_packed_bytes(rows, columns, terms) +
           (uint64_t)vug_cuda_x_sums_bytes(rows, columns);
}

enum { WIDE_ROWS = 16 }; /* of an expert on average, from which on groups are wide */

/* Whether wgmma_linear.cu multiplies so many choices. */
static bool groups_widely(const vug_cuda_program *p, const vug_node *node, int64_t choices)
{
    const vug_node *gate = vug_graph_at(p->graph, node->in[2]);
    const bool plain = matrix_of(p, node->in[2])->dtype == VUG_DTYPE_BF16 &&
                       matrix_of(p, node->in[4])->dtype == VUG_DTYPE_BF16;
    return p->device->capability == 9 && gate->shape.dim[1] % VUG_CUDA_TILE_PAD == 0 &&
           choices >= WIDE_ROWS * vug_param_slots(gate) && (vug_cuda_terms(p) > 1 || plain);
}

/* Of rows in blocks, and their sums. */
static uint64_t blocks_bytes(int64_t rows, int64_t columns, int terms)
{
    const uint64_t bytes = (uint64_t)(vug_cuda_blocks_bytes(rows, columns, terms) +
                                      vug_cuda_x_sums_bytes(rows, columns));
    return (bytes + TERMS_ALIGN - 1) / TERMS_ALIGN * TERMS_ALIGN;
}

/* Whether a few rows are multiplied one by one: faster than groups, as measured, while most experts that are
 * chosen have one row. */
static bool is_few_choices(const vug_node *gate, int64_t choices)
{
    return 2 * choices <= vug_param_slots(gate) &&
           vug_cuda_takes_single_row(gate->shape.dim[2], false) &&
           vug_cuda_takes_single_row(gate->shape.dim[1], false);
}

/* Whether row_linear.cu multiplies groups of rows of one expert. */
static bool takes_small_groups(const vug_cuda_program *p, const vug_node *node)
{
    const vug_node *gate = vug_graph_at(p->graph, node->in[2]);
    vug_cuda_tile_job job = { .part = { { .out = gate->shape.dim[1] } },
                              .parts = 2,
                              .format = matrix_of(p, node->in[2])->dtype,
                              .activation = VUG_OP_SWIGLU,
                              .columns = gate->shape.dim[2],
                              .terms = vug_cuda_terms(p) };
    if (!vug_cuda_takes_row_groups(&job))
        return false;
    job.part[0].out = gate->shape.dim[2];
    job.parts = 1;
    job.format = matrix_of(p, node->in[4])->dtype;
    job.activation = VUG_OP_LINEAR;
    job.columns = gate->shape.dim[1];
    return vug_cuda_takes_row_groups(&job);
}

/* The rows of a group (vug_cuda_expert_space). */
static int64_t group_rows_of(const vug_cuda_program *p, const vug_node *node, int64_t choices)
{
    if (!groups_experts(p, node))
        return 0;
    if (is_few_choices(vug_graph_at(p->graph, node->in[2]), choices))
        return 1;
    if (groups_widely(p, node, choices))
        return VUG_CUDA_WIDE_GROUP;
    return takes_small_groups(p, node) ? VUG_CUDA_SMALL_GROUP : VUG_CUDA_TILE_GROUP;
}

vug_cuda_expert_space vug_cuda_place_experts(const vug_cuda_program *p, const vug_node *node,
                                             int64_t rows)
{
    const vug_node *gate = vug_graph_at(p->graph, node->in[2]);
    const int64_t choices = rows * vug_graph_at(p->graph, node->in[1])->shape.dim[1] / 2;
    const int64_t hidden = gate->shape.dim[1], width = gate->shape.dim[2];
    const uint64_t inner = (uint64_t)(choices * hidden) * sizeof(float);
    vug_cuda_expert_space at = { .up = inner, .group_rows = group_rows_of(p, node, choices) };
    const bool wide = at.group_rows == VUG_CUDA_WIDE_GROUP;
    at.down = wide ? 0 : 2 * inner;
    at.bytes = at.down + (uint64_t)(choices * node->shape.dim[1]) * sizeof(float);
    if (at.group_rows <= 1)
        return at;
    at.groups = vug_cuda_expert_groups(choices, vug_param_slots(gate), at.group_rows);
    const int64_t slots = at.groups * at.group_rows;
    const int terms = vug_cuda_terms(p);
    at.expert = at.bytes;
    at.choice = at.expert + (uint64_t)at.groups * sizeof(int32_t);
    at.used = at.choice + (uint64_t)slots * sizeof(int32_t);
    at.bytes = at.used + sizeof(int32_t);
    if (at.group_rows == VUG_CUDA_SMALL_GROUP)
        return at;
    at.terms = (at.bytes + TERMS_ALIGN - 1) / TERMS_ALIGN * TERMS_ALIGN;
    if (wide) {
        at.hidden = at.terms + blocks_bytes(slots, width, terms);
        at.bytes = at.hidden + blocks_bytes(slots, hidden, terms);
        return at;
    }
    const uint64_t in = terms_bytes(slots, width, terms), out = terms_bytes(slots, hidden, terms);
    at.bytes = at.terms + (in > out ? in : out);
    return at;
}

uint64_t vug_cuda_expert_bytes(const vug_cuda_program *p, const vug_node *node, int64_t most_rows)
{
    const int64_t k = vug_graph_at(p->graph, node->in[1])->shape.dim[1] / 2;
    const int64_t few = (WIDE_ROWS * vug_param_slots(vug_graph_at(p->graph, node->in[2])) - 1) / k;
    const uint64_t most = vug_cuda_place_experts(p, node, most_rows).bytes,
                   narrow =
                           vug_cuda_place_experts(p, node, most_rows < few ? most_rows : few).bytes;
    return most > narrow ? most : narrow;
}
