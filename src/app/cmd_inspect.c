#include <math.h>
#include <string.h>

#include "app/commands.h"
#include "app/js.h"
#include "core/mem.h"
#include "vug/checkpoint.h"

typedef struct {
    const vug_model *model;
    const vug_tensor_statistics *statistics; /* [tensors]; NULL: not asked for */
    bool tensors;                            /* list them */
} looked_at;

/* "MLX4/64": with the number of weights that share a scale, where it lies apart; for
 * blocks "/128x128", where each row has one "/row", and for a matrix "/tensor". */
typedef struct {
    char text[48];
} format_text;

static format_text format_of(const vug_tensor_info *t)
{
    format_text out;
    const long long rows = t->share[0], columns = t->share[1];
    const bool apart = rows > 0 && t->rank >= 2;
    const bool all_columns = apart && columns >= t->dim[t->rank - 1];
    if (!apart)
        (void)snprintf(out.text, sizeof(out.text), "%s", t->format);
    else if (all_columns && rows >= t->dim[t->rank - 2])
        (void)snprintf(out.text, sizeof(out.text), "%s/tensor", t->format);
    else if (all_columns && rows == 1 && strncmp(t->format, "MLX", 3) != 0)
        (void)snprintf(out.text, sizeof(out.text), "%s/row", t->format);
    else if (rows == 1)
        (void)snprintf(out.text, sizeof(out.text), "%s/%lld", t->format, columns);
    else
        (void)snprintf(out.text, sizeof(out.text), "%s/%lldx%lld", t->format, rows, columns);
    return out;
}

/* Tensors of one format, used or passed over. */
typedef struct {
    format_text format;
    bool used;
    size_t n;
    uint64_t bytes, weights;
} format_total;

enum { MAX_TOTALS = 64 };

static void count(const vug_tensor_info *t, format_total *total)
{
    uint64_t weights = 1;
    for (int d = 0; d < t->rank; d++)
        weights *= (uint64_t)t->dim[d];
    total->n++;
    total->bytes += t->bytes;
    total->weights += weights;
}

static double bits_per_weight(const format_total *total)
{
    return total->weights ? (double)total->bytes * 8 / (double)total->weights : 0;
}

/* The number of formats. `all` counts every tensor, of further formats too. */
static size_t totals_of(const vug_model *model, format_total total[MAX_TOTALS], format_total *all)
{
    size_t n = 0;
    *all = (format_total){ .format = { "total" } };
    for (size_t i = 0; i < vug_model_tensor_count(model); i++) {
        const vug_tensor_info t = vug_model_tensor(model, i);
        const format_text format = format_of(&t);
        size_t k = 0;
        while (k < n && (total[k].used != t.used || strcmp(total[k].format.text, format.text) != 0))
            k++;
        count(&t, all);
        if (k == MAX_TOTALS)
            continue;
        if (k == n)
            total[n++] = (format_total){ .format = format, .used = t.used };
        count(&t, &total[k]);
    }
    return n;
}

static bool same_layer(const vug_layer_info *a, const vug_layer_info *b)
{
    const bool shared = strcmp(a->cache, "shared") == 0;
    return strcmp(a->cache, b->cache) == 0 && a->window == b->window && a->slots == b->slots &&
           a->cache_bytes == b->cache_bytes && a->n_kv_heads == b->n_kv_heads &&
           a->d_head == b->d_head && (!shared || a->source == b->source);
}

/* X(field): of vug_memory_plan, in the order of its sum. */
#define MEMORY_ROWS(X)                                         \
    X(weights_mapped, "weights, read in place")                \
    X(tables_mapped, "tables, read by rows, not in the total") \
    X(weights_copied, "weights, converted or packed")          \
    X(tokenizer, "tokenizer")                                  \
    X(graph, "program and tables")                             \
    X(session_cache, "keys and values, for the whole context") \
    X(session_buffers, "buffers of a step")                    \
    X(session_snapshots, "windows to go back to")              \
    X(process, "program code and stacks")                      \
    X(total, "total, with one session")

/* ---- for a person ------------------------------------------------------------------ */

