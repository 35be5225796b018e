#include "cli/commands.h"
#include "core/json_writer.h"

static void write_devices(vug_json_writer *js)
{
    vug_json_begin(js, NULL, '[');
    for (size_t i = 0; i < vug_device_count(); i++) {
        const vug_device_info d = vug_device_get(i);
        vug_json_begin(js, NULL, '{');
        vug_json_put_string(js, "name", d.name);
        vug_json_put_string(js, "description", d.description);
        vug_json_put_bool(js, "available", d.available);
        vug_json_put_string(js, "reason", d.reason);
        vug_json_put_i64(js, "threads", d.threads);
        vug_json_put_u64(js, "memory_bytes", d.memory);
        vug_json_end(js, '}');
    }
    vug_json_end(js, ']');
}

int vug_cmd_devices(vug_ui *ui, const vug_options *opt)
{
    if (opt->json) {
        vug_json_writer js = { 0 };
        write_devices(&js);
        return vug_ui_print_json(&js, ui, VUG_EXIT_OK);
    }
    vug_buf text = { 0 };
    for (size_t i = 0; i < vug_device_count(); i++) {
        const vug_device_info d = vug_device_get(i);
        vug_buf_printf(&text, "%-8s %s\n", d.name, d.description);
        if (!d.available)
            vug_buf_printf(&text, "         not available: %s\n", d.reason);
        else if (d.threads > 0)
            vug_buf_printf(&text, "         %d threads, %s memory\n", d.threads,
                           vug_human_bytes(d.memory).text);
        else
            vug_buf_printf(&text, "         %s memory\n", vug_human_bytes(d.memory).text);
    }
    return vug_ui_print(ui, &text);
}
