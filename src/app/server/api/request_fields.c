#include "app/server/api/request_fields.h"

#include <stdarg.h>
#include <stdio.h>

/* Readers of fields that stand alone: numbers, flags, lists of stops and biases. */

static const char *const type_text[] = {
    [VUG_JSON_NULL] = "null",       [VUG_JSON_BOOL] = "true or false",
    [VUG_JSON_NUMBER] = "a number", [VUG_JSON_STRING] = "a string",
    [VUG_JSON_ARRAY] = "an array",  [VUG_JSON_OBJECT] = "an object",
};

vug_place vug_place_at(const char *fmt, ...)
{
    vug_place place;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(place.text, sizeof(place.text), fmt, ap);
    va_end(ap);
    return place;
}

void vug_refuse(vug_taker *t, const char *param, const char *fmt, ...)
{
    char why[sizeof(t->error->message)];
    va_list ap;
    if (t->bad)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, ap);
    va_end(ap);
    vug_api_error_set(t->error, VUG_API_BAD_REQUEST, param, "%s", why);
    t->bad = true;
}

bool vug_field_is(vug_taker *t, const char *param, const vug_jv *v, vug_json_type type)
{
    if (vug_jv_is(v, type))
        return true;
    vug_refuse(t, param, v ? "%s must be %s, not %s" : "%s must be %s, and is missing", param,
               type_text[type], v ? type_text[v->type] : "");
    return false;
}

bool vug_field_whole(vug_taker *t, const char *param, const vug_jv *v, double min, double max)
{
    if (!vug_field_is(t, param, v, VUG_JSON_NUMBER))
        return false;
    /* Bounds first: only then does the number fit an integer. */
    if (v->f64 >= min && v->f64 <= max && (double)(int64_t)v->f64 == v->f64)
        return true;
    vug_refuse(t, param, "%s must be a whole number from %.0f to %.0f, not %.*s", param, min, max,
               (int)(v->str.len < 40 ? v->str.len : 40), v->str.ptr);
    return false;
}

static void no_room(vug_taker *t)
{
    if (!t->bad)
        vug_api_error_set(t->error, VUG_API_UNAVAILABLE, NULL, "out of memory for this request");
    t->bad = true;
}

void *vug_take_room(vug_taker *t, size_t n, size_t size)
{
    void *room = t->bad ? NULL : vug_arena_alloc(t->arena, n, size);
    if (!room)
        no_room(t);
    return room;
}

vug_str vug_take_copy(vug_taker *t, vug_buf *buf)
{
    vug_str copy = { 0 };
    if (!t->bad && !buf->bad)
        copy = vug_arena_copy(t->arena, (vug_str){ buf->ptr, buf->len });
    if (!copy.ptr)
        no_room(t);
    vug_buf_release(buf);
    return copy;
}

const vug_jv *vug_member(const vug_jv *v, const char *key)
{
    const vug_jv *member = vug_jv_get(v, key);
    return vug_jv_is(member, VUG_JSON_NULL) ? NULL : member;
}

void vug_check_member(vug_taker *t, const char *outer, const vug_jv *object, const char *name,
                      vug_json_type type)
{
    const vug_place at = vug_place_at("%s.%s", outer, name);
    const vug_jv *v = vug_member(object, name);
    if (v)
        (void)vug_field_is(t, at.text, v, type);
}

static bool is_name(vug_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        const char c = name.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c && strchr("_-.:/", c))))
            return false;
    }
    return name.len > 0 && name.len <= VUG_API_MAX_NAME;
}

bool vug_take_name(vug_taker *t, const char *outer, const vug_jv *object, vug_str *out)
{
    const vug_place at = vug_place_at("%s.name", outer);
    const vug_jv *name = vug_member(object, "name");
    if (!vug_field_is(t, at.text, name, VUG_JSON_STRING))
        return false;
    if (!is_name(name->str))
        vug_refuse(t, at.text, "%s is '%.*s', expected 1 to %d letters, digits and _ - . : /",
                   at.text, VUG_STR_ARG(name->str), VUG_API_MAX_NAME);
    *out = name->str;
    return !t->bad;
}

