#include <string.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "core/json_writer.h"
#include "core/os.h"

static int list_shapes(vug_ui *ui, const vug_options *opt)
{
    if (opt->json) {
        vug_json_writer js = { 0 };
        vug_json_begin(&js, NULL, '[');
        for (size_t i = 0; i < vug_synth_shape_count(); i++)
            vug_json_put_string(&js, NULL, vug_synth_shape_name(i));
        vug_json_end(&js, ']');
        return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
    }
    vug_buf text = { 0 };
    for (size_t i = 0; i < vug_synth_shape_count(); i++)
        vug_buf_printf(&text, "%s\n", vug_synth_shape_name(i));
    return vug_ui_print(ui, &text);
}

int vug_cmd_synth(vug_ui *ui, const vug_options *opt)
{
    vug_err err;
    if (opt->n_operands == 0)
        return list_shapes(ui, opt);
    if (opt->n_operands == 1) {
        vug_ui_note(ui, "synth requires a folder DIR; usage: vug synth SHAPE DIR [options]");
        return VUG_EXIT_USAGE;
    }
    const char *shape = opt->operand[0], *dir = opt->operand[1];
    if (vug_file_exists(dir)) {
        vug_ui_note(ui, "%s: already exists; synth writes a new folder", dir);
        return VUG_EXIT_USAGE;
    }
    vug_interrupt_block();
    vug_bar bar = vug_bar_start(ui, "writing", opt->quiet);
    const vug_status st =
            vug_synth_write(shape, opt->type, opt->weight_seed, dir, vug_bar_step, &bar, &err);
    vug_bar_end(&bar);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    if (!opt->json)
        return VUG_EXIT_OK;
    vug_json_writer js = { 0 };
    vug_json_begin(&js, NULL, '{');
    vug_json_put_string(&js, "shape", shape);
    vug_json_put_string(&js, "type", opt->type);
    vug_json_put_u64(&js, "seed", opt->weight_seed);
    vug_json_put_string(&js, "path", dir);
    vug_json_end(&js, '}');
    return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
}
