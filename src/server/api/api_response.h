#ifndef VUG_SERVER_API_API_RESPONSE_H
#define VUG_SERVER_API_API_RESPONSE_H

/*
 * Responses of the OpenAI API. A choice is fed with the model's output piece by piece, and ends
 * with a finish reason. It becomes a part of one JSON object or a stream of events with the same
 * content.
 *
 *     vug_chat_choice_begin
 *     for each token:
 *         vug_chat_choice_logprob                      vug_completion_choice_logprob
 *         vug_response_parser_push ─► vug_chat_choice_part       vug_completion_choice_push
 *     vug_response_parser_finish ─► vug_chat_choice_part
 *     vug_chat_choice_finish                           vug_completion_choice_finish
 *     vug_chat_choice_write, or events                 vug_completion_choice_write, or events
 *
 * Buffers keep their first failure, which vug_chat_choice_ok and vug_completion_choice_ok report.
 * Nothing here depends on sockets or models; a choice belongs to one thread at a time.
 */

#include "core/json_writer.h"
#include "core/stop_strings.h"
#include "server/api/api_request.h"
#include "vug/chat.h"

typedef enum {
    VUG_API_UNFINISHED,
    VUG_API_FINISH_STOP,
    VUG_API_FINISH_LENGTH,
    VUG_API_FINISH_TOOL_CALLS,
} vug_api_finish_reason;

/* What all choices of a response share. */
typedef struct {
    uint64_t id; /* unique; the ids of the response and its tool calls derive from it */
    int64_t created;
    vug_str model;
    const char *fingerprint;   /* NULL: none */
    vug_api_endpoint endpoint; /* one that generates */
    bool stream;
    bool include_usage;     /* at the end of a stream */
    bool continuous_usage;  /* in each event of a stream */
    bool timings_per_token; /* in each event of a stream */
    bool token_ids;         /* report the ids of prompts and answers */
    bool also_reasoning;    /* send thinking under the name `reasoning` too */
} vug_api_response_head;

/* Tokens of all choices together; each prompt counts once. */
typedef struct {
    size_t prompt, cached, completion, reasoning;
    size_t drafted, accepted; /* drafts of speculative decoding, and those that became tokens */
    size_t prediction_rejected, prediction_accepted; /* of those that repeat the prediction */
    double prompt_s; /* seconds until the first logits, of all choices */
    double decode_s; /* seconds from then on, of all choices */
} vug_api_usage;

/* How much of a prompt is processed. */
typedef struct {
    size_t total, cached, processed; /* tokens; `processed` includes the cached ones */
    double seconds;                  /* since the choice began */
} vug_api_progress;

typedef struct {
    vug_str text; /* may be part of a UTF-8 sequence */
    float logprob;
    bool is_control; /* `text` names it and is not part of the output */
    int32_t id;
    vug_str name; /* written instead of `text`; empty: none */
} vug_api_token;

typedef struct {
    vug_api_token token;
    bool is_first;            /* of a prompt: it has no log-probability */
    const vug_api_token *top; /* [n_top], best first, or those that the request lists */
    size_t n_top;
} vug_api_logprob;

/* Log-probabilities as JSON. A stream holds only those of tokens whose text was not sent yet. */
enum { VUG_LOGPROB_LISTS = 4 };
typedef struct {
    vug_buf list[VUG_LOGPROB_LISTS];     /* chat: one; completion: tokens, values, tops, offsets */
    size_t committed[VUG_LOGPROB_LISTS]; /* bytes, of tokens whose text was output */
    size_t offset;                       /* in characters, of the next token */
} vug_logprob_lists;

/* ---- chat ---------------------------------------------------------------------- */

