/*
 * Verifies a model against the reference of another implementation. Runs the same tokens
 * in one prefill, in chunks and one by one. The results must match the reference within the
 * tolerance; they must be equal to the bit, or on a device that does not promise that, within
 * the tolerance, too.
 */
#include <math.h>
#include <stdio.h>

#include "checkpoint/internal.h"

enum { CHUNK = 7 };

/* The verify_reference file, checked. */
typedef struct {
    vug_weights *file;
    const char *path;
    int64_t n_tokens, n_vocab, n_greedy;
    int64_t n_positions;       /* P: the number of rows of logits */
    int32_t *id;               /* [n_tokens] copied, because data in files is unaligned */
    int32_t *position;         /* [P] the tokens of these rows, ascending; NULL: all tokens */
    int32_t *greedy;           /* [n_greedy] */
    const vug_tensor *logits;  /* [P,V] */
    const vug_tensor **hidden; /* [n_layers + 1]; entries NULL where absent */
} verify_reference;

/* ---- reading ------------------------------------------------------------------------ */

static vug_status find_tensor(const verify_reference *r, const char *name, vug_dtype dtype,
                              int rank, bool optional, const vug_tensor **out, vug_err *err)
{
    const vug_tensor *t = vug_weights_find(r->file, vug_str_of(name));
    *out = t;
    if (!t && !optional)
        return VUG_FAIL(err, VUG_FORMAT, "%s: has no tensor '%s'", r->path, name);
    if (t && (t->dtype != dtype || t->rank != rank))
        return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%s' is %s of rank %d, expected %s of rank %d",
                        r->path, name, vug_dtype_of(t->dtype)->name, t->rank,
                        vug_dtype_of(dtype)->name, rank);
    return VUG_OK;
}

/* Copies numbers, which must be in 0 .. end - 1. */
static vug_status copy_numbers(const vug_tensor *t, int64_t end, const verify_reference *r,
                               int32_t **out, vug_err *err)
{
    int32_t *id = vug_alloc((size_t)t->dim[0], sizeof(*id));
    if (!id)
        return VUG_FAIL_NOMEM(err, r->path, t->bytes);
    *out = id;
    memcpy(id, t->data, (size_t)t->bytes);
    for (int64_t i = 0; i < t->dim[0]; i++) {
        if (id[i] < 0 || id[i] >= end)
            return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%.*s': %d at %lld, expected 0 to %lld",
                            r->path, VUG_STR_ARG(t->name), id[i], (long long)i, (long long)end - 1);
    }
    return VUG_OK;
}

static vug_status read_positions(verify_reference *r, vug_err *err)
{
    const vug_tensor *t;
    r->n_positions = r->n_tokens;
    VUG_TRY(find_tensor(r, "positions", VUG_DTYPE_I32, 1, true, &t, err));
    if (!t)
        return VUG_OK;
    r->n_positions = t->dim[0];
    VUG_TRY(copy_numbers(t, r->n_tokens, r, &r->position, err));
    for (int64_t i = 1; i < r->n_positions; i++) {
        if (r->position[i] <= r->position[i - 1])
            return VUG_FAIL(err, VUG_FORMAT, "%s: tensor 'positions' does not ascend at %lld",
                            r->path, (long long)i);
    }
    return VUG_OK;
}

static vug_status find_hidden(verify_reference *r, const vug_model_info *info, vug_err *err)
{
    r->hidden = vug_alloc_zero((size_t)info->n_layers + 1, sizeof(const vug_tensor *));
    if (!r->hidden)
        return VUG_FAIL_NOMEM(err, r->path, info->n_layers);
    for (int64_t i = 0; i <= info->n_layers; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "hidden.%lld", (long long)i);
        VUG_TRY(find_tensor(r, name, VUG_DTYPE_F32, 2, true, &r->hidden[i], err));
        const vug_tensor *t = r->hidden[i];
        if (t && (t->dim[0] != r->n_tokens || t->dim[1] != info->d_model))
            return VUG_FAIL(err, VUG_FORMAT, "%s: tensor '%s' is [%lld,%lld], expected [%lld,%lld]",
                            r->path, name, (long long)t->dim[0], (long long)t->dim[1],
                            (long long)r->n_tokens, (long long)info->d_model);
    }
    return VUG_OK;
}

