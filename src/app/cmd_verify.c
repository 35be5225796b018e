#include "app/commands.h"
#include "app/js.h"
#include "core/os.h"
#include "vug/checkpoint.h"

/* ---- a model -------------------------------------------------------------------- */

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

static void verdict(vug_buf *to, const vug_style *style, bool pass)
{
    vug_buf_printf(to, "%s%s%s\n", pass ? style->good : style->bad, pass ? "pass" : "FAIL",
                   style->off);
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
    verdict(to, style, v->pass);
}

static int verify_model(vug_ui *ui, const vug_options *opt)
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

/* ---- blocks ----------------------------------------------------------------------- */

typedef struct {
    vug_js *js; /* NULL: a table */
    vug_buf table;
    const vug_style *style;
    bool pass;
} listing;

static void list_as_json(vug_js *js, const vug_blocks_check *c)
{
    vug_js_open(js, NULL, '{');
    vug_js_str(js, "name", c->name);
    vug_js_int(js, "rows", c->rows);
    vug_js_int(js, "columns", c->columns);
    vug_js_bool(js, "pass", c->n_different == 0);
    vug_js_int(js, "different", c->n_different);
    if (c->n_different) {
        vug_js_int(js, "row", c->row);
        vug_js_int(js, "column", c->column);
        vug_js_f64(js, "expected", (double)c->expected);
        vug_js_f64(js, "decoded", (double)c->decoded);
    }
    vug_js_close(js, '}');
}

static void list(const vug_blocks_check *c, void *user)
{
    listing *l = user;
    char text[160];
    l->pass = l->pass && c->n_different == 0;
    if (l->js) {
        list_as_json(l->js, c);
        return;
    }
    if (c->n_different == 0)
        (void)snprintf(text, sizeof(text), "%lld x %lld, identical to the bit", (long long)c->rows,
                       (long long)c->columns);
    else
        (void)snprintf(
                text, sizeof(text), "%lld x %lld, %lld differ: %.9g at [%lld,%lld], expected %.9g",
                (long long)c->rows, (long long)c->columns, (long long)c->n_different,
                (double)c->decoded, (long long)c->row, (long long)c->column, (double)c->expected);
    row(&l->table, l->style, c->n_different == 0, c->name, text);
}

static int verify_blocks(vug_ui *ui, const vug_options *opt)
{
    vug_js js = { 0 };
    vug_err err;
    listing l = { .js = opt->json ? &js : NULL, .style = &ui->out, .pass = true };
    if (opt->json) {
        vug_js_open(&js, NULL, '{');
        vug_js_str(&js, "file", opt->blocks);
        vug_js_open(&js, "formats", '[');
    }
    if (vug_verify_blocks(opt->blocks, list, &l, &err) != VUG_OK) {
        vug_buf_release(&js.buf);
        vug_buf_release(&l.table);
        return vug_ui_fail(ui, &err);
    }
    const int code = l.pass ? VUG_EXIT_OK : VUG_EXIT_CHECK;
    if (opt->json) {
        vug_js_close(&js, ']');
        vug_js_bool(&js, "pass", l.pass);
        vug_js_close(&js, '}');
        return vug_js_print(&js, ui, code);
    }
    verdict(&l.table, &ui->out, l.pass);
    return vug_ui_print_styled(ui, &l.table, code);
}

/* ---- the command -------------------------------------------------------------------- */

static const char *complaint(const vug_options *opt)
{
    if (opt->n_operands == 0 && !opt->blocks)
        return "verify needs a MODEL folder or --blocks FILE";
    if (opt->n_operands && opt->blocks)
        return "verify takes a MODEL or --blocks, not both";
    if (opt->blocks && (opt->given[VUG_OPTION_reference] || opt->given[VUG_OPTION_tol]))
        return "--reference and --tol belong to a MODEL";
    return NULL;
}

int vug_cmd_verify(vug_ui *ui, const vug_options *opt)
{
    if (complaint(opt)) {
        vug_ui_note(ui, "%s", complaint(opt));
        return VUG_EXIT_USAGE;
    }
    return opt->blocks ? verify_blocks(ui, opt) : verify_model(ui, opt);
}
