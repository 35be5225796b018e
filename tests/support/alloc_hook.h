#ifndef VUG_TESTS_SUPPORT_ALLOC_HOOK_H
#define VUG_TESTS_SUPPORT_ALLOC_HOOK_H

/*
 * A hand on the heap, for tests of what happens when memory runs out.
 *
 * The linker sends every malloc, calloc, realloc, aligned_alloc and free of our
 * own objects through here (--wrap, given to a few tests of tests/engine alone: see the
 * Makefile). Allocations inside the C library, such as those of fopen, are its
 * own business and are not seen. Where the linker has no --wrap, as on macOS,
 * alloc_hook_works is false and the tests skip.
 *
 * The way to try them all:
 *
 *     for (long n = 0;; n++) {
 *         alloc_hook_fail(n, ALLOC_FROM_THEN_ON);
 *         st = load_generate_close(&err);
 *         bool reached = alloc_hook_stop();
 *         assert_int_equal(alloc_hook_live(), before);
 *         if (!reached)
 *             break;              (more allocations would not be tried: it succeeded)
 *         assert_int_equal(st, VUG_NOMEM);
 *     }
 *
 * Counters are atomic: worker threads allocate too. Arming and stopping belong to
 * one thread, while no other is busy. The state is one static object: a linker
 * wrapper has no argument to carry it, and this is a test.
 */

#include <stdbool.h>

typedef enum {
    ALLOC_ONCE,         /* the n-th fails, those after it succeed */
    ALLOC_FROM_THEN_ON, /* the n-th and all after it fail */
} alloc_failures;

bool alloc_hook_works(void);

/* From now on counts anew, and fails the allocation number `n` (0 is the next). */
void alloc_hook_fail(long n, alloc_failures how);
/* Until alloc_hook_stop every allocation fails and is counted as a trespass: the
 * guard around what must not allocate, such as a step. */
void alloc_hook_forbid(void);
/* Back to normal. True if an allocation was made to fail since the last call of
 * one of the two above. */
bool alloc_hook_stop(void);

/* Allocations asked for since the last call of alloc_hook_fail or _forbid. */
long alloc_hook_count(void);
/* Of them, those that were made to fail. */
long alloc_hook_refused(void);
/* Blocks allocated and not yet freed, since the program began. */
long alloc_hook_live(void);

#endif
