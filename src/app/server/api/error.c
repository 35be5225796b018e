#include "app/server/api/error.h"

#include <stdio.h>

/* Errors as the OpenAI API writes them: `code` is a word or null, never the status. */

static const struct {
    int status;
    const char *type, *code;
} row[VUG_API_ERROR_COUNT] = {
#define X(id, status, type, code) { (status), (type), (code) },
    VUG_API_ERROR_TABLE(X)
#undef X
};

int vug_api_error_status(vug_api_error_kind kind)
{
    return row[kind].status;
}

static void write_word(vug_buf *to, const char *word)
{
    if (word && word[0])
        vug_json_write_string(to, word, strlen(word));
    else
        vug_buf_puts(to, "null");
}

void vug_api_error_write(const vug_api_error *error, vug_buf *to)
{
    vug_buf_puts(to, "{\"error\":{\"message\":");
    vug_json_write_string(to, error->message, strlen(error->message));
    vug_buf_puts(to, ",\"type\":");
    write_word(to, row[error->kind].type);
    vug_buf_puts(to, ",\"param\":");
    write_word(to, error->param);
    vug_buf_puts(to, ",\"code\":");
    write_word(to, row[error->kind].code);
    vug_buf_puts(to, "}}");
}

void vug_api_error_event(const vug_api_error *error, vug_buf *to)
{
    vug_buf_puts(to, "data: ");
    vug_api_error_write(error, to);
    vug_buf_puts(to, "\n\n");
}

void vug_api_error_fill(vug_api_error *error, vug_api_error_kind kind, const char *param,
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
        return VUG_API_UNAVAILABLE;
    default:
        return VUG_API_INTERNAL;
    }
}

bool vug_api_error_take(vug_api_error *error, const vug_err *err, const char *param)
{
    return vug_api_error_set(error, kind_of(err->code), param, "%s", err->msg);
}

bool vug_api_error_context(vug_api_error *error, size_t limit, size_t n_prompt, size_t n_answer,
                           const char *param)
{
    return vug_api_error_set(
            error, VUG_API_CONTEXT, param,
            "This model's maximum context length is %zu tokens. However, you requested "
            "%zu tokens (%zu in the %s, %zu in the completion). Please reduce the length "
            "of the %s or completion.",
            limit, n_prompt + n_answer, n_prompt, param, n_answer, param);
}

bool vug_api_error_model(vug_api_error *error, vug_str model)
{
    return vug_api_error_set(error, VUG_API_NO_MODEL, "model", "The model '%.*s' does not exist",
                             VUG_STR_ARG(model));
}
