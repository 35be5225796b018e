#ifndef VUG_TESTS_SUPPORT_MEMORY_CHECKPOINT_H
#define VUG_TESTS_SUPPORT_MEMORY_CHECKPOINT_H

/* A checkpoint in memory, to bind tensors of any name and shape. Include after cmocka.h. */

#include "models/models.h"
#include "weights/weights.h"

typedef struct {
    vug_config config;
    vug_weights *weights;
    const vug_tensor **sorted; /* for vug_binding_init */
    vug_binding binding;       /* once bound */
    vug_dtype dtype;           /* of added tensors; BF16 at first */
    const char *without;       /* names with this part are not added; may be NULL */
} memory_checkpoint;

void memory_checkpoint_init(memory_checkpoint *c, const vug_config *config);
/* Returns the tensor's bytes; NULL if its name is left out. */
uint8_t *memory_checkpoint_add(memory_checkpoint *c, const char *name, int rank,
                               const int64_t *dim);
vug_status memory_checkpoint_bind(memory_checkpoint *c, vug_err *err);
void memory_checkpoint_release(memory_checkpoint *c);

#endif
