#include "app/server/metrics.h"

#include <string.h>

#include "core/json.h"
#include "core/os.h"

typedef enum { COUNTER, GAUGE, HISTOGRAM } kind;

static const struct {
    kind kind;
    const char *name, *help;
} rows[VUG_METRIC_COUNT] = {
#define X(id, kind, name, help) { kind, name, help },
    VUG_METRIC_TABLE(X)
#undef X
};

/* Upper bounds in seconds: from a token of a small model to a long prefill. */
static const double bound[] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                0.5,   1,      2.5,   5,    10,    30,   60,  300 };
enum { N_BOUNDS = sizeof(bound) / sizeof(bound[0]) };

typedef struct series series;
struct series {
    series *next;
    const char *labels; /* "" without */
    double value;       /* of a histogram the sum */
    uint64_t count[N_BOUNDS + 1];
};

struct vug_metrics {
    vug_lock *lock; /* guards the rest */
    vug_arena arena;
    size_t n_series;
    series *first[VUG_METRIC_COUNT];
};

/* Made when it is new; NULL when there are too many. Under the lock. */
static series *find(vug_metrics *m, vug_metric id, const char *labels)
{
    series **at = &m->first[id];
    labels = labels ? labels : "";
    while (*at && strcmp((*at)->labels, labels) != 0)
        at = &(*at)->next;
    if (*at || m->n_series == VUG_METRIC_MAX_SERIES)
        return *at;
    series *made = vug_arena_alloc(&m->arena, 1, sizeof(*made));
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
    const vug_status st = vug_lock_create(&m->lock, err);
    if (st != VUG_OK) {
        vug_free(m);
        return st;
    }
    for (int id = 0; id < VUG_METRIC_COUNT; id++) {
        if (id != VUG_METRIC_REQUESTS)
            (void)find(m, (vug_metric)id, NULL);
    }
    *out = m;
    return VUG_OK;
}

void vug_metrics_destroy(vug_metrics *m)
{
    if (!m)
        return;
    vug_lock_destroy(m->lock);
    vug_arena_release(&m->arena);
    vug_free(m);
}

void vug_metrics_add(vug_metrics *m, vug_metric id, const char *labels, double v)
{
    if (!m)
        return;
    vug_lock_take(m->lock);
    series *s = find(m, id, labels);
    if (s)
        s->value += v;
    vug_lock_leave(m->lock);
}

void vug_metrics_set(vug_metrics *m, vug_metric id, double v)
{
    if (!m)
        return;
    vug_lock_take(m->lock);
    series *s = find(m, id, NULL);
    if (s)
        s->value = v;
    vug_lock_leave(m->lock);
}

void vug_metrics_observe(vug_metrics *m, vug_metric id, double seconds)
{
    if (!m)
        return;
    int b = 0;
    while (b < N_BOUNDS && seconds > bound[b])
        b++;
    vug_lock_take(m->lock);
    series *s = find(m, id, NULL);
    if (s) {
        s->value += seconds;
        s->count[b]++;
    }
    vug_lock_leave(m->lock);
}

static uint64_t total(const series *s)
{
    uint64_t n = 0;
    for (int b = 0; b <= N_BOUNDS; b++)
        n += s->count[b];
    return n;
}

double vug_metrics_get(vug_metrics *m, vug_metric id, const char *labels)
{
    double v = 0;
    if (!m)
        return v;
    vug_lock_take(m->lock);
    const series *s = find(m, id, labels);
    if (s)
        v = rows[id].kind == HISTOGRAM ? (double)total(s) : s->value;
    vug_lock_leave(m->lock);
    return v;
}

/* ---- text -------------------------------------------------------------------------- */

static void write_histogram(const char *name, const series *s, vug_buf *to)
{
    uint64_t n = 0;
    for (int b = 0; b < N_BOUNDS; b++) {
        n += s->count[b];
        vug_buf_printf(to, "%s_bucket{le=\"", name);
        vug_json_write_f64(to, bound[b]);
        vug_buf_printf(to, "\"} %llu\n", (unsigned long long)n);
    }
    n += s->count[N_BOUNDS];
    vug_buf_printf(to, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum ", name, (unsigned long long)n, name);
    vug_json_write_f64(to, s->value);
    vug_buf_printf(to, "\n%s_count %llu\n", name, (unsigned long long)n);
}

static void write_value(const char *name, const series *s, vug_buf *to)
{
    if (*s->labels)
        vug_buf_printf(to, "%s{%s} ", name, s->labels);
    else
        vug_buf_printf(to, "%s ", name);
    vug_json_write_f64(to, s->value);
    vug_buf_puts(to, "\n");
}

void vug_metrics_write(vug_metrics *m, vug_buf *to)
{
    static const char *const kinds[] = { "counter", "gauge", "histogram" };
    if (!m)
        return;
    vug_metrics_set(m, VUG_METRIC_RESIDENT, (double)vug_memory_resident());
    vug_lock_take(m->lock);
    for (int id = 0; id < VUG_METRIC_COUNT; id++) {
        const char *name = rows[id].name;
        vug_buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", name, rows[id].help, name,
                       kinds[rows[id].kind]);
        for (const series *s = m->first[id]; s; s = s->next) {
            if (rows[id].kind == HISTOGRAM)
                write_histogram(name, s, to);
            else
                write_value(name, s, to);
        }
    }
    vug_lock_leave(m->lock);
}
