#ifndef VUG_IR_ACTIVATIONS_H
#define VUG_IR_ACTIVATIONS_H

/* How matrix products round their input, which is F32: X(id, name), the values of
 * precision.activations in a profile. The first is the default; docs/arithmetic.md defines them.
 *
 *     q8         to 8 bits if the weights are in blocks
 *     bf16       the same, and to BF16 if the weights are BF16
 *     bf16-fast  the same, with sums in any order: a row may depend on what else is in the step
 *     f32        not at all; weights in blocks are decoded
 */

#include "core/bytes.h"

#define VUG_ACTIVATIONS(X)    \
    X(Q8, "q8")               \
    X(BF16, "bf16")           \
    X(BF16_FAST, "bf16-fast") \
    X(F32, "f32")
/* for error messages */
#define VUG_ACTIVATIONS_NAMES "\"q8\", \"bf16\", \"bf16-fast\" or \"f32\""

typedef enum {
#define X(id, name) VUG_ACTIVATIONS_##id,
    VUG_ACTIVATIONS(X)
#undef X
            VUG_ACTIVATIONS_COUNT
} vug_activations;

/* Whether inputs are rounded to BF16. */
static inline bool vug_activations_are_bf16(vug_activations activations)
{
    return activations == VUG_ACTIVATIONS_BF16 || activations == VUG_ACTIVATIONS_BF16_FAST;
}

const char *vug_activations_name(vug_activations activations);
/* VUG_ACTIVATIONS_COUNT if there is no such value. */
vug_activations vug_activations_find(vug_str name);

#endif
