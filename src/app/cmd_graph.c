#include <string.h>

#include "app/commands.h"
#include "app/js.h"
#include "core/os.h"

static vug_graph_format format_of(const char *name)
{
    if (strcmp(name, "dot") == 0)
        return VUG_GRAPH_DOT;
    return strcmp(name, "svg") == 0 ? VUG_GRAPH_SVG : VUG_GRAPH_TEXT;
}

/* A path that cannot be opened is the user's, a write that fails the machine's. */
static int write_file(const vug_ui *ui, const char *path, const vug_buf *text)
{
    vug_out out;
    vug_err err;
    vug_out_open(&out, path);
    const bool opened = out.st == VUG_OK;
    vug_out_write(&out, text->ptr, text->len);
    if (vug_out_commit(&out, &err) == VUG_OK)
        return VUG_EXIT_OK;
    const int code = vug_ui_fail(ui, &err);
    return opened ? VUG_EXIT_MACHINE : code;
}

int vug_cmd_graph(vug_ui *ui, const vug_options *opt)
{
    vug_model_options how = vug_options_model(opt);
    vug_model *model;
    vug_text graph = { 0 };
    vug_err err;
    how.lazy = true;
    if (vug_model_open(opt->operand[0], &how, &model, &err) != VUG_OK)
        return vug_ui_fail(ui, &err);
    const vug_status st = vug_model_graph(model, format_of(opt->format), opt->fused, &graph, &err);
    vug_model_close(model);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    vug_js js = { 0 };
    if (opt->json) {
        vug_js_open(&js, NULL, '{');
        vug_js_str(&js, "format", opt->format);
        vug_js_bool(&js, "fused", opt->fused);
        vug_js_text(&js, "graph", graph.ptr, graph.len);
        vug_js_close(&js, '}');
        vug_buf_puts(&js.buf, "\n");
    } else {
        vug_buf_append(&js.buf, graph.ptr, graph.len);
    }
    vug_text_release(&graph);
    if (!opt->out)
        return vug_ui_print(ui, &js.buf, VUG_EXIT_OK);
    int code = VUG_EXIT_OK;
    if (vug_buf_ok(&js.buf, &err) != VUG_OK)
        code = vug_ui_fail(ui, &err);
    else
        code = write_file(ui, opt->out, &js.buf);
    vug_buf_release(&js.buf);
    return code;
}
