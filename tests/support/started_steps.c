#include "started_steps.h"

#include "test.h"

#include <math.h>

#include "engine/candidates.h"
#include "engine/scheduler_state.h"
#include "engine_help.h"

enum { MOST_ROWS = 64, MOST_IDS = 65536 };

static struct {
    const vug_model *model;
    const vug_backend *runs;
    vug_backend starts;
    vug_step_in in[VUG_STEPS_STARTED];
    size_t n_started; /* in[0] is finished first */
    vug_candidate decided[VUG_STEPS_STARTED][MOST_ROWS];
    vug_candidate top[VUG_STEPS_STARTED][MOST_ROWS][VUG_MOST_FOUND];
    size_t n_undecided;
    int last; /* decided[last] are those of the step that was finished last */
} started;

/* ---- tokens ---------------------------------------------------------------------------------- */

int32_t help_draw(const float *logits, const vug_logits_wanted *wanted)
{
    const vug_draw *draw = &wanted->draw;
    static float changed[MOST_IDS];
    assert_in_range(wanted->n_ids, 1, MOST_IDS);
    memcpy(changed, logits, (size_t)wanted->n_ids * sizeof(*changed));
    for (size_t i = 0; i < wanted->n_changes; i++) {
        const vug_logit_change *change = &wanted->change[i];
        changed[change->id] = vug_change_logit(changed[change->id], change);
    }
    const vug_logits_view view = { .logits = changed,
                                   .n = wanted->n_ids,
                                   .allowed = wanted->allowed };
    vug_candidates c;
    vug_err err = { 0 };
    help_ok(vug_candidates_init(&c, wanted->n_ids, &err), &err);
    assert_true(vug_candidates_start(&c, &view));
    int32_t id = c.first.id;
    if (draw->temperature > 0) {
        c.temperature = draw->temperature;
        vug_cut_top_k(&c, (size_t)draw->top_k);
        vug_cut_top_p(&c, draw->top_p);
        vug_cut_min_p(&c, draw->min_p);
        id = vug_candidates_draw(&c, &draw->noise);
    }
    vug_candidates_release(&c);
    return id;
}

void help_report(const float *logits, const vug_logits_wanted *wanted, vug_candidate *top,
                 uint64_t *mass)
{
    const vug_logits_view view = { .logits = logits, .n = wanted->n_ids };
    vug_candidates c;
    vug_err err = { 0 };
    help_ok(vug_candidates_init(&c, wanted->n_ids, &err), &err);
    assert_true(vug_candidates_start(&c, &view));
    *mass = vug_candidates_mass(&c);
    vug_candidates_best(&c, (size_t)wanted->top);
    for (size_t i = 0; i < c.n_list; i++)
        top[i] = c.list[c.n_list - 1 - i];
    vug_candidates_release(&c);
}

static bool is_finite(const float *logits, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(logits[i]))
            return false;
    }
    return true;
}

/* Reports the greatest logits of a row, and as many others as a backend may. */
static void report_row(const float *logits, const vug_logits_wanted *wanted, int64_t row,
                       vug_found_logits *found)
{
    vug_candidate *top = started.top[started.last][row];
    vug_logits_wanted most = *wanted;
    most.top = most.n_ids < VUG_MOST_FOUND ? most.n_ids : VUG_MOST_FOUND;
    assert_in_range(wanted->top, 1, most.top);
    help_report(logits, &most, top, &found->mass);
    found->top = top;
    found->n_top = (size_t)most.top;
}

/* Lists the token of each row that has one. */
static void list_tokens(const vug_step_in *in)
{
    const int64_t n_vocab = started.model->info.n_vocab;
    const float *logits = vug_step_logits(&started.model->main);
    started.last = (started.last + 1) % VUG_STEPS_STARTED;
    if (!in->found) {
        started.n_undecided += (size_t)in->n_rows;
        return;
    }
    for (int64_t r = 0; r < in->n_rows; r++, logits += n_vocab) {
        const vug_logits_wanted *wanted = &in->wanted[r];
        const bool is_greedy = wanted->best == 1 && wanted->margin == 0;
        const bool draws = wanted->draw.temperature > 0;
        if ((!is_greedy && !draws) || !is_finite(logits, n_vocab)) {
            started.n_undecided++;
            continue;
        }
        const int32_t id = help_draw(logits, wanted);
        vug_candidate *one = &started.decided[started.last][r];
        *one = (vug_candidate){ id, logits[id] };
        in->found[r] = (vug_found_logits){ .logit = one, .n = 1 };
        if (wanted->top > 0)
            report_row(logits, wanted, r, &in->found[r]);
    }
}

size_t help_undecided_rows(void)
{
    return started.n_undecided;
}

/* ---- the backend ------------------------------------------------------------------------------ */

static vug_status start_step(const vug_program *program, vug_workspace *workspace,
                             const vug_step_in *in, vug_err *err)
{
    (void)program, (void)workspace, (void)err;
    assert_true(started.n_started < VUG_STEPS_STARTED && in->n_rows <= MOST_ROWS);
    started.in[started.n_started++] = *in;
    return VUG_OK;
}

static vug_status finish_step(const vug_program *program, vug_workspace *workspace,
                              const float **output, vug_err *err)
{
    const vug_step_in in = started.in[0];
    vug_step_in step = in;
    int32_t token[MOST_ROWS];
    assert_true(started.n_started > 0);
    started.in[0] = started.in[1];
    started.n_started--;
    for (int i = 0; in.follows && i < in.n_spans; i++) {
        token[i] = started.decided[started.last][in.follows[i]].id;
        step.token = token;
    }
    step.follows = NULL;
    step.wanted = NULL;
    step.found = NULL;
    VUG_TRY(started.runs->run(program, workspace, &step, output, err));
    list_tokens(&in);
    return VUG_OK;
}

static bool draws_tokens(const vug_program *program)
{
    (void)program;
    return true;
}

void help_start_steps(vug_model *m)
{
    m->scheduler->goes_ahead = true;
    if (m->main.compiled.backend->start)
        return;
    memset(&started, 0, sizeof(started));
    started.model = m;
    started.runs = m->main.compiled.backend;
    started.starts = *started.runs;
    started.starts.start = start_step;
    started.starts.finish = finish_step;
    started.starts.draws_tokens = draws_tokens;
    m->main.compiled.backend = &started.starts;
}

void help_run_steps(vug_model *m)
{
    m->scheduler->goes_ahead = false;
    if (m->main.compiled.backend == &started.starts)
        m->main.compiled.backend = started.runs;
}
