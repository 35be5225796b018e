/*
 * From rows of logits to numbers per token, and from those to their means.
 *
 * All in double and over the whole vocabulary. Rows are shared out to threads, each
 * row is summed by one of them from the first id to the last, and the sums over
 * tokens go from the first token to the last: the result is the same for any number
 * of threads.
 */
#include "engine/score.h"

#include <math.h>
#include <stdlib.h>

/* The largest difference from 0 that ln(sum of e^x) has for log-probabilities x that
 * were rounded to F16. A relative error u turns the sum of p into that of p^(1-u) or
 * p^(1+u), which over V ids lies between V^-u and V^u (Jensen's inequality). u is
 * 2^-11, and a little for the rounding to F32 before; 2^-20 covers the subnormals. */
static double rounding_of_f16(int64_t n_vocab)
{
    return 0x1.01p-11 * log((double)n_vocab) + 0x1p-20;
}

/* ---- one row -------------------------------------------------------------------------- */

/* The first of the highest; not a number is never one of them. */
static int64_t best_of(const float *row, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = row[i] > row[best] ? i : best;
    return best;
}

/* log(sum of e^x), stable. */
static double log_sum(const float *row, int64_t n, double highest)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)row[i] - highest);
    return highest + log(sum);
}

typedef struct {
    int64_t best;
    double norm; /* log(sum of e^x) */
} row_facts;

static row_facts score_model(const vug_score_job *job, int64_t i)
{
    const float *row = job->model + i * job->n_vocab;
    row_facts f = { .best = best_of(row, job->n_vocab) };
    f.norm = log_sum(row, job->n_vocab, (double)row[f.best]);
    job->marks.nll[i] = f.norm - (double)row[job->token[i]];
    return f;
}

/* Not a number where the base is no distribution. */
static void score_base(const vug_score_job *job, int64_t i, const row_facts *model)
{
    const int64_t n = job->n_vocab;
    const float *m = job->model + i * n;
    const float *b = job->base_f16 ? job->decoded + i * n : job->base + i * n;
    const double highest = (double)b[best_of(b, n)];
    /* KL = sum of p (ln p - ln q) = (sum of e^b (b - m)) / (sum of e^b) + norm_m - norm_b */
    double sum = 0, weighted = 0;
    for (int64_t k = 0; k < n; k++) {
        const double e = exp((double)b[k] - highest);
        sum += e;
        weighted += e * ((double)b[k] - (double)m[k]);
    }
    const double norm = highest + log(sum);
    const double kl = weighted / sum + (model->norm - norm);
    const double nll = norm - (double)b[job->token[i]];
    const bool good =
            isfinite(kl) && isfinite(nll) && (!job->base_f16 || fabs(norm) <= rounding_of_f16(n));
    job->marks.base_nll[i] = good ? nll : NAN;
    job->marks.kl[i] = kl > 0 ? kl : 0; /* below 0 by rounding only */
    job->marks.shift[i] = exp(-job->marks.nll[i]) - exp(-nll);
    job->marks.same_best[i] = (double)b[model->best] == highest;
}

/* Log-probabilities in F16: the finest where the probability is high. */
static void encode(const vug_score_job *job, int64_t i, double norm)
{
    enum { BLOCK = 256 };
    const double lowest = -65504; /* of F16 */
    const float *row = job->model + i * job->n_vocab;
    uint8_t *to = job->encoded + i * job->n_vocab * 2;
    float block[BLOCK];
    for (int64_t at = 0; at < job->n_vocab; at += BLOCK) {
        const int64_t n = job->n_vocab - at < BLOCK ? job->n_vocab - at : BLOCK;
        for (int64_t k = 0; k < n; k++) {
            const double x = (double)row[at + k] - norm;
            block[k] = (float)(x > lowest ? x : lowest);
        }
        vug_dtype_of(VUG_DTYPE_F16)->encode(block, to + at * 2, (size_t)n);
    }
}

static void work(void *arg, int thread, int n_threads)
{
    const vug_score_job *job = arg;
    for (int64_t i = thread; i < job->n; i += n_threads) {
        const row_facts f = score_model(job, i);
        const size_t n = (size_t)job->n_vocab;
        if (job->base_f16)
            vug_dtype_of(VUG_DTYPE_F16)
                    ->decode(job->base_f16 + (size_t)i * n * 2, job->decoded + (size_t)i * n, n);
        if (job->base || job->base_f16)
            score_base(job, i, &f);
        if (job->encoded)
            encode(job, i, f.norm);
    }
}

void vug_score_rows(vug_pool *pool, vug_score_job *job)
{
    vug_pool_run(pool, work, job);
    job->bad = -1;
    for (int64_t i = 0; i < job->n && job->bad < 0; i++) {
        const bool model = !isfinite(job->marks.nll[i]);
        const bool base = job->marks.base_nll && !isfinite(job->marks.base_nll[i]);
        if (model || base)
            job->bad = i;
        job->bad_is_base = base && !model;
    }
}

/* ---- all of them ------------------------------------------------------------------------ */

static double mean(const double *v, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v[i];
    return sum / (double)n;
}

vug_score vug_score_sum(const double *nll, int64_t n, uint64_t n_bytes)
{
    vug_score s = { .nll = mean(nll, n) };
    double squares = 0;
    for (int64_t i = 0; i < n; i++)
        squares += (nll[i] - s.nll) * (nll[i] - s.nll);
    s.nll_error = sqrt(squares / ((double)n * (double)(n - 1)));
    s.perplexity = exp(s.nll);
    s.perplexity_error = s.perplexity * s.nll_error;
    s.bits_per_byte = s.nll * (double)n / log(2) / (double)n_bytes;
    return s;
}

static int ascending(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

void vug_score_compare(const vug_marks *marks, int64_t n, vug_perplexity *out)
{
    double squares = 0;
    int64_t same = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += marks->shift[i] * marks->shift[i];
        same += marks->same_best[i];
    }
    out->shift_mean = mean(marks->shift, n);
    out->shift_rms = sqrt(squares / (double)n);
    out->top1 = (double)same / (double)n;
    out->kl_mean = mean(marks->kl, n);
    qsort(marks->kl, (size_t)n, sizeof(*marks->kl), ascending);
    out->kl_median = (marks->kl[(n - 1) / 2] + marks->kl[n / 2]) / 2;
    out->kl_p99 = marks->kl[n - 1 - n / 100];
    out->kl_max = marks->kl[n - 1];
}
