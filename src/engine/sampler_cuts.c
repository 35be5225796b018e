/* The samplers that drop tokens. Each exists for lists and for all logits, with the same result. */
#include <float.h>
#include <math.h>

#include "core/portable_math.h"
#include "engine/candidates.h"

#define LOG2_E 0x1.71547652b82fep+0

/* ---- masses ------------------------------------------------------------------------ */

/* A temperature near 0 must not make 0 * scale NaN. */
static vug_mass_unit unit_of(const vug_candidates *c)
{
    const double scale = LOG2_E / c->temperature;
    return (vug_mass_unit){ c->first.logit, scale < 0x1p100 ? (float)scale : 0x1p100f };
}

static float octaves_of(float logit, vug_mass_unit unit)
{
    return vug_mass_octaves(vug_f32x4_of(logit), unit)[0];
}

static uint64_t mass_of(float logit, vug_mass_unit unit)
{
    vug_u64x4 mass;
    vug_mass_of_octaves(vug_mass_octaves(vug_f32x4_of(logit), unit), &mass);
    return mass[0];
}

/* Whether a block has candidates with a mass. */
static bool has_mass(const vug_candidates *c, size_t block, vug_mass_unit unit)
{
    return vug_candidates_has_block(c, block) &&
           octaves_of(c->block_best[block], unit) > VUG_MASS_MIN_OCTAVES;
}

static uint64_t sum_block(const float *x, vug_mass_unit unit)
{
    vug_u64x4 sum = { 0 }, mass;
    for (size_t j = 0; j < VUG_LOGITS_BLOCK; j += 4) {
        vug_mass_of_octaves(vug_mass_octaves(vug_f32x4_load(x + j), unit), &mass);
        sum += mass;
    }
    return sum[0] + sum[1] + sum[2] + sum[3];
}

uint64_t vug_candidates_mass(const vug_candidates *c)
{
    const vug_mass_unit unit = unit_of(c);
    float buffer[VUG_LOGITS_BLOCK];
    uint64_t sum = 0;
    for (size_t i = 0; c->is_list && i < c->n_list; i++)
        sum += mass_of(c->list[i].logit, unit);
    for (size_t b = 0; !c->is_list && b < vug_candidates_blocks(c); b++) {
        if (has_mass(c, b, unit))
            sum += sum_block(vug_candidates_block(c, b, buffer), unit);
    }
    return sum;
}

/* ---- cutting ------------------------------------------------------------------------- */

/* Keeps list[from .. to). */
static void keep_part(vug_candidates *c, size_t from, size_t to)
{
    memmove(c->list, c->list + from, (to - from) * sizeof(*c->list));
    c->n_list = to - from;
    c->first = c->list[0];
}

static void keep_from_to(vug_candidates *c, vug_candidate first, vug_candidate last)
{
    c->first = first;
    c->last = last;
    c->is_cut = true;
    vug_candidates_shorten(c);
}

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
            keep_from_to(c, c->first, (vug_candidate){ INT32_MAX, least });
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

/* Sums of distances to the best logit, in units of 2^-10; beyond 1024 they count as 1024. */
typedef struct {
    uint64_t n, sum, squares;
} distance_sums;

static void add_distance(distance_sums *s, float logit, float best)
{
    const float distance = (best - logit) * 0x1p10f;
    const uint64_t d = distance < 0x1p20f ? (uint64_t)(distance + 0.5f) : 1 << 20;
    s->n++;
    s->sum += d;
    s->squares += d * d;
}

void vug_cut_top_n_sigma(vug_candidates *c, double n)
{
    float buffer[VUG_LOGITS_BLOCK];
    distance_sums s = { 0 };
    if (!(n > 0))
        return;
    for (size_t i = 0; c->is_list && i < c->n_list; i++)
        add_distance(&s, c->list[i].logit, c->first.logit);
    for (size_t b = 0; !c->is_list && b < vug_candidates_blocks(c); b++) {
        if (!vug_candidates_has_block(c, b))
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (size_t j = 0; j < VUG_LOGITS_BLOCK; j++) {
            if (x[j] >= c->last.logit)
                add_distance(&s, x[j], c->first.logit);
        }
    }
    const double mean = (double)s.sum / (double)s.n;
    const double variance = (double)s.squares / (double)s.n - mean * mean;
    const double sigma = variance > 0 ? sqrt(variance) * 0x1p-10 : 0;
    keep_above(c, (double)c->first.logit - n * sigma);
}

