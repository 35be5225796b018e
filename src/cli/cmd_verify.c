#include "cli/commands.h"
#include "core/json_writer.h"
#include "core/os.h"
#include "vug/checkpoint.h"

/* ---- models --------------------------------------------------------------------- */

static void write_verification(vug_json_writer *js, const vug_verification *v, const char *model,
                               const char *reference)
{
    vug_json_begin(js, NULL, '{');
    vug_json_put_string(js, "model", model);
    vug_json_put_string(js, "reference", reference);
    vug_json_put_bool(js, "pass", v->pass);
    vug_json_put_f64(js, "tolerance", v->tolerance);
    vug_json_put_i64(js, "tokens", v->n_tokens);
    vug_json_put_i64(js, "positions", v->n_positions);
    vug_json_put_i64(js, "vocabulary", v->n_vocab);
    vug_json_put_f64(js, "max_abs", v->max_abs);
    vug_json_put_f64(js, "mean_abs", v->mean_abs);
    vug_json_put_f64(js, "mean_kl", v->mean_kl);
    vug_json_put_f64(js, "top1", v->top1);
    vug_json_put_i64(js, "greedy", v->n_greedy);
    vug_json_put_i64(js, "greedy_equal", v->n_greedy_equal);
    vug_json_put_i64(js, "greedy_ties", v->n_greedy_ties);
    vug_json_put_bool(js, "chunked_identical", v->chunked_identical);
    vug_json_put_bool(js, "stepwise_identical", v->stepwise_identical);
    vug_json_put_f64(js, "chunked_max_abs", v->chunked_max_abs);
    vug_json_put_f64(js, "stepwise_max_abs", v->stepwise_max_abs);
    vug_json_put_i64(js, "first_diverging_layer", v->first_diverging_layer);
    vug_json_put_f64(js, "diverging_max_abs", v->diverging_max_abs);
    vug_json_end(js, '}');
}

static void print_row(vug_buf *to, const vug_style *style, bool good, const char *name,
                      const char *value)
{
    vug_buf_printf(to, "  %-26s %s%s%s\n", name, good ? "" : style->bad, value,
                   good ? "" : style->off);
}

/* How a run in smaller steps compares with one prefill. */
static void print_steps(vug_buf *to, const vug_style *style, const char *name, bool identical,
                        double off, double allowed)
{
    char text[160] = "identical to the bit";
    if (!identical)
        (void)snprintf(text, sizeof(text), "differs from one prefill by %.3g", off);
    print_row(to, style, identical || off <= allowed, name, text);
}

static void print_verdict(vug_buf *to, const vug_style *style, bool pass)
{
    vug_buf_printf(to, "%s%s%s\n", pass ? style->good : style->bad, pass ? "pass" : "FAIL",
                   style->off);
}

static void print_table(vug_buf *to, const vug_style *style, const vug_verification *v,
                        const vug_model_info *info)
{
    char text[160];
    vug_buf_printf(to, "%s, %s (%s), %d threads: %lld tokens, %lld logits after %lld of them\n",
                   info->architecture, info->device, info->kernels, info->threads,
                   (long long)v->n_tokens, (long long)v->n_vocab, (long long)v->n_positions);
    (void)snprintf(text, sizeof(text), "%.3g (tolerance %.3g)", v->max_abs, v->tolerance);
    print_row(to, style, v->max_abs <= v->tolerance, "max |logit difference|", text);
    (void)snprintf(text, sizeof(text), "%.3g", v->mean_abs);
    print_row(to, style, true, "mean |logit difference|", text);
    (void)snprintf(text, sizeof(text), "%.3g nats per position", v->mean_kl);
    print_row(to, style, true, "KL(reference || vug)", text);
    (void)snprintf(text, sizeof(text), "%.2f %%", v->top1 * 100);
    print_row(to, style, true, "same best token", text);
    if (v->n_greedy > 0) {
        (void)snprintf(text, sizeof(text), "%lld of %lld equal%s", (long long)v->n_greedy_equal,
                       (long long)v->n_greedy,
                       v->n_greedy_ties > 0 ? ", counting those that tie" : "");
        print_row(to, style, v->n_greedy_equal == v->n_greedy, "greedy tokens", text);
    }
    const double allowed = info->batch_invariant ? -1 : v->tolerance;
    print_steps(to, style, "in chunks of 7", v->chunked_identical, v->chunked_max_abs, allowed);
    print_steps(to, style, "token by token", v->stepwise_identical, v->stepwise_max_abs, allowed);
    if (v->first_diverging_layer >= 0) {
        const int n = v->first_diverging_layer;
        if (n == 0)
            (void)snprintf(text, sizeof(text), "hidden.0, the embedding, by %.3g",
                           v->diverging_max_abs);
        else if (n == info->n_layers)
            (void)snprintf(text, sizeof(text), "hidden.%d, the final norm, by %.3g", n,
                           v->diverging_max_abs);
        else
            (void)snprintf(text, sizeof(text), "hidden.%d, the output of layer %d, by %.3g", n,
                           n - 1, v->diverging_max_abs);
        print_row(to, style, false, "first differing layer", text);
    }
    print_verdict(to, style, v->pass);
}

