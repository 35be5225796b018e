/* What callers can read of an open model. */
#include "engine/internal.h"
#include "vug/stats.h"

/* Code, libraries, stacks and tables of the process itself: the peak of a run minus
 * everything that is counted, 3 to 5 MB with glibc on x86-64. */
static const uint64_t process_bytes = 4u << 20;

/* ---- counting ------------------------------------------------------------------------ */

/* Whether steps only look up single rows of the weight, by token. */
static bool is_table(const vug_graph *g, size_t slot)
{
    bool used = false;
    for (uint32_t i = 1; i < g->n; i++) {
        for (int k = 0; k < vug_node_inputs(&g->node[i]); k++) {
            const vug_node *in = vug_graph_at(g, g->node[i].in[k]);
            if (in->op != VUG_OP_PARAM || (size_t)in->at.param.slot != slot)
                continue;
            if (g->node[i].op != VUG_OP_EMBED)
                return false;
            used = true;
        }
    }
    return used;
}

/* A tensor may contain several slots. */
uint64_t vug_model_slot_bytes(const vug_model *m, size_t i)
{
    const vug_weight_slot slot = vug_weight_slot_at(&m->checkpoint.config, i);
    const vug_tensor *t = m->checkpoint.binding.tensor[i];
    uint64_t all = 1;
    for (int d = 0; d < t->rank; d++)
        all *= (uint64_t)t->dim[d]; /* the binding has checked the shape */
    return (t->bytes + t->scale_bytes) / (all / (uint64_t)vug_shape_elements(&slot.shape, 0, 0));
}

/* A token uses only some experts; all experts of a layer have the same size. */
static void describe_weights(const vug_model *m, vug_model_info *info)
{
    const vug_binding *b = &m->checkpoint.binding;
    const vug_config *c = &m->checkpoint.config;
    uint64_t expert_bytes = 0;
    int64_t expert_elements = 0;
    const bool files = vug_weights_mapped(m->checkpoint.weights) > 0; /* not weights in memory */
    for (size_t i = 0; i < b->n_slots; i++) {
        const vug_weight_slot slot = vug_weight_slot_at(c, i);
        const uint64_t n = (uint64_t)vug_shape_elements(&slot.shape, 0, 0);
        if (!b->tensor[i])
            continue;
        const uint64_t bytes = vug_model_slot_bytes(m, i);
        const bool expert = slot.expert >= 0,
                   table = !expert && is_table(&m->main.compiled.graph, i);
        *(table && files ? &info->memory.tables_mapped : &info->memory.weights_mapped) += bytes;
        *(expert ? &expert_elements : &info->n_active_parameters) += (int64_t)n;
        *(expert ? &expert_bytes : &info->bytes_per_token) +=
                table ? bytes / (uint64_t)slot.shape.dim[0] : bytes;
    }
    info->n_parameters = info->n_active_parameters + expert_elements;
    if (c->n_experts == 0)
        return;
    info->n_active_parameters += expert_elements / c->n_experts * c->n_experts_per_token;
    info->bytes_per_token +=
            expert_bytes / (uint64_t)c->n_experts * (uint64_t)c->n_experts_per_token;
}

/* The number of weights that a node multiplies each row with. */
static int64_t active_weights(const vug_graph *g, const vug_node *node)
{
    if (node->op == VUG_OP_LINEAR)
        return vug_shape_elements(&vug_graph_at(g, node->in[1])->shape, 1, 1);
    if (node->op != VUG_OP_EXPERTS)
        return 0;
    const int64_t chosen = vug_graph_at(g, node->in[1])->shape.dim[1] / 2;
    const vug_shape *gate = &vug_graph_at(g, node->in[2])->shape;
    return chosen * 3 * gate->dim[1] * gate->dim[2];
}

/* Counts matrix products per token and per row of logits, without attention. */
static void describe_work(const vug_model *m, vug_model_info *info)
{
    const vug_graph *g = &m->main.compiled.graph;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        const int64_t flop = 2 * active_weights(g, node);
        *(node->shape.dim[0] == VUG_DIM_T ? &info->flop_per_token : &info->flop_per_logits) += flop;
    }
}

static uint64_t graph_bytes(const vug_graph *g)
{
    return g->cap * sizeof(*g->node) + g->cap_outputs * sizeof(*g->output) + g->arena.held;
}