static void print_head(const vug_model_info *m, vug_buf *to)
{
    vug_buf_printf(to, "%s\n", m->path);
    vug_buf_printf(to, "  %s, %s parameters, %s weight bytes per token\n", m->architecture,
                   vug_human_count((double)m->n_parameters).text,
                   vug_human_bytes(m->bytes_per_token).text);
    vug_buf_printf(to, "  %lld layers, width %lld, %lld heads (%lld for keys and values) of %lld\n",
                   (long long)m->n_layers, (long long)m->d_model, (long long)m->n_heads,
                   (long long)m->n_kv_heads, (long long)m->d_head);
    vug_buf_printf(to, "  feed-forward %lld, vocabulary %lld, output head %s\n",
                   (long long)m->d_ffn, (long long)m->n_vocab, m->tied_head ? "tied" : "separate");
    if (m->n_experts)
        vug_buf_printf(to, "  %lld of %lld experts of width %lld, %s parameters for each token\n",
                       (long long)m->n_experts_chosen, (long long)m->n_experts,
                       (long long)m->d_expert, vug_human_count((double)m->n_active).text);
    vug_buf_printf(to, "  context %lld of %lld trained, batch %lld, keys and values in %s\n",
                   (long long)m->context, (long long)m->context_trained, (long long)m->batch,
                   m->kv);
    vug_buf_printf(to, "  runs on %s (%s), %d threads\n", m->device, m->kernels, m->threads);
}

static void print_total(const format_total *total, const char *note, vug_buf *to)
{
    vug_buf_printf(to, "  %-15s %6zu %12s %6.2f bits per weight%s\n", total->format.text, total->n,
                   vug_human_bytes(total->bytes).text, bits_per_weight(total), note);
}

static void print_totals(const vug_model *model, vug_buf *to)
{
    format_total total[MAX_TOTALS], all;
    const size_t n = totals_of(model, total, &all);
    vug_buf_puts(to, "\ntensors\n");
    for (size_t i = 0; i < n; i++)
        print_total(&total[i], total[i].used ? "" : "  passed over", to);
    print_total(&all, "", to);
}

static void print_memory(const vug_memory_plan *plan, vug_buf *to)
{
    vug_buf_puts(to, "\nmemory\n");
#define X(field, what) \
    vug_buf_printf(to, "  %-40s %12s\n", what, vug_human_bytes(plan->field).text);
    MEMORY_ROWS(X)
#undef X
}

/* "0-4, 6-10": the layers from `first` on that are as it is. */
static void print_layers_like(const vug_model *model, size_t first, size_t n, vug_buf *to)
{
    const vug_layer_info like = vug_model_layer(model, first);
    const char *gap = "";
    for (size_t i = first; i < n; i++) {
        size_t last = i;
        vug_layer_info layer = vug_model_layer(model, i);
        if (!same_layer(&like, &layer))
            continue;
        while (last + 1 < n) {
            layer = vug_model_layer(model, last + 1);
            if (!same_layer(&like, &layer))
                break;
            last++;
        }
        vug_buf_printf(to, last > i ? "%s%zu-%zu" : "%s%zu", gap, i, last);
        gap = ", ";
        i = last;
    }
}

static void print_caches(const vug_model *model, size_t n, vug_buf *to)
{
    vug_buf_puts(to, "\ncaches of layers\n");
    for (size_t i = 0; i < n; i++) {
        const vug_layer_info layer = vug_model_layer(model, i);
        size_t before = 0, count = 0;
        for (size_t k = 0; k < n; k++) {
            const vug_layer_info other = vug_model_layer(model, k);
            const bool same = same_layer(&layer, &other);
            before += same && k < i;
            count += same;
        }
        if (before)
            continue;
        vug_buf_printf(to, "  %3zu x %-6s", count, layer.cache);
        if (layer.source != (int64_t)i) {
            vug_buf_printf(to, " with layer %lld: ", (long long)layer.source);
        } else {
            if (layer.window)
                vug_buf_printf(to, " of %lld tokens,", (long long)layer.window);
            vug_buf_printf(to, " %lld slots of %lld x %lld, %s each: ", (long long)layer.slots,
                           (long long)layer.n_kv_heads, (long long)layer.d_head,
                           vug_human_bytes(layer.cache_bytes).text);
        }
        print_layers_like(model, i, n, to);
        vug_buf_puts(to, "\n");
    }
}

/* "[512,256]" */
typedef struct {
    char text[176];
} shape_text;

static shape_text shape_of(const vug_tensor_info *t)
{
    shape_text out = { "[" };
    int at = 1;
    for (int d = 0; d < t->rank; d++)
        at += snprintf(out.text + at, sizeof(out.text) - (size_t)at, d ? ",%lld" : "%lld",
                       (long long)t->dim[d]);
    (void)snprintf(out.text + at, sizeof(out.text) - (size_t)at, "]");
    return out;
}

/* A dash where there is no such number. */
static void print_number(double x, vug_buf *to)
{
    if (isnan(x))
        vug_buf_printf(to, " %11s", "-");
    else
        vug_buf_printf(to, " %11.4g", x);
}

static void print_statistics(const vug_tensor_statistics *s, vug_buf *to)
{
    print_number(s->min, to);
    print_number(s->max, to);
    print_number(s->mean, to);
    print_number(s->rms, to);
    if (s->n)
        vug_buf_printf(to, " %10llu", (unsigned long long)s->n_bad);
    else
        vug_buf_printf(to, " %10s", "-");
}

