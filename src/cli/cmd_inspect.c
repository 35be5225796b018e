#include <string.h>

#include "cli/commands.h"
#include "cli/inspect.h"
#include "core/json_writer.h"

/* ---- JSON ----------------------------------------------------------------------------- */

/* Writes the members of element i of a list. */
typedef void (*element_writer)(const vug_inspection *in, size_t i, vug_json_writer *js);

static void write_list(const vug_inspection *in, const char *key, size_t n,
                       element_writer write_element, vug_json_writer *js)
{
    vug_json_begin(js, key, '[');
    for (size_t i = 0; i < n; i++) {
        vug_json_begin(js, NULL, '{');
        write_element(in, i, js);
        vug_json_end(js, '}');
    }
    vug_json_end(js, ']');
}

static void write_sampler(const vug_inspection *in, size_t i, vug_json_writer *js)
{
    const vug_sampling_defaults sampling = vug_model_sampling(in->model);
    vug_json_put_string(js, "sampler", vug_sampler_name(sampling.sampler[i].kind));
    vug_json_put_f64(js, "value", (double)sampling.sampler[i].value);
}

static void write_head(const vug_inspection *in, const vug_model_info *m, vug_json_writer *js)
{
    const vug_model *model = in->model;
    vug_json_put_string(js, "path", m->path);
    vug_json_put_string(js, "architecture", m->architecture);
    vug_json_put_string(js, "device", m->device);
    vug_json_put_string(js, "kernels", m->kernels);
    vug_json_put_i64(js, "threads", m->threads);
    vug_json_put_i64(js, "layers", m->n_layers);
    vug_json_put_i64(js, "d_model", m->d_model);
    vug_json_put_i64(js, "heads", m->n_heads);
    vug_json_put_i64(js, "kv_heads", m->n_kv_heads);
    vug_json_put_i64(js, "d_head", m->d_head);
    vug_json_put_i64(js, "d_ffn", m->d_ffn);
    vug_json_put_i64(js, "vocabulary", m->n_vocab);
    vug_json_put_i64(js, "experts", m->n_experts);
    vug_json_put_i64(js, "experts_chosen", m->n_experts_per_token);
    vug_json_put_i64(js, "d_expert", m->d_expert);
    vug_json_put_i64(js, "parameters", m->n_parameters);
    vug_json_put_i64(js, "active_parameters", m->n_active_parameters);
    vug_json_put_bool(js, "tied_head", m->tied_head);
    vug_json_put_i64(js, "context_trained", m->context_trained);
    vug_json_put_i64(js, "context", m->context);
    vug_json_put_i64(js, "batch", m->batch);
    vug_json_put_string(js, "kv", m->kv);
    vug_json_put_u64(js, "bytes_per_token", m->bytes_per_token);
    const vug_tokenizer *tokenizer = vug_model_tokenizer(model, NULL);
    if (tokenizer)
        vug_json_put_i64(js, "tokenizer_size", vug_tokenizer_size(tokenizer));
    else
        vug_json_put_string(js, "tokenizer_size", NULL);
    size_t n;
    const int32_t *stop = vug_model_stop_tokens(model, &n);
    vug_json_put_i32s(js, "stop_tokens", stop, n);
    write_list(in, "sampling", vug_model_sampling(model).n, write_sampler, js);
}

static void write_layer(const vug_inspection *in, size_t i, vug_json_writer *js)
{
    const vug_layer_info layer = vug_model_layer(in->model, i);
    vug_json_put_string(js, "cache", layer.cache);
    vug_json_put_i64(js, "window", layer.window);
    vug_json_put_i64(js, "slots", layer.slots);
    vug_json_put_u64(js, "bytes", layer.cache_bytes);
    vug_json_put_i64(js, "source", layer.source);
    vug_json_put_i64(js, "kv_heads", layer.n_kv_heads);
    vug_json_put_i64(js, "d_head", layer.d_head);
}

static void write_part(const vug_inspection *in, size_t i, vug_json_writer *js)
{
    const vug_model_part part = vug_model_part_at(in->model, i);
    vug_json_put_string(js, "device", part.device);
    vug_json_put_i64(js, "first_layer", part.first_layer);
    vug_json_put_i64(js, "layers", part.n_layers);
    vug_json_put_i64(js, "expert_layers", part.n_expert_layers);
    vug_json_put_u64(js, "weights", part.weights);
    vug_json_put_u64(js, "session_cache", part.session_cache);
    vug_json_put_u64(js, "buffers", part.buffers);
}

