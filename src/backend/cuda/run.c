/* Running a step. */
#include "backend/cuda/host_calls.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/step_graph.h"
#include "core/cancel.h"

/* ---- workspace ------------------------------------------------------------------------- */

static vug_status prepare_started(vug_cuda_workspace *ws, vug_cuda_started *started, vug_err *err)
{
    const vug_cuda_program *p = ws->program;
    void *found = NULL;
    started->output = vug_arena_alloc(&ws->arena, p->graph->n_outputs, sizeof(*started->output));
    if (!started->output)
        return VUG_FAIL_NOMEM(err, "the outputs of a step", p->graph->n_outputs);
    if (p->logits >= 0)
        VUG_TRY(vug_cuda_check(cudaHostAlloc(&found,
                                             2 * (size_t)p->limits.rows * sizeof(vug_cuda_found),
                                             cudaHostAllocDefault),
                               "allocating the outputs of a step", err));
    started->found = found;
    return vug_cuda_check(cudaEventCreateWithFlags(&started->end, cudaEventDisableTiming),
                          "creating an event", err);
}

static vug_status fill_workspace(vug_cuda_workspace *ws, vug_err *err)
{
    const vug_cuda_program *p = ws->program;
    uint64_t end = 0, values, scratch, done, rows_done, best;
    void *block, *outputs = NULL;
    ws->n_data = vug_graph_data_count(p->graph);
    ws->data = vug_arena_alloc(&ws->arena, (size_t)ws->n_data, sizeof(*ws->data));
    ws->data_now = vug_arena_alloc(&ws->arena, (size_t)ws->n_data, sizeof(*ws->data_now));
    if (!ws->data || !ws->data_now)
        return VUG_FAIL_NOMEM(err, "the buffers of a step", (size_t)ws->n_data * sizeof(*ws->data));
    if (!vug_cuda_add_part(p->value_bytes, &end, &values) ||
        !vug_cuda_add_part(p->scratch_bytes, &end, &scratch) ||
        !vug_cuda_add_part(vug_cuda_pages_done_bytes(p), &end, &done) ||
        !vug_cuda_add_part(vug_cuda_row_words_bytes(p), &end, &rows_done) ||
        !vug_cuda_add_part(vug_cuda_row_words_bytes(p), &end, &best))
        return VUG_FAIL(err, VUG_LIMIT, "cuda: the buffers of a step are too large");
    VUG_TRY(vug_cuda_alloc(end, "the buffers of a step", &block, err));
    ws->block = block;
    ws->scratch = ws->block + scratch;
    ws->pages_done = (uint32_t *)(void *)(ws->block + done);
    ws->rows_done = (uint32_t *)(void *)(ws->block + rows_done);
    ws->best = (int32_t *)(void *)(ws->block + best);
    VUG_TRY(vug_cuda_check(cudaMemset(ws->pages_done, 0, end - done),
                           "allocating the buffers of a step", err));
    for (int i = 0; i < VUG_STEPS_STARTED; i++)
        VUG_TRY(prepare_started(ws, &ws->started[i], err));
    if (p->output_bytes > 0)
        VUG_TRY(vug_cuda_check(cudaHostAlloc(&outputs, p->output_bytes, cudaHostAllocDefault),
                               "allocating the outputs of a step", err));
    ws->outputs = outputs;
    VUG_TRY(vug_cuda_host_calls_create(ws, err));
    VUG_TRY(vug_cuda_padding_create(&ws->padding, err));
    return vug_cuda_graphs_create(&ws->graphs, err);
}

vug_status vug_cuda_workspace_create(const vug_program *program, vug_workspace **out, vug_err *err)
{
    vug_cuda_workspace *ws = vug_alloc_zero(1, sizeof(*ws));
    if (!ws)
        return VUG_FAIL_NOMEM(err, "the buffers of a step", sizeof(*ws));
    ws->program = (const vug_cuda_program *)(const void *)program;
    const vug_status st = fill_workspace(ws, err);
    if (st != VUG_OK) {
        vug_cuda_workspace_destroy((vug_workspace *)(void *)ws);
        return st;
    }
    *out = (vug_workspace *)(void *)ws;
    return VUG_OK;
}

