#ifndef VUG_TEXT_CHAT_REPLY_H
#define VUG_TEXT_CHAT_REPLY_H

/*
 * Answers taken apart, without a tokenizer: text and marks go in, parts come out.
 * vug_reply_push of chat.h does the same with tokens.
 */

#include "text/chat/call.h"
#include "vug/chat.h"

typedef enum { VUG_IN_CONTENT, VUG_IN_THINKING, VUG_IN_CALL } vug_reply_place;

enum { VUG_MARK_MAX = 32 }; /* bytes of a mark's spelling */

struct vug_reply {
    vug_syntax syntax;
    bool by_id[VUG_MARK_COUNT]; /* the mark comes as a token, and its letters are text */
    vug_part_fn *on_part;
    void *user;
    vug_arena arena;     /* of tools */
    const vug_jv *tools; /* NULL or an array */
    bool failed;         /* out of memory */
    bool deaf;           /* the caller has had enough */

    vug_reply_place place;
    char held[VUG_MARK_MAX]; /* [n_held] letters that may become a mark */
    size_t n_held;
    vug_buf blank;   /* blanks that wait for what follows */
    bool after_mark; /* nothing but blanks since a mark */
    bool said;       /* there was content */
    size_t labelled; /* bytes of the label that came, or all when it is over */

    vug_call call;
    vug_buf raw;           /* the call as it was written, should it turn out to be none */
    bool named;            /* its name was handed out */
    bool mark_before_call; /* after_mark where it began */
    size_t n_calls;

    vug_part_kind kind; /* of what `out` gathers */
    vug_buf out;

    vug_decoder *decoder; /* of vug_reply_push */
    const vug_tokenizer *tokenizer;
    int32_t id[VUG_MARK_COUNT]; /* of marks, or -1 */
};

/* Every mark is spelled by its letters. `thinking`: the prompt has opened it. `tools`, a
 * JSON array or nothing, is not needed afterwards. */
VUG_MUST_CHECK vug_status vug_reply_over(const vug_syntax *syntax, bool thinking, vug_str tools,
                                         vug_part_fn *on_part, void *user, vug_reply **out,
                                         vug_err *err);
/* Text of the answer; may end inside of a character. */
VUG_MUST_CHECK vug_status vug_reply_feed(vug_reply *reply, vug_str text, vug_err *err);
/* The token of a mark; `special`: where it means nothing it is nothing, otherwise text. */
VUG_MUST_CHECK vug_status vug_reply_feed_mark(vug_reply *reply, vug_mark mark, bool special,
                                              vug_err *err);

#endif