static void write_total(const vug_format_total *total, vug_json_writer *js)
{
    vug_json_put_u64(js, "tensors", total->n);
    vug_json_put_u64(js, "bytes", total->bytes);
    vug_json_put_u64(js, "weights", total->weights);
    vug_json_put_f64(js, "bits_per_weight", vug_inspect_bits_per_weight(total));
}

static void write_totals(const vug_model *model, vug_json_writer *js)
{
    vug_format_total total[VUG_INSPECT_MAX_FORMATS], all;
    const size_t n = vug_inspect_totals(model, total, &all);
    vug_json_begin(js, "formats", '[');
    for (size_t i = 0; i < n; i++) {
        vug_json_begin(js, NULL, '{');
        vug_json_put_string(js, "format", total[i].format.text);
        vug_json_put_bool(js, "used", total[i].used);
        write_total(&total[i], js);
        vug_json_end(js, '}');
    }
    vug_json_end(js, ']');
    vug_json_begin(js, "total", '{');
    write_total(&all, js);
    vug_json_end(js, '}');
}

/* Numbers that do not exist are null. */
static void write_statistics(const vug_tensor_statistics *s, vug_json_writer *js)
{
    if (s->n == 0) {
        vug_json_put_string(js, "statistics", NULL);
        return;
    }
    vug_json_begin(js, "statistics", '{');
    vug_json_put_f64(js, "min", s->min);
    vug_json_put_f64(js, "max", s->max);
    vug_json_put_f64(js, "mean", s->mean);
    vug_json_put_f64(js, "rms", s->rms);
    vug_json_put_u64(js, "not_finite", s->n_bad);
    vug_json_end(js, '}');
}

static void write_tensor(const vug_inspection *in, size_t i, vug_json_writer *js)
{
    const vug_tensor_info t = vug_model_tensor(in->model, i);
    vug_json_put_string(js, "name", t.name);
    vug_json_put_string(js, "format", vug_inspect_format(&t).text);
    vug_json_put_string(js, "file", t.file);
    vug_json_begin(js, "shape", '[');
    for (int d = 0; d < t.rank; d++)
        vug_json_put_i64(js, NULL, t.dim[d]);
    vug_json_end(js, ']');
    vug_json_put_u64(js, "bytes", t.bytes);
    vug_json_put_bool(js, "used", t.used);
    if (in->statistics)
        write_statistics(&in->statistics[i], js);
}

static void write_inspection(const vug_inspection *in, vug_json_writer *js)
{
    const vug_model *model = in->model;
    const vug_model_info m = vug_model_describe(model);
    vug_json_begin(js, NULL, '{');
    write_head(in, &m, js);
    write_totals(model, js);
    vug_json_begin(js, "memory", '{');
#define X(field, text) vug_json_put_u64(js, #field, m.memory.field);
    VUG_MEMORY_ROWS(X)
#undef X
    vug_json_end(js, '}');
    write_list(in, "devices", vug_model_part_count(model), write_part, js);
    write_list(in, "layer_caches", (size_t)m.n_layers, write_layer, js);
    write_list(in, "tensors", vug_model_tensor_count(model), write_tensor, js);
    vug_json_end(js, '}');
}

/* ---- the command ---------------------------------------------------------------------- */

/* The caller frees the result; NULL on failure. */
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

static int show(vug_ui *ui, const vug_options *opt, const vug_inspection *in)
{
    if (opt->json) {
        vug_json_writer js = { 0 };
        write_inspection(in, &js);
        return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
    }
    vug_buf text = { 0 };
    vug_inspect_text(in, &text);
    return vug_ui_print(ui, &text);
}

int vug_cmd_inspect(vug_ui *ui, const vug_options *opt)
{
    vug_model_options model_options = vug_options_model(opt);
    vug_model *model;
    vug_tensor_statistics *statistics = NULL;
    vug_err err;
    int code;
    model_options.lazy = true;
    if (vug_model_open(opt->operand[0], &model_options, &model, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    if (opt->stats)
        statistics = read_statistics(ui, opt, model, &err);
    if (opt->stats && !statistics) {
        code = vug_ui_fail(ui, &err);
    } else {
        const vug_inspection in = { model, statistics, opt->tensors || opt->stats };
        code = show(ui, opt, &in);
    }
    vug_free(statistics);
    vug_model_close(model);
    return code;
}
