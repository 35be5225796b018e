#ifndef VUG_APP_SHOWN_H
#define VUG_APP_SHOWN_H

/*
 * An answer as a person reads it while it comes, and as it is kept: content on stdout,
 * thoughts and log-probabilities dimmed on stderr, each tool call as a line of JSON. With
 * --json nothing is printed before the end.
 */

#include "app/js.h"
#include "app/talk.h"

/* All-zero, with `ui`, is none yet. */
typedef struct {
    vug_ui *ui;
    bool silent;               /* --json */
    vug_buf content, thinking; /* of the last answer */
    vug_js calls;              /* likewise: the elements of tool_calls */
    size_t n_calls;            /* that were given an id, ever */
    bool cut;                  /* arguments of a call of the last answer are no object */
    vug_js logprobs;           /* of the last answer, with --json: the elements of an array */
    vug_buf name, arguments;   /* of the call that comes */
    char last;                 /* byte that was printed last, to either */
    bool thought;              /* thinking was printed last */
} vug_shown;

/* Forgets the last answer: another one begins. */
void vug_shown_begin(vug_shown *s);
/* A vug_part_fn; `user` is the vug_shown. False once stdout has failed. */
bool vug_shown_part(const vug_part *part, void *user);
/* A whole tool call; without an id it is given one. Arguments that are no JSON are shown
 * as a string. */
bool vug_shown_call(vug_shown *s, vug_str id, vug_str name, vug_str arguments);
/* A token as who answered spells it. */
typedef struct {
    int64_t id; /* -1: not told */
    vug_str text;
    double logprob;
} vug_shown_token;

/* The log-probability of a token, and those of the best in its place. */
void vug_shown_logprob(vug_shown *s, const vug_shown_token *token, const vug_shown_token *top,
                       size_t n_top);
/* Text that is printed and not kept. */
bool vug_shown_text(vug_shown *s, const char *text, size_t len);
/* A line end, if none was printed last. */
void vug_shown_end(vug_shown *s);
void vug_shown_release(vug_shown *s);

/* Adds the answer to the conversation that it was of; false when there is nothing of it. Calls
 * are left out if one was cut short: no template and few servers would take it back. */
bool vug_shown_keep(const vug_shown *s, vug_talk *talk);
/* The members content, thinking and tool_calls. */
void vug_shown_json(const vug_shown *s, vug_js *js);
/* The member logprobs. */
void vug_shown_logprobs_json(const vug_shown *s, vug_js *js);

#endif
