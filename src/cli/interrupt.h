#ifndef VUG_CLI_INTERRUPT_H
#define VUG_CLI_INTERRUPT_H

/* Ctrl-C. */

#include "vug/vug.h"

/* From now on Ctrl-C triggers the watched token and does not end the program;
 * without a token it does nothing. */
void vug_interrupt_install(void);
/* Resets the token and watches it until the next call; NULL: none. */
void vug_interrupt_watch(vug_cancel_token *token);
/* Unwatches, and Ctrl-C ends the program again. */
void vug_interrupt_restore(void);

/* Blocks the signal, so that work can poll for it and stop cleanly. */
void vug_interrupt_block(void);
/* Whether Ctrl-C was pressed since. */
bool vug_interrupt_pending(void);
/* Delivers the signal if it is pending. */
void vug_interrupt_unblock(void);

#endif
