/*
 * Computes scores per token from rows of logits, and results from the scores.
 *
 * All sums are in double and over the whole vocabulary. One thread sums each row from the
 * first id to the last, and the sums over tokens go from the first token to the last, so
 * the result does not depend on the number of threads.
 */
#include "checkpoint/score.h"

#include "quant/codec.h"

#include <math.h>
#include <stdlib.h>

/* The largest |ln(sum of e^x)| that log-probabilities x can have after rounding to F16. A
 * relative error u turns the sum of p into that of p^(1-u) or p^(1+u), which over V ids lies
 * between V^-u and V^u (Jensen's inequality). u is 2^-11, and a little more because of an
 * earlier rounding to F32; 2^-20 covers subnormals. */
static double rounding_of_f16(int64_t n_vocab)
{
    return 0x1.01p-11 * log((double)n_vocab) + 0x1p-20;
}

/* ---- one row -------------------------------------------------------------------------- */

int64_t vug_logits_argmax(const float *row, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        best = row[i] > row[best] ? i : best;
    return best;
}

double vug_logits_sum_exp(const float *row, int64_t n, double highest)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp((double)row[i] - highest);
    return sum;
}

typedef struct {
    int64_t best;
    double norm; /* log(sum of e^x) */
} row_summary;

static row_summary score_model(const vug_score_job *job, int64_t i)
{
    const float *row = job->model + i * job->n_vocab;
    row_summary f = { .best = vug_logits_argmax(row, job->n_vocab) };
    const double highest = (double)row[f.best];
    f.norm = highest + log(vug_logits_sum_exp(row, job->n_vocab, highest));
    job->scores.nll[i] = f.norm - (double)row[job->token[i]];
    return f;
}

/* base_nll is NaN if the base's row is not a distribution. */
static void score_base(const vug_score_job *job, int64_t i, const row_summary *model)
{
    const int64_t n = job->n_vocab;
    const float *m = job->model + i * n;
    const float *b = job->base_f16 ? job->decoded + i * n : job->base + i * n;
    const double highest = (double)b[vug_logits_argmax(b, n)];
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
    job->scores.base_nll[i] = good ? nll : NAN;
    job->scores.kl[i] = kl > 0 ? kl : 0; /* only rounding can make it negative */
    job->scores.shift[i] = exp(-job->scores.nll[i]) - exp(-nll);
    job->scores.same_best[i] = (double)b[model->best] == highest;
}

/* Encodes log-probabilities in F16, which is most precise where the probability is high. */
static void encode_row(const vug_score_job *job, int64_t i, double norm)
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
        vug_codec_of(VUG_DTYPE_F16)->encode(block, to + at * 2, (size_t)n);
    }
}

static void score_rows(void *arg, int thread, int n_threads)
{
    const vug_score_job *job = arg;
    for (int64_t i = thread; i < job->n; i += n_threads) {
        const row_summary f = score_model(job, i);
        const size_t n = (size_t)job->n_vocab;
        if (job->base_f16)
            vug_codec_of(VUG_DTYPE_F16)
                    ->decode(job->base_f16 + (size_t)i * n * 2, job->decoded + (size_t)i * n, n);
        if (job->base || job->base_f16)
            score_base(job, i, &f);
        if (job->encoded)
            encode_row(job, i, f.norm);
    }
}

void vug_score_rows(vug_pool *pool, vug_score_job *job)
{
    vug_pool_run(pool, score_rows, job);
    job->bad = -1;
    for (int64_t i = 0; i < job->n && job->bad < 0; i++) {
        const bool model = !isfinite(job->scores.nll[i]);
        const bool base = job->scores.base_nll && !isfinite(job->scores.base_nll[i]);
        if (model || base)
            job->bad = i;
        job->bad_is_base = base && !model;
    }
}

/* ---- results ----------------------------------------------------------------------- */

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

static int compare_doubles(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

void vug_score_compare(const vug_token_scores *scores, int64_t n, vug_perplexity *out)
{
    double squares = 0;
    int64_t same = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += scores->shift[i] * scores->shift[i];
        same += scores->same_best[i];
    }
    out->shift_mean = mean(scores->shift, n);
    out->shift_rms = sqrt(squares / (double)n);
    out->top1 = (double)same / (double)n;
    out->kl_mean = mean(scores->kl, n);
    qsort(scores->kl, (size_t)n, sizeof(*scores->kl), compare_doubles);
    out->kl_median = (scores->kl[(n - 1) / 2] + scores->kl[n / 2]) / 2;
    out->kl_p99 = scores->kl[n - 1 - n / 100];
    out->kl_max = scores->kl[n - 1];
}
