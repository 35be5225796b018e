#ifndef VUG_APP_SERVER_API_ANSWER_WRITE_H
#define VUG_APP_SERVER_API_ANSWER_WRITE_H

/* What the files answer*.c share. */

#include "app/server/api/answer.h"

/* {"id":..,"created":..,"model":..,"choices":[ */
void vug_write_head(const vug_api_head *head, vug_buf *to);
/* The same of a stream, with "data: " in front. */
void vug_write_event_head(const vug_api_head *head, vug_buf *to);
/* From the end of a choice to the end of the event. */
void vug_write_event_end(const vug_api_head *head, vug_buf *to);
/* ],"usage":{..}} */
void vug_write_usage_end(const vug_api_usage *usage, vug_buf *to);
void vug_write_text(vug_buf *to, const vug_buf *text);
/* In quotes, or null. */
void vug_write_name(vug_buf *to, const char *name);

/* "stop" or "length". */
const char *vug_finish_name(vug_finish finish);

void vug_logprobs_chat(vug_logprob_lists *lists, const vug_api_logprob *logprob);
void vug_logprobs_text(vug_logprob_lists *lists, const vug_api_logprob *logprob);
/* The text of all tokens so far is out. */
void vug_logprobs_keep(vug_logprob_lists *lists);
/* That of the others never comes. */
void vug_logprobs_drop(vug_logprob_lists *lists);
/* "logprobs":.. with null where there are none, or an empty list of those that were `asked`
 * for. A stream then forgets them. */
void vug_write_chat_logprobs(const vug_logprob_lists *lists, bool asked, vug_buf *to);
void vug_write_text_logprobs(const vug_logprob_lists *lists, vug_buf *to);
void vug_logprobs_clear(vug_logprob_lists *lists);
bool vug_logprobs_ok(const vug_logprob_lists *lists);
size_t vug_logprobs_bytes(const vug_logprob_lists *lists);
void vug_logprobs_release(vug_logprob_lists *lists);

#endif
