/* Additive attention masks: the visible keys of each row, computed once for a layer. */
#include "backend/checks.h"
#include "backend/cpu/attention.h"

vug_status vug_cpu_attention_mask_init(vug_cpu_attention_mask *mask, const vug_span *span,
                                       int n_spans, vug_cpu_range *visible, vug_err *err)
{
    int64_t row = 0;
    for (int i = 0; i < n_spans; i++) {
        for (int64_t t = 0; t < span[i].n; t++, row++)
            VUG_TRY(vug_check_mask_row(mask->add + row * mask->columns, span[i].past + span[i].n,
                                       row, &visible[row].first, &visible[row].end, err));
    }
    mask->visible = visible;
    return VUG_OK;
}
