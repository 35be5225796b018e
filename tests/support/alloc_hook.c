#include "alloc_hook.h"

#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static struct {
    atomic_long count, refused, live;
    /* Allocations first <= number < last are refused. */
    atomic_long first, last;
} hook = { .first = LONG_MAX, .last = LONG_MAX };

#ifdef __linux__

/* The linker names these; -Wmissing-prototypes wants to see them first. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void __real_free(void *ptr);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void __wrap_free(void *ptr);

static bool refuse(void)
{
    const long number = atomic_fetch_add(&hook.count, 1);
    if (number < atomic_load(&hook.first) || number >= atomic_load(&hook.last))
        return false;
    atomic_fetch_add(&hook.refused, 1);
    return true;
}

static void *born(void *ptr)
{
    if (ptr)
        atomic_fetch_add(&hook.live, 1);
    return ptr;
}

void *__wrap_malloc(size_t size)
{
    return refuse() ? NULL : born(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refuse() ? NULL : born(__real_calloc(n, size));
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return refuse() ? NULL : born(__real_aligned_alloc(align, size));
}

/* A block that moves is still one block. Sizes are never 0: core/mem.c sees to it. */
void *__wrap_realloc(void *ptr, size_t size)
{
    if (refuse())
        return NULL;
    void *moved = __real_realloc(ptr, size);
    return ptr ? moved : born(moved);
}

void __wrap_free(void *ptr)
{
    if (ptr)
        atomic_fetch_sub(&hook.live, 1);
    __real_free(ptr);
}

#endif

bool alloc_hook_works(void)
{
    const long before = alloc_hook_count();
    void *volatile ptr = malloc(1); /* volatile: or the pair may be optimised away */
    free(ptr);
    return alloc_hook_count() != before;
}

static void arm(long first, long last)
{
    atomic_store(&hook.count, 0);
    atomic_store(&hook.refused, 0);
    atomic_store(&hook.first, first);
    atomic_store(&hook.last, last);
}

void alloc_hook_fail(long n, alloc_failures how)
{
    arm(n, how == ALLOC_ONCE ? n + 1 : LONG_MAX);
}

void alloc_hook_forbid(void)
{
    arm(0, LONG_MAX);
}

bool alloc_hook_stop(void)
{
    atomic_store(&hook.first, LONG_MAX);
    atomic_store(&hook.last, LONG_MAX);
    return alloc_hook_refused() > 0;
}

long alloc_hook_count(void)
{
    return atomic_load(&hook.count);
}

long alloc_hook_refused(void)
{
    return atomic_load(&hook.refused);
}

long alloc_hook_live(void)
{
    return atomic_load(&hook.live);
}
