#include "server/api/internal.h"

/* Parsers of independent fields: numbers, flags, stops, biases. */

/* ---- common types --------------------------------------------------------------- */

void vug_request_parse_flag(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (vug_field_expect(p, field->name, v, VUG_JSON_BOOL))
        p->out->number[field->id] = v->boolean;
}

void vug_request_parse_number(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_NUMBER))
        return;
    if (v->f64 < field->min || v->f64 > field->max)
        vug_field_reject(p, field->name, "%s must be a number from %g to %g, not %.*s", field->name,
                         field->min, field->max, (int)(v->str.len < 40 ? v->str.len : 40),
                         v->str.ptr);
    p->out->number[field->id] = v->f64;
}

void vug_request_parse_integer(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (vug_field_integer(p, field->name, v, field->min, field->max))
        p->out->number[field->id] = v->f64;
}

void vug_request_parse_ignored(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    (void)p, (void)field, (void)v;
}

void vug_request_parse_unsupported(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    (void)v;
    vug_field_reject(p, field->name, "%s is not supported (%s)", field->name, field->help);
}

void vug_request_parse_neutral(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    const bool is_list = v->type == VUG_JSON_ARRAY || v->type == VUG_JSON_OBJECT;
    const double x = v->type == VUG_JSON_NUMBER ? v->f64
                     : v->type == VUG_JSON_BOOL ? v->boolean
                     : is_list                  ? (double)v->n
                                                : (double)v->str.len;
    if (x < field->min || x > field->max)
        vug_request_parse_unsupported(p, field, v);
}

/* ---- fields with their own rules ---------------------------------------------- */

void vug_request_parse_model(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_STRING))
        return;
    if (v->str.len > VUG_API_MAX_MODEL)
        vug_field_reject(p, field->name, "model has %zu bytes, at most %d are allowed", v->str.len,
                         VUG_API_MAX_MODEL);
    p->out->model = v->str;
}

void vug_request_parse_cache_salt(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_STRING))
        return;
    if (v->str.len == 0 || v->str.len > VUG_API_MAX_SALT)
        vug_field_reject(p, field->name, "cache_salt has %zu bytes, expected 1 to %d", v->str.len,
                         VUG_API_MAX_SALT);
    p->out->cache_salt = v->str;
}

void vug_request_parse_seed(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_NUMBER))
        return;
    /* Numbers spelled 5.0 are limited to the integers that doubles represent. */
    const bool whole = v->is_int ||
                       (v->f64 >= -0x1p53 && v->f64 <= 0x1p53 && (double)(int64_t)v->f64 == v->f64);
    if (!whole)
        vug_field_reject(p, field->name, "seed must be a whole number of 64 bits, not %.*s",
                         (int)(v->str.len < 40 ? v->str.len : 40), v->str.ptr);
    else
        p->out->seed = (uint64_t)(v->is_int ? v->i64 : (int64_t)v->f64);
}

void vug_request_parse_logprobs(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (p->out->endpoint == VUG_API_CHAT) {
        if (vug_field_expect(p, field->name, v, VUG_JSON_BOOL))
            p->out->logprobs = v->boolean;
        return;
    }
    if (!vug_field_integer(p, field->name, v, field->min, field->max))
        return;
    p->out->logprobs = true;
    p->out->top_logprobs = (int)v->f64;
}

void vug_request_parse_stop(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    const bool is_list = v->type == VUG_JSON_ARRAY;
    const size_t n = is_list ? v->n : 1;
    if (!is_list && v->type != VUG_JSON_STRING) {
        vug_field_reject(p, field->name, "stop must be a string or a list of strings");
        return;
    }
    if (n > VUG_API_MAX_STOPS) {
        vug_field_reject(p, field->name, "stop has %zu strings, at most %d are allowed", n,
                         VUG_API_MAX_STOPS);
        return;
    }
    vug_str *stop = vug_request_alloc(p, n, sizeof(*stop));
    const vug_jv *item = is_list ? v->child : v;
    for (size_t i = 0; stop && i < n; i++, item = item->next) {
        if (item->type != VUG_JSON_STRING || item->str.len == 0)
            vug_field_reject(p, field->name, "stop must contain only non-empty strings");
        else if (item->str.len > VUG_API_MAX_STOP)
            vug_field_reject(p, field->name,
                             "stop has a string of %zu bytes, at most %d are allowed",
                             item->str.len, VUG_API_MAX_STOP);
        stop[i] = item->str;
    }
    p->out->stop = stop;
    p->out->n_stops = n;
}

