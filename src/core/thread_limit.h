#ifndef VUG_CORE_THREAD_LIMIT_H
#define VUG_CORE_THREAD_LIMIT_H

/*
 * How many threads of a pool take part in its jobs. On an idle machine that is all of them. If
 * other programs use the same cores, the system leaves some thread without a core for
 * milliseconds at a time, and every job waits for the part that this thread has begun. Then fewer
 * threads may be faster. Which number is, depends on the jobs, so it is measured: rounds of work
 * that take equally long on an idle machine run alternately with two numbers of threads.
 *
 * Comparisons begin only if the caller of the jobs lacks a core or waits for threads that lack
 * one, so they cost an idle machine nothing. While fewer threads run than could, a comparison
 * with more of them takes place from time to time.
 * This is only the arithmetic; it reads no clock. Not thread-safe.
 */

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double seconds;
    int rounds;
} vug_thread_limit_sum;

typedef struct {
    int max;
    int active;     /* threads that take part in the next round, 1 .. max */
    int best;       /* of the comparisons so far */
    bool contended; /* other programs use the cores: the caller of the jobs often did not run */
    double seconds; /* of the rounds since the last look or comparison */
    double idle_s;  /* the part of them in which the caller did not run */
    double pause_s; /* of rounds between two comparisons */
    uint32_t n_compared; /* comparisons so far */

    bool comparing;
    int other;  /* compared with `best` */
    int kind;   /* of the rounds that are compared */
    int window; /* in the even ones `best` threads run, in the odd ones `other` */
    double window_s;
    int n_ignored;               /* rounds of other kinds during the comparison */
    vug_thread_limit_sum sum[2]; /* with `best` and with `other` threads */
} vug_thread_limit;

void vug_thread_limit_init(vug_thread_limit *limit, int max);
/* Adds a round that ran with `active` threads, and sets `active` for the next one. Rounds are
 * compared only if they are of the same kind. `seconds` is how long the round took, `idle_s` how
 * long its caller was asleep or without a core. */
void vug_thread_limit_add(vug_thread_limit *limit, int kind, double seconds, double idle_s);

#endif