typedef struct {
    /* Set by the caller before vug_chat_choice_begin; the rest is zero then. */
    const vug_api_response_head *head;
    int index;
    bool logprobs;              /* requested: the caller feeds them */
    bool named_tool;            /* tool_choice names the tool: the finish reason is stop */
    bool single_call;           /* the response ends with its first call */
    bool must_call;             /* text can only be a truncated call, so it is not content */
    bool calls_guarded;         /* by a grammar: they are streamed before they are complete */
    bool is_last;               /* of a stream: its last event has the timings */
    vug_stop_strings stops;     /* searched for in content, not in thinking and calls */
    vug_buf *events;            /* output of a stream */
    const vug_api_usage *usage; /* so far, of all choices */
    const vug_tokens *prompt;   /* reported if head->token_ids; NULL: not with this choice */

    vug_buf ids;               /* of tokens, as JSON; of a stream: not sent yet */
    vug_buf prompt_logprobs;   /* as JSON; empty: not reported with this choice */
    vug_buf content, thinking; /* what the client has seen */
    vug_buf calls;             /* output without a stream */
    vug_buf piece, name, arguments;
    vug_logprob_lists tokens;
    size_t n_calls;
    bool in_call, ended;
    vug_api_finish_reason reason;
} vug_chat_choice;

void vug_chat_choice_begin(vug_chat_choice *choice);
/* An event without output. */
void vug_chat_choice_progress(vug_chat_choice *choice, const vug_api_progress *progress);
/* Reports the id of a token, before its log-probability. */
void vug_chat_choice_token(vug_chat_choice *choice, int32_t id);
/* Call before the parts that the token yields. */
void vug_chat_choice_logprob(vug_chat_choice *choice, const vug_api_logprob *logprob);
/* A vug_part_fn whose `user` is the choice. False when a stop or a call has ended it. */
bool vug_chat_choice_part(const vug_part *part, void *choice);
void vug_chat_choice_finish(vug_chat_choice *choice, vug_finish finish);
enum { VUG_CALL_ID_BYTES = 32 };
/* The id of a tool call, from 0, of the choice. */
void vug_chat_choice_call_id(const vug_chat_choice *choice, size_t call,
                             char out[VUG_CALL_ID_BYTES]);
bool vug_chat_choice_ok(const vug_chat_choice *choice);
size_t vug_chat_choice_bytes(const vug_chat_choice *choice);
void vug_chat_choice_release(vug_chat_choice *choice);
/* Writes `n` finished choices without a stream: {"object":"chat.completion",..} */
void vug_chat_choice_write(const vug_api_response_head *head, const vug_chat_choice *choice,
                           size_t n, const vug_api_usage *usage, vug_buf *to);

/* ---- completions --------------------------------------------------------------- */

typedef struct {
    const vug_api_response_head *head;
    int index; /* prompt * choices per prompt + choice */
    bool logprobs;
    vug_stop_strings stops;
    vug_buf *events;
    /* As in vug_chat_choice: */
    const vug_api_usage *usage;
    bool is_last;
    const vug_tokens *prompt;
    size_t n_prompt; /* tokens */

    vug_buf ids, prompt_logprobs;
    size_t n_tokens; /* of the answer, without the one that ended it */
    vug_buf text, piece;
    vug_logprob_lists tokens;
    vug_api_finish_reason reason;
} vug_completion_choice;

void vug_completion_choice_progress(vug_completion_choice *choice,
                                    const vug_api_progress *progress);
void vug_completion_choice_token(vug_completion_choice *choice, int32_t id, bool is_stop);
void vug_completion_choice_logprob(vug_completion_choice *choice, const vug_api_logprob *logprob);
/* Adds text of the prompt, in which stops are not searched for. */
void vug_completion_choice_echo(vug_completion_choice *choice, const char *text, size_t len);
/* False when a stop has ended it. */
bool vug_completion_choice_push(vug_completion_choice *choice, const char *text, size_t len);
void vug_completion_choice_finish(vug_completion_choice *choice, vug_finish finish);
bool vug_completion_choice_ok(const vug_completion_choice *choice);
size_t vug_completion_choice_bytes(const vug_completion_choice *choice);
void vug_completion_choice_release(vug_completion_choice *choice);
/* {"object":"text_completion",..}, or for llama.cpp's endpoint {"index","content",..}, in an array if
 * there are several. */
