#include "app/js.h"

#include <string.h>

#include "core/json.h"

static void lead(vug_js *js, const char *key)
{
    if (js->more)
        vug_buf_puts(&js->buf, ",");
    js->more = true;
    if (key) {
        vug_json_write_string(&js->buf, key, strlen(key));
        vug_buf_puts(&js->buf, ":");
    }
}

void vug_js_open(vug_js *js, const char *key, char bracket)
{
    lead(js, key);
    vug_buf_append(&js->buf, &bracket, 1);
    js->more = false;
}

void vug_js_close(vug_js *js, char bracket)
{
    vug_buf_append(&js->buf, &bracket, 1);
    js->more = true;
}

void vug_js_text(vug_js *js, const char *key, const char *text, size_t len)
{
    lead(js, key);
    vug_json_write_string(&js->buf, text, len);
}

void vug_js_str(vug_js *js, const char *key, const char *text)
{
    if (text)
        vug_js_text(js, key, text, strlen(text));
    else
        vug_js_raw(js, key, "null", 4);
}

void vug_js_int(vug_js *js, const char *key, int64_t v)
{
    lead(js, key);
    vug_buf_printf(&js->buf, "%lld", (long long)v);
}

void vug_js_u64(vug_js *js, const char *key, uint64_t v)
{
    lead(js, key);
    vug_buf_printf(&js->buf, "%llu", (unsigned long long)v);
}

void vug_js_f64(vug_js *js, const char *key, double v)
{
    lead(js, key);
    vug_json_write_f64(&js->buf, v);
}

void vug_js_bool(vug_js *js, const char *key, bool v)
{
    vug_js_raw(js, key, v ? "true" : "false", v ? 4 : 5);
}

void vug_js_raw(vug_js *js, const char *key, const char *json, size_t len)
{
    lead(js, key);
    vug_buf_append(&js->buf, json, len);
}

void vug_js_ids(vug_js *js, const char *key, const int32_t *id, size_t n)
{
    vug_js_open(js, key, '[');
    for (size_t i = 0; i < n; i++)
        vug_js_int(js, NULL, id[i]);
    vug_js_close(js, ']');
}

int vug_js_print(vug_js *js, vug_ui *ui, int code)
{
    vug_buf_puts(&js->buf, "\n");
    return vug_ui_print_styled(ui, &js->buf, code);
}
