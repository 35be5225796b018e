#ifndef VUG_TEXT_CHAT_FORMATS_H
#define VUG_TEXT_CHAT_FORMATS_H

/* The chat formats that are built in, for checkpoints without a template of their own. */

#include "core/bytes.h"

typedef struct {
    const char *family; /* "gemma3" */
    const char *turn;   /* a token of its turns, without which a vocabulary is of another */
    const char *bos;    /* where no tokenizer says it */
    const char *macros; /* Jinja in front of it: a compiler need not take it in one piece */
    const char *source; /* Jinja */
} vug_chat_format;

/* NULL: none of that name. */
const vug_chat_format *vug_chat_format_of(const char *family);
/* All of them, the newest of those with the same turns first; NULL behind the last. */
const vug_chat_format *vug_chat_format_at(size_t i);

#endif
