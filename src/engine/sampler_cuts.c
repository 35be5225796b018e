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

/* ---- the likely candidates ------------------------------------------------------------ */

/* Usually few candidates have nearly all of the mass. So the best are listed, and bounds of the mass
 * of all often decide which of them a sampler keeps; no other mass is computed then. */
enum { LIKELY = 64 };

typedef struct {
    size_t n;             /* c->list[0 .. n) */
    uint64_t mass;        /* of these */
    uint64_t least, most; /* bounds of the mass of all candidates */
} likely_candidates;

static likely_candidates list_likely(vug_candidates *c, vug_mass_unit unit)
{
    likely_candidates l = { 0 };
    vug_candidates_best(c, LIKELY);
    c->is_list = false;
    l.n = c->n_list;
    for (size_t i = 0; i < l.n; i++)
        l.mass += mass_of(c->list[i].logit, unit);
    l.least = l.most = l.mass;
    if (l.n < LIKELY)
        return l;
    uint64_t best = 0;
    const float worst = c->list[l.n - 1].logit;
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        const float x = c->block_best[b];
        if (!has_mass(c, b, unit))
            continue;
        l.most += VUG_LOGITS_BLOCK * mass_of(x < worst ? x : worst, unit);
        best += x < worst && x > c->last.logit ? mass_of(x, unit) : 0;
    }
    l.least += best;
    return l;
}