static int verify_model(vug_ui *ui, const vug_options *opt)
{
    const char *path = opt->operand[0];
    vug_model_options model_options = vug_options_model(opt);
    vug_model *model;
    vug_verification v;
    vug_err err;
    vug_bar bar = vug_bar_start(ui, "loading", opt->json);
    model_options.progress = vug_bar_step;
    model_options.user = &bar;
    const vug_status opened = vug_model_open(path, &model_options, &model, &err);
    vug_bar_end(&bar);
    if (opened != VUG_OK)
        return vug_ui_fail(ui, &err);
    char *default_reference = vug_path_join(path, "reference.safetensors");
    const char *reference = opt->reference ? opt->reference : default_reference;
    vug_status st = VUG_OK;
    if (!default_reference)
        st = VUG_FAIL_NOMEM(&err, "a path", 0);
    else if (!opt->reference && !vug_file_exists(default_reference))
        st = VUG_FAIL(&err, VUG_IO,
                      "%s: no such file; name a file of reference logits with --reference FILE",
                      default_reference);
    if (st == VUG_OK)
        st = vug_model_verify(model, reference, opt->tol, &v, &err);
    int code;
    if (st != VUG_OK) {
        code = vug_ui_fail(ui, &err);
    } else if (opt->json) {
        vug_json_writer js = { 0 };
        write_verification(&js, &v, path, reference);
        code = vug_ui_print_json(&js, ui, v.pass ? VUG_EXIT_OK : VUG_EXIT_CHECK);
    } else {
        vug_buf text = { 0 };
        const vug_model_info info = vug_model_describe(model);
        print_table(&text, &ui->out, &v, &info);
        code = vug_ui_print_styled(ui, &text, v.pass ? VUG_EXIT_OK : VUG_EXIT_CHECK);
    }
    vug_free(default_reference);
    vug_model_close(model);
    return code;
}

/* ---- blocks ----------------------------------------------------------------------- */

typedef struct {
    vug_json_writer *js; /* NULL: a table */
    vug_buf table;
    const vug_style *style;
    bool pass;
} block_report;

static void write_block_check(vug_json_writer *js, const vug_blocks_check *c)
{
    vug_json_begin(js, NULL, '{');
    vug_json_put_string(js, "name", c->name);
    vug_json_put_i64(js, "rows", c->rows);
    vug_json_put_i64(js, "columns", c->columns);
    vug_json_put_bool(js, "pass", c->n_different == 0);
    vug_json_put_i64(js, "different", c->n_different);
    if (c->n_different) {
        vug_json_put_i64(js, "row", c->row);
        vug_json_put_i64(js, "column", c->column);
        vug_json_put_f64(js, "expected", (double)c->expected);
        vug_json_put_f64(js, "decoded", (double)c->decoded);
    }
    vug_json_end(js, '}');
}

static void add_block_check(const vug_blocks_check *c, void *user)
{
    block_report *r = user;
    char text[160];
    r->pass = r->pass && c->n_different == 0;
    if (r->js) {
        write_block_check(r->js, c);
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
    print_row(&r->table, r->style, c->n_different == 0, c->name, text);
}

static int verify_blocks(vug_ui *ui, const vug_options *opt)
{
    vug_json_writer js = { 0 };
    vug_err err;
    block_report r = { .js = opt->json ? &js : NULL, .style = &ui->out, .pass = true };
    if (opt->json) {
        vug_json_begin(&js, NULL, '{');
        vug_json_put_string(&js, "file", opt->blocks);
        vug_json_begin(&js, "formats", '[');
    }
    if (vug_verify_blocks(opt->blocks, add_block_check, &r, &err) != VUG_OK) {
        vug_buf_release(&js.buf);
        vug_buf_release(&r.table);
        return vug_ui_fail(ui, &err);
    }
    const int code = r.pass ? VUG_EXIT_OK : VUG_EXIT_CHECK;
    if (opt->json) {
        vug_json_end(&js, ']');
        vug_json_put_bool(&js, "pass", r.pass);
        vug_json_end(&js, '}');
        return vug_ui_print_json(&js, ui, code);
    }
    print_verdict(&r.table, &ui->out, r.pass);
    return vug_ui_print_styled(ui, &r.table, code);
}

/* ---- the command -------------------------------------------------------------------- */

static const char *usage_error(const vug_options *opt)
{
    if (opt->n_operands == 0 && !opt->blocks)
        return "verify needs a MODEL folder or --blocks FILE";
    if (opt->n_operands && opt->blocks)
        return "verify takes a MODEL or --blocks, not both";
    if (opt->blocks && (opt->given[VUG_OPTION_reference] || opt->given[VUG_OPTION_tol]))
        return "--reference and --tol require a MODEL";
    return NULL;
}

int vug_cmd_verify(vug_ui *ui, const vug_options *opt)
{
    if (usage_error(opt)) {
        vug_ui_note(ui, "%s", usage_error(opt));
        return VUG_EXIT_USAGE;
    }
    return opt->blocks ? verify_blocks(ui, opt) : verify_model(ui, opt);
}
