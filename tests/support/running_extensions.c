#include "running_extensions.h"

#include "test.h"

#include <sched.h>

#include "engine/scheduler_state.h"
#include "engine_help.h"

static void *extend(void *arg)
{
    running_extension *e = arg;
    e->st = vug_scheduler_extend(e->scheduler, e->sequence, &e->job, &e->err);
    return NULL;
}

void start_together(vug_scheduler *s, running_extension *e, size_t n)
{
    vug_err err = { 0 };
    vug_scheduler_acquire_device(s);
    for (size_t i = 0; i < n; i++) {
        help_ok(vug_logits_row_init(&e[i].logits, (size_t)s->model->info.n_vocab, &err), &err);
        e[i].scheduler = s;
        e[i].job.logits = &e[i].logits;
        e[i].job.rows = 1;
        assert_int_equal(pthread_create(&e[i].thread, NULL, extend, &e[i]), 0);
        for (bool waits = false; !waits; (void)sched_yield()) {
            vug_mutex_lock(s->lock);
            waits = e[i].sequence->job != NULL;
            vug_mutex_unlock(s->lock);
        }
    }
}

void join_all(running_extension *e, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pthread_join(e[i].thread, NULL), 0);
}

void add_sequence(vug_scheduler *s, vug_scheduled *sequence, const int32_t *id, size_t n)
{
    vug_err err = { 0 };
    help_ok(vug_scheduler_add(s, sequence, 512, &err), &err);
    sequence->root = s->model->prefix_key;
    vug_scheduler_begin(s, sequence, id, n, false, NULL);
}
