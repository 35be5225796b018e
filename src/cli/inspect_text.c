#include <math.h>
#include <string.h>

#include "cli/inspect.h"
#include "cli/ui.h"

static bool same_cache(const vug_layer_info *a, const vug_layer_info *b)
{
    const bool shared = strcmp(a->cache, "shared") == 0;
    return strcmp(a->cache, b->cache) == 0 && a->window == b->window && a->slots == b->slots &&
           a->cache_bytes == b->cache_bytes && a->n_kv_heads == b->n_kv_heads &&
           a->d_head == b->d_head && (!shared || a->source == b->source);
}

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
                       (long long)m->n_experts_per_token, (long long)m->n_experts,
                       (long long)m->d_expert,
                       vug_human_count((double)m->n_active_parameters).text);
    vug_buf_printf(to, "  context %lld of %lld trained, batch %lld, keys and values in %s\n",
                   (long long)m->context, (long long)m->context_trained, (long long)m->batch,
                   m->kv);
    vug_buf_printf(to, "  runs on %s (%s), %d threads\n", m->device, m->kernels, m->threads);
    if (m->note)
        vug_buf_printf(to, "  %s\n", m->note);
}

static void print_total(const vug_format_total *total, const char *note, vug_buf *to)
{
    vug_buf_printf(to, "  %-15s %6zu %12s %6.2f bits per weight%s\n", total->format.text, total->n,
                   vug_human_bytes(total->bytes).text, vug_inspect_bits_per_weight(total), note);
}

static void print_totals(const vug_model *model, vug_buf *to)
{
    vug_format_total total[VUG_INSPECT_MAX_FORMATS], all;
    const size_t n = vug_inspect_totals(model, total, &all);
    vug_buf_puts(to, "\ntensors\n");
    for (size_t i = 0; i < n; i++)
        print_total(&total[i], total[i].used ? "" : "  unused", to);
    print_total(&all, "", to);
}

static void print_memory(const vug_memory_plan *plan, vug_buf *to)
{
    vug_buf_puts(to, "\nmemory\n");
#define X(field, what) \
    vug_buf_printf(to, "  %-40s %12s\n", what, vug_human_bytes(plan->field).text);
    VUG_MEMORY_ROWS(X)
#undef X
}

/* What is on which of two devices. */
static void print_parts(const vug_model *model, vug_buf *to)
{
    vug_buf_printf(to, "\ndevices\n  %-6s %-16s %12s %20s %12s\n", "", "layers", "weights",
                   "KV cache of a slot", "step buffers");
    for (size_t i = 0; i < vug_model_part_count(model); i++) {
        const vug_model_part part = vug_model_part_at(model, i);
        char layers[32] = "embedding";
        if (part.n_expert_layers > 0)
            (void)snprintf(layers, sizeof(layers), "experts of %lld",
                           (long long)part.n_expert_layers);
        else if (part.n_layers > 0)
            (void)snprintf(layers, sizeof(layers), "%lld-%lld", (long long)part.first_layer,
                           (long long)(part.first_layer + part.n_layers - 1));
        vug_buf_printf(to, "  %-6s %-16s %12s %20s %12s\n", part.device, layers,
                       vug_human_bytes(part.weights).text, vug_human_bytes(part.session_cache).text,
                       vug_human_bytes(part.buffers).text);
    }
}

/* Lists the layers from `first` on with the same cache, such as "0-4, 6-10". */
static void print_layers_like(const vug_model *model, size_t first, size_t n, vug_buf *to)
{
    const vug_layer_info like = vug_model_layer(model, first);
    const char *gap = "";
    for (size_t i = first; i < n; i++) {
        size_t last = i;
        vug_layer_info layer = vug_model_layer(model, i);
        if (!same_cache(&like, &layer))
            continue;
        while (last + 1 < n) {
            layer = vug_model_layer(model, last + 1);
            if (!same_cache(&like, &layer))
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
    vug_buf_puts(to, "\nlayer caches\n");
    for (size_t i = 0; i < n; i++) {
        const vug_layer_info layer = vug_model_layer(model, i);
        size_t before = 0, count = 0;
        for (size_t k = 0; k < n; k++) {
            const vug_layer_info other = vug_model_layer(model, k);
            const bool same = same_cache(&layer, &other);
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

/* Such as "[512,256]". */
typedef struct {
    char text[176];
} tensor_shape_text;

static tensor_shape_text format_shape(const vug_tensor_info *t)
{
    tensor_shape_text out = { "[" };
    int at = 1;
    for (int d = 0; d < t->rank; d++)
        at += snprintf(out.text + at, sizeof(out.text) - (size_t)at, d ? ",%lld" : "%lld",
                       (long long)t->dim[d]);
    (void)snprintf(out.text + at, sizeof(out.text) - (size_t)at, "]");
    return out;
}

/* NaN prints as a dash. */
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

static void print_tensors(const vug_inspection *in, vug_buf *to)
{
    vug_buf_puts(to, "\nall tensors\n");
    if (in->statistics)
        vug_buf_printf(to, "  %-15s %-15s %11s %11s %11s %11s %11s %10s\n", "", "", "", "min",
                       "max", "mean", "rms", "not finite");
    for (size_t i = 0; i < vug_model_tensor_count(in->model); i++) {
        const vug_tensor_info t = vug_model_tensor(in->model, i);
        vug_buf_printf(to, "  %-15s %-15s %11s", vug_inspect_format(&t).text, format_shape(&t).text,
                       vug_human_bytes(t.bytes).text);
        if (in->statistics)
            print_statistics(&in->statistics[i], to);
        vug_buf_printf(to, "  %s: %s%s\n", t.file, t.name, t.used ? "" : " (unused)");
    }
}

void vug_inspect_text(const vug_inspection *in, vug_buf *to)
{
    const vug_model *model = in->model;
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
    if (vug_model_part_count(model) > 1)
        print_parts(model, to);
    print_caches(model, (size_t)m.n_layers, to);
    if (in->list_tensors)
        print_tensors(in, to);
}
