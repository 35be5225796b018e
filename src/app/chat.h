#ifndef VUG_APP_CHAT_H
#define VUG_APP_CHAT_H

/* The interactive chat of `vug run` and `vug chat`. */

#include "app/partner.h"

/* Until the user leaves; an exit code. */
int vug_chat_with(vug_partner *partner);

#endif
