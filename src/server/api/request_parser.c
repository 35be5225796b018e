#include <stdarg.h>
#include <stdio.h>

#include "server/api/internal.h"

static const char *const type_name[] = {
    [VUG_JSON_NULL] = "null",       [VUG_JSON_BOOL] = "true or false",
    [VUG_JSON_NUMBER] = "a number", [VUG_JSON_STRING] = "a string",
    [VUG_JSON_ARRAY] = "an array",  [VUG_JSON_OBJECT] = "an object",
};

vug_field_path vug_field_path_at(const char *fmt, ...)
{
    vug_field_path path;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(path.text, sizeof(path.text), fmt, ap);
    va_end(ap);
    return path;
}

void vug_field_reject(vug_request_parser *p, const char *param, const char *fmt, ...)
{
    char message[sizeof(p->error->message)];
    va_list ap;
    if (p->bad)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    vug_api_error_set(p->error, VUG_API_BAD_REQUEST, param, "%s", message);
    p->bad = true;
}

bool vug_field_expect(vug_request_parser *p, const char *param, const vug_jv *v, vug_json_type type)
{
    if (vug_jv_is(v, type))
        return true;
    vug_field_reject(p, param, v ? "%s must be %s, not %s" : "%s is missing; it must be %s", param,
                     type_name[type], v ? type_name[v->type] : "");
    return false;
}

bool vug_field_integer(vug_request_parser *p, const char *param, const vug_jv *v, double min,
                       double max)
{
    if (!vug_field_expect(p, param, v, VUG_JSON_NUMBER))
        return false;
    /* The bounds make the conversion to an integer defined. */
    if (v->f64 >= min && v->f64 <= max && (double)(int64_t)v->f64 == v->f64)
        return true;
    vug_field_reject(p, param, "%s must be a whole number from %.0f to %.0f, not %.*s", param, min,
                     max, (int)(v->str.len < 40 ? v->str.len : 40), v->str.ptr);
    return false;
}

static void fail_no_memory(vug_request_parser *p)
{
    if (!p->bad)
        vug_api_error_set(p->error, VUG_API_UNAVAILABLE, NULL, "out of memory for this request");
    p->bad = true;
}

void *vug_request_alloc(vug_request_parser *p, size_t n, size_t size)
{
    void *memory = p->bad ? NULL : vug_arena_alloc(p->arena, n, size);
    if (!memory)
        fail_no_memory(p);
    return memory;
}

vug_str vug_request_copy(vug_request_parser *p, vug_buf *buf)
{
    vug_str copy = { 0 };
    if (!p->bad && !buf->bad)
        copy = vug_arena_copy(p->arena, (vug_str){ buf->ptr, buf->len });
    if (!copy.ptr)
        fail_no_memory(p);
    vug_buf_release(buf);
    return copy;
}

const vug_jv *vug_field_member(const vug_jv *v, const char *key)
{
    const vug_jv *member = vug_jv_get(v, key);
    return vug_jv_is(member, VUG_JSON_NULL) ? NULL : member;
}

const vug_jv *vug_field_require(vug_request_parser *p, const char *outer, const vug_jv *object,
                                const char *name, vug_json_type type)
{
    const vug_field_path at = vug_field_path_at("%s.%s", outer, name);
    const vug_jv *v = vug_field_member(object, name);
    return vug_field_expect(p, at.text, v, type) ? v : NULL;
}

void vug_field_check_member(vug_request_parser *p, const char *outer, const vug_jv *object,
                            const char *name, vug_json_type type)
{
    if (vug_field_member(object, name))
        (void)vug_field_require(p, outer, object, name, type);
}

static bool is_function_name(vug_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c && strchr("_-.:/", c))))
            return false;
    }
    return name.len > 0 && name.len <= VUG_API_MAX_NAME;
}

bool vug_request_parse_name(vug_request_parser *p, const char *outer, const vug_jv *object,
                            vug_str *out)
{
    const vug_field_path at = vug_field_path_at("%s.name", outer);
    const vug_jv *name = vug_field_require(p, outer, object, "name", VUG_JSON_STRING);
    if (!name)
        return false;
    if (!is_function_name(name->str))
        vug_field_reject(p, at.text, "%s is '%.*s', expected 1 to %d letters, digits and _ - . : /",
                         at.text, VUG_STR_ARG(name->str), VUG_API_MAX_NAME);
    *out = name->str;
    return !p->bad;
}

int32_t *vug_request_parse_ids(vug_request_parser *p, const char *param, const vug_jv *list,
                               size_t *n)
{
    int32_t *id = vug_request_alloc(p, list->n, sizeof(*id));
    size_t i = 0;
    for (const vug_jv *v = list->child; v && !p->bad; v = v->next) {
        if (vug_field_integer(p, param, v, 0, INT32_MAX))
            id[i++] = (int32_t)v->f64;
    }
    *n = list->n;
    return id;
}