void vug_cuda_workspace_destroy(vug_workspace *workspace)
{
    vug_cuda_workspace *ws = (vug_cuda_workspace *)(void *)workspace;
    if (!ws)
        return;
    if (ws->n_started > 0)
        (void)cudaStreamSynchronize(ws->program->device->stream);
    for (int i = 0; ws->data && i < ws->n_data; i++)
        vug_cuda_buffer_release(&ws->data[i]);
    vug_cuda_graphs_destroy(ws->graphs);
    vug_cuda_padding_destroy(ws->padding);
    vug_cuda_host_calls_destroy(ws->host_calls);
    vug_cuda_buffer_release(&ws->inputs);
    vug_cuda_free(ws->block);
    (void)cudaFreeHost(ws->outputs);
    for (int i = 0; i < VUG_STEPS_STARTED; i++) {
        (void)cudaFreeHost(ws->started[i].found);
        if (ws->started[i].end)
            (void)cudaEventDestroy(ws->started[i].end);
    }
    vug_arena_release(&ws->arena);
    vug_free(ws);
}

/* ---- checks --------------------------------------------------------------------------------- */

/* Pages of another layout would be read out of bounds. */
static vug_status check_kv(const vug_cuda_program *p, const vug_step_in *in, vug_err *err)
{
    const vug_kv_layout *layout = &p->kv_layout;
    const vug_cuda_kv *kv = (const vug_cuda_kv *)(const void *)in->kv;
    if (layout->n_groups > 0 && !kv)
        return VUG_FAIL(err, VUG_ARGUMENT, "a step lacks the cache of the graph");
    for (int g = 0; g < layout->n_groups; g++) {
        if (g >= kv->n_groups || kv->group[g].page_bytes != vug_cuda_kv_page_bytes(NULL, layout, g))
            return VUG_FAIL(err, VUG_ARGUMENT, "a step has a cache of another layout");
    }
    return VUG_OK;
}

/* ---- lists of logits ------------------------------------------------------------------------- */

static int64_t logits_width(const vug_cuda_program *p)
{
    return vug_graph_at(p->graph, p->graph->output[p->logits].value)->shape.dim[1];
}

static uint8_t *output_at(const vug_cuda_step *s, int32_t output)
{
    return s->ws->block + s->program->offset[s->program->graph->output[output].value.id];
}

/* Whether the step may list the logits of some rows. */
static bool lists_logits(const vug_cuda_step *s)
{
    return s->program->logits >= 0 && s->in->wanted && s->in->found && s->in->n_rows > 0;
}

static vug_cuda_wanted_job lists_of(const vug_cuda_step *s)
{
    vug_cuda_wanted_job job = {
        .logits = (float *)(void *)output_at(s, s->program->logits),
        .rows = s->in->n_rows,
        .width = logits_width(s->program),
        .wanted = s->inputs.wanted,
        .scratch = (uint32_t *)(void *)s->ws->scratch,
        .done = s->ws->rows_done,
        .found = s->ws->started[s->ws->next].found,
        .report = s->ws->started[s->ws->next].found + s->program->limits.rows,
        .best = s->ws->best,
        .launch = vug_cuda_options_of(s),
    };
    for (int64_t r = 0; r < s->in->n_rows; r++) {
        job.draws = job.draws || s->in->wanted[r].draw.temperature > 0;
        job.changes = job.changes || s->in->wanted[r].n_changes > 0;
        job.reports = job.reports || s->in->wanted[r].top > 0;
    }
    return job;
}

/* Copies `bytes` of an output from byte `first` on. */
static vug_status copy_output(const vug_cuda_step *s, int32_t output, uint8_t *to, uint64_t first,
                              uint64_t bytes, vug_err *err)
{
    return vug_cuda_check(cudaMemcpyAsync(to + first, output_at(s, output) + first, bytes,
                                          cudaMemcpyDeviceToHost, s->stream),
                          "copying the outputs of a step", err);
}

static bool can_list(const vug_logits_wanted *wanted)
{
    return wanted->best > 0 && wanted->best <= VUG_MOST_FOUND;
}

