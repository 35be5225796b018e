#ifndef VUG_APP_SERVER_API_REQUEST_FIELDS_H
#define VUG_APP_SERVER_API_REQUEST_FIELDS_H

/* What the files request*.c share: a request while it is read. */

#include "app/server/api/request.h"

typedef struct {
    vug_api_request *out;
    vug_arena *arena;
    vug_api_error *error;
    bool bad; /* error is set; the first one stays */
    /* Until all is read: */
    vug_str named;             /* of tool_choice */
    const vug_jv *allowed;     /* of the same: allowed_tools */
    vug_api_thinking thinking; /* of the field of that name */
    const vug_jv *budget;      /* likewise, its budget_tokens; NULL: none */
    int64_t thinking_tokens;   /* of reasoning_effort */
    const vug_jv *variables;   /* of chat_template_kwargs */
} vug_taker;

/* One field: `name` in the body, its value never null. */
typedef struct {
    const char *name;
    vug_field_id id;
    unsigned endpoints; /* bits of vug_api_endpoint */
    double min, max;
    const char *help;
} vug_field;

/* Where something lies in the body, as OpenAI writes it: messages[2].content[0].type */
typedef struct {
    char text[sizeof(((vug_api_error *)0)->param)];
} vug_place;

vug_place vug_place_at(const char *fmt, ...) VUG_PRINTF(1, 2);

/* A 400 about `param`. */
void vug_refuse(vug_taker *t, const char *param, const char *fmt, ...) VUG_PRINTF(3, 4);
/* Whether `v` is of that type; otherwise a 400. */
bool vug_field_is(vug_taker *t, const char *param, const vug_jv *v, vug_json_type type);
/* `v` as a whole number within bounds, also where it is spelled 5.0; otherwise a 400. */
bool vug_field_whole(vug_taker *t, const char *param, const vug_jv *v, double min, double max);
/* Zeroed; NULL, with a 503, when out of memory. */
void *vug_take_room(vug_taker *t, size_t n, size_t size);
/* The text of `buf`, which it releases, in the arena; a 503 when out of memory. */
vug_str vug_take_copy(vug_taker *t, vug_buf *buf);
/* NULL when `v` lacks the key or it is null. */
const vug_jv *vug_member(const vug_jv *v, const char *key);
/* The type of a member that need not be there; `outer` is where its object lies. */
void vug_check_member(vug_taker *t, const char *outer, const vug_jv *object, const char *name,
                      vug_json_type type);
/* The member `name`: of a function, or of a schema. */
bool vug_take_name(vug_taker *t, const char *outer, const vug_jv *object, vug_str *out);

/* Readers, by the names in fields.def. */
typedef void vug_field_reader(vug_taker *t, const vug_field *field, const vug_jv *v);
vug_field_reader vug_take_flag, vug_take_number, vug_take_whole, vug_take_ignored, vug_take_refused,
        vug_take_neutral, vug_take_model, vug_take_messages, vug_take_prompt, vug_take_content,
        vug_take_tokens, vug_take_bias, vug_take_seed, vug_take_stop, vug_take_stop_ids,
        vug_take_logprobs, vug_take_format, vug_take_outputs, vug_take_schema, vug_take_regex,
        vug_take_choice, vug_take_gbnf, vug_take_tools, vug_take_tool_choice, vug_take_effort,
        vug_take_thinking, vug_take_variables, vug_take_stream_options, vug_take_suffix,
        vug_take_modalities;

/* `list` as ids, of which it says how many. */
int32_t *vug_take_ids(vug_taker *t, const char *param, const vug_jv *list, size_t *n);

/* What only shows when all fields are read. */
void vug_settle_tools(vug_taker *t);
void vug_settle_thinking(vug_taker *t);

#endif
