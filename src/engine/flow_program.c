/*
 * Programs of flows: named inputs and outputs over a backend's program. The states
 * of the sequences are caches that go on from run to run, or scratch where the
 * past is given.
 */
#include "engine/engine.h"

/* One input, as it was set last. */
typedef struct {
    vug_port port;
    vug_input which;
    int index; /* of VUG_INPUT_DATA */
    const int32_t *id;
    const float *x;
    size_t n;
    bool set;
} input;

struct vug_flow_program {
    const vug_model *model;
    vug_flow_options options;
    vug_compiled compiled;
    vug_workspace *workspace;
    vug_state **state; /* [max_batch] */
    int64_t *cached;   /* [max_batch] tokens in their caches */
    input *in;         /* [n_in] */
    size_t n_in;
    int64_t past_width;  /* K*E of the first past; 0: none is read */
    size_t past_in;      /* its input */
    vug_sequence *split; /* [max_batch] as the caller set it */
    size_t n_split;
    vug_span *span;       /* [max_batch] of a run */
    int32_t *row;         /* [max_batch] likewise */
    const float **data;   /* [n_data] likewise */
    const float **out;    /* [outputs] of the last run */
    int64_t tokens, rows; /* of the last run */
    bool ran;
    vug_status st; /* of the calls that set, until the next run */
    vug_err err;
};

/* ---- building ---------------------------------------------------------------------- */

static bool is_input(const vug_node *node)
{
    return node->op == VUG_OP_INPUT && node->at.input.which != VUG_INPUT_ROWS;
}

static vug_status make_inputs(vug_flow_program *p, vug_err *err)
{
    const vug_graph *g = &p->compiled.fused;
    int n_data = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        p->n_in += is_input(node);
        if (is_input(node) && node->at.input.which == VUG_INPUT_DATA &&
            node->at.input.index >= n_data)
            n_data = node->at.input.index + 1;
    }
    p->in = vug_alloc_zero(p->n_in, sizeof(*p->in));
    p->data = vug_alloc_zero((size_t)n_data, sizeof(*p->data));
    p->out = vug_alloc_zero(g->n_outputs, sizeof(*p->out));
    if (!p->in || !p->data || !p->out)
        return VUG_FAIL_NOMEM(err, "a program's inputs", p->n_in * sizeof(*p->in));
    size_t at = 0;
    for (uint32_t i = 1; i < g->n; i++) {
        const vug_node *node = &g->node[i];
        if (!is_input(node))
            continue;
        const vug_input which = node->at.input.which;
        p->in[at++] = (input){ .port = { .name = node->name,
                                         .shape = node->shape,
                                         .integers = which != VUG_INPUT_DATA,
                                         .optional = which == VUG_INPUT_POSITIONS },
                               .which = which,
                               .index = node->at.input.index };
    }
    return VUG_OK;
}

static bool reads_past(vug_op op)
{
    return op == VUG_OP_ATTENTION_PAST || op == VUG_OP_ATTENTION_PAST_MASK;
}

/* The input that tells how long a symbolic past is. */
static void find_past(vug_flow_program *p)
{
    const vug_graph *g = &p->compiled.fused;
    for (uint32_t i = 1; i < g->n && !p->past_width; i++) {
        if (!reads_past(g->node[i].op))
            continue;
        const vug_node *past = vug_graph_at(g, g->node[i].in[3]);
        p->past_width = past->shape.dim[1] * past->shape.dim[2];
        while (p->in[p->past_in].index != past->at.input.index ||
               p->in[p->past_in].which != VUG_INPUT_DATA)
            p->past_in++;
    }
}

static vug_status check_budget(const vug_flow_program *p, const vug_profile *profile, vug_err *err)
{
    const vug_program_sizes sizes = p->compiled.backend->sizes(p->compiled.program);
    const uint64_t states = sizes.state_bytes * (uint64_t)p->options.max_batch;
    const uint64_t total = p->model->info.memory.weights_mapped + sizes.copied_bytes +
                           sizes.program_bytes + states + sizes.workspace_bytes;
    if (!profile->budget || total <= profile->budget)
        return VUG_OK;
    return VUG_FAIL(err, VUG_LIMIT,
                    "flow: the program needs %.1f MB (caches of %lld sequences %.1f, buffers "
                    "%.1f), the budget of profile %s is %.1f MB",
                    (double)total / 1e6, (long long)p->options.max_batch, (double)states / 1e6,
                    (double)sizes.workspace_bytes / 1e6, profile->name,
                    (double)profile->budget / 1e6);
}

