#include <string.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/js.h"
#include "core/os.h"

static int list_shapes(vug_ui *ui, const vug_options *opt)
{
    if (opt->json) {
        vug_js js = { 0 };
        vug_js_open(&js, NULL, '[');
        for (size_t i = 0; i < vug_shape_count(); i++)
            vug_js_str(&js, NULL, vug_shape_name(i));
        vug_js_close(&js, ']');
        return vug_js_print(&js, ui, VUG_EXIT_OK);
    }
    vug_buf text = { 0 };
    for (size_t i = 0; i < vug_shape_count(); i++)
        vug_buf_printf(&text, "%s\n", vug_shape_name(i));
    return vug_ui_print(ui, &text, VUG_EXIT_OK);
}

/* A checkpoint is large: Ctrl-C gives up between blocks, so that the writer can
 * take back what it has begun. */
static bool step(uint64_t done, uint64_t total, void *user)
{
    return vug_bar_step(done, total, user) && !vug_interrupt_held();
}

int vug_cmd_synth(vug_ui *ui, const vug_options *opt)
{
    vug_err err;
    if (opt->n_operands == 0)
        return list_shapes(ui, opt);
    if (opt->n_operands == 1) {
        vug_ui_note(ui, "synth: the folder DIR is missing; usage: vug synth SHAPE DIR [options]");
        return VUG_EXIT_USAGE;
    }
    const char *shape = opt->operand[0], *dir = opt->operand[1];
    if (vug_file_exists(dir)) {
        vug_ui_note(ui, "%s: exists already; synth writes a new folder", dir);
        return VUG_EXIT_USAGE;
    }
    vug_interrupt_hold();
    vug_bar bar = vug_bar_start(ui, "writing", opt->quiet);
    const vug_status st =
            vug_shape_write(shape, opt->type, opt->weight_seed, dir, step, &bar, &err);
    vug_bar_end(&bar);
    if (st != VUG_OK) {
        const int code = vug_ui_fail(ui, &err);
        return st == VUG_IO ? VUG_EXIT_MACHINE : code;
    }
    if (!opt->json)
        return VUG_EXIT_OK;
    vug_js js = { 0 };
    vug_js_open(&js, NULL, '{');
    vug_js_str(&js, "shape", shape);
    vug_js_str(&js, "type", opt->type);
    vug_js_u64(&js, "seed", opt->weight_seed);
    vug_js_str(&js, "path", dir);
    vug_js_close(&js, '}');
    return vug_js_print(&js, ui, VUG_EXIT_OK);
}