void vug_request_parse_stop_ids(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY))
        return;
    if (v->n > VUG_API_MAX_STOPS)
        vug_field_reject(p, field->name, "stop_token_ids has %zu ids, at most %d are allowed", v->n,
                         VUG_API_MAX_STOPS);
    else
        p->out->stop_id = vug_request_parse_ids(p, field->name, v, &p->out->n_stop_ids);
}

void vug_request_parse_allowed_ids(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY) || v->n == 0)
        return;
    if (v->n > VUG_API_MAX_ALLOWED)
        vug_field_reject(p, field->name, "%s has %zu ids, at most %zu are allowed", field->name,
                         v->n, VUG_API_MAX_ALLOWED);
    else
        p->out->allowed_id = vug_request_parse_ids(p, field->name, v, &p->out->n_allowed);
}

void vug_request_parse_logprob_ids(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY) || v->n == 0)
        return;
    if (v->n > VUG_MAX_LOGPROB_IDS)
        vug_field_reject(p, field->name, "%s has %zu ids, at most %d are allowed", field->name,
                         v->n, VUG_MAX_LOGPROB_IDS);
    else
        p->out->logprob_id = vug_request_parse_ids(p, field->name, v, &p->out->n_logprob_ids);
}

/* bad_words and dry_sequence_breakers. */
void vug_request_parse_words(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    const bool is_breaker = field->id == VUG_FIELD_dry_sequence_breakers;
    const size_t most = is_breaker ? VUG_MAX_DRY_BREAKERS : VUG_MAX_BANNED_WORDS;
    const size_t longest = is_breaker ? VUG_MAX_DRY_BREAKER : VUG_API_MAX_WORD;
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY))
        return;
    if (v->n > most) {
        vug_field_reject(p, field->name, "%s has %zu strings, at most %zu are allowed", field->name,
                         v->n, most);
        return;
    }
    const char **word = vug_request_alloc(p, v->n, sizeof(*word));
    size_t n = 0;
    for (const vug_jv *m = v->child; m && word && !p->bad; m = m->next) {
        const bool is_text = m->type == VUG_JSON_STRING && m->str.len > 0 &&
                             m->str.len <= longest && !memchr(m->str.ptr, 0, m->str.len);
        if (!is_text)
            vug_field_reject(p, field->name, "%s must contain only strings of 1 to %zu bytes",
                             field->name, longest);
        char *copy = is_text ? vug_request_alloc(p, m->str.len + 1, 1) : NULL;
        if (copy)
            word[n++] = memcpy(copy, m->str.ptr, m->str.len);
    }
    *(is_breaker ? &p->out->dry_breaker : &p->out->bad_word) = word;
    *(is_breaker ? &p->out->n_dry_breakers : &p->out->n_bad_words) = n;
}

/* "106": only digits, without a leading zero. */
static bool parse_id(vug_str key, int32_t *id)
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

/* llama.cpp's [id, number], or [id, false] for never. */
static bool parse_bias_pair(const vug_field *field, const vug_jv *pair, vug_sampler_config *out)
{
    const vug_jv *id = pair->type == VUG_JSON_ARRAY && pair->n == 2 ? pair->child : NULL;
    if (!id || !id->is_int || id->i64 < 0 || id->i64 > INT32_MAX)
        return false;
    const vug_jv *value = id->next;
    const bool never = value->type == VUG_JSON_BOOL && !value->boolean;
    *out = (vug_sampler_config){ VUG_SAMPLER_BIAS, never ? -1000.0f : (float)value->f64,
                                 (int32_t)id->i64 };
    return never ||
           (value->type == VUG_JSON_NUMBER && value->f64 >= field->min && value->f64 <= field->max);
}

static bool parse_bias_member(const vug_field *field, const vug_jv *v, vug_sampler_config *out)
{
    *out = (vug_sampler_config){ .kind = VUG_SAMPLER_BIAS, .value = (float)v->f64 };
    return v->type == VUG_JSON_NUMBER && v->f64 >= field->min && v->f64 <= field->max &&
           parse_id(v->key, &out->token);
}