static vug_status make_states(vug_flow_program *p, vug_err *err)
{
    const vug_backend *backend = p->compiled.backend;
    const size_t n = (size_t)p->options.max_batch;
    p->state = vug_alloc_zero(n, sizeof(vug_state *));
    p->cached = vug_alloc_zero(n, sizeof(*p->cached));
    p->split = vug_alloc_zero(n, sizeof(*p->split));
    p->span = vug_alloc_zero(n, sizeof(*p->span));
    p->row = vug_alloc_zero(n, sizeof(*p->row));
    if (!p->state || !p->cached || !p->split || !p->span || !p->row)
        return VUG_FAIL_NOMEM(err, "a program's sequences", n * sizeof(*p->span));
    for (size_t i = 0; i < n; i++)
        VUG_TRY(backend->state_create(p->compiled.program, &p->state[i], err));
    return backend->workspace_create(p->compiled.program, &p->workspace, err);
}

vug_status vug_flow_build(const vug_flow *f, vug_flow_program **out, vug_err *err)
{
    const vug_flow_object *flow = vug_flow_object_of(f);
    if (!flow->model)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "flow: it was made from a config alone, which has no weights to run with");
    vug_flow_program *p = vug_alloc_zero(1, sizeof(*p));
    if (!p)
        return VUG_FAIL_NOMEM(err, "a program", sizeof(*p));
    p->model = flow->model;
    p->options = flow->options;
    vug_status st = vug_compile_flow(flow->model, &flow->graph, &flow->profile, &flow->limits,
                                     &p->compiled, err);
    if (st == VUG_OK)
        st = make_inputs(p, err);
    if (st == VUG_OK) {
        find_past(p);
        st = check_budget(p, &flow->profile, err);
    }
    if (st == VUG_OK)
        st = make_states(p, err);
    if (st != VUG_OK) {
        vug_program_destroy(p);
        return st;
    }
    *out = p;
    return VUG_OK;
}

void vug_program_destroy(vug_flow_program *p)
{
    if (!p)
        return;
    const vug_backend *backend = p->compiled.backend;
    if (p->workspace)
        backend->workspace_destroy(p->workspace);
    for (int64_t i = 0; p->state && i < p->options.max_batch; i++) {
        if (p->state[i])
            backend->state_destroy(p->state[i]);
    }
    vug_compiled_release(&p->compiled);
    vug_free(p->state);
    vug_free(p->cached);
    vug_free(p->split);
    vug_free(p->span);
    vug_free(p->row);
    vug_free(p->in);
    vug_free(p->data);
    vug_free(p->out);
    vug_free(p);
}

/* ---- ports ------------------------------------------------------------------------- */

size_t vug_program_input_count(const vug_flow_program *p)
{
    return p->n_in;
}

size_t vug_program_output_count(const vug_flow_program *p)
{
    return p->compiled.fused.n_outputs;
}

vug_port vug_program_input(const vug_flow_program *p, size_t i)
{
    return p->in[i].port;
}

vug_port vug_program_output(const vug_flow_program *p, size_t i)
{
    const vug_graph *g = &p->compiled.fused;
    return (vug_port){ .name = g->output[i].name,
                       .shape = vug_graph_at(g, g->output[i].value)->shape };
}

/* ---- setting ----------------------------------------------------------------------- */

static input *find_input(vug_flow_program *p, const char *name, bool integers)
{
    input *found = NULL;
    for (size_t i = 0; i < p->n_in && !found; i++) {
        if (strcmp(p->in[i].port.name, name) == 0)
            found = &p->in[i];
    }
    if (p->st != VUG_OK || (found && found->port.integers == integers))
        return found;
    p->st = found ? VUG_FAIL(&p->err, VUG_ARGUMENT, "program: input '%s' takes %s", name,
                             integers ? "floats" : "int32_t")
                  : VUG_FAIL(&p->err, VUG_ARGUMENT, "program: there is no input '%s'", name);
    return NULL;
}

