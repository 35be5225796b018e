#include "models/config_keys.h"

#include <stdarg.h>
#include <stdio.h>

void vug_config_keys_fail(vug_config_keys *k, vug_status code, const char *fmt, ...)
{
    if (k->st != VUG_OK)
        return;
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    k->st = VUG_FAIL(&k->err, code, "%s: %s", k->file, text);
}

vug_config_keys vug_config_keys_enter(const vug_config_keys *k, const vug_jv *object)
{
    return (vug_config_keys){ .object = object, .file = k->file, .st = k->st, .err = k->err };
}

void vug_config_keys_leave(vug_config_keys *k, const vug_config_keys *sub)
{
    k->st = sub->st;
    k->err = sub->err;
}

vug_status vug_config_keys_status(const vug_config_keys *k, vug_err *err)
{
    if (k->st != VUG_OK && err)
        *err = k->err;
    return k->st;
}

const vug_jv *vug_key_get(vug_config_keys *k, const char *key)
{
    const vug_jv *v = vug_jv_get(k->object, key);
    return vug_jv_is(v, VUG_JSON_NULL) ? NULL : v;
}

int64_t vug_key_int(vug_config_keys *k, const char *key, int64_t fallback, int64_t min, int64_t max)
{
    const vug_jv *v = vug_key_get(k, key);
    if (!v) {
        if (fallback == VUG_REQUIRED)
            vug_config_keys_fail(k, VUG_FORMAT, "key '%s' is missing and has no default", key);
        return fallback;
    }
    if (v->type != VUG_JSON_NUMBER || !v->is_int || v->i64 < min || v->i64 > max) {
        vug_config_keys_fail(k, VUG_FORMAT, "key '%s' must be a whole number from %lld to %lld",
                             key, (long long)min, (long long)max);
        return min;
    }
    return v->i64;
}

double vug_key_number(vug_config_keys *k, const char *key, double fallback, double min, double max)
{
    const vug_jv *v = vug_key_get(k, key);
    if (!v)
        return fallback;
    if (v->type != VUG_JSON_NUMBER || !(v->f64 >= min && v->f64 <= max)) {
        vug_config_keys_fail(k, VUG_FORMAT, "key '%s' must be a number from %g to %g", key, min,
                             max);
        return min;
    }
    return v->f64;
}

bool vug_key_bool(vug_config_keys *k, const char *key, bool fallback)
{
    const vug_jv *v = vug_key_get(k, key);
    if (!v)
        return fallback;
    if (v->type != VUG_JSON_BOOL)
        vug_config_keys_fail(k, VUG_FORMAT, "key '%s' must be true or false", key);
    return v->boolean;
}

const vug_jv *vug_key_object(vug_config_keys *k, const char *key)
{
    const vug_jv *v = vug_key_get(k, key);
    if (v && v->type != VUG_JSON_OBJECT) {
        vug_config_keys_fail(k, VUG_FORMAT, "key '%s' must be an object", key);
        return NULL;
    }
    return v;
}

vug_str vug_key_string(vug_config_keys *k, const char *key, const char *fallback)
{
    const vug_jv *v = vug_key_get(k, key);
    if (!v)
        return fallback ? vug_str_of(fallback) : (vug_str){ 0 };
    if (v->type != VUG_JSON_STRING) {
        vug_config_keys_fail(k, VUG_FORMAT, "key '%s' must be a string", key);
        return (vug_str){ 0 };
    }
    return v->str;
}

int vug_key_ids(vug_config_keys *k, const char *key, int32_t *out, int max)
{
    const vug_jv *v = vug_key_get(k, key);
    const bool list = vug_jv_is(v, VUG_JSON_ARRAY);
    int n = 0;
    for (const vug_jv *id = list ? v->child : v; id; id = list ? id->next : NULL) {
        if (id->type != VUG_JSON_NUMBER || !id->is_int || id->i64 < 0 || id->i64 > INT32_MAX)
            vug_config_keys_fail(k, VUG_FORMAT, "key '%s' must be a token id or a list of them",
                                 key);
        else if (n == max)
            vug_config_keys_fail(k, VUG_LIMIT, "key '%s' lists more than %d ids", key, max);
        else
            out[n++] = (int32_t)id->i64;
    }
    return n;
}