/* ---- by mass: top-p and typical-p ------------------------------------------------------ */

/* Candidates are taken in the order of the distance of their y to a center until they have a
 * mass. For top-p the center is the best token, for typical-p the mean y: the information of a
 * token minus the entropy is (log2 sum - y) - (log2 sum - mean y). */
typedef struct {
    vug_mass_unit unit;
    float center;    /* in octaves */
    double share;    /* of the mass of all candidates */
    uint64_t taken;  /* mass */
    double needed;   /* mass */
} mass_search;

/* Takes candidates of a sorted list, at least one, and at equal distance the better first. They are
 * list[*from .. *to). */
static void take_nearest(mass_search *s, const vug_candidate *list, size_t n, size_t *from,
                         size_t *to)
{
    size_t up = 0;
    while (up < n && octaves_of(list[up].logit, s->unit) > s->center)
        up++;
    size_t down = up;
    do {
        const float above =
                up > 0 ? octaves_of(list[up - 1].logit, s->unit) - s->center : INFINITY;
        const float below = down < n ? s->center - octaves_of(list[down].logit, s->unit) : INFINITY;
        const size_t next = above <= below ? --up : down++;
        s->taken += mass_of(list[next].logit, s->unit);
    } while ((double)s->taken < s->needed && down - up < n);
    *from = up;
    *to = down;
}

static void count_block(const mass_search *s, const float *x, uint64_t *histogram)
{
    int32_t bin[VUG_LOGITS_BLOCK];
    uint64_t mass[VUG_LOGITS_BLOCK];
    for (size_t j = 0; j < VUG_LOGITS_BLOCK; j += 4) {
        const vug_f32x4 y = vug_mass_octaves(vug_f32x4_load(x + j), s->unit);
        const vug_i32x4 bins = vug_mass_bins(y, s->center);
        vug_u64x4 masses;
        vug_mass_of_octaves(y, &masses);
        memcpy(bin + j, &bins, sizeof(bins));
        memcpy(mass + j, &masses, sizeof(masses));
    }
    for (size_t j = 0; j < VUG_LOGITS_BLOCK; j++)
        histogram[bin[j]] += mass[j];
}

/* The bin in which the search ends: all nearer ones are taken. */
static int32_t find_last_bin(vug_candidates *c, mass_search *s)
{
    float buffer[VUG_LOGITS_BLOCK];
    uint64_t all = 0;
    memset(c->histogram, 0, VUG_MASS_BINS * sizeof(*c->histogram));
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        if (has_mass(c, b, s->unit))
            count_block(s, vug_candidates_block(c, b, buffer), c->histogram);
    }
    for (int32_t bin = 0; bin < VUG_MASS_BINS; bin++)
        all += c->histogram[bin];
    s->needed = s->share * (double)all;
    int32_t bin = 0;
    while (c->histogram[bin] == 0 || (double)(s->taken + c->histogram[bin]) < s->needed)
        s->taken += c->histogram[bin++];
    return bin;
}

static void widen(vug_candidate *first, vug_candidate *last, const vug_candidate *one)
{
    if (vug_candidate_is_before(one, first))
        *first = *one;
    if (vug_candidate_is_before(last, one))
        *last = *one;
}

/* Lists the candidates of a bin and returns their number. `first` and `last` become the ends of
 * those that are nearer to the center; without any, `first` is after `last`. */
static size_t list_bin(vug_candidates *c, const mass_search *s, int32_t wanted,
                       vug_candidate *first, vug_candidate *last)
{
    float buffer[VUG_LOGITS_BLOCK];
    size_t n = 0;
    *first = (vug_candidate){ INT32_MAX, -INFINITY };
    *last = (vug_candidate){ -1, INFINITY };
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        if (!has_mass(c, b, s->unit))
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (size_t j = 0; j < VUG_LOGITS_BLOCK; j += 4) {
            const vug_f32x4 y = vug_mass_octaves(vug_f32x4_load(x + j), s->unit);
            const vug_i32x4 bins = vug_mass_bins(y, s->center);
            for (size_t k = 0; k < 4; k++) {
                const vug_candidate one = { (int32_t)(b * VUG_LOGITS_BLOCK + j + k), x[j + k] };
                if (bins[k] > wanted || !(one.logit >= c->last.logit))
                    continue;
                if (bins[k] == wanted)
                    c->list[n++] = one;
                else
                    widen(first, last, &one);
            }
        }
    }
    vug_candidates_sort(c->list, n);
    return n;
}

