#include "server/metrics.h"

#include <string.h>

#include "core/json_writer.h"
#include "core/os.h"
#include "core/pool.h"

typedef enum { COUNTER, GAUGE, SECONDS, RATIO } metric_kind;

static const struct {
    metric_kind kind;
    const char *name, *help;
} table[VUG_METRIC_COUNT] = {
#define X(id, kind, name, help) { kind, name, help },
    VUG_METRIC_TABLE(X)
#undef X
};

/* Upper bounds of histograms. Seconds: from a token of a small model to a long prefill. */
static const double seconds_bound[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                        0.5,   1,      2.5,   5,    10,    30,   60,  300 };
static const double ratio_bound[] = { 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1 };
enum {
    N_SECONDS_BOUNDS = sizeof(seconds_bound) / sizeof(seconds_bound[0]),
    N_RATIO_BOUNDS = sizeof(ratio_bound) / sizeof(ratio_bound[0]),
    MAX_BOUNDS = N_SECONDS_BOUNDS,
};
_Static_assert((int)N_RATIO_BOUNDS <= (int)MAX_BOUNDS, "a series has a count for each bound");

typedef struct {
    const double *bound; /* [n] ascending */
    int n;               /* 0: the metric is no histogram */
} metric_bounds;

typedef struct metric_series metric_series;
struct metric_series {
    metric_series *next;
    const char *labels; /* "" without */
    double value;       /* the sum, for a histogram */
    uint64_t count[MAX_BOUNDS + 1];
};

struct vug_metrics {
    vug_mutex *lock; /* guards the rest */
    vug_arena arena;
    size_t n_series;
    metric_series *first[VUG_METRIC_COUNT];
};

static metric_bounds bounds_of(vug_metric id)
{
    switch (table[id].kind) {
    case SECONDS:
        return (metric_bounds){ seconds_bound, N_SECONDS_BOUNDS };
    case RATIO:
        return (metric_bounds){ ratio_bound, N_RATIO_BOUNDS };
    default:
        return (metric_bounds){ 0 };
    }
}

/* Under the lock. Creates a missing series; NULL when there are too many. */
static metric_series *find_series(vug_metrics *m, vug_metric id, const char *labels)
{
    metric_series **at = &m->first[id];
    labels = labels ? labels : "";
    while (*at && strcmp((*at)->labels, labels) != 0)
        at = &(*at)->next;
    if (*at || m->n_series == VUG_METRIC_MAX_SERIES)
        return *at;
    metric_series *made = vug_arena_alloc(&m->arena, 1, sizeof(*made));
    const vug_str copy = vug_arena_copy(&m->arena, vug_str_of(labels));
    if (!made || !copy.ptr)
        return NULL;
    made->labels = copy.ptr;
    m->n_series++;
    *at = made;
    return made;
}

vug_status vug_metrics_create(vug_metrics **out, vug_err *err)
{
    vug_metrics *m = vug_alloc_zero(1, sizeof(*m));
    if (!m)
        return VUG_FAIL_NOMEM(err, "metrics", sizeof(*m));
    const vug_status st = vug_mutex_create(&m->lock, err);
    if (st != VUG_OK) {
        vug_free(m);
        return st;
    }
    for (int id = 0; id < VUG_METRIC_COUNT; id++) {
        if (id != VUG_METRIC_REQUESTS)
            (void)find_series(m, (vug_metric)id, NULL);
    }
    *out = m;
    return VUG_OK;
}

void vug_metrics_destroy(vug_metrics *m)
{
    if (!m)
        return;
    vug_mutex_destroy(m->lock);
    vug_arena_release(&m->arena);
    vug_free(m);
}

void vug_metrics_add(vug_metrics *m, vug_metric id, const char *labels, double v)
{
    if (!m)
        return;
    vug_mutex_lock(m->lock);
    metric_series *s = find_series(m, id, labels);
    if (s)
        s->value += v;
    vug_mutex_unlock(m->lock);
}

void vug_metrics_set(vug_metrics *m, vug_metric id, double v)
{
    if (!m)
        return;
    vug_mutex_lock(m->lock);
    metric_series *s = find_series(m, id, NULL);
    if (s)
        s->value = v;
    vug_mutex_unlock(m->lock);
}

void vug_metrics_observe(vug_metrics *m, vug_metric id, double v)
{
    if (!m)
        return;
    const metric_bounds bounds = bounds_of(id);
    int b = 0;
    while (b < bounds.n && v > bounds.bound[b])
        b++;
    vug_mutex_lock(m->lock);
    metric_series *s = find_series(m, id, NULL);
    if (s) {
        s->value += v;
        s->count[b]++;
    }
    vug_mutex_unlock(m->lock);
}

static uint64_t count_samples(const metric_series *s)
{
    uint64_t n = 0;
    for (int b = 0; b <= MAX_BOUNDS; b++)
        n += s->count[b];
    return n;
}

double vug_metrics_get(vug_metrics *m, vug_metric id, const char *labels)
{
    double v = 0;
    if (!m)
        return v;
    vug_mutex_lock(m->lock);
    const metric_series *s = find_series(m, id, labels);
    if (s)
        v = bounds_of(id).n > 0 ? (double)count_samples(s) : s->value;
    vug_mutex_unlock(m->lock);
    return v;
}

/* ---- text -------------------------------------------------------------------------- */

static void write_histogram(vug_metric id, const metric_series *s, vug_buf *to)
{
    const char *name = table[id].name;
    const metric_bounds bounds = bounds_of(id);
    uint64_t n = 0;
    for (int b = 0; b < bounds.n; b++) {
        n += s->count[b];
        vug_buf_printf(to, "%s_bucket{le=\"", name);
        vug_json_append_f64(to, bounds.bound[b]);
        vug_buf_printf(to, "\"} %llu\n", (unsigned long long)n);
    }
    n += s->count[bounds.n];
    vug_buf_printf(to, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum ", name, (unsigned long long)n, name);
    vug_json_append_f64(to, s->value);
    vug_buf_printf(to, "\n%s_count %llu\n", name, (unsigned long long)n);
}

static void write_value(const char *name, const metric_series *s, vug_buf *to)
{
    if (*s->labels)
        vug_buf_printf(to, "%s{%s} ", name, s->labels);
    else
        vug_buf_printf(to, "%s ", name);
    vug_json_append_f64(to, s->value);
    vug_buf_puts(to, "\n");
}

void vug_metrics_write(vug_metrics *m, vug_buf *to)
{
    static const char *const kinds[] = { "counter", "gauge", "histogram", "histogram" };
    if (!m)
        return;
    vug_metrics_set(m, VUG_METRIC_RESIDENT, (double)vug_memory_resident());
    vug_mutex_lock(m->lock);
    for (int id = 0; id < VUG_METRIC_COUNT; id++) {
        const char *name = table[id].name;
        vug_buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", name, table[id].help, name,
                       kinds[table[id].kind]);
        for (const metric_series *s = m->first[id]; s; s = s->next) {
            if (bounds_of((vug_metric)id).n > 0)
                write_histogram((vug_metric)id, s, to);
            else
                write_value(name, s, to);
        }
    }
    vug_mutex_unlock(m->lock);
}
