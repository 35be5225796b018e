#ifndef VUG_SERVER_API_INTERNAL_H
#define VUG_SERVER_API_INTERNAL_H

/* Shared by the files of this folder only. */

#include "core/json_writer.h"
#include "server/api/api_response.h"

/* ==== requests =========================================================================== */

/* A request while it is parsed. */
typedef struct {
    vug_api_request *out;
    vug_arena *arena;
    vug_api_error *error;
    bool bad; /* `error` is set; the first error stays */
    /* Evaluated after all fields are parsed: */
    vug_str named_tool;               /* of tool_choice */
    const vug_jv *allowed_tools;      /* of tool_choice */
    vug_api_thinking thinking;        /* of the field `thinking` */
    const vug_jv *budget;             /* its budget_tokens; NULL: none */
    int64_t effort_budget;            /* of reasoning_effort, in tokens */
    const vug_jv *template_variables; /* chat_template_kwargs */
    const vug_jv *messages;           /* NULL: none */
} vug_request_parser;

/* A row of fields.def. */
typedef struct {
    const char *name;
    vug_field_id id;
    unsigned endpoints; /* bits of vug_api_endpoint */
    double min, max;
    const char *help;
} vug_field;

/* A place in the body, in OpenAI's notation: messages[2].content[0].type */
typedef struct {
    char text[sizeof(((vug_api_error *)0)->param)];
} vug_field_path;

/* ---- request_parser.c: helpers ------------------------------------------------------- */

vug_field_path vug_field_path_at(const char *fmt, ...) VUG_PRINTF(1, 2);
/* Fails with 400 about `param`. */
void vug_field_reject(vug_request_parser *p, const char *param, const char *fmt, ...)
        VUG_PRINTF(3, 4);
/* Whether `v` has that type; if not, rejects the request. */
bool vug_field_expect(vug_request_parser *p, const char *param, const vug_jv *v,
                      vug_json_type type);
/* Whether `v` is an integer within the bounds, also when spelled 5.0; if not, rejects the
 * request. */
bool vug_field_integer(vug_request_parser *p, const char *param, const vug_jv *v, double min,
                       double max);
/* Zeroed; NULL after failing with 503 when out of memory. */
void *vug_request_alloc(vug_request_parser *p, size_t n, size_t size);
/* Moves the text of `buf` to the arena; fails with 503 when out of memory. */
vug_str vug_request_copy(vug_request_parser *p, vug_buf *buf);
/* The member of that type of the object at `outer`; NULL after rejecting the request otherwise. */
const vug_jv *vug_field_require(vug_request_parser *p, const char *outer, const vug_jv *object,
                                const char *name, vug_json_type type);
/* NULL when the member is missing or null. */
const vug_jv *vug_field_member(const vug_jv *v, const char *key);
/* Checks the type of an optional member; `outer` is the place of its object. */
void vug_field_check_member(vug_request_parser *p, const char *outer, const vug_jv *object,
                            const char *name, vug_json_type type);
/* Parses the member `name` of a function or schema. */
bool vug_request_parse_name(vug_request_parser *p, const char *outer, const vug_jv *object,
                            vug_str *out);
/* Parses a list of `*n` token ids. */
int32_t *vug_request_parse_ids(vug_request_parser *p, const char *param, const vug_jv *list,
                               size_t *n);

/* ---- request_*.c: the parsers that fields.def names ---------------------------------- */

/* The value `v` is never null. */
typedef void vug_field_parser(vug_request_parser *p, const vug_field *field, const vug_jv *v);
vug_field_parser vug_request_parse_flag, vug_request_parse_number, vug_request_parse_integer,
        vug_request_parse_ignored, vug_request_parse_unsupported, vug_request_parse_neutral,
        vug_request_parse_model, vug_request_parse_messages, vug_request_parse_prompt,
        vug_request_parse_content, vug_request_parse_tokens, vug_request_parse_logit_bias,
        vug_request_parse_seed, vug_request_parse_stop, vug_request_parse_stop_ids,
        vug_request_parse_logprobs, vug_request_parse_response_format,
        vug_request_parse_structured_outputs, vug_request_parse_schema, vug_request_parse_regex,
        vug_request_parse_choice, vug_request_parse_gbnf, vug_request_parse_tools,
        vug_request_parse_tool_choice, vug_request_parse_reasoning_effort,
        vug_request_parse_thinking, vug_request_parse_template_variables,
        vug_request_parse_stream_options, vug_request_parse_allowed_ids,
        vug_request_parse_logprob_ids, vug_request_parse_words, vug_request_parse_infill_text,
        vug_request_parse_input_extra, vug_request_parse_cache_salt, vug_request_parse_modalities,
        vug_request_parse_prediction, vug_request_parse_encoding_format;

