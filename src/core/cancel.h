#ifndef VUG_CORE_CANCEL_H
#define VUG_CORE_CANCEL_H

/* The cancel token of vug/vug.h. All-zero is a token that is not triggered. */

#include <stdatomic.h>

#include "vug/vug.h"

struct vug_cancel_token {
    atomic_bool triggered;
};

/* Cheap enough for inner loops. A NULL token is never triggered. */
static inline bool vug_is_cancelled(const vug_cancel_token *token)
{
    return token && atomic_load_explicit(&token->triggered, memory_order_relaxed);
}

#endif
