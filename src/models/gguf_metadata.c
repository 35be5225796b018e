/* Typed, sticky access to the metadata of a GGUF file. */
#include "models/gguf_metadata.h"

#include <stdarg.h>
#include <stdio.h>

void vug_metadata_fail(vug_metadata_reader *r, vug_status code, const char *fmt, ...)
{
    if (r->st != VUG_OK)
        return;
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    r->st = VUG_FAIL(&r->err, code, "%s: %s", r->list->source, text);
}

const vug_gguf_value *vug_metadata_find(const vug_metadata_reader *r, const char *key)
{
    return vug_gguf_find_in(r->gguf, vug_str_of(r->arch->gguf->name), key);
}

/* Sets `i`, a layer, to the index of its element: 0 if the value is no array. */
static const vug_gguf_value *find_layer_value(vug_metadata_reader *r, const char *key, int64_t *i)
{
    const vug_gguf_value *v = vug_metadata_find(r, key);
    if (!v)
        return NULL;
    if (v->is_array && v->count != (uint64_t)r->sizes.n_layers) {
        vug_metadata_fail(r, VUG_FORMAT, "key '%s.%s' has %llu elements for %lld layers",
                          r->arch->gguf->name, key, (unsigned long long)v->count,
                          (long long)r->sizes.n_layers);
        return NULL;
    }
    *i = v->is_array ? *i : 0;
    return v;
}

static void fail_type(vug_metadata_reader *r, const char *key, const vug_gguf_value *v,
                      const char *wanted)
{
    vug_metadata_fail(r, VUG_FORMAT, "key '%s.%s' is %s, expected %s", r->arch->gguf->name, key,
                      vug_gguf_describe(v).text, wanted);
}

int64_t vug_metadata_int(vug_metadata_reader *r, const char *key, int64_t layer, int64_t fallback)
{
    const vug_gguf_value *v = find_layer_value(r, key, &layer);
    int64_t out = fallback;
    if (v && !vug_gguf_i64(v, (uint64_t)layer, &out))
        fail_type(r, key, v, "whole numbers");
    return out;
}

double vug_metadata_number(vug_metadata_reader *r, const char *key, double fallback)
{
    const vug_gguf_value *v = vug_metadata_find(r, key);
    double out = fallback;
    if (v && (v->is_array || !vug_gguf_f64(v, 0, &out)))
        fail_type(r, key, v, "a number");
    return out;
}

bool vug_metadata_bool(vug_metadata_reader *r, const char *key, int64_t layer, bool fallback)
{
    const vug_gguf_value *v = find_layer_value(r, key, &layer);
    bool out = fallback;
    if (v && !vug_gguf_bool(v, (uint64_t)layer, &out))
        fail_type(r, key, v, "true or false");
    return out;
}

vug_str vug_metadata_string(vug_metadata_reader *r, const char *key, const char *fallback)
{
    const vug_gguf_value *v = vug_metadata_find(r, key);
    vug_str out = vug_str_of(fallback);
    if (v && !vug_gguf_string(v, &out))
        fail_type(r, key, v, "a string");
    return out;
}

bool vug_metadata_has_tensor(const vug_metadata_reader *r, const char *name)
{
    return vug_tensor_list_find(r->list, name) != NULL;
}

/* Always with a decimal point, since transformers refuses 12 for 12.0; and 1e-06, not all
 * digits of the F32 next to it. */
void vug_metadata_put_number(vug_metadata_reader *r, const char *name, double value)
{
    vug_buf number = { 0 };
    if ((double)(float)value == value)
        vug_json_append_f32(&number, (float)value);
    else
        vug_json_append_f64(&number, value);
    if (number.ptr && !strpbrk(number.ptr, ".e"))
        vug_buf_puts(&number, ".0");
    if (number.bad)
        r->json.buf.bad = true;
    else
        vug_json_put_raw(&r->json, name, number.ptr, number.len);
    vug_buf_release(&number);
}
