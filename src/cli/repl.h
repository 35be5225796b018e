#ifndef VUG_CLI_REPL_H
#define VUG_CLI_REPL_H

/* The interactive chat of `vug run` and `vug chat`: a read-evaluate-print loop. */

#include "cli/chat_backend.h"

/* Chats until the user quits; returns an exit code. */
int vug_repl_run(vug_chat_backend *backend);

#endif
