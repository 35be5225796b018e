#ifndef VUG_SERVER_API_BATCH_LINE_H
#define VUG_SERVER_API_BATCH_LINE_H

/*
 * The lines of a batch, in the format of OpenAI's batch API. The input has
 *
 *     {"custom_id":"..","method":"POST","url":"/v1/chat/completions","body":{..}}
 *
 * and the output, in any order,
 *
 *     {"id":"..","custom_id":"..","response":{"status_code":200,"request_id":"..","body":{..}},
 *      "error":null}
 *
 * or, for a line that is no request, null instead of the response and
 * {"code":"invalid_request_line","message":"..","line":N} as the error, where N counts the lines of
 * the input from 1. `custom_id` is null then if the line has none.
 */

#include "server/api/api_request.h"

#define VUG_BATCH_MAX_ID 512 /* bytes of a custom_id */

typedef struct {
    vug_str custom_id; /* ptr is NULL: none, or not a valid one */
    vug_api_endpoint endpoint;
    vug_str body; /* the object, verbatim */
} vug_batch_request;

/* Slices point into the line or the arena. On failure only `custom_id` is set. The message is for the
 * output: it names no file. */
VUG_MUST_CHECK vug_status vug_batch_request_parse(vug_str line, vug_arena *arena,
                                                  vug_batch_request *out, vug_err *err);

/* What says whether a request has been answered. */
typedef struct {
    vug_str custom_id; /* ptr is NULL: null */
    uint64_t line;     /* of an error; 0: none */
} vug_batch_result;

/* Fails for anything but a line of a batch's output. */
VUG_MUST_CHECK vug_status vug_batch_result_parse(vug_str line, vug_arena *arena,
                                                 vug_batch_result *out, vug_err *err);

/* These append a line with its newline. `number` makes the ids; it is unique. `body` is JSON. */
void vug_batch_response_write(const vug_batch_request *request, uint64_t number, int status,
                              vug_str body, vug_buf *to);
void vug_batch_error_write(vug_str custom_id, uint64_t number, uint64_t line, const char *message,
                           vug_buf *to);

#endif
