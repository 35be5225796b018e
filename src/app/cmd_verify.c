#include "app/commands.h"
#include "app/js.h"
#include "core/os.h"

static void as_json(vug_js *js, const vug_verification *v, const char *model, const char *reference)
{
    vug_js_open(js, NULL, '{');
    vug_js_str(js, "model", model);
    vug_js_str(js, "reference", reference);
    vug_js_bool(js, "pass", v->pass);
    vug_js_f64(js, "tolerance", v->tolerance);
    vug_js_int(js, "tokens", v->n_tokens);
    vug_js_int(js, "positions", v->n_positions);
    vug_js_int(js, "vocabulary", v->n_vocab);
    vug_js_f64(js, "max_abs", v->max_abs);
    vug_js_f64(js, "mean_abs", v->mean_abs);
    vug_js_f64(js, "mean_kl", v->mean_kl);
    vug_js_f64(js, "top1", v->top1);
    vug_js_int(js, "greedy", v->n_greedy);
    vug_js_int(js, "greedy_equal", v->n_greedy_equal);
    vug_js_bool(js, "chunked_identical", v->chunked_identical);
    vug_js_bool(js, "stepwise_identical", v->stepwise_identical);
    vug_js_int(js, "first_departing_layer", v->first_departing_layer);
    vug_js_f64(js, "departing_max_abs", v->departing_max_abs);
    vug_js_close(js, '}');
}

static void row(vug_buf *to, const vug_style *style, bool good, const char *name, const char *value)
{
    vug_buf_printf(to, "  %-26s %s%s%s\n", name, good ? "" : style->bad, value,
                   good ? "" : style->off);
}

static void as_table(vug_buf *to, const vug_style *style, const vug_verification *v,
                     const vug_model_info *info)
{
    char text[160];
    vug_buf_printf(to, "%s, %s (%s), %d threads: %lld tokens, %lld logits after %lld of them\n",
                   info->architecture, info->device, info->kernels, info->threads,
                   (long long)v->n_tokens, (long long)v->n_vocab, (long long)v->n_positions);
    (void)snprintf(text, sizeof(text), "%.3g (tolerance %.3g)", v->max_abs, v->tolerance);
    row(to, style, v->max_abs <= v->tolerance, "max |logit difference|", text);
    (void)snprintf(text, sizeof(text), "%.3g", v->mean_abs);
    row(to, style, true, "mean |logit difference|", text);
    (void)snprintf(text, sizeof(text), "%.3g nats per position", v->mean_kl);
    row(to, style, true, "KL(reference || vug)", text);
    (void)snprintf(text, sizeof(text), "%.2f %%", v->top1 * 100);
    row(to, style, true, "same best token", text);
    if (v->n_greedy > 0) {
        (void)snprintf(text, sizeof(text), "%lld of %lld equal", (long long)v->n_greedy_equal,
                       (long long)v->n_greedy);
        row(to, style, v->n_greedy_equal == v->n_greedy, "greedy tokens", text);
    }
    row(to, style, v->chunked_identical, "in chunks of 7",
        v->chunked_identical ? "identical to the bit" : "other bits than in one prefill");
    row(to, style, v->stepwise_identical, "token by token",
        v->stepwise_identical ? "identical to the bit" : "other bits than in one prefill");
    if (v->first_departing_layer >= 0) {
        const int n = v->first_departing_layer;
        if (n == 0)
            (void)snprintf(text, sizeof(text), "hidden.0, the embedding, by %.3g",
                           v->departing_max_abs);
        else if (n == info->n_layers)
            (void)snprintf(text, sizeof(text), "hidden.%d, the final norm, by %.3g", n,
                           v->departing_max_abs);
        else
            (void)snprintf(text, sizeof(text), "hidden.%d, the output of layer %d, by %.3g", n,
                           n - 1, v->departing_max_abs);
        row(to, style, false, "first to depart", text);
    }
    vug_buf_printf(to, "%s%s%s\n", v->pass ? style->good : style->bad, v->pass ? "pass" : "FAIL",
                   style->off);
}

int vug_cmd_verify(vug_ui *ui, const vug_options *opt)
{
    const char *path = opt->operand[0];
    vug_model_options how = vug_options_model(opt);
    vug_model *model;
    vug_verification v;
    vug_err err;
    vug_bar bar = vug_bar_start(ui, "loading", opt->json);
    how.progress = vug_bar_step;
    how.user = &bar;
    const vug_status opened = vug_model_open(path, &how, &model, &err);
    vug_bar_end(&bar);
    if (opened != VUG_OK)
        return vug_ui_fail(ui, &err);
    char *beside = vug_path_join(path, "reference.safetensors");
    const char *reference = opt->reference ? opt->reference : beside;
    vug_status st = VUG_OK;
    if (!beside)
        st = VUG_FAIL_NOMEM(&err, "a path", 0);
    if (st == VUG_OK)
        st = vug_model_verify(model, reference, opt->tol, &v, &err);
    int code;
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else if (opt->json) {
        vug_js js = { 0 };
        as_json(&js, &v, path, reference);
        code = vug_js_print(&js, ui, v.pass ? VUG_EXIT_OK : VUG_EXIT_CHECK);
    } else {
        vug_buf text = { 0 };
        const vug_model_info info = vug_model_describe(model);
        as_table(&text, &ui->out, &v, &info);
        code = vug_ui_print_styled(ui, &text, v.pass ? VUG_EXIT_OK : VUG_EXIT_CHECK);
    }
    vug_free(beside);
    vug_model_close(model);
    return code;
}