/* ---- plain kinds --------------------------------------------------------------- */

void vug_take_flag(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (vug_field_is(t, field->name, v, VUG_JSON_BOOL))
        t->out->number[field->id] = v->boolean;
}

void vug_take_number(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_NUMBER))
        return;
    if (v->f64 < field->min || v->f64 > field->max)
        vug_refuse(t, field->name, "%s must be a number from %g to %g, not %.*s", field->name,
                   field->min, field->max, (int)(v->str.len < 40 ? v->str.len : 40), v->str.ptr);
    t->out->number[field->id] = v->f64;
}

void vug_take_whole(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (vug_field_whole(t, field->name, v, field->min, field->max))
        t->out->number[field->id] = v->f64;
}

void vug_take_ignored(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    (void)t, (void)field, (void)v;
}

void vug_take_refused(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    (void)v;
    vug_refuse(t, field->name, "%s is not supported (%s)", field->name, field->help);
}

void vug_take_neutral(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    const bool is_list = v->type == VUG_JSON_ARRAY || v->type == VUG_JSON_OBJECT;
    const double x = v->type == VUG_JSON_NUMBER ? v->f64
                     : v->type == VUG_JSON_BOOL ? v->boolean
                     : is_list                  ? (double)v->n
                                                : (double)v->str.len;
    if (x < field->min || x > field->max)
        vug_take_refused(t, field, v);
}

/* ---- fields with rules of their own ---------------------------------------------- */

void vug_take_model(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_STRING))
        return;
    if (v->str.len > VUG_API_MAX_MODEL)
        vug_refuse(t, field->name, "model has %zu bytes, at most %d are taken", v->str.len,
                   VUG_API_MAX_MODEL);
    t->out->model = v->str;
}

void vug_take_seed(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_NUMBER))
        return;
    /* Spelled 5.0, a number is exact as far as doubles are. */
    const bool whole = v->is_int ||
                       (v->f64 >= -0x1p53 && v->f64 <= 0x1p53 && (double)(int64_t)v->f64 == v->f64);
    if (!whole)
        vug_refuse(t, field->name, "seed must be a whole number of 64 bits, not %.*s",
                   (int)(v->str.len < 40 ? v->str.len : 40), v->str.ptr);
    else
        t->out->seed = (uint64_t)(v->is_int ? v->i64 : (int64_t)v->f64);
}

void vug_take_logprobs(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (t->out->endpoint == VUG_API_CHAT) {
        if (vug_field_is(t, field->name, v, VUG_JSON_BOOL))
            t->out->logprobs = v->boolean;
        return;
    }
    if (!vug_field_whole(t, field->name, v, field->min, field->max))
        return;
    t->out->logprobs = true;
    t->out->top_logprobs = (int)v->f64;
}

void vug_take_stop(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    const bool is_list = v->type == VUG_JSON_ARRAY;
    const size_t n = is_list ? v->n : 1;
    if (!is_list && v->type != VUG_JSON_STRING) {
        vug_refuse(t, field->name, "stop must be a string or a list of strings");
        return;
    }
    if (n > VUG_API_MAX_STOPS) {
        vug_refuse(t, field->name, "stop has %zu strings, at most %d are taken", n,
                   VUG_API_MAX_STOPS);
        return;
    }
    vug_str *stop = vug_take_room(t, n, sizeof(*stop));
    const vug_jv *item = is_list ? v->child : v;
    for (size_t i = 0; stop && i < n; i++, item = item->next) {
        if (item->type != VUG_JSON_STRING || item->str.len == 0)
            vug_refuse(t, field->name, "stop must hold strings that are not empty");
        else if (item->str.len > VUG_API_MAX_STOP)
            vug_refuse(t, field->name, "stop has a string of %zu bytes, at most %d are taken",
                       item->str.len, VUG_API_MAX_STOP);
        stop[i] = item->str;
    }
    t->out->stop = stop;
    t->out->n_stops = n;
}

