/* vug convert and vug quantize: a checkpoint, written again. */
#include <string.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/js.h"
#include "core/os.h"
#include "vug/checkpoint.h"

typedef struct {
    vug_ui *ui;
    vug_bar bar;
    uint64_t bytes; /* of all tensors */
} writing;

/* Ctrl-C gives up between pieces, so that the writer can take back what it has begun. */
static bool step(uint64_t done, uint64_t total, void *user)
{
    writing *w = user;
    w->bytes = total;
    return vug_bar_step(done, total, &w->bar) && !vug_interrupt_held();
}

static void note(const char *sentence, void *user)
{
    const writing *w = user;
    vug_ui_note(w->ui, "%s", sentence);
}

static int report(vug_ui *ui, const vug_options *opt, const char *type, uint64_t bytes,
                  double seconds)
{
    if (!opt->json) {
        const vug_style *style = &ui->err;
        if (!opt->quiet)
            (void)fprintf(stderr, "%s%s: %.1f MB of weights in %.1f s%s\n", style->dim,
                          opt->operand[1], (double)bytes / 1e6, seconds, style->off);
        return VUG_EXIT_OK;
    }
    vug_js js = { 0 };
    vug_js_open(&js, NULL, '{');
    vug_js_str(&js, "model", opt->operand[0]);
    vug_js_str(&js, "path", opt->operand[1]);
    if (type)
        vug_js_str(&js, "type", type);
    vug_js_u64(&js, "weight_bytes", bytes);
    vug_js_f64(&js, "seconds", seconds);
    vug_js_close(&js, '}');
    return vug_js_print(&js, ui, VUG_EXIT_OK);
}

static int write_again(vug_ui *ui, const vug_options *opt, vug_convert_options *o,
                       const char *label)
{
    vug_err err;
    vug_interrupt_hold();
    writing w = { .ui = ui, .bar = vug_bar_start(ui, label, opt->quiet) };
    const double start = vug_now();
    o->threads = opt->threads;
    o->progress = step;
    o->note = note;
    o->user = &w;
    const vug_status st = vug_convert(opt->operand[0], opt->operand[1], o, &err);
    vug_bar_end(&w.bar);
    if (st == VUG_OK)
        return report(ui, opt, o->type, w.bytes, vug_now() - start);
    const int code = vug_ui_fail(ui, &err);
    return st == VUG_IO && vug_file_exists(opt->operand[0]) ? VUG_EXIT_MACHINE : code;
}

int vug_cmd_convert(vug_ui *ui, const vug_options *opt)
{
    vug_convert_options o = { 0 };
    return write_again(ui, opt, &o, "converting");
}

int vug_cmd_quantize(vug_ui *ui, const vug_options *opt)
{
    vug_convert_options o = { .type = opt->weight_type,
                              .embed = opt->embed_type,
                              .head = opt->head_type,
                              .importance = opt->imatrix };
    if (!o.type) {
        vug_ui_note(ui, "quantize: --type is missing; `vug quantize --help` lists the formats");
        return VUG_EXIT_USAGE;
    }
    return write_again(ui, opt, &o, "quantizing");
}
