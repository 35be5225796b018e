/*
 * Embeddings: a flow's program computes the output of the final norm for every token, which is
 * pooled and scaled here. Whole texts share a run as far as they fit; a longer one has runs alone,
 * one chunk after the other.
 */
#include <math.h>

#include "core/cancel.h"
#include "engine/session.h"
#include "vug/embed.h"

enum { DEFAULT_TEXTS = 16, MAX_TEXTS = 1024, MAX_STEP = 1 << 20 };

struct vug_embedder {
    const vug_model *model;
    vug_embedder_options options; /* resolved: no zeros */
    vug_flow_program *program;
    int32_t *id;         /* [step] of a run */
    vug_sequence *split; /* [texts] of a run */
    double *sum;         /* [d_model] of the text's rows so far */
};

const char *vug_pooling_name(vug_pooling pooling)
{
    static const char *const names[] = {
#define X(id, name) [VUG_POOLING_##id] = (name),
        VUG_POOLING_TABLE(X)
#undef X
    };
    return names[pooling];
}

/* ---- lifetime --------------------------------------------------------------------------- */

static vug_status resolve_options(vug_embedder *e, const vug_embedder_options *options,
                                  vug_err *err)
{
    vug_embedder_options *o = &e->options;
    if (options)
        *o = *options;
    if ((unsigned)o->pooling >= VUG_POOLING_COUNT)
        return VUG_FAIL(err, VUG_ARGUMENT, "embedder: pooling %d is not known", (int)o->pooling);
    if (o->step < 0 || o->step > MAX_STEP)
        return VUG_FAIL(err, VUG_ARGUMENT, "embedder: step is %d, expected 0 to %d", o->step,
                        MAX_STEP);
    if (o->texts < 0 || o->texts > MAX_TEXTS)
        return VUG_FAIL(err, VUG_ARGUMENT, "embedder: texts is %d, expected 0 to %d", o->texts,
                        MAX_TEXTS);
    o->step = o->step ? o->step : (int)e->model->limits.batch;
    o->texts = o->texts ? o->texts : DEFAULT_TEXTS;
    o->texts = o->texts < o->step ? o->texts : o->step;
    return VUG_OK;
}

static vug_status build_program(vug_embedder *e, vug_err *err)
{
    const vug_flow_options how = { .batch = VUG_SYMBOLIC,
                                   .max_batch = e->options.texts,
                                   .step = e->options.step,
                                   .outputs = VUG_OUT_HIDDEN };
    vug_flow *flow = NULL;
    VUG_TRY(vug_flow_create(e->model, &how, &flow, err));
    const vug_status st = vug_flow_build(flow, &e->program, err);
    vug_flow_destroy(flow);
    return st;
}

vug_status vug_embedder_create(const vug_model *model, const vug_embedder_options *options,
                               vug_embedder **out, vug_err *err)
{
    vug_embedder *e = vug_alloc_zero(1, sizeof(*e));
    if (!e)
        return VUG_FAIL_NOMEM(err, "an embedder", sizeof(*e));
    e->model = model;
    vug_status st = resolve_options(e, options, err);
    if (st == VUG_OK)
        st = build_program(e, err);
    if (st == VUG_OK) {
        const size_t step = (size_t)e->options.step, width = (size_t)model->info.d_model;
        e->id = vug_alloc(step, sizeof(*e->id));
        e->split = vug_alloc((size_t)e->options.texts, sizeof(*e->split));
        e->sum = vug_alloc(width, sizeof(*e->sum));
        if (!e->id || !e->split || !e->sum)
            st = VUG_FAIL_NOMEM(err, "an embedder", step * sizeof(*e->id));
    }
    if (st != VUG_OK) {
        vug_embedder_destroy(e);
        return st;
    }
    *out = e;
    return VUG_OK;
}

void vug_embedder_destroy(vug_embedder *e)
{
    if (!e)
        return;
    vug_program_destroy(e->program);
    vug_free(e->id);
    vug_free(e->split);
    vug_free(e->sum);
    vug_free(e);
}

/* ---- pooling ---------------------------------------------------------------------------- */

/* Sums are taken in F64, in the order of the tokens, so that chunks change no bit. */
static void add_rows(vug_embedder *e, const float *row, size_t n)
{
    const size_t width = (size_t)e->model->info.d_model;
    for (size_t t = 0; t < n; t++) {
        for (size_t k = 0; k < width; k++)
            e->sum[k] += (double)row[t * width + k];
    }
}

