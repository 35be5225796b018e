/* Runs programs of flows: stores inputs, divides a run among sequences, runs the step. */
#include "engine/scheduler.h"

/* ---- inputs ---------------------------------------------------------------------- */

static vug_flow_input *find_input(vug_flow_program *p, const char *name, bool integers)
{
    vug_flow_input *found = NULL;
    for (size_t i = 0; name && i < p->n_in && !found; i++) {
        if (strcmp(p->in[i].port.name, name) == 0)
            found = &p->in[i];
    }
    if (p->st != VUG_OK || (found && found->port.integers == integers))
        return found;
    p->st = found ? VUG_FAIL(&p->err, VUG_ARGUMENT, "program: input '%s' takes %s", name,
                             integers ? "floats" : "int32_t")
                  : VUG_FAIL(&p->err, VUG_ARGUMENT, "program: there is no input '%s'",
                             name ? name : "(none)");
    return NULL;
}

void vug_program_set_ids(vug_flow_program *p, const char *name, const int32_t *id, size_t n)
{
    vug_flow_input *in = find_input(p, name, true);
    if (!in)
        return;
    in->id = id;
    in->n = n;
    in->set = id != NULL;
}

void vug_program_set(vug_flow_program *p, const char *name, const float *x, size_t n)
{
    vug_flow_input *in = find_input(p, name, false);
    if (!in)
        return;
    in->x = x;
    in->n = n;
    /* A past of no tokens may be set as NULL. */
    in->set = x != NULL || n == 0;
}

static vug_status fail_sequence_count(const vug_flow_program *p, size_t n, vug_err *err)
{
    return VUG_FAIL(err, VUG_ARGUMENT, "program: %zu sequences, it was built for %s%lld", n,
                    p->options.batch > 0 ? "" : "at most ", (long long)p->options.max_batch);
}

