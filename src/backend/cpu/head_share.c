/*
 * Whether a screened row of logits shows which tokens top-p keeps: the fewest best ones that have a
 * share p of the mass, the sum of exp(scale * logit) of all tokens.
 *
 * The outputs that were computed have the mass m, and all others together at most `rest`. So p times
 * the mass of all is between p m and p (m + rest). If the best outputs whose mass reaches the one are
 * those whose mass reaches the other, a reader of the row keeps them, too, though it takes the mass of
 * the others for 0.
 */
#include "backend/cpu/head_screen.h"

#include <math.h>

/* Readers compute masses as integers from logits in F32 (engine/token_mass.h): within 5e-6 of what
 * they are here, and 2^-23 for all that they round to 0. */
static const double reader_error = 2e-5;

/* The masses of the outputs that were computed, relative to exp(scale * best); -1: too many, or some
 * are not finite. */
static int64_t list_masses(const vug_cpu_head_share *s, double *mass)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->n_ids; i++) {
        const float y = s->logits[i];
        if (y == VUG_LOGIT_UNWANTED)
            continue;
        if (n == VUG_CPU_HEAD_MOST_MASSES || !isfinite(y))
            return -1;
        mass[n++] = exp(((double)y - s->best) * s->scale);
    }
    return n;
}

static double sum_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Of the greatest masses that sum to `needed`, the least one, and the sum of the others. */
typedef struct {
    double before, last;
} share_boundary;

/* Changes the order of mass [n], n > 0 (Hoare's quickselect, by sums). */
static share_boundary find_boundary(double *mass, int64_t n, double needed)
{
    double before = 0;
    int64_t low = 0, high = n - 1;
    while (low < high) {
        const double pivot = mass[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (mass[i] > pivot)
                i++;
            while (mass[j] < pivot)
                j--;
            if (i > j)
                break;
            const double swapped = mass[i];
            mass[i++] = mass[j];
            mass[j--] = swapped;
        }
        const double greater = before + sum_of(mass + low, j + 1 - low);
        const double equal = sum_of(mass + j + 1, i - j - 1); /* of none or one */
        if (greater >= needed && j >= low) {
            high = j;
        } else if (greater + equal >= needed || i > high) {
            return (share_boundary){ greater, pivot };
        } else {
            before = greater + equal;
            low = i;
        }
    }
    return (share_boundary){ before, mass[low] };
}

bool vug_cpu_head_decides_share(const vug_cpu_head_share *s, double *mass)
{
    const int64_t n = list_masses(s, mass);
    if (n <= 0)
        return false;
    const double sum = sum_of(mass, n), least = s->share * sum, most = s->share * (sum + s->rest);
    const share_boundary at = find_boundary(mass, n, least);
    /* All outputs that are better than the last were computed. */
    const bool is_above_limit = at.last > exp((s->limit - s->best) * s->scale) * (1 + reader_error);
    return is_above_limit && (at.before == 0 || at.before < least * (1 - reader_error)) &&
           at.before + at.last > most * (1 + reader_error);
}
