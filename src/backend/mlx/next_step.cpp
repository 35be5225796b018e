/*
 * The step that is expected next: one more token of each sequence, as in a decode. Its arrays are
 * made while the device computes the step before it, and lack only the tokens. If another step
 * comes, they are dropped.
 *
 * They are made over the arrays of the cache that the step before leaves. When they are used, the
 * cache gets those that they leave, so that nothing else refers to the older ones, and MLX writes
 * in their memory instead of copying it.
 */
#include <algorithm>

#include "backend/mlx/internal.h"

/* ---- what a step reads -------------------------------------------------------------------- */

/* The pages that the tokens of spans of one token see or fill. */
static std::vector<vug_page> pages_of(const vug_mlx_program *p, const std::vector<vug_span> &spans)
{
    std::vector<vug_page> pages;
    for (const vug_span &span : spans) {
        for (int g = 0; g < p->kv_layout.n_groups; g++) {
            const int64_t window = p->kv_layout.group[g].window;
            const int64_t first = window > 0 && span.past >= window ? span.past - window + 1 : 0;
            for (int64_t b = first / VUG_KV_PAGE; b <= span.past / VUG_KV_PAGE; b++)
                pages.push_back(span.table[g][b]);
        }
    }
    return pages;
}

static std::vector<mx::array *> cache_arrays(vug_mlx_kv *kv)
{
    std::vector<mx::array *> arrays;
    for (auto &group : kv->group) {
        for (auto &part : group.part) {
            if (part.array)
                arrays.push_back(&*part.array);
        }
    }
    return arrays;
}

static std::vector<std::uintptr_t> ids_of(const std::vector<mx::array *> &arrays)
{
    std::vector<std::uintptr_t> ids;
    for (const mx::array *array : arrays)
        ids.push_back(array->id());
    return ids;
}

/* ---- preparing ---------------------------------------------------------------------------- */

/* Whether one more token of each sequence is a step that needs neither data of the caller, nor the
 * host, nor a page that its sequence does not have yet. */
static bool has_next(const vug_mlx_step *s)
{
    const vug_step_in *in = s->in;
    if (!s->kv || in->cost || in->position || vug_graph_data_count(s->program->graph) > 0 ||
        s->program->plan->host_experts || s->tokens >= VUG_MLX_TOKENS_TO_WAIT ||
        s->tokens != in->n_spans)
        return false;
    for (int i = 0; i < in->n_spans; i++) {
        const int64_t position = in->span[i].past + 1;
        if (position % VUG_KV_PAGE == 0 || position >= s->program->limits.context)
            return false;
    }
    return true;
}

void vug_mlx_prepare_next_step(const vug_mlx_step *s)
{
    if (!has_next(s))
        return;
    std::vector<vug_span> spans(s->in->span, s->in->span + s->in->n_spans);
    for (vug_span &span : spans)
        span.past++;
    vug_step_in in = *s->in;
    in.span = spans.data();
    vug_mlx_step step = vug_mlx_begin_step(s->program, &in);
    vug_mlx_next_step next = { .program = s->program->number,
                               .span = spans,
                               .row = { in.row, in.row + in.n_rows },
                               .page = pages_of(s->program, spans),
                               .token = step.token,
                               .output = {},
                               .read = ids_of(cache_arrays(s->kv)),
                               .cache = {} };
    std::vector<mx::array> before;
    vug_mlx_add_cache_arrays(s->kv, &before);
    /* It fails only if it is cancelled, which steps of so few tokens are not. */
    if (vug_mlx_build_step(&step, &next.output, nullptr) != VUG_OK)
        throw std::logic_error("preparing a step");
    vug_mlx_add_cache_arrays(s->kv, &next.cache);
    const std::vector<mx::array *> arrays = cache_arrays(s->kv);
    for (size_t i = 0; i < arrays.size(); i++)
        *arrays[i] = before[i];
    s->kv->next = std::move(next);
}

/* ---- using -------------------------------------------------------------------------------- */

static bool is_the_step(const vug_mlx_next_step *next, const vug_mlx_step *s)
{
    const vug_step_in *in = s->in;
    if (next->program != s->program->number || in->cost || in->position ||
        next->span.size() != (size_t)in->n_spans || next->row.size() != (size_t)in->n_rows)
        return false;
    const std::vector<vug_span> spans(in->span, in->span + in->n_spans);
    for (size_t i = 0; i < spans.size(); i++) {
        if (spans[i].n != 1 || spans[i].past != next->span[i].past)
            return false;
    }
    return std::equal(next->row.begin(), next->row.end(), in->row) &&
           next->page == pages_of(s->program, spans) && next->read == ids_of(cache_arrays(s->kv));
}

bool vug_mlx_take_next_step(const vug_mlx_step *s, std::vector<mx::array> *output)
{
    if (!s->kv || !s->kv->next)
        return false;
    vug_mlx_next_step next = std::move(*s->kv->next);
    s->kv->next.reset();
    if (!is_the_step(&next, s))
        return false;
    memcpy(next.token.data<int32_t>(), s->in->token, next.token.nbytes());
    const std::vector<mx::array *> arrays = cache_arrays(s->kv);
    for (size_t i = 0; i < arrays.size(); i++)
        *arrays[i] = next.cache[i];
    *output = std::move(next.output);
    return true;
}
