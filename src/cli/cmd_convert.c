/* `vug convert` and `vug quantize`. */
#include <string.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "core/json_writer.h"
#include "core/os.h"
#include "vug/checkpoint.h"

typedef struct {
    vug_ui *ui;
    vug_bar bar;
    uint64_t bytes; /* size of all tensors */
} convert_job;

static bool on_progress(uint64_t done, uint64_t total, void *user)
{
    convert_job *c = user;
    c->bytes = total;
    return vug_bar_step(done, total, &c->bar);
}

static void print_note(const char *message, void *user)
{
    const convert_job *c = user;
    vug_ui_note(c->ui, "%s", message);
}

static int print_report(vug_ui *ui, const vug_options *opt, const char *type, uint64_t bytes,
                        double seconds)
{
    if (!opt->json) {
        const vug_style *style = &ui->err;
        if (!opt->quiet)
            (void)fprintf(stderr, "%s%s: %.1f MB of weights in %.1f s%s\n", style->dim,
                          opt->operand[1], (double)bytes / 1e6, seconds, style->off);
        return VUG_EXIT_OK;
    }
    vug_json_writer js = { 0 };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "model", opt->operand[0]);
    vug_json_put_string(&js, "path", opt->operand[1]);
    if (type)
        vug_json_put_string(&js, "type", type);
    vug_json_put_u64(&js, "weight_bytes", bytes);
    vug_json_put_f64(&js, "seconds", seconds);
    vug_json_end(&js, '}');
    return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
}

static int convert_model(vug_ui *ui, const vug_options *opt, vug_convert_options *o,
                         const char *label)
{
    vug_err err;
    vug_interrupt_block();
    convert_job c = { .ui = ui, .bar = vug_bar_start(ui, label, opt->quiet) };
    const double start = vug_now();
    o->threads = opt->threads;
    o->progress = on_progress;
    o->note = print_note;
    o->user = &c;
    const vug_status st = vug_convert(opt->operand[0], opt->operand[1], o, &err);
    vug_bar_end(&c.bar);
    if (st == VUG_OK)
        return print_report(ui, opt, o->type, c.bytes, vug_now() - start);
    return vug_ui_fail(ui, &err);
}

int vug_cmd_convert(vug_ui *ui, const vug_options *opt)
{
    vug_convert_options o = { 0 };
    return convert_model(ui, opt, &o, "converting");
}

int vug_cmd_quantize(vug_ui *ui, const vug_options *opt)
{
    vug_convert_options o = { .type = opt->weight_type,
                              .embed = opt->embed_type,
                              .head = opt->head_type,
                              .importance = opt->imatrix };
    if (!o.type) {
        vug_ui_note(ui, "quantize requires --type; `vug quantize --help` lists the formats");
        return VUG_EXIT_USAGE;
    }
    return convert_model(ui, opt, &o, "quantizing");
}
