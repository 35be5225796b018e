#ifndef VUG_APP_SERVER_API_ANSWER_H
#define VUG_APP_SERVER_API_ANSWER_H

/*
 * Answers as the OpenAI API writes them. One choice is fed with what the model says, bit by
 * bit, and ends with a reason; whether it becomes a part of one JSON object or a stream of
 * events is the only difference, so both say the same.
 *
 *     vug_chat_choice_begin
 *     for each token:
 *         vug_chat_choice_logprob                      vug_text_choice_logprob
 *         vug_reply_push ─► vug_chat_choice_part       vug_text_choice_push
 *     vug_reply_finish ─► vug_chat_choice_part
 *     vug_chat_choice_finish                           vug_text_choice_finish
 *     vug_chat_choice_write, or events                 vug_text_choice_write, or events
 *
 * Buffers keep their first failure: vug_chat_choice_ok and vug_text_choice_ok tell. Nothing here knows
 * sockets or models; a choice belongs to one thread at a time.
 */

#include "app/server/api/request.h"
#include "app/server/api/stops.h"
#include "vug/chat.h"

/* What all choices of an answer have in common. */
typedef struct {
    uint64_t id; /* of this request alone: its ids, and those of its calls, come from it */
    int64_t created;
    vug_str model;
    const char *fingerprint; /* NULL: none */
    bool is_text;            /* /v1/completions */
    bool stream;
    bool include_usage;  /* of a stream */
    bool also_reasoning; /* thinking under the name `reasoning`, too */
} vug_api_head;

/* Tokens; of all choices together, the prompt counted once. */
typedef struct {
    size_t prompt, cached, completion, reasoning;
} vug_api_usage;

typedef struct {
    vug_str text; /* its bytes, which may be part of a character */
    float logprob;
    bool is_control; /* the text is a name, no part of the answer */
} vug_api_token;

typedef struct {
    vug_api_token token;
    bool is_first;            /* of a prompt: nothing foretold it */
    const vug_api_token *top; /* [n_top], best first */
    size_t n_top;
} vug_api_logprob;

/* Of the tokens whose text is not out yet, as JSON. */
enum { VUG_LOGPROB_LISTS = 4 };
typedef struct {
    vug_buf list[VUG_LOGPROB_LISTS]; /* chat uses one; text has tokens, values, tops, offsets */
    size_t kept[VUG_LOGPROB_LISTS];  /* bytes of those whose text is out */
    size_t offset;                   /* characters of all tokens so far */
} vug_logprob_lists;

/* ---- chat ---------------------------------------------------------------------- */

typedef struct {
    /* The caller's, before vug_chat_choice_begin; the rest begins as zero. */
    const vug_api_head *head;
    int index;
    bool logprobs;   /* wanted: the caller then feeds them */
    bool is_named;   /* tool_choice names the tool: the reason is stop */
    bool one_call;   /* the answer ends with its first call */
    bool must_call;  /* text is the beginning of a call that was cut short: no content */
    bool sure;       /* a grammar guards calls: they go out as they come, not when complete */
    vug_stops stops; /* of content; thinking and calls are not searched */
    vug_buf *events; /* of a stream */

    vug_buf content, thinking, calls; /* of an answer that is no stream */
    vug_buf piece, name, arguments;
    vug_logprob_lists tokens;
    size_t n_calls;
    bool in_call, ended;
    const char *reason; /* NULL until the end */
} vug_chat_choice;

void vug_chat_choice_begin(vug_chat_choice *choice);
/* The next token's, before its parts. */
void vug_chat_choice_logprob(vug_chat_choice *choice, const vug_api_logprob *logprob);
/* A vug_part_fn whose `user` is the choice: false when it has ended, by a stop or a call. */
bool vug_chat_choice_part(const vug_part *part, void *choice);
void vug_chat_choice_finish(vug_chat_choice *choice, vug_finish finish);
bool vug_chat_choice_ok(const vug_chat_choice *choice);
/* What it takes in memory. */
size_t vug_chat_choice_bytes(const vug_chat_choice *choice);
void vug_chat_choice_release(vug_chat_choice *choice);
/* `n` finished choices, of no stream, as {"object":"chat.completion",..} */
void vug_chat_choice_write(const vug_api_head *head, const vug_chat_choice *choice, size_t n,
                           const vug_api_usage *usage, vug_buf *to);

/* ---- completions --------------------------------------------------------------- */

typedef struct {
    const vug_api_head *head;
    int index; /* of the prompt times choices, plus the choice */
    bool logprobs;
    vug_stops stops;
    vug_buf *events;

    vug_buf text, piece;
    vug_logprob_lists tokens;
    const char *reason;
} vug_text_choice;

void vug_text_choice_logprob(vug_text_choice *choice, const vug_api_logprob *logprob);
/* A stretch of the prompt, of `echo`: stops are not looked for. */
void vug_text_choice_echo(vug_text_choice *choice, const char *text, size_t len);
/* False when a stop has ended the answer. */
bool vug_text_choice_push(vug_text_choice *choice, const char *text, size_t len);
void vug_text_choice_finish(vug_text_choice *choice, vug_finish finish);
bool vug_text_choice_ok(const vug_text_choice *choice);
size_t vug_text_choice_bytes(const vug_text_choice *choice);
void vug_text_choice_release(vug_text_choice *choice);
/* {"object":"text_completion",..} */
void vug_text_choice_write(const vug_api_head *head, const vug_text_choice *choice, size_t n,
                           const vug_api_usage *usage, vug_buf *to);

/* ---- the end of a stream --------------------------------------------------------- */

/* Behind the last choice, if head->include_usage. */
void vug_api_usage_event(const vug_api_head *head, const vug_api_usage *usage, vug_buf *to);
void vug_api_done_event(vug_buf *to);

/* ---- other endpoints ------------------------------------------------------------- */

typedef struct {
    vug_str id;
    int64_t created;
    int64_t context; /* tokens */
} vug_api_model;

void vug_api_model_write(const vug_api_model *model, vug_buf *to);
void vug_api_models_write(const vug_api_model *model, size_t n, vug_buf *to);

/* The bytes of a token. */
typedef vug_str vug_api_spell_fn(int32_t id, void *user);

typedef struct {
    const int32_t *id; /* [n] */
    size_t n;
    int64_t context;
    vug_api_spell_fn *spell;
    void *user;
} vug_api_tokens;

void vug_api_tokenize_write(const vug_api_request *request, const vug_api_tokens *tokens,
                            vug_buf *to);
void vug_api_detokenize_write(const char *text, size_t len, vug_buf *to);
void vug_api_template_write(const char *text, size_t len, vug_buf *to);

typedef struct {
    const char *model, *architecture, *template_source; /* the last may be NULL */
    int64_t context;
    int slots;
    const vug_sampling_defaults *sampling;
} vug_api_props;

void vug_api_props_write(const vug_api_props *props, vug_buf *to);

#endif