void vug_program_set_ids(vug_flow_program *p, const char *name, const int32_t *id, size_t n)
{
    input *in = find_input(p, name, true);
    if (!in)
        return;
    in->id = id;
    in->n = n;
    in->set = id != NULL;
}

void vug_program_set(vug_flow_program *p, const char *name, const float *x, size_t n)
{
    input *in = find_input(p, name, false);
    if (!in)
        return;
    in->x = x;
    in->n = n;
    /* A past of no tokens may be set as NULL. */
    in->set = x != NULL || n == 0;
}

void vug_program_split(vug_flow_program *p, const vug_sequence *sequence, size_t n)
{
    if (n > (size_t)p->options.max_batch && p->st == VUG_OK)
        p->st = VUG_FAIL(&p->err, VUG_ARGUMENT, "program: %zu sequences, it was built for %s%lld",
                         n, p->options.batch > 0 ? "" : "at most ",
                         (long long)p->options.max_batch);
    if (p->st != VUG_OK)
        return;
    for (size_t i = 0; i < n; i++)
        p->split[i] = sequence[i];
    p->n_split = n;
}

int64_t vug_program_past(const vug_flow_program *p, size_t i)
{
    return i < (size_t)p->options.max_batch ? p->cached[i] : 0;
}

void vug_program_reset(vug_flow_program *p)
{
    for (int64_t i = 0; i < p->options.max_batch; i++)
        p->cached[i] = 0;
}

/* ---- a run ------------------------------------------------------------------------- */

/* How a step is divided. */
typedef struct {
    int n;
    int64_t tokens, past, keys; /* T, P, S */
} division;

static const input *find_which(const vug_flow_program *p, vug_input which)
{
    for (size_t i = 0; i < p->n_in; i++) {
        if (p->in[i].which == which)
            return &p->in[i];
    }
    return NULL;
}

/* Without a split every sequence gets its equal part of the tokens and of the past. */
static vug_status split_equally(vug_flow_program *p, division *d, vug_err *err)
{
    const vug_flow_options *o = &p->options;
    const input *tokens = find_which(p, VUG_INPUT_TOKENS);
    const int64_t n = o->batch > 0 ? o->batch : 1;
    int64_t total = tokens && tokens->set ? (int64_t)tokens->n : o->tokens > 0 ? n * o->tokens : 0;
    int64_t past = 0;
    if (p->past_width && o->past_tokens > 0)
        past = n * o->past_tokens;
    else if (p->past_width)
        past = (int64_t)p->in[p->past_in].n / p->past_width;
    if (total == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "program: no tokens");
    if (total % n != 0 || past % n != 0)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "program: %lld tokens with %lld past do not divide among %lld sequences; "
                        "vug_program_split says how",
                        (long long)total, (long long)past, (long long)n);
    for (int64_t i = 0; i < n; i++)
        p->span[i] = (vug_span){ p->state[i], past / n, total / n };
    d->n = (int)n;
    return VUG_OK;
}

static vug_status check_sequence(const vug_flow_program *p, int i, vug_err *err)
{
    const vug_flow_options *o = &p->options;
    const vug_span *span = &p->span[i];
    const int64_t context = p->compiled.limits.context;
    if (span->n < 1 || span->past < 0 || (o->tokens > 0 && span->n != o->tokens))
        return VUG_FAIL(err, VUG_ARGUMENT, "program: sequence %d has %lld tokens, expected %lld%s",
                        i, (long long)span->n, (long long)(o->tokens > 0 ? o->tokens : 1),
                        o->tokens > 0 ? "" : " or more");
    if (o->past == VUG_PAST_GIVEN && o->past_tokens > 0 && span->past != o->past_tokens)
        return VUG_FAIL(err, VUG_ARGUMENT, "program: sequence %d has a past of %lld, expected %lld",
                        i, (long long)span->past, (long long)o->past_tokens);
    if (span->n > context || span->past > context - span->n)
        return VUG_FAIL(err, VUG_LIMIT,
                        "program: sequence %d has %lld tokens after %lld, the context holds %lld",
                        i, (long long)span->n, (long long)span->past, (long long)context);
    return VUG_OK;
}

