#ifndef VUG_TEXT_CHAT_BUILTIN_TEMPLATES_H
#define VUG_TEXT_CHAT_BUILTIN_TEMPLATES_H

/* Built-in chat templates, for checkpoints that carry none. */

#include "core/bytes.h"

typedef struct {
    const char *family; /* "gemma3" */
    const char *turn;   /* a token of its turns, which a vocabulary of the family must have */
    const char *bos;    /* used where the tokenizer names none */
    const char *macros; /* Jinja that precedes `source`: C limits the length of a literal */
    const char *source; /* Jinja */
} vug_builtin_template;

/* NULL: there is no such family. */
const vug_builtin_template *vug_builtin_template_find(const char *family);
/* By index, the newest first among those with the same turns; NULL behind the last. */
const vug_builtin_template *vug_builtin_template_at(size_t i);

#endif
