#ifndef VUG_APP_SERVER_API_ERROR_H
#define VUG_APP_SERVER_API_ERROR_H

/* Errors as clients of the API read them. */

#include <stdarg.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/status.h"

/* X(id, status, type, code): what is said in {"error":{"message","type","param","code"}}. */
#define VUG_API_ERROR_TABLE(X)                                          \
    X(BAD_REQUEST, 400, "invalid_request_error", NULL)                  \
    X(CONTEXT, 400, "invalid_request_error", "context_length_exceeded") \
    X(NO_KEY, 401, "authentication_error", "invalid_api_key")           \
    X(FORBIDDEN, 403, "permission_error", NULL)                         \
    X(NO_PATH, 404, "not_found_error", NULL)                            \
    X(NO_MODEL, 404, "not_found_error", "model_not_found")              \
    X(METHOD, 405, "invalid_request_error", "method_not_allowed")       \
    X(TOO_SLOW, 408, "invalid_request_error", NULL)                     \
    X(NO_LENGTH, 411, "invalid_request_error", NULL)                    \
    X(TOO_LARGE, 413, "invalid_request_error", NULL)                    \
    X(TARGET, 414, "invalid_request_error", NULL)                       \
    X(MEDIA_TYPE, 415, "invalid_request_error", NULL)                   \
    X(EXPECTATION, 417, "invalid_request_error", NULL)                  \
    X(BUSY, 429, "rate_limit_error", NULL)                              \
    X(HEADERS, 431, "invalid_request_error", NULL)                      \
    X(INTERNAL, 500, "server_error", NULL)                              \
    X(NOT_DONE, 501, "invalid_request_error", NULL)                     \
    X(UNAVAILABLE, 503, "overloaded_error", NULL)                       \
    X(VERSION, 505, "invalid_request_error", NULL)

typedef enum {
#define X(id, status, type, code) VUG_API_##id,
    VUG_API_ERROR_TABLE(X)
#undef X
            VUG_API_ERROR_COUNT
} vug_api_error_kind;

typedef struct {
    vug_api_error_kind kind;
    char param[64];    /* the field it is about; "" for null */
    char message[512]; /* one sentence */
} vug_api_error;

int vug_api_error_status(vug_api_error_kind kind);
/* {"error":{..}} */
void vug_api_error_write(const vug_api_error *error, vug_buf *to);
/* The same as an event, of a stream that has begun; it ends the stream without [DONE]. */
void vug_api_error_event(const vug_api_error *error, vug_buf *to);
/* These fill `error` and are false, for checks to return. `param` may be NULL. */
static inline bool vug_api_error_set(vug_api_error *error, vug_api_error_kind kind,
                                     const char *param, const char *fmt, ...) VUG_PRINTF(4, 5);
/* What the library said: bad input is the client's (400), memory the moment's (503), and
 * the rest ours (500). */
bool vug_api_error_take(vug_api_error *error, const vug_err *err, const char *param);
/* In the words that clients look for. `param` is "messages" or "prompt". */
bool vug_api_error_context(vug_api_error *error, size_t limit, size_t n_prompt, size_t n_answer,
                           const char *param);
bool vug_api_error_model(vug_api_error *error, vug_str model);

void vug_api_error_fill(vug_api_error *error, vug_api_error_kind kind, const char *param,
                        const char *fmt, va_list ap);

/* Here, so that whoever reads a caller sees that it is false; so do analyzers. */
static inline bool vug_api_error_set(vug_api_error *error, vug_api_error_kind kind,
                                     const char *param, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vug_api_error_fill(error, kind, param, fmt, ap);
    va_end(ap);
    return false;
}

#endif