/* Whether a row of a step that has ended has its list and its report. */
static bool is_listed(const vug_cuda_step *s, const vug_cuda_found *found, int64_t row)
{
    const vug_logits_wanted *wanted = &s->in->wanted[row];
    const vug_cuda_found *report = found + s->program->limits.rows;
    return can_list(wanted) && found[row].n > 0 && (wanted->top == 0 || report[row].n > 0);
}

/* Copies the rows of logits that are not listed: those that want all, or, with the lists, those that
 * have none. */
static vug_status copy_rows(const vug_cuda_step *s, uint8_t *to, const vug_cuda_found *found,
                            vug_err *err)
{
    const uint64_t bytes = (uint64_t)logits_width(s->program) * sizeof(float);
    for (int64_t r = 0; r < s->in->n_rows; r++) {
        const bool lists = can_list(&s->in->wanted[r]);
        if (found ? lists && !is_listed(s, found, r) : !lists)
            VUG_TRY(copy_output(s, s->program->logits, to, (uint64_t)r * bytes, bytes, err));
    }
    return VUG_OK;
}

static vug_status copy_outputs(const vug_cuda_step *s, const float **output, vug_err *err)
{
    const vug_graph *g = s->program->graph;
    uint64_t end = 0, at;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        const vug_val v = g->output[i].value;
        const uint64_t bytes =
                (uint64_t)vug_cuda_elements_of(&vug_graph_at(g, v)->shape, s->in, s->tokens) *
                sizeof(float);
        if (!vug_cuda_add_part(bytes, &end, &at) || end > s->program->output_bytes)
            return VUG_FAIL(err, VUG_LIMIT, "cuda: the outputs of a step are too large");
        output[i] = (const float *)(const void *)(s->ws->outputs + at);
        VUG_TRY((int32_t)i == s->program->logits && lists_logits(s)
                        ? copy_rows(s, s->ws->outputs + at, NULL, err)
                        : copy_output(s, (int32_t)i, s->ws->outputs + at, 0, bytes, err));
    }
    return VUG_OK;
}

/* Hands out the lists of a step that has ended, and copies the rows that have none, unless a later step
 * overwrites them. */
static vug_status take_lists(const vug_cuda_step *s, const vug_cuda_started *started, vug_err *err)
{
    const uint8_t *logits = (const uint8_t *)started->output[s->program->logits];
    for (int64_t r = 0; r < s->in->n_rows; r++) {
        const vug_cuda_found *found = &started->found[r], *report = found + s->program->limits.rows;
        if (!is_listed(s, started->found, r))
            continue;
        s->in->found[r] = (vug_found_logits){ .logit = found->logit, .n = (size_t)found->n };
        if (s->in->wanted[r].top > 0) {
            s->in->found[r].top = report->logit;
            s->in->found[r].n_top = (size_t)report->n;
            s->in->found[r].mass = report->mass;
        }
    }
    if (s->ws->n_started > 0)
        return VUG_OK;
    VUG_TRY(copy_rows(s, s->ws->outputs + (logits - s->ws->outputs), started->found, err));
    return vug_cuda_check(cudaStreamSynchronize(s->stream), "a step", err);
}

/* ---- launching ---------------------------------------------------------------------------------- */

/* A step that can be cancelled waits for the device now and then: launches run far ahead. */
enum { NODES_AHEAD = 32, TOKENS_TO_WAIT = 64 };

/* What a graph records. */
static void launch_kernels(const vug_cuda_step *s, const void *unused)
{
    (void)unused;
    vug_cuda_copy_inputs(s->stream, &s->copy);
    for (uint32_t i = 1; i < s->program->graph->n; i++)
        vug_cuda_launch_node(s, i);
    if (s->lists.rows > 0)
        vug_cuda_list_wanted(s->stream, &s->lists);
}

static vug_status launch_nodes(const vug_cuda_step *s, vug_err *err)
{
    const bool waits = s->in->cancel && s->tokens >= TOKENS_TO_WAIT;
    for (uint32_t i = 1; i < s->program->graph->n && !vug_is_cancelled(s->in->cancel); i++) {
        vug_cuda_launch_node(s, i);
        if (waits && i % NODES_AHEAD == 0)
            VUG_TRY(vug_cuda_check(cudaStreamSynchronize(s->stream), "a step", err));
    }
    return VUG_OK;
}