void vug_program_split(vug_flow_program *p, const vug_sequence *sequence, size_t n)
{
    if (n > (size_t)p->options.max_batch && p->st == VUG_OK)
        p->st = fail_sequence_count(p, n, &p->err);
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

/* The division of a step among sequences. */
typedef struct {
    int n;
    int64_t tokens, past, keys; /* T, P, S */
} step_division;

static const vug_flow_input *find_which(const vug_flow_program *p, vug_input which)
{
    for (size_t i = 0; i < p->n_in; i++) {
        if (p->in[i].which == which)
            return &p->in[i];
    }
    return NULL;
}

/* Without a split, sequences have equal parts of the tokens and of the past. In a symbolic batch,
 * a fixed number of tokens gives the number of sequences; otherwise there is one. */
static vug_status split_equally(vug_flow_program *p, step_division *d, vug_err *err)
{
    const vug_flow_options *o = &p->options;
    const vug_flow_input *tokens = find_which(p, VUG_INPUT_TOKENS);
    int64_t total = tokens && tokens->set ? (int64_t)tokens->n : 0;
    int64_t n = o->batch > 0 ? o->batch : 1, past = 0;
    if (o->batch == VUG_SYMBOLIC && o->tokens > 0 && total > o->tokens)
        n = (total + o->tokens - 1) / o->tokens;
    if (n > o->max_batch)
        return fail_sequence_count(p, (size_t)n, err);
    if (total == 0 && o->tokens > 0)
        total = n * o->tokens;
    if (p->past_width && o->past_tokens > 0)
        past = n * o->past_tokens;
    else if (p->past_width)
        past = (int64_t)p->in[p->past_in].n / p->past_width;
    if (total == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "program: no tokens");
    if (total % n != 0 || past % n != 0)
        return VUG_FAIL(err, VUG_ARGUMENT,
                        "program: %lld tokens with a past of %lld cannot be divided equally among "
                        "%lld sequences; use vug_program_split",
                        (long long)total, (long long)past, (long long)n);
    for (int64_t i = 0; i < n; i++)
        p->span[i] = (vug_span){ vug_kv_fixed_table(&p->kv, i), past / n, total / n };
    d->n = (int)n;
    return VUG_OK;
}

/* Checks sequence `i`, which follows `before` tokens of other sequences. */
static vug_status check_sequence(const vug_flow_program *p, int i, int64_t before, vug_err *err)
{
    const vug_flow_options *o = &p->options;
    const vug_span *span = &p->span[i];
    const int64_t context = p->compiled.limits.context;
    if (span->past < 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "program: sequence %d has a past of %lld", i,
                        (long long)span->past);
    if (span->n < 1 || (o->tokens > 0 && span->n != o->tokens))
        return VUG_FAIL(err, VUG_ARGUMENT, "program: sequence %d has %lld tokens, expected %lld%s",
                        i, (long long)span->n, (long long)(o->tokens > 0 ? o->tokens : 1),
                        o->tokens > 0 ? "" : " or more");
    if (o->past == VUG_PAST_GIVEN && o->past_tokens > 0 && span->past != o->past_tokens)
        return VUG_FAIL(err, VUG_ARGUMENT, "program: sequence %d has a past of %lld, expected %lld",
                        i, (long long)span->past, (long long)o->past_tokens);
    if (span->n > p->compiled.limits.batch - before)
        return VUG_FAIL(err, VUG_LIMIT,
                        "program: more than %lld tokens in a run; the option 'step' sets the limit",
                        (long long)p->compiled.limits.batch);
    if (span->n > context || span->past > context - span->n)
        return VUG_FAIL(err, VUG_LIMIT,
                        "program: sequence %d has %lld tokens after %lld, the context holds %lld",
                        i, (long long)span->n, (long long)span->past, (long long)context);
    return VUG_OK;
}

static vug_status divide_step(vug_flow_program *p, step_division *d, vug_err *err)
{
    const vug_flow_options *o = &p->options;
    if (p->n_split > 0 && o->batch > 0 && p->n_split != (size_t)o->batch)
        return fail_sequence_count(p, p->n_split, err);
    for (size_t i = 0; i < p->n_split; i++)
        p->span[i] = (vug_span){ vug_kv_fixed_table(&p->kv, (int64_t)i), p->split[i].past,
                                 p->split[i].tokens };
    d->n = (int)p->n_split;
    if (p->n_split == 0)
        VUG_TRY(split_equally(p, d, err));
    for (int i = 0; i < d->n; i++) {
        vug_span *span = &p->span[i];
        if (o->past != VUG_PAST_GIVEN)
            span->past = p->cached[i];
        VUG_TRY(check_sequence(p, i, d->tokens, err));
        d->tokens += span->n;
        d->past += span->past;
        d->keys = span->past + span->n > d->keys ? span->past + span->n : d->keys;
        p->row[i] = (int32_t)(d->tokens - 1);
    }
    return VUG_OK;
}

static int64_t resolve_dim(int64_t dim, const step_division *d)
{
    return dim == VUG_DIM_T   ? d->tokens
           : dim == VUG_DIM_P ? d->past
           : dim == VUG_DIM_S ? d->keys
                              : dim;
}

static vug_status check_input(const vug_flow_input *in, const step_division *d, vug_err *err)
{
    char shape[96];
    vug_shape is = in->port.shape;
    int64_t n = 1;
    for (int i = 0; i < is.rank; i++) {
        is.dim[i] = resolve_dim(is.dim[i], d);
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

static vug_status gather_inputs(vug_flow_program *p, const step_division *d, vug_step_in *step,
                                vug_err *err)
{
    for (size_t i = 0; i < p->n_in; i++) {
        const vug_flow_input *in = &p->in[i];
        VUG_TRY(check_input(in, d, err));
        if (in->which == VUG_INPUT_TOKENS)
            step->token = in->id;
        else if (in->which == VUG_INPUT_POSITIONS)
            step->position = in->set ? in->id : NULL;
        else
            p->data[in->index] = in->x;
    }
    step->data = p->data;
    step->kv = p->kv.kv;
    step->span = p->span;
    step->n_spans = d->n;
    step->row = p->row;
    step->n_rows = d->n;
    return VUG_OK;
}

static vug_status run_program(vug_flow_program *p, vug_err *err)
{
    step_division d = { 0 };
    vug_step_in step = { 0 };
    VUG_TRY(divide_step(p, &d, err));
    VUG_TRY(gather_inputs(p, &d, &step, err));
    vug_scheduler_acquire_device(p->model->scheduler);
    const vug_status st =
            p->compiled.backend->run(p->compiled.program, p->workspace, &step, p->out, err);
    vug_scheduler_release_device(p->model->scheduler);
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
        st = run_program(p, err);
    p->ran = st == VUG_OK;
    return st;
}

const float *vug_program_get(const vug_flow_program *p, const char *name, size_t *n)
{
    const vug_graph *g = &p->compiled.fused;
    if (n)
        *n = 0;
    for (uint32_t i = 0; name && p->ran && i < g->n_outputs; i++) {
        if (strcmp(g->output[i].name, name) != 0)
            continue;
        const vug_shape *shape = &vug_graph_at(g, g->output[i].value)->shape;
        if (n)
            *n = (size_t)vug_shape_elements(shape, p->tokens, p->rows);
        return p->out[i];
    }
    return NULL;
}