static vug_status read_reference(const char *path, const vug_model_info *info, verify_reference *r,
                                 vug_err *err)
{
    const vug_tensor *ids, *greedy;
    r->path = path;
    VUG_TRY(vug_weights_open_file(path, &r->file, err));
    VUG_TRY(find_tensor(r, "input_ids", VUG_DTYPE_I32, 1, false, &ids, err));
    VUG_TRY(find_tensor(r, "logits", VUG_DTYPE_F32, 2, false, &r->logits, err));
    VUG_TRY(find_tensor(r, "greedy", VUG_DTYPE_I32, 1, true, &greedy, err));
    r->n_tokens = ids->dim[0];
    r->n_vocab = info->n_vocab;
    r->n_greedy = greedy ? greedy->dim[0] : 0;
    VUG_TRY(read_positions(r, err));
    if (r->n_positions < 1 || r->logits->dim[0] != r->n_positions ||
        r->logits->dim[1] != info->n_vocab)
        return VUG_FAIL(err, VUG_FORMAT,
                        "%s: logits are [%lld,%lld] for %lld positions, the model has %lld ids",
                        path, (long long)r->logits->dim[0], (long long)r->logits->dim[1],
                        (long long)r->n_positions, (long long)info->n_vocab);
    if (r->n_tokens + r->n_greedy > info->context)
        return VUG_FAIL(err, VUG_LIMIT,
                        "%s: %lld tokens and %lld to continue, the context holds %lld", path,
                        (long long)r->n_tokens, (long long)r->n_greedy, (long long)info->context);
    VUG_TRY(copy_numbers(ids, info->n_vocab, r, &r->id, err));
    if (greedy)
        VUG_TRY(copy_numbers(greedy, info->n_vocab, r, &r->greedy, err));
    return find_hidden(r, info, err);
}

static void release_reference(verify_reference *r)
{
    vug_weights_close(r->file);
    vug_free(r->id);
    vug_free(r->position);
    vug_free(r->greedy);
    vug_free(r->hidden);
}

static float read_float(const vug_tensor *t, int64_t i)
{
    float v;
    memcpy(&v, t->data + (size_t)i * sizeof(v), sizeof(v));
    return v;
}

/* ---- comparing ------------------------------------------------------------------------ */

typedef struct {
    const verify_reference *ref;
    vug_verification *v;
    const vug_model_info *info;
    float *whole;   /* [T,V] logits of one prefill */
    double *hidden; /* [n_layers + 1] largest difference, relative to the reference's largest */
    bool identical; /* a later run gave the same bits as `whole` */
    double off;     /* the largest difference between its logits and `whole` */
} verify_comparison;

/* KL(reference || model) of one position, in nats. */
static double divergence(const float *p, const float *q, int64_t n)
{
    const double p_max = (double)p[vug_logits_argmax(p, n)];
    const double q_max = (double)q[vug_logits_argmax(q, n)];
    const double p_sum = vug_logits_sum_exp(p, n, p_max), q_sum = vug_logits_sum_exp(q, n, q_max);
    double kl = 0;
    const double shift = (q_max + log(q_sum)) - (p_max + log(p_sum));
    for (int64_t i = 0; i < n; i++)
        kl += exp((double)p[i] - p_max) / p_sum * ((double)p[i] - (double)q[i] + shift);
    return kl;
}

/* |a - b|; NaN counts as infinite. */
static double difference(float a, float b)
{
    const double d = fabs((double)a - (double)b);
    return isnan(d) ? INFINITY : d;
}