void vug_take_stop_ids(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_ARRAY))
        return;
    if (v->n > VUG_API_MAX_STOPS)
        vug_refuse(t, field->name, "stop_token_ids has %zu ids, at most %d are taken", v->n,
                   VUG_API_MAX_STOPS);
    else
        t->out->stop_id = vug_take_ids(t, field->name, v, &t->out->n_stop_ids);
}

/* "106": digits alone, without a leading zero. */
static bool id_of(vug_str key, int32_t *id)
{
    int64_t value = 0;
    if (key.len == 0 || key.len > 10 || (key.ptr[0] == '0' && key.len > 1))
        return false;
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] < '0' || key.ptr[i] > '9')
            return false;
        value = value * 10 + (key.ptr[i] - '0');
    }
    *id = (int32_t)value;
    return value <= INT32_MAX;
}

/* [id, number], or [id, false] for never (llama.cpp, tools/server/README.md, logit_bias). */
static bool bias_of_pair(const vug_field *field, const vug_jv *pair, vug_sampler_stage *out)
{
    const vug_jv *id = pair->type == VUG_JSON_ARRAY && pair->n == 2 ? pair->child : NULL;
    if (!id || !id->is_int || id->i64 < 0 || id->i64 > INT32_MAX)
        return false;
    const vug_jv *value = id->next;
    const bool never = value->type == VUG_JSON_BOOL && !value->boolean;
    *out = (vug_sampler_stage){ VUG_SAMPLER_BIAS, never ? -1000.0f : (float)value->f64,
                                (int32_t)id->i64 };
    return never ||
           (value->type == VUG_JSON_NUMBER && value->f64 >= field->min && value->f64 <= field->max);
}

static bool bias_of_member(const vug_field *field, const vug_jv *v, vug_sampler_stage *out)
{
    *out = (vug_sampler_stage){ .kind = VUG_SAMPLER_BIAS, .value = (float)v->f64 };
    return v->type == VUG_JSON_NUMBER && v->f64 >= field->min && v->f64 <= field->max &&
           id_of(v->key, &out->token);
}

void vug_take_bias(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    const bool is_list = v->type == VUG_JSON_ARRAY;
    if (!is_list && !vug_field_is(t, field->name, v, VUG_JSON_OBJECT))
        return;
    if (v->n > VUG_API_MAX_BIAS) {
        vug_refuse(t, field->name, "logit_bias has %zu entries, at most %d are taken", v->n,
                   VUG_API_MAX_BIAS);
        return;
    }
    t->out->n_bias = v->n;
    t->out->bias = vug_take_room(t, v->n, sizeof(*t->out->bias));
    size_t i = 0;
    for (const vug_jv *m = v->child; m && !t->bad; m = m->next, i++) {
        if (!(is_list ? bias_of_pair : bias_of_member)(field, m, &t->out->bias[i]))
            vug_refuse(t, field->name,
                       "logit_bias: entry %zu must be %s, with a number from %g to %g", i,
                       is_list ? "[id, number]" : "\"id\": number", field->min, field->max);
    }
}

void vug_take_stream_options(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *usage = vug_member(v, "include_usage");
    if (usage && vug_field_is(t, "stream_options.include_usage", usage, VUG_JSON_BOOL))
        t->out->include_usage = usage->boolean;
}

void vug_take_suffix(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (vug_field_is(t, field->name, v, VUG_JSON_STRING) && v->str.len > 0)
        vug_refuse(t, field->name, "suffix is not supported: vug does not fill in the middle");
}

void vug_take_modalities(vug_taker *t, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_is(t, field->name, v, VUG_JSON_ARRAY))
        return;
    for (const vug_jv *m = v->child; m; m = m->next) {
        if (m->type != VUG_JSON_STRING || !vug_str_is(m->str, "text"))
            vug_refuse(t, field->name, "modalities: %.*s is not supported, only \"text\" is",
                       VUG_STR_ARG(m->str));
    }
}
