#ifndef VUG_SERVER_API_ERROR_H
#define VUG_SERVER_API_ERROR_H

/* Errors of the OpenAI API. */

#include <stdarg.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/status.h"

/* X(id, status, type, code), sent as {"error":{"message","type","param","code"}}. The type of
 * CONTEXT_EXCEEDED is that of llama.cpp's server, its code is OpenAI's. */
#define VUG_API_ERROR_TABLE(X)                                                       \
    X(BAD_REQUEST, 400, "invalid_request_error", NULL)                               \
    X(CONTEXT_EXCEEDED, 400, "exceed_context_size_error", "context_length_exceeded") \
    X(UNAUTHORIZED, 401, "authentication_error", "invalid_api_key")                  \
    X(FORBIDDEN, 403, "permission_error", NULL)                                      \
    X(NOT_FOUND, 404, "not_found_error", NULL)                                       \
    X(MODEL_NOT_FOUND, 404, "not_found_error", "model_not_found")                    \
    X(METHOD_NOT_ALLOWED, 405, "invalid_request_error", "method_not_allowed")        \
    X(TIMEOUT, 408, "invalid_request_error", NULL)                                   \
    X(LENGTH_REQUIRED, 411, "invalid_request_error", NULL)                           \
    X(TOO_LARGE, 413, "invalid_request_error", NULL)                                 \
    X(URI_TOO_LONG, 414, "invalid_request_error", NULL)                              \
    X(UNSUPPORTED_MEDIA_TYPE, 415, "invalid_request_error", NULL)                    \
    X(EXPECTATION_FAILED, 417, "invalid_request_error", NULL)                        \
    X(RATE_LIMITED, 429, "rate_limit_error", NULL)                                   \
    X(HEADERS_TOO_LARGE, 431, "invalid_request_error", NULL)                         \
    X(INTERNAL, 500, "server_error", NULL)                                           \
    X(NOT_IMPLEMENTED, 501, "invalid_request_error", NULL)                           \
    X(UNAVAILABLE, 503, "overloaded_error", NULL)                                    \
    X(UNSUPPORTED_VERSION, 505, "invalid_request_error", NULL)

typedef enum {
#define X(id, status, type, code) VUG_API_##id,
    VUG_API_ERROR_TABLE(X)
#undef X
            VUG_API_ERROR_COUNT
} vug_api_error_kind;

typedef struct {
    vug_api_error_kind kind;
    char param[64]; /* the field; "" is sent as null */
    char message[512];
    size_t n_prompt, n_context; /* tokens; of CONTEXT_EXCEEDED only */
} vug_api_error;

int vug_api_error_status(vug_api_error_kind kind);
/* {"error":{..}} */
void vug_api_error_write(const vug_api_error *error, vug_buf *to);
/* As an event. It ends the stream, without [DONE]. */
void vug_api_error_event(const vug_api_error *error, vug_buf *to);
/* These fill `error` and return false, for checks to return. `param` may be NULL. */
static inline bool vug_api_error_set(vug_api_error *error, vug_api_error_kind kind,
                                     const char *param, const char *fmt, ...) VUG_PRINTF(4, 5);
/* From a library error: bad input becomes 400, missing memory and a failed device 503, the rest 500. */
bool vug_api_error_from(vug_api_error *error, const vug_err *err, const char *param);
/* With the wording that clients search for. `param` is "messages" or "prompt". */
bool vug_api_error_context_exceeded(vug_api_error *error, size_t limit, size_t n_prompt,
                                    size_t n_answer, const char *param);
bool vug_api_error_no_memory(vug_api_error *error);
bool vug_api_error_unknown_model(vug_api_error *error, vug_str model);

void vug_api_error_set_va(vug_api_error *error, vug_api_error_kind kind, const char *param,
                          const char *fmt, va_list ap);

/* Inline, so that readers and static analyzers see that it returns false. */
static inline bool vug_api_error_set(vug_api_error *error, vug_api_error_kind kind,
                                     const char *param, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vug_api_error_set_va(error, kind, param, fmt, ap);
    va_end(ap);
    return false;
}

#endif
