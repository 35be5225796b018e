#ifndef VUG_IR_PLAN_H
#define VUG_IR_PLAN_H

/*
 * A memory plan: the place of every value of a graph in one block of memory, for steps
 * of up to a given number of tokens. passes/plan_memory.c makes it; backends read it.
 */

#include "ir/activations.h"
#include "ir/ir.h"
#include "ir/kv_format.h"

/* Whether products with the head, of which only some outputs are wanted, may use a smaller copy of it
 * to find these. Results are the same. */
typedef enum {
    VUG_HEAD_SCREEN_OFF,
    VUG_HEAD_SCREEN_AUTO, /* while that is faster */
    VUG_HEAD_SCREEN_ON,   /* whenever they can */
} vug_head_screen;

#define VUG_NO_OFFSET UINT64_MAX /* of PARAM and INPUT nodes */

/* All-zero is an empty plan. All values are F32. */
typedef struct {
    uint64_t *offset; /* [nodes of the graph], bytes; owned */
    uint64_t bytes;   /* of the block */
    int tile_rows;    /* most rows of queries per tile of attention; 0: the backend chooses */
    vug_kv_format kv; /* of the caches */
    vug_activations activations;
    vug_head_screen head_screen;
    const struct vug_host_experts *host_experts; /* of HOST_EXPERTS nodes; NULL: there are none */
} vug_plan;

static inline void vug_plan_release(vug_plan *plan)
{
    vug_free(plan->offset);
    *plan = (vug_plan){ 0 };
}

#endif
