/* What a step is given, on the device: one block for tokens, positions, rows and pages, and a
 * buffer for each data input of the graph. */
#include "backend/cuda/internal.h"

/* ---- buffers --------------------------------------------------------------------------- */

void vug_cuda_buffer_release(vug_cuda_buffer *buffer)
{
    (void)cudaFreeHost(buffer->host);
    vug_cuda_free(buffer->device);
    *buffer = (vug_cuda_buffer){ 0 };
}

/* Makes room for `bytes`; what was in the buffer is lost. Sizes double, so that a sequence that
 * grows token by token rarely allocates. */
static vug_status grow_buffer(vug_cuda_buffer *buffer, uint64_t bytes, bool pinned,
                              cudaStream_t stream, vug_err *err)
{
    void *host = NULL, *device;
    if (bytes <= buffer->bytes)
        return VUG_OK;
    /* A step that was started may still read it. */
    VUG_TRY(vug_cuda_check(cudaStreamSynchronize(stream), "a step", err));
    vug_cuda_buffer_release(buffer);
    bytes *= 2;
    VUG_TRY(vug_cuda_alloc(bytes, "the inputs of a step", &device, err));
    buffer->device = device;
    if (pinned)
        VUG_TRY(vug_cuda_check(
                cudaHostAlloc(&host, VUG_STEPS_STARTED * bytes, cudaHostAllocDefault),
                "allocating the inputs of a step", err));
    buffer->host = host;
    buffer->bytes = bytes;
    return VUG_OK;
}

/* ---- layout ------------------------------------------------------------------------------ */

/* Where the parts of the inputs begin in their block, in bytes. The data of a step that can be a graph
 * come first, so that the addresses of the others tell theirs, too (step_graph.c). */
typedef struct {
    uint64_t token, position, row, query, row_query, wanted, id;
    uint64_t page[VUG_KV_MAX_GROUPS];
    uint64_t masks; /* of rows whose reader does not allow all ids */
    uint64_t changes;
    uint64_t bytes;
} input_layout;

/* How the pages of a step that can be a graph are rounded up. */
enum { REPEATED_PAGES = 16 };