/* Pools rows [from, from + n) of a text of `of` tokens; `out` is complete after the last ones. */
static void pool_rows(vug_embedder *e, const float *row, size_t from, size_t n, size_t of,
                      float *out)
{
    const size_t width = (size_t)e->model->info.d_model;
    const bool is_last = from + n == of;
    if (from == 0)
        memset(e->sum, 0, width * sizeof(*e->sum));
    if (e->options.pooling == VUG_POOLING_MEAN)
        add_rows(e, row, n);
    else if (e->options.pooling == VUG_POOLING_CLS && from == 0)
        add_rows(e, row, 1);
    else if (e->options.pooling == VUG_POOLING_LAST && is_last)
        add_rows(e, row + (n - 1) * width, 1);
    if (!is_last)
        return;
    const double count = e->options.pooling == VUG_POOLING_MEAN ? (double)of : 1;
    double squares = 0;
    for (size_t k = 0; k < width; k++) {
        out[k] = (float)(e->sum[k] / count);
        squares += (double)out[k] * (double)out[k];
    }
    const double length = e->options.raw || squares == 0 ? 1 : sqrt(squares);
    for (size_t k = 0; k < width; k++)
        out[k] = (float)((double)out[k] / length);
}

/* ---- runs ------------------------------------------------------------------------------- */

/* Runs `n_ids` tokens of e->id, divided as e->split [n] says; `hidden` has a row for each. */
static vug_status run_step(vug_embedder *e, size_t n_ids, size_t n, const float **hidden,
                           vug_err *err)
{
    vug_program_set_ids(e->program, "tokens", e->id, n_ids);
    vug_program_split(e->program, e->split, n);
    VUG_TRY(vug_program_run(e->program, err));
    *hidden = vug_program_get(e->program, "hidden", NULL);
    return VUG_OK;
}

static vug_status embed_chunks(vug_embedder *e, const vug_tokens *text,
                               const vug_cancel_token *cancel, float *out, vug_err *err)
{
    const size_t step = (size_t)e->options.step;
    for (size_t at = 0; at < text->n;) {
        const size_t take = text->n - at < step ? text->n - at : step;
        const float *hidden;
        if (vug_is_cancelled(cancel))
            return VUG_FAIL(err, VUG_CANCELLED, "cancelled");
        memcpy(e->id, text->id + at, take * sizeof(*e->id));
        e->split[0] = (vug_sequence){ .tokens = (int64_t)take };
        VUG_TRY(run_step(e, take, 1, &hidden, err));
        pool_rows(e, hidden, at, take, text->n, out);
        at += take;
    }
    return VUG_OK;
}

/* Embeds the first texts in one run, as many as fit; `*done` is their number, perhaps 0. */
static vug_status embed_together(vug_embedder *e, const vug_tokens *text, size_t n, float *out,
                                 size_t *done, vug_err *err)
{
    const size_t step = (size_t)e->options.step, width = (size_t)e->model->info.d_model;
    const float *hidden;
    size_t n_ids = 0, count = 0;
    for (; count < n && count < (size_t)e->options.texts && text[count].n <= step - n_ids;
         count++) {
        memcpy(e->id + n_ids, text[count].id, text[count].n * sizeof(*e->id));
        e->split[count] = (vug_sequence){ .tokens = (int64_t)text[count].n };
        n_ids += text[count].n;
    }
    *done = count;
    if (count == 0)
        return VUG_OK;
    VUG_TRY(run_step(e, n_ids, count, &hidden, err));
    for (size_t i = 0; i < count; hidden += text[i].n * width, i++)
        pool_rows(e, hidden, 0, text[i].n, text[i].n, out + i * width);
    return VUG_OK;
}

vug_status vug_embed(vug_embedder *e, const vug_tokens *text, size_t n,
                     const vug_cancel_token *cancel, float *out, vug_err *err)
{
    const size_t width = (size_t)e->model->info.d_model;
    for (size_t i = 0; i < n; i++) {
        if (text[i].n == 0)
            return VUG_FAIL(err, VUG_ARGUMENT, "text %zu has no tokens", i);
        VUG_TRY(vug_model_check_tokens(e->model, text[i].id, text[i].n, err));
    }
    for (size_t at = 0; at < n;) {
        size_t done = 0;
        if (vug_is_cancelled(cancel))
            return VUG_FAIL(err, VUG_CANCELLED, "cancelled after %zu of %zu texts", at, n);
        vug_program_reset(e->program);
        VUG_TRY(embed_together(e, text + at, n - at, out + at * width, &done, err));
        if (done == 0)
            VUG_TRY(embed_chunks(e, &text[at], cancel, out + at * width, err));
        at += done ? done : 1;
    }
    return VUG_OK;
}

vug_status vug_embed_texts(vug_embedder *e, const char *const *text, size_t n,
                           const vug_cancel_token *cancel, float *out, vug_err *err)
{
    vug_tokens *tokens = vug_alloc_zero(n, sizeof(*tokens));
    vug_status st = VUG_OK;
    if (!tokens)
        return VUG_FAIL_NOMEM(err, "texts", n * sizeof(*tokens));
    for (size_t i = 0; i < n && st == VUG_OK; i++) {
        if (*text[i])
            st = vug_model_encode_text(e->model, text[i], strlen(text[i]), &tokens[i], err);
        else
            st = VUG_FAIL(err, VUG_ARGUMENT, "text %zu is empty", i);
    }
    if (st == VUG_OK)
        st = vug_embed(e, tokens, n, cancel, out, err);
    for (size_t i = 0; i < n; i++)
        vug_tokens_release(&tokens[i]);
    vug_free(tokens);
    return st;
}