/* The pages of sliding windows that a snapshot pins. */
static uint64_t snapshot_bytes(const vug_model *m)
{
    const vug_kv_layout *layout = m->backend->kv_layout(m->main.compiled.program);
    uint64_t bytes = 0;
    for (int g = 0; g < layout->n_groups; g++) {
        const int64_t window = layout->group[g].window;
        if (window > 0 && window < m->limits.context)
            bytes += (uint64_t)(vug_kv_pages_of(window - 1) + 1) *
                     m->backend->kv_page_bytes(m->device, layout, g);
    }
    return bytes;
}

void vug_model_fill_info(vug_model *m)
{
    const vug_config *c = &m->checkpoint.config;
    m->device_info = m->backend->describe(m->device);
    if (m->device_info.threads == 0 && m->experts.cpu)
        m->device_info.threads = vug_backend_host()->describe(m->experts.cpu).threads;
    const vug_compiled *main = &m->main.compiled;
    const vug_program_sizes sizes = m->backend->sizes(main->program);
    vug_model_info *info = &m->info;
    *info = (vug_model_info){
        .path = m->path,
        .architecture = c->arch->name,
        .device = m->device_info.name,
        .kernels = m->device_info.description,
        .n_layers = c->n_layers,
        .d_model = c->d_model,
        .n_heads = c->n_heads,
        .n_kv_heads = c->n_kv_heads,
        .d_head = c->d_head,
        .d_ffn = c->d_ffn,
        .n_vocab = c->n_vocab,
        .n_experts = c->n_experts,
        .n_experts_per_token = c->n_experts_per_token,
        .d_expert = c->d_expert,
        .context_trained = c->context,
        .context = m->limits.context,
        .batch = m->limits.batch,
        .threads = m->device_info.threads,
        .kv = vug_kv_format_name(m->profile.kv),
        .activations = vug_activations_name(m->profile.activations),
        .activations_meaning = m->backend->activations_meaning[m->profile.activations],
        .tied_head = m->checkpoint.binding.tied,
        .note = m->placement[0]    ? m->placement
                : m->backend->note ? m->backend->note(main->program)
                                   : NULL,
        .batch_invariant =
                m->backend->batch_invariant && m->profile.activations != VUG_ACTIVATIONS_BF16_FAST,
        .logit_error = vug_activations_are_bf16(m->profile.activations)
                               ? m->backend->logit_error.bf16
                               : m->backend->logit_error.other,
    };
    describe_weights(m, info);
    describe_work(m, info);
    vug_memory_plan *plan = &info->memory;
    plan->weights_copied = m->backend->weights_bytes(m->weights);
    if (m->experts.weights)
        plan->weights_copied += vug_backend_host()->weights_bytes(m->experts.weights);
    plan->weights_decoded =
            m->backend->weights_decoded ? m->backend->weights_decoded(m->weights) : 0;
    plan->tokenizer = m->checkpoint.tokenizer ? vug_tokenizer_memory(m->checkpoint.tokenizer) : 0;
    plan->graph = sizes.program_bytes + graph_bytes(&main->graph) + graph_bytes(&main->fused) +
                  main->fused.n * sizeof(uint64_t);
    plan->buffers = sizes.workspace_bytes + vug_host_experts_bytes(main->host_experts);
    plan->session_cache = vug_kv_sequence_bytes(m->backend, m->device,
                                                m->backend->kv_layout(main->program), &m->limits);
    plan->cache = (uint64_t)m->limits.rows * plan->session_cache;
    plan->snapshot = snapshot_bytes(m);
    plan->draft = m->draft ? m->draft->info.memory.total - m->draft->info.memory.process : 0;
    plan->process = process_bytes;
    plan->total = plan->weights_mapped + plan->weights_copied + plan->tokenizer + plan->graph +
                  plan->buffers + plan->cache + plan->draft + plan->process;
    if (sizes.device_bytes > 0)
        plan->device = vug_model_device_weights(m) + sizes.device_bytes +
                       (uint64_t)m->limits.rows * vug_model_device_session(m) +
                       (m->draft ? m->draft->info.memory.device : 0);
}

bool vug_model_device_failed(const vug_model *model)
{
    return atomic_load(&model->device_failed);
}

