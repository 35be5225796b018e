#include <string.h>

#include "cli/commands.h"
#include "core/json_writer.h"
#include "core/os.h"
#include "vug/flow.h"

static vug_graph_format parse_format(const char *name)
{
    if (strcmp(name, "dot") == 0)
        return VUG_GRAPH_DOT;
    return strcmp(name, "svg") == 0 ? VUG_GRAPH_SVG : VUG_GRAPH_TEXT;
}

static int write_file(const vug_ui *ui, const char *path, const vug_buf *text)
{
    vug_out out;
    vug_err err;
    vug_out_open(&out, path);
    vug_out_write(&out, text->ptr, text->len);
    if (vug_out_commit(&out, &err) == VUG_OK)
        return VUG_EXIT_OK;
    return vug_ui_fail(ui, &err);
}

static vug_status open_flow(const vug_options *opt, vug_model **model, vug_flow **flow,
                            vug_err *err)
{
    const bool decode = strcmp(opt->mode, "decode") == 0;
    const vug_flow_options flow_options = { .mode = decode ? VUG_FLOW_DECODE : VUG_FLOW_PREFILL,
                                            .profile = opt->profile };
    vug_model_options model_options = vug_options_model(opt);
    model_options.lazy = true;
    if (opt->config)
        return vug_flow_open(opt->operand[0], &flow_options, flow, err);
    const vug_status st = vug_model_open(opt->operand[0], &model_options, model, err);
    return st == VUG_OK ? vug_flow_create(*model, &flow_options, flow, err) : st;
}

static void write_graph(const vug_options *opt, const vug_text *graph, const vug_text *passes,
                        vug_json_writer *js)
{
    vug_json_begin(js, NULL, '{');
    vug_json_put_string(js, "format", opt->format);
    vug_json_put_bool(js, "fused", opt->fused);
    vug_json_put_string(js, "mode", opt->mode);
    vug_json_put_text(js, "graph", graph->ptr, graph->len);
    if (passes->ptr)
        vug_json_put_text(js, "passes", passes->ptr, passes->len);
    vug_json_end(js, '}');
    vug_buf_puts(&js->buf, "\n");
}

int vug_cmd_graph(vug_ui *ui, const vug_options *opt)
{
    vug_model *model = NULL;
    vug_flow *flow = NULL;
    vug_text graph = { 0 }, passes = { 0 };
    const vug_graph_format format = parse_format(opt->format);
    vug_err err;
    vug_status st = open_flow(opt, &model, &flow, &err);
    if (st == VUG_OK)
        st = vug_flow_text(flow, format, opt->fused, &graph, &err);
    if (st == VUG_OK && opt->profile)
        st = vug_flow_passes(flow, &passes, &err);
    vug_flow_destroy(flow);
    vug_model_close(model);
    vug_json_writer js = { 0 };
    if (st == VUG_OK && opt->json)
        write_graph(opt, &graph, &passes, &js);
    else if (st == VUG_OK) {
        vug_buf_append(&js.buf, graph.ptr, graph.len);
        if (passes.ptr && format == VUG_GRAPH_TEXT)
            vug_buf_printf(&js.buf, "\n%s", passes.ptr);
    }
    vug_text_release(&graph);
    vug_text_release(&passes);
    if (st != VUG_OK)
        return vug_ui_fail(ui, &err);
    if (!opt->out)
        return vug_ui_print(ui, &js.buf);
    int code = VUG_EXIT_OK;
    if (vug_buf_ok(&js.buf, &err) != VUG_OK)
        code = vug_ui_fail(ui, &err);
    else
        code = write_file(ui, opt->out, &js.buf);
    vug_buf_release(&js.buf);
    return code;
}
