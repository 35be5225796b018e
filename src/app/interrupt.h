#ifndef VUG_APP_INTERRUPT_H
#define VUG_APP_INTERRUPT_H

/* Ctrl-C. */

#include "vug/vug.h"

/* From now on Ctrl-C ends the running call of the watched session and not the
 * program; without one it does nothing. */
void vug_interrupt_install(void);
/* NULL: none. A session is watched while a call runs, not between calls: a
 * cancellation would wait for the next one. */
void vug_interrupt_watch(vug_session *session);
/* Unwatches, and Ctrl-C ends the program again. */
void vug_interrupt_restore(void);

/* Between the two Ctrl-C is held back, so that work can be given up cleanly. */
void vug_interrupt_hold(void);
bool vug_interrupt_held(void); /* one came */
void vug_interrupt_release(void);

#endif
