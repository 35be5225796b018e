#ifndef VUG_ENGINE_H
#define VUG_ENGINE_H

/*
 * Many requests at once. A vug_engine has threads that run requests; each request generates one
 * answer, and what they compute at the same time shares the steps of the model. A request is
 * submitted from any thread. Its events come through its vug_stream, or to a callback:
 *
 *     vug_engine_create(model, NULL, &engine, &err)
 *     vug_engine_submit(engine, &request, &stream, &err)
 *     while (vug_stream_next(stream, -1, &event) && event.kind != VUG_EVENT_END)
 *         the text of event.piece
 *     vug_stream_destroy(stream)
 *     vug_engine_destroy(engine)
 *
 * An answer is what vug_generate returns for the same prompt and options, whatever else runs. At
 * most `running` requests run; others wait, those with lower numbers of priority first. A request
 * whose events nobody pulls stops when `unread` of them wait, and gives its memory for keys and
 * values to others that need it; it still counts as running.
 *
 * All functions are thread-safe, but only one thread at a time pulls from a stream.
 */

#include "vug/vug.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vug_engine vug_engine;
typedef struct vug_stream vug_stream;

/* ---- events -------------------------------------------------------------- */

typedef enum {
    VUG_EVENT_PROMPT, /* first, unless the request ends before */
    VUG_EVENT_PIECE,
    VUG_EVENT_END, /* last */
} vug_event_kind;

typedef struct {
    vug_event_kind kind;
    size_t n_cached;    /* PROMPT: tokens of the prompt that are cached */
    vug_piece piece;    /* PIECE: pointers are valid until the next event is pulled, or until the
                         callback returns */
    vug_status status;  /* END: VUG_OK, or why the request failed */
    const vug_err *err; /* END: the error message, if it failed; valid as `generation` */
    const vug_generation *generation; /* END: the answer, if the request did not fail; valid until
                                         the stream is destroyed */
} vug_event;

/* Called on a thread of the engine, for one event of a request at a time; for VUG_EVENT_END of a
 * request that was cancelled while it waited, on the thread that cancels. Return false to cancel the
 * request. It may submit and cancel requests, but must not destroy this stream. */
typedef bool vug_event_fn(const vug_event *event, void *user);

/* ---- engines ------------------------------------------------------------- */

/* All-zero chooses every default. */
typedef struct {
    int running; /* requests that may run at once; 0: the `slots` of the model */
    int waiting; /* requests that may wait for that; 0: 1000 */
    int unread;  /* events of a stream that may wait to be pulled; 0: 64 */
} vug_engine_options;

/* `options` may be NULL. The model must outlive the engine; sessions of the model may be used
 * beside it. */
VUG_API VUG_MUST_CHECK vug_status vug_engine_create(vug_model *model,
                                                    const vug_engine_options *options,
                                                    vug_engine **out, vug_err *err);
/* Cancels all requests and waits until they have ended. Streams stay valid: they have their events
 * up to VUG_EVENT_END. No other thread may submit any more. */
VUG_API void vug_engine_destroy(vug_engine *engine);

/* Totals are those of requests that have begun since the engine was created. */
typedef struct {
    size_t running, waiting; /* requests, now */
    uint64_t answered;       /* requests that ended with an answer */
    uint64_t cancelled;
    uint64_t failed;
    uint64_t prefix_hits;      /* requests of whose prompt a part was cached */
    uint64_t prompt_tokens;    /* of all prompts */
    uint64_t cached_tokens;    /* of them, those that were cached; the others were computed */
    uint64_t generated_tokens; /* without stop tokens */
    vug_cache_stats cache;     /* of the model: keys and values of requests and sessions */
} vug_engine_stats;

VUG_API vug_engine_stats vug_engine_get_stats(vug_engine *engine);

/* ---- requests ------------------------------------------------------------ */

/* Exactly one prompt is given. Prompt and namespace are copied. */
typedef struct {
    const int32_t *id; /* [n_ids] as in vug_generate */
    size_t n_ids;
    const char *text; /* [text_len] as in vug_generate_text */
    size_t text_len;
    const vug_message *message; /* [n_messages] as in vug_generate_chat */
    size_t n_messages;
    const void *cache_namespace; /* [namespace_len] as in vug_session_set_namespace */
    size_t namespace_len;
    /* NULL: defaults. Copied; what it points to must stay valid until VUG_EVENT_END has come or the
     * stream is destroyed. Without `cancel`, `on_prompt` and `on_piece`: the stream has these. */
    const vug_generate_options *options;
    vug_event_fn *on_event; /* NULL: events are pulled with vug_stream_next */
    void *user;             /* passed to on_event */
} vug_request;

/* Queues a request. VUG_LIMIT if as many requests wait as may, or if the prompt does not fit the
 * context. */
VUG_API VUG_MUST_CHECK vug_status vug_engine_submit(vug_engine *engine, const vug_request *request,
                                                    vug_stream **out, vug_err *err);
/* Waits for the next event, at most `timeout` seconds; negative: without a limit. False: there was
 * none. After VUG_EVENT_END, and with a callback, the only event is VUG_EVENT_END. */
VUG_API bool vug_stream_next(vug_stream *stream, double timeout, vug_event *out);
/* The request ends soon: with VUG_FINISH_CANCELLED, and VUG_EVENT_END after the events that nobody
 * has pulled yet. */
VUG_API void vug_stream_cancel(vug_stream *stream);
/* Cancels the request if it has not ended, and waits for its end. */
VUG_API void vug_stream_destroy(vug_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
