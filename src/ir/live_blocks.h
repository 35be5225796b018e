#ifndef VUG_IR_LIVE_BLOCKS_H
#define VUG_IR_LIVE_BLOCKS_H

/* Placing values with known lifetimes in one block of memory. */

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t offset, bytes;
    uint32_t last; /* time after which the bytes are free */
} vug_live_block;

/* Places `bytes` that are needed from time `now` to `last` at the lowest offset that is free then;
 * returns it. `live` has room for one more than `*n` blocks and is sorted by offset; those that
 * ended before `now` leave it. Calls have ascending times. */
uint64_t vug_live_place(vug_live_block *live, size_t *n, uint64_t bytes, uint32_t now,
                        uint32_t last);

#endif
