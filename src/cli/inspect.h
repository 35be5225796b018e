#ifndef VUG_CLI_INSPECT_H
#define VUG_CLI_INSPECT_H

/* What the text and the JSON output of `vug inspect` have in common. */

#include "core/mem.h"
#include "vug/checkpoint.h"
#include "vug/stats.h"

typedef struct {
    const vug_model *model;
    const vug_tensor_statistics *statistics; /* [tensors]; NULL without --stats */
    bool list_tensors;
} vug_inspection;

/* The format of a tensor such as "MLX4/64", with the number of weights that share a scale if
 * scales are stored separately. Blocks have "/128x128", one scale per row has "/row", and one
 * per matrix has "/tensor". */
typedef struct {
    char text[48];
} vug_format_text;

vug_format_text vug_inspect_format(const vug_tensor_info *t);

/* The tensors of one format, used or unused. */
typedef struct {
    vug_format_text format;
    bool used;
    size_t n;
    uint64_t bytes, weights;
} vug_format_total;

enum { VUG_INSPECT_MAX_FORMATS = 64 };

/* Returns the number of formats. `all` counts every tensor, also of formats beyond the maximum. */
size_t vug_inspect_totals(const vug_model *model, vug_format_total total[VUG_INSPECT_MAX_FORMATS],
                          vug_format_total *all);
double vug_inspect_bits_per_weight(const vug_format_total *total);

/* X(field, label): the fields of vug_memory_plan. */
#define VUG_MEMORY_ROWS(X)                               \
    X(weights_mapped, "weights, mapped")                 \
    X(tables_mapped, "tables, mapped, not in the total") \
    X(weights_copied, "weights, converted or packed")    \
    X(weights_decoded, "of these, decoded to BF16")      \
    X(tokenizer, "tokenizer")                            \
    X(graph, "program and tables")                       \
    X(buffers, "step buffers")                           \
    X(cache, "KV cache, whole context of all slots")     \
    X(draft, "draft model, with its KV cache")           \
    X(process, "program code and stacks")                \
    X(total, "total")                                    \
    X(device, "of these, in the memory of the device")   \
    X(session_cache, "KV cache of one slot")             \
    X(snapshot, "a snapshot of sliding windows")

/* Appends the text output. */
void vug_inspect_text(const vug_inspection *in, vug_buf *to);

#endif
