#ifndef VUG_TESTS_SUPPORT_RUNNING_EXTENSIONS_H
#define VUG_TESTS_SUPPORT_RUNNING_EXTENSIONS_H

/* Calls of vug_scheduler_extend on threads of their own, all in one step. */

#include <pthread.h>

#include "engine/scheduler.h"

typedef struct {
    vug_scheduler *scheduler;
    vug_scheduled *sequence;
    vug_extension job;
    vug_status st;
    vug_err err;
    pthread_t thread;
    vug_logits_row logits;
} running_extension;

/* Begins a sequence of up to 512 tokens that will hold id [n], for vug_scheduler_remove. */
void add_sequence(vug_scheduler *s, vug_scheduled *sequence, const int32_t *id, size_t n);
/* Extends the sequences at the same time by their jobs, for one row of logits each, which the caller
 * releases: the device is in use until all of them wait and the caller has released it. */
void start_together(vug_scheduler *s, running_extension *e, size_t n);
void join_all(running_extension *e, size_t n);

#endif