static void cut_by_mass(vug_candidates *c, mass_search *s)
{
    size_t from, to;
    if (c->is_list) {
        s->needed = s->share * (double)vug_candidates_mass(c);
        take_nearest(s, c->list, c->n_list, &from, &to);
        keep_part(c, from, to);
        return;
    }
    vug_candidate first, last;
    const int32_t bin = find_last_bin(c, s);
    const size_t n = list_bin(c, s, bin, &first, &last);
    take_nearest(s, c->list, n, &from, &to);
    widen(&first, &last, &c->list[from]);
    widen(&first, &last, &c->list[to - 1]);
    keep_from_to(c, first, last);
}

void vug_cut_top_p(vug_candidates *c, double p)
{
    mass_search s = { .unit = unit_of(c), .center = 0, .share = p };
    if (p < 1)
        cut_by_mass(c, &s);
}

/* The mean y. Masses and y are cut to 28 and 18 bits, so that the sum over 2^24 tokens fits. */
static void add_information(const float *x, size_t n, vug_mass_unit unit, uint64_t sum[2])
{
    for (size_t j = 0; j < n; j += 4) {
        vug_f32x4 logits = vug_f32x4_of(-INFINITY);
        memcpy(&logits, x + j, (n - j < 4 ? n - j : 4) * sizeof(*x));
        const vug_f32x4 y = vug_mass_octaves(logits, unit);
        vug_u64x4 mass;
        vug_mass_of_octaves(y, &mass);
        for (size_t k = 0; k < 4; k++) {
            sum[0] += mass[k] >> 12;
            sum[1] += (mass[k] >> 12) * (uint64_t)(-y[k] * 0x1p12f + 0.5f);
        }
    }
}

void vug_cut_typical_p(vug_candidates *c, double p)
{
    mass_search s = { .unit = unit_of(c), .share = p };
    float buffer[VUG_LOGITS_BLOCK];
    uint64_t sum[2] = { 0 };
    if (p >= 1)
        return;
    for (size_t i = 0; c->is_list && i < c->n_list; i++)
        add_information(&c->list[i].logit, 1, s.unit, sum);
    for (size_t b = 0; !c->is_list && b < vug_candidates_blocks(c); b++) {
        if (has_mass(c, b, s.unit))
            add_information(vug_candidates_block(c, b, buffer), VUG_LOGITS_BLOCK, s.unit, sum);
    }
    s.center = -(float)((double)sum[1] / (double)sum[0] * 0x1p-12);
    cut_by_mass(c, &s);
}

/* ---- XTC -------------------------------------------------------------------------------- */

void vug_cut_xtc(vug_candidates *c, double threshold)
{
    const vug_mass_unit unit = unit_of(c);
    const double least = threshold * (double)vug_candidates_mass(c);
    float buffer[VUG_LOGITS_BLOCK];
    vug_candidate last = c->first;
    if (c->is_list) {
        size_t n = 0;
        while (n < c->n_list && (double)mass_of(c->list[n].logit, unit) >= least)
            n++;
        if (n > 1)
            keep_part(c, n - 1, c->n_list);
        return;
    }
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        if (!vug_candidates_has_block(c, b) ||
            (double)mass_of(c->block_best[b], unit) < least)
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (int32_t j = 0; j < VUG_LOGITS_BLOCK; j++) {
            const vug_candidate one = { (int32_t)(b * VUG_LOGITS_BLOCK) + j, x[j] };
            if (one.logit >= c->last.logit && vug_candidate_is_before(&last, &one) &&
                (double)mass_of(one.logit, unit) >= least)
                last = one;
        }
    }
    if (vug_candidate_is_before(&c->first, &last))
        keep_from_to(c, last, c->last);
}