static void print_tensors(const looked_at *l, vug_buf *to)
{
    vug_buf_puts(to, "\nall tensors\n");
    if (l->statistics)
        vug_buf_printf(to, "  %-15s %-15s %11s %11s %11s %11s %11s %10s\n", "", "", "", "min",
                       "max", "mean", "rms", "not finite");
    for (size_t i = 0; i < vug_model_tensor_count(l->model); i++) {
        const vug_tensor_info t = vug_model_tensor(l->model, i);
        vug_buf_printf(to, "  %-15s %-15s %11s", format_of(&t).text, shape_of(&t).text,
                       vug_human_bytes(t.bytes).text);
        if (l->statistics)
            print_statistics(&l->statistics[i], to);
        vug_buf_printf(to, "  %s: %s%s\n", t.file, t.name, t.used ? "" : " (passed over)");
    }
}

static void as_text(const looked_at *l, vug_buf *to)
{
    const vug_model *model = l->model;
    const vug_model_info m = vug_model_describe(model);
    vug_err why;
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, &why);
    print_head(&m, to);
    if (tokenizer)
        vug_buf_printf(to, "  tokenizer of %d ids\n", (int)vug_tokenizer_size(tokenizer));
    else
        vug_buf_printf(to, "  no tokenizer: %s\n", why.msg);
    print_totals(model, to);
    print_memory(&m.memory, to);
    print_caches(model, (size_t)m.n_layers, to);
    if (l->tensors)
        print_tensors(l, to);
}

/* ---- for a program ----------------------------------------------------------------- */

static void json_head(const vug_model *model, const vug_model_info *m, vug_js *js)
{
    vug_js_str(js, "path", m->path);
    vug_js_str(js, "architecture", m->architecture);
    vug_js_str(js, "device", m->device);
    vug_js_str(js, "kernels", m->kernels);
    vug_js_int(js, "threads", m->threads);
    vug_js_int(js, "layers", m->n_layers);
    vug_js_int(js, "d_model", m->d_model);
    vug_js_int(js, "heads", m->n_heads);
    vug_js_int(js, "kv_heads", m->n_kv_heads);
    vug_js_int(js, "d_head", m->d_head);
    vug_js_int(js, "d_ffn", m->d_ffn);
    vug_js_int(js, "vocabulary", m->n_vocab);
    vug_js_int(js, "experts", m->n_experts);
    vug_js_int(js, "experts_chosen", m->n_experts_chosen);
    vug_js_int(js, "d_expert", m->d_expert);
    vug_js_int(js, "parameters", m->n_parameters);
    vug_js_int(js, "active_parameters", m->n_active);
    vug_js_bool(js, "tied_head", m->tied_head);
    vug_js_int(js, "context_trained", m->context_trained);
    vug_js_int(js, "context", m->context);
    vug_js_int(js, "batch", m->batch);
    vug_js_str(js, "kv", m->kv);
    vug_js_u64(js, "bytes_per_token", m->bytes_per_token);
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, NULL);
    if (tokenizer)
        vug_js_int(js, "tokenizer_size", vug_tokenizer_size(tokenizer));
    else
        vug_js_str(js, "tokenizer_size", NULL);
    size_t n;
    const int32_t *stop = vug_model_stop_tokens(model, &n);
    vug_js_ids(js, "stop_tokens", stop, n);
    const vug_sampling_defaults sampling = vug_model_sampling(model);
    vug_js_open(js, "sampling", '[');
    for (size_t i = 0; i < sampling.n; i++) {
        vug_js_open(js, NULL, '{');
        vug_js_str(js, "stage", vug_sampler_name(sampling.stage[i].kind));
        vug_js_f64(js, "value", (double)sampling.stage[i].value);
        vug_js_close(js, '}');
    }
    vug_js_close(js, ']');
}

static void json_layers(const vug_model *model, size_t n, vug_js *js)
{
    vug_js_open(js, "layer_caches", '[');
    for (size_t i = 0; i < n; i++) {
        const vug_layer_info layer = vug_model_layer(model, i);
        vug_js_open(js, NULL, '{');
        vug_js_str(js, "cache", layer.cache);
        vug_js_int(js, "window", layer.window);
        vug_js_int(js, "slots", layer.slots);
        vug_js_u64(js, "bytes", layer.cache_bytes);
        vug_js_int(js, "source", layer.source);
        vug_js_int(js, "kv_heads", layer.n_kv_heads);
        vug_js_int(js, "d_head", layer.d_head);
        vug_js_close(js, '}');
    }
    vug_js_close(js, ']');
}

