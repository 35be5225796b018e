#ifndef VUG_TEXT_CHAT_SYNTAX_H
#define VUG_TEXT_CHAT_SYNTAX_H

/*
 * How families write thinking and tool calls into their answers: a table of each, in
 * syntax.c. Which of them a checkpoint uses is read off its chat template.
 */

#include "core/bytes.h"

/* X(id): the marks of a syntax. Where the vocabulary has a token of a mark's spelling, only
 * that token is the mark; letters that spell it are text. */
#define VUG_MARK_TABLE(X) X(THINK) X(THINK_END) X(CALL) X(CALL_END) X(QUOTE)

typedef enum {
#define X(id) VUG_MARK_##id,
    VUG_MARK_TABLE(X)
#undef X
            VUG_MARK_COUNT
} vug_mark;

/* What stands between the marks of a call. */
typedef enum {
    VUG_CALL_HERMES, /* {"name": .., "arguments": {..}}, or <function=NAME> and parameters */
    VUG_CALL_GEMMA4, /* call:NAME{key:value} */
    VUG_CALL_LLAMA3, /* {"name": .., "parameters": {..}}, which may be the whole answer */
} vug_call_form;

typedef struct {
    const char *mark[VUG_MARK_COUNT]; /* NULL: the syntax has none */
    const char *label;                /* in front of the thinking, no part of it; NULL: none */
    const char *thinking_end;         /* what closes the thinking properly; NULL: none */
    vug_call_form form;               /* where there is a mark of calls */
    bool tagged;                      /* of HERMES: the model is asked for <function=NAME> */
} vug_syntax;

/* Of a chat template's text. */
vug_syntax vug_syntax_of(vug_str source);
/* Whether a prompt that ends like this has opened the thinking. */
bool vug_syntax_is_open(const vug_syntax *syntax, vug_str prompt);

#endif