void vug_completion_choice_write(const vug_api_response_head *head,
                                 const vug_completion_choice *choice, size_t n,
                                 const vug_api_usage *usage, vug_buf *to);

/* ---- prompts ----------------------------------------------------------------------- */

/* Appends the entry of a token to `to`, as in vLLM's server: {ID: {"logprob","rank","decoded_token"},
 * ..} of the token and the top tokens; null for the first one. `rank` counts from 1. */
void vug_api_add_prompt_logprob(const vug_api_logprob *logprob, size_t rank, vug_buf *to);

/* ---- the end of a stream --------------------------------------------------------- */

/* Sent after the last choice if head->include_usage. */
void vug_api_usage_event(const vug_api_response_head *head, const vug_api_usage *usage,
                         vug_buf *to);
void vug_api_done_event(vug_buf *to);

/* ---- other endpoints ------------------------------------------------------------- */

typedef struct {
    vug_str id;
    int64_t created;
    int64_t context; /* tokens */
} vug_api_model;

void vug_api_model_write(const vug_api_model *model, vug_buf *to);
void vug_api_models_write(const vug_api_model *model, size_t n, vug_buf *to);

/* Returns the bytes of a token. */
typedef vug_str vug_api_token_text_fn(int32_t id, void *user);

typedef struct {
    const int32_t *id; /* [n] */
    size_t n;
    int64_t context;
    vug_api_token_text_fn *spell;
    void *user;
} vug_api_tokens;

void vug_api_tokenize_write(const vug_api_request *request, const vug_api_tokens *tokens,
                            vug_buf *to);
void vug_api_detokenize_write(const char *text, size_t len, vug_buf *to);
void vug_api_template_write(const char *text, size_t len, vug_buf *to);

/* Vectors for the inputs of a request. */
typedef struct {
    vug_str model;
    const float *x; /* [n, width] */
    size_t n, width;
    size_t n_tokens; /* of all inputs */
    bool as_base64;
} vug_api_embeddings;

/* {"object":"list",..} */
void vug_api_embeddings_write(const vug_api_embeddings *embeddings, vug_buf *to);
/* An upper limit of the bytes that it writes. */
size_t vug_api_embeddings_bytes(const vug_api_embeddings *embeddings);

typedef struct {
    const char *model, *architecture, *template_source; /* template_source may be NULL */
    int64_t context;
    int slots;
    const vug_sampling_defaults *sampling;
} vug_api_props;

void vug_api_props_write(const vug_api_props *props, vug_buf *to);

void vug_api_version_write(vug_buf *to);

/* Spellings of tokens; NULL: none. */
typedef struct {
    const char *bos, *eos;
    int64_t size, context; /* tokens */
    const char *template_source;
} vug_api_tokenizer_info;

void vug_api_tokenizer_info_write(const vug_api_tokenizer_info *info, vug_buf *to);

/* X(id, name): what a request does; it waits in the queue, computes its prompt or its answer. */
#define VUG_API_SLOT_STATE_TABLE(X) \
    X(WAITING, "waiting")           \
    X(PROMPT, "prompt")             \
    X(GENERATING, "generating")

typedef enum {
#define X(id, name) VUG_API_SLOT_##id,
    VUG_API_SLOT_STATE_TABLE(X)
#undef X
} vug_api_slot_state;

/* A request that waits or runs; tokens of all its prompts and choices so far. */
typedef struct {
    uint64_t id;
    vug_str model;
    int64_t context;
    vug_api_slot_state state;
    int priority;
    size_t prompt_tokens, cached_tokens, completion_tokens;
    int64_t max_tokens; /* of a choice; -1: until the context is full */
} vug_api_slot;

void vug_api_slot_write(const vug_api_slot *slot, vug_json_writer *js);

#endif