static void json_total(const format_total *total, vug_js *js)
{
    vug_js_u64(js, "tensors", total->n);
    vug_js_u64(js, "bytes", total->bytes);
    vug_js_u64(js, "weights", total->weights);
    vug_js_f64(js, "bits_per_weight", bits_per_weight(total));
}

static void json_totals(const vug_model *model, vug_js *js)
{
    format_total total[MAX_TOTALS], all;
    const size_t n = totals_of(model, total, &all);
    vug_js_open(js, "formats", '[');
    for (size_t i = 0; i < n; i++) {
        vug_js_open(js, NULL, '{');
        vug_js_str(js, "format", total[i].format.text);
        vug_js_bool(js, "used", total[i].used);
        json_total(&total[i], js);
        vug_js_close(js, '}');
    }
    vug_js_close(js, ']');
    vug_js_open(js, "total", '{');
    json_total(&all, js);
    vug_js_close(js, '}');
}

/* Numbers that there are not are null. */
static void json_statistics(const vug_tensor_statistics *s, vug_js *js)
{
    if (s->n == 0) {
        vug_js_str(js, "statistics", NULL);
        return;
    }
    vug_js_open(js, "statistics", '{');
    vug_js_f64(js, "min", s->min);
    vug_js_f64(js, "max", s->max);
    vug_js_f64(js, "mean", s->mean);
    vug_js_f64(js, "rms", s->rms);
    vug_js_u64(js, "not_finite", s->n_bad);
    vug_js_close(js, '}');
}

static void json_tensors(const looked_at *l, vug_js *js)
{
    vug_js_open(js, "tensors", '[');
    for (size_t i = 0; i < vug_model_tensor_count(l->model); i++) {
        const vug_tensor_info t = vug_model_tensor(l->model, i);
        vug_js_open(js, NULL, '{');
        vug_js_str(js, "name", t.name);
        vug_js_str(js, "format", format_of(&t).text);
        vug_js_str(js, "file", t.file);
        vug_js_open(js, "shape", '[');
        for (int d = 0; d < t.rank; d++)
            vug_js_int(js, NULL, t.dim[d]);
        vug_js_close(js, ']');
        vug_js_u64(js, "bytes", t.bytes);
        vug_js_bool(js, "used", t.used);
        if (l->statistics)
            json_statistics(&l->statistics[i], js);
        vug_js_close(js, '}');
    }
    vug_js_close(js, ']');
}

static void as_json(const looked_at *l, vug_js *js)
{
    const vug_model *model = l->model;
    const vug_model_info m = vug_model_describe(model);
    vug_js_open(js, NULL, '{');
    json_head(model, &m, js);
    json_totals(model, js);
    vug_js_open(js, "memory", '{');
#define X(field, text) vug_js_u64(js, #field, m.memory.field);
    MEMORY_ROWS(X)
#undef X
    vug_js_close(js, '}');
    json_layers(model, (size_t)m.n_layers, js);
    json_tensors(l, js);
    vug_js_close(js, '}');
}

/* For vug_free; NULL and a sentence when that fails. */
static vug_tensor_statistics *read_statistics(const vug_ui *ui, const vug_options *opt,
                                              const vug_model *model, vug_err *err)
{
    const size_t n = vug_model_tensor_count(model);
    vug_tensor_statistics *out = vug_alloc(n, sizeof(*out));
    if (!out) {
        (void)VUG_FAIL_NOMEM(err, "statistics of tensors", n * sizeof(*out));
        return NULL;
    }
    vug_bar bar = vug_bar_start(ui, "reading weights", opt->quiet);
    const vug_status st = vug_model_statistics(model, vug_bar_step, &bar, out, err);
    vug_bar_end(&bar);
    if (st == VUG_OK)
        return out;
    vug_free(out);
    return NULL;
}

static int show(vug_ui *ui, const vug_options *opt, const looked_at *l)
{
    if (opt->json) {
        vug_js js = { 0 };
        as_json(l, &js);
        return vug_js_print(&js, ui, VUG_EXIT_OK);
    }
    vug_buf text = { 0 };
    as_text(l, &text);
    return vug_ui_print(ui, &text, VUG_EXIT_OK);
}

int vug_cmd_inspect(vug_ui *ui, const vug_options *opt)
{
    vug_model_options how = vug_options_model(opt);
    vug_model *model;
    vug_tensor_statistics *statistics = NULL;
    vug_err err;
    int code;
    how.lazy = true;
    if (vug_model_open(opt->operand[0], &how, &model, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    if (opt->stats)
        statistics = read_statistics(ui, opt, model, &err);
    if (opt->stats && !statistics) {
        code = vug_ui_fail(ui, &err);
    } else {
        const looked_at l = { model, statistics, opt->tensors || opt->stats };
        code = show(ui, opt, &l);
    }
    vug_free(statistics);
    vug_model_close(model);
    return code;
}
