#ifndef VUG_APP_REMOTE_HEARD_H
#define VUG_APP_REMOTE_HEARD_H

/*
 * What a server of OpenAI's API says: an answer to a chat or a completion, out of the chunks
 * of a stream or in one piece, and errors. It forgives what servers are known to do otherwise:
 * thinking under the name reasoning, tool calls without an index or all with the index 0,
 * arguments that are an object, a message where a delta belongs, log-probabilities of
 * completions as those of chats.
 */

#include "app/shown.h"
#include "core/json.h"

enum {
    VUG_HEARD_MAX_CALLS = 128,
    VUG_HEARD_MAX_INDEX = 1 << 20, /* of a call; some servers count from elsewhere than 0 */
};
#define VUG_HEARD_MAX_ARGUMENTS ((size_t)16 << 20) /* bytes, of one call */
#define VUG_HEARD_MAX_TREE      ((size_t)64 << 20) /* bytes that an event may take, once read */

typedef struct {
    int64_t index;
    vug_buf id, name, arguments;
} vug_heard_call;

/* Of one token, as it comes, and of the best in its place. */
typedef void vug_heard_token_fn(const vug_shown_token *token, const vug_shown_token *top,
                                size_t n_top, void *user);

/* All-zero, with a name for sentences, is the beginning of an answer. */
typedef struct {
    const char *name;             /* of the server; borrowed */
    vug_part_fn *on_part;         /* content and thinking, as they come; calls are kept here */
    vug_heard_token_fn *on_token; /* or NULL */
    void *user;
    vug_heard_call *call; /* [n_calls] */
    size_t n_calls;
    char finish[24]; /* "" until it has come */
    bool done;       /* [DONE] */
    bool over;       /* on_part wants to hear no more */
    bool has_usage;  /* and then: */
    int64_t prompt_tokens, cached_tokens, completion_tokens;
} vug_heard;

/* The data of one event. After [DONE] nothing is read. */
VUG_MUST_CHECK vug_status vug_heard_event(vug_heard *h, vug_str data, vug_err *err);
void vug_heard_release(vug_heard *h);
/* heard_logprobs.c: those of a choice; `logprobs` may be NULL. */
void vug_heard_logprobs(const vug_heard *h, const vug_jv *logprobs);

/* The sentence of an error's body, whichever of the usual shapes it has, cut to what `out` holds;
 * false when there is none. */
bool vug_heard_error(vug_str body, char *out, size_t size);
/* The first id of a list of models, in the arena; ptr is NULL when there is none. */
VUG_MUST_CHECK vug_status vug_heard_model(vug_str body, const char *name, vug_arena *arena,
                                          vug_str *out, vug_err *err);

#endif