vug_device_memory vug_model_device_memory(const vug_model *model)
{
    const vug_backend *b = model->backend;
    return b->memory_used ? b->memory_used(model->device) : (vug_device_memory){ 0 };
}

bool vug_model_is_table(const vug_model *m, const vug_tensor *t)
{
    const vug_graph *g = &m->main.compiled.graph;
    for (uint32_t i = 1; i < g->n; i++) {
        if (g->node[i].op != VUG_OP_EMBED)
            continue;
        const size_t slot = (size_t)vug_graph_at(g, g->node[i].in[0])->at.param.slot;
        if (m->checkpoint.binding.tensor[slot] == t && is_table(g, slot))
            return true;
    }
    return false;
}

/* ---- reading ------------------------------------------------------------------------- */

vug_model_info vug_model_describe(const vug_model *model)
{
    return model->info;
}

const vug_checkpoint *vug_model_checkpoint(const vug_model *model)
{
    return &model->checkpoint;
}

const vug_tokenizer *vug_model_tokenizer(const vug_model *model, vug_err *why)
{
    if (!model->checkpoint.tokenizer && why)
        *why = model->checkpoint.no_tokenizer;
    return model->checkpoint.tokenizer;
}

const int32_t *vug_model_stop_tokens(const vug_model *model, size_t *n)
{
    *n = model->checkpoint.n_stop;
    return model->checkpoint.stop;
}

vug_sampling_defaults vug_model_sampling(const vug_model *model)
{
    return model->checkpoint.sampling;
}

size_t vug_model_tensor_count(const vug_model *model)
{
    return vug_weights_count(model->checkpoint.weights);
}

vug_tensor_info vug_model_tensor(const vug_model *model, size_t i)
{
    const vug_tensor *t = vug_weights_at(model->checkpoint.weights, i);
    vug_tensor_info info = { .name = t->name.ptr,
                             .format = vug_dtype_of(t->dtype)->name,
                             .file = t->file,
                             .rank = t->rank,
                             .bytes = t->bytes + t->scale_bytes,
                             .scale_block = { t->scales.rows, t->scales.columns } };
    for (int d = 0; d < t->rank; d++)
        info.dim[d] = t->dim[d];
    info.used = vug_checkpoint_uses(&model->checkpoint, t);
    return info;
}

vug_layer_info vug_model_layer(const vug_model *model, size_t i)
{
    const vug_kv_layout *layout = model->backend->kv_layout(model->main.compiled.program);
    const int source = layout->layer[i].source, g = layout->layer[source].group;
    const vug_kv_group *group = &layout->group[g];
    const int64_t pages =
            vug_kv_pages_of_sequence(group, model->limits.context, model->limits.batch);
    const vug_layer_config own = vug_config_layer(&model->checkpoint.config, (int64_t)i);
    uint64_t bytes = (uint64_t)pages * vug_kv_page_bytes(model->kv_pool, g);
    bytes /= (uint64_t)group->n_layers;
    return (vug_layer_info){ .cache = source != (int)i ? "shared"
                                      : group->window  ? "window"
                                                       : "full",
                             .window = group->window,
                             .slots = pages * VUG_KV_PAGE,
                             .cache_bytes = source == (int)i ? bytes : 0,
                             .source = source,
                             .n_kv_heads = own.n_kv_heads,
                             .d_head = own.d_head };
}

vug_status vug_model_graph(const vug_model *model, vug_graph_format format, bool fused,
                           vug_text *out, vug_err *err)
{
    return vug_graph_write(fused ? &model->main.compiled.fused : &model->main.compiled.graph,
                           format, out, err);
}

void vug_model_time_ops(vug_model *model, bool on)
{
    model->times_ops = on;
    if (on)
        memset(model->op_cost, 0, sizeof(model->op_cost));
}

vug_head_stats vug_model_head_stats(const vug_model *model)
{
    return model->head_stats;
}

size_t vug_op_count(void)
{
    return VUG_OP_COUNT;
}

vug_op_timing vug_model_op_timing(const vug_model *model, size_t i)
{
    const vug_op_cost *cost = &model->op_cost[i];
    return (vug_op_timing){ .name = vug_op_name((vug_op)i),
                            .runs = cost->runs,
                            .seconds = cost->seconds,
                            .weight_bytes = cost->weight_bytes,
                            .flop = cost->flop };
}

const char *vug_version(void)
{
    return VUG_VERSION;
}
