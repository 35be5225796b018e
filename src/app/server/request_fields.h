#ifndef VUG_APP_SERVER_REQUEST_FIELDS_H
#define VUG_APP_SERVER_REQUEST_FIELDS_H

/* What the files request*.c share: a request while it is read. */

#include "app/server/request.h"

typedef struct {
    vug_api_request *out;
    vug_arena *arena;
    vug_api_error *error;
    bool bad; /* error is set; the first one stays */
    /* Until all is read: */
    vug_str named;           /* of tool_choice */
    int64_t thinking_tokens; /* of reasoning_effort */
    const vug_jv *variables; /* of chat_template_kwargs */
} vug_taker;

/* One field: `name` in the body, its value never null. */
typedef struct {
    const char *name;
    vug_field_id id;
    unsigned endpoints; /* bits of vug_api_endpoint */
    double min, max;
    const char *help;
} vug_field;

/* A 400 about `param`. */
void vug_refuse(vug_taker *t, const char *param, const char *fmt, ...) VUG_PRINTF(3, 4);
/* Whether `v` is of that type; otherwise a 400. */
bool vug_field_is(vug_taker *t, const char *param, const vug_jv *v, vug_json_type type);
/* `v` as a whole number within bounds, also where it is spelled 5.0; otherwise a 400. */
bool vug_field_whole(vug_taker *t, const char *param, const vug_jv *v, double min, double max);
/* Zeroed; NULL, with a 503, when out of memory. */
void *vug_take_room(vug_taker *t, size_t n, size_t size);
/* NULL when `v` lacks the key or it is null. */
const vug_jv *vug_member(const vug_jv *v, const char *key);

/* Readers, by the names in fields.def. */
typedef void vug_field_reader(vug_taker *t, const vug_field *field, const vug_jv *v);
vug_field_reader vug_take_flag, vug_take_number, vug_take_whole, vug_take_ignored, vug_take_refused,
        vug_take_model, vug_take_messages, vug_take_prompt, vug_take_content, vug_take_tokens,
        vug_take_bias, vug_take_seed, vug_take_stop, vug_take_logprobs, vug_take_format,
        vug_take_tools, vug_take_tool_choice, vug_take_effort, vug_take_variables,
        vug_take_stream_options, vug_take_suffix, vug_take_modalities;

/* What only shows when all fields are read. */
void vug_settle_tools(vug_taker *t);
void vug_settle_thinking(vug_taker *t);

#endif
