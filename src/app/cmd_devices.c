#include "app/commands.h"
#include "app/js.h"

static void as_json(vug_js *js)
{
    vug_js_open(js, NULL, '[');
    for (size_t i = 0; i < vug_device_count(); i++) {
        const vug_device_info d = vug_device_get(i);
        vug_js_open(js, NULL, '{');
        vug_js_str(js, "name", d.name);
        vug_js_str(js, "description", d.description);
        vug_js_bool(js, "available", d.available);
        vug_js_str(js, "reason", d.reason);
        vug_js_int(js, "threads", d.threads);
        vug_js_u64(js, "memory_bytes", d.memory);
        vug_js_close(js, '}');
    }
    vug_js_close(js, ']');
}

int vug_cmd_devices(vug_ui *ui, const vug_options *opt)
{
    if (opt->json) {
        vug_js js = { 0 };
        as_json(&js);
        return vug_js_print(&js, ui, VUG_EXIT_OK);
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
    return vug_ui_print(ui, &text, VUG_EXIT_OK);
}