static vug_status divide(vug_flow_program *p, division *d, vug_err *err)
{
    const vug_flow_options *o = &p->options;
    if (p->n_split > 0 && o->batch > 0 && p->n_split != (size_t)o->batch)
        return VUG_FAIL(err, VUG_ARGUMENT, "program: split into %zu sequences, it is for %lld",
                        p->n_split, (long long)o->batch);
    for (size_t i = 0; i < p->n_split; i++)
        p->span[i] = (vug_span){ p->state[i], p->split[i].past, p->split[i].tokens };
    d->n = (int)p->n_split;
    if (p->n_split == 0)
        VUG_TRY(split_equally(p, d, err));
    for (int i = 0; i < d->n; i++) {
        vug_span *span = &p->span[i];
        if (o->past != VUG_PAST_GIVEN)
            span->past = p->cached[i];
        VUG_TRY(check_sequence(p, i, err));
        d->tokens += span->n;
        d->past += span->past;
        d->keys = span->past + span->n > d->keys ? span->past + span->n : d->keys;
        p->row[i] = (int32_t)(d->tokens - 1);
    }
    return VUG_OK;
}

static int64_t size_of(int64_t dim, const division *d)
{
    return dim == VUG_DIM_T   ? d->tokens
           : dim == VUG_DIM_P ? d->past
           : dim == VUG_DIM_S ? d->keys
                              : dim;
}

static vug_status check_input(const input *in, const division *d, vug_err *err)
{
    char shape[96];
    vug_shape is = in->port.shape;
    int64_t n = 1;
    for (int i = 0; i < is.rank; i++) {
        is.dim[i] = size_of(is.dim[i], d);
        n *= is.dim[i];
    }
    if (!in->set && (in->port.optional || n == 0))
        return VUG_OK;
    if (!in->set)
        return VUG_FAIL(err, VUG_ARGUMENT, "program: input '%s' %s is not set", in->port.name,
                        vug_shape_text(&in->port.shape, shape));
    if (in->n != (size_t)n)
        return VUG_FAIL(err, VUG_ARGUMENT, "program: input '%s' has %zu numbers, expected %s",
                        in->port.name, in->n, vug_shape_text(&is, shape));
    return VUG_OK;
}

static vug_status gather(vug_flow_program *p, const division *d, vug_step_in *step, vug_err *err)
{
    for (size_t i = 0; i < p->n_in; i++) {
        const input *in = &p->in[i];
        VUG_TRY(check_input(in, d, err));
        if (in->which == VUG_INPUT_TOKENS)
            step->token = in->id;
        else if (in->which == VUG_INPUT_POSITIONS)
            step->position = in->set ? in->id : NULL;
        else
            p->data[in->index] = in->x;
    }
    step->data = p->data;
    step->span = p->span;
    step->n_spans = d->n;
    step->row = p->row;
    step->n_rows = p->options.outputs == VUG_OUT_LAST ? d->n : 0;
    return VUG_OK;
}

static vug_status run(vug_flow_program *p, vug_err *err)
{
    division d = { 0 };
    vug_step_in step = { 0 };
    VUG_TRY(divide(p, &d, err));
    VUG_TRY(gather(p, &d, &step, err));
    vug_lock_take(p->model->turn);
    const vug_status st =
            p->compiled.backend->run(p->compiled.program, p->workspace, &step, p->out, err);
    vug_lock_leave(p->model->turn);
    VUG_TRY(st);
    p->tokens = d.tokens;
    p->rows = step.n_rows;
    for (int i = 0; i < d.n && p->options.past == VUG_PAST_CACHED; i++)
        p->cached[i] += p->span[i].n;
    return VUG_OK;
}

vug_status vug_program_run(vug_flow_program *p, vug_err *err)
{
    vug_status st = p->st;
    if (st != VUG_OK && err)
        *err = p->err;
    p->st = VUG_OK;
    if (st == VUG_OK)
        st = run(p, err);
    p->ran = st == VUG_OK;
    return st;
}

const float *vug_program_get(const vug_flow_program *p, const char *name, size_t *n)
{
    const vug_graph *g = &p->compiled.fused;
    if (n)
        *n = 0;
    for (uint32_t i = 0; p->ran && i < g->n_outputs; i++) {
        if (strcmp(g->output[i].name, name) != 0)
            continue;
        const vug_shape *shape = &vug_graph_at(g, g->output[i].value)->shape;
        if (n)
            *n = (size_t)vug_shape_elements(shape, p->tokens, p->rows);
        return p->out[i];
    }
    return NULL;
}