static vug_status launch_step(const vug_cuda_step *s, vug_err *err)
{
    bool launched = false;
    if (!s->in->cost && vug_cuda_repeats(s->ws, s->in, s->tokens))
        VUG_TRY(vug_cuda_launch_graph(s, launch_kernels, &launched, err));
    if (launched)
        return VUG_OK;
    vug_cuda_copy_inputs(s->stream, &s->copy);
    VUG_TRY(s->in->cost ? vug_cuda_time_step(s, err) : launch_nodes(s, err));
    if (s->lists.rows > 0)
        vug_cuda_list_wanted(s->stream, &s->lists);
    return vug_cuda_check(cudaGetLastError(), "launching a step", err);
}

/* Puts all that the device does for a step into the stream. */
static vug_status launch_all(const vug_cuda_step *s, vug_cuda_workspace *ws, vug_err *err)
{
    vug_step_in padded;
    vug_cuda_step launched = *s;
    launched.in = &padded;
    launched.tokens = vug_cuda_pad_step(ws, s->in, s->tokens, &padded);
    VUG_TRY(vug_cuda_fill_inputs(ws, s->tokens, &launched, err));
    if (lists_logits(s))
        launched.lists = lists_of(&launched);
    VUG_TRY(launch_step(&launched, err));
    if (!vug_is_cancelled(s->in->cancel))
        VUG_TRY(copy_outputs(s, ws->started[ws->next].output, err));
    return vug_cuda_check(cudaEventRecord(ws->started[ws->next].end, s->stream), "a step", err);
}

vug_status vug_cuda_start(const vug_program *program, vug_workspace *workspace,
                          const vug_step_in *in, vug_err *err)
{
    vug_cuda_workspace *ws = (vug_cuda_workspace *)(void *)workspace;
    const vug_cuda_program *p = (const vug_cuda_program *)(const void *)program;
    vug_cuda_step s = { .program = p, .ws = ws, .in = in, .stream = p->device->stream };
    VUG_ASSERT(ws->n_started < VUG_STEPS_STARTED);
    VUG_TRY(vug_check_step(p->graph, &p->limits, in, &s.tokens, err));
    VUG_TRY(check_kv(p, in, err));
    VUG_TRY(vug_check_masks(p->graph, in, err));
    VUG_TRY(vug_cuda_weights_load((vug_device_weights *)(void *)p->weights, err));
    ws->started[ws->next].in = *in;
    ws->started[ws->next].failure = (vug_err){ 0 };
    const vug_status st = launch_all(&s, ws, err);
    if (st != VUG_OK) { /* what is in the stream still reads what the next step writes */
        (void)cudaStreamSynchronize(s.stream);
        return st;
    }
    ws->next = (ws->next + 1) % VUG_STEPS_STARTED;
    ws->n_started++;
    return VUG_OK;
}

vug_status vug_cuda_finish(const vug_program *program, vug_workspace *workspace,
                           const float **output, vug_err *err)
{
    vug_cuda_workspace *ws = (vug_cuda_workspace *)(void *)workspace;
    const vug_cuda_program *p = (const vug_cuda_program *)(const void *)program;
    VUG_ASSERT(ws->n_started > 0);
    const int first = (ws->next + VUG_STEPS_STARTED - ws->n_started) % VUG_STEPS_STARTED;
    const vug_cuda_started *started = &ws->started[first];
    const vug_cuda_step s = {
        .program = p, .ws = ws, .in = &started->in, .stream = p->device->stream
    };
    ws->n_started--;
    VUG_TRY(vug_cuda_check(cudaEventSynchronize(started->end), "a step", err));
    if (vug_is_cancelled(s.in->cancel))
        return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
    if (started->failure.code != VUG_OK) {
        if (err)
            *err = started->failure;
        return started->failure.code;
    }
    memcpy(output, started->output, p->graph->n_outputs * sizeof(*output));
    return lists_logits(&s) ? take_lists(&s, started, err) : VUG_OK;
}

vug_status vug_cuda_run(const vug_program *program, vug_workspace *workspace, const vug_step_in *in,
                        const float **output, vug_err *err)
{
    VUG_TRY(vug_cuda_start(program, workspace, in, err));
    return vug_cuda_finish(program, workspace, output, err);
}
