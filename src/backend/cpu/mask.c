/* Masks: which keys a row sees, found once for a layer. */
#include <math.h>

#include "backend/cpu/cpu.h"

/* The keys of one row of a sequence that has `keys` of them. */
static vug_status find_seen(const float *add, int64_t keys, int64_t row, vug_cpu_range *seen,
                            vug_err *err)
{
    *seen = (vug_cpu_range){ keys, 0 };
    for (int64_t key = 0; key < keys; key++) {
        if (isnan(add[key]) || add[key] == INFINITY)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "mask: row %lld, column %lld is %g, expected a number or -inf",
                            (long long)row, (long long)key, (double)add[key]);
        if (add[key] == -INFINITY)
            continue;
        seen->first = key < seen->first ? key : seen->first;
        seen->end = key + 1;
    }
    if (seen->end == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "mask: row %lld sees none of its %lld keys",
                        (long long)row, (long long)keys);
    return VUG_OK;
}

vug_status vug_cpu_mask_init(vug_cpu_mask *mask, const vug_span *span, int n_spans,
                             vug_cpu_range *seen, vug_err *err)
{
    int64_t row = 0;
    for (int i = 0; i < n_spans; i++) {
        for (int64_t t = 0; t < span[i].n; t++, row++)
            VUG_TRY(find_seen(mask->add + row * mask->columns, span[i].past + span[i].n, row,
                              &seen[row], err));
    }
    mask->seen = seen;
    return VUG_OK;
}