/* Compares row p of the reference's logits. */
static void compare_logits(verify_comparison *c, int64_t p, float *scratch)
{
    const verify_reference *r = c->ref;
    const int64_t n = r->n_vocab;
    const float *row = c->whole + (r->position ? r->position[p] : p) * n;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        scratch[i] = read_float(r->logits, p * n + i);
        const double d = difference(row[i], scratch[i]);
        sum += d;
        c->v->max_abs = d > c->v->max_abs ? d : c->v->max_abs;
    }
    c->v->mean_abs += sum / (double)n;
    c->v->mean_kl += divergence(scratch, row, n);
    c->v->top1 += vug_logits_argmax(scratch, n) == vug_logits_argmax(row, n);
}

static void compare_hidden(verify_comparison *c, const vug_step *step)
{
    const int64_t d = c->info->d_model;
    for (int64_t layer = 0; layer <= c->info->n_layers; layer++) {
        const vug_tensor *t = c->ref->hidden[layer];
        double largest = 0, off = 0;
        for (int64_t i = 0; t && i < step->n * d; i++) {
            const float expected = read_float(t, step->first * d + i);
            const double e = difference(step->hidden[layer][i], expected);
            off = e > off ? e : off;
            largest = fabs((double)expected) > largest ? fabs((double)expected) : largest;
        }
        const double relative = largest > 1 ? off / largest : off;
        c->hidden[layer] = relative > c->hidden[layer] ? relative : c->hidden[layer];
    }
}

static bool keep_whole(const vug_step *step, void *user)
{
    verify_comparison *c = user;
    const int64_t n = c->ref->n_vocab;
    memcpy(c->whole + step->first * n, step->logits, (size_t)(step->n * n) * sizeof(float));
    compare_hidden(c, step);
    return true;
}

static bool compare_bits(const vug_step *step, void *user)
{
    verify_comparison *c = user;
    const int64_t n = c->ref->n_vocab;
    const float *whole = c->whole + step->first * n;
    if (memcmp(whole, step->logits, (size_t)(step->n * n) * sizeof(float)) == 0)
        return true;
    c->identical = false;
    for (int64_t i = 0; i < step->n * n; i++) {
        const double d = difference(step->logits[i], whole[i]);
        c->off = d > c->off ? d : c->off;
    }
    return true;
}

/* ---- runs -------------------------------------------------------------------------- */

static vug_status forward(verify_comparison *c, vug_session *s, int chunk, vug_step_fn *on_step,
                          vug_err *err)
{
    const vug_forward_options o = {
        .chunk = chunk, .all_logits = true, .hidden = true, .on_step = on_step, .user = c
    };
    c->identical = true;
    c->off = 0;
    return vug_session_forward(s, c->ref->id, (size_t)c->ref->n_tokens, &o, err);
}

/* Rounding decides between two tokens whose logits are as close as this. */
#define GREEDY_TIE 1e-3

/* Counts the tokens of the reference's continuation that greedy decoding reproduces, up to the
 * first that differs and does not tie. */
static vug_status follow_greedy(verify_comparison *c, vug_session *s, vug_err *err)
{
    const vug_forward_options none = { 0 };
    const verify_reference *r = c->ref;
    vug_session_reset(s);
    VUG_TRY(vug_session_forward(s, r->id, (size_t)r->n_tokens, &none, err));
    for (int64_t i = 0; i < r->n_greedy; i++) {
        const float *logits = vug_session_logits(s);
        const int64_t best = vug_logits_argmax(logits, r->n_vocab);
        if (best != r->greedy[i] &&
            !((double)logits[best] - (double)logits[r->greedy[i]] <= GREEDY_TIE))
            return VUG_OK;
        c->v->n_greedy_ties += best != r->greedy[i];
        c->v->n_greedy_equal++;
        if (i + 1 < r->n_greedy)
            VUG_TRY(vug_session_extend(s, &r->greedy[i], 1, &none, err));
    }
    return VUG_OK;
}

