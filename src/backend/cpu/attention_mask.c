/* Additive attention masks: the visible keys of each row, computed once for a layer. */
#include <math.h>

#include "backend/cpu/attention.h"

/* The first to the last visible key of a row, in a sequence of `keys` keys. */
static vug_status find_visible(const float *add, int64_t keys, int64_t row, vug_cpu_range *visible,
                               vug_err *err)
{
    *visible = (vug_cpu_range){ keys, 0 };
    for (int64_t key = 0; key < keys; key++) {
        if (isnan(add[key]) || add[key] == INFINITY)
            return VUG_FAIL(err, VUG_ARGUMENT,
                            "mask: row %lld, column %lld is %g, expected a number or -inf",
                            (long long)row, (long long)key, (double)add[key]);
        if (add[key] == -INFINITY)
            continue;
        visible->first = key < visible->first ? key : visible->first;
        visible->end = key + 1;
    }
    if (visible->end == 0)
        return VUG_FAIL(err, VUG_ARGUMENT, "mask: row %lld sees none of its %lld keys",
                        (long long)row, (long long)keys);
    return VUG_OK;
}

vug_status vug_cpu_attention_mask_init(vug_cpu_attention_mask *mask, const vug_span *span,
                                       int n_spans, vug_cpu_range *visible, vug_err *err)
{
    int64_t row = 0;
    for (int i = 0; i < n_spans; i++) {
        for (int64_t t = 0; t < span[i].n; t++, row++)
            VUG_TRY(find_visible(mask->add + row * mask->columns, span[i].past + span[i].n, row,
                                 &visible[row], err));
    }
    mask->visible = visible;
    return VUG_OK;
}
