#ifndef VUG_TEXT_CHAT_RESPONSE_PARSER_H
#define VUG_TEXT_CHAT_RESPONSE_PARSER_H

/*
 * Parses an answer while it is generated: text and markers go in, parts (content, thinking,
 * tool calls) come out. It needs no tokenizer; response_tokens.c feeds it tokens.
 */

#include "text/chat/call_parser.h"
#include "vug/chat.h"

typedef enum {
    VUG_RESPONSE_IN_CONTENT,
    VUG_RESPONSE_IN_THINKING,
    VUG_RESPONSE_IN_CALL
} vug_response_state;

enum { VUG_MARKER_MAX_BYTES = 32 }; /* of a marker's spelling */

struct vug_response_parser {
    vug_output_format format;
    bool by_id[VUG_MARKER_COUNT]; /* the marker comes as a token; its letters are text */
    vug_part_fn *on_part;
    void *user;
    vug_arena arena;     /* holds the tools */
    const vug_jv *tools; /* an array, or NULL */
    bool failed;         /* out of memory */
    bool stopped;        /* on_part wants no more */

    vug_response_state state;
    char held[VUG_MARKER_MAX_BYTES]; /* [n_held] letters that may become a marker */
    size_t n_held;
    vug_buf blanks;       /* white space held back until it is clear what follows */
    bool after_marker;    /* only white space came since the last marker */
    bool has_content;     /* some content came */
    size_t label_matched; /* bytes of the thinking label that came; all of them once it is over */

    vug_call_parser call;
    vug_buf call_text;             /* the call as written, in case it turns out to be none */
    bool call_named;               /* VUG_PART_CALL was sent */
    bool after_marker_before_call; /* after_marker where the call began */
    size_t n_calls;

    vug_part_kind out_kind; /* of `out` */
    vug_buf out;            /* text of a part that was not sent yet */

    vug_decoder *decoder; /* of vug_response_parser_push */
    const vug_tokenizer *tokenizer;
    int32_t id[VUG_MARKER_COUNT]; /* tokens of the markers, or -1 */
};

/* For answers without tokens: letters spell every marker. `thinking`: the prompt has opened
 * the thinking. `tools` is a JSON array or empty, and is copied. */
VUG_MUST_CHECK vug_status vug_response_parser_create_untokenized(const vug_output_format *format,
                                                                 bool thinking, vug_str tools,
                                                                 vug_part_fn *on_part, void *user,
                                                                 vug_response_parser **out,
                                                                 vug_err *err);
/* Takes text of the answer, which may end inside a character. */
VUG_MUST_CHECK vug_status vug_response_parser_feed(vug_response_parser *parser, vug_str text,
                                                   vug_err *err);
/* Takes a marker's token. Where the marker has no meaning, a `special` token is dropped and any
 * other is text. */
VUG_MUST_CHECK vug_status vug_response_parser_feed_marker(vug_response_parser *parser,
                                                          vug_marker marker, bool special,
                                                          vug_err *err);

/* ---- output (response_output.c) ---------------------------------------------------------- */

/* Sends what is in `out`; an incomplete last character only with `all`. */
void vug_response_flush(vug_response_parser *parser, bool all);
/* Appends to the text of a part. */
void vug_response_write(vug_response_parser *parser, vug_part_kind kind, const char *bytes,
                        size_t n);
/* Sends a part at once, behind what is in `out`. */
void vug_response_send(vug_response_parser *parser, vug_part_kind kind, vug_str text);
void vug_response_write_content(vug_response_parser *parser, const char *bytes, size_t n);
/* Content or thinking, by the state. */
void vug_response_write_text(vug_response_parser *parser, const char *bytes, size_t n);
void vug_response_open_thinking(vug_response_parser *parser);
void vug_response_close_thinking(vug_response_parser *parser);
/* At the end of the answer: sends the white space that was held back, where it is text. */
void vug_response_finish_text(vug_response_parser *parser);

#endif
