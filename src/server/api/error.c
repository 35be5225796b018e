#include "server/api/error.h"

#include <stdio.h>

#include "core/json_writer.h"

static const struct {
    int status;
    const char *type, *code;
} error_row[VUG_API_ERROR_COUNT] = {
#define X(id, status, type, code) { (status), (type), (code) },
    VUG_API_ERROR_TABLE(X)
#undef X
};

int vug_api_error_status(vug_api_error_kind kind)
{
    return error_row[kind].status;
}

void vug_api_error_write(const vug_api_error *error, vug_buf *to)
{
    vug_json_writer js = { .to = to };
    vug_json_begin(&js, NULL, '{');
    vug_json_begin(&js, "error", '{');
    vug_json_put_string(&js, "message", error->message);
    vug_json_put_string(&js, "type", error_row[error->kind].type);
    vug_json_put_string(&js, "param", error->param[0] ? error->param : NULL);
    vug_json_put_string(&js, "code", error_row[error->kind].code);
    if (error->kind == VUG_API_CONTEXT_EXCEEDED) { /* as in llama.cpp's server */
        vug_json_put_u64(&js, "n_prompt_tokens", error->n_prompt);
        vug_json_put_u64(&js, "n_ctx", error->n_context);
    }
    vug_json_end(&js, '}');
    vug_json_end(&js, '}');
}

void vug_api_error_event(const vug_api_error *error, vug_buf *to)
{
    vug_buf_puts(to, "data: ");
    vug_api_error_write(error, to);
    vug_buf_puts(to, "\n\n");
}

void vug_api_error_set_va(vug_api_error *error, vug_api_error_kind kind, const char *param,
                          const char *fmt, va_list ap)
{
    *error = (vug_api_error){ .kind = kind };
    (void)snprintf(error->param, sizeof(error->param), "%s", param ? param : "");
    (void)vsnprintf(error->message, sizeof(error->message), fmt, ap);
}

static vug_api_error_kind kind_of(vug_status code)
{
    switch (code) {
    case VUG_FORMAT:
    case VUG_UNSUPPORTED:
    case VUG_ARGUMENT:
    case VUG_LIMIT:
        return VUG_API_BAD_REQUEST;
    case VUG_NOMEM:
    case VUG_CANCELLED:
    case VUG_DEVICE:
        return VUG_API_UNAVAILABLE;
    default:
        return VUG_API_INTERNAL;
    }
}

bool vug_api_error_from(vug_api_error *error, const vug_err *err, const char *param)
{
    return vug_api_error_set(error, kind_of(err->code), param, "%s", err->msg);
}

bool vug_api_error_context_exceeded(vug_api_error *error, size_t limit, size_t n_prompt,
                                    size_t n_answer, const char *param)
{
    (void)vug_api_error_set(
            error, VUG_API_CONTEXT_EXCEEDED, param,
            "This model's maximum context length is %zu tokens. However, you requested "
            "%zu tokens (%zu in the %s, %zu in the completion). Please reduce the length "
            "of the %s or completion.",
            limit, n_prompt + n_answer, n_prompt, param, n_answer, param);
    error->n_prompt = n_prompt;
    error->n_context = limit;
    return false;
}

bool vug_api_error_no_memory(vug_api_error *error)
{
    return vug_api_error_set(error, VUG_API_UNAVAILABLE, NULL, "out of memory");
}

bool vug_api_error_unknown_model(vug_api_error *error, vug_str model)
{
    return vug_api_error_set(error, VUG_API_MODEL_NOT_FOUND, "model",
                             "The model '%.*s' does not exist", VUG_STR_ARG(model));
}