void vug_request_parse_logit_bias(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    const bool is_list = v->type == VUG_JSON_ARRAY;
    if (!is_list && !vug_field_expect(p, field->name, v, VUG_JSON_OBJECT))
        return;
    if (v->n > VUG_API_MAX_BIAS) {
        vug_field_reject(p, field->name, "logit_bias has %zu entries, at most %d are allowed", v->n,
                         VUG_API_MAX_BIAS);
        return;
    }
    p->out->n_bias = v->n;
    p->out->bias = vug_request_alloc(p, v->n, sizeof(*p->out->bias));
    size_t i = 0;
    for (const vug_jv *m = v->child; m && !p->bad; m = m->next, i++) {
        if ((is_list ? parse_bias_pair : parse_bias_member)(field, m, &p->out->bias[i]))
            continue;
        if (is_list)
            vug_field_reject(p, field->name,
                             "logit_bias: entry %zu must be [id, number], with a number from %g to "
                             "%g",
                             i, field->min, field->max);
        else
            vug_field_reject(p, field->name,
                             "logit_bias: \"%.*s\" must be a token id with a number from %g to %g",
                             VUG_STR_ARG(m->key), field->min, field->max);
    }
}

void vug_request_parse_stream_options(vug_request_parser *p, const vug_field *field,
                                      const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *usage = vug_field_member(v, "include_usage");
    const vug_jv *continuous = vug_field_member(v, "continuous_usage_stats");
    if (usage && vug_field_expect(p, "stream_options.include_usage", usage, VUG_JSON_BOOL))
        p->out->include_usage = usage->boolean;
    if (continuous &&
        vug_field_expect(p, "stream_options.continuous_usage_stats", continuous, VUG_JSON_BOOL))
        p->out->continuous_usage = continuous->boolean;
}

/* Appends a part of the content of a prediction. */
static void add_prediction_part(vug_request_parser *p, const vug_jv *part, vug_buf *to)
{
    static const char at[] = "prediction.content";
    if (!vug_field_expect(p, at, part, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_field_require(p, at, part, "type", VUG_JSON_STRING);
    const vug_jv *text = vug_field_require(p, at, part, "text", VUG_JSON_STRING);
    if (type && !vug_str_is(type->str, "text"))
        vug_field_reject(p, at, "a part of prediction.content is '%.*s', expected text",
                         VUG_STR_ARG(type->str));
    if (text)
        vug_buf_append(to, text->str.ptr, text->str.len);
}

void vug_request_parse_prediction(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_OBJECT))
        return;
    const vug_jv *type = vug_field_require(p, field->name, v, "type", VUG_JSON_STRING);
    const vug_jv *content = vug_field_member(v, "content");
    if (type && !vug_str_is(type->str, "content"))
        vug_field_reject(p, "prediction.type", "prediction.type is '%.*s', expected content",
                         VUG_STR_ARG(type->str));
    if (vug_jv_is(content, VUG_JSON_STRING)) {
        p->out->prediction = content->str;
    } else if (vug_jv_is(content, VUG_JSON_ARRAY)) {
        vug_buf text = { 0 };
        for (const vug_jv *part = content->child; part && !p->bad; part = part->next)
            add_prediction_part(p, part, &text);
        p->out->prediction = vug_request_copy(p, &text);
    } else {
        vug_field_reject(p, "prediction.content",
                         "prediction.content must be a string or a list of parts");
    }
}

void vug_request_parse_encoding_format(vug_request_parser *p, const vug_field *field,
                                       const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_STRING))
        return;
    p->out->as_base64 = vug_str_is(v->str, "base64");
    if (!p->out->as_base64 && !vug_str_is(v->str, "float"))
        vug_field_reject(p, field->name, "encoding_format is '%.*s', expected float or base64",
                         VUG_STR_ARG(v->str));
}

void vug_request_parse_modalities(vug_request_parser *p, const vug_field *field, const vug_jv *v)
{
    if (!vug_field_expect(p, field->name, v, VUG_JSON_ARRAY))
        return;
    for (const vug_jv *m = v->child; m; m = m->next) {
        if (m->type != VUG_JSON_STRING || !vug_str_is(m->str, "text"))
            vug_field_reject(p, field->name, "modalities: %.*s is not supported, only \"text\" is",
                             VUG_STR_ARG(m->str));
    }
}
