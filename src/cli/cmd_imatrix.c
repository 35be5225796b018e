#include "cli/commands.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "core/json_writer.h"
#include "vug/checkpoint.h"

static const size_t max_text = (size_t)64 << 20;

static vug_status collect(vug_ui *ui, const vug_options *opt, vug_model *model,
                          const vug_text *text, vug_err *err)
{
    vug_bar bar = vug_bar_start(ui, "reading", opt->quiet || opt->json);
    bar.unit = "tokens";
    const vug_importance_options options = { .name = vug_input_name(opt->operand[1]),
                                             .window = opt->window,
                                             .progress = vug_bar_step,
                                             .user = &bar };
    vug_interrupt_block();
    const vug_status st =
            vug_importance_collect(model, text->ptr, text->len, opt->operand[2], &options, err);
    vug_bar_end(&bar);
    return st;
}

int vug_cmd_imatrix(vug_ui *ui, const vug_options *opt)
{
    vug_model *model = NULL;
    vug_text text = { 0 };
    vug_err err;
    vug_model_options model_options = vug_options_model(opt);
    model_options.context = opt->window ? opt->window : 512;
    vug_status st = vug_input_read(opt->operand[1], max_text, &text, &err);
    if (st == VUG_OK)
        st = vug_model_open(opt->operand[0], &model_options, &model, &err);
    if (st == VUG_OK)
        st = collect(ui, opt, model, &text, &err);
    vug_text_release(&text);
    vug_model_close(model);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    if (!opt->json)
        return VUG_EXIT_OK;
    vug_json_writer js = { 0 };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "model", opt->operand[0]);
    vug_json_put_string(&js, "path", opt->operand[2]);
    vug_json_end(&js, '}');
    return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
}
