#ifndef VUG_APP_SERVER_SPEECH_H
#define VUG_APP_SERVER_SPEECH_H

/*
 * What the model says, on its way to the client: whole answers and streams are fed alike
 * (api/answer.h). Used by the worker alone, inside of the service.
 */

#include "app/server/service_own.h"

typedef struct {
    vug_asked *asked;
    vug_chat_choice *chat; /* one of the two */
    vug_text_choice *text;
    vug_reply *reply; /* of a chat */
    vug_stops stops;  /* of the request: every choice begins with them anew */
    vug_buf events;   /* of a stream, not sent yet */
    vug_buf sent;     /* for the record: of a stream, or an error */
    double last;      /* when the last token came; 0: none has */
    vug_buf spelled;  /* of log-probabilities */
    vug_api_token room[VUG_MAX_TOP_LOGPROBS];
    /* Of an answer that is no stream: */
    size_t answered; /* bytes of the choices that are complete */
    size_t kept;     /* bytes that the call was asked to keep */
    bool full;       /* which it could not */
} vug_speech;

/* Sends the events, or makes room for a whole answer; false when the client has gone, or there is
 * no memory. */
bool vug_speech_send(vug_speech *speech);
/* The choice is complete. */
VUG_MUST_CHECK vug_status vug_speech_end_choice(vug_speech *speech, vug_err *err);
/* Lets the model go on from a prompt, on the session that has most of it, as the request
 * says for choice number `choice`. A client that left makes it VUG_CANCELLED. */
VUG_MUST_CHECK vug_status vug_speech_generate(vug_speech *speech, const vug_tokens *prompt,
                                              int choice, vug_finish *finish, vug_err *err);
/* The end of the call in every case; `body` is that of a whole answer, which it takes. */
void vug_speech_end(vug_speech *speech, vug_status st, const vug_err *err, vug_buf *body);

/* Scores a prompt and hands each of its tokens to the choice. `given` is its text, if it was given
 * as text. */
VUG_MUST_CHECK vug_status vug_echo(vug_speech *speech, const vug_tokens *prompt, vug_str given,
                                   vug_err *err);

/* The reply's parts, as a vug_reply_options.on_part; `user` is the speech. */
bool vug_speech_part(const vug_part *part, void *speech);

#endif
