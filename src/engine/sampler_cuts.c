/* The samplers that compare ranks and logits. */
#include <float.h>
#include <math.h>

#include "core/portable_math.h"
#include "engine/candidates.h"

/* ---- by rank or logit ------------------------------------------------------------------ */

/* Keeps the candidates with at least this logit, which is at most the best. */
static void keep_above(vug_candidates *c, double limit)
{
    /* The least F32 that is not below the limit. */
    float least = limit < -FLT_MAX ? -FLT_MAX : (float)limit;
    if ((double)least < limit)
        least = nextafterf(least, INFINITY);
    if (least > c->first.logit)
        least = c->first.logit;
    if (!c->is_list) {
        if (least > c->last.logit)
            vug_candidates_keep_interval(c, c->first, (vug_candidate){ INT32_MAX, least });
        return;
    }
    while (c->list[c->n_list - 1].logit < least)
        c->n_list--;
}

void vug_cut_min_p(vug_candidates *c, double p)
{
    if (p > 0)
        keep_above(c, (double)c->first.logit + vug_portable_log(p) * c->temperature);
}

void vug_cut_top_k(vug_candidates *c, size_t k)
{
    if (k == 0 || k >= (size_t)c->view.n)
        return;
    if (!c->is_list)
        vug_candidates_best(c, k);
    c->n_list = c->n_list < k ? c->n_list : k;
}

/* ---- top-n-sigma ---------------------------------------------------------------------- */

/* Distances to the best logit in units of 2^-10; beyond 1024 they count as 1024. All sums are of
 * integers: those of the distances are exact in F64, those of their squares are bits, because
 * adding 2^52 leaves an integer in the low bits of a F64. */
typedef struct {
    vug_f64x4 n, sum;
    vug_u64x4 squares;
} distance_sums;

static void add_distances(distance_sums *s, vug_f32x4 logit, float best)
{
    const vug_f32x4 zero = vug_f32x4_of(0), far = vug_f32x4_of(0x1p20f);
    const vug_i32x4 is_candidate = logit >= -FLT_MAX;
    vug_f32x4 d = (vug_f32x4_of(best) - logit) * 0x1p10f;
    d = vug_f32x4_choose(d < far, d, far);
    d = vug_f32x4_choose(is_candidate, d, zero);
    const vug_f64x4 whole =
            __builtin_convertvector(__builtin_convertvector(d + 0.5f, vug_i32x4), vug_f64x4);
    s->n += __builtin_convertvector(-is_candidate, vug_f64x4);
    s->sum += whole;
    s->squares += (vug_u64x4)(whole * whole + 0x1p52) - UINT64_C(0x4330000000000000);
}

static double sum_of_four(const vug_f64x4 *v)
{
    return (*v)[0] + (*v)[1] + (*v)[2] + (*v)[3];
}

void vug_cut_top_n_sigma(vug_candidates *c, double n)
{
    float buffer[VUG_LOGITS_BLOCK];
    distance_sums s = { 0 };
    if (!(n > 0))
        return;
    for (size_t i = 0; c->is_list && i < c->n_list; i++)
        add_distances(&s, (vug_f32x4){ c->list[i].logit, -INFINITY, -INFINITY, -INFINITY },
                      c->first.logit);
    for (size_t b = 0; !c->is_list && b < vug_candidates_blocks(c); b++) {
        if (!vug_candidates_has_block(c, b))
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (size_t j = 0; j < VUG_LOGITS_BLOCK; j += 4)
            add_distances(&s, vug_f32x4_load(x + j), c->first.logit);
    }
    const double count = sum_of_four(&s.n), mean = sum_of_four(&s.sum) / count;
    const uint64_t squares = s.squares[0] + s.squares[1] + s.squares[2] + s.squares[3];
    const double variance = (double)squares / count - mean * mean;
    const double sigma = variance > 0 ? sqrt(variance) * 0x1p-10 : 0;
    keep_above(c, (double)c->first.logit - n * sigma);
}
