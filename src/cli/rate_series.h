#ifndef VUG_CLI_RATE_SERIES_H
#define VUG_CLI_RATE_SERIES_H

/* Repeated measurements of one rate, or of a ratio of rates. */

enum { VUG_MAX_RUNS = 1000 };

typedef struct {
    double run[VUG_MAX_RUNS]; /* in the order in which they were measured */
    int n;
    double median, min, max;
} vug_rate_series;

/* `s->n` < VUG_MAX_RUNS. */
void vug_rate_series_add(vug_rate_series *s, double rate);
/* Sets median, min and max, unless there are no runs. */
void vug_rate_series_summarise(vug_rate_series *s);

#endif
