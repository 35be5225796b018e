#include "ir/live_blocks.h"

#include <string.h>

static size_t drop_dead(vug_live_block *live, size_t n, uint32_t now)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (live[i].last >= now)
            live[kept++] = live[i];
    }
    return kept;
}

uint64_t vug_live_place(vug_live_block *live, size_t *n, uint64_t bytes, uint32_t now,
                        uint32_t last)
{
    uint64_t at = 0;
    size_t i = 0;
    *n = drop_dead(live, *n, now);
    while (i < *n && live[i].offset - at < bytes) {
        at = live[i].offset + live[i].bytes;
        i++;
    }
    memmove(live + i + 1, live + i, (*n - i) * sizeof(*live));
    live[i] = (vug_live_block){ at, bytes, last };
    (*n)++;
    return at;
}
