#ifndef VUG_CLI_INTERRUPT_H
#define VUG_CLI_INTERRUPT_H

/* Ctrl-C, and SIGTERM where work polls. */

#include "vug/vug.h"

/* From now on Ctrl-C triggers the watched token and does not end the program;
 * without a token it does nothing. */
void vug_interrupt_install(void);
/* Resets the token and watches it until the next call; NULL: none. */
void vug_interrupt_watch(vug_cancel_token *token);
/* Unwatches, and Ctrl-C ends the program again. */
void vug_interrupt_restore(void);

/* Blocks SIGINT and SIGTERM, so that work can poll for them and stop cleanly. */
void vug_interrupt_block(void);
/* Whether one of them came since. */
bool vug_interrupt_pending(void);
/* Delivers those that are pending. */
void vug_interrupt_unblock(void);

#endif