bool vug_cuda_repeats(const vug_cuda_workspace *ws, const vug_step_in *in, int64_t tokens)
{
    const bool one_each = in->n_spans == tokens && tokens <= VUG_CUDA_REPEATED_SEQUENCES;
    return (one_each || (in->n_spans == 1 && tokens <= VUG_CUDA_REPEATED_TOKENS)) &&
           ws->program->data_by_token;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* The pages that a list has place for: a power of two, so that the lists of sequences that grow side
 * by side seldom need to grow. */
static uint64_t page_capacity(uint64_t n)
{
    uint64_t capacity = REPEATED_PAGES;
    while (capacity < n)
        capacity *= 2;
    return capacity;
}

/* Positions that a step which can be a graph is launched for: whole pages, a power of two of them or
 * a multiple of REPEATED_PAGES. */
static int64_t repeated_keys(int64_t keys)
{
    int64_t pages = 1;
    while (pages * VUG_KV_PAGE < keys)
        pages = pages < REPEATED_PAGES ? 2 * pages : pages + REPEATED_PAGES;
    return pages * VUG_KV_PAGE;
}

int64_t vug_cuda_most_keys(const vug_cuda_program *p)
{
    return (int64_t)round_up((uint64_t)p->limits.context, (uint64_t)REPEATED_PAGES * VUG_KV_PAGE);
}

static bool is_data(const vug_node *node)
{
    return node->op == VUG_OP_INPUT && node->at.input.which == VUG_INPUT_DATA;
}

/* Bytes of a data input for so many tokens. */
static uint64_t data_bytes(const vug_node *node, const vug_step_in *in, int64_t tokens)
{
    return (uint64_t)vug_cuda_elements_of(&node->shape, in, tokens) * sizeof(float);
}

static bool lay_out_data(const vug_graph *g, const vug_step_in *in, int64_t tokens, uint64_t *end)
{
    uint64_t at;
    bool ok = true;
    for (uint32_t i = 1; ok && i < g->n; i++)
        ok = !is_data(&g->node[i]) ||
             vug_cuda_add_part(data_bytes(&g->node[i], in, tokens), end, &at);
    return ok;
}

static uint64_t mask_bytes(const vug_logits_wanted *wanted)
{
    return wanted->allowed ? round_up((uint64_t)wanted->n_ids, 32) / 8 : 0;
}

/* Last, so that the addresses of what kernels of graphs read do not depend on them. */
static bool lay_out_masks_and_changes(const vug_step_in *in, input_layout *l)
{
    uint64_t bytes = 0, changes = 0;
    for (int64_t r = 0; in->wanted && r < in->n_rows; r++) {
        bytes += mask_bytes(&in->wanted[r]);
        changes += in->wanted[r].n_changes;
    }
    return vug_cuda_add_part(bytes, &l->bytes, &l->masks) &&
           vug_cuda_add_part(changes * sizeof(vug_cuda_change), &l->bytes, &l->changes);
}

static vug_status lay_out(const vug_graph *graph, const vug_step_in *in, int64_t tokens,
                          bool repeats, int n_groups, input_layout *l, vug_err *err)
{
    const uint64_t t = (uint64_t)tokens, r = (uint64_t)in->n_rows;
    uint64_t pages = 0;
    *l = (input_layout){ 0 };
    for (int i = 0; i < in->n_spans; i++)
        pages += (uint64_t)vug_kv_pages_of(in->span[i].past + in->span[i].n);
    if (repeats)
        pages = page_capacity(pages);
    bool ok = (!repeats || lay_out_data(graph, in, tokens, &l->bytes)) &&
              vug_cuda_add_part(t * sizeof(int32_t), &l->bytes, &l->token) &&
              vug_cuda_add_part(t * sizeof(int32_t), &l->bytes, &l->position) &&
              vug_cuda_add_part(r * sizeof(int32_t), &l->bytes, &l->row) &&
              vug_cuda_add_part(t * sizeof(vug_cuda_token), &l->bytes, &l->query) &&
              vug_cuda_add_part(r * sizeof(vug_cuda_token), &l->bytes, &l->row_query) &&
              vug_cuda_add_part(r * sizeof(vug_cuda_wanted), &l->bytes, &l->wanted) &&
              vug_cuda_add_part(sizeof(vug_cuda_step_id), &l->bytes, &l->id);
    for (int g = 0; ok && g < n_groups; g++)
        ok = vug_cuda_add_part(pages * sizeof(uint8_t *), &l->bytes, &l->page[g]);
    ok = ok && lay_out_masks_and_changes(in, l);
    if (!ok || pages > INT32_MAX)
        return VUG_FAIL(err, VUG_LIMIT, "cuda: the inputs of a step are too large");
    return VUG_OK;
}

/* ---- filling ------------------------------------------------------------------------------ */

static void fill_pages(const vug_step_in *in, int group, uint8_t **to)
{
    const vug_cuda_kv *kv = (const vug_cuda_kv *)(const void *)in->kv;
    for (int i = 0; i < in->n_spans; i++) {
        const vug_page *table = in->span[i].table[group];
        const int64_t n = vug_kv_pages_of(in->span[i].past + in->span[i].n);
        for (int64_t b = 0; b < n; b++)
            *to++ = table[b] ? kv->group[group].page[table[b] - 1] : NULL;
    }
}

static void fill_queries(const vug_step_in *in, vug_cuda_token *query, vug_cuda_token *row_query)
{
    int64_t table = 0, t = 0;
    for (int i = 0; i < in->n_spans; i++) {
        const vug_span *span = &in->span[i];
        for (int64_t j = 0; j < span->n; j++, t++)
            query[t] = (vug_cuda_token){ .table = (int32_t)table,
                                         .position = (int32_t)(span->past + j),
                                         .end = (int32_t)(span->past + span->n) };
        table += vug_kv_pages_of(span->past + span->n);
    }
    for (int64_t r = 0; r < in->n_rows; r++)
        row_query[r] = query[in->row[r]];
}

/* Masks and changes are written to `host`, and will be in `device`. */
static void fill_wanted(const vug_step_in *in, const input_layout *l, uint8_t *host,
                        uint8_t *device)
{
    vug_cuda_wanted *wanted = (vug_cuda_wanted *)(void *)(host + l->wanted);
    vug_cuda_change *change = (vug_cuda_change *)(void *)(host + l->changes);
    vug_cuda_change *device_change = (vug_cuda_change *)(void *)(device + l->changes);
    uint64_t at = l->masks;
    for (int64_t r = 0; in->wanted && r < in->n_rows; r++) {
        const vug_logits_wanted *from = &in->wanted[r];
        const uint64_t bytes = mask_bytes(from);
        const void *allowed = bytes > 0 ? device + at : NULL;
        if (bytes > 0)
            memcpy(host + at, from->allowed, bytes);
        at += bytes;
        for (size_t i = 0; i < from->n_changes; i++)
            change[i].change = from->change[i];
        wanted[r] = (vug_cuda_wanted){
            .margin = from->margin,
            .best = from->best <= VUG_MOST_FOUND ? (int32_t)from->best : 0,
            .n_ids = (int32_t)from->n_ids,
            .draw = from->draw,
            .allowed = allowed,
            .change = device_change,
            .n_changes = (int32_t)from->n_changes,
            .top = (int32_t)from->top,
        };
        change += from->n_changes;
        device_change += from->n_changes;
    }
}

/* Tokens that the step before decides are the numbers of their rows (vug_cuda_inputs_job); those of padding
 * are the last one again. */
static void fill_followers(const int32_t *follows, int64_t tokens, int64_t given, int32_t *to)
{
    for (int64_t t = 0; t < tokens; t++)
        to[t] = -1 - follows[t < given ? t : given - 1];
}

static void fill_block(const vug_step_in *in, int64_t tokens, int64_t given, int n_groups,
                       const input_layout *l, uint8_t *host, uint8_t *device)
{
    if (in->follows)
        fill_followers(in->follows, tokens, given, (int32_t *)(void *)(host + l->token));
    else if (in->token) /* not of graphs that take embeddings */
        memcpy(host + l->token, in->token, (size_t)tokens * sizeof(int32_t));
    if (in->position)
        memcpy(host + l->position, in->position, (size_t)tokens * sizeof(int32_t));
    else
        vug_step_positions(in, (int32_t *)(void *)(host + l->position));
    if (in->n_rows > 0)
        memcpy(host + l->row, in->row, (size_t)in->n_rows * sizeof(int32_t));
    fill_queries(in, (vug_cuda_token *)(void *)(host + l->query),
                 (vug_cuda_token *)(void *)(host + l->row_query));
    fill_wanted(in, l, host, device);
    for (int g = 0; g < n_groups; g++)
        fill_pages(in, g, (uint8_t **)(void *)(host + l->page[g]));
}

/* ---- data ---------------------------------------------------------------------------------- */

int64_t vug_cuda_elements_of(const vug_shape *shape, const vug_step_in *in, int64_t tokens)
{
    int64_t past = 0, keys = 0, n = 1;
    for (int i = 0; i < in->n_spans; i++) {
        past += in->span[i].past;
        keys = in->span[i].past + in->span[i].n > keys ? in->span[i].past + in->span[i].n : keys;
    }
    for (int i = 0; i < shape->rank; i++) {
        const int64_t d = shape->dim[i];
        n *= d == VUG_DIM_T   ? tokens
             : d == VUG_DIM_R ? in->n_rows
             : d == VUG_DIM_P ? past
             : d == VUG_DIM_S ? keys
                              : d;
    }
    return n;
}

/* Places the data of a step that can be a graph among its inputs. Tokens of padding get those of the
 * last token. */
static void fill_data(const vug_cuda_workspace *ws, const vug_step_in *in, int64_t tokens,
                      int64_t given, uint8_t *host)
{
    const vug_graph *g = ws->program->graph;
    uint64_t end = 0, at;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (!is_data(node))
            continue;
        const size_t row = data_bytes(node, in, 1), bytes = (size_t)given * row;
        (void)vug_cuda_add_part((uint64_t)tokens * row, &end, &at);
        uint8_t *to = host + at;
        memcpy(to, in->data[node->at.input.index], bytes);
        for (int64_t t = given; t < tokens; t++)
            memcpy(to + (size_t)t * row, to + bytes - row, row);
        ws->data_now[node->at.input.index] = ws->inputs.device + at;
    }
}

