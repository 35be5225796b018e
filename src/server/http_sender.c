#include "server/internal.h"

/* HTTP clients as senders of requests; `self` is the vug_http_request. */

static bool reserve(void *self, size_t bytes)
{
    return vug_http_reserve(self, bytes);
}

static bool send_events(void *self, vug_str events)
{
    return vug_http_stream_event(self, events);
}

static void end_stream(void *self)
{
    vug_http_stream_end(self);
}

static void reply(void *self, const char *headers, vug_buf *body)
{
    vug_http_reply(self, &(vug_http_response_head){ .headers = headers }, body);
}

static void fail(void *self, const vug_api_error *error)
{
    vug_http_fail(self, error);
}

static const vug_sender_functions functions = {
    .reserve = reserve,
    .send_events = send_events,
    .end_stream = end_stream,
    .reply = reply,
    .fail = fail,
};

vug_request_sender vug_server_http_sender(vug_http_request *http)
{
    return (vug_request_sender){ .call = &functions,
                                 .self = http,
                                 .api_key = vug_http_api_key(http),
                                 .request_id = vug_http_request_id(http),
                                 .body = vug_http_body(http) };
}
