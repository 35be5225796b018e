/* Repeated measurements of one rate. */
#include "cli/rate_series.h"

#include <stdlib.h>
#include <string.h>

static int compare_doubles(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

/* Sorts `v`. */
static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), compare_doubles);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

void vug_rate_series_add(vug_rate_series *s, double rate)
{
    s->run[s->n++] = rate;
}

void vug_rate_series_summarise(vug_rate_series *s)
{
    double sorted[VUG_MAX_RUNS];
    if (s->n == 0)
        return;
    memcpy(sorted, s->run, (size_t)s->n * sizeof(*sorted));
    s->median = median(sorted, s->n);
    s->min = sorted[0];
    s->max = sorted[s->n - 1];
}