/* Copies the data of a step that cannot be a graph. */
static vug_status upload_data(vug_cuda_workspace *ws, const vug_step_in *in, int64_t tokens,
                              vug_err *err)
{
    const vug_graph *g = ws->program->graph;
    for (uint32_t i = 1; i < g->n; i++) {
        if (!is_data(&g->node[i]))
            continue;
        const int index = g->node[i].at.input.index;
        const uint64_t bytes = data_bytes(&g->node[i], in, tokens);
        if (bytes == 0)
            continue;
        VUG_TRY(grow_buffer(&ws->data[index], bytes, false, ws->program->device->stream, err));
        ws->data_now[index] = ws->data[index].device;
        VUG_TRY(vug_cuda_check(cudaMemcpyAsync(ws->data[index].device, in->data[index], bytes,
                                               cudaMemcpyHostToDevice, ws->program->device->stream),
                               "copying the data of a step", err));
    }
    return VUG_OK;
}

static vug_cuda_step_inputs place_inputs(const vug_cuda_workspace *ws, const vug_step_in *in,
                                         const input_layout *l)
{
    uint8_t *at = ws->inputs.device;
    vug_cuda_step_inputs inputs = {
        .token = (const int32_t *)(const void *)(at + l->token),
        .position = (const int32_t *)(const void *)(at + l->position),
        .row = (const int32_t *)(const void *)(at + l->row),
        .query = (const vug_cuda_token *)(const void *)(at + l->query),
        .row_query = (const vug_cuda_token *)(const void *)(at + l->row_query),
        .wanted = (const vug_cuda_wanted *)(const void *)(at + l->wanted),
        .id = (const vug_cuda_step_id *)(const void *)(at + l->id),
    };
    for (int g = 0; g < ws->program->kv_layout.n_groups; g++)
        inputs.page[g] = (uint8_t *const *)(const void *)(at + l->page[g]);
    for (int i = 0; i < in->n_spans; i++) {
        const int64_t keys = in->span[i].past + in->span[i].n;
        inputs.keys = keys > inputs.keys ? keys : inputs.keys;
    }
    return inputs;
}

