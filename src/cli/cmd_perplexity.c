#include "cli/commands.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "core/json_writer.h"
#include "core/os.h"
#include "vug/checkpoint.h"

/* Maximum size of the text, in bytes. */
static const size_t max_text = (size_t)64 << 20;

/* ---- reports ------------------------------------------------------------------------- */

static void write_score(const vug_score *s, const char *key, vug_json_writer *js)
{
    vug_json_begin(js, key, '{');
    vug_json_put_f64(js, "nll", s->nll);
    vug_json_put_f64(js, "nll_error", s->nll_error);
    vug_json_put_f64(js, "perplexity", s->perplexity);
    vug_json_put_f64(js, "perplexity_error", s->perplexity_error);
    vug_json_put_f64(js, "bits_per_byte", s->bits_per_byte);
    vug_json_end(js, '}');
}

static void write_report(const vug_options *opt, const vug_perplexity *p, vug_json_writer *js)
{
    vug_json_begin(js, NULL, '{');
    vug_json_put_string(js, "model", opt->operand[0]);
    vug_json_put_string(js, "text", opt->operand[1]);
    vug_json_put_i64(js, "window", p->window);
    vug_json_put_i64(js, "stride", p->stride);
    vug_json_put_i64(js, "windows", p->n_windows);
    vug_json_put_i64(js, "tokens", p->n_tokens);
    vug_json_put_i64(js, "scored_tokens", p->n_scored);
    vug_json_put_u64(js, "scored_bytes", p->n_bytes);
    write_score(&p->model, "score", js);
    if (opt->against || opt->logits) {
        vug_json_put_string(js, "base", opt->against ? opt->against : opt->logits);
        write_score(&p->base, "base_score", js);
        vug_json_put_f64(js, "perplexity_difference", p->model.perplexity - p->base.perplexity);
        vug_json_begin(js, "kl", '{');
        vug_json_put_f64(js, "mean", p->kl_mean);
        vug_json_put_f64(js, "median", p->kl_median);
        vug_json_put_f64(js, "p99", p->kl_p99);
        vug_json_put_f64(js, "max", p->kl_max);
        vug_json_end(js, '}');
        vug_json_put_f64(js, "top1", p->top1);
        vug_json_begin(js, "probability_difference", '{');
        vug_json_put_f64(js, "mean", p->shift_mean);
        vug_json_put_f64(js, "rms", p->shift_rms);
        vug_json_end(js, '}');
    }
    vug_json_put_f64(js, "seconds", p->seconds);
    vug_json_put_f64(js, "tokens_per_s", (double)p->n_scored / p->seconds);
    vug_json_end(js, '}');
}

static void print_score(vug_buf *to, const vug_perplexity *p, bool base)
{
    const vug_score *m = &p->model, *b = &p->base;
    char other[3][48] = { "", "", "" };
    if (base) {
        (void)snprintf(other[0], sizeof(other[0]), "   base %.5f", b->nll);
        (void)snprintf(other[1], sizeof(other[1]), "   base %.4f +- %.4f", b->perplexity,
                       b->perplexity_error);
        (void)snprintf(other[2], sizeof(other[2]), "   base %.5f", b->bits_per_byte);
    }
    vug_buf_printf(to, "  scored             %lld tokens, %llu bytes\n", (long long)p->n_scored,
                   (unsigned long long)p->n_bytes);
    vug_buf_printf(to, "  -log p(token)      %.5f nats%s\n", m->nll, other[0]);
    vug_buf_printf(to, "  perplexity         %.4f +- %.4f%s\n", m->perplexity, m->perplexity_error,
                   other[1]);
    vug_buf_printf(to, "  bits per byte      %.5f%s\n", m->bits_per_byte, other[2]);
}

