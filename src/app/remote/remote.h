#ifndef VUG_APP_REMOTE_REMOTE_H
#define VUG_APP_REMOTE_REMOTE_H

/* A server of OpenAI's API, this program's or any other: the partner of `vug chat`. */

#include "app/partner.h"
#include "app/remote/heard.h"
#include "app/remote/link.h"

typedef struct {
    const vug_options *opt;
    vug_link *link;
    vug_setting setting;
    vug_text schema, grammar; /* of the options of that name */
    vug_arena arena;
    vug_str model; /* its name, in the arena */
    vug_shown shown;
    vug_heard last;
    uint64_t next_seed;      /* of --seed; each answer counts on, as in `vug run` */
    double first_s, total_s; /* of the last answer: to its first text, to its end */
} vug_remote;

/* Reads the files and the key that the options name; asks nothing yet. */
VUG_MUST_CHECK vug_status vug_remote_init(vug_remote *r, vug_ui *ui, const vug_options *opt,
                                          vug_err *err);
/* Finds the model: --model, or the first that the server has. */
VUG_MUST_CHECK vug_status vug_remote_greet(vug_remote *r, vug_err *err);
void vug_remote_release(vug_remote *r);
/* Valid as long as `r`. */
vug_partner vug_remote_partner(vug_remote *r);

/* request.c: what is asked, appended to `to`: an answer to the conversation, or, when `raw` is
 * not NULL, what goes on from it. */
VUG_MUST_CHECK vug_status vug_remote_request(const vug_remote *r, const vug_talk *talk,
                                             const vug_str *raw, vug_buf *to, vug_err *err);

#endif
