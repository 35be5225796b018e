#include "cli/inspect.h"

#include <stdio.h>
#include <string.h>

vug_format_text vug_inspect_format(const vug_tensor_info *t)
{
    vug_format_text out;
    const long long rows = t->scale_block[0], columns = t->scale_block[1];
    const bool separate = rows > 0 && t->rank >= 2;
    const bool all_columns = separate && columns >= t->dim[t->rank - 1];
    if (!separate)
        (void)snprintf(out.text, sizeof(out.text), "%s", t->format);
    else if (all_columns && rows >= t->dim[t->rank - 2])
        (void)snprintf(out.text, sizeof(out.text), "%s/tensor", t->format);
    else if (all_columns && rows == 1 && strncmp(t->format, "MLX", 3) != 0)
        (void)snprintf(out.text, sizeof(out.text), "%s/row", t->format);
    else if (rows == 1)
        (void)snprintf(out.text, sizeof(out.text), "%s/%lld", t->format, columns);
    else
        (void)snprintf(out.text, sizeof(out.text), "%s/%lldx%lld", t->format, rows, columns);
    return out;
}

static void add_tensor(const vug_tensor_info *t, vug_format_total *total)
{
    uint64_t weights = 1;
    for (int d = 0; d < t->rank; d++)
        weights *= (uint64_t)t->dim[d];
    total->n++;
    total->bytes += t->bytes;
    total->weights += weights;
}

double vug_inspect_bits_per_weight(const vug_format_total *total)
{
    return total->weights ? (double)total->bytes * 8 / (double)total->weights : 0;
}

size_t vug_inspect_totals(const vug_model *model, vug_format_total total[VUG_INSPECT_MAX_FORMATS],
                          vug_format_total *all)
{
    size_t n = 0;
    *all = (vug_format_total){ .format = { "total" } };
    for (size_t i = 0; i < vug_model_tensor_count(model); i++) {
        const vug_tensor_info t = vug_model_tensor(model, i);
        const vug_format_text format = vug_inspect_format(&t);
        size_t k = 0;
        while (k < n && (total[k].used != t.used || strcmp(total[k].format.text, format.text) != 0))
            k++;
        add_tensor(&t, all);
        if (k == VUG_INSPECT_MAX_FORMATS)
            continue;
        if (k == n)
            total[n++] = (vug_format_total){ .format = format, .used = t.used };
        add_tensor(&t, &total[k]);
    }
    return n;
}