static void print_report(const vug_options *opt, const vug_model_info *info,
                         const vug_perplexity *p, vug_buf *to)
{
    const bool base = opt->against || opt->logits;
    vug_buf_printf(to, "%s, %s (%s), %d threads: %lld tokens, %lld windows of %d, one every %d\n",
                   info->architecture, info->device, info->kernels, info->threads,
                   (long long)p->n_tokens, (long long)p->n_windows, p->window, p->stride);
    print_score(to, p, base);
    if (!base)
        return;
    vug_buf_printf(to, "  perplexity - base  %+.4f\n", p->model.perplexity - p->base.perplexity);
    vug_buf_printf(to,
                   "  KL(base || model)  mean %.3g, median %.3g, 99 %% below %.3g, at most %.3g "
                   "nats per token\n",
                   p->kl_mean, p->kl_median, p->kl_p99, p->kl_max);
    vug_buf_printf(to, "  same best token    %.2f %%\n", p->top1 * 100);
    vug_buf_printf(to, "  p(token) - base    mean %+.4f %%, RMS %.4f %%\n", p->shift_mean * 100,
                   p->shift_rms * 100);
}

/* ---- the command --------------------------------------------------------------------- */

static vug_status open_model(vug_ui *ui, const vug_options *opt, const char *path, vug_model **out,
                             vug_err *err)
{
    vug_model_options model_options = vug_options_model(opt);
    /* A file of logits sets the window, so the model gets its default context. */
    model_options.context = opt->window ? opt->window : opt->logits ? 0 : 512;
    vug_bar bar = vug_bar_start(ui, "loading", opt->quiet || opt->json);
    model_options.progress = vug_bar_step;
    model_options.user = &bar;
    const vug_status st = vug_model_open(path, &model_options, out, err);
    vug_bar_end(&bar);
    return st;
}

static vug_status measure(vug_ui *ui, const vug_options *opt, vug_model *const model[2],
                          const vug_text *text, vug_perplexity *out, vug_err *err)
{
    vug_bar bar = vug_bar_start(ui, "scoring", opt->quiet || opt->json);
    bar.unit = "tokens";
    const vug_perplexity_options options = { .name = vug_input_name(opt->operand[1]),
                                             .window = opt->window,
                                             .stride = opt->stride,
                                             .base = model[1],
                                             .base_logits = opt->logits,
                                             .save_logits = opt->save_logits,
                                             .progress = vug_bar_step,
                                             .user = &bar };
    vug_interrupt_block();
    const vug_status st = vug_model_perplexity(model[0], text->ptr, text->len, &options, out, err);
    vug_bar_end(&bar);
    return st;
}

static int print_result(vug_ui *ui, const vug_options *opt, const vug_model *model,
                        const vug_perplexity *p)
{
    if (opt->json) {
        vug_json_writer js = { 0 };
        write_report(opt, p, &js);
        return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
    }
    vug_buf text = { 0 };
    const vug_model_info info = vug_model_describe(model);
    print_report(opt, &info, p, &text);
    const int code = vug_ui_print(ui, &text);
    if (!opt->quiet)
        (void)fprintf(stderr, "%s%.1f tokens/s%s\n", ui->err.dim, (double)p->n_scored / p->seconds,
                      ui->err.off);
    return code;
}

int vug_cmd_perplexity(vug_ui *ui, const vug_options *opt)
{
    vug_model *model[2] = { NULL, NULL };
    vug_text text = { 0 };
    vug_perplexity p;
    vug_err err;
    int code;
    if ((opt->against != NULL) + (opt->logits != NULL) + (opt->save_logits != NULL) > 1) {
        vug_ui_note(ui, "only one of --against, --logits and --save-logits can be given");
        return VUG_EXIT_USAGE;
    }
    vug_status st = vug_input_read(opt->operand[1], max_text, &text, &err);
    if (st == VUG_OK)
        st = open_model(ui, opt, opt->operand[0], &model[0], &err);
    if (st == VUG_OK && opt->against)
        st = open_model(ui, opt, opt->against, &model[1], &err);
    if (st == VUG_OK)
        st = measure(ui, opt, model, &text, &p, &err);
    if (st == VUG_OK)
        code = print_result(ui, opt, model[0], &p);
    else
        code = vug_ui_fail(ui, &err);
    vug_text_release(&text);
    vug_model_close(model[0]);
    vug_model_close(model[1]);
    return code;
}
