/* Address space that gets memory in parts, and huge pages, on POSIX systems. */
#include <sys/mman.h>
#include <unistd.h>

#include "core/os.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

void *vug_reserve(uint64_t bytes)
{
    if (bytes > SIZE_MAX)
        return NULL;
    void *at = mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                    0);
    return at == MAP_FAILED ? NULL : at;
}

void vug_unreserve(void *at, uint64_t bytes)
{
    if (at)
        (void)munmap(at, (size_t)bytes);
}

static uintptr_t system_page(void)
{
    const long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (uintptr_t)size : 4096;
}

bool vug_commit(void *at, uint64_t bytes)
{
    const uintptr_t page = system_page(), offset = (uintptr_t)at % page;
    return mprotect((uint8_t *)at - offset, (size_t)bytes + offset, PROT_READ | PROT_WRITE) == 0;
}

void vug_discard(void *at, uint64_t bytes)
{
    const uintptr_t page = system_page();
    const uintptr_t offset = (page - (uintptr_t)at % page) % page; /* of the first whole page */
    if (bytes >= offset + page)
        (void)madvise((uint8_t *)at + offset, (size_t)(bytes - offset) / page * page,
                      MADV_DONTNEED);
}

void vug_ask_huge_pages(void *at, uint64_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = system_page();
    const uintptr_t offset = (page - (uintptr_t)at % page) % page; /* of the first whole page */
    if (bytes >= offset + page)
        (void)madvise((uint8_t *)at + offset, (size_t)(bytes - offset) / page * page,
                      MADV_HUGEPAGE);
#else
    (void)at;
    (void)bytes;
#endif
}