static vug_status compare_all(verify_comparison *c, vug_session *s, vug_err *err)
{
    vug_verification *v = c->v;
    const verify_reference *r = c->ref;
    /* One prefill, if the reference fits the batch. */
    VUG_TRY(forward(c, s, 0, keep_whole, err));
    float *scratch = vug_alloc((size_t)r->n_vocab, sizeof(*scratch));
    if (!scratch)
        return VUG_FAIL_NOMEM(err, "verification", (size_t)r->n_vocab * sizeof(*scratch));
    for (int64_t p = 0; p < r->n_positions; p++)
        compare_logits(c, p, scratch);
    vug_free(scratch);
    v->mean_abs /= (double)r->n_positions;
    v->mean_kl /= (double)r->n_positions;
    v->top1 /= (double)r->n_positions;

    VUG_TRY(forward(c, s, CHUNK, compare_bits, err));
    v->chunked_identical = c->identical;
    v->chunked_max_abs = c->off;
    VUG_TRY(forward(c, s, 1, compare_bits, err));
    v->stepwise_identical = c->identical;
    v->stepwise_max_abs = c->off;
    VUG_TRY(follow_greedy(c, s, err));

    v->first_diverging_layer = -1;
    for (int64_t i = 0; i <= c->info->n_layers && v->first_diverging_layer < 0; i++) {
        if (c->hidden[i] > v->tolerance) {
            v->first_diverging_layer = (int)i;
            v->diverging_max_abs = c->hidden[i];
        }
    }
    const double allowed = c->info->batch_invariant ? -1 : v->tolerance;
    const bool chunked = v->chunked_identical || v->chunked_max_abs <= allowed;
    const bool stepwise = v->stepwise_identical || v->stepwise_max_abs <= allowed;
    v->pass = v->max_abs <= v->tolerance && chunked && stepwise && v->n_greedy_equal == v->n_greedy;
    return VUG_OK;
}

/* What the architecture needs with sums in F32, or the device's rounding. */
static double usual_tolerance(const vug_model *model, const vug_model_info *info)
{
    const double arch = vug_model_checkpoint(model)->config.arch->tolerance;
    const double sums = arch > 0 ? arch : 2e-4;
    return info->logit_error > sums ? info->logit_error : sums;
}

vug_status vug_model_verify(vug_model *model, const char *path, double tolerance,
                            vug_verification *out, vug_err *err)
{
    const vug_model_info described = vug_model_describe(model), *info = &described;
    verify_reference ref = { 0 };
    vug_verification v = { .tolerance = tolerance > 0 ? tolerance : usual_tolerance(model, info) };
    verify_comparison c = { .ref = &ref, .v = &v, .info = info };
    vug_session *session = NULL;
    vug_status st = read_reference(path, info, &ref, err);
    if (st != VUG_OK)
        goto release;
    v.n_tokens = ref.n_tokens;
    v.n_positions = ref.n_positions;
    v.n_vocab = ref.n_vocab;
    v.n_greedy = ref.n_greedy;
    c.whole = vug_alloc((size_t)(ref.n_tokens * ref.n_vocab), sizeof(float));
    c.hidden = vug_alloc_zero((size_t)info->n_layers + 1, sizeof(double));
    if (!c.whole || !c.hidden)
        st = VUG_FAIL_NOMEM(err, "verification",
                            (size_t)(ref.n_tokens * ref.n_vocab) * sizeof(float));
    if (st == VUG_OK)
        st = vug_session_create(model, &session, err);
    if (st == VUG_OK)
        st = compare_all(&c, session, err);
    if (st == VUG_OK)
        *out = v;
release:
    vug_session_destroy(session);
    vug_free(c.whole);
    vug_free(c.hidden);
    release_reference(&ref);
    return st;
}
