#ifndef VUG_APP_CHAT_H
#define VUG_APP_CHAT_H

/* The interactive chat of `vug run`. */

#include "app/answer.h"

/* Until the user leaves; an exit code. `a` has a session. */
int vug_chat_with(vug_answerer *a);

#endif