/* Evaluate fields that depend on each other, after all are parsed. */
void vug_request_validate_tools(vug_request_parser *p);
void vug_request_validate_thinking(vug_request_parser *p);
void vug_request_validate_prefill(vug_request_parser *p);
void vug_request_validate_infill(vug_request_parser *p);

/* ==== responses ========================================================================== */

enum { VUG_API_ID_BYTES = 8 }; /* of a token id in JSON, about */

/* ---- response_envelope.c ------------------------------------------------------------- */

/* {"id":..,"created":..,"model":..,"system_fingerprint":.. */
void vug_api_write_head(const vug_api_response_head *head, vug_json_writer *js);
/* "data: " and the head of a stream's event, up to the list of choices. The writer appends to `to`. */
vug_json_writer vug_api_write_event_head(const vug_api_response_head *head, vug_buf *to);
/* "choices":[ */
void vug_api_begin_choices(vug_json_writer *js);
/* "prompt_progress":{..} */
void vug_api_write_progress(const vug_api_progress *progress, vug_json_writer *js);
/* From the end of a choice to the end of its event; `usage` is what it was so far. */
void vug_api_write_event_end(const vug_api_response_head *head, const vug_api_usage *usage,
                             bool is_last, vug_json_writer *js);
/* "prompt_token_ids":[..]; nothing for NULL */
void vug_api_write_prompt_ids(const vug_tokens *prompt, vug_json_writer *js);
/* "token_ids":[..] if they are to be reported */
void vug_api_write_ids(const vug_api_response_head *head, const vug_buf *ids, vug_json_writer *js);
/* Appends to what vug_api_write_ids writes. */
void vug_api_add_id(const vug_api_response_head *head, int32_t id, vug_buf *ids);
/* ],"usage":{..},"timings":{..}} */
void vug_api_write_usage(const vug_api_usage *usage, vug_json_writer *js);
/* "timings":{..} */
void vug_api_write_timings(const vug_api_usage *usage, vug_json_writer *js);
/* "finish_reason":.. with null for VUG_API_UNFINISHED */
void vug_api_write_finish_reason(vug_api_finish_reason reason, vug_json_writer *js);
/* `ended`: by a stop string or a complete call, whatever the last token was. */
vug_api_finish_reason vug_api_finish_reason_of(vug_finish finish, bool ended);

/* ---- native_response.c --------------------------------------------------------------- */

/* A choice of llama.cpp's /completion, or an event of it. */
void vug_native_write(const vug_completion_choice *choice, vug_str text, bool is_event,
                      vug_json_writer *js);
void vug_native_write_progress(const vug_completion_choice *choice,
                               const vug_api_progress *progress, vug_json_writer *js);

/* ---- logprobs.c ---------------------------------------------------------------------- */

/* `with_ids`: each token has its id, as in llama.cpp's server. */
void vug_logprobs_add_chat(vug_logprob_lists *lists, const vug_api_logprob *logprob, bool with_ids);
void vug_logprobs_add_completion(vug_logprob_lists *lists, const vug_api_logprob *logprob);
/* The text of all tokens so far was output. */
void vug_logprobs_commit(vug_logprob_lists *lists);
/* Drops tokens since the last commit: their text is never output. */
void vug_logprobs_rollback(vug_logprob_lists *lists);
/* "logprobs":.. with null when empty, or an empty list if `requested`. */
void vug_logprobs_write_chat(const vug_logprob_lists *lists, bool requested, vug_json_writer *js);
void vug_logprobs_write_completion(const vug_logprob_lists *lists, vug_json_writer *js);
/* "prompt_logprobs":[..]; nothing if empty */
void vug_logprobs_write_prompt(const vug_buf *list, vug_json_writer *js);
void vug_logprobs_clear(vug_logprob_lists *lists);
bool vug_logprobs_ok(const vug_logprob_lists *lists);
size_t vug_logprobs_bytes(const vug_logprob_lists *lists);
void vug_logprobs_release(vug_logprob_lists *lists);

#endif