/* The fewest of the likely candidates that have this mass; more than there are: all have less. */
static size_t count_with_mass(const vug_candidates *c, const likely_candidates *l, double mass)
{
    const vug_mass_unit unit = unit_of(c);
    uint64_t taken = 0;
    size_t n = 0;
    do {
        taken += n < l->n ? mass_of(c->list[n].logit, unit) : 0;
        n++;
    } while (n <= l->n && (double)taken < mass);
    return n;
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

/* ---- by mass: top-p and typical-p ------------------------------------------------------ */

/* Candidates are taken in the order of the distance of their y to a center until they have a
 * mass. For top-p the center is the best token, for typical-p the mean y: the information of a
 * token minus the entropy is (log2 sum - y) - (log2 sum - mean y). */
typedef struct {
    vug_mass_unit unit;
    float center;   /* in octaves */
    double share;   /* of the mass of all candidates */
    uint64_t taken; /* mass */
    double needed;  /* mass */
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
        const float above = up > 0 ? octaves_of(list[up - 1].logit, s->unit) - s->center : INFINITY;
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

/* Lists the candidates of a bin and returns their number. `*best` and `*worst` become the ends of
 * the logits that are nearer to the center; without any, `*best` is below `*worst`. */
static size_t list_bin(vug_candidates *c, const mass_search *s, int32_t wanted, float *best,
                       float *worst)
{
    float buffer[VUG_LOGITS_BLOCK];
    int32_t bin[VUG_LOGITS_BLOCK];
    size_t n = 0;
    vug_f32x4 high = vug_f32x4_of(-INFINITY), low = vug_f32x4_of(INFINITY);
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        if (!has_mass(c, b, s->unit))
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (size_t j = 0; j < VUG_LOGITS_BLOCK; j += 4) {
            const vug_f32x4 logit = vug_f32x4_load(x + j);
            const vug_i32x4 bins = vug_mass_bins(vug_mass_octaves(logit, s->unit), s->center);
            const vug_i32x4 nearer = (bins < wanted) & (logit >= -FLT_MAX);
            high = vug_f32x4_choose(nearer & (logit > high), logit, high);
            low = vug_f32x4_choose(nearer & (logit < low), logit, low);
            memcpy(bin + j, &bins, sizeof(bins));
        }
        for (int32_t j = 0; j < VUG_LOGITS_BLOCK; j++) {
            if (bin[j] == wanted && x[j] >= c->last.logit)
                c->list[n++] = (vug_candidate){ (int32_t)(b * VUG_LOGITS_BLOCK) + j, x[j] };
        }
    }
    *best = -INFINITY;
    *worst = INFINITY;
    for (int k = 0; k < 4; k++) {
        *best = high[k] > *best ? high[k] : *best;
        *worst = low[k] < *worst ? low[k] : *worst;
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
    float best, worst;
    const int32_t bin = find_last_bin(c, s);
    const size_t n = list_bin(c, s, bin, &best, &worst);
    take_nearest(s, c->list, n, &from, &to);
    vug_candidate first = c->list[from], last = c->list[to - 1];
    if (best > first.logit)
        first = (vug_candidate){ 0, best };
    if (worst < last.logit)
        last = (vug_candidate){ INT32_MAX, worst };
    keep_from_to(c, first, last);
}

/* Whether the likely candidates suffice. */
static bool cut_likely(vug_candidates *c, double p, vug_mass_unit unit)
{
    likely_candidates l = list_likely(c, unit);
    if ((double)l.mass < p * (double)l.least)
        return false;
    size_t n = count_with_mass(c, &l, p * (double)l.least);
    if (n != count_with_mass(c, &l, p * (double)l.most))
        n = count_with_mass(c, &l, p * (double)vug_candidates_mass(c));
    c->is_list = n <= l.n;
    c->n_list = n;
    return c->is_list;
}

void vug_cut_top_p(vug_candidates *c, double p)
{
    mass_search s = { .unit = unit_of(c), .center = 0, .share = p };
    if (p < 1 && (c->is_list || !cut_likely(c, p, s.unit)))
        cut_by_mass(c, &s);
}

/* For the mean y. Masses and y are cut to 28 and 18 bits, so that the sum over 2^18 tokens in each
 * lane fits. */
typedef struct {
    vug_u64x4 mass, product;
} information_sums;

static void add_information(information_sums *s, vug_f32x4 logit, vug_mass_unit unit)
{
    const vug_f32x4 y = vug_mass_octaves(logit, unit);
    const vug_i32x4 size = __builtin_convertvector(y * -0x1p12f + 0.5f, vug_i32x4);
    vug_u64x4 mass;
    vug_mass_of_octaves(y, &mass);
    mass >>= 12;
    s->mass += mass;
    s->product += mass * __builtin_convertvector(size, vug_u64x4);
}

static double mean_octaves(const vug_candidates *c, vug_mass_unit unit)
{
    float buffer[VUG_LOGITS_BLOCK];
    information_sums s = { 0 };
    for (size_t i = 0; c->is_list && i < c->n_list; i++)
        add_information(&s, (vug_f32x4){ c->list[i].logit, -INFINITY, -INFINITY, -INFINITY }, unit);
    for (size_t b = 0; !c->is_list && b < vug_candidates_blocks(c); b++) {
        if (!has_mass(c, b, unit))
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (size_t j = 0; j < VUG_LOGITS_BLOCK; j += 4)
            add_information(&s, vug_f32x4_load(x + j), unit);
    }
    const uint64_t mass = s.mass[0] + s.mass[1] + s.mass[2] + s.mass[3];
    const uint64_t product = s.product[0] + s.product[1] + s.product[2] + s.product[3];
    return (double)product / (double)mass * -0x1p-12;
}

void vug_cut_typical_p(vug_candidates *c, double p)
{
    mass_search s = { .unit = unit_of(c), .share = p };
    if (p >= 1)
        return;
    s.center = (float)mean_octaves(c, s.unit);
    cut_by_mass(c, &s);
}

/* ---- XTC -------------------------------------------------------------------------------- */

/* The number of candidates of a list, its best, with at least this mass each. */
static size_t count_massive(const vug_candidate *list, size_t n, vug_mass_unit unit, double least)
{
    size_t count = 0;
    while (count < n && (double)mass_of(list[count].logit, unit) >= least)
        count++;
    return count;
}

/* The last candidate with at least this mass. */
static vug_candidate find_last_massive(const vug_candidates *c, vug_mass_unit unit, double least)
{
    float buffer[VUG_LOGITS_BLOCK];
    vug_candidate last = c->first;
    for (size_t b = 0; b < vug_candidates_blocks(c); b++) {
        if (!vug_candidates_has_block(c, b) || (double)mass_of(c->block_best[b], unit) < least)
            continue;
        const float *x = vug_candidates_block(c, b, buffer);
        for (int32_t j = 0; j < VUG_LOGITS_BLOCK; j++) {
            const vug_candidate one = { (int32_t)(b * VUG_LOGITS_BLOCK) + j, x[j] };
            if (one.logit >= c->last.logit && vug_candidate_is_before(&last, &one) &&
                (double)mass_of(one.logit, unit) >= least)
                last = one;
        }
    }
    return last;
}

void vug_cut_xtc(vug_candidates *c, double threshold)
{
    const vug_mass_unit unit = unit_of(c);
    if (c->is_list) {
        const double least = threshold * (double)vug_candidates_mass(c);
        const size_t n = count_massive(c->list, c->n_list, unit, least);
        if (n > 1)
            keep_part(c, n - 1, c->n_list);
        return;
    }
    const likely_candidates l = list_likely(c, unit);
    size_t n = count_massive(c->list, l.n, unit, threshold * (double)l.least);
    vug_candidate last = c->list[n > 0 ? n - 1 : 0];
    if (n == l.n || n != count_massive(c->list, l.n, unit, threshold * (double)l.most))
        last = find_last_massive(c, unit, threshold * (double)vug_candidates_mass(c));
    if (vug_candidate_is_before(&c->first, &last))
        keep_from_to(c, last, c->last);
}