/* Copies masks and changes, on whose size no graph depends. */
static vug_status upload_rest(const vug_cuda_workspace *ws, const input_layout *l,
                              const uint8_t *host, vug_err *err)
{
    if (l->bytes == l->masks)
        return VUG_OK;
    return vug_cuda_check(cudaMemcpyAsync(ws->inputs.device + l->masks, host + l->masks,
                                          l->bytes - l->masks, cudaMemcpyHostToDevice,
                                          ws->program->device->stream),
                          "copying the inputs of a step", err);
}

vug_status vug_cuda_fill_inputs(vug_cuda_workspace *ws, int64_t given, vug_cuda_step *step,
                                vug_err *err)
{
    const vug_step_in *in = step->in;
    const int n_groups = ws->program->kv_layout.n_groups;
    const bool repeats = vug_cuda_repeats(ws, in, step->tokens);
    input_layout l;
    VUG_TRY(lay_out(ws->program->graph, in, step->tokens, repeats, n_groups, &l, err));
    VUG_TRY(grow_buffer(&ws->inputs, l.bytes, true, ws->program->device->stream, err));
    uint8_t *host = ws->inputs.host + (uint64_t)ws->next * ws->inputs.bytes;
    fill_block(in, step->tokens, given, n_groups, &l, host, ws->inputs.device);
    *(vug_cuda_step_id *)(void *)(host + l.id) = (vug_cuda_step_id){
        .started = ws->next, .tokens = (int32_t)step->tokens, .rows = (int32_t)in->n_rows
    };
    if (repeats)
        fill_data(ws, in, step->tokens, given, host);
    step->inputs = place_inputs(ws, in, &l);
    if (repeats)
        step->inputs.keys = repeated_keys(step->inputs.keys);
    step->copy = (vug_cuda_inputs_job){ .from = (const uint32_t *)(const void *)host,
                                        .to = (uint32_t *)(void *)ws->inputs.device,
                                        .words = (int64_t)(l.masks / sizeof(uint32_t)),
                                        .token = (int64_t)(l.token / sizeof(uint32_t)),
                                        .tokens = step->tokens,
                                        .best = ws->best };
    VUG_TRY(upload_rest(ws, &l, host, err));
    return repeats ? VUG_OK : upload_data(ws, in, step->tokens, err);
}
