#include "app/commands.h"
#include "app/input.h"
#include "app/interrupt.h"
#include "app/js.h"
#include "vug/checkpoint.h"

static const size_t max_text = (size_t)64 << 20;

static bool step(uint64_t done, uint64_t total, void *user)
{
    return vug_bar_step(done, total, user) && !vug_interrupt_held();
}

static vug_status collect(vug_ui *ui, const vug_options *opt, vug_model *model,
                          const vug_text *text, vug_err *err)
{
    vug_bar bar = vug_bar_start(ui, "reading", opt->quiet || opt->json);
    bar.unit = "tokens";
    const vug_importance_options how = { .name = vug_input_name(opt->operand[1]),
                                         .window = opt->window,
                                         .progress = step,
                                         .user = &bar };
    vug_interrupt_hold();
    const vug_status st =
            vug_importance_collect(model, text->ptr, text->len, opt->operand[2], &how, err);
    vug_bar_end(&bar);
    return st;
}

int vug_cmd_imatrix(vug_ui *ui, const vug_options *opt)
{
    vug_model *model = NULL;
    vug_text text = { 0 };
    vug_err err;
    vug_model_options how = vug_options_model(opt);
    how.context = opt->window ? opt->window : 512;
    vug_status st = vug_input_read(opt->operand[1], max_text, &text, &err);
    if (st == VUG_OK)
        st = vug_model_open(opt->operand[0], &how, &model, &err);
    if (st == VUG_OK)
        st = collect(ui, opt, model, &text, &err);
    vug_text_release(&text);
    vug_model_close(model);
    if (st != VUG_OK) {
        const int code = vug_ui_fail(ui, &err);
        return st == VUG_IO && model ? VUG_EXIT_MACHINE : code;
    }
    if (!opt->json)
        return VUG_EXIT_OK;
    vug_js js = { 0 };
    vug_js_open(&js, NULL, '{');
    vug_js_str(&js, "model", opt->operand[0]);
    vug_js_str(&js, "path", opt->operand[2]);
    vug_js_close(&js, '}');
    return vug_js_print(&js, ui, VUG_EXIT_OK);
}
